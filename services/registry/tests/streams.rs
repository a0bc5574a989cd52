//! The registry's endless answers through a real server.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "served/server.rs"]
mod served;

use confab_proto::registry::v1 as proto;
use confab_proto::registry::v1::watch_sessions_response::Change;
use confab_rpc::caller::Role;
use confab_rpc::error::{Reason, RpcError};
use tempfile::TempDir;
use tonic::{Code, Streaming};

use served::{Served, create};

const MAIN: &str = "agent:writer:main";
const DESK: &str = "agent:editor:desk";

fn goal(target: &str) -> proto::RecordActivityRequest {
    let event = proto::StateEventRecord {
        tenant: "default".to_owned(),
        session_key: target.to_owned(),
        kind: proto::StateEventKind::GoalChanged.into(),
        actor_type: proto::ActorType::System.into(),
        ..Default::default()
    };
    proto::RecordActivityRequest {
        events: vec![event],
        ..Default::default()
    }
}

async fn follow(
    served: &Served,
    cursor: Option<String>,
) -> Streaming<proto::WatchSessionsResponse> {
    let request = proto::WatchSessionsRequest { cursor };
    let answer = served.operator().watch_sessions(request).await.unwrap();
    answer.into_inner()
}

async fn next<T>(stream: &mut Streaming<T>) -> T {
    stream.message().await.unwrap().unwrap()
}

/// The key of a session that changed; `None` for any other answer.
fn key_of(change: Option<Change>) -> Option<String> {
    match change {
        Some(Change::Session(session)) => Some(session.key),
        Some(Change::DeletedKey(_) | Change::Gap(_)) | None => None,
    }
}

#[tokio::test]
async fn an_operator_follows_changes_and_goes_on_after_a_restart() {
    let served = Served::start().await;
    let mut changes = follow(&served, None).await;
    let mut operator = served.operator();
    operator.create_session(create(MAIN)).await.unwrap();
    let first = next(&mut changes).await;
    assert_eq!(key_of(first.change).as_deref(), Some(MAIN));
    operator.create_session(create(DESK)).await.unwrap();
    let second = next(&mut changes).await;
    assert_eq!(key_of(second.change).as_deref(), Some(DESK));
    drop((changes, operator));

    let directory: TempDir = served.end().await;
    let served = Served::start_in(directory).await;
    let mut changes = follow(&served, Some(first.cursor)).await;
    let again = next(&mut changes).await;
    assert_eq!(key_of(again.change).as_deref(), Some(DESK), "B219");
    let cursor = again.cursor.clone();
    let mut present = follow(&served, Some(cursor)).await;
    served
        .client(Role::Service, None)
        .record_activity(goal(MAIN))
        .await
        .unwrap();
    for stream in [&mut changes, &mut present] {
        let told = next(stream).await.change.unwrap();
        let Change::Session(row) = told else {
            panic!("{told:?}")
        };
        assert_eq!((row.key.as_str(), row.state_version), (MAIN, 1));
    }
    drop((changes, present));
    served.end().await;
}

#[tokio::test]
async fn each_service_is_told_every_notice_owed_until_one_of_them_takes_it() {
    let served = Served::start().await;
    let mut service = served.client(Role::Service, None);
    served
        .operator()
        .create_session(create(DESK))
        .await
        .unwrap();
    let watch = proto::WatchTargetRequest {
        watcher_key: MAIN.to_owned(),
        target_key: DESK.to_owned(),
    };
    let answer = service.watch_target(watch).await.unwrap();
    assert!(answer.into_inner().watched);

    let request = proto::WatchNoticesRequest {};
    let mut early = service.watch_notices(request).await.unwrap().into_inner();
    service.record_activity(goal(DESK)).await.unwrap();
    let notice = next(&mut early).await;
    assert_eq!(
        (notice.tenant.as_str(), notice.watcher_key.as_str()),
        ("default", MAIN)
    );
    assert_eq!(notice.target_key, DESK);
    assert!(notice.text.ends_with("changesSince 0."), "reg:W19");
    let mut late = service.watch_notices(request).await.unwrap().into_inner();
    assert_eq!(next(&mut late).await, notice);

    // Something happens before the watcher takes the notice: then one more is owed.
    service.record_activity(goal(DESK)).await.unwrap();
    let taken = proto::AckNoticesRequest {
        notice_ids: vec![notice.notice_id, "of no registry".to_owned()],
    };
    service.ack_notices(taken).await.unwrap();
    let fresh = next(&mut early).await;
    assert!(fresh.text.ends_with("changesSince 1."), "reg:W22");
    assert_eq!(next(&mut late).await, fresh);
    drop((early, late, service));
    served.end().await;
}

#[tokio::test]
async fn endless_answers_end_with_the_server() {
    let served = Served::start().await;
    let mut changes = follow(&served, None).await;
    let mut service = served.client(Role::Service, None);
    let notices = service.watch_notices(proto::WatchNoticesRequest {}).await;
    let mut notices = notices.unwrap().into_inner();
    served.stop.cancel();
    assert_eq!(changes.message().await.unwrap(), None);
    assert_eq!(notices.message().await.unwrap(), None);
    served.end().await;
}

#[tokio::test]
async fn who_may_not_follow_is_refused() {
    let served = Served::start().await;
    let mut agent = served.client(Role::Agent, Some(MAIN));
    let request = proto::WatchSessionsRequest::default();
    let refused = agent.watch_sessions(request).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    let mut operator = served.operator();
    let refused = operator.watch_notices(proto::WatchNoticesRequest {}).await;
    assert_eq!(refused.unwrap_err().code(), Code::PermissionDenied);
    let request = proto::WatchSessionsRequest {
        cursor: Some("garbage".to_owned()),
    };
    let refused = operator.watch_sessions(request).await.unwrap_err();
    assert_eq!(
        RpcError::from_status(&refused).reason,
        Reason::InvalidArgument
    );
    served.end().await;
}
