//! Real servers on free ports.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use confab_proto::registry::v1::{AuthorizeRequest, GetStatusRequest, ListAgentsRequest};
use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use super::fixture::{Fixture, PATIENCE, everywhere, named, seen, start};
use super::{Check, HttpListen, Listen, ServeError, http_listen_default, probe};
use crate::identity::Named;

const REGISTRY: &str = "confab.registry.v1.RegistryService";

async fn exchange(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

async fn get(address: SocketAddr, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    exchange(address, request.as_bytes()).await
}

/// A call as a browser makes it: one empty message over HTTP/1.1.
async fn grpc_web(address: SocketAddr, method: &str, headers: &str) -> String {
    let mut request = format!(
        "POST /{REGISTRY}/{method} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\
         Content-Type: application/grpc-web+proto\r\n{headers}Content-Length: 5\r\n\r\n"
    )
    .into_bytes();
    request.extend([0; 5]);
    exchange(address, &request).await
}

#[tokio::test]
async fn health_tells_each_service_and_the_whole() {
    let running = Fixture::open().serve().await;
    let mut health = HealthClient::new(running.transport());
    for service in ["", REGISTRY] {
        let request = HealthCheckRequest {
            service: service.to_owned(),
        };
        let answer = health.check(request).await.unwrap().into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving, "{service:?}");
    }
    let unknown = HealthCheckRequest {
        service: "confab.runner.v1.RunnerService".to_owned(),
    };
    assert_eq!(
        health.check(unknown).await.unwrap_err().code(),
        Code::NotFound
    );
}

#[tokio::test]
async fn reflection_lists_what_is_served_and_nothing_else() {
    let running = Fixture::open().serve().await;
    let mut reflection = ServerReflectionClient::new(running.transport());
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let answers = reflection
        .server_reflection_info(futures::stream::iter([request]))
        .await;
    let answer = answers.unwrap().into_inner().next().await.unwrap().unwrap();
    let Some(MessageResponse::ListServicesResponse(list)) = answer.message_response else {
        panic!("no list: {answer:?}");
    };
    let mut names: Vec<_> = list
        .service
        .into_iter()
        .map(|service| service.name)
        .collect();
    names.sort();
    let expected = [
        REGISTRY,
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
    ];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn a_browser_can_call() {
    let running = Fixture::open().serve().await;
    let answer = grpc_web(running.grpc, "ListAgents", "confab-session: main\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(
        answer.contains("agent default agent:writer:main"),
        "{answer}"
    );
    assert!(answer.contains("grpc-status:0"), "{answer}");
}

#[tokio::test]
async fn a_deadline_over_the_network_is_kept_by_the_server() {
    let fixture = Fixture::open();
    let running = fixture.serve().await;
    let answer = grpc_web(running.grpc, "GetStatus", "grpc-timeout: 20m\r\n").await;
    assert!(
        answer.contains("grpc-status: 4") || answer.contains("grpc-status:4"),
        "{answer}"
    );
}

#[tokio::test]
async fn the_http_side_tells_health_and_readiness() {
    let fixture = Fixture::open();
    let running = fixture.serve().await;
    assert!(get(running.http, "/healthz").await.ends_with("ok\n"));
    let ready = get(running.http, "/readyz").await;
    assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
    assert!(ready.ends_with("ready\nconfig: 0123456789ab\n"), "{ready}");
}

/// The value of a series, as `/metrics` shows it.
fn counted<'a>(metrics: &'a str, labels: &[&str]) -> &'a str {
    let name = "confab_rpc_server_requests_total{";
    let line = metrics
        .lines()
        .find(|line| line.starts_with(name) && labels.iter().all(|label| line.contains(label)))
        .unwrap_or_else(|| panic!("no {labels:?} in {metrics}"));
    line.rsplit_once(' ').unwrap().1
}

#[tokio::test]
async fn the_metrics_count_every_call_by_method_and_code() {
    let fixture = Fixture::open();
    let running = fixture.serve().await;
    let agent = Named {
        session: Some("main".to_owned()),
        ..Named::default()
    };
    let mut registry = named(&running.transport(), agent);
    for _ in 0..2 {
        seen(&registry).await.unwrap();
    }
    registry
        .authorize(AuthorizeRequest::default())
        .await
        .unwrap_err();
    grpc_web(running.grpc, "MadeUp", "").await;

    let metrics = get(running.http, "/metrics").await;
    assert_eq!(
        counted(&metrics, &[REGISTRY, "\"ListAgents\"", "\"OK\""]),
        "2"
    );
    assert_eq!(
        counted(
            &metrics,
            &[REGISTRY, "\"Authorize\"", "\"PERMISSION_DENIED\""]
        ),
        "1"
    );
    assert_eq!(
        counted(&metrics, &["\"unknown\"", "\"PERMISSION_DENIED\""]),
        "1"
    );
    assert!(!metrics.contains("MadeUp"), "{metrics}");
    assert!(
        metrics.contains("confab_rpc_server_duration_seconds_bucket{"),
        "{metrics}"
    );
    assert!(metrics.contains("confab_rpc_server_active{"), "{metrics}");
}

#[tokio::test]
async fn what_does_not_work_is_named_and_makes_it_unready() {
    struct Broken;
    impl Check for Broken {
        fn name(&self) -> &'static str {
            "database"
        }

        fn check(&self) -> BoxFuture<'_, Result<(), String>> {
            futures::future::ready(Err("disk is full".to_owned())).boxed()
        }
    }
    let mut server = Fixture::open().server();
    server.http.checks.push(Arc::new(Broken));
    let running = start(server).await;

    let ready = get(running.http, "/readyz").await;
    assert!(ready.starts_with("HTTP/1.1 503"), "{ready}");
    assert!(
        ready.contains("not ready\n") && ready.contains("database: disk is full\n"),
        "{ready}"
    );
    let http = running.http;
    assert!(!probe(&format!("http://{http}/readyz")).await);
    assert!(probe(&format!("http://{http}/healthz")).await);
}

#[tokio::test]
async fn each_database_has_a_line_of_its_own() {
    use crate::serve::database_check;

    let mut server = Fixture::open().server();
    let works = || futures::future::ready(Ok::<(), String>(())).boxed();
    let fails = || futures::future::ready(Err("disk is full".to_owned())).boxed();
    server.http.checks = vec![
        database_check("registry", works),
        database_check("runner", fails),
    ];
    let running = start(server).await;
    let ready = get(running.http, "/readyz").await;
    assert!(
        ready.ends_with("\nregistry database: ok\nrunner database: disk is full\n"),
        "{ready}"
    );
}

#[tokio::test]
async fn a_probe_of_nothing_fails() {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let free = listener.local_addr().unwrap();
    drop(listener);
    let urls = [
        format!("http://{free}/healthz"),
        format!("https://{free}/"),
        "no url".to_owned(),
    ];
    for url in urls {
        assert!(!probe(&url).await, "{url}");
    }
}

#[tokio::test]
async fn a_stop_lets_the_running_call_finish_and_refuses_new_ones() {
    let mut fixture = Fixture::open();
    let running = fixture.serve().await;
    let registry = named(&running.transport(), Named::default());
    let mut waiting = registry.clone();
    let waiting = TaskTracker::new()
        .spawn(async move { waiting.get_status(GetStatusRequest::default()).await });
    fixture.entered.recv().await.unwrap();

    running.stop.cancel();
    fixture.stack.drain().started().cancelled().await;
    let refused = registry
        .clone()
        .list_agents(ListAgentsRequest::default())
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable);
    assert!(
        get(running.http, "/readyz")
            .await
            .contains("server: stopping")
    );
    assert!(!running.served.is_finished());

    fixture.release.add_permits(1);
    waiting.await.unwrap().unwrap();
    timeout(PATIENCE, running.served)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn an_idle_server_stops_at_once_even_with_somebody_watching_its_health() {
    let running = Fixture::open().serve().await;
    let mut health = HealthClient::new(running.transport());
    let watched = HealthCheckRequest {
        service: REGISTRY.to_owned(),
    };
    let mut states = health.watch(watched).await.unwrap().into_inner();
    let first = states.next().await.unwrap().unwrap();
    assert_eq!(first.status(), ServingStatus::Serving);

    running.stop.cancel();
    let second = states.next().await.unwrap().unwrap();
    assert_eq!(second.status(), ServingStatus::NotServing);
    timeout(PATIENCE, running.served)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn open_mode_refuses_every_address_but_loopback() {
    let mut server = Fixture::open().server();
    server.listen = everywhere();
    let refused = server.bind().await.unwrap_err();
    assert!(matches!(refused, ServeError::Listener(_)), "{refused}");
    assert!(
        refused.to_string().contains("confab.auth.mode"),
        "{refused}"
    );

    let mut server = Fixture::jwt().server();
    server.listen = everywhere();
    server.bind().await.unwrap();
}

#[tokio::test]
async fn a_taken_address_is_named_with_its_option() {
    let fixture = Fixture::open();
    let running = fixture.serve().await;
    let mut server = fixture.server();
    server.listen = Listen {
        grpc: running.grpc,
        http: HttpListen::Off,
    };
    let refused = server.bind().await.unwrap_err().to_string();
    assert!(refused.contains(&running.grpc.to_string()), "{refused}");
    assert!(refused.contains("--listen"), "{refused}");
}

#[tokio::test]
async fn the_ready_line_names_both_addresses() {
    let fixture = Fixture::open();
    let running = fixture.serve().await;
    let expected = format!(
        "confab-registry ready on http://{} http={}",
        running.grpc, running.http
    );
    assert_eq!(running.ready_line, expected);

    let mut server = fixture.server();
    server.listen.http = HttpListen::Off;
    let listening = server.bind().await.unwrap();
    assert!(listening.ready_line().ends_with(" http=off"));
}

#[test]
fn the_http_port_is_a_hundred_above() {
    let cases = [(7420, 7520), (0, 0), (65_435, 65_535), (65_436, 0)];
    for (grpc, http) in cases {
        let address = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        assert_eq!(http_listen_default(address(grpc)), address(http), "{grpc}");
    }
}

#[test]
fn an_http_listener_is_an_address_or_off() {
    assert_eq!("off".parse(), Ok(HttpListen::Off));
    let address = "127.0.0.1:7520".parse().unwrap();
    assert_eq!("127.0.0.1:7520".parse(), Ok(HttpListen::At(address)));
    let refused = "7520".parse::<HttpListen>().unwrap_err().to_string();
    assert!(
        refused.contains("\"7520\"") && refused.contains("127.0.0.1:7520"),
        "{refused}"
    );
}
