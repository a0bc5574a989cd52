//! The registry's calls through a real server.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "served/server.rs"]
mod served;

use confab_model::clock::Timestamp;
use confab_model::id::{SessionId, TenantId};
use confab_model::session::Session;
use confab_proto::registry::v1 as proto;
use confab_proto::types::v1::SessionTarget;
use confab_registry::store::{Lookup, RegistryStore as _};
use confab_rpc::caller::Role;
use confab_rpc::error::{Reason, RpcError};
use tokio_util::task::TaskTracker;
use tonic::{Code, Status};

use served::{Served, create, open};

fn get(key: &str) -> proto::GetSessionRequest {
    let target = SessionTarget {
        session_key: Some(key.to_owned()),
        ..Default::default()
    };
    proto::GetSessionRequest {
        target: Some(target),
    }
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(outcome: Result<T, Status>, code: Code, reason: Reason) {
    let status = outcome.unwrap_err();
    assert_eq!(status.code(), code, "{status:?}");
    assert_eq!(RpcError::from_status(&status).reason, reason, "{status:?}");
}

#[tokio::test]
async fn a_session_is_created_found_and_listed_as_its_caller_may_call_it() {
    let served = Served::start().await;
    let made = served
        .operator()
        .create_session(create("main"))
        .await
        .unwrap()
        .into_inner();
    assert!(made.created);
    let row = made.session.unwrap();
    assert_eq!(
        (row.key.as_str(), row.display_key.as_str()),
        ("agent:writer:main", "agent:writer:main")
    );
    let path = format!("/data/transcript.db#{}", row.session_id);
    assert_eq!(row.transcript_path.as_deref(), Some(path.as_str()));

    let mut writer = served.client(Role::Agent, Some("agent:writer:main"));
    let row = writer
        .get_session(get("current"))
        .await
        .unwrap()
        .into_inner()
        .session
        .unwrap();
    assert_eq!(
        (row.key.as_str(), row.display_key.as_str()),
        ("agent:writer:main", "main")
    );
    let request = proto::ListSessionsRequest {
        limit: Some(500),
        ..Default::default()
    };
    let page = writer.list_sessions(request).await.unwrap().into_inner();
    assert_eq!(
        (page.sessions.len(), page.has_more, page.limit_applied),
        (1, false, Some(200))
    );
    assert_eq!(page.sessions[0].display_key, "main");
    served.end().await;
}

/// Source: reg:L33, B136.
#[tokio::test]
async fn a_list_names_children_as_its_caller_knows_them_and_marks_bad_rows() {
    let served = Served::start().await;
    let mut operator = served.operator();
    operator.create_session(create("main")).await.unwrap();
    let child = proto::CreateSessionRequest {
        spawned_by: Some("agent:writer:main".to_owned()),
        ..create("agent:editor:subagent:1")
    };
    operator.create_session(child).await.unwrap();
    let session_id = SessionId::parse("gone").unwrap();
    let gone = Session::fresh(
        "agent:gone:desk".parse().unwrap(),
        session_id,
        Timestamp::from_millis(1),
    );
    let store = &served.registry.sessions().store;
    store.create(&TenantId::default(), gone).await.unwrap();

    let request = proto::ListSessionsRequest::default();
    let page = operator.list_sessions(request).await.unwrap().into_inner();
    let row = |key: &str| page.sessions.iter().find(|row| row.key == key).unwrap();
    assert_eq!(
        row("agent:writer:main").child_sessions,
        ["agent:editor:subagent:1"]
    );
    assert_eq!((page.sessions.len(), page.faulty_rows), (3, 1));
    let fault = row("agent:gone:desk").fault.as_deref().unwrap();
    assert!(fault.contains("agent gone is not configured"), "{fault}");
    served.end().await;
}

#[tokio::test]
async fn refusals_carry_their_code_and_reason() {
    let served = Served::start().await;
    let mut writer = served.client(Role::Agent, Some("agent:writer:main"));
    let outcome = writer.create_session(create("agent:writer:x")).await;
    assert_refused(outcome, Code::PermissionDenied, Reason::Role);
    let outcome = writer.get_session(get("agent:editor:main")).await;
    assert_refused(outcome, Code::PermissionDenied, Reason::Visibility);
    let outcome = writer.get_session(get("no-such-id")).await;
    assert_refused(outcome, Code::NotFound, Reason::SessionNotFound);
    let outcome = writer.get_session(get("agent::main")).await;
    assert_refused(outcome, Code::InvalidArgument, Reason::InvalidArgument);
    let outcome = writer
        .get_session(proto::GetSessionRequest::default())
        .await;
    assert_refused(outcome, Code::InvalidArgument, Reason::InvalidArgument);
    let outcome = served
        .operator()
        .record_activity(proto::RecordActivityRequest::default())
        .await;
    assert_refused(outcome, Code::PermissionDenied, Reason::Role);
    served.end().await;
}

#[tokio::test]
async fn a_service_asks_for_others_and_records_what_runs_did() {
    let served = Served::start().await;
    let mut service = served.client(Role::Service, None);
    let agent = proto::Principal {
        role: "agent".to_owned(),
        tenant: "default".to_owned(),
        session_key: Some("agent:editor:main".to_owned()),
        ..Default::default()
    };
    let target = |key: &str| SessionTarget {
        session_key: Some(key.to_owned()),
        ..Default::default()
    };
    let question = proto::AuthorizeRequest {
        caller: Some(agent),
        action: proto::Action::Send.into(),
        targets: vec![target("main"), target("agent:writer:main")],
        scope: false,
        channel: None,
    };
    let answer = service.authorize(question).await.unwrap().into_inner();
    let outcomes: Vec<_> = answer
        .decisions
        .into_iter()
        .map(|one| one.outcome.unwrap())
        .collect();
    let [
        proto::decision::Outcome::Session(own),
        proto::decision::Outcome::Refusal(refusal),
    ] = outcomes.as_slice()
    else {
        panic!("{outcomes:?}")
    };
    assert_eq!(own.key, "agent:editor:main");
    assert_eq!(
        (refusal.code, refusal.reason.as_str()),
        (i32::from(Code::PermissionDenied), "VISIBILITY")
    );

    let record = proto::ActivityRecord {
        tenant: "default".to_owned(),
        session_key: "agent:editor:main".to_owned(),
        run_id: "r-1".to_owned(),
        state: confab_proto::types::v1::RunState::Succeeded.into(),
        occurred_at: Some(prost_types::Timestamp {
            seconds: 1_700_000_009,
            nanos: 0,
        }),
        ..Default::default()
    };
    let gone = proto::ActivityRecord {
        session_key: "agent:editor:gone".to_owned(),
        ..record.clone()
    };
    let request = proto::RecordActivityRequest {
        records: vec![record, gone],
        ..Default::default()
    };
    service.record_activity(request).await.unwrap();
    let row = served
        .operator()
        .get_session(get("agent:editor:main"))
        .await
        .unwrap();
    let row = row.into_inner().session.unwrap();
    assert_eq!(
        (row.status.as_deref(), row.last_run_id.as_deref()),
        (Some("done"), Some("r-1"))
    );
    assert_eq!(row.updated_at.unwrap().seconds, 1_700_000_009);
    served.end().await;
}

#[tokio::test]
async fn what_was_answered_is_there_after_a_restart() {
    let served = Served::start().await;
    served
        .operator()
        .create_session(create("agent:editor:desk"))
        .await
        .unwrap();
    let directory = served.end().await;
    let tasks = TaskTracker::new();
    let (registry, _) = open(directory.path(), &tasks).await;
    let lookup = Lookup {
        keys: vec!["agent:editor:desk".parse().unwrap()],
        ..Lookup::default()
    };
    let found = registry
        .sessions()
        .store
        .look_up(&TenantId::default(), &lookup)
        .await
        .unwrap();
    assert_eq!(found.by_key.len(), 1);
    registry.close().await;
}

fn label(key: &str, label: &str) -> proto::PatchSessionRequest {
    proto::PatchSessionRequest {
        target: get(key).target,
        patch: Some(proto::SessionPatch {
            label: Some(label.to_owned()),
            ..Default::default()
        }),
        idempotency_key: Some("k".to_owned()),
        ..Default::default()
    }
}

#[tokio::test]
async fn a_session_is_patched_by_an_operator_and_its_life_is_changed_by_services_alone() {
    let served = Served::start().await;
    let mut operator = served.operator();
    operator.create_session(create("main")).await.unwrap();
    let request = label("main", "Desk");
    let first = operator.patch_session(request.clone()).await.unwrap();
    let again = operator.patch_session(request).await.unwrap();
    assert_eq!(again.into_inner(), *first.get_ref());
    let outcome = operator.patch_session(label("main", "Bench")).await;
    assert_refused(outcome, Code::AlreadyExists, Reason::KeyReused);
    let mut writer = served.client(Role::Agent, Some("agent:writer:main"));
    let outcome = writer.patch_session(label("current", "Mine")).await;
    assert_refused(outcome, Code::PermissionDenied, Reason::Role);

    let row = first.into_inner().session.unwrap();
    let reset = proto::CommitLifecycleRequest {
        session_key: row.key,
        change: proto::LifecycleChange::Reset.into(),
        expected_session_id: row.session_id.clone(),
        expected_work_epoch: row.work_epoch,
        change_id: "c".to_owned(),
        ..Default::default()
    };
    let outcome = operator.commit_lifecycle(reset.clone()).await;
    assert_refused(outcome, Code::PermissionDenied, Reason::Role);
    let mut service = served.client(Role::Service, None);
    let after = service.commit_lifecycle(reset).await.unwrap().into_inner();
    let after = after.session.unwrap();
    assert_ne!(after.session_id, row.session_id);
    assert_eq!(after.work_epoch, row.work_epoch + 1);
    let overdue = service
        .list_overdue_sessions(proto::ListOverdueSessionsRequest::default())
        .await
        .unwrap();
    assert_eq!(overdue.into_inner().sessions, []);
    served.end().await;
}

#[tokio::test]
async fn a_session_of_another_system_is_imported_by_operators_only() {
    let served = Served::start().await;
    let row = confab_proto::types::v1::Session {
        key: "agent:writer:desk".to_owned(),
        session_id: "s1".to_owned(),
        ..Default::default()
    };
    let request = proto::ImportSessionRequest {
        session: Some(row),
        earlier_session_ids: vec!["s0".to_owned()],
        ..Default::default()
    };
    let mut writer = served.client(Role::Agent, Some("agent:writer:main"));
    let outcome = writer.import_session(request.clone()).await;
    assert_refused(outcome, Code::PermissionDenied, Reason::Role);

    let mut operator = served.operator();
    let imported = operator.import_session(request.clone()).await.unwrap();
    let imported = imported.into_inner();
    assert_eq!(imported.outcome(), proto::ImportOutcome::Created);
    let path = imported.session.unwrap().transcript_path.unwrap();
    assert_eq!(path, "/data/transcript.db#s1");
    let again = operator.import_session(request).await.unwrap().into_inner();
    assert_eq!(again.outcome(), proto::ImportOutcome::Unchanged);
    let found = operator.get_session(get("s0")).await.unwrap().into_inner();
    assert_eq!(found.session.unwrap().key, "agent:writer:desk");
    served.end().await;
}
