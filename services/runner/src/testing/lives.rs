//! The rows of the fake registry, and the changes of their lives that it commits.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use confab_model::id::{SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::session::{Label, Session};
use confab_policy::lifecycle::Change;
use confab_proto::registry::v1::{
    CommitLifecycleRequest, CommitLifecycleResponse, LifecycleChange, OverdueSession,
};
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::Action;
use confab_rpc::wire;
use confab_rpc::wire::session::{Perspective, to_proto};
use tokio::sync::watch;

use super::{START, key};

/// Rows and their lives. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct FakeLives {
    state: Arc<Mutex<Lives>>,
    changes: Arc<watch::Sender<u64>>,
}

/// What happens to changes that the registry is asked to commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitFault {
    /// They are refused.
    Refused(Reason),
    /// They are committed, and the answer is lost.
    Lost,
    /// They are neither committed nor answered.
    Held,
}

#[derive(Debug, Default)]
struct Lives {
    rows: BTreeMap<SessionKey, Session>,
    /// The last rows of deleted sessions.
    gone: BTreeMap<SessionKey, Session>,
    generations: u32,
    answers: BTreeMap<String, CommitLifecycleResponse>,
    asked: Vec<CommitLifecycleRequest>,
    fault: Option<CommitFault>,
    overdue: Vec<Due>,
    /// Lists of overdue sessions that fail from here on.
    failing_lists: u32,
    /// Whether rows are written between the list and whatever follows.
    moves_after_list: bool,
}

#[derive(Clone, Debug)]
struct Due {
    tenant: TenantId,
    session: SessionKey,
    change: Change,
    enforced: bool,
}

impl FakeLives {
    fn change<T>(&self, act: impl FnOnce(&mut Lives) -> T) -> T {
        let changed = act(&mut self.state.lock().unwrap());
        self.changes.send_modify(|count| *count += 1);
        changed
    }

    /// What happens to commits from here on.
    pub(crate) fn fail(&self, fault: CommitFault) {
        self.change(|lives| lives.fault = Some(fault));
    }

    /// Commits are in order again.
    pub(crate) fn mend(&self) {
        self.change(|lives| lives.fault = None);
    }

    /// What it was asked to commit, repetitions included, when it was asked at least so often.
    pub(crate) async fn asked(&self, count: usize) -> Vec<CommitLifecycleRequest> {
        let mut changes = self.changes.subscribe();
        loop {
            let asked = self.state.lock().unwrap().asked.clone();
            if asked.len() >= count {
                return asked;
            }
            changes.changed().await.unwrap();
        }
    }

    /// How often it was asked to commit.
    pub(crate) fn commits(&self) -> usize {
        self.state.lock().unwrap().asked.len()
    }

    /// A session's row, if it has one.
    pub(crate) fn find(&self, session: &str) -> Option<Session> {
        self.state.lock().unwrap().rows.get(&key(session)).cloned()
    }

    /// Lets a session have a row.
    pub(crate) fn know(&self, session: &str) -> Session {
        self.row(&key(session), Action::Create).unwrap()
    }

    /// A session's time is over.
    pub(crate) fn overdue(&self, tenant: &str, session: &str, change: Change, enforced: bool) {
        self.know(session);
        let due = Due {
            tenant: TenantId::parse(tenant).unwrap(),
            session: key(session),
            change,
            enforced,
        };
        self.change(|lives| lives.overdue.push(due));
    }

    /// So many lists of overdue sessions fail.
    pub(crate) fn fail_lists(&self, count: u32) {
        self.change(|lives| lives.failing_lists = count);
    }

    /// Whether every overdue row is written right after it was listed.
    pub(crate) fn move_after_list(&self, moves: bool) {
        self.change(|lives| lives.moves_after_list = moves);
    }

    /// The row that an action finds; first uses make one (D5).
    pub(super) fn row(&self, session: &SessionKey, action: Action) -> Result<Session, RpcError> {
        self.change(|lives| {
            let known = lives.rows.contains_key(session);
            let makes = action != Action::Lifecycle
                && (action.is_new_work() || !lives.gone.contains_key(session));
            if !known && !makes {
                let message = format!("No session found: {session}");
                return Err(RpcError::new(Reason::SessionNotFound, message));
            }
            if !known {
                let row = lives.fresh(session);
                lives.rows.insert(session.clone(), row);
            }
            let row = lives.rows[session].clone();
            if row.archived_at.is_some() && action.is_new_work() {
                let message = format!(
                    "Session \"{session}\" is archived. Restore it before starting new work."
                );
                return Err(RpcError::new(Reason::SessionArchived, message));
            }
            Ok(row)
        })
    }

    /// Commits a change, once for each name.
    pub(super) async fn commit(
        &self,
        request: CommitLifecycleRequest,
    ) -> Result<CommitLifecycleResponse, RpcError> {
        let fault = self.change(|lives| {
            lives.asked.push(request.clone());
            lives.fault
        });
        match fault {
            Some(CommitFault::Refused(reason)) => Err(RpcError::new(reason, "on purpose")),
            Some(CommitFault::Held) => {
                let mut changes = self.changes.subscribe();
                while self.state.lock().unwrap().fault == fault {
                    changes.changed().await.unwrap();
                }
                self.change(|lives| lives.commit(&request))
            },
            Some(CommitFault::Lost) => {
                self.change(|lives| lives.commit(&request))?;
                Err(RpcError::new(Reason::Unavailable, "the answer is lost"))
            },
            None => self.change(|lives| lives.commit(&request)),
        }
    }

    /// The sessions whose time is over, of one tenant or of all.
    pub(super) fn list_overdue(
        &self,
        tenant: Option<&str>,
    ) -> Result<Vec<OverdueSession>, RpcError> {
        self.change(|lives| {
            if lives.failing_lists > 0 {
                lives.failing_lists -= 1;
                return Err(RpcError::new(Reason::Unavailable, "on purpose"));
            }
            let mut overdue = lives.overdue.clone();
            overdue.retain(|due| tenant.is_none_or(|only| only == due.tenant.as_str()));
            let listed = overdue.iter().filter_map(|due| lives.due(due)).collect();
            if lives.moves_after_list {
                for row in lives.rows.values_mut() {
                    row.row_version += 1;
                }
            }
            Ok(listed)
        })
    }
}

impl Lives {
    /// A row as its session is made; one under the key of a deleted session goes on with its epoch.
    fn fresh(&mut self, session: &SessionKey) -> Session {
        match self.gone.remove(session) {
            None => {
                let id = SessionId::parse(format!("id of {session}")).unwrap();
                Session::fresh(session.clone(), id, START)
            },
            Some(last) => Session {
                work_epoch: last.work_epoch + 1,
                ..Session::fresh(session.clone(), self.next_id(session), START)
            },
        }
    }

    fn next_id(&mut self, session: &SessionKey) -> SessionId {
        self.generations += 1;
        SessionId::parse(format!("id {} of {session}", self.generations)).unwrap()
    }

    fn due(&self, due: &Due) -> Option<OverdueSession> {
        let row = self.rows.get(&due.session)?;
        if due.change == Change::Archive && row.archived_at.is_some() {
            return None;
        }
        Some(OverdueSession {
            tenant: due.tenant.to_string(),
            session: Some(to_proto(row, &Perspective::default())),
            change: crate::lifecycle::change_to_proto(due.change).into(),
            reason: "its time is over".to_owned(),
            enforced: due.enforced,
        })
    }

    fn commit(
        &mut self,
        request: &CommitLifecycleRequest,
    ) -> Result<CommitLifecycleResponse, RpcError> {
        if let Some(answer) = self.answers.get(&request.change_id) {
            return Ok(answer.clone());
        }
        let session = key(&request.session_key);
        let Some(row) = self.rows.get(&session).cloned() else {
            let message = format!("No session found: {session}");
            return Err(RpcError::new(Reason::SessionNotFound, message));
        };
        let epoch = wire::numbers::to_i64(row.work_epoch);
        if row.session_id.as_str() != request.expected_session_id
            || epoch != request.expected_work_epoch
        {
            return Err(RpcError::new(Reason::Stale, "changed before the commit"));
        }
        let changed = match request.change() {
            LifecycleChange::Reset => Some(row.next_generation(self.next_id(&session), START)),
            LifecycleChange::Archive => Some(row.archive(START)),
            LifecycleChange::Restore => Some(row.restore()),
            LifecycleChange::Delete => {
                assert!(!request.archived_only || row.archived_at.is_some());
                self.gone.insert(session.clone(), row);
                self.rows.remove(&session);
                None
            },
            LifecycleChange::Unspecified => panic!("{request:?}"),
        };
        let changed = changed.map(|row| Session {
            row_version: row.row_version + 1,
            label: label(request).or_else(|| row.label.clone()),
            ..row
        });
        let answer = CommitLifecycleResponse {
            session: changed
                .as_ref()
                .map(|row| to_proto(row, &Perspective::default())),
        };
        self.rows.extend(changed.map(|row| (session, row)));
        self.answers
            .insert(request.change_id.clone(), answer.clone());
        Ok(answer)
    }
}

/// The label that a request sets, the one field that this registry knows how to set.
fn label(request: &CommitLifecycleRequest) -> Option<Label> {
    let label = request.patch.as_ref()?.label.as_deref()?;
    Some(Label::parse(label).unwrap())
}
