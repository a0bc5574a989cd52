//! State awareness through the calls, by the vectors and at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use confab_model::id::TenantId;
use confab_proto::registry::v1 as proto;
use confab_proto::registry::v1::registry_service_server::RegistryService as _;
use confab_proto::types::v1::SessionTarget;
use confab_rpc::error::Reason;
use confab_vectors::WATCH;
use futures::future::join_all;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{EventKind, Notice};
use crate::commands::RecordActivity;
use crate::store::{AwarenessStore as _, Batch, Registered, RegistryStore as _};
use crate::testing::{House, agent, answered, asked, change_of, named, operator, service};

const AGENTS: &str = r#"{
    agents: { list: [{ id: "main", default: true }, { id: "ops" }] },
}"#;

/// A session beside those of a case, whose events bring the log to where the case begins.
const ELSEWHERE: &str = "agent:ops:elsewhere";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Given {
    start_sequence: usize,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "camelCase", deny_unknown_fields)]
enum Step {
    #[serde(rename_all = "camelCase")]
    Event {
        target: String,
        kind: String,
        actor: String,
        dedupe_key: Option<String>,
    },
    Watch {
        watcher: String,
        target: String,
    },
    Drain {
        watcher: String,
    },
    #[serde(rename_all = "camelCase")]
    Status {
        target: String,
        changes_since: Option<i64>,
    },
    Reset {
        session: String,
    },
    Restart,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Out {
    steps: Vec<Map<String, Value>>,
}

impl Step {
    fn spawned(&self) -> Option<&str> {
        match self {
            Self::Event { target, kind, .. } if kind == "child_spawned" => Some(target),
            Self::Event { .. }
            | Self::Watch { .. }
            | Self::Drain { .. }
            | Self::Status { .. }
            | Self::Reset { .. }
            | Self::Restart => None,
        }
    }

    /// The sessions that a step speaks of.
    fn sessions(&self) -> Vec<&str> {
        match self {
            Self::Event { target, actor, .. } => vec![target, actor],
            Self::Watch { watcher, target } => vec![watcher, target],
            Self::Status { target, .. } => vec![target],
            Self::Reset { session } => vec![session],
            Self::Drain { .. } | Self::Restart => Vec::new(),
        }
    }
}

/// A case in progress.
struct Play {
    house: House,
    /// The number of the last notice that was seen to be owed.
    notice: u64,
}

impl Play {
    async fn begin(given: &Given) -> Self {
        let house = House::with(AGENTS).await;
        house.made(ELSEWHERE).await;
        let spawned: BTreeSet<&str> = given.steps.iter().filter_map(Step::spawned).collect();
        let spoken_of: BTreeSet<&str> = given.steps.iter().flat_map(Step::sessions).collect();
        for key in spoken_of.difference(&spawned) {
            if key.starts_with("agent:") {
                house.made(key).await;
            }
        }
        let play = Self { house, notice: 0 };
        for _ in 0..given.start_sequence {
            play.record(ELSEWHERE, "compacted", "system", None).await;
        }
        play
    }

    async fn take(&mut self, step: &Step) -> Value {
        match step {
            Step::Event {
                target,
                kind,
                actor,
                ..
            } if kind == "child_spawned" => self.spawn(target, actor).await,
            Step::Event {
                target,
                kind,
                actor,
                dedupe_key,
            } => {
                let sequence = self
                    .record(target, kind, actor, dedupe_key.as_deref())
                    .await;
                json!({ "sequence": sequence, "newNoticesFor": self.newly_owed().await })
            },
            Step::Watch { watcher, target } => {
                json!({ "watched": watched(&self.house, watcher, target).await })
            },
            Step::Drain { watcher } => json!({ "lines": drained(&self.house, watcher).await }),
            Step::Status {
                target,
                changes_since,
            } => self.status(target, changes_since.unwrap_or_default()).await,
            Step::Reset { session } => self.reset(session).await,
            Step::Restart => json!({}),
        }
    }

    /// The creation of a spawned session records the spawn by itself.
    async fn spawn(&mut self, target: &str, actor: &str) -> Value {
        let request = proto::CreateSessionRequest {
            spawned_by: Some(actor.to_owned()),
            ..named(target)
        };
        let made = self.house.create(request).await.unwrap();
        json!({
            "sequence": made.session.state_version,
            "newNoticesFor": self.newly_owed().await,
        })
    }

    async fn record(
        &self,
        target: &str,
        kind: &str,
        actor: &str,
        dedupe_key: Option<&str>,
    ) -> Option<u64> {
        let wire = proto::StateEventRecord {
            dedupe_key: dedupe_key.map(str::to_owned),
            ..event(target, kind, actor)
        };
        let request = RecordActivity::parse(recording(vec![wire])).unwrap();
        assert_eq!(request.faults, []);
        let batch = Batch {
            activities: request.activities,
            events: request.events,
            now: self.house.sessions.clock.now(),
        };
        let recorded = self.house.sessions.store.record(batch).await.unwrap();
        match recorded.events.as_slice() {
            [Registered::New(sequence) | Registered::Repeated(sequence)] => Some(*sequence),
            [Registered::Unwanted] => None,
            other => panic!("{other:?}"),
        }
    }

    async fn newly_owed(&mut self) -> Vec<String> {
        let fresh = self.house.sessions.store.owed(self.notice, 100).await;
        let fresh = fresh.unwrap();
        self.notice = fresh.last().map_or(self.notice, |last| last.number);
        let watchers = fresh.iter().map(|notice| notice.id.watcher.to_string());
        watchers.collect::<BTreeSet<_>>().into_iter().collect()
    }

    async fn status(&self, target: &str, since: i64) -> Value {
        let changes = listed(&self.house, target, since).await;
        let sequences: Vec<i64> = changes.events.iter().map(|event| event.sequence).collect();
        json!({
            "stateVersion": self.house.row(target).await.unwrap().state_version,
            "sequences": sequences,
            "historyGap": changes.history_gap,
            "truncated": changes.truncated,
        })
    }

    async fn reset(&self, session: &str) -> Value {
        let row = self.house.row(session).await.unwrap();
        let request = change_of(&row, proto::LifecycleChange::Reset, "reset-1");
        self.house.commit(request).await.unwrap();
        json!({})
    }
}

fn event(target: &str, kind: &str, actor: &str) -> proto::StateEventRecord {
    let kind = EventKind::ALL
        .into_iter()
        .find(|known| known.as_str() == kind)
        .unwrap();
    let (actor_type, actor_id) = match actor {
        "human" => (proto::ActorType::Human, None),
        "system" => (proto::ActorType::System, None),
        key => (proto::ActorType::Agent, Some(key.to_owned())),
    };
    proto::StateEventRecord {
        tenant: "default".to_owned(),
        session_key: target.to_owned(),
        kind: confab_rpc::wire::enums::Numbered::number(kind),
        actor_type: actor_type.into(),
        actor_id,
        ..Default::default()
    }
}

fn recording(events: Vec<proto::StateEventRecord>) -> proto::RecordActivityRequest {
    proto::RecordActivityRequest {
        events,
        ..Default::default()
    }
}

async fn happen(house: &House, events: Vec<proto::StateEventRecord>) {
    let request = asked(service(), recording(events));
    answered(house.api.record_activity(request).await).unwrap();
}

async fn watched(house: &House, watcher: &str, target: &str) -> bool {
    let request = proto::WatchTargetRequest {
        watcher_key: watcher.to_owned(),
        target_key: target.to_owned(),
    };
    let answer = house.api.watch_target(asked(service(), request)).await;
    answered(answer).unwrap().watched
}

async fn listed(house: &House, target: &str, since: i64) -> proto::StateChanges {
    let target = SessionTarget {
        session_key: Some(target.to_owned()),
        ..Default::default()
    };
    let request = proto::ListStateEventsRequest {
        target: Some(target),
        after_sequence: since,
        limit: None,
    };
    let answer = house
        .api
        .list_state_events(asked(operator(), request))
        .await;
    answered(answer).unwrap().changes.unwrap()
}

async fn owed(house: &House, watcher: &str) -> Vec<Notice> {
    let mut owed = house.sessions.store.owed(0, 1_000).await.unwrap();
    owed.retain(|notice| notice.id.watcher.as_str() == watcher);
    owed
}

/// The watcher's next run takes the notices it is owed.
async fn drained(house: &House, watcher: &str) -> Vec<String> {
    let owed = owed(house, watcher).await;
    let request = proto::AckNoticesRequest {
        notice_ids: owed.iter().map(|notice| notice.id.token()).collect(),
    };
    let answer = house.api.ack_notices(asked(service(), request)).await;
    answered(answer).unwrap();
    let lines: BTreeSet<String> = owed.into_iter().map(|notice| notice.text).collect();
    lines.into_iter().collect()
}

/// Lists of a vector are sets.
fn sorted(value: &Value) -> Value {
    let Value::Array(list) = value else {
        return value.clone();
    };
    let mut list = list.clone();
    list.sort_by_key(ToString::to_string);
    Value::Array(list)
}

#[tokio::test]
async fn watchers_are_told_as_the_vectors_say() {
    for case in WATCH.cases::<Given, Out>().unwrap() {
        let mut play = Play::begin(&case.given).await;
        assert_eq!(case.given.steps.len(), case.out.steps.len(), "{}", case.id);
        for (index, (step, expected)) in case.given.steps.iter().zip(&case.out.steps).enumerate() {
            if matches!(step, Step::Restart) {
                play.house = play.house.reopened().await;
            }
            let actual = play.take(step).await;
            for (field, pinned) in expected {
                let told = actual.get(field).unwrap_or(&Value::Null);
                assert_eq!(
                    sorted(told),
                    sorted(pinned),
                    "{} ({}), step {index}, {field}: {:?}",
                    case.id,
                    case.why,
                    case.facts
                );
            }
        }
    }
}

#[tokio::test]
async fn an_event_that_is_malformed_loses_no_other() {
    let house = House::with(AGENTS).await;
    house.made("agent:main:main").await;
    let good = || event("agent:main:main", "compacted", "system");
    let bad = [
        proto::StateEventRecord {
            session_key: "agent::x".to_owned(),
            ..good()
        },
        proto::StateEventRecord { kind: 99, ..good() },
        proto::StateEventRecord {
            detail: Some("x".repeat(65)),
            ..good()
        },
        event("agent:main:main", "run_failed", "system"),
        event("agent:main:main", "goal_changed", "no key"),
        event("agent:main:gone", "compacted", "system"),
    ];
    let mut events = vec![good()];
    events.extend(bad);
    events.push(good());
    happen(&house, events).await;
    let changes = listed(&house, "agent:main:main", 0).await;
    let sequences: Vec<i64> = changes.events.iter().map(|event| event.sequence).collect();
    assert_eq!(sequences, [1, 2], "reg:W6");
}

#[tokio::test]
async fn an_event_is_told_with_all_that_was_recorded_of_it() {
    let house = House::with(AGENTS).await;
    let row = house.made("agent:main:main").await;
    let failed = proto::StateEventRecord {
        run_id: Some("r-1".to_owned()),
        detail: Some("timeout".to_owned()),
        occurred_at: Some(prost_types::Timestamp {
            seconds: 1,
            nanos: 0,
        }),
        ..event("agent:main:main", "run_failed", "agent:ops:main")
    };
    happen(&house, vec![failed]).await;
    let told = listed(&house, "agent:main:main", 0)
        .await
        .events
        .pop()
        .unwrap();
    assert_eq!(
        told,
        proto::StateEvent {
            sequence: 1,
            session_key: "agent:main:main".to_owned(),
            session_id: Some(row.session_id.to_string()),
            kind: "run_failed".to_owned(),
            actor_type: "agent".to_owned(),
            actor_id: Some("agent:ops:main".to_owned()),
            run_id: Some("r-1".to_owned()),
            // A day before it was recorded (reg:W4).
            occurred_at: Some(prost_types::Timestamp {
                seconds: 1_700_000_000 - 86_400,
                nanos: 0,
            }),
            summary: "child run timed out".to_owned(),
            outcome: Some("timeout".to_owned()),
        },
        "reg:W2, reg:W4, reg:W10"
    );
}

#[tokio::test]
async fn a_parent_that_was_reset_is_made_a_watcher_again_by_a_goal_and_by_no_message() {
    let house = House::with(AGENTS).await;
    house.made("agent:main:main").await;
    let child = "agent:main:subagent:c1";
    let request = proto::CreateSessionRequest {
        spawned_by: Some("agent:main:main".to_owned()),
        ..named(child)
    };
    house.create(request).await.unwrap();
    let parent = house.row("agent:main:main").await.unwrap();
    let reset = change_of(&parent, proto::LifecycleChange::Reset, "reset-1");
    house.commit(reset).await.unwrap();

    happen(&house, vec![event(child, "human_direct_message", "human")]).await;
    assert_eq!(owed(&house, "agent:main:main").await, [], "D57");
    let own = event(child, "goal_changed", "agent:main:main");
    happen(&house, vec![own]).await;
    assert_eq!(owed(&house, "agent:main:main").await, [], "reg:W18");
    happen(&house, vec![event(child, "goal_changed", "system")]).await;
    let owed = owed(&house, "agent:main:main").await;
    assert!(
        matches!(owed.as_slice(), [notice] if notice.text.ends_with("changesSince 0.")),
        "reg:W9, reg:W17: {owed:?}"
    );
}

#[tokio::test]
async fn a_deleted_session_takes_its_log_its_version_and_its_watchers_along() {
    let house = House::with(AGENTS).await;
    let target = "agent:ops:desk";
    house.made(target).await;
    house.made("agent:main:main").await;
    watched(&house, "agent:main:main", target).await;
    watched(&house, target, "agent:main:main").await;
    let all = [
        event(target, "goal_changed", "system"),
        event("agent:main:main", "goal_changed", "system"),
    ];
    happen(&house, all.to_vec()).await;
    assert_eq!(owed(&house, target).await.len(), 1);
    let row = house.row(target).await.unwrap();
    let delete = change_of(&row, proto::LifecycleChange::Delete, "delete-1");
    house.commit(delete).await.unwrap();
    assert_eq!(owed(&house, target).await, [], "reg:C11");
    assert_eq!(owed(&house, "agent:main:main").await, [], "reg:C11");

    assert_eq!(house.made(target).await.state_version, 0, "reg:W30");
    let changes = listed(&house, target, 0).await;
    assert_eq!(changes, proto::StateChanges::default(), "reg:W30");
    happen(&house, vec![event(target, "goal_changed", "system")]).await;
    assert_eq!(house.row(target).await.unwrap().state_version, 3);
    assert_eq!(owed(&house, "agent:main:main").await, [], "reg:W30");
}

#[tokio::test]
async fn who_cannot_watch_is_told_so() {
    let house = House::with(AGENTS).await;
    house.made("agent:ops:main").await;
    for (watcher, target, watches) in [
        ("agent:main:main", "agent:ops:main", true),
        ("agent:ops:main", "agent:ops:main", false),
        ("agent:main:desk", "agent:ops:main", false),
        ("agent:main:main", "agent:ops:gone", false),
        ("global", "agent:ops:main", false),
    ] {
        assert_eq!(
            watched(&house, watcher, target).await,
            watches,
            "D51, reg:W13, reg:W15: {watcher} {target}"
        );
    }
}

#[tokio::test]
async fn a_session_that_may_not_be_seen_tells_no_events() {
    let house = House::with(AGENTS).await;
    house.made("agent:ops:main").await;
    let request = proto::ListStateEventsRequest {
        target: Some(SessionTarget {
            session_key: Some("agent:ops:main".to_owned()),
            ..Default::default()
        }),
        ..Default::default()
    };
    let answer = house
        .api
        .list_state_events(asked(agent("agent:main:main"), request.clone()));
    let refused = answered(answer.await).unwrap_err();
    assert_eq!(refused.reason, Reason::Visibility, "D11");
    let below = proto::ListStateEventsRequest {
        after_sequence: -1,
        limit: Some(-1),
        ..request
    };
    let answer = house.api.list_state_events(asked(operator(), below)).await;
    let refused = answered(answer).unwrap_err();
    let fields: Vec<&str> = refused.violations.iter().map(|one| &*one.field).collect();
    assert_eq!(fields, ["afterSequence", "limit"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_events_at_once_give_exact_versions_and_notices() {
    const TASKS: usize = 50;
    const EACH: usize = 20;
    let house = Arc::new(House::with(AGENTS).await);
    let targets = ["agent:ops:a", "agent:ops:b"];
    for target in targets {
        house.made(target).await;
        watched(&house, "agent:main:main", target).await;
    }
    let tasks = (0..TASKS).map(|task| {
        let (house, target) = (Arc::clone(&house), targets[task % 2]);
        async move {
            for _ in 0..EACH {
                happen(&house, vec![event(target, "goal_changed", "system")]).await;
            }
        }
    });
    join_all(tasks).await;

    let mut all = Vec::new();
    for target in targets {
        let mut told = Vec::new();
        loop {
            let after = told.last().copied().unwrap_or_default();
            let page = listed(&house, target, after).await;
            told.extend(page.events.iter().map(|event| event.sequence));
            if !page.truncated {
                break;
            }
        }
        assert_eq!(told.len(), TASKS * EACH / 2);
        let version = house.row(target).await.unwrap().state_version;
        assert_eq!(told.last().copied(), i64::try_from(version).ok(), "reg:W1");
        all.extend(told);
    }
    all.sort_unstable();
    let expected: Vec<i64> = (1..=1_000).collect();
    assert_eq!(all, expected, "reg:W1");

    // One notice for each target; after it, one about what came since; then none.
    for (since, lines) in [("0", 2), ("", 2), ("", 0)] {
        let told = drained(&house, "agent:main:main").await;
        assert_eq!(told.len(), lines, "reg:W20, reg:W22: {told:?}");
        let begins = format!("changesSince {since}");
        assert!(told.iter().all(|line| line.contains(&begins)), "{told:?}");
    }
    let present = house.sessions.store.present(&TenantId::default()).await;
    // Each row was written once, and changed once for each event.
    assert_eq!(present.unwrap().head, 1_002);
}
