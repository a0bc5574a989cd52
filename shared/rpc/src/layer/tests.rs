use std::time::Duration;

use confab_proto::registry::v1::registry_service_client::RegistryServiceClient;
use confab_proto::registry::v1::{
    AuthorizeRequest, GetStatusRequest, ListAgentsRequest, WatchSessionsRequest,
};
use confab_proto::types::v1::SessionTarget;
use futures::StreamExt as _;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use super::*;
use crate::caller::Role;
use crate::clients::Credentials;
use crate::identity::Named;
use crate::serve::fixture::{Fixture, PATIENCE, bearer, client, minter, named, seen};

fn of_role(role: Role) -> Named {
    Named {
        role: Some(role),
        ..Named::default()
    }
}

fn agent() -> Named {
    Named {
        session: Some("main".to_owned()),
        ..Named::default()
    }
}

/// The service behind layers whose drain a test can start.
fn drained(fixture: &Fixture) -> Transport {
    let service = fixture.stack.layer(fixture.services.routes());
    BoxCloneSyncService::new(service.map_err(|never| match never {}))
}

#[tokio::test]
async fn a_role_without_the_method_is_refused_by_both_names() {
    let fixture = Fixture::open();
    for (way, transport) in fixture.both().await {
        for names in [agent(), of_role(Role::Operator)] {
            let mut registry = named(&transport, names.clone());
            let status = registry
                .authorize(AuthorizeRequest::default())
                .await
                .unwrap_err();
            let refusal = RpcError::from_status(&status);
            assert_eq!(status.code(), Code::PermissionDenied, "{way}");
            assert_eq!(refusal.reason, Reason::Role, "{way}");
            let role = if names.session.is_some() {
                "role agent"
            } else {
                "role operator"
            };
            assert!(refusal.message.contains(role), "{way}: {refusal}");
            assert!(
                refusal.message.contains("RegistryService/Authorize"),
                "{way}: {refusal}"
            );
        }
        let mut service = named(&transport, of_role(Role::Service));
        service
            .authorize(AuthorizeRequest::default())
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn the_service_sees_who_calls_in_open_mode() {
    let fixture = Fixture::open();
    for (way, transport) in fixture.both().await {
        let cases = [
            (Named::default(), "operator default - - -"),
            (agent(), "agent default agent:writer:main - -"),
            (of_role(Role::Service), "service default - - -"),
        ];
        for (names, expected) in cases {
            assert_eq!(
                seen(&named(&transport, names)).await.unwrap(),
                expected,
                "{way}"
            );
        }
    }
}

#[tokio::test]
async fn the_service_sees_who_calls_in_jwt_mode() {
    let fixture = Fixture::jwt();
    let caller = Caller {
        subject: Some("me".to_owned()),
        ..Caller::operator("t".to_owned().try_into().unwrap())
    };
    let token = minter(&fixture.clock)
        .mint(&caller, Duration::from_mins(1))
        .unwrap();
    for (way, transport) in fixture.both().await {
        assert_eq!(
            seen(&client(&transport, bearer(&token))).await.unwrap(),
            "operator t - - me",
            "{way}"
        );
        for credentials in [Credentials::Named(Named::default()), bearer("x.y.z")] {
            let status = seen(&client(&transport, credentials)).await.unwrap_err();
            assert_eq!(status.code(), Code::Unauthenticated, "{way}");
            assert_eq!(
                RpcError::from_status(&status).reason,
                Reason::Unauthenticated,
                "{way}"
            );
        }
    }
}

#[tokio::test]
async fn health_needs_no_caller() {
    let running = Fixture::jwt().serve().await;
    let mut health = HealthClient::new(running.transport());
    health.check(HealthCheckRequest::default()).await.unwrap();
}

#[tokio::test]
async fn a_request_over_the_size_cap_is_refused() {
    let fixture = Fixture::open();
    for (way, transport) in fixture.both().await {
        // A client without the cap of ours.
        let mut registry = RegistryServiceClient::new(transport);
        let text = "x".repeat(crate::serve::MESSAGE_BYTES_MAX);
        let target = SessionTarget {
            session_key: Some(text),
            ..SessionTarget::default()
        };
        let request = GetStatusRequest {
            target: Some(target),
            ..GetStatusRequest::default()
        };
        let status = registry.get_status(request).await.unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted, "{way}: {status}");
        let told = RpcError::from_status(&status);
        assert_eq!(told.reason, Reason::Limit, "{way}");
        assert!(told.message.contains("4194304"), "{way}: {told}");
    }
}

#[tokio::test]
async fn a_call_past_its_deadline_ends() {
    let fixture = Fixture::open();
    for (way, transport) in fixture.both().await {
        let mut registry = named(&transport, Named::default());
        let mut request = tonic::Request::new(GetStatusRequest::default());
        request.set_timeout(Duration::from_millis(20));
        let status = registry.get_status(request).await.unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded, "{way}: {status}");
        assert_eq!(
            RpcError::from_status(&status).reason,
            Reason::Deadline,
            "{way}"
        );
    }
}

#[tokio::test]
async fn a_stream_past_its_deadline_ends() {
    let fixture = Fixture::open();
    for (way, transport) in fixture.both().await {
        let mut registry = named(&transport, Named::default());
        let mut request = tonic::Request::new(WatchSessionsRequest::default());
        request.set_timeout(Duration::from_millis(200));
        let mut changes = registry.watch_sessions(request).await.unwrap().into_inner();
        changes.next().await.unwrap().unwrap();
        let status = changes.next().await.unwrap().unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded, "{way}: {status}");
        assert!(changes.next().await.is_none(), "{way}");
    }
}

#[tokio::test]
async fn a_drain_refuses_new_calls_and_waits_for_the_running_one() {
    let mut fixture = Fixture::open();
    let registry = named(&drained(&fixture), Named::default());
    let mut waiting = registry.clone();
    let waiting = TaskTracker::new()
        .spawn(async move { waiting.get_status(GetStatusRequest::default()).await });
    fixture.entered.recv().await.unwrap();

    let drain = fixture.stack.drain().clone();
    drain.start();
    assert_eq!(drain.running(), 1);
    let status = registry
        .clone()
        .list_agents(ListAgentsRequest::default())
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(RpcError::from_status(&status).reason, Reason::Unavailable);
    // What is in flight may still call in process.
    seen(&named(&fixture.in_process(), Named::default()))
        .await
        .unwrap();

    fixture.release.add_permits(1);
    waiting.await.unwrap().unwrap();
    timeout(PATIENCE, drain.idle()).await.unwrap();
}

#[tokio::test]
async fn a_stream_runs_until_it_is_dropped() {
    let fixture = Fixture::open();
    let mut registry = named(&drained(&fixture), Named::default());
    let changes = registry
        .watch_sessions(WatchSessionsRequest::default())
        .await
        .unwrap();
    let drain = fixture.stack.drain();
    drain.start();
    assert_eq!(drain.running(), 1);
    drop(changes);
    timeout(PATIENCE, drain.idle()).await.unwrap();
}

#[test]
fn a_timeout_is_read_in_every_unit() {
    let cases = [
        ("1H", Some(Duration::from_hours(1))),
        ("2M", Some(Duration::from_mins(2))),
        ("3S", Some(Duration::from_secs(3))),
        ("4m", Some(Duration::from_millis(4))),
        ("5u", Some(Duration::from_micros(5))),
        ("6n", Some(Duration::from_nanos(6))),
        ("99999999H", Some(Duration::from_hours(99_999_999))),
        ("123456789S", None),
        ("S", None),
        ("", None),
        ("1", None),
        ("-1S", None),
        ("1é", None),
    ];
    for (text, expected) in cases {
        let mut headers = http::HeaderMap::new();
        headers.insert(
            GRPC_TIMEOUT,
            http::HeaderValue::from_bytes(text.as_bytes()).unwrap(),
        );
        assert_eq!(timeout_of(&headers), expected, "{text}");
    }
}

#[test]
fn a_timeout_is_written_so_that_it_can_be_read() {
    let cases = [
        (Duration::ZERO, "0m"),
        (Duration::from_millis(1500), "1500m"),
        (Duration::from_millis(99_999_999), "99999999m"),
        (Duration::from_secs(100_000), "100000S"),
        (Duration::MAX, "99999999S"),
    ];
    for (timeout, expected) in cases {
        assert_eq!(timeout_value(timeout), expected, "{timeout:?}");
    }
}
