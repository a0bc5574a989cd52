//! The upkeep of the index.

use confab_config::{Live, Source};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::Messages;
use crate::limits::INDEX_PIECE_MESSAGES;
use crate::search::follow::follow;
use crate::store::search::{Entry, IndexPiece, IndexState, SearchStore as _};
use crate::store::sqlite::SqliteStore;

async fn append_many(house: &House, from: u32, count: u32) {
    for first in (from..from + count).step_by(1000) {
        let last = (first + 1000).min(from + count);
        let many: Vec<NewMessage> = (first..last)
            .map(|number| said(&number.to_string(), Role::User, &format!("needle {number}")))
            .collect();
        house.append(DESK, &many).await.unwrap();
    }
}

async fn state(house: &House) -> IndexState {
    house.messages.store.index_state().await.unwrap()
}

#[tokio::test]
async fn a_search_covers_several_pieces_first_and_then_only_what_is_new_d77() {
    let house = House::with(&[DESK]).await;
    append_many(&house, 1, 2 * INDEX_PIECE_MESSAGES + 1).await;
    assert_eq!(state(&house).await.indexed, 0);
    let last = 2 * INDEX_PIECE_MESSAGES + 1;
    for number in [1, INDEX_PIECE_MESSAGES, last] {
        let seqs = at_desk(&house, &format!("\"needle {number}\"")).await;
        assert_eq!(seqs, [u64::from(number)]);
    }
    append_many(&house, last + 1, 1).await;
    let behind = state(&house).await;
    assert_eq!(behind.indexed + 1, behind.head);
    assert_eq!(
        at_desk(&house, &(last + 1).to_string()).await,
        [u64::from(last) + 1]
    );
    let covered = state(&house).await;
    assert_eq!(covered.indexed, covered.head);
}

#[tokio::test]
async fn searches_at_once_help_each_other_and_index_nothing_twice() {
    let house = House::with(&[DESK]).await;
    append_many(&house, 1, 2 * INDEX_PIECE_MESSAGES).await;
    let ask = || at_desk(&house, "\"needle 7\"");
    let (first, second, third) = tokio::join!(ask(), ask(), ask());
    assert_eq!([first, second, third], [[7], [7], [7]]);
}

/// What was indexed under other rules may be what these rules hide.
#[tokio::test]
async fn an_index_of_other_rules_is_built_anew_before_it_answers_d77() {
    let house = House::with(&[DESK]).await;
    house
        .append(DESK, &[said("1", Role::User, "needle")])
        .await
        .unwrap();
    let store = &house.messages.store;
    store.restart_index("", "rules of old").await.unwrap();
    let leak = IndexPiece {
        rules: "rules of old".to_owned(),
        after: 0,
        through: 1,
        entries: vec![Entry {
            place: 1,
            tenant: operator().tenant,
            words: "hidden".to_owned(),
        }],
    };
    store.extend_index(leak).await.unwrap();
    assert_eq!(state(&house).await.indexed, 1);
    assert_eq!(at_desk(&house, "hidden").await, Vec::<u64>::new());
    assert_eq!(at_desk(&house, "needle").await, [1]);
    let rules = state(&house).await.rules;
    let redactor = house.messages.redactor();
    assert!(rules.ends_with(redactor.fingerprint()), "{rules}");
}

/// The same transcript, as the task that follows it holds it.
fn shared(house: &House) -> Arc<Messages<SqliteStore>> {
    let Messages {
        store,
        clock,
        ids,
        settings,
        data_dir,
    } = &house.messages;
    Arc::new(Messages {
        store: store.clone(),
        clock: Arc::clone(clock),
        ids: Arc::clone(ids),
        settings: settings.clone(),
        data_dir: data_dir.clone(),
    })
}

/// A pattern that comes into force later counts for what was indexed before, and one that is taken
/// away again hides nothing any more.
#[tokio::test]
async fn a_new_pattern_hides_what_was_found_before_d77() {
    let mut house = House::with(&[DESK]).await;
    let path = house.messages.data_dir.join("confab.json5");
    let write = |config: &str| std::fs::write(&path, config).unwrap();
    let hiding = r#"{ logging: { redactPatterns: ["TICKET-\\d+"] } }"#;
    write("{}");
    let live = Live::start(Source::of(Some(path.clone()), [])).unwrap().0;
    house.messages.settings = live.clone();
    let message = said("1", Role::User, "the ticket is TICKET-4711 for ann");
    house.append(DESK, &[message]).await.unwrap();
    for (config, seqs) in [
        (None, vec![1]),
        (Some(hiding), vec![]),
        (Some("{}"), vec![1]),
    ] {
        if let Some(config) = config {
            write(config);
            assert!(live.reload().unwrap().changed);
        }
        assert_eq!(at_desk(&house, "4711").await, seqs, "{config:?}");
        let page = search(&house, &Registry::of(&[DESK]), asked("ann")).await;
        let excerpt = page.unwrap().matches.remove(0).excerpt;
        assert_eq!(excerpt.contains("4711"), !seqs.is_empty(), "{excerpt}");
    }
}

#[tokio::test]
async fn the_index_follows_the_appends_a_piece_behind_at_most() {
    let house = House::with(&[DESK]).await;
    // Left behind by a process that ended: covered at the start.
    append_many(&house, 1, INDEX_PIECE_MESSAGES).await;
    let stop = CancellationToken::new();
    let following = follow(shared(&house), house.database().commits(), stop.clone());
    let appending = async {
        let mut commits = house.database().commits();
        for from in [INDEX_PIECE_MESSAGES + 1, 2 * INDEX_PIECE_MESSAGES + 1] {
            while state(&house).await.indexed + 1 < u64::from(from) {
                commits.changed().await.unwrap();
            }
            append_many(&house, from, INDEX_PIECE_MESSAGES).await;
        }
        stop.cancel();
    };
    tokio::join!(following, appending);
    assert_eq!(at_desk(&house, "\"needle 1400\"").await, [1400]);
}

#[tokio::test]
async fn a_few_messages_are_left_to_the_next_search() {
    let house = House::with(&[DESK]).await;
    let messages = shared(&house);
    messages.catch_up_far().await.unwrap();
    append_many(&house, 1, INDEX_PIECE_MESSAGES - 1).await;
    messages.catch_up_far().await.unwrap();
    assert_eq!(state(&house).await.indexed, 0);
    append_many(&house, INDEX_PIECE_MESSAGES, 1).await;
    messages.catch_up_far().await.unwrap();
    assert_eq!(state(&house).await.indexed, u64::from(INDEX_PIECE_MESSAGES));
}
