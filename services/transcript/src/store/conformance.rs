//! What every store of the transcript must do; run on each kind of database.

use confab_model::id::{MessageId, SessionId, TenantId};
use confab_model::message::{NewMessage, Role};

use crate::store::{Appended, Draft, TailQuery, TranscriptStore, View, Window};
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
            a_window_counts_back_from_its_end,
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

async fn put(store: &impl TranscriptStore, session: &str, drafts: Vec<Draft>) -> Vec<u64> {
    match store.append(&tenant(), &id(session), drafts).await.unwrap() {
        Appended::Stored(messages) => messages.iter().map(|message| message.seq).collect(),
        Appended::KeyReused(key) => panic!("key {key} reused"),
    }
}

fn window(view: View, offset: u64, limit: u32) -> Window {
    Window {
        view,
        snapshot: None,
        offset,
        limit,
    }
}

async fn seqs(store: &impl TranscriptStore, session: &str, window: Window) -> (Vec<u64>, u64, u64) {
    let read = store.read(&tenant(), &id(session), window).await.unwrap();
    (
        read.messages.iter().map(|message| message.seq).collect(),
        read.total,
        read.snapshot,
    )
}

pub(crate) async fn a_message_comes_back_as_it_was_appended(store: impl TranscriptStore) {
    let whole = NewMessage {
        model: Some("m".to_owned()),
        stop_reason: Some("toolUse".to_owned()),
        ..with_blocks("k", Role::Assistant, vec![call("read")])
    };
    let stored = store
        .append(&tenant(), &id("s"), vec![draft(whole.clone())])
        .await
        .unwrap();
    let Appended::Stored(stored) = stored else {
        panic!("{stored:?}")
    };
    assert_eq!(
        (stored[0].seq, stored[0].at, &stored[0].body),
        (1, START, &whole)
    );
    let read = store
        .read(&tenant(), &id("s"), window(View::All, 0, 9))
        .await
        .unwrap();
    assert_eq!(read.messages, stored);
}

pub(crate) async fn an_append_is_all_or_nothing(store: impl TranscriptStore) {
    put(&store, "s", vec![plain("a")]).await;
    let other = draft(said("a", Role::User, "other"));
    let appended = store
        .append(&tenant(), &id("s"), vec![plain("b"), other])
        .await
        .unwrap();
    assert_eq!(appended, Appended::KeyReused("a".to_owned()));
    assert_eq!(
        seqs(&store, "s", window(View::All, 0, 9)).await,
        (vec![1], 1, 1)
    );
}

pub(crate) async fn a_stored_key_answers_with_what_is_stored(store: impl TranscriptStore) {
    put(&store, "s", vec![plain("a"), plain("b")]).await;
    let later = Draft {
        at: START.plus_millis(9),
        ..plain("a")
    };
    let seqs_of = put(&store, "s", vec![plain("c"), later, plain("b")]).await;
    assert_eq!(seqs_of, [3, 1, 2]);
    assert_eq!(
        seqs(&store, "s", window(View::All, 0, 9)).await,
        (vec![1, 2, 3], 3, 3)
    );
}

pub(crate) async fn transcripts_do_not_mix(store: impl TranscriptStore) {
    put(&store, "s", vec![plain("a")]).await;
    put(&store, "t", vec![plain("a"), plain("b")]).await;
    let other = TenantId::parse("other").unwrap();
    store
        .append(&other, &id("s"), vec![plain("x"), plain("y"), plain("z")])
        .await
        .unwrap();
    assert_eq!(
        seqs(&store, "s", window(View::All, 0, 9)).await,
        (vec![1], 1, 1)
    );
    assert_eq!(
        seqs(&store, "t", window(View::All, 0, 9)).await,
        (vec![1, 2], 2, 2)
    );
    assert_eq!(
        seqs(&store, "nobody's", window(View::All, 0, 9)).await,
        (vec![], 0, 0)
    );
}

/// 1 and 5 are plain, 2 and 4 for the view with tools, 3 for none.
async fn put_mixed(store: &impl TranscriptStore) {
    put(store, "s", vec![plain("1"), tool("2"), silent("3")]).await;
    put(store, "s", vec![tool("4"), plain("5")]).await;
}

pub(crate) async fn each_view_counts_its_own_messages(store: impl TranscriptStore) {
    put_mixed(&store).await;
    assert_eq!(
        seqs(&store, "s", window(View::All, 0, 9)).await,
        (vec![1, 2, 4, 5], 4, 5)
    );
    assert_eq!(
        seqs(&store, "s", window(View::Plain, 0, 9)).await,
        (vec![1, 5], 2, 5)
    );
    assert_eq!(
        seqs(&store, "s", window(View::All, 1, 2)).await,
        (vec![2, 4], 4, 5)
    );
    assert_eq!(
        seqs(&store, "s", window(View::Plain, 1, 2)).await,
        (vec![1], 2, 5)
    );
}

pub(crate) async fn a_window_counts_back_from_its_end(store: impl TranscriptStore) {
    put_mixed(&store).await;
    let pinned = |snapshot, view| Window {
        snapshot: Some(snapshot),
        ..window(view, 0, 9)
    };
    assert_eq!(
        seqs(&store, "s", pinned(4, View::All)).await,
        (vec![1, 2, 4], 3, 4)
    );
    assert_eq!(
        seqs(&store, "s", pinned(3, View::All)).await,
        (vec![1, 2], 2, 3)
    );
    assert_eq!(
        seqs(&store, "s", pinned(4, View::Plain)).await,
        (vec![1], 1, 4)
    );
    assert_eq!(
        seqs(&store, "s", pinned(99, View::Plain)).await,
        (vec![1, 5], 2, 5)
    );
    assert_eq!(
        seqs(&store, "s", pinned(0, View::Plain)).await,
        (vec![], 0, 0)
    );
    assert_eq!(
        seqs(&store, "s", window(View::All, 4, 9)).await,
        (vec![], 4, 5)
    );
    assert_eq!(
        seqs(&store, "s", window(View::All, u64::MAX, 9)).await,
        (vec![], 4, 5)
    );
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
