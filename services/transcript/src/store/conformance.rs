//! What every store of the transcript must do; run on each kind of database.

pub(crate) mod fork;
pub(crate) mod imports;
pub(crate) mod search;

use confab_model::id::{MessageId, SessionId, TenantId};
use confab_model::message::{Blob, Compaction, NewMessage, Role};

use crate::store::{
    Appended, Batch, Draft, KeptAhead, Mark, Row, Stretch, TailQuery, TranscriptStore, View,
};
use crate::testing::{START, call, said, with_blocks};

/// Runs every case on a store of its own, made by `$open`, which answers with the store and with
/// what keeps it alive.
macro_rules! suite {
    ($open:path: $($case:ident),+ $(,)?) => {
        $(#[tokio::test]
        async fn $case() {
            let (store, _alive) = $open().await;
            crate::store::conformance::$case(store).await;
        })+
    };
    ($open:path) => {
        crate::store::conformance::suite!($open:
            a_message_comes_back_as_it_was_appended,
            an_append_is_all_or_nothing,
            a_stored_key_answers_with_what_is_stored,
            transcripts_do_not_mix,
            each_view_counts_its_own_messages,
            an_end_can_be_pinned,
            a_stretch_is_read_in_both_directions,
            a_place_leads_to_its_message_and_back,
            pictures_are_kept_once_beside_the_messages,
            a_compaction_is_remembered_where_it_was_made,
            a_compaction_keeps_nothing_that_comes_after_it,
            tails_are_read_together,
        );
    };
}

pub(crate) use suite;

fn tenant() -> TenantId {
    TenantId::default()
}

fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

fn draft(body: NewMessage) -> Draft {
    Draft {
        id: MessageId::parse(format!("id of {}", body.key)).unwrap(),
        at: START,
        in_all: true,
        in_plain: true,
        from_person: body.role == Role::User,
        body,
    }
}

fn plain(key: &str) -> Draft {
    draft(said(key, Role::User, key))
}

/// Only the view with tools shows it.
fn tool(key: &str) -> Draft {
    let body = with_blocks(key, Role::Assistant, vec![call("read")]);
    Draft {
        in_plain: false,
        ..draft(body)
    }
}

/// No view shows it.
fn silent(key: &str) -> Draft {
    Draft {
        in_all: false,
        in_plain: false,
        ..draft(said(key, Role::Assistant, "NO_REPLY"))
    }
}

fn batch(drafts: Vec<Draft>) -> Batch {
    Batch {
        drafts,
        ..Batch::default()
    }
}

async fn put(store: &impl TranscriptStore, session: &str, drafts: Vec<Draft>) -> Vec<u64> {
    match store
        .append(&tenant(), &id(session), batch(drafts))
        .await
        .unwrap()
    {
        Appended::Stored(messages) => messages.iter().map(|message| message.seq).collect(),
        refused @ (Appended::KeyReused(_) | Appended::KeptAhead(_)) => panic!("{refused:?}"),
    }
}

fn stretch(view: View, first: u64, last: u64) -> Stretch {
    Stretch {
        view,
        first,
        last,
        newest_first: false,
        after: None,
        before: None,
    }
}

fn seqs_of(rows: &[Row]) -> Vec<u64> {
    rows.iter().map(|row| row.seq).collect()
}

/// Everything that a view shows, how much that is, and where it ends.
async fn whole(store: &impl TranscriptStore, session: &str, view: View) -> (Vec<u64>, u64, u64) {
    let end = store.end(&tenant(), &id(session), None).await.unwrap();
    let all = stretch(view, 1, u64::MAX);
    let rows = store.rows(&tenant(), &id(session), all).await.unwrap();
    (seqs_of(&rows), end.count(view), end.seq)
}

pub(crate) async fn a_message_comes_back_as_it_was_appended(store: impl TranscriptStore) {
    let whole = NewMessage {
        model: Some("m".to_owned()),
        stop_reason: Some("toolUse".to_owned()),
        ..with_blocks("k", Role::Assistant, vec![call("read")])
    };
    let stored = store
        .append(&tenant(), &id("s"), batch(vec![draft(whole.clone())]))
        .await
        .unwrap();
    let Appended::Stored(stored) = stored else {
        panic!("{stored:?}")
    };
    assert_eq!(
        (stored[0].seq, stored[0].at, &stored[0].body),
        (1, START, &whole)
    );
    let all = stretch(View::All, 1, 9);
    let read = store.rows(&tenant(), &id("s"), all).await.unwrap();
    let row = Row {
        id: stored[0].id.clone(),
        seq: 1,
        at: START,
        body: Some(whole),
    };
    assert_eq!(read, [row]);
}

pub(crate) async fn an_append_is_all_or_nothing(store: impl TranscriptStore) {
    put(&store, "s", vec![plain("a")]).await;
    let other = draft(said("a", Role::User, "other"));
    let appended = store
        .append(&tenant(), &id("s"), batch(vec![plain("b"), other]))
        .await
        .unwrap();
    assert_eq!(appended, Appended::KeyReused("a".to_owned()));
    assert_eq!(whole(&store, "s", View::All).await, (vec![1], 1, 1));
}

pub(crate) async fn a_stored_key_answers_with_what_is_stored(store: impl TranscriptStore) {
    put(&store, "s", vec![plain("a"), plain("b")]).await;
    let later = Draft {
        at: START.plus_millis(9),
        ..plain("a")
    };
    let seqs_of = put(&store, "s", vec![plain("c"), later, plain("b")]).await;
    assert_eq!(seqs_of, [3, 1, 2]);
    assert_eq!(whole(&store, "s", View::All).await, (vec![1, 2, 3], 3, 3));
}

pub(crate) async fn transcripts_do_not_mix(store: impl TranscriptStore) {
    put(&store, "s", vec![plain("a")]).await;
    put(&store, "t", vec![plain("a"), plain("b")]).await;
    let other = TenantId::parse("other").unwrap();
    store
        .append(
            &other,
            &id("s"),
            batch(vec![plain("x"), plain("y"), plain("z")]),
        )
        .await
        .unwrap();
    assert_eq!(whole(&store, "s", View::All).await, (vec![1], 1, 1));
    assert_eq!(whole(&store, "t", View::All).await, (vec![1, 2], 2, 2));
    assert_eq!(whole(&store, "nobody's", View::All).await, (vec![], 0, 0));
}

/// 1 and 5 are plain, 2 and 4 for the view with tools, 3 for none.
async fn put_mixed(store: &impl TranscriptStore) {
    put(store, "s", vec![plain("1"), tool("2"), silent("3")]).await;
    put(store, "s", vec![tool("4"), plain("5")]).await;
}

pub(crate) async fn each_view_counts_its_own_messages(store: impl TranscriptStore) {
    put_mixed(&store).await;
    assert_eq!(
        whole(&store, "s", View::All).await,
        (vec![1, 2, 4, 5], 4, 5)
    );
    assert_eq!(whole(&store, "s", View::Plain).await, (vec![1, 5], 2, 5));
}

pub(crate) async fn an_end_can_be_pinned(store: impl TranscriptStore) {
    put_mixed(&store).await;
    for (at, seq, all, plain) in [
        (None, 5, 4, 2),
        (Some(99), 5, 4, 2),
        (Some(5), 5, 4, 2),
        (Some(4), 4, 3, 1),
        (Some(3), 3, 2, 1),
        (Some(0), 0, 0, 0),
    ] {
        let end = store.end(&tenant(), &id("s"), at).await.unwrap();
        let expected = Mark {
            seq,
            all,
            plain,
            compaction_seq: None,
        };
        assert_eq!(end, expected, "{at:?}");
    }
    let nowhere = store.end(&tenant(), &id("t"), Some(3)).await.unwrap();
    assert_eq!(nowhere, Mark::default());
}

pub(crate) async fn a_stretch_is_read_in_both_directions(store: impl TranscriptStore) {
    let said_at = |key: &str, millis| Draft {
        at: START.plus_millis(millis),
        ..plain(key)
    };
    let drafts = vec![
        said_at("1", 0),
        tool("2"),
        said_at("3", 20),
        said_at("4", 10),
    ];
    put(&store, "s", drafts).await;
    let up = stretch(View::All, 2, 3);
    let down = Stretch {
        newest_first: true,
        ..stretch(View::Plain, 1, 9)
    };
    let late = Stretch {
        after: Some(START.plus_millis(10)),
        ..down
    };
    let middle = Stretch {
        before: Some(START.plus_millis(20)),
        ..late
    };
    for (stretch, expected) in [
        (up, vec![2, 3]),
        (stretch(View::Plain, 2, 3), vec![3, 4]),
        (stretch(View::Plain, 3, 2), vec![]),
        (stretch(View::Plain, 4, 9), vec![]),
        (down, vec![4, 3, 1]),
        (late, vec![4, 3]),
        (middle, vec![4]),
    ] {
        let rows = store.rows(&tenant(), &id("s"), stretch).await.unwrap();
        assert_eq!(seqs_of(&rows), expected, "{stretch:?}");
    }
}

pub(crate) async fn a_place_leads_to_its_message_and_back(store: impl TranscriptStore) {
    put_mixed(&store).await;
    for (view, ordinal, seq) in [
        (View::All, 3, Some(4)),
        (View::Plain, 2, Some(5)),
        (View::Plain, 3, None),
        (View::Plain, 0, None),
    ] {
        let found = store.seq_of(&tenant(), &id("s"), view, ordinal).await;
        assert_eq!(found.unwrap(), seq, "{view:?} {ordinal}");
    }
    // No view shows it, and yet it is there.
    let hidden = store.row(&tenant(), &id("s"), 3).await.unwrap().unwrap();
    assert_eq!(hidden.body, Some(silent("3").body));
    assert_eq!(store.row(&tenant(), &id("s"), 6).await.unwrap(), None);
}

pub(crate) async fn pictures_are_kept_once_beside_the_messages(store: impl TranscriptStore) {
    let blob = |reference: &str| Blob {
        reference: reference.to_owned(),
        bytes: reference.as_bytes().to_vec(),
    };
    let with = |key: &str, blobs: Vec<Blob>| Batch {
        blobs,
        ..batch(vec![plain(key)])
    };
    for with in [
        with("a", vec![blob("x"), blob("y")]),
        with("b", vec![blob("y")]),
    ] {
        let appended = store.append(&tenant(), &id("s"), with).await.unwrap();
        assert!(matches!(appended, Appended::Stored(_)), "{appended:?}");
    }
    // What is refused leaves no picture behind.
    let refused = Batch {
        blobs: vec![blob("z")],
        ..batch(vec![draft(said("a", Role::User, "other"))])
    };
    let appended = store.append(&tenant(), &id("s"), refused).await.unwrap();
    assert_eq!(appended, Appended::KeyReused("a".to_owned()));
    let other = TenantId::parse("other").unwrap();
    for (tenant, reference, kept) in [
        (tenant(), "x", true),
        (tenant(), "y", true),
        (tenant(), "z", false),
        (other, "x", false),
    ] {
        let bytes = store.blob(&tenant, reference).await.unwrap();
        assert_eq!(
            bytes,
            kept.then(|| reference.as_bytes().to_vec()),
            "{tenant} {reference}"
        );
    }
}

/// The marker of a compaction: no view shows it.
fn marker(key: &str, first_kept_seq: Option<u64>) -> Draft {
    let compaction = Compaction {
        summary: format!("summary of {key}"),
        first_kept_seq,
        tokens_before: Some(7),
    };
    let body = NewMessage {
        compaction: Some(compaction),
        ..with_blocks(key, Role::Assistant, Vec::new())
    };
    Draft {
        in_all: false,
        in_plain: false,
        ..draft(body)
    }
}

pub(crate) async fn a_compaction_is_remembered_where_it_was_made(store: impl TranscriptStore) {
    put(
        &store,
        "s",
        vec![plain("1"), marker("2", Some(1)), plain("3")],
    )
    .await;
    put(&store, "s", vec![marker("4", None), plain("5")]).await;
    // A repetition is not another compaction.
    put(&store, "s", vec![marker("2", Some(1))]).await;
    for (at, expected) in [
        (Some(1), None),
        (Some(2), Some(2)),
        (Some(3), Some(2)),
        (Some(4), Some(4)),
        (None, Some(4)),
    ] {
        let end = store.end(&tenant(), &id("s"), at).await.unwrap();
        assert_eq!(end.compaction_seq, expected, "{at:?}");
    }
    let row = store.row(&tenant(), &id("s"), 2).await.unwrap().unwrap();
    assert_eq!(row.body, Some(marker("2", Some(1)).body));
    // The same key with another compaction is another message.
    let other = batch(vec![marker("4", Some(1))]);
    let appended = store.append(&tenant(), &id("s"), other).await.unwrap();
    assert_eq!(appended, Appended::KeyReused("4".to_owned()));
}

pub(crate) async fn a_compaction_keeps_nothing_that_comes_after_it(store: impl TranscriptStore) {
    put(&store, "s", vec![plain("1")]).await;
    let ahead = batch(vec![plain("2"), marker("3", Some(4))]);
    let appended = store.append(&tenant(), &id("s"), ahead).await.unwrap();
    let refused = KeptAhead {
        key: "3".to_owned(),
        seq: 3,
        first_kept_seq: 4,
    };
    assert_eq!(appended, Appended::KeptAhead(refused));
    assert_eq!(whole(&store, "s", View::All).await, (vec![1], 1, 1));
    // It may begin anew with what follows itself.
    put(&store, "s", vec![plain("2"), marker("3", Some(3))]).await;
    assert_eq!(whole(&store, "s", View::All).await, (vec![1, 2], 2, 3));
}

pub(crate) async fn tails_are_read_together(store: impl TranscriptStore) {
    put_mixed(&store).await;
    put(&store, "t", vec![silent("1")]).await;
    put(
        &store,
        "u",
        (1..=4).map(|key| plain(&key.to_string())).collect(),
    )
    .await;
    let query = |first_of_person| TailQuery {
        session_ids: ["s", "t", "u", "nobody's"].map(id).to_vec(),
        limit: 2,
        first_of_person,
    };
    let tails = store.tails(&tenant(), &query(true)).await.unwrap();
    let told: Vec<(&str, Vec<u64>, Option<u64>)> = tails
        .iter()
        .map(|(session, tail)| {
            let seqs = tail.messages.iter().map(|message| message.seq).collect();
            let first = tail.first_of_person.as_ref().map(|message| message.seq);
            (session.as_str(), seqs, first)
        })
        .collect();
    assert_eq!(
        told,
        [("s", vec![1, 5], Some(1)), ("u", vec![3, 4], Some(1))]
    );
    let tails = store.tails(&tenant(), &query(false)).await.unwrap();
    assert!(tails.values().all(|tail| tail.first_of_person.is_none()));
}
