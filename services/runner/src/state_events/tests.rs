use confab_model::clock::Timestamp;
use confab_model::id::{AgentId, ChainId, FlowId, RunId, TenantId};
use confab_model::key::SessionKey;
use confab_model::run::Lane;

use super::*;

fn child() -> SessionKey {
    SessionKey::parse("agent:main:subagent:1").unwrap()
}

fn run(step: Step, state: RunState) -> Run {
    let id = "r".to_owned();
    Run {
        id: RunId::parse(id.clone()).unwrap(),
        session_key: child(),
        session_id: None,
        agent_id: AgentId::normalise("main"),
        step,
        turn: 0,
        lane: Lane::Subagent,
        state,
        input: String::new(),
        prompt: String::new(),
        notices: Vec::new(),
        provenance: None,
        reply: None,
        error: None,
        flow_id: FlowId::parse(id.clone()).unwrap(),
        parent_run_id: None,
        chain_id: ChainId::parse(id).unwrap(),
        hop: 0,
        attempts: 1,
        ordinal: 1,
        model: None,
        usage: None,
        created_at: Timestamp::default(),
        started_at: None,
        ended_at: None,
    }
}

/// The record of an event in the run `r`.
fn record(event: Option<StateEvent>) -> Activity {
    Activity {
        tenant: TenantId::default(),
        session_key: child(),
        run_id: RunId::parse("r").unwrap(),
        state: RunState::Succeeded,
        occurred_at: Timestamp::from_millis(5),
        started_at: None,
        ended_at: None,
        model: None,
        total_tokens: None,
        usage: None,
        inbound_route: None,
        event,
    }
}

#[test]
fn the_end_of_a_childs_work_is_told_as_what_it_was() {
    // reg:W10
    let completed = StateEventKind::RunCompleted;
    let failed = StateEventKind::RunFailed;
    let ends = [
        (RunState::Queued, None),
        (RunState::Running, None),
        (RunState::Waiting, None),
        (RunState::Succeeded, Some((completed, None))),
        (RunState::Failed, Some((failed, Some("error")))),
        (RunState::Interrupted, Some((failed, Some("error")))),
        (RunState::TimedOut, Some((failed, Some("timeout")))),
        (RunState::Cancelled, Some((failed, Some("cancelled")))),
        (RunState::Killed, Some((failed, Some("cancelled")))),
    ];
    for (state, told) in ends {
        let event = to_proto(&record(StateEvent::of_run(&run(Step::Task, state))));
        let wanted = told.map(|(kind, detail)| StateEventRecord {
            tenant: "default".to_owned(),
            session_key: "agent:main:subagent:1".to_owned(),
            kind: kind.into(),
            actor_type: ActorType::System.into(),
            actor_id: None,
            run_id: Some("r".to_owned()),
            occurred_at: Some(wire::time::to_proto(Timestamp::from_millis(5))),
            dedupe_key: Some("run-terminal:r".to_owned()),
            detail: detail.map(str::to_owned),
        });
        assert_eq!(event, wanted, "{state:?}");
        for step in Step::ALL.into_iter().filter(|step| *step != Step::Task) {
            assert_eq!(StateEvent::of_run(&run(step, state)), None, "{step:?}");
        }
    }
}

#[test]
fn a_person_acts_by_provenance() {
    // reg:W7, reg:W8
    let provenance = |kind| Provenance {
        kind,
        source_session_key: None,
        source_channel: Some("discord".to_owned()),
        source_tool: None,
        sender: None,
    };
    let by = |kind, provenance: Option<Provenance>| {
        let terms = Terms {
            kind,
            provenance,
            ..Terms::notice(child(), None)
        };
        StateEvent::of_accepted(&terms)
    };
    let wrote = |channel: Option<&str>| {
        Some(StateEvent::HumanMessage {
            channel: channel.map(str::to_owned),
        })
    };
    let person = Some(provenance(ProvenanceKind::ExternalUser));
    assert_eq!(
        by(ExchangeKind::Human, person.clone()),
        wrote(Some("discord"))
    );
    assert_eq!(by(ExchangeKind::Human, None), wrote(None));
    for kind in [ProvenanceKind::InterSession, ProvenanceKind::InternalSystem] {
        assert_eq!(by(ExchangeKind::Human, Some(provenance(kind))), None);
    }
    for kind in [ExchangeKind::Send, ExchangeKind::Notice] {
        assert_eq!(by(kind, person.clone()), None, "{kind:?}");
    }
}

#[test]
fn a_channel_that_is_too_long_for_a_summary_is_left_unsaid() {
    for (bytes, said) in [(0, false), (1, true), (64, true), (65, false)] {
        let channel = Some("c".repeat(bytes));
        let event = StateEvent::HumanMessage {
            channel: channel.clone(),
        };
        let told = to_proto(&record(Some(event))).unwrap();
        assert_eq!(told.detail, channel.filter(|_| said), "{bytes}");
    }
}

#[test]
fn a_record_of_an_earlier_version_is_read() {
    let mut written = serde_json::to_value(record(None)).unwrap();
    for field in ["event", "usage"] {
        written.as_object_mut().unwrap().remove(field).unwrap();
    }
    let read: Activity = serde_json::from_value(written).unwrap();
    assert_eq!(read, record(None));
    let event = Some(StateEvent::TaskFailed {
        failure: TaskFailure::Timeout,
    });
    let written = serde_json::to_value(record(event.clone())).unwrap();
    let read: Activity = serde_json::from_value(written).unwrap();
    assert_eq!(read, record(event));
}
