//! Finding words.

use confab_model::id::AgentId;
use confab_model::key::SessionKey;
use confab_model::message::Block;
use confab_rpc::gate::{Among, Reach};

use super::{batch, draft, id, silent, tenant, tool};
use crate::store::search::{
    Entry, Found, Ground, Hit, IndexPiece, IndexState, SearchStore, Sought, Term,
};
use crate::store::{Appended, Batch, TranscriptStore};
use crate::testing::said;
use confab_model::id::TenantId;
use confab_model::message::Role;

/// Runs every case on a store of its own, like the suite of the whole store.
macro_rules! suite {
    ($open:path: $($case:ident),+ $(,)?) => {
        $(#[tokio::test]
        async fn $case() {
            let (store, _alive) = $open().await;
            crate::store::conformance::search::$case(store).await;
        })+
    };
    ($open:path) => {
        crate::store::conformance::search::suite!($open:
            the_backlog_holds_what_the_plain_view_shows_and_is_bounded,
            a_piece_is_added_once_and_under_its_own_rules_only,
            an_index_that_is_behind_answers_nothing,
            every_term_must_be_in_a_message,
            the_newest_are_found_first_whatever_their_length,
            a_tenant_finds_its_own_messages_only,
            a_search_is_narrowed_to_its_ground,
        );
    };
}

pub(crate) use suite;

const RULES: &str = "rules";

fn other_tenant() -> TenantId {
    TenantId::parse("other \"tenant\"").unwrap()
}

fn key(text: &str) -> SessionKey {
    SessionKey::parse(text).unwrap()
}

/// Appends texts; a session's name is its key too, where it looks like one.
async fn say(store: &impl TranscriptStore, tenant: &TenantId, session: &str, texts: &[&str]) {
    let drafts = texts
        .iter()
        .map(|text| draft(said(&format!("{session} {text}"), Role::User, text)));
    let batch = Batch {
        session_key: SessionKey::parse(session).ok(),
        ..batch(drafts.collect())
    };
    let appended = store.append(tenant, &id(session), batch).await.unwrap();
    assert!(matches!(appended, Appended::Stored(_)), "{appended:?}");
}

/// The words of the next messages, as the index wants them.
async fn next_piece(store: &impl SearchStore, after: u64, count: u32) -> IndexPiece {
    let backlog = store.backlog(after, count, 1024 * 1024).await.unwrap();
    let entries = backlog.messages.into_iter().map(|one| Entry {
        place: one.place,
        tenant: one.tenant,
        words: one.body.map(|body| text_of(&body.blocks)).unwrap(),
    });
    IndexPiece {
        rules: RULES.to_owned(),
        after,
        through: backlog.through,
        entries: entries.collect(),
    }
}

fn text_of(blocks: &[Block]) -> String {
    match blocks {
        [Block::Text(text)] => text.clone(),
        other => panic!("{other:?}"),
    }
}

/// Covers everything, two messages at a time.
async fn cover(store: &impl SearchStore) -> IndexState {
    let state = store.index_state().await.unwrap();
    if state.rules != RULES {
        store.restart_index(&state.rules, RULES).await.unwrap();
    }
    loop {
        let state = store.index_state().await.unwrap();
        if state.indexed == state.head {
            return state;
        }
        let piece = next_piece(store, state.indexed, 2).await;
        store.extend_index(piece).await.unwrap();
    }
}

fn everywhere() -> Ground {
    Ground {
        reach: Reach::All,
        session_key: None,
        session_id: None,
        agent_id: None,
    }
}

/// Terms as text: words in a row with blanks, a star behind a beginning.
fn term(text: &str) -> Term {
    Term {
        words: text
            .trim_end_matches('*')
            .split(' ')
            .map(str::to_owned)
            .collect(),
        prefix: text.ends_with('*'),
    }
}

fn sought(through: u64, terms: &[&str], ground: Ground) -> Sought {
    Sought {
        rules: RULES.to_owned(),
        through,
        terms: terms.iter().map(|text| term(text)).collect(),
        ground,
        limit: 10,
    }
}

async fn hits(
    store: &impl SearchStore,
    tenant: &TenantId,
    terms: &[&str],
    ground: Ground,
) -> Vec<Hit> {
    let state = cover(store).await;
    let asked = sought(state.head, terms, ground);
    match store.find(tenant, &asked).await.unwrap() {
        Found::Hits(hits) => hits,
        Found::Behind => panic!("the index was just covered"),
    }
}

/// Sessions and sequences, newest first.
async fn found(store: &impl SearchStore, terms: &[&str], ground: Ground) -> Vec<(String, u64)> {
    let hits = hits(store, &tenant(), terms, ground).await;
    hits.into_iter()
        .map(|hit| (hit.session_id.to_string(), hit.seq))
        .collect()
}

fn of(session: &str, seqs: &[u64]) -> Vec<(String, u64)> {
    seqs.iter().map(|seq| (session.to_owned(), *seq)).collect()
}

pub(crate) async fn the_backlog_holds_what_the_plain_view_shows_and_is_bounded(
    store: impl SearchStore + TranscriptStore,
) {
    let empty = store.backlog(0, 9, 9).await.unwrap();
    assert_eq!((empty.messages.len(), empty.through), (0, 0));
    let drafts = vec![
        draft(said("a", Role::User, "one")),
        tool("b"),
        silent("c"),
        draft(said("d", Role::User, "four")),
    ];
    store
        .append(&tenant(), &id("s"), batch(drafts))
        .await
        .unwrap();
    // After which place, how many, how many bytes; then the places, and up to where.
    for (after, count, bytes, places, through) in [
        (0, 9, 1_000_000, vec![1, 4], 4),
        (0, 2, 1_000_000, vec![1], 2),
        (2, 9, 1_000_000, vec![4], 4),
        (1, 2, 1_000_000, vec![], 3),
        (0, 9, 1, vec![1], 1),
        (4, 9, 1_000_000, vec![], 4),
    ] {
        let backlog = store.backlog(after, count, bytes).await.unwrap();
        let got: Vec<u64> = backlog.messages.iter().map(|one| one.place).collect();
        assert_eq!((got, backlog.through), (places, through), "{after} {count}");
    }
    let state = store.index_state().await.unwrap();
    assert_eq!((state.indexed, state.head), (0, 4));
}

pub(crate) async fn a_piece_is_added_once_and_under_its_own_rules_only(
    store: impl SearchStore + TranscriptStore,
) {
    say(&store, &tenant(), "s", &["alpha", "beta"]).await;
    let piece = next_piece(&store, 0, 9).await;
    store.extend_index(piece.clone()).await.unwrap();
    assert_eq!(store.index_state().await.unwrap().indexed, 0, "other rules");
    store.restart_index("", RULES).await.unwrap();
    for _ in 0..2 {
        store.extend_index(piece.clone()).await.unwrap();
    }
    assert_eq!(found(&store, &["alpha"], everywhere()).await, of("s", &[1]));
    // Who knows another state restarts nothing.
    store.restart_index("", "later").await.unwrap();
    assert_eq!(store.index_state().await.unwrap().rules, RULES);
    store.restart_index(RULES, "later").await.unwrap();
    let state = store.index_state().await.unwrap();
    assert_eq!((state.rules.as_str(), state.indexed), ("later", 0));
    assert_eq!(found(&store, &["alpha"], everywhere()).await, of("s", &[1]));
}

pub(crate) async fn an_index_that_is_behind_answers_nothing(
    store: impl SearchStore + TranscriptStore,
) {
    say(&store, &tenant(), "s", &["alpha"]).await;
    let state = cover(&store).await;
    let ask = async |rules: &str, through| {
        let asked = Sought {
            rules: rules.to_owned(),
            ..sought(through, &["alpha"], everywhere())
        };
        store.find(&tenant(), &asked).await.unwrap()
    };
    assert!(matches!(ask(RULES, state.head).await, Found::Hits(hits) if hits.len() == 1));
    assert_eq!(ask(RULES, state.head + 1).await, Found::Behind);
    assert_eq!(ask("other rules", state.head).await, Found::Behind);
}

pub(crate) async fn every_term_must_be_in_a_message(store: impl SearchStore + TranscriptStore) {
    let texts = ["we deploy on friday", "deploy", "on friday we deploy"];
    say(&store, &tenant(), "s", &texts).await;
    for (terms, seqs) in [
        (vec!["deploy"], vec![1, 2, 3]),
        (vec!["deploy", "friday"], vec![1, 3]),
        (vec!["deploy on"], vec![1]),
        (vec!["fri*"], vec![1, 3]),
        (vec!["on fri*"], vec![1, 3]),
        (vec!["fri"], vec![]),
        (vec!["deploy", "monday"], vec![]),
        (vec!["deploy", "deploy on"], vec![1]),
        // A tenant is no word of a text.
        (vec!["64656661756c74"], vec![]),
    ] {
        let mut got = found(&store, &terms, everywhere()).await;
        got.sort();
        assert_eq!(got, of("s", &seqs), "{terms:?}");
    }
}

pub(crate) async fn the_newest_are_found_first_whatever_their_length(
    store: impl SearchStore + TranscriptStore,
) {
    let texts = ["alpha one", "alpha two", "alpha", "alpha three", "beta"];
    say(&store, &tenant(), "s", &texts).await;
    let got = found(&store, &["alpha"], everywhere()).await;
    assert_eq!(got, of("s", &[4, 3, 2, 1]));
}

pub(crate) async fn a_tenant_finds_its_own_messages_only(
    store: impl SearchStore + TranscriptStore,
) {
    say(&store, &tenant(), "s", &["alpha mine"]).await;
    say(&store, &other_tenant(), "s", &["alpha theirs"]).await;
    let mine = hits(&store, &tenant(), &["alpha"], everywhere()).await;
    let theirs = hits(&store, &other_tenant(), &["alpha"], everywhere()).await;
    assert_eq!((mine.len(), theirs.len()), (1, 1));
    assert_ne!(mine[0].place, theirs[0].place);
    let read = store.message_of(&tenant(), &mine[0]).await.unwrap();
    assert_eq!(text_of(&read.unwrap().body.unwrap().blocks), "alpha mine");
    let read = store.message_of(&tenant(), &theirs[0]).await.unwrap();
    assert_eq!(read, None);
    for word in ["mine", "theirs"] {
        let mine = hits(&store, &tenant(), &[word], everywhere()).await;
        assert_eq!(mine.len(), usize::from(word == "mine"));
    }
}

pub(crate) async fn a_search_is_narrowed_to_its_ground(store: impl SearchStore + TranscriptStore) {
    let (desk, main, editor) = [
        "agent:writer:desk",
        "agent:writer:main",
        "agent:editor:main",
    ]
    .into();
    for session in [desk, main, editor, "global", "unknown"] {
        say(&store, &tenant(), session, &["alpha"]).await;
    }
    let agent = |text: &str| AgentId::normalise(text);
    let among = |agents: &[&str], keys: &[&str]| {
        Reach::Among(Among {
            agents: agents.iter().map(|one| agent(one)).collect(),
            keys: keys.iter().map(|one| key(one)).collect(),
            family: None,
        })
    };
    let reach = |reach| Ground {
        reach,
        ..everywhere()
    };
    // What the key does not tell the gate does: those two stay in.
    let cases = [
        (everywhere(), vec![desk, main, editor, "global", "unknown"]),
        (reach(among(&[], &[])), vec!["global", "unknown"]),
        (reach(among(&[], &[main])), vec![main, "global", "unknown"]),
        (
            reach(among(&["writer"], &[editor])),
            vec![desk, main, editor, "global", "unknown"],
        ),
        (reach(among(&["edit"], &[])), vec!["global", "unknown"]),
        (
            Ground {
                agent_id: Some(agent("editor")),
                ..everywhere()
            },
            vec![editor, "global", "unknown"],
        ),
        (
            Ground {
                session_key: Some(key(desk)),
                ..everywhere()
            },
            vec![desk, "unknown"],
        ),
        (
            Ground {
                session_id: Some(id(main)),
                ..everywhere()
            },
            vec![main],
        ),
    ];
    for (ground, expected) in cases {
        let mut got: Vec<String> = found(&store, &["alpha"], ground.clone())
            .await
            .into_iter()
            .map(|(session, _)| session)
            .collect();
        got.sort();
        let mut expected = expected;
        expected.sort_unstable();
        assert_eq!(got, expected, "{ground:?}");
    }
}
