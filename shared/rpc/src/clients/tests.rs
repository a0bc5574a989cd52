use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

use confab_model::id::{AgentId, RunId, TenantId};
use confab_model::key::SessionKey;
use confab_proto::registry::v1::GetStatusRequest;
use tonic::Code;

use super::*;
use crate::caller::Identity;
use crate::error::{Reason, RpcError};
use crate::gate::{About, Action, Authority as _, Question, Target};
use crate::identity::Named;
use crate::serve::fixture::{Fixture, client, minter, named, seen};

fn agent() -> Caller {
    let session = SessionKey::parse("agent:writer:dm:é").unwrap();
    let run = RunId::parse("r 1").unwrap();
    Caller::agent(TenantId::parse("acme").unwrap(), session, Some(run))
}

#[tokio::test]
async fn a_service_calls_for_another_in_both_modes() {
    let open = Fixture::open();
    let jwt = Fixture::jwt();
    let minted = Some(minter(&jwt.clock));
    for (fixture, minter) in [(open, None), (jwt, minted)] {
        for (way, transport) in fixture.both().await {
            let registry = client(&transport, Credentials::service("runner", minter.clone()));
            let subject = if minter.is_some() {
                "confab-runner"
            } else {
                "-"
            };
            let itself = format!("service default - - {subject}");
            assert_eq!(seen(&registry).await.unwrap(), itself, "{way}");

            let agents = registry.on_behalf_of(&agent());
            let expected = "agent acme agent:writer:dm:é r 1 -";
            assert_eq!(seen(&agents).await.unwrap(), expected, "{way}");

            let system = Caller::system("flows", TenantId::parse("acme").unwrap());
            let expected = format!("service acme - - {subject}");
            assert_eq!(
                seen(&registry.on_behalf_of(&system)).await.unwrap(),
                expected,
                "{way}"
            );
        }
    }
}

#[tokio::test]
async fn whoever_is_no_service_cannot_call_for_another() {
    let fixture = Fixture::open();
    for (way, transport) in fixture.both().await {
        let operator = named(&transport, Named::default());
        let status = seen(&operator.on_behalf_of(&agent())).await.unwrap_err();
        assert_eq!(status.code(), Code::Unauthenticated, "{way}");
    }
}

#[tokio::test]
async fn who_is_called_for_must_have_the_method() {
    let transport = Fixture::open().in_process();
    let registry = client(&transport, Credentials::service("runner", None));
    let worker = Identity::Worker {
        agent: AgentId::normalise("ops"),
    };
    let worker = Caller {
        identity: worker,
        ..agent()
    };
    let status = seen(&registry.on_behalf_of(&worker)).await.unwrap_err();
    assert_eq!(RpcError::from_status(&status).reason, Reason::Role);
}

#[tokio::test]
async fn a_service_that_is_not_there_is_unavailable_by_address() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let registry = named(&connect(&url).unwrap(), Named::default());
    let status = seen(&registry).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(RpcError::from_status(&status).reason, Reason::Unavailable);
    assert!(status.message().contains(&url), "{status}");
}

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_neighbour_that_is_not_there_is_unavailable_by_name_and_without_its_address() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let log = Log::default();
    let lines = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::WARN)
        .with_writer(move || lines.clone())
        .finish();
    let _listening = tracing::subscriber::set_default(subscriber);
    let transport = connect_to("the registry", &format!("http://{address}")).unwrap();
    let registry = named(&transport, Named::default());
    seen(&registry).await.unwrap_err();
    let status = seen(&registry).await.unwrap_err();
    assert_eq!(RpcError::from_status(&status).reason, Reason::Unavailable);
    assert_eq!(
        status.message(),
        "the registry cannot be reached; try again later"
    );
    let port = address.port().to_string();
    assert!(!format!("{status:?}").contains(&port), "{status:?}");
    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let told =
        |line: &&str| line.contains("the registry cannot be reached") && line.contains(&port);
    assert_eq!(logged.lines().filter(told).count(), 1, "{logged}");
}

#[test]
fn an_address_is_a_scheme_a_host_and_a_port() {
    for url in [
        "",
        "127.0.0.1:7421",
        "https://host:1",
        "http://",
        "http://host:1/path",
        "http:x",
    ] {
        let refused = connect(url).unwrap_err().to_string();
        assert!(refused.contains(&format!("{url:?}")) && refused.contains("http://HOST:PORT"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_deadline_of_its_own_has_the_services() {
    let fixture = Fixture::open();
    let transport = fixture.in_process();
    let started = tokio::time::Instant::now();
    let mut registry = named(&transport, Named::default());
    let status = registry
        .get_status(GetStatusRequest::default())
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert!(
        started.elapsed() <= Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );

    let started = tokio::time::Instant::now();
    let mut patient = registry.waiting(Duration::from_mins(1));
    let status = patient
        .get_status(GetStatusRequest::default())
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert!(
        started.elapsed() >= Duration::from_secs(69),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn the_registry_answers_questions_of_services_alone() {
    let question = || Question {
        caller: agent(),
        action: Action::Send,
        about: About::One(Target::reference("main")),
        channel: None,
    };
    let fixture = Fixture::open();
    for (way, transport) in fixture.both().await {
        let asks = |credentials| RegistryAuthority::new(client(&transport, credentials));
        let service = asks(Credentials::service("runner", None));
        // The fixture decides nothing.
        let answer = service.authorize(question()).await.unwrap();
        assert!(
            answer.decisions.is_empty() && answer.scope.is_none(),
            "{way}"
        );

        let operator = asks(Credentials::Named(Named::default()));
        let refusal = operator.authorize(question()).await.unwrap_err();
        assert_eq!(refusal.reason, Reason::Role, "{way}");
    }
}
