//! What every store of the runner must do; run on each kind of database.
//!
//! A crash between two calls is a store that is opened again on what the first one left.

mod conversation;
mod fences;
mod lists;
mod notices;
mod queue;
mod work;

use std::sync::Arc;

use confab_flow::exchange::{ExchangeKind, Terms};
use confab_model::channel::Route;
use confab_model::clock::Timestamp;
use confab_model::flow::{DeliveryMode, DeliveryStatus, Flow, FlowState};
use confab_model::id::{ChainId, FlowId, IdempotencyKey, Ids, RunId, SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::run::{Outcome, RunError, RunState};
use confab_store::ids::SequentialIds;

use crate::store::{
    KeyUse, Lease, NewFlow, Opened, QueuedSession, RunResult, RunnerStore, StoredRun,
};

pub(crate) use conversation::*;
pub(crate) use fences::*;
pub(crate) use lists::*;
pub(crate) use notices::*;
pub(crate) use queue::*;
pub(crate) use work::*;

/// A kind of database.
pub(crate) trait Backend {
    /// Its store.
    type Store: RunnerStore;

    /// Opens the store, or opens it again: nothing of an earlier opening is closed in order.
    async fn open(&self, ids: Arc<dyn Ids>) -> Self::Store;
}

/// Runs every case on a database of its own, made by `$make`.
macro_rules! suite {
    ($make:expr) => {
        crate::store::conformance::suite!($make;
            a_flow_is_accepted_whole_and_claimed_once,
            people_go_first_then_the_order_of_acceptance,
            a_session_is_held_by_one_run_until_it_is_freed,
            sessions_do_not_wait_for_one_another,
            a_full_queue_takes_no_more,
            a_key_answers_with_the_first_run_and_refuses_other_content,
            a_key_belongs_to_its_owner_and_its_tenant,
            a_key_is_forgotten_when_its_time_is_over,
            an_older_lease_writes_nothing,
            a_renewed_lease_is_not_lost,
            a_run_that_was_begun_too_often_is_given_back_to_be_ended,
            a_run_keeps_the_first_generation_it_found,
            the_ordinal_counts_runs_and_not_attempts,
            a_rule_is_hit_by_runs_and_not_by_attempts,
            what_a_run_said_and_called_is_kept,
            what_the_registry_must_be_told_is_kept_in_order_until_it_was,
            a_conversation_is_the_same_whatever_crashes_between_its_steps,
            a_delivery_is_settled_once,
            a_delivery_that_was_left_alone_comes_back_at_the_next_start,
            what_was_left_alone_can_be_made_due_and_an_attempt_under_way_goes_on,
            an_attempt_begins_when_it_is_due_and_once,
            a_fenced_session_gives_and_takes_nothing_until_the_fence_is_lifted,
            a_fence_waits_for_live_work_and_for_what_is_owed,
            a_forced_fence_names_the_runs_to_be_ended,
            one_change_of_a_session_is_under_way_at_a_time,
            what_was_admitted_before_a_change_comes_too_late_after_it,
            a_change_takes_its_key_and_answers_it_when_it_is_over,
            a_key_of_a_change_that_did_not_happen_is_unused,
            pages_of_runs_show_every_row_once,
            pages_of_flows_show_every_row_once,
            pages_of_deliveries_show_every_row_once,
            records_of_another_tenant_are_not_there,
            a_run_takes_every_notice_of_its_session_when_it_begins,
            a_repeated_attempt_keeps_exactly_its_own_notices,
            a_notice_is_owed_from_its_run_until_it_was_acknowledged,
            a_notice_that_comes_again_changes_nothing,
            a_watcher_is_woken_once_and_only_where_no_run_will_show_the_notice,
            a_wake_whose_run_ended_before_it_began_is_not_repeated,
        );
    };
    ($make:expr; $($case:ident),+ $(,)?) => {
        $(#[tokio::test]
        async fn $case() {
            crate::store::conformance::$case(&$make).await;
        })+
    };
}

pub(crate) use suite;

/// The moment `seconds` into a test.
fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000).plus_millis(seconds * 1000)
}

fn key(text: &str) -> SessionKey {
    SessionKey::parse(text).unwrap()
}

fn tenant() -> TenantId {
    TenantId::default()
}

fn queued(session: &str) -> QueuedSession {
    QueuedSession {
        tenant: tenant(),
        session_key: key(session),
    }
}

fn lease(seconds: i64) -> Lease {
    Lease {
        now: at(seconds),
        until: at(seconds + 15),
    }
}

fn route() -> Route {
    Route {
        channel: "discord".to_owned(),
        to: "group:1".to_owned(),
        account_id: Some("kev".to_owned()),
        thread_id: None,
    }
}

fn said(text: &str) -> RunResult {
    let outcome = Outcome::Replied {
        text: text.to_owned(),
        model: None,
        usage: None,
    };
    RunResult {
        outcome,
        trace: Vec::new(),
    }
}

fn broken(class: &str) -> RunResult {
    let error = RunError {
        class: class.to_owned(),
        message: "on purpose".to_owned(),
    };
    let outcome = Outcome::Failed {
        state: RunState::Failed,
        error,
    };
    RunResult {
        outcome,
        trace: Vec::new(),
    }
}

/// A store that is opened again whenever a case wants it.
struct Bench<'b, B: Backend> {
    backend: &'b B,
    ids: Arc<SequentialIds>,
    store: B::Store,
}

impl<'b, B: Backend> Bench<'b, B> {
    async fn new(backend: &'b B) -> Self {
        let ids = Arc::new(SequentialIds::new());
        let store = backend.open(Arc::<SequentialIds>::clone(&ids)).await;
        Self {
            backend,
            ids,
            store,
        }
    }

    async fn crash(&mut self) {
        self.store = self
            .backend
            .open(Arc::<SequentialIds>::clone(&self.ids))
            .await;
    }

    fn human(&self, target: &str, created_at: Timestamp) -> NewFlow {
        let terms = terms(ExchangeKind::Human, None, target);
        NewFlow {
            urgent: true,
            ..self.flow(terms, created_at)
        }
    }

    fn send(&self, requester: &str, target: &str, created_at: Timestamp) -> NewFlow {
        self.flow(
            terms(ExchangeKind::Send, Some(requester), target),
            created_at,
        )
    }

    fn flow(&self, terms: Terms, created_at: Timestamp) -> NewFlow {
        NewFlow {
            tenant: tenant(),
            key: None,
            flow: Flow {
                id: FlowId::from_uuid(self.ids.next()),
                kind: terms.kind.flow_kind(),
                requester: terms.requester.clone(),
                started_by_channel: None,
                target: terms.target.clone(),
                route: terms.route.clone(),
                mode: DeliveryMode::Announce,
                chain_id: ChainId::from_uuid(self.ids.next()),
                hop: 0,
                created_at,
                state: FlowState::Primary,
                turns: 0,
                stop_reason: None,
                last_speaker: None,
                delivery: DeliveryStatus::Pending,
                ended_at: None,
            },
            session_id: SessionId::parse("generation 1").unwrap(),
            model: None,
            work_epoch: 0,
            terms,
            parent_run_id: None,
            urgent: false,
            queue_max: 1000,
            run_id: RunId::from_uuid(self.ids.next()),
            inbound_route: None,
            trace_parent: None,
        }
    }

    async fn accept(&self, flow: &NewFlow) -> RunId {
        match self.store.open_flow(flow.clone()).await.unwrap() {
            Opened::Fresh(run) => run,
            Opened::Repeated(run) => panic!("{run} was accepted before"),
        }
    }

    /// Claims the next run of a session, if it has one to give.
    async fn claim(&self, session: &str, seconds: i64) -> Option<StoredRun> {
        let claimed = self
            .store
            .claim(vec![queued(session)], lease(seconds))
            .await
            .unwrap();
        assert!(claimed.len() <= 1, "one session gives one run");
        claimed.into_iter().next().map(|claimed| claimed.0)
    }

    /// Claims the next run of a session, ends it and frees the session.
    async fn run(&self, session: &str, seconds: i64, result: RunResult) -> StoredRun {
        let claimed = self.claim(session, seconds).await.unwrap();
        let (run, epoch) = (&claimed.run.id, claimed.lease_epoch);
        assert!(
            self.store
                .end_run(run, epoch, result, at(seconds))
                .await
                .unwrap()
        );
        self.store.release_session(run, epoch).await.unwrap();
        self.read(run).await
    }

    async fn read(&self, run: &RunId) -> StoredRun {
        self.store.run(&tenant(), run).await.unwrap().unwrap()
    }
}

fn terms(kind: ExchangeKind, requester: Option<&str>, target: &str) -> Terms {
    Terms {
        kind,
        requester: requester.map(key),
        requester_channel: None,
        target: key(target),
        target_channel: None,
        request: "please check the build".to_owned(),
        provenance: None,
        turns_max: 2,
        route: Some(route()),
        announce: kind == ExchangeKind::Send,
        kin: false,
    }
}

fn named(flow: &NewFlow, owner: &str, fingerprint: &str, expires_at: Timestamp) -> NewFlow {
    let key = KeyUse {
        owner: owner.to_owned(),
        key: IdempotencyKey::parse("k").unwrap(),
        fingerprint: fingerprint.to_owned(),
        expires_at,
    };
    NewFlow {
        key: Some(key),
        ..flow.clone()
    }
}
