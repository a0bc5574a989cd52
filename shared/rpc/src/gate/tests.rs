//! What the gate admits and refuses, by an authority that the test scripts.

mod errors;
mod roles;

use std::sync::Mutex;

use confab_model::clock::Timestamp;
use confab_model::id::{SessionId, TenantId};

use super::*;

/// An authority that answers what it was told to, and keeps what it was asked.
#[derive(Debug)]
struct Scripted {
    answer: Result<Answer, RpcError>,
    asked: Mutex<Vec<Question>>,
}

impl Authority for Scripted {
    async fn authorize(&self, question: Question) -> Result<Answer, RpcError> {
        self.asked.lock().unwrap().push(question);
        self.answer.clone()
    }
}

impl Scripted {
    fn answering(answer: Result<Answer, RpcError>) -> Arc<Self> {
        Arc::new(Self {
            answer,
            asked: Mutex::default(),
        })
    }

    fn deciding(decisions: Vec<Result<Session, RpcError>>) -> Arc<Self> {
        Self::answering(Ok(Answer {
            decisions,
            scope: None,
        }))
    }

    fn questions(&self) -> Vec<(Action, About)> {
        let asked = self.asked.lock().unwrap();
        asked
            .iter()
            .map(|question| (question.action, question.about.clone()))
            .collect()
    }
}

/// A call of which the test chooses what it is about.
#[derive(Clone, Debug)]
struct Call(About);

impl Governed for Call {
    fn action(&self) -> Action {
        Action::History
    }

    fn about(&self) -> About {
        self.0.clone()
    }
}

fn key(raw: &str) -> SessionKey {
    SessionKey::parse(raw).unwrap()
}

fn row(raw: &str) -> Session {
    let session_id = SessionId::parse("generation").unwrap();
    Session::fresh(key(raw), session_id, Timestamp::default())
}

fn agent(raw: &str) -> Caller {
    Caller::agent(TenantId::default(), key(raw), None)
}

fn operator() -> Caller {
    Caller::operator(TenantId::default())
}

fn hidden() -> RpcError {
    RpcError::new(
        Reason::Visibility,
        "Session history visibility is restricted",
    )
}

fn missing() -> RpcError {
    RpcError::new(Reason::RecordNotFound, "No run found: r1")
}

fn request_of<P>(caller: Caller, message: P) -> tonic::Request<P> {
    let mut request = tonic::Request::new(message);
    request.extensions_mut().insert(caller);
    request
}

#[tokio::test]
async fn a_call_about_nothing_is_admitted_without_a_question() {
    let authority = Scripted::deciding(Vec::new());
    let gate = Gate::new(Arc::clone(&authority));
    let admitted = gate
        .admit_as(operator(), Call(About::Nothing))
        .await
        .unwrap();
    assert!(matches!(admitted.subject(), Subject::Nothing));
    assert_eq!(admitted.caller(), &operator());
    assert!(authority.questions().is_empty());
}

#[tokio::test]
async fn a_call_about_one_session_gets_the_session_that_was_decided() {
    let authority = Scripted::deciding(vec![Ok(row("agent:ops:main"))]);
    let gate = Gate::new(Arc::clone(&authority));
    let about = About::One(Target::reference("main"));
    let admitted = gate
        .admit_as(agent("agent:ops:main"), Call(about.clone()))
        .await
        .unwrap();
    assert_eq!(admitted.session().unwrap(), &row("agent:ops:main"));
    assert_eq!(authority.questions(), [(Action::History, about)]);
    assert_eq!(admitted.scope().unwrap_err().reason, Reason::Internal);
    assert_eq!(admitted.sessions().unwrap_err().reason, Reason::Internal);
}

#[tokio::test]
async fn a_call_about_several_sessions_gets_a_decision_for_each() {
    let gate = Gate::new(Scripted::deciding(vec![
        Ok(row("agent:a:main")),
        Err(hidden()),
    ]));
    let about = About::Many(vec![Target::reference("a"), Target::reference("b")]);
    let admitted = gate
        .admit_as(agent("agent:a:main"), Call(about))
        .await
        .unwrap();
    let decisions = admitted.sessions().unwrap();
    assert_eq!(decisions.len(), 2);
    assert_eq!(decisions[0].as_ref().unwrap().key, key("agent:a:main"));
    assert_eq!(
        decisions[1].as_ref().unwrap_err().reason,
        Reason::Visibility
    );
    assert_eq!(admitted.session().unwrap_err().reason, Reason::Internal);
}

#[tokio::test]
async fn several_targets_that_are_one_still_get_a_list_of_decisions() {
    let gate = Gate::new(Scripted::deciding(vec![Err(hidden())]));
    let about = About::Many(vec![Target::reference("a")]);
    let admitted = gate.admit_as(operator(), Call(about)).await.unwrap();
    assert_eq!(admitted.sessions().unwrap().len(), 1);
}

#[tokio::test]
async fn a_call_about_a_scope_gets_the_scope() {
    let note = ScopeNote {
        mode: "self".to_owned(),
        warning: "narrowed".to_owned(),
    };
    let scope = Scope {
        reach: Reach::Among(Among {
            keys: vec![key("agent:a:main")],
            ..Among::default()
        }),
        note: Some(note),
    };
    let answer = Answer {
        decisions: Vec::new(),
        scope: Some(scope.clone()),
    };
    let gate = Gate::new(Scripted::answering(Ok(answer)));
    let admitted = gate
        .admit_as(agent("agent:a:main"), Call(About::Scope))
        .await
        .unwrap();
    assert_eq!(admitted.scope().unwrap(), &scope);
    assert_eq!(admitted.session().unwrap_err().reason, Reason::Internal);
}

#[tokio::test]
async fn a_refusal_of_the_one_session_passes_through_as_it_is() {
    let gate = Gate::new(Scripted::deciding(vec![Err(hidden())]));
    let about = About::One(Target::reference("agent:b:main"));
    let refused = gate
        .admit_as(agent("agent:a:main"), Call(about))
        .await
        .unwrap_err();
    assert_eq!(
        (refused.reason, refused.message),
        (Reason::Visibility, hidden().message)
    );
}

#[tokio::test]
async fn an_authority_that_cannot_decide_admits_nothing() {
    let down = || RpcError::new(Reason::Unavailable, "the registry cannot be reached");
    for about in [
        About::One(Target::reference("main")),
        About::Scope,
        About::Many(Vec::new()),
    ] {
        let gate = Gate::new(Scripted::answering(Err(down())));
        let refused = gate.admit_as(operator(), Call(about)).await.unwrap_err();
        assert_eq!(refused.reason, Reason::Unavailable);
    }
}

#[tokio::test]
async fn an_answer_without_a_decision_admits_nothing() {
    let gate = Gate::new(Scripted::deciding(Vec::new()));
    let about = About::One(Target::reference("main"));
    let refused = gate.admit_as(operator(), Call(about)).await.unwrap_err();
    assert_eq!(refused.reason, Reason::Internal);
}

#[tokio::test]
async fn a_request_whose_caller_is_not_known_is_unauthenticated() {
    let authority = Scripted::deciding(vec![Ok(row("agent:a:main"))]);
    let gate = Gate::new(Arc::clone(&authority));
    let request = tonic::Request::new(About::One(Target::reference("main")));
    let refused = gate
        .admit(request, |about| Ok(Call(about)))
        .await
        .unwrap_err();
    assert_eq!(refused.reason, Reason::Unauthenticated);
    assert_eq!(
        tonic::Status::from(refused).code(),
        tonic::Code::Unauthenticated
    );
    assert!(authority.questions().is_empty());
}

#[tokio::test]
async fn a_malformed_request_is_refused_before_anybody_is_asked() {
    let authority = Scripted::deciding(vec![Ok(row("agent:a:main"))]);
    let gate = Gate::new(Arc::clone(&authority));
    let parse = |()| Err::<Call, _>(RpcError::invalid_field("limit", "limit is 0"));
    let refused = gate
        .admit(request_of(operator(), ()), parse)
        .await
        .unwrap_err();
    assert_eq!(refused.reason, Reason::InvalidArgument);
    assert!(authority.questions().is_empty());
}

#[tokio::test]
async fn an_admitted_request_carries_its_caller() {
    let gate = Gate::new(Scripted::deciding(vec![Ok(row("agent:a:main"))]));
    let about = About::One(Target::reference("main"));
    let request = request_of(agent("agent:a:main"), about.clone());
    let admitted = gate.admit(request, |about| Ok(Call(about))).await.unwrap();
    let (call, caller, subject) = admitted.into_parts();
    assert_eq!((call.0, caller), (about, agent("agent:a:main")));
    assert!(matches!(subject, Subject::One(session) if session.key == key("agent:a:main")));
}

/// A record of `agent:target:main` that `agent:asker:main` asked for.
fn record() -> Owned<&'static str> {
    Owned {
        record: "record",
        session: key("agent:target:main"),
        requester: Some(key("agent:asker:main")),
    }
}

async fn admit_record(
    authority: &Arc<Scripted>,
    caller: Caller,
    found: Option<Owned<&'static str>>,
) -> Result<&'static str, RpcError> {
    let gate = Gate::new(Arc::clone(authority));
    let load = async { Ok(found) };
    let admitted = gate.admit_record(caller, "r1", missing, load).await;
    admitted.map(|(admitted, record)| {
        assert_eq!(admitted.request(), &"r1");
        assert!(matches!(admitted.subject(), Subject::Nothing));
        record
    })
}

#[tokio::test]
async fn an_unknown_and_a_hidden_record_answer_alike() {
    let stranger = || agent("agent:stranger:main");
    let authority = Scripted::deciding(vec![Err(hidden())]);
    let unknown = admit_record(&authority, stranger(), None)
        .await
        .unwrap_err();
    let concealed = admit_record(&authority, stranger(), Some(record()))
        .await
        .unwrap_err();
    let told = |error: &RpcError| {
        (
            error.reason,
            error.message.clone(),
            error.violations.clone(),
        )
    };
    assert_eq!(told(&unknown), told(&concealed));
    assert_eq!(told(&unknown), told(&missing()));

    let gone = RpcError::new(
        Reason::SessionNotFound,
        "No session found: agent:target:main",
    );
    let authority = Scripted::deciding(vec![Err(gone)]);
    let orphaned = admit_record(&authority, stranger(), Some(record()))
        .await
        .unwrap_err();
    assert_eq!(told(&orphaned), told(&missing()));
}

#[tokio::test]
async fn a_refusal_that_hides_nothing_is_told_for_a_record() {
    let refusal = RpcError::new(Reason::ToolPolicy, "the tool is not allowed");
    let authority = Scripted::deciding(vec![Err(refusal)]);
    let refused = admit_record(&authority, agent("agent:x:main"), Some(record())).await;
    assert_eq!(refused.unwrap_err().reason, Reason::ToolPolicy);
}

#[tokio::test]
async fn a_record_is_judged_by_the_session_it_belongs_to() {
    let authority = Scripted::deciding(vec![Ok(row("agent:target:main"))]);
    let admitted = admit_record(&authority, agent("agent:parent:main"), Some(record())).await;
    assert_eq!(admitted.unwrap(), "record");
    let about = About::One(Target::key(&key("agent:target:main")));
    assert_eq!(authority.questions(), [(Action::Record, about)]);
}

#[tokio::test]
async fn the_requester_of_a_flow_reads_its_record_whatever_it_may_see() {
    let authority = Scripted::deciding(vec![Err(hidden())]);
    let admitted = admit_record(&authority, agent("agent:asker:main"), Some(record())).await;
    assert_eq!(admitted.unwrap(), "record");
    assert!(authority.questions().is_empty());
}

#[tokio::test]
async fn a_caller_without_a_session_is_not_the_requester_of_a_flow_without_one() {
    let authority = Scripted::deciding(vec![Err(hidden())]);
    let nobodys = Owned {
        requester: None,
        ..record()
    };
    let caller = Caller {
        identity: crate::caller::Identity::Channel {
            channel: "discord".to_owned(),
        },
        ..operator()
    };
    let refused = admit_record(&authority, caller, Some(nobodys))
        .await
        .unwrap_err();
    assert_eq!(refused.reason, Reason::RecordNotFound);
    assert_eq!(authority.questions().len(), 1);
}

#[tokio::test]
async fn a_record_that_cannot_be_loaded_is_not_called_missing() {
    let authority = Scripted::deciding(vec![Ok(row("agent:target:main"))]);
    let gate = Gate::new(authority);
    let load = async { Err::<Option<Owned<()>>, _>(RpcError::new(Reason::Unavailable, "locked")) };
    let failed = gate
        .admit_record(operator(), "r1", missing, load)
        .await
        .unwrap_err();
    assert_eq!(failed.reason, Reason::Unavailable);
}

#[test]
fn blank_fields_of_a_target_are_absent_and_an_empty_one_is_refused() {
    let blank = SessionTarget {
        session_key: Some(" ".to_owned()),
        label: Some(String::new()),
        agent_id: None,
    };
    assert_eq!(Target::optional(Some(blank.clone())), None);
    for wire in [None, Some(blank)] {
        assert_eq!(
            Target::required(wire, "target").unwrap_err().field,
            "target"
        );
    }
    let partly = SessionTarget {
        label: Some("x".to_owned()),
        ..SessionTarget::default()
    };
    let read = Target::required(Some(partly), "target").unwrap();
    assert_eq!(
        read,
        Target {
            label: Some("x".to_owned()),
            ..Target::default()
        }
    );
}

#[test]
fn only_sends_messages_and_runs_are_new_work() {
    let new_work: Vec<_> = Action::ALL
        .into_iter()
        .filter(|action| action.is_new_work())
        .collect();
    assert_eq!(
        new_work,
        [
            Action::Send,
            Action::HumanMessage,
            Action::StartRun,
            Action::FlowRun
        ],
    );
}
