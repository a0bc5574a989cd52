//! Forking, past the gate.

use std::collections::BTreeSet;

use confab_model::limits::IDEMPOTENCY_HOURS;
use confab_model::message::{Block, NewMessage, Role};
use confab_proto::transcript::v1 as proto;
use confab_rpc::caller::Caller;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::{Gate, Target};

use crate::commands::fork::ForkTranscript;
use crate::testing::{DESK, House, Known, marker, of, operator, said, seqs};

const CHILD: &str = "agent:writer:child";
const OTHER: &str = "agent:writer:other";
const ALL: [&str; 3] = [DESK, CHILD, OTHER];
const HOUR: i64 = 3_600_000;

fn asked(from: &str, into: &str, key: Option<&str>) -> proto::ForkTranscriptRequest {
    proto::ForkTranscriptRequest {
        source: Some(Target::reference(from).into()),
        into_session_key: into.to_owned(),
        idempotency_key: key.map(str::to_owned),
    }
}

/// Forks for a caller who may see these sessions.
async fn fork_as(
    house: &House,
    caller: Caller,
    known: &[&str],
    request: proto::ForkTranscriptRequest,
) -> Result<u64, RpcError> {
    let gate = Gate::new(Known::with(known));
    let request = ForkTranscript::parse(request)?;
    let admission = house.messages.admit_fork(&gate, caller, request).await?;
    house.messages.fork(admission).await
}

async fn fork(
    house: &House,
    known: &[&str],
    request: proto::ForkTranscriptRequest,
) -> Result<u64, RpcError> {
    fork_as(house, operator(), known, request).await
}

/// What the history of a session shows.
async fn shown(house: &House, key: &str) -> Vec<String> {
    let page = house.history(of(key)).await.unwrap();
    let messages = page.bounded.messages.iter();
    messages
        .map(|(message, _)| match message.body.blocks.as_slice() {
            [Block::Text(text)] => text.clone(),
            other => panic!("{other:?}"),
        })
        .collect()
}

async fn append(house: &House, key: &str, texts: &[&str]) {
    let messages: Vec<NewMessage> = texts
        .iter()
        .map(|text| said(text, Role::User, text))
        .collect();
    house.append(key, &messages).await.unwrap();
}

#[tokio::test]
async fn a_child_begins_with_what_its_parent_still_reads_run_t15_run_t17() {
    let house = House::with(&ALL).await;
    append(&house, DESK, &["old", "kept"]).await;
    house.append(DESK, &[marker("m", Some(2))]).await.unwrap();
    append(&house, DESK, &["new"]).await;
    assert_eq!(
        fork(&house, &ALL, asked(DESK, CHILD, None)).await.unwrap(),
        3
    );
    assert_eq!(shown(&house, CHILD).await, ["kept", "new"]);
    assert_eq!(shown(&house, DESK).await, ["old", "kept", "new"]);
    // Both go on, each for itself, and the active view of the child is the whole child.
    append(&house, CHILD, &["of the child"]).await;
    assert_eq!(shown(&house, DESK).await.len(), 3);
    let active = proto::GetHistoryRequest {
        active_view: true,
        ..of(CHILD)
    };
    let page = house.history(active).await.unwrap();
    assert_eq!(seqs(&page), [1, 3, 4]);
}

#[tokio::test]
async fn a_repetition_meets_the_first_answer_whatever_became_of_the_sessions_d36() {
    let house = House::with(&ALL).await;
    append(&house, DESK, &["a", "b"]).await;
    let once = asked(DESK, CHILD, Some("k"));
    assert_eq!(fork(&house, &ALL, once.clone()).await.unwrap(), 2);
    append(&house, DESK, &["c"]).await;
    append(&house, CHILD, &["d"]).await;
    for known in [&ALL[..], &[]] {
        assert_eq!(fork(&house, known, once.clone()).await.unwrap(), 2);
    }
    assert_eq!(shown(&house, CHILD).await, ["a", "b", "d"]);
    let of_another = fork(&house, &ALL, asked(DESK, OTHER, Some("k"))).await;
    assert_eq!(of_another.unwrap_err().reason, Reason::KeyReused);
    assert!(shown(&house, OTHER).await.is_empty());
    // The same key of somebody else is another call.
    let stranger = Caller::agent(operator().tenant, DESK.parse().unwrap(), None);
    let refused = fork_as(&house, stranger, &ALL, once).await.unwrap_err();
    assert_eq!(refused.reason, Reason::TranscriptNotEmpty);
}

#[tokio::test]
async fn a_key_is_forgotten_after_its_time_d36() {
    let house = House::with(&ALL).await;
    append(&house, DESK, &["a"]).await;
    fork(&house, &ALL, asked(DESK, CHILD, Some("k")))
        .await
        .unwrap();
    let elsewhere = || asked(DESK, OTHER, Some("k"));
    house
        .clock
        .advance_millis(i64::from(IDEMPOTENCY_HOURS) * HOUR);
    let of_another = fork(&house, &ALL, elsewhere()).await.unwrap_err();
    assert_eq!(of_another.reason, Reason::KeyReused);
    house.clock.advance_millis(1);
    assert_eq!(fork(&house, &ALL, elsewhere()).await.unwrap(), 1);
}

#[tokio::test]
async fn a_refused_fork_copies_nothing_and_says_what_to_do() {
    let house = House::with(&ALL).await;
    append(&house, DESK, &["a"]).await;
    append(&house, OTHER, &["b"]).await;
    for (known, from, into, reason, hint) in [
        (
            &ALL[..],
            DESK,
            DESK,
            Reason::InvalidArgument,
            "name another session",
        ),
        (
            &ALL,
            DESK,
            OTHER,
            Reason::TranscriptNotEmpty,
            "new or just reset",
        ),
        (&[DESK], DESK, CHILD, Reason::SessionNotFound, CHILD),
        (&[CHILD], DESK, CHILD, Reason::SessionNotFound, DESK),
    ] {
        let refused = fork(&house, known, asked(from, into, Some("k")))
            .await
            .unwrap_err();
        assert_eq!(refused.reason, reason, "{from} {into}: {refused:?}");
        assert!(refused.message.contains(hint), "{}", refused.message);
    }
    assert!(shown(&house, CHILD).await.is_empty());
    assert_eq!(shown(&house, OTHER).await, ["b"]);
    // A refused call leaves its key free.
    assert_eq!(
        fork(&house, &ALL, asked(DESK, CHILD, Some("k")))
            .await
            .unwrap(),
        1
    );
}

#[tokio::test]
async fn too_much_is_refused_with_both_numbers_and_what_to_do_run_t17() {
    let house = House::with(&ALL).await;
    for round in 0..51 {
        let many: Vec<NewMessage> = (0..1000)
            .map(|number| said(&format!("{round} {number}"), Role::User, "a"))
            .collect();
        house.append(DESK, &many).await.unwrap();
    }
    let refused = fork(&house, &ALL, asked(DESK, CHILD, None))
        .await
        .unwrap_err();
    assert_eq!(refused.reason, Reason::Limit);
    for part in [
        "51000 messages",
        "at most 50000",
        "compact the source first",
    ] {
        assert!(refused.message.contains(part), "{}", refused.message);
    }
    assert!(shown(&house, CHILD).await.is_empty());
}

/// Of two forks into one session, at the same time, one is whole and the other refused.
#[tokio::test]
async fn forks_at_once_leave_one_whole_copy() {
    let house = House::with(&ALL).await;
    append(&house, DESK, &["a", "b"]).await;
    append(&house, OTHER, &["c", "d", "e"]).await;
    let (first, second) = tokio::join!(
        fork(&house, &ALL, asked(DESK, CHILD, None)),
        fork(&house, &ALL, asked(OTHER, CHILD, None)),
    );
    let outcomes = [first, second];
    let copied: BTreeSet<u64> = outcomes.iter().flatten().copied().collect();
    assert_eq!(copied.len(), 1, "{outcomes:?}");
    let refused: Vec<Reason> = outcomes
        .iter()
        .filter_map(|outcome| Some(outcome.as_ref().err()?.reason))
        .collect();
    assert_eq!(refused, [Reason::TranscriptNotEmpty]);
    let count = u64::try_from(shown(&house, CHILD).await.len()).unwrap();
    assert!(copied.contains(&count));
}
