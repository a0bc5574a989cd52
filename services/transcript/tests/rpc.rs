//! The transcript behind a real server on a free port, with the layers of every server.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use confab_config::{Live, Source};
use confab_model::clock::{ManualClock, Timestamp};
use confab_model::id::{AgentId, SessionId};
use confab_model::key::{KeyRules, Scope, SessionKey};
use confab_model::message::{NewMessage, Role as Speaker};
use confab_model::session::Session;
use confab_proto::transcript::v1 as proto;
use confab_proto::types::v1::SessionTarget;
use confab_rpc::caller::Role;
use confab_rpc::clients::{Call, Credentials, TranscriptClient, Transport, connect};
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::{About, Answer, Authority, Question, Target};
use confab_rpc::identity::{Authenticator, Named};
use confab_rpc::layer::Stack;
use confab_rpc::serve::{HttpListen, HttpSide, Listen, Server, Services};
use confab_rpc::wire;
use confab_store::ids::SequentialIds;
use confab_telemetry::Metrics;
use confab_transcript::{Transcript, TranscriptOptions};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::{Code, Status};

const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// Knows every session by its key, and lets an agent see its own only.
#[derive(Clone, Debug)]
struct OwnOnly;

impl Authority for OwnOnly {
    async fn authorize(&self, question: Question) -> Result<Answer, RpcError> {
        let own = question.caller.session().cloned();
        let decide = |target: &Target| {
            let key: SessionKey = target
                .session_key
                .clone()
                .unwrap_or_default()
                .parse()
                .unwrap();
            if own.as_ref().is_none_or(|own| *own == key) {
                Ok(session(key))
            } else {
                Err(RpcError::new(Reason::Visibility, "out of reach"))
            }
        };
        let targets = match question.about {
            About::One(target) => vec![target],
            About::Many(targets) => targets,
            About::Nothing | About::Scope => Vec::new(),
        };
        Ok(Answer {
            decisions: targets.iter().map(decide).collect(),
            scope: None,
        })
    }
}

fn session(key: SessionKey) -> Session {
    let session_id = SessionId::parse(format!("id of {key}")).unwrap();
    Session::fresh(key, session_id, START)
}

/// A transcript that is served until the test ends.
struct Served {
    transport: Transport,
    stop: CancellationToken,
    transcript: Transcript<OwnOnly>,
    tasks: TaskTracker,
}

fn rules() -> KeyRules {
    let agent = AgentId::normalise("writer");
    KeyRules {
        agents: vec![agent.clone()],
        default_agent: agent,
        scope: Scope::PerSender,
    }
}

impl Served {
    async fn start(directory: &Path) -> Self {
        let tasks = TaskTracker::new();
        let transcript = Transcript::open(TranscriptOptions {
            data_dir: directory.to_path_buf(),
            clock: Arc::new(ManualClock::starting_at(START)),
            ids: Arc::new(SequentialIds::new()),
            settings: Live::start(Source::inline("{}")).unwrap().0,
            tracker: tasks.clone(),
            stop: CancellationToken::new(),
            authority: OwnOnly,
        });
        let transcript = transcript.await.unwrap();
        let metrics = Metrics::unexported().unwrap();
        let mut services = Services::default();
        transcript.add_to(&mut services);
        let server = Server {
            name: "confab-transcript",
            stack: Stack::new(Arc::new(Authenticator::open(Arc::new(rules))), &metrics),
            services,
            listen: Listen::new(
                SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
                Some(HttpListen::Off),
            ),
            http: HttpSide {
                fingerprint: Arc::new(String::new),
                checks: transcript.checks(),
                metrics,
            },
        };
        let listening = server.bind().await.unwrap();
        let transport = connect(&format!("http://{}", listening.grpc_address())).unwrap();
        let stop = CancellationToken::new();
        tasks.spawn(listening.serve(stop.clone()));
        Self {
            transport,
            stop,
            transcript,
            tasks,
        }
    }

    fn client(&self, role: Role, session: Option<&str>) -> TranscriptClient {
        let named = Named {
            role: Some(role),
            session: session.map(str::to_owned),
            ..Named::default()
        };
        TranscriptClient::new(Call::new(self.transport.clone(), Credentials::Named(named)))
    }

    async fn end(self) {
        self.stop.cancel();
        self.transcript.close().await;
        self.tasks.close();
        self.tasks.wait().await;
    }
}

fn target(key: &str) -> SessionTarget {
    SessionTarget {
        session_key: Some(key.to_owned()),
        ..Default::default()
    }
}

fn append(key: &str, messages: &[NewMessage]) -> proto::AppendMessagesRequest {
    proto::AppendMessagesRequest {
        target: Some(target(key)),
        session_id: None,
        messages: messages.iter().map(wire::message::new_to_proto).collect(),
    }
}

fn history(key: &str) -> proto::GetHistoryRequest {
    proto::GetHistoryRequest {
        target: Some(target(key)),
        offset: Some(0),
        ..Default::default()
    }
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(outcome: Result<T, Status>, code: Code, reason: Reason) {
    let status = outcome.unwrap_err();
    assert_eq!(status.code(), code, "{status:?}");
    assert_eq!(RpcError::from_status(&status).reason, reason, "{status:?}");
}

const OWN: &str = "agent:writer:main";
const OTHER: &str = "agent:writer:other";

#[tokio::test]
async fn what_was_appended_is_read_as_it_may_be_shown_also_after_a_restart() {
    let directory = TempDir::new().unwrap();
    let served = Served::start(directory.path()).await;
    let mut operator = served.client(Role::Operator, None);
    let messages = [
        NewMessage::text("a", Speaker::User, "hi"),
        NewMessage::text("b", Speaker::Assistant, "yo"),
    ];
    let stored = operator
        .append_messages(append(OWN, &messages))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        stored
            .messages
            .iter()
            .map(|one| one.seq)
            .collect::<Vec<_>>(),
        [1, 2]
    );
    let again = operator
        .append_messages(append(OWN, &messages))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(again, stored);
    served.end().await;

    let served = Served::start(directory.path()).await;
    let mut agent = served.client(Role::Agent, Some(OWN));
    let page = agent.get_history(history(OWN)).await.unwrap().into_inner();
    assert_eq!(
        (page.session_key.as_str(), page.display_key.as_str()),
        (OWN, "main")
    );
    let shown: Vec<_> = page
        .messages
        .into_iter()
        .filter_map(|one| one.message)
        .collect();
    assert_eq!(shown, stored.messages);
    let paging = page.paging.unwrap();
    assert_eq!(
        (paging.total_messages, paging.has_more, paging.snapshot),
        (2, false, 2)
    );
    assert_eq!((page.truncated, page.content_redacted), (false, false));

    let request = proto::TailSessionsRequest {
        session_keys: vec![OTHER.to_owned(), OWN.to_owned()],
        limit: 1,
        include_first_user_message: true,
    };
    let tails = agent
        .tail_sessions(request)
        .await
        .unwrap()
        .into_inner()
        .tails;
    assert_eq!(tails.len(), 1);
    assert_eq!(
        (tails[0].session_key.as_str(), tails[0].messages[0].seq),
        (OWN, 2)
    );
    assert_eq!(tails[0].first_user_text.as_deref(), Some("hi"));
    served.end().await;
}

#[tokio::test]
async fn refusals_carry_their_code_and_reason() {
    let directory = TempDir::new().unwrap();
    let served = Served::start(directory.path()).await;
    let mut operator = served.client(Role::Operator, None);
    let mut agent = served.client(Role::Agent, Some(OWN));
    let one = |text: &str| [NewMessage::text("a", Speaker::User, text)];
    operator
        .append_messages(append(OWN, &one("hi")))
        .await
        .unwrap();

    let outcome = operator.append_messages(append(OWN, &one("other"))).await;
    assert_refused(outcome, Code::AlreadyExists, Reason::KeyReused);
    let outcome = agent.append_messages(append(OWN, &one("hi"))).await;
    assert_refused(outcome, Code::PermissionDenied, Reason::Role);
    let outcome = agent.get_history(history(OTHER)).await;
    assert_refused(outcome, Code::PermissionDenied, Reason::Visibility);
    let outcome = agent.get_history(proto::GetHistoryRequest::default()).await;
    assert_refused(outcome, Code::InvalidArgument, Reason::InvalidArgument);
    let long = NewMessage::text("b", Speaker::User, "a".repeat(1_024 * 1_024 + 1));
    let outcome = operator.append_messages(append(OWN, &[long])).await;
    assert_refused(outcome, Code::InvalidArgument, Reason::InvalidArgument);
    let page = operator
        .get_history(history(OWN))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(page.messages.len(), 1);
    served.end().await;
}

/// A file of two messages in pieces that cut its lines; the first piece names the session.
fn file(key: &str, dry_run: bool) -> Vec<proto::ImportTranscriptRequest> {
    let lines = "{\"type\":\"session\",\"id\":\"s\"}\n\
         {\"role\":\"user\",\"content\":\"hi\"}\n?\n{\"role\":\"assistant\",\"content\":\"yo\"}\n";
    let first = proto::ImportTranscriptRequest {
        target: Some(target(key)),
        dry_run,
        ..Default::default()
    };
    let rest = lines.as_bytes().chunks(7).map(|piece| {
        let lines = piece.to_vec().into();
        proto::ImportTranscriptRequest {
            lines,
            ..Default::default()
        }
    });
    std::iter::once(first).chain(rest).collect()
}

async fn exported(
    client: &mut TranscriptClient,
    key: &str,
    raw: bool,
) -> Result<Vec<String>, Status> {
    let request = proto::ExportTranscriptRequest {
        target: Some(target(key)),
        raw,
    };
    let mut pieces = client.export_transcript(request).await?.into_inner();
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.message().await? {
        bytes.extend_from_slice(&piece.lines);
    }
    let text = String::from_utf8(bytes).unwrap();
    Ok(text.lines().map(str::to_owned).collect())
}

#[tokio::test]
async fn a_file_comes_in_pieces_and_goes_out_in_pieces() {
    let directory = TempDir::new().unwrap();
    let served = Served::start(directory.path()).await;
    let mut operator = served.client(Role::Operator, None);
    for (dry_run, imported, repeated) in [(true, 2, 0), (false, 2, 0), (false, 0, 2)] {
        let pieces = futures::stream::iter(file(OWN, dry_run));
        let told = operator
            .import_transcript(pieces)
            .await
            .unwrap()
            .into_inner();
        assert_eq!((told.imported, told.repeated), (imported, repeated), "D36");
        assert_eq!(
            (told.lines, told.kept_aside, told.skipped),
            (4, 1, 1),
            "B146"
        );
        assert_eq!(told.faults[0].line, 3);
    }
    let lines = exported(&mut operator, OWN, true).await.unwrap();
    assert_eq!(lines.len(), 3, "B147");
    assert_eq!(lines[1], "{\"role\":\"user\",\"content\":\"hi\"}");
    served.end().await;
}

#[tokio::test]
async fn files_are_for_those_who_may_have_them() {
    let directory = TempDir::new().unwrap();
    let served = Served::start(directory.path()).await;
    let mut operator = served.client(Role::Operator, None);
    let mut agent = served.client(Role::Agent, Some(OWN));
    let one = [NewMessage::text("a", Speaker::User, "hi")];
    operator.append_messages(append(OWN, &one)).await.unwrap();

    for raw in [true, false] {
        let outcome = exported(&mut agent, OWN, raw).await;
        assert_refused(outcome, Code::PermissionDenied, Reason::Role);
        assert_eq!(exported(&mut operator, OWN, raw).await.unwrap().len(), 2);
    }
    let outcome = agent
        .import_transcript(futures::stream::iter(file(OTHER, false)))
        .await;
    assert_refused(outcome, Code::PermissionDenied, Reason::Role);
    let outcome = operator
        .import_transcript(futures::stream::iter(file(OWN, false)))
        .await;
    assert_refused(
        outcome,
        Code::FailedPrecondition,
        Reason::TranscriptNotEmpty,
    );
    let nobody = [proto::ImportTranscriptRequest::default()];
    let outcome = operator
        .import_transcript(futures::stream::iter(nobody))
        .await;
    assert_refused(outcome, Code::InvalidArgument, Reason::InvalidArgument);
    let mut two = file(OTHER, false);
    two[1].target = Some(target(OWN));
    let outcome = operator.import_transcript(futures::stream::iter(two)).await;
    assert_refused(outcome, Code::InvalidArgument, Reason::InvalidArgument);
    served.end().await;
}
