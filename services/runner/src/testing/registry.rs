//! A registry that makes a row of every key it is asked about, and remembers what it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use confab_model::channel::Route;
use confab_model::key::SessionKey;
use confab_model::session::{Session, Tuning};
use confab_proto::registry::v1::registry_service_server::RegistryService;
use confab_proto::registry::v1::{
    AckNoticesRequest, AckNoticesResponse, ActivityRecord, AuthorizeRequest, AuthorizeResponse,
    CommitLifecycleRequest, CommitLifecycleResponse, ListOverdueSessionsRequest,
    ListOverdueSessionsResponse, RecordActivityRequest, RecordActivityResponse, StateEventRecord,
    WatchNoticesRequest, WatchNoticesResponse, WatchTargetRequest, WatchTargetResponse,
};
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::{About, Action, Answer, Target};
use confab_rpc::wire::authorize::{answer_to_proto, question_from_wire};
use futures::stream::BoxStream;
use tokio::sync::watch;
use tonic::{Request, Response, Status};

use super::key;
use super::lives::FakeLives;
use super::notices::FakeNotices;

/// The registry. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct FakeRegistry {
    /// What it owes to watchers.
    pub(crate) notices: FakeNotices,
    /// Its rows.
    pub(crate) lives: FakeLives,
    state: Arc<Mutex<State>>,
    changes: Arc<watch::Sender<u64>>,
}

#[derive(Debug, Default)]
struct State {
    routes: BTreeMap<SessionKey, Route>,
    /// Sessions' own models.
    models: BTreeMap<SessionKey, String>,
    /// Actions that are refused, and why.
    refusals: BTreeMap<String, Reason>,
    /// Sessions that agents and channels do not see.
    hidden: BTreeSet<SessionKey>,
    /// A session whose records are refused for good.
    refused_records: Option<String>,
    activity: Vec<ActivityRecord>,
    events: Vec<StateEventRecord>,
    asked: Vec<(Action, SessionKey)>,
}

impl FakeRegistry {
    fn change<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let changed = act(&mut self.state.lock().unwrap());
        self.changes.send_modify(|count| *count += 1);
        changed
    }

    /// Gives a session a route of its own.
    pub(crate) fn route(&self, session: &str, route: Route) {
        self.change(|state| state.routes.insert(key(session), route));
    }

    /// Gives a session a model of its own.
    pub(crate) fn choose_model(&self, session: &str, model: &str) {
        self.change(|state| state.models.insert(key(session), model.to_owned()));
    }

    /// Refuses an action from here on, or no more.
    pub(crate) fn refuse(&self, action: Action, reason: Option<Reason>) {
        let action = format!("{action:?}");
        self.change(|state| match reason {
            Some(reason) => state.refusals.insert(action, reason),
            None => state.refusals.remove(&action),
        });
    }

    /// Hides a session from agents and channels.
    pub(crate) fn hide(&self, session: &str) {
        self.change(|state| state.hidden.insert(key(session)));
    }

    /// Refuses every record of a session for good.
    pub(crate) fn refuse_records_of(&self, session: &str) {
        self.change(|state| state.refused_records = Some(session.to_owned()));
    }

    /// The records as they were told, when there are at least so many.
    pub(crate) async fn told(&self, count: usize) -> Vec<ActivityRecord> {
        self.until(|state| state.activity.len() >= count).await;
        self.state.lock().unwrap().activity.clone()
    }

    /// The state events that came with these records.
    pub(crate) fn events(&self) -> Vec<StateEventRecord> {
        self.state.lock().unwrap().events.clone()
    }

    /// Until an action on a session was asked about.
    pub(crate) async fn until_asked(&self, action: Action, session: &str) {
        let session = key(session);
        self.until(|state| state.asked.contains(&(action, session.clone())))
            .await;
    }

    /// How often something was asked.
    pub(crate) fn questions(&self) -> usize {
        self.state.lock().unwrap().asked.len()
    }

    /// Forgets what was asked.
    pub(crate) fn forget_questions(&self) {
        self.change(|state| state.asked.clear());
    }

    async fn until(&self, over: impl Fn(&State) -> bool) {
        let mut changes = self.changes.subscribe();
        while !over(&self.state.lock().unwrap()) {
            changes.changed().await.unwrap();
        }
    }

    fn decide(&self, action: Action, sees_everything: bool, target: Target) -> Decision {
        let named = target
            .session_key
            .unwrap_or_else(|| "agent:main:main".to_owned());
        let session = SessionKey::parse(&named)
            .map_err(|error| RpcError::invalid_field("sessionKey", error.to_string()))?;
        let (refusal, hidden, route, model) = self.change(|state| {
            state.asked.push((action, session.clone()));
            let refusal = state.refusals.get(&format!("{action:?}")).copied();
            let hidden = state.hidden.contains(&session) && !sees_everything;
            let route = state.routes.get(&session).cloned();
            (refusal, hidden, route, state.models.get(&session).cloned())
        });
        if hidden {
            return Err(RpcError::new(
                Reason::Visibility,
                "the session is out of reach",
            ));
        }
        if let Some(reason) = refusal {
            return Err(RpcError::new(reason, format!("refused: {reason:?}")));
        }
        let row = self.lives.row(&session, action)?;
        Ok(Session {
            delivery_context: route,
            tuning: Tuning {
                model,
                ..row.tuning
            },
            ..row
        })
    }
}

type Decision = Result<Session, RpcError>;

#[tonic::async_trait]
impl RegistryService for FakeRegistry {
    async fn authorize(
        &self,
        request: Request<AuthorizeRequest>,
    ) -> Result<Response<AuthorizeResponse>, Status> {
        let question = question_from_wire(request.into_inner())?;
        let targets = match question.about {
            About::One(target) => vec![target],
            About::Many(targets) => targets,
            About::Nothing | About::Scope => Vec::new(),
        };
        let mut decisions = Vec::new();
        for target in targets {
            let decision = self.decide(question.action, question.caller.sees_everything(), target);
            match decision {
                // Nothing could be decided at all.
                Err(error) if error.reason == Reason::Unavailable => return Err(error.into()),
                decision => decisions.push(decision),
            }
        }
        Ok(Response::new(answer_to_proto(Answer {
            decisions,
            scope: None,
        })))
    }

    async fn record_activity(
        &self,
        request: Request<RecordActivityRequest>,
    ) -> Result<Response<RecordActivityResponse>, Status> {
        let RecordActivityRequest { records, events } = request.into_inner();
        let refused = self.state.lock().unwrap().refused_records.clone();
        if records
            .iter()
            .any(|record| Some(&record.session_key) == refused.as_ref())
        {
            return Err(RpcError::invalid_field("records", "one of them is at fault").into());
        }
        // A record that comes again changes nothing.
        self.change(|state| {
            for record in records {
                if !state.activity.contains(&record) {
                    state.activity.push(record);
                }
            }
            for event in events {
                if !state.events.contains(&event) {
                    state.events.push(event);
                }
            }
        });
        Ok(Response::new(RecordActivityResponse::default()))
    }

    async fn commit_lifecycle(
        &self,
        request: Request<CommitLifecycleRequest>,
    ) -> Result<Response<CommitLifecycleResponse>, Status> {
        Ok(Response::new(
            self.lives.commit(request.into_inner()).await?,
        ))
    }

    async fn list_overdue_sessions(
        &self,
        request: Request<ListOverdueSessionsRequest>,
    ) -> Result<Response<ListOverdueSessionsResponse>, Status> {
        let tenant = request.into_inner().tenant;
        let sessions = self.lives.list_overdue(tenant.as_deref())?;
        Ok(Response::new(ListOverdueSessionsResponse { sessions }))
    }

    async fn watch_target(
        &self,
        request: Request<WatchTargetRequest>,
    ) -> Result<Response<WatchTargetResponse>, Status> {
        let watched = self.notices.watch(request.into_inner())?;
        Ok(Response::new(WatchTargetResponse { watched }))
    }

    async fn watch_notices(
        &self,
        _request: Request<WatchNoticesRequest>,
    ) -> Result<Response<BoxStream<'static, Result<WatchNoticesResponse, Status>>>, Status> {
        Ok(Response::new(self.notices.stream()))
    }

    async fn ack_notices(
        &self,
        request: Request<AckNoticesRequest>,
    ) -> Result<Response<AckNoticesResponse>, Status> {
        self.notices.acknowledge(request.into_inner().notice_ids)?;
        Ok(Response::new(AckNoticesResponse::default()))
    }
}
