//! Transcripts, as they come out.

use std::sync::Arc;

use confab_model::id::{Ids, TenantId};
use confab_model::key::SessionKey;
use confab_model::message::{Block, NewMessage, Role};
use confab_proto::transcript::v1 as proto;
use confab_proto::types::v1::block::Content;
use confab_rpc::caller::Role as CallerRole;
use confab_rpc::error::Reason;
use confab_rpc::gate::Target;
use confab_store::ids::SequentialIds;
use futures::{StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};

use crate::commands::ExportTranscript;
use crate::limits::EXPORT_PIECE_BYTES;
use crate::store::fork::{Fork, ForkStore as _, Forked};
use crate::testing::files::{conversation, everything, file_of, lines_of};
use crate::testing::{
    DESK, House, START, call, marker, operator, request, result, said, session_id, text, thinking,
    with_blocks,
};

const OTHER: &str = "agent:writer:other";
/// A text that is masked wherever it is shown.
const SECRET: &str = "sk-abcdefghijklmnopqrstuvwxyz123456";

async fn house() -> House {
    House::with(&[DESK, OTHER]).await
}

/// A session that was spoken in here: tools, a picture, private reasoning and a compaction.
async fn born_here(house: &House) {
    let messages = [
        said("a", Role::User, &format!("my key is {SECRET}")),
        with_blocks(
            "b",
            Role::Assistant,
            vec![thinking("hm"), text("I look"), call("read")],
        ),
        result("c", "done"),
        marker("k", Some(2)),
        said("d", Role::Assistant, "<think>quiet</think>end"),
    ];
    house.append(DESK, &messages).await.unwrap();
    let picture = Block::Image {
        mime_type: "image/png".to_owned(),
        reference: String::new(),
        bytes: 0,
    };
    let mut wire = request(DESK, &[with_blocks("p", Role::User, vec![picture])]);
    let block = &mut wire.messages[0].blocks[0];
    let Some(Content::Image(image)) = &mut block.content else {
        panic!("no picture")
    };
    image.data = Some(b"picture".to_vec().into());
    house.append_as(operator(), wire).await.unwrap();
}

fn parts(line: &Value) -> Vec<&str> {
    let parts = line["message"]["content"].as_array().unwrap();
    parts
        .iter()
        .map(|part| part["type"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_session_born_here_is_a_file_of_version_3() {
    let house = house().await;
    born_here(&house).await;
    let lines = house.export(DESK, true).await;
    assert_eq!(lines.len(), 7);
    assert_eq!(
        (&lines[0]["type"], &lines[0]["version"], &lines[0]["id"]),
        (
            &json!("session"),
            &json!(3),
            &json!("id of agent:writer:desk")
        ),
        "run:T2"
    );
    let mut before = Value::Null;
    for line in &lines[1..] {
        assert_eq!(line["parentId"], before, "run:T3 {line}");
        assert!(line["timestamp"].is_string(), "run:T6");
        before = line["id"].clone();
    }
    assert_eq!(
        parts(&lines[2]),
        ["thinking", "text", "toolCall"],
        "run:T9 run:T11 D60"
    );
    assert_eq!(lines[3]["message"]["toolName"], "read", "run:T10");
    assert_eq!(lines[4]["type"], "compaction", "run:T15");
    assert_eq!(lines[4]["firstKeptEntryId"], lines[2]["id"], "run:T15");
    assert_eq!(
        lines[5]["message"]["content"][0]["text"], "<think>quiet</think>end",
        "D23"
    );
    assert_eq!(
        lines[6]["message"]["content"][0]["data"], "cGljdHVyZQ==",
        "run:T11"
    );
}

#[tokio::test]
async fn a_session_born_here_goes_in_elsewhere_and_comes_out_the_same() {
    let house = house().await;
    born_here(&house).await;
    let lines = house.export(DESK, true).await;
    let tally = house.import(OTHER, &file_of(&lines)).await.unwrap();
    assert_eq!((tally.imported, tally.kept_aside, tally.skipped), (6, 1, 0));
    assert_eq!(house.export(OTHER, true).await, lines, "run:T2 run:T3");
}

#[tokio::test]
async fn a_forked_session_is_a_file_of_its_own() {
    let house = house().await;
    house.import(DESK, &file_of(&everything())).await.unwrap();
    let fork = Fork {
        source: session_id(DESK),
        into: session_id(OTHER),
        into_key: SessionKey::parse(OTHER).unwrap(),
        key: None,
        at: START,
        kept_since: START,
    };
    let ids: Arc<dyn Ids> = Arc::new(SequentialIds::new());
    let forked = house
        .messages
        .store
        .fork(&TenantId::default(), fork, ids)
        .await;
    assert_eq!(forked.unwrap(), Forked::Copied(3), "run:T17");
    let lines = house.export(OTHER, true).await;
    assert_eq!(lines[0]["id"], "id of agent:writer:other", "run:T2");
    let ids: Vec<&Value> = lines[1..].iter().map(|line| &line["id"]).collect();
    assert_eq!(ids, ["c", "k", "d"], "run:T17");
    assert_eq!(lines[2]["firstKeptEntryId"], "c", "run:T15");
    assert_eq!(
        lines[1]["message"]["content"][1]["data"], "aGkgdGhlcmU=",
        "the picture is there too"
    );
}

#[tokio::test]
async fn readers_get_what_a_history_with_tools_shows_whole() {
    let house = house().await;
    born_here(&house).await;
    let long = "x".repeat(50_000);
    house
        .append(DESK, &[said("l", Role::User, &long)])
        .await
        .unwrap();
    let lines = house.export(DESK, false).await;
    let told = Value::from(lines.clone()).to_string();
    for hidden in [SECRET, "hm", "quiet", "cGljdHVyZQ==", "summary of k"] {
        assert!(!told.contains(hidden), "D23 D60 {hidden}: {told}");
    }
    assert_eq!(lines[0]["type"], "session");
    assert_eq!(parts(&lines[2]), ["text", "toolCall"], "D21 D60");
    assert_eq!(lines[3]["message"]["role"], "toolResult", "D21");
    assert_eq!(lines[4]["message"]["content"][0]["text"], "end", "D23");
    assert_eq!(
        lines[5]["message"]["content"][0],
        json!({ "type": "image", "omitted": true, "bytes": 7, "mimeType": "image/png" }),
        "D60"
    );
    assert_eq!(lines[6]["message"]["content"][0]["text"], long, "not cut");
}

#[tokio::test]
async fn readers_get_no_line_that_was_kept_aside() {
    let house = house().await;
    house.import(DESK, &file_of(&everything())).await.unwrap();
    let lines = house.export(DESK, false).await;
    let ids: Vec<&Value> = lines[1..].iter().map(|line| &line["id"]).collect();
    assert_eq!(ids, ["a", "b", "c", "d"], "run:T14 D21");
    assert_eq!(
        lines[0].get("parentSession"),
        None,
        "no path of another machine"
    );
    let told = Value::from(lines).to_string();
    for hidden in [
        "hm",
        "sig",
        "not this",
        "for the model",
        "aGkgdGhlcmU=",
        "/srv",
    ] {
        assert!(!told.contains(hidden), "D60 {hidden}: {told}");
    }
}

#[test]
fn the_raw_form_is_for_operators_only() {
    let asked = |raw: bool| proto::ExportTranscriptRequest {
        target: Some(Target::reference(DESK).into()),
        raw,
    };
    for role in [
        CallerRole::Operator,
        CallerRole::Service,
        CallerRole::Agent,
        CallerRole::Channel,
        CallerRole::Worker,
    ] {
        assert!(
            ExportTranscript::parse(asked(false), role).is_ok(),
            "{role:?}"
        );
        match ExportTranscript::parse(asked(true), role) {
            Ok(_) => assert_eq!(role, CallerRole::Operator, "D60"),
            Err(refused) => {
                assert_ne!(role, CallerRole::Operator, "D60");
                assert_eq!(refused.reason, Reason::Role);
            },
        }
    }
}

#[tokio::test]
async fn an_export_ends_where_the_transcript_did_when_it_began() {
    let house = house().await;
    let lines = conversation(1_200);
    house.import(DESK, &file_of(&lines)).await.unwrap();
    let pieces = house.export_pieces(DESK, true).await;
    house
        .append(DESK, &[said("later", Role::User, "later")])
        .await
        .unwrap();
    let pieces: Vec<Vec<u8>> = pieces.try_collect().await.unwrap();
    assert_eq!(lines_of(&pieces.concat()), lines);
    assert_eq!(house.export(DESK, true).await.len(), lines.len() + 1);
}

#[tokio::test]
async fn an_export_comes_in_pieces_and_is_made_as_it_is_taken() {
    let house = house().await;
    let large: Vec<NewMessage> = (0..20)
        .map(|number| said(&format!("m{number}"), Role::User, &"x".repeat(100_000)))
        .collect();
    for message in large {
        house.append(DESK, &[message]).await.unwrap();
    }
    let mut pieces = house.export_pieces(DESK, true).await;
    let mut sizes = Vec::new();
    while let Some(piece) = pieces.next().await {
        sizes.push(piece.unwrap().len());
    }
    let (last, whole) = sizes.split_last().unwrap();
    assert!(
        whole.iter().all(|size| *size == EXPORT_PIECE_BYTES),
        "B145 {sizes:?}"
    );
    assert!(
        *last <= EXPORT_PIECE_BYTES && whole.len() >= 7,
        "B145 {sizes:?}"
    );
}

#[tokio::test]
async fn a_message_that_cannot_be_read_takes_no_other_one_with_it() {
    let house = house().await;
    let messages = ["a", "b", "c"].map(|key| said(key, Role::User, key));
    house.append(DESK, &messages).await.unwrap();
    house.damage(DESK, 2, b"\xFF").await;
    let lines = house.export(DESK, true).await;
    let texts: Vec<&Value> = lines[1..]
        .iter()
        .map(|line| &line["message"]["content"][0]["text"])
        .collect();
    assert_eq!(texts, ["a", "c"], "B146");
}

#[tokio::test]
async fn an_empty_transcript_is_a_header() {
    let house = house().await;
    for raw in [true, false] {
        let lines = house.export(DESK, raw).await;
        assert_eq!(lines.len(), 1, "run:T2");
        assert_eq!(lines[0]["timestamp"], "2023-11-14T22:13:20.000Z");
    }
}
