use confab_model::clock::Clock as _;
use confab_model::id::TenantId;
use confab_proto::registry::v1 as proto;
use confab_rpc::caller::Caller;
use confab_rpc::error::{Reason, RpcError};
use confab_store::page;
use futures::FutureExt as _;

use super::{Following, News, Place, Told};
use crate::commands::{CreateSession, WatchSessions};
use crate::store::sqlite::SqliteStore;
use crate::store::{AwarenessStore as _, Retention};
use crate::testing::{DEFAULTS, House, agent, change_of, named, operator};

async fn follow(
    house: &House,
    caller: Caller,
    cursor: Option<String>,
) -> Result<Following<SqliteStore>, RpcError> {
    let request = WatchSessions::parse(proto::WatchSessionsRequest { cursor })?;
    let call = house.admitted(caller, request).await?;
    house.sessions.watch_sessions(call).await
}

fn words(told: &[Told]) -> Vec<String> {
    let words = told.iter().map(|one| match &one.news {
        News::Changed(session) => session.key.to_string(),
        News::Deleted(key) => format!("-{key}"),
        News::Gap => "gap".to_owned(),
    });
    words.collect()
}

async fn delete(house: &House, text: &str) {
    let row = house.row(text).await.unwrap();
    let request = change_of(
        &row,
        proto::LifecycleChange::Delete,
        &format!("delete {text}"),
    );
    house.commit(request).await.unwrap();
}

/// The cursor of the last of what was told, as a client sends it back.
fn cursor(told: &[Told]) -> Option<String> {
    told.last().map(|last| page::encode(&last.place))
}

#[tokio::test]
async fn without_a_cursor_a_follower_begins_at_the_present() {
    let house = House::with(DEFAULTS).await;
    house.made("agent:writer:old").await;
    let mut following = follow(&house, operator(), None).await.unwrap();
    assert!(following.next().now_or_never().is_none());
    house.made("agent:writer:new").await;
    assert_eq!(
        words(&following.next().await.unwrap()),
        ["agent:writer:new"]
    );
}

#[tokio::test]
async fn a_follower_that_was_cut_off_goes_on_behind_its_cursor() {
    let house = House::with(DEFAULTS).await;
    let mut following = follow(&house, operator(), None).await.unwrap();
    let keys: Vec<String> = (0..10).map(|n| format!("agent:writer:{n}")).collect();
    for key in &keys {
        house.made(key).await;
    }
    let told = following.next().await.unwrap();
    assert_eq!(words(&told), keys);
    let after_three = cursor(&told[..3]);
    drop(following);
    let mut again = follow(&house, operator(), after_three).await.unwrap();
    assert_eq!(words(&again.next().await.unwrap()), keys[3..], "B219");
}

#[tokio::test]
async fn a_session_that_changed_often_is_told_once_as_it_is_and_a_deletion_is_told() {
    let house = House::with(DEFAULTS).await;
    let begin = follow(&house, operator(), None).await.unwrap();
    let begin = page::encode(&begin.place);
    for text in ["agent:writer:a", "agent:writer:b", "agent:writer:c"] {
        house.made(text).await;
    }
    delete(&house, "agent:writer:b").await;
    let row = house.row("agent:writer:a").await.unwrap();
    let request = change_of(&row, proto::LifecycleChange::Archive, "archive");
    house.commit(request).await.unwrap();

    let mut following = follow(&house, operator(), Some(begin)).await.unwrap();
    let told = following.next().await.unwrap();
    assert_eq!(
        words(&told),
        ["agent:writer:c", "-agent:writer:b", "agent:writer:a"]
    );
    let News::Changed(session) = &told[2].news else {
        panic!("{told:?}")
    };
    assert!(session.archived_at.is_some());
    // A key that is made again is there again.
    house.made("agent:writer:b").await;
    assert_eq!(words(&following.next().await.unwrap()), ["agent:writer:b"]);
}

#[tokio::test]
async fn more_than_a_page_is_told_whole_and_in_order() {
    let house = House::with(DEFAULTS).await;
    let mut following = follow(&house, operator(), None).await.unwrap();
    let keys: Vec<String> = (0..450).map(|n| format!("agent:writer:{n:03}")).collect();
    for key in &keys {
        house.made(key).await;
    }
    let mut told = Vec::new();
    while told.len() < keys.len() {
        let page = following.next().await.unwrap();
        assert!(page.len() <= 200);
        told.extend(words(&page));
    }
    assert_eq!(told, keys);
    assert!(following.next().now_or_never().is_none());
}

#[tokio::test]
async fn a_follower_of_another_tenant_is_told_nothing_and_its_cursor_is_refused() {
    let house = House::with(DEFAULTS).await;
    let stranger = Caller::operator(TenantId::parse("other").unwrap());
    let mut following = follow(&house, stranger.clone(), None).await.unwrap();
    let mut own = follow(&house, operator(), None).await.unwrap();
    house.made("agent:writer:a").await;
    delete(&house, "agent:writer:a").await;
    assert!(following.next().now_or_never().is_none());
    let told = own.next().await.unwrap();
    assert_eq!(words(&told), ["-agent:writer:a"]);

    let refused = follow(&house, stranger.clone(), cursor(&told)).await;
    let refused = refused.err().unwrap();
    assert_eq!(refused.reason, Reason::InvalidArgument);
    assert_eq!(refused.violations[0].field, "cursor");
    let request = CreateSession::parse(named("agent:writer:theirs")).unwrap();
    let call = house.admitted(stranger, request).await.unwrap();
    house.sessions.create(call).await.unwrap();
    assert_eq!(
        words(&following.next().await.unwrap()),
        ["agent:writer:theirs"]
    );
    assert!(own.next().now_or_never().is_none());
}

#[tokio::test]
async fn a_cursor_that_is_none_is_refused() {
    let house = House::with(DEFAULTS).await;
    for garbage in ["x", "AQ", "%%%"] {
        let refused = follow(&house, operator(), Some(garbage.to_owned())).await;
        let refused = refused.err().unwrap();
        assert_eq!(refused.reason, Reason::InvalidArgument, "{garbage}");
        assert_eq!(refused.violations[0].field, "cursor", "{garbage}");
    }
    let empty = follow(&house, operator(), Some(String::new())).await;
    assert!(empty.is_ok());
}

#[tokio::test]
async fn what_was_pruned_is_told_as_a_gap_and_the_follower_goes_on() {
    let house = House::with(DEFAULTS).await;
    let store = house.sessions.store.clone().keeping(Retention {
        deletions_max: 1,
        ..Retention::default()
    });
    let begin = follow(&house, operator(), None).await.unwrap();
    let begin = page::encode(&begin.place);
    for text in ["agent:writer:a", "agent:writer:b"] {
        house.made(text).await;
        delete(&house, text).await;
    }
    let mut kept = follow(&house, operator(), Some(begin.clone()))
        .await
        .unwrap();
    let both = kept.next().await.unwrap();
    assert_eq!(words(&both), ["-agent:writer:a", "-agent:writer:b"]);

    store.sweep(house.clock.now()).await.unwrap();
    // Behind the first deletion nothing is lost.
    let mut exact = follow(&house, operator(), cursor(&both[..1]))
        .await
        .unwrap();
    assert_eq!(words(&exact.next().await.unwrap()), ["-agent:writer:b"]);
    let mut late = follow(&house, operator(), Some(begin)).await.unwrap();
    let told = late.next().await.unwrap();
    assert_eq!(words(&told), ["gap"], "B219");
    house.made("agent:writer:c").await;
    assert_eq!(words(&late.next().await.unwrap()), ["agent:writer:c"]);
    let mut again = follow(&house, operator(), cursor(&told)).await.unwrap();
    assert_eq!(words(&again.next().await.unwrap()), ["agent:writer:c"]);
}

#[tokio::test]
async fn a_cursor_of_another_database_or_of_its_later_copy_is_a_gap() {
    let house = House::with(DEFAULTS).await;
    let elsewhere = House::with(DEFAULTS).await;
    let foreign = follow(&elsewhere, operator(), None).await.unwrap();
    let mut following = follow(&house, operator(), Some(page::encode(&foreign.place)))
        .await
        .unwrap();
    assert_eq!(words(&following.next().await.unwrap()), ["gap"]);

    let present = follow(&house, operator(), None).await.unwrap();
    let later = Place {
        change: present.place.change + 1,
        ..present.place.clone()
    };
    let mut following = follow(&house, operator(), Some(page::encode(&later)))
        .await
        .unwrap();
    assert_eq!(words(&following.next().await.unwrap()), ["gap"]);
}

#[tokio::test]
async fn a_follower_is_told_of_what_is_within_its_reach_alone() {
    let house = House::with(DEFAULTS).await;
    house.made("agent:writer:main").await;
    let caller = agent("agent:writer:main");
    let mut following = follow(&house, caller.clone(), None).await.unwrap();
    house.made("agent:editor:desk").await;
    delete(&house, "agent:editor:desk").await;
    assert!(following.next().now_or_never().is_none(), "D9");
    let child = proto::CreateSessionRequest {
        spawned_by: Some("agent:writer:main".to_owned()),
        ..named("agent:writer:subagent:c")
    };
    house.create(child).await.unwrap();
    let call = house
        .admitted(caller, WatchSessions { after: None })
        .await
        .unwrap();
    house
        .sessions
        .follow_on(&mut following, &call)
        .await
        .unwrap();
    let told = following.next().await.unwrap();
    assert_eq!(words(&told), ["agent:writer:subagent:c"], "D9");
}

#[tokio::test]
async fn a_follower_that_waits_ends_with_the_store() {
    let house = House::with(DEFAULTS).await;
    let mut following = follow(&house, operator(), None).await.unwrap();
    let (told, _reopened) = futures::join!(following.next(), house.reopened());
    assert_eq!(told.unwrap(), []);
}
