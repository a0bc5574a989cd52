//! The gate: the one place where a call meets the policy.
//!
//! The first line of every service method is [`Gate::admit`] (or [`Gate::admit_record`] where the
//! call names a run, flow or delivery). Use cases take [`Admitted`] values only, and only the gate
//! can make one: a method that forgets the check does not compile.

use std::future::Future;
use std::sync::Arc;

use confab_model::id::AgentId;
use confab_model::key::SessionKey;
use confab_model::session::Session;
use confab_proto::types::v1::SessionTarget;

use crate::caller::Caller;
use crate::error::{Reason, RpcError, Violation};

/// What a caller wants to do to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Read its row or find it.
    Read,
    /// Read its messages.
    History,
    /// Read its status.
    Status,
    /// See it in a list.
    List,
    /// Send it a message from another session.
    Send,
    /// Bring it a person's message.
    HumanMessage,
    /// Start a run in it.
    StartRun,
    /// Create it.
    Create,
    /// Change its fields.
    Patch,
    /// Reset, archive, restore or delete it.
    Lifecycle,
    /// Read a run, flow or delivery that belongs to it.
    Record,
    /// Append messages to it.
    Append,
    /// Run a flow's own turn in it.
    FlowRun,
    /// Send a text out on its behalf.
    Deliver,
    /// Search its messages.
    Search,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::Read,
        Self::History,
        Self::Status,
        Self::List,
        Self::Send,
        Self::HumanMessage,
        Self::StartRun,
        Self::Create,
        Self::Patch,
        Self::Lifecycle,
        Self::Record,
        Self::Append,
        Self::FlowRun,
        Self::Deliver,
        Self::Search,
    ];

    /// Whether it gives the session new work, which an archived one refuses (D55).
    pub const fn is_new_work(self) -> bool {
        match self {
            Self::Send | Self::HumanMessage | Self::StartRun | Self::FlowRun => true,
            Self::Read
            | Self::History
            | Self::Status
            | Self::List
            | Self::Create
            | Self::Patch
            | Self::Lifecycle
            | Self::Record
            | Self::Append
            | Self::Deliver
            | Self::Search => false,
        }
    }
}

/// A reference to a session as the caller wrote it; blank fields are absent (D7).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// A key, `main`, `current` or a sessionId.
    pub session_key: Option<String>,
    /// A label.
    pub label: Option<String>,
    /// An agent id: a qualifier, or alone that agent's main session.
    pub agent_id: Option<String>,
}

impl Target {
    /// The session with this key.
    pub fn key(key: &SessionKey) -> Self {
        Self {
            session_key: Some(key.to_string()),
            ..Self::default()
        }
    }

    /// The session a reference names: a key, `main`, `current` or a sessionId.
    pub fn reference(reference: impl Into<String>) -> Self {
        Self {
            session_key: Some(reference.into()),
            ..Self::default()
        }
    }

    /// Whether nothing is named.
    pub const fn is_empty(&self) -> bool {
        self.session_key.is_none() && self.label.is_none() && self.agent_id.is_none()
    }

    /// Reads the wire form. An absent or empty target is a violation of `field`.
    ///
    /// # Errors
    /// When nothing is named.
    pub fn required(wire: Option<SessionTarget>, field: &str) -> Result<Self, Violation> {
        Self::optional(wire).ok_or_else(|| {
            Violation::new(
                field,
                format!("{field} is missing; name a session by sessionKey, label or agentId"),
            )
        })
    }

    /// Reads the wire form; `None` where nothing is named.
    pub fn optional(wire: Option<SessionTarget>) -> Option<Self> {
        let wire = wire?;
        let target = Self {
            session_key: present(wire.session_key),
            label: present(wire.label),
            agent_id: present(wire.agent_id),
        };
        if target.is_empty() {
            None
        } else {
            Some(target)
        }
    }
}

impl From<Target> for SessionTarget {
    fn from(target: Target) -> Self {
        Self {
            session_key: target.session_key,
            label: target.label,
            agent_id: target.agent_id,
        }
    }
}

fn present(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

/// What a call is about: the question it puts to the authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// No session.
    Nothing,
    /// One session.
    One(Target),
    /// Several sessions, each with a decision of its own.
    Many(Vec<Target>),
    /// Whatever the caller may see.
    Scope,
}

/// A call that the gate can judge: it tells its action and its target.
pub trait Governed {
    /// What the caller wants to do.
    fn action(&self) -> Action;
    /// To what.
    fn about(&self) -> About;
    /// The outside channel the call itself names, which outranks the session's own where the send
    /// policy is asked (reg:P6).
    fn channel(&self) -> Option<&str> {
        None
    }
}

/// How a list is narrowed, for the caller to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeNote {
    /// The mode in force: `self`, `tree` or `agent`.
    pub mode: String,
    /// One sentence for the model that reads the list (reg:L38).
    pub warning: String,
}

/// Which sessions a caller may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All of the tenant.
    All,
    /// Those of some agents, those with some keys, and one family: whatever is in any of them.
    Among(Among),
}

/// Some sessions of a tenant; empty = none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Among {
    /// All sessions of these agents.
    pub agents: Vec<AgentId>,
    /// The sessions with these keys; at most 10,000.
    pub keys: Vec<SessionKey>,
    /// This session and every one descended from it (D9). Only the registry follows spawns: a scope
    /// that leaves it names the family by its keys.
    pub family: Option<SessionKey>,
}

/// Which sessions a caller may see, and how that narrows a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The sessions.
    pub reach: Reach,
    /// How it narrows a list; absent where it does not.
    pub note: Option<ScopeNote>,
}

/// A question to the authority.
#[derive(Clone, Debug)]
pub struct Question {
    /// Who asks.
    pub caller: Caller,
    /// What for.
    pub action: Action,
    /// About what: [`About::One`] and [`About::Many`] ask for decisions, [`About::Scope`] for a
    /// scope, [`About::Nothing`] is never asked.
    pub about: About,
    /// The outside channel that the call itself names.
    pub channel: Option<String>,
}

/// The authority's answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// One for each target, in order.
    pub decisions: Vec<Result<Session, RpcError>>,
    /// The scope, where one was asked for.
    pub scope: Option<Scope>,
}

/// The one authority on who may see and reach whom: the registry's own store inside the registry,
/// its client elsewhere.
pub trait Authority: Send + Sync + 'static {
    /// Resolves the targets and decides.
    ///
    /// A refusal of one target is a decision; an error means that nothing could be decided.
    fn authorize(
        &self,
        question: Question,
    ) -> impl Future<Output = Result<Answer, RpcError>> + Send;
}

impl<T: Authority> Authority for Arc<T> {
    fn authorize(
        &self,
        question: Question,
    ) -> impl Future<Output = Result<Answer, RpcError>> + Send {
        self.as_ref().authorize(question)
    }
}

/// What an admitted call may act on.
#[derive(Clone, Debug)]
pub enum Subject {
    /// No session.
    Nothing,
    /// One session.
    One(Box<Session>),
    /// Several sessions, each with its decision.
    Many(Vec<Result<Session, RpcError>>),
    /// Whatever is in the scope.
    Scope(Scope),
}

/// A call that passed the gate. Only the gate can make one.
#[derive(Clone, Debug)]
pub struct Admitted<R> {
    request: R,
    caller: Caller,
    subject: Subject,
}

impl<R> Admitted<R> {
    /// What is asked.
    pub const fn request(&self) -> &R {
        &self.request
    }

    /// Who asks.
    pub const fn caller(&self) -> &Caller {
        &self.caller
    }

    /// What it may act on.
    pub const fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The one session it may act on.
    ///
    /// # Errors
    /// When the call was admitted for something else: a fault of the service, not of the caller.
    pub fn session(&self) -> Result<&Session, RpcError> {
        match &self.subject {
            Subject::One(session) => Ok(session),
            Subject::Nothing | Subject::Many(_) | Subject::Scope(_) => Err(mismatch("one session")),
        }
    }

    /// The scope it may act in.
    ///
    /// # Errors
    /// When the call was admitted for something else: a fault of the service, not of the caller.
    pub fn scope(&self) -> Result<&Scope, RpcError> {
        match &self.subject {
            Subject::Scope(scope) => Ok(scope),
            Subject::Nothing | Subject::One(_) | Subject::Many(_) => Err(mismatch("a scope")),
        }
    }

    /// The decisions for its sessions.
    ///
    /// # Errors
    /// When the call was admitted for something else: a fault of the service, not of the caller.
    pub fn sessions(&self) -> Result<&[Result<Session, RpcError>], RpcError> {
        match &self.subject {
            Subject::Many(decisions) => Ok(decisions),
            Subject::Nothing | Subject::One(_) | Subject::Scope(_) => {
                Err(mismatch("several sessions"))
            },
        }
    }

    /// Takes it apart.
    pub fn into_parts(self) -> (R, Caller, Subject) {
        (self.request, self.caller, self.subject)
    }
}

fn mismatch(wanted: &str) -> RpcError {
    tracing::error!(
        wanted,
        "a use case asks for a subject that its call does not name"
    );
    RpcError::new(Reason::Internal, "internal error; see the service's log")
}

/// Judges calls with the help of an authority.
#[derive(Debug)]
pub struct Gate<A> {
    authority: A,
}

impl<A: Authority> Gate<A> {
    /// A gate that asks `authority`.
    pub const fn new(authority: A) -> Self {
        Self { authority }
    }

    /// Parses a request and admits it.
    ///
    /// # Errors
    /// When the request is malformed, the caller unknown, or the target refused.
    pub async fn admit<P, R: Governed>(
        &self,
        request: tonic::Request<P>,
        parse: impl FnOnce(P) -> Result<R, RpcError>,
    ) -> Result<Admitted<R>, RpcError> {
        let caller = caller_of(&request)?;
        let parsed = parse(request.into_inner())?;
        self.admit_as(caller, parsed).await
    }

    /// Parses a request, admits it and carries it out. Where the session changed between the
    /// decision and the write, both are done once more: the caller decided by what it wrote, not by
    /// what was stored.
    ///
    /// # Errors
    /// When the request is malformed, the target refused, or the use case fails; with
    /// [`Reason::Stale`] when the session changed twice.
    ///
    /// Source: B207; ARCHITECTURE.md, The gate.
    pub async fn carry_out<P, R, T, F>(
        &self,
        request: tonic::Request<P>,
        parse: impl FnOnce(P) -> Result<R, RpcError>,
        use_case: impl Fn(Admitted<R>) -> F,
    ) -> Result<T, RpcError>
    where
        R: Governed + Clone,
        F: Future<Output = Result<T, RpcError>>,
    {
        let caller = caller_of(&request)?;
        let parsed = parse(request.into_inner())?;
        let first = self.admit_as(caller.clone(), parsed.clone()).await?;
        match use_case(first).await {
            Err(error) if error.reason == Reason::Stale => {
                tracing::debug!(%error, "the session changed meanwhile; judging the call again");
                use_case(self.admit_as(caller, parsed).await?).await
            },
            done => done,
        }
    }

    /// Admits a parsed request of a known caller.
    ///
    /// # Errors
    /// When the target is refused, or nothing could be decided.
    pub async fn admit_as<R: Governed>(
        &self,
        caller: Caller,
        request: R,
    ) -> Result<Admitted<R>, RpcError> {
        let question = Question {
            caller: caller.clone(),
            action: request.action(),
            about: request.about(),
            channel: request.channel().map(str::to_owned),
        };
        let subject = self.subject(question).await?;
        Ok(Admitted {
            request,
            caller,
            subject,
        })
    }

    /// Admits a call that names a record: loads the record, then admits the session it belongs to.
    /// An unknown and a hidden record answer alike, with `missing`.
    ///
    /// A caller that is the requester of the record's flow may read it whatever it may see (D73):
    /// then `load` answers with that session as `requester`.
    ///
    /// # Errors
    /// When there is no such record within the caller's reach, or nothing could be decided.
    pub async fn admit_record<R, T, F>(
        &self,
        caller: Caller,
        request: R,
        missing: impl Fn() -> RpcError,
        load: F,
    ) -> Result<(Admitted<R>, T), RpcError>
    where
        F: Future<Output = Result<Option<Owned<T>>, RpcError>>,
    {
        let Some(owned) = load.await? else {
            return Err(missing());
        };
        let own = owned.requester.is_some() && owned.requester.as_ref() == caller.session();
        // A record outlives its session, and whoever sees everything may read it then too.
        if !own && !caller.sees_everything() {
            let question = Question {
                caller: caller.clone(),
                action: Action::Record,
                about: About::One(Target::key(&owned.session)),
                channel: None,
            };
            self.subject(question).await.map_err(|refusal| {
                if refusal.reason.hides() {
                    missing()
                } else {
                    refusal
                }
            })?;
        }
        Ok((
            Admitted {
                request,
                caller,
                subject: Subject::Nothing,
            },
            owned.record,
        ))
    }

    async fn subject(&self, question: Question) -> Result<Subject, RpcError> {
        if question.about == About::Nothing {
            return Ok(Subject::Nothing);
        }
        let one = matches!(question.about, About::One(_));
        let mut answer = self.authority.authorize(question).await?;
        if let Some(scope) = answer.scope {
            Ok(Subject::Scope(scope))
        } else if one {
            match answer.decisions.pop() {
                Some(decision) => Ok(Subject::One(Box::new(decision?))),
                None => Err(mismatch("a decision")),
            }
        } else {
            Ok(Subject::Many(answer.decisions))
        }
    }
}

impl Reason {
    /// Whether a refusal for this reason must not tell that the record exists.
    const fn hides(self) -> bool {
        matches!(self, Self::Visibility | Self::SessionNotFound)
    }
}

/// A record and the session it belongs to.
#[derive(Clone, Debug)]
pub struct Owned<T> {
    /// The record.
    pub record: T,
    /// The session whose reach decides.
    pub session: SessionKey,
    /// The session that asked for the record's flow, which may read it in any case (D73).
    pub requester: Option<SessionKey>,
}

/// The caller that the caller layer found.
///
/// # Errors
/// When the layer was not there: a request that reaches a service without it is refused.
pub fn caller_of<P>(request: &tonic::Request<P>) -> Result<Caller, RpcError> {
    request
        .extensions()
        .get::<Caller>()
        .cloned()
        .ok_or_else(|| {
            RpcError::new(
                Reason::Unauthenticated,
                "the caller is not known; send a bearer token",
            )
        })
}

#[cfg(test)]
mod tests;
