//! Copying a transcript.

use std::sync::Arc;

use confab_model::clock::Timestamp;
use confab_model::id::{Ids, TenantId};
use confab_model::key::SessionKey;
use confab_model::message::{Compaction, NewMessage, Provenance, Role};
use confab_store::ids::SequentialIds;

use super::{draft, id, plain, put, silent, tenant, tool};
use crate::store::fork::{Fork, ForkKey, ForkStore, Forked};
use crate::store::{Draft, Mark, Row, Stretch, TailQuery, TranscriptStore, View};
use crate::testing::{START, said};

/// Runs every case on a store of its own, like the suite of the whole store.
macro_rules! suite {
    ($open:path: $($case:ident),+ $(,)?) => {
        $(#[tokio::test]
        async fn $case() {
            let (store, _alive) = $open().await;
            crate::store::conformance::fork::$case(store).await;
        })+
    };
    ($open:path) => {
        crate::store::conformance::fork::suite!($open:
            a_copy_has_everything_but_identifiers,
            a_compacted_transcript_is_copied_from_what_it_kept,
            a_compaction_that_kept_nothing_is_copied_with_its_marker,
            an_older_marker_stays_behind,
            an_empty_transcript_is_copied_to_nothing,
            nothing_is_copied_into_a_transcript_with_messages,
            a_key_meets_its_first_answer_for_a_day,
            a_view_that_is_too_long_is_refused,
        );
    };
}

pub(crate) use suite;

const INTO: &str = "agent:writer:child";

fn fork(source: &str, into: &str) -> Fork {
    Fork {
        source: id(source),
        into: id(into),
        into_key: SessionKey::parse(INTO).unwrap(),
        key: None,
        at: START,
        kept_since: START.plus_millis(-1),
    }
}

fn keyed(key: &str, fingerprint: &str) -> ForkKey {
    ForkKey {
        owner: "owner".to_owned(),
        key: key.to_owned(),
        fingerprint: fingerprint.to_owned(),
    }
}

async fn run(store: &impl ForkStore, fork: Fork) -> Forked {
    let ids: Arc<dyn Ids> = Arc::new(SequentialIds::new());
    store.fork(&tenant(), fork, ids).await.unwrap()
}

fn marker(key: &str, first_kept_seq: Option<u64>) -> Draft {
    let body = NewMessage {
        blocks: Vec::new(),
        compaction: Some(Compaction {
            summary: format!("summary {key}"),
            first_kept_seq,
            tokens_before: Some(7),
        }),
        ..said(key, Role::Assistant, "")
    };
    Draft {
        in_all: false,
        in_plain: false,
        ..draft(body)
    }
}

async fn rows(store: &impl TranscriptStore, session: &str) -> Vec<Row> {
    let end = store.end(&tenant(), &id(session), None).await.unwrap();
    let mut rows = Vec::new();
    for seq in 1..=end.seq {
        let row = store.row(&tenant(), &id(session), seq).await.unwrap();
        rows.push(row.unwrap());
    }
    rows
}

async fn keys(store: &impl TranscriptStore, session: &str) -> Vec<String> {
    let rows = rows(store, session).await;
    rows.into_iter().map(|row| row.body.unwrap().key).collect()
}

pub(crate) async fn a_copy_has_everything_but_identifiers(store: impl TranscriptStore + ForkStore) {
    let source = SessionKey::parse("agent:writer:main").unwrap();
    let sent = NewMessage {
        provenance: Some(Provenance::inter_session(source, None, "sessions_send")),
        ..said("sent", Role::User, "hi")
    };
    let drafts = vec![
        Draft {
            from_person: false,
            at: Timestamp::from_millis(5),
            ..draft(sent)
        },
        tool("b"),
        silent("c"),
        plain("d"),
    ];
    put(&store, "s", drafts).await;
    assert_eq!(run(&store, fork("s", "t")).await, Forked::Copied(4));
    let (originals, copies) = (rows(&store, "s").await, rows(&store, "t").await);
    for (original, copy) in originals.iter().zip(&copies) {
        assert_ne!(original.id, copy.id);
        assert_eq!(
            (original.seq, original.at, &original.body),
            (copy.seq, copy.at, &copy.body)
        );
    }
    let ends = [
        store.end(&tenant(), &id("s"), None).await.unwrap(),
        store.end(&tenant(), &id("t"), None).await.unwrap(),
    ];
    let expected = Mark {
        seq: 4,
        all: 3,
        plain: 2,
        compaction_seq: None,
    };
    assert_eq!(ends, [expected, expected]);
    let query = TailQuery {
        session_ids: vec![id("t")],
        limit: 9,
        first_of_person: true,
    };
    let tails = store.tails(&tenant(), &query).await.unwrap();
    assert_eq!(tails[&id("t")].messages.len(), 2);
    let first = tails[&id("t")].first_of_person.as_ref();
    assert_eq!(first.map(|row| row.seq), Some(4));
    // Both go on, each for itself.
    assert_eq!(put(&store, "t", vec![plain("e")]).await, [5]);
    assert_eq!(put(&store, "s", vec![plain("d")]).await, [4]);
    assert_eq!(keys(&store, "s").await.len(), 4);
}

pub(crate) async fn a_compacted_transcript_is_copied_from_what_it_kept(
    store: impl TranscriptStore + ForkStore,
) {
    let drafts = vec![
        plain("a"),
        plain("b"),
        tool("c"),
        silent("d"),
        marker("m", Some(3)),
        plain("e"),
    ];
    put(&store, "s", drafts).await;
    assert_eq!(run(&store, fork("s", "t")).await, Forked::Copied(4));
    assert_eq!(keys(&store, "t").await, ["c", "d", "m", "e"]);
    let copies = rows(&store, "t").await;
    let compaction = copies[2].body.clone().unwrap().compaction.unwrap();
    assert_eq!(
        (
            compaction.summary.as_str(),
            compaction.first_kept_seq,
            compaction.tokens_before
        ),
        ("summary m", Some(1), Some(7))
    );
    let end = store.end(&tenant(), &id("t"), None).await.unwrap();
    let expected = Mark {
        seq: 4,
        all: 2,
        plain: 1,
        compaction_seq: Some(3),
    };
    assert_eq!(end, expected);
    let before = store.end(&tenant(), &id("t"), Some(2)).await.unwrap();
    assert_eq!((before.all, before.compaction_seq), (1, None));
    let shown = Stretch {
        view: View::All,
        first: 1,
        last: 9,
        newest_first: false,
        after: None,
        before: None,
    };
    let shown = store.rows(&tenant(), &id("t"), shown).await.unwrap();
    let seqs: Vec<u64> = shown.iter().map(|row| row.seq).collect();
    assert_eq!(seqs, [1, 4]);
}

pub(crate) async fn a_compaction_that_kept_nothing_is_copied_with_its_marker(
    store: impl TranscriptStore + ForkStore,
) {
    put(&store, "s", vec![plain("a"), marker("m", None), plain("b")]).await;
    assert_eq!(run(&store, fork("s", "t")).await, Forked::Copied(2));
    assert_eq!(keys(&store, "t").await, ["m", "b"]);
    let copies = rows(&store, "t").await;
    let compaction = copies[0].body.clone().unwrap().compaction.unwrap();
    assert_eq!(compaction.first_kept_seq, None);
    let end = store.end(&tenant(), &id("t"), None).await.unwrap();
    assert_eq!(end.compaction_seq, Some(1));
}

pub(crate) async fn an_older_marker_stays_behind(store: impl TranscriptStore + ForkStore) {
    let drafts = vec![
        plain("a"),
        plain("b"),
        marker("old", Some(2)),
        plain("c"),
        marker("new", Some(2)),
    ];
    put(&store, "s", drafts).await;
    assert_eq!(run(&store, fork("s", "t")).await, Forked::Copied(3));
    assert_eq!(keys(&store, "t").await, ["b", "c", "new"]);
    let end = store.end(&tenant(), &id("t"), None).await.unwrap();
    assert_eq!((end.seq, end.all, end.compaction_seq), (3, 2, Some(3)));
    // A fork of the fork is the same.
    assert_eq!(run(&store, fork("t", "u")).await, Forked::Copied(3));
    assert_eq!(keys(&store, "u").await, ["b", "c", "new"]);
}

pub(crate) async fn an_empty_transcript_is_copied_to_nothing(
    store: impl TranscriptStore + ForkStore,
) {
    assert_eq!(run(&store, fork("s", "t")).await, Forked::Copied(0));
    assert_eq!(put(&store, "t", vec![plain("a")]).await, [1]);
    // What another tenant has under the same name is not copied.
    let other = TenantId::parse("other").unwrap();
    let ids: Arc<dyn Ids> = Arc::new(SequentialIds::new());
    let forked = store.fork(&other, fork("t", "v"), ids).await.unwrap();
    assert_eq!(forked, Forked::Copied(0));
}

pub(crate) async fn nothing_is_copied_into_a_transcript_with_messages(
    store: impl TranscriptStore + ForkStore,
) {
    put(&store, "s", vec![plain("a")]).await;
    put(&store, "t", vec![silent("b")]).await;
    assert_eq!(run(&store, fork("s", "t")).await, Forked::NotEmpty);
    assert_eq!(run(&store, fork("s", "s")).await, Forked::NotEmpty);
    assert_eq!(keys(&store, "t").await, ["b"]);
}

pub(crate) async fn a_key_meets_its_first_answer_for_a_day(
    store: impl TranscriptStore + ForkStore,
) {
    put(&store, "s", vec![plain("a")]).await;
    let with_key = |into: &str, fingerprint: &str| Fork {
        key: Some(keyed("k", fingerprint)),
        ..fork("s", into)
    };
    assert_eq!(run(&store, with_key("t", "x")).await, Forked::Copied(1));
    put(&store, "s", vec![plain("b")]).await;
    put(&store, "t", vec![plain("c")]).await;
    assert_eq!(run(&store, with_key("t", "x")).await, Forked::Copied(1));
    assert_eq!(run(&store, with_key("u", "y")).await, Forked::KeyReused);
    let first = |key: ForkKey, since| {
        let store = store.clone();
        async move { store.forked(&tenant(), &key, since).await.unwrap() }
    };
    let at = START;
    assert_eq!(first(keyed("k", "x"), at).await, Some(Forked::Copied(1)));
    assert_eq!(first(keyed("k", "y"), at).await, Some(Forked::KeyReused));
    assert_eq!(first(keyed("other", "x"), at).await, None);
    let stranger = ForkKey {
        owner: "stranger".to_owned(),
        ..keyed("k", "x")
    };
    assert_eq!(first(stranger, at).await, None);
    // Forgotten: the key may name another call.
    let later = START.plus_millis(1);
    assert_eq!(first(keyed("k", "x"), later).await, None);
    let again = Fork {
        at: later,
        kept_since: later,
        ..with_key("u", "y")
    };
    assert_eq!(run(&store, again).await, Forked::Copied(2));
}

pub(crate) async fn a_view_that_is_too_long_is_refused(store: impl TranscriptStore + ForkStore) {
    for round in 0..51 {
        let many = (0..1000).map(|number| plain(&format!("{round} {number}")));
        put(&store, "s", many.collect()).await;
    }
    let refused = Forked::TooMany { messages: 51_000 };
    assert_eq!(run(&store, fork("s", "t")).await, refused);
    assert!(keys(&store, "t").await.is_empty());
    // Compacted it fits.
    put(&store, "s", vec![marker("m", Some(50_999))]).await;
    assert_eq!(run(&store, fork("s", "t")).await, Forked::Copied(3));
}
