//! Arbitrary records of the model, for round trips.

use confab_model::channel::{ChatType, Route};
use confab_model::clock::Timestamp;
use confab_model::delivery::{Delivery, DeliveryState};
use confab_model::flow::{
    DeliveryMode, DeliveryStatus, Flow, FlowKind, FlowState, Party, StopReason,
};
use confab_model::id::{
    AgentId, ChainId, DeliveryId, FlowId, MessageId, RunId, SessionId, TenantId,
};
use confab_model::key::SessionKey;
use confab_model::message::{
    Block, Compaction, Message, NewMessage, Provenance, ProvenanceKind, Role, Usage,
};
use confab_model::run::{Lane, Run, RunError, RunState, Step};
use confab_model::session::levels::{
    ElevatedLevel, ExecAsk, ExecHost, ExecSecurity, FastMode, GroupActivation, ReasoningLevel,
    ResponseUsage, SpawnMode, SubagentControlScope, SubagentRole, ThinkingLevel, TraceLevel,
    VerboseLevel,
};
use confab_model::session::{Label, LastRun, Origin, SendAction, Session, Spawn, Tuning};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value};

use crate::caller::{Caller, Identity};
use crate::error::{Reason, RpcError, Violation};
use crate::gate::{About, Action, Among, Answer, Question, Reach, Scope, ScopeNote, Target};

fn text() -> impl Strategy<Value = String> {
    any::<String>()
}

fn id() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9:._-]{1,40}"
}

fn key() -> impl Strategy<Value = SessionKey> {
    let full = "agent:[a-z0-9_]([a-z0-9_-]{0,7}[a-z0-9_])?:(main|cron:[a-z]{1,4}|discord:group:[0-9]{1,6}\
                |subagent:[a-f0-9]{8}|matrix:channel:![A-Z]{1,4})";
    prop_oneof![
        1 => Just(SessionKey::global()),
        9 => full.prop_map(|raw| SessionKey::parse(&raw).unwrap()),
    ]
}

fn agent() -> impl Strategy<Value = AgentId> {
    "[a-z0-9_]([a-z0-9_-]{0,7}[a-z0-9_])?".prop_map(|raw| AgentId::normalise(&raw))
}

fn moment() -> impl Strategy<Value = Timestamp> {
    any::<i64>().prop_map(Timestamp::from_millis)
}

fn count() -> impl Strategy<Value = u64> {
    0..=i64::MAX.unsigned_abs()
}

fn small() -> impl Strategy<Value = u32> {
    0..=i32::MAX.unsigned_abs()
}

fn usage() -> impl Strategy<Value = Usage> {
    (count(), count()).prop_map(|(input, output)| Usage { input, output })
}

fn compaction() -> impl Strategy<Value = Compaction> {
    (text(), of(count()), of(count())).prop_map(|(summary, first_kept_seq, tokens_before)| {
        Compaction {
            summary,
            first_kept_seq,
            tokens_before,
        }
    })
}

fn route() -> impl Strategy<Value = Route> {
    ("[a-z]{1,8}", "[a-zA-Z0-9:]{1,12}", of(id()), of(id())).prop_map(
        |(channel, to, account_id, thread_id)| Route {
            channel,
            to,
            account_id,
            thread_id,
        },
    )
}

fn provenance() -> impl Strategy<Value = Provenance> {
    let kind = select(vec![
        ProvenanceKind::ExternalUser,
        ProvenanceKind::InterSession,
        ProvenanceKind::InternalSystem,
    ]);
    (kind, of(key()), of(id()), of(id()), of(text())).prop_map(
        |(kind, source_session_key, source_channel, source_tool, sender)| Provenance {
            kind,
            source_session_key,
            source_channel,
            source_tool,
            sender,
        },
    )
}

/// Objects that survive a Struct: whole numbers up to 2^53 and floats with a fraction.
fn object() -> impl Strategy<Value = Map<String, Value>> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-(1_i64 << 53)..=(1_i64 << 53)).prop_map(Value::from),
        proptest::num::f64::NORMAL
            .prop_filter("whole floats become integers", |number| number.fract()
                != 0.0)
            .prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((text(), inner), 0..4).prop_map(|fields| Value::Object(Map::from_iter(fields))),
        ]
    });
    vec((text(), value), 0..4).prop_map(Map::from_iter)
}

fn block() -> impl Strategy<Value = Block> {
    prop_oneof![
        text().prop_map(Block::Text),
        text().prop_map(Block::Thinking),
        (id(), id(), object()).prop_map(|(id, name, arguments)| Block::ToolCall {
            id,
            name,
            arguments
        }),
        (id(), id(), count()).prop_map(|(mime_type, reference, bytes)| Block::Image {
            mime_type,
            reference,
            bytes
        }),
    ]
}

pub(super) fn new_message() -> impl Strategy<Value = NewMessage> {
    let role = select(vec![Role::User, Role::Assistant, Role::ToolResult]);
    let head = (
        id(),
        role,
        vec(block(), 0..4),
        of(provenance()),
        of(id()),
        of(text()),
    );
    let tail = (
        of(usage()),
        of(id()),
        of(id()),
        of(id()),
        any::<bool>(),
        of(moment()),
        of(compaction()),
    );
    (head, tail).prop_map(|(head, tail)| {
        let (key, role, blocks, provenance, run_id, model) = head;
        let (usage, stop_reason, tool_call_id, tool_name, is_error, at, compaction) = tail;
        NewMessage {
            key,
            role,
            blocks,
            provenance,
            run_id: run_id.map(|raw| RunId::parse(raw).unwrap()),
            model,
            usage,
            stop_reason,
            tool_call_id,
            tool_name,
            is_error,
            at,
            compaction,
        }
    })
}

pub(super) fn message() -> impl Strategy<Value = Message> {
    (id(), count(), moment(), new_message()).prop_map(|(id, seq, at, body)| Message {
        id: MessageId::parse(id).unwrap(),
        seq,
        at,
        body,
    })
}

pub(super) fn run() -> impl Strategy<Value = Run> {
    let lane = select(vec![Lane::Main, Lane::Nested, Lane::Subagent]);
    let state = select(RunState::ALL.to_vec());
    let error = of((id(), text()));
    let ids = (id(), key(), of(id()), agent(), id(), of(id()), id());
    let work = (
        select(Step::ALL.to_vec()),
        small(),
        lane,
        state,
        text(),
        (text(), vec(text(), 0..3)),
        of(provenance()),
    );
    let end = (
        of(text()),
        error,
        small(),
        small(),
        count(),
        of(id()),
        of(usage()),
    );
    let times = (moment(), of(moment()), of(moment()));
    (ids, work, end, times).prop_map(|(ids, work, end, times)| {
        let (id, session_key, session_id, agent_id, flow_id, parent_run_id, chain_id) = ids;
        let (step, turn, lane, state, input, (prompt, notices), provenance) = work;
        let (reply, error, hop, attempts, ordinal, model, usage) = end;
        Run {
            id: RunId::parse(id).unwrap(),
            session_key,
            session_id: session_id.map(|raw| SessionId::parse(raw).unwrap()),
            agent_id,
            step,
            turn,
            lane,
            state,
            input,
            prompt,
            notices,
            provenance,
            reply,
            error: error.map(|(class, message)| RunError { class, message }),
            flow_id: FlowId::parse(flow_id).unwrap(),
            parent_run_id: parent_run_id.map(|raw| RunId::parse(raw).unwrap()),
            chain_id: ChainId::parse(chain_id).unwrap(),
            hop,
            attempts,
            ordinal,
            model,
            usage,
            created_at: times.0,
            started_at: times.1,
            ended_at: times.2,
        }
    })
}

pub(super) fn flow() -> impl Strategy<Value = Flow> {
    let head = (id(), select(FlowKind::ALL), of(key()), key(), of(route()));
    let middle = (
        select(DeliveryMode::ALL),
        id(),
        small(),
        moment(),
        select(FlowState::ALL),
    );
    let party = select(vec![Party::Requester, Party::Target]);
    let tail = (
        small(),
        of(select(StopReason::ALL)),
        of(party),
        select(DeliveryStatus::ALL),
        of(moment()),
        of(text()),
    );
    (head, middle, tail).prop_map(|(head, middle, tail)| {
        let (id, kind, requester, target, route) = head;
        let (mode, chain_id, hop, created_at, state) = middle;
        let (turns, stop_reason, last_speaker, delivery, ended_at, started_by_channel) = tail;
        Flow {
            id: FlowId::parse(id).unwrap(),
            kind,
            requester,
            target,
            route,
            mode,
            chain_id: ChainId::parse(chain_id).unwrap(),
            hop,
            started_by_channel,
            created_at,
            state,
            turns,
            stop_reason,
            last_speaker,
            delivery,
            ended_at,
        }
    })
}

pub(super) fn delivery() -> impl Strategy<Value = Delivery> {
    let head = (id(), id(), id(), key(), route(), text());
    let tail = (
        select(DeliveryState::ALL.to_vec()),
        small(),
        of(moment()),
        of(text()),
        moment(),
        of(moment()),
    );
    (head, tail).prop_map(|(head, tail)| {
        let (id, flow_id, run_id, session_key, route, text) = head;
        let (state, attempts, next_attempt_at, last_error, created_at, ended_at) = tail;
        Delivery {
            id: DeliveryId::parse(id).unwrap(),
            flow_id: FlowId::parse(flow_id).unwrap(),
            run_id: RunId::parse(run_id).unwrap(),
            session_key,
            route,
            text,
            state,
            attempts,
            next_attempt_at,
            last_error,
            created_at,
            ended_at,
        }
    })
}

fn last_run() -> impl Strategy<Value = LastRun> {
    let state = select(RunState::ALL.to_vec());
    let head = (id(), state, of(moment()), of(moment()), of(text()));
    let tokens = (of(count()), of(count()), of(count()));
    (head, tokens).prop_map(|(head, tokens)| {
        let (run_id, state, started_at, ended_at, model) = head;
        let (total_tokens, input_tokens, output_tokens) = tokens;
        LastRun {
            run_id: RunId::parse(run_id).unwrap(),
            state,
            started_at,
            ended_at,
            model,
            total_tokens,
            input_tokens,
            output_tokens,
        }
    })
}

fn tuning() -> impl Strategy<Value = Tuning> {
    let levels = (
        of(text()),
        of(select(ThinkingLevel::ALL)),
        of(select(VerboseLevel::ALL)),
        of(select(TraceLevel::ALL)),
        (
            of(select(ReasoningLevel::ALL)),
            of(select(ResponseUsage::ALL)),
            of(select(ElevatedLevel::ALL)),
            of(select(FastMode::ALL)),
        ),
    );
    let rules = (
        of(select(ExecHost::ALL)),
        of(select(ExecSecurity::ALL)),
        of(select(ExecAsk::ALL)),
        of(text()),
        of(select(SendAction::ALL.to_vec())),
        of(select(GroupActivation::ALL)),
    );
    (levels, rules).prop_map(|(levels, rules)| {
        let (model, thinking_level, verbose_level, trace_level, more) = levels;
        let (reasoning_level, response_usage, elevated_level, fast_mode) = more;
        let (exec_host, exec_security, exec_ask, exec_node, send_policy, group_activation) = rules;
        Tuning {
            model,
            thinking_level,
            verbose_level,
            trace_level,
            reasoning_level,
            response_usage,
            elevated_level,
            fast_mode,
            exec_host,
            exec_security,
            exec_ask,
            exec_node,
            send_policy,
            group_activation,
        }
    })
}

fn spawn() -> impl Strategy<Value = Spawn> {
    let words = (
        of(small()),
        of(select(SpawnMode::ALL)),
        of(select(SubagentRole::ALL)),
        of(select(SubagentControlScope::ALL)),
    );
    let tools = || vec("[a-z_]{1,9}", 0..3);
    let texts = (of(text()), of(text()), tools(), tools());
    (words, texts).prop_map(|(words, texts)| {
        let (depth, mode, role, control_scope) = words;
        let (workspace_dir, cwd, inherited_tool_allow, inherited_tool_deny) = texts;
        Spawn {
            depth,
            mode,
            role,
            control_scope,
            workspace_dir,
            cwd,
            inherited_tool_allow,
            inherited_tool_deny,
        }
    })
}

/// Rows in all their parts, but without a state event.
pub(super) fn session() -> impl Strategy<Value = Session> {
    let chat_type = select(vec![ChatType::Direct, ChatType::Group, ChatType::Channel]);
    let head = (
        key(),
        id(),
        count(),
        count(),
        of("[a-zA-Z ]{0,9}x"),
        of(key()),
        any::<bool>(),
    );
    let origin =
        (of(id()), of(id()), of(id())).prop_map(|(provider, account_id, thread_id)| Origin {
            provider,
            account_id,
            thread_id,
        });
    let middle = (
        of(chat_type),
        origin,
        of(route()),
        of(last_run()),
        tuning(),
        spawn(),
        of(text()),
    );
    let times = (vec(moment(), 3), vec(of(moment()), 5));
    (head, middle, times).prop_map(|(head, middle, times)| {
        let (key, session_id, row_version, work_epoch, label, spawned_by, sandboxed) = head;
        let (chat_type, origin, delivery_context, last_run, tuning, spawn, category) = middle;
        let (always, sometimes) = times;
        Session {
            key,
            session_id: SessionId::parse(session_id).unwrap(),
            row_version,
            work_epoch,
            label: label.map(|raw| Label::parse(&raw).unwrap()),
            spawned_by,
            sandboxed,
            chat_type,
            origin,
            delivery_context,
            archived_at: sometimes[0],
            pinned_at: sometimes[1],
            created_at: always[0],
            updated_at: always[1],
            last_run,
            tuning,
            spawn,
            category,
            marked_unread_at: sometimes[2],
            last_read_at: sometimes[3],
            session_started_at: always[2],
            last_interaction_at: sometimes[4],
            state_version: 0,
        }
    })
}

/// Callers as they look after a crossing: without a run, without a token's subject.
fn caller() -> impl Strategy<Value = Caller> {
    let identity = prop_oneof![
        Just(Identity::Operator),
        Just(Identity::Service),
        key().prop_map(|session| Identity::Agent { session, run: None }),
        "[a-z]{1,8}".prop_map(|channel| Identity::Channel { channel }),
        agent().prop_map(|agent| Identity::Worker { agent }),
    ];
    (id(), identity).prop_map(|(tenant, identity)| Caller {
        tenant: TenantId::parse(tenant).unwrap(),
        identity,
        subject: None,
    })
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        (id(), of(id())).prop_map(|(reference, agent_id)| Target {
            session_key: Some(reference),
            label: None,
            agent_id,
        }),
        id().prop_map(|label| Target {
            label: Some(label),
            ..Target::default()
        }),
        id().prop_map(|agent| Target {
            agent_id: Some(agent),
            ..Target::default()
        }),
    ]
}

pub(super) fn question() -> impl Strategy<Value = Question> {
    let about = prop_oneof![
        target().prop_map(About::One),
        vec(target(), 2..5).prop_map(About::Many),
        Just(About::Scope),
    ];
    let channel = of("[a-z]{1,8}");
    (caller(), select(Action::ALL.to_vec()), about, channel).prop_map(
        |(caller, action, about, channel)| Question {
            caller,
            action,
            about,
            channel,
        },
    )
}

pub(super) fn answer() -> impl Strategy<Value = Answer> {
    let refusal = (select(Reason::ALL), text()).prop_map(|(reason, message)| {
        let mut refusal = RpcError::new(reason, message.clone());
        refusal.violations = vec![Violation::new("sessionKey", message)];
        Err(refusal)
    });
    let decision = prop_oneof![session().prop_map(Ok), refusal];
    let reach = prop_oneof![
        Just(Reach::All),
        (vec(agent(), 0..4), vec(key(), 0..4)).prop_map(|(agents, keys)| Reach::Among(Among {
            agents,
            keys,
            family: None,
        })),
    ];
    let note = (id(), text()).prop_map(|(mode, warning)| ScopeNote { mode, warning });
    let scope = (reach, of(note)).prop_map(|(reach, note)| Scope { reach, note });
    (vec(decision, 0..4), of(scope)).prop_map(|(decisions, scope)| Answer { decisions, scope })
}
