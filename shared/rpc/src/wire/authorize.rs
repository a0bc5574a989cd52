//! Questions to the authority and its answers.

use confab_model::id::{AgentId, TenantId};
use confab_model::key::SessionKey;
use confab_model::limits::{AUTHORIZE_TARGETS_MAX, ROUTE_FIELD_BYTES_MAX, SCOPE_KEYS_MAX};
use confab_model::session::Session;
use confab_proto::registry::v1 as proto;
use confab_proto::registry::v1::decision::Outcome;
use confab_proto::registry::v1::scope::Sessions;
use confab_proto::types::v1::SessionTarget;
use tonic::{Code, Status};

use super::enums::Numbered as _;
use super::session::Perspective;
use super::{WireError, enums, fields, session};
use crate::caller::{Caller, Identity, Role};
use crate::error::{Reason, RpcError, Violation, Violations};
use crate::gate::{About, Among, Answer, Question, Reach, Scope, ScopeNote, Target};

/// The proto's form of a question.
///
/// The asker keeps to itself which run calls and with whose token: neither decides anything.
pub fn question_to_proto(question: Question) -> proto::AuthorizeRequest {
    let (targets, scope) = match question.about {
        About::Nothing => (Vec::new(), false),
        About::One(target) => (vec![target.into()], false),
        About::Many(targets) => (
            targets.into_iter().map(SessionTarget::from).collect(),
            false,
        ),
        About::Scope => (Vec::new(), true),
    };
    proto::AuthorizeRequest {
        caller: Some(principal_to_proto(&question.caller)),
        action: question.action.number(),
        targets,
        scope,
        channel: question.channel,
    }
}

/// Reads a question. One target is [`About::One`].
///
/// # Errors
/// With every field that is missing or malformed.
pub fn question_from_wire(wire: proto::AuthorizeRequest) -> Result<Question, RpcError> {
    let mut violations = Violations::default();
    let caller = principal_from_wire(wire.caller, "caller", &mut violations);
    let action = enums::enum_from_wire(wire.action, "action", &mut violations);
    let about = about_from_wire(wire.targets, wire.scope, &mut violations);
    let max = ROUTE_FIELD_BYTES_MAX;
    let channel = fields::optional_from_wire(wire.channel, max, "channel", &mut violations);
    violations.finish()?;
    match (caller, action, about) {
        (Some(caller), Some(action), Some(about)) => Ok(Question {
            caller,
            action,
            about,
            channel,
        }),
        // Whatever is absent here was noted above.
        (_, _, _) => Err(RpcError::new(
            Reason::Internal,
            "internal error; see the service's log",
        )),
    }
}

fn about_from_wire(
    wire: Vec<SessionTarget>,
    scope: bool,
    violations: &mut Violations,
) -> Option<About> {
    let given = wire.len();
    if scope && given > 0 {
        violations.push(
            "targets",
            "targets and scope are both given; give one of them",
        );
        return None;
    }
    if scope {
        return Some(About::Scope);
    }
    if given == 0 || given > AUTHORIZE_TARGETS_MAX {
        violations.push(
            "targets",
            format!("targets has {given} entries; give 1 to {AUTHORIZE_TARGETS_MAX}"),
        );
        return None;
    }
    let mut targets = Vec::with_capacity(given);
    for (index, target) in wire.into_iter().enumerate() {
        let read = Target::required(Some(target), &format!("targets[{index}]"));
        targets.extend(violations.keep(read));
    }
    if targets.len() == 1 {
        targets.pop().map(About::One)
    } else {
        Some(About::Many(targets))
    }
}

/// The proto's form of a caller; a part of a service is a service across the network.
pub fn principal_to_proto(caller: &Caller) -> proto::Principal {
    let mut principal = proto::Principal {
        role: caller.role().as_str().to_owned(),
        tenant: caller.tenant.to_string(),
        ..proto::Principal::default()
    };
    match &caller.identity {
        Identity::Operator | Identity::Service | Identity::System { .. } => {},
        Identity::Agent { session, .. } => principal.session_key = Some(session.to_string()),
        Identity::Channel { channel } => principal.channel = Some(channel.clone()),
        Identity::Worker { agent } => principal.agent_id = Some(agent.to_string()),
    }
    principal
}

/// Reads a caller.
pub fn principal_from_wire(
    wire: Option<proto::Principal>,
    field: &str,
    violations: &mut Violations,
) -> Option<Caller> {
    let Some(wire) = wire else {
        violations.push(field, format!("{field} is missing; say who asks"));
        return None;
    };
    let path = |name: &str| format!("{field}.{name}");
    let tenant = fields::id_from_wire(
        wire.tenant.clone(),
        TenantId::parse,
        &path("tenant"),
        violations,
    );
    let Some(role) = Role::parse(&wire.role) else {
        let allowed = Role::ALL.map(Role::as_str).join(", ");
        let given = &wire.role;
        let field = path("role");
        let description = format!("{field} is {given:?}; give one of {allowed}");
        violations.push(field, description);
        return None;
    };
    let identity = identity_from_wire(role, wire, field, violations);
    Some(Caller {
        tenant: tenant?,
        identity: identity?,
        subject: None,
    })
}

fn identity_from_wire(
    role: Role,
    wire: proto::Principal,
    field: &str,
    violations: &mut Violations,
) -> Option<Identity> {
    match role {
        Role::Operator => Some(Identity::Operator),
        Role::Service => Some(Identity::Service),
        Role::Agent => {
            let text = wire.session_key.unwrap_or_default();
            let session = fields::key_from_wire(&text, &format!("{field}.sessionKey"), violations)?;
            Some(Identity::Agent { session, run: None })
        },
        Role::Channel => {
            let text = wire.channel.unwrap_or_default();
            let path = format!("{field}.channel");
            let max = ROUTE_FIELD_BYTES_MAX;
            let channel = fields::required_from_wire(text, max, &path, violations)?;
            Some(Identity::Channel { channel })
        },
        Role::Worker => {
            let text = wire.agent_id.unwrap_or_default();
            let agent = super::agent(&text);
            if let Err(error) = &agent {
                violations.push(format!("{field}.agentId"), error.to_string());
            }
            Some(Identity::Worker { agent: agent.ok()? })
        },
    }
}

/// The proto's form of an answer.
pub fn answer_to_proto(answer: Answer) -> proto::AuthorizeResponse {
    proto::AuthorizeResponse {
        decisions: answer
            .decisions
            .into_iter()
            .map(decision_to_proto)
            .collect(),
        scope: answer.scope.map(scope_to_proto),
    }
}

/// Reads an answer.
///
/// # Errors
/// When a field is missing or malformed.
pub fn answer_from_proto(wire: proto::AuthorizeResponse) -> Result<Answer, WireError> {
    let decisions: Result<Vec<_>, _> = wire
        .decisions
        .into_iter()
        .map(decision_from_proto)
        .collect();
    Ok(Answer {
        decisions: decisions?,
        scope: wire.scope.map(scope_from_proto).transpose()?,
    })
}

fn decision_to_proto(decision: Result<Session, RpcError>) -> proto::Decision {
    let outcome = match decision {
        Ok(session) => Outcome::Session(session::to_proto(&session, &Perspective::default())),
        Err(error) => Outcome::Refusal(refusal_to_proto(error)),
    };
    proto::Decision {
        outcome: Some(outcome),
    }
}

fn decision_from_proto(wire: proto::Decision) -> Result<Result<Session, RpcError>, WireError> {
    match super::required(wire.outcome, "decision.outcome")? {
        Outcome::Session(session) => session::from_proto(session).map(Ok),
        Outcome::Refusal(refusal) => Ok(Err(refusal_from_proto(refusal))),
    }
}

/// The public part of a refusal; becoming a status logs the private part.
fn refusal_to_proto(error: RpcError) -> proto::Refusal {
    let reason = error.reason.as_str().to_owned();
    let faults = error.violations.iter().map(|one| proto::FieldFault {
        field: one.field.clone(),
        description: one.description.clone(),
    });
    let faults = faults.collect();
    let status = Status::from(error);
    proto::Refusal {
        code: i32::from(status.code()),
        reason,
        message: status.message().to_owned(),
        faults,
    }
}

/// Reads a refusal; one for a reason this version does not know is told by its code.
fn refusal_from_proto(wire: proto::Refusal) -> RpcError {
    let mut refusal = match Reason::parse(&wire.reason) {
        Some(reason) => RpcError::new(reason, wire.message),
        None => RpcError::from_status(&Status::new(Code::from_i32(wire.code), wire.message)),
    };
    let faults = wire.faults.into_iter();
    refusal.violations = faults
        .map(|one| Violation::new(one.field, one.description))
        .collect();
    refusal
}

/// The proto's form of a scope. Its family must have been spelled out: what follows spawns does not
/// travel.
pub fn scope_to_proto(scope: Scope) -> proto::Scope {
    let sessions = match scope.reach {
        Reach::All => Sessions::All(true),
        Reach::Among(among) => Sessions::Union(proto::UnionScope {
            agent_ids: among.agents.into_iter().map(String::from).collect(),
            session_keys: among.keys.into_iter().map(String::from).collect(),
        }),
    };
    proto::Scope {
        sessions: Some(sessions),
        note: scope.note.map(note_to_proto),
    }
}

/// Reads a scope.
///
/// # Errors
/// When it names no sessions, or too many, or one is malformed.
pub fn scope_from_proto(wire: proto::Scope) -> Result<Scope, WireError> {
    let reach = match super::required(wire.sessions, "scope.sessions")? {
        Sessions::All(true) => Reach::All,
        // Nobody writes it; read as a reach of nothing, and never as one of everything.
        Sessions::All(false) => Reach::Among(Among::default()),
        Sessions::Agents(scope) => Reach::Among(Among {
            agents: agents_from_proto(&scope.agent_ids, "scope.agents.agentIds")?,
            ..Among::default()
        }),
        Sessions::Keys(scope) => Reach::Among(Among {
            keys: keys_from_proto(&scope.session_keys, "scope.keys.sessionKeys")?,
            ..Among::default()
        }),
        Sessions::Union(scope) => Reach::Among(Among {
            agents: agents_from_proto(&scope.agent_ids, "scope.union.agentIds")?,
            keys: keys_from_proto(&scope.session_keys, "scope.union.sessionKeys")?,
            family: None,
        }),
    };
    Ok(Scope {
        reach,
        note: wire.note.map(note_from_proto),
    })
}

fn agents_from_proto(ids: &[String], field: &'static str) -> Result<Vec<AgentId>, WireError> {
    let parse = |id: &String| super::parsed(super::agent(id), field);
    ids.iter().map(parse).collect()
}

fn keys_from_proto(keys: &[String], field: &'static str) -> Result<Vec<SessionKey>, WireError> {
    if keys.len() > SCOPE_KEYS_MAX {
        let given = i64::try_from(keys.len()).unwrap_or(i64::MAX);
        return Err(WireError::OutOfRange { field, given });
    }
    keys.iter().map(|key| super::key(key, field)).collect()
}

/// The proto's form of how a list is narrowed.
pub fn note_to_proto(note: ScopeNote) -> proto::VisibilityNote {
    proto::VisibilityNote {
        mode: note.mode,
        restricted: true,
        warning: note.warning,
    }
}

/// Reads how a list is narrowed.
pub fn note_from_proto(wire: proto::VisibilityNote) -> ScopeNote {
    ScopeNote {
        mode: wire.mode,
        warning: wire.warning,
    }
}
