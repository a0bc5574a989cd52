//! From options to typed clients: where the services are, and as whom they are called.
//!
//! Source: contract, Command line and Identity.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use confab_model::key::SessionKey;
use confab_rpc::caller::Role;
use confab_rpc::clients::{
    Call, Credentials, DeliveryClient, PolicyClient, RegistryClient, RunnerClient, ToolsClient,
    TranscriptClient, Transport, connect,
};
use confab_rpc::error::RpcError;
use confab_rpc::identity::Named;
use secrecy::SecretString;
use serde_json::Value;

use crate::cli::Connection;
use crate::exit::Failure;

/// Longest time a call may take that does not wait for anything.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a change of a session's life may take: longer than the runner waits for work that it
/// aborted, so that its answer arrives.
const CHANGE_TIMEOUT: Duration = Duration::from_mins(2);

/// The services, as one caller sees them.
#[derive(Clone, Debug)]
pub struct Services {
    registry: Call,
    transcript: Call,
    runner: Call,
}

impl Services {
    /// The services where the options say, called with the options' token, or as nobody in
    /// particular: an operator.
    ///
    /// # Errors
    /// When an address has another form than `http://HOST:PORT`.
    pub fn of(connection: &Connection) -> Result<Self, Failure> {
        Self::called_as(connection, &credentials(connection.token.as_deref(), None)?)
    }

    /// The same, called as the agent of `caller` where one is named.
    ///
    /// # Errors
    /// When an address is malformed, or the token is not that session's.
    pub fn of_agent(connection: &Connection, caller: Option<&str>) -> Result<Self, Failure> {
        Self::called_as(
            connection,
            &credentials(connection.token.as_deref(), caller)?,
        )
    }

    fn called_as(connection: &Connection, credentials: &Credentials) -> Result<Self, Failure> {
        let at = |option: &str, url: Option<&str>| {
            let (option, url) = url.map_or(("--endpoint", connection.endpoint.as_str()), |url| {
                (option, url)
            });
            transport(option, url)
        };
        let to_registry = at("--registry", connection.registry.as_deref())?;
        let to_transcript = at("--transcript", connection.transcript.as_deref())?;
        let to_runner = at("--runner", connection.runner.as_deref())?;
        let call = |transport| call(transport, credentials.clone());
        Ok(Self {
            registry: call(to_registry),
            transcript: call(to_transcript),
            runner: call(to_runner),
        })
    }

    /// Sessions.
    pub fn registry(&self) -> RegistryClient {
        RegistryClient::new(self.registry.clone())
    }

    /// Explanations; the registry has them.
    pub fn policy(&self) -> PolicyClient {
        PolicyClient::new(self.registry.clone())
    }

    /// Messages.
    pub fn transcript(&self) -> TranscriptClient {
        TranscriptClient::new(self.transcript.clone())
    }

    /// Runs and flows.
    pub fn runner(&self) -> RunnerClient {
        RunnerClient::new(self.runner.clone())
    }

    /// The runner, for a call that changes a session's life and may first wait for its work to end.
    pub fn changing_runner(&self) -> RunnerClient {
        self.waiting_runner(CHANGE_TIMEOUT)
    }

    /// Runs and flows, for calls that wait.
    pub fn waiting_runner(&self, wait: Duration) -> RunnerClient {
        RunnerClient::new(self.runner.waiting(wait))
    }

    /// Deliveries; the runner has them.
    pub fn deliveries(&self) -> DeliveryClient {
        DeliveryClient::new(self.runner.clone())
    }

    /// The session tools; the runner has them. A tool may wait as long as its arguments say.
    pub fn tools(&self, wait: Duration) -> ToolsClient {
        ToolsClient::new(self.runner.waiting(wait))
    }
}

fn transport(option: &str, url: &str) -> Result<Transport, Failure> {
    connect(url).map_err(|error| {
        Failure::usage(format!("{option}: {error}"))
            .hint("without the option, CONFAB_ENDPOINT, CONFAB_REGISTRY and their like count")
    })
}

fn call(transport: Transport, credentials: Credentials) -> Call {
    Call::new(transport, credentials).waiting(CALL_TIMEOUT)
}

/// As whom the calls are made.
fn credentials(token: Option<&str>, caller: Option<&str>) -> Result<Credentials, Failure> {
    let token = token.map(str::trim).filter(|token| !token.is_empty());
    let caller = caller.map(str::trim).filter(|caller| !caller.is_empty());
    match (token, caller) {
        (Some(token), Some(caller)) if !is_token_of(token, caller) => Err(Failure::usage(format!(
            "--as {caller} cannot be used with this token, which says itself who calls"
        ))
        .hint(
            "leave --as out, or mint a token for that session: \
             confab token mint --role agent --session KEY",
        )),
        (Some(token), _) => Ok(Credentials::Bearer(SecretString::from(token))),
        (None, Some(caller)) => Ok(agent_of(caller)),
        (None, None) => Ok(Credentials::Named(Named::default())),
    }
}

/// The agent of a session, as it names itself in open mode.
fn agent_of(session: &str) -> Credentials {
    Credentials::Named(Named {
        role: Some(Role::Agent),
        session: Some(session.to_owned()),
        ..Named::default()
    })
}

/// Whether a token names this session. It is read, not checked: that is the server's part.
fn is_token_of(token: &str, caller: &str) -> bool {
    let named = token
        .split('.')
        .nth(1)
        .and_then(|part| URL_SAFE_NO_PAD.decode(part).ok())
        .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok())
        .and_then(|claims| claims.get("session")?.as_str().map(str::to_owned));
    let same = |named: &str| match (SessionKey::parse(named), SessionKey::parse(caller)) {
        (Ok(named), Ok(caller)) => named == caller,
        (Ok(_) | Err(_), _) => named == caller,
    };
    named.is_some_and(|named| same(&named))
}

/// The answer of a call, or why there is none.
///
/// # Errors
/// When the service refused or could not be reached.
pub fn answer<T>(result: Result<tonic::Response<T>, tonic::Status>) -> Result<T, Failure> {
    let answered = result.map(tonic::Response::into_inner);
    answered.map_err(|status| Failure::from(RpcError::from_status(&status)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    fn token_for(session: &str) -> String {
        let claims = format!(r#"{{"role":"agent","session":"{session}"}}"#);
        format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims))
    }

    fn connection() -> Connection {
        Connection {
            endpoint: "http://127.0.0.1:7420".to_owned(),
            registry: None,
            transcript: None,
            runner: None,
            token: None,
            json: false,
        }
    }

    #[test]
    fn without_a_token_a_session_is_named_and_nobody_else_is() {
        let Ok(Credentials::Named(agent)) = credentials(None, Some("agent:writer:main")) else {
            panic!("an agent names itself");
        };
        assert_eq!(
            (agent.role, agent.session.as_deref()),
            (Some(Role::Agent), Some("agent:writer:main"))
        );
        let Ok(Credentials::Named(nobody)) = credentials(Some("  "), None) else {
            panic!("a blank token is none");
        };
        assert_eq!(nobody, Named::default());
    }

    #[test]
    fn a_token_and_the_session_it_names_agree() {
        let token = token_for("agent:writer:main");
        for caller in ["agent:writer:main", "agent:Writer:main"] {
            assert!(
                matches!(
                    credentials(Some(&token), Some(caller)),
                    Ok(Credentials::Bearer(_))
                ),
                "{caller}"
            );
        }
    }

    #[test]
    fn a_token_of_another_session_is_refused_with_a_hint() {
        for token in [
            token_for("agent:editor:main"),
            "opaque".to_owned(),
            "a.%%.c".to_owned(),
        ] {
            let failure = credentials(Some(&token), Some("agent:writer:main")).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage);
            assert!(
                failure
                    .hint
                    .is_some_and(|hint| hint.contains("confab token mint"))
            );
            assert!(!failure.message.contains(&token), "a token never shows");
        }
    }

    #[tokio::test]
    async fn an_address_of_another_form_is_a_usage_error() {
        for endpoint in ["", "127.0.0.1:7420", "ftp://x", "https://127.0.0.1:7420"] {
            let failure = Services::of(&Connection {
                endpoint: endpoint.to_owned(),
                ..connection()
            });
            assert_eq!(failure.unwrap_err().exit, Exit::Usage, "{endpoint}");
        }
        assert!(Services::of(&connection()).is_ok());
    }
}
