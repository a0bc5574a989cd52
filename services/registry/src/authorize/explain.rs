//! Every gate a call would meet, in order, and what each says: what the decision says in one
//! sentence, told at length to people who run the installation.

use confab_config::Settings;
use confab_model::key::SessionKey;
use confab_model::session::Session;
use confab_policy::send_policy::{self, DecidedBy};
use confab_policy::tool_policy::SessionTool;
use confab_policy::visibility::{self, Gate, VisibilityMode};
use confab_rpc::caller::Caller;
use confab_rpc::error::RpcError;
use confab_rpc::gate::{Action, Admitted};

use super::asking::{Asking, AskingSession};
use super::judge::{self, access, facts, is_subject_to_send_policy};
use super::{Asked, Standing};
use crate::commands::Explain;
use crate::meaning::{KeyMeaning, Meaning, Reader};
use crate::store::{Found, Lookup, RegistryStore};
use crate::{Sessions, store_failed};

/// What one gate says of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateVerdict {
    /// The gate: `role`, `tool_policy`, `session`, `thread`, `visibility`, `agent_to_agent`,
    /// `archived` or `send_policy`.
    pub gate: &'static str,
    /// Whether it lets the call pass.
    pub allowed: bool,
    /// Why, in one sentence.
    pub reason: String,
    /// The deciding rule's index from 0; absent where no rule decided.
    pub rule_index: Option<usize>,
    /// What would change the verdict; empty where nothing need change.
    pub remedy: String,
}

impl GateVerdict {
    fn passes(gate: &'static str, reason: impl Into<String>) -> Self {
        Self {
            gate,
            allowed: true,
            reason: reason.into(),
            rule_index: None,
            remedy: String::new(),
        }
    }

    fn stops(gate: &'static str, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            allowed: false,
            remedy: remedy.into(),
            ..Self::passes(gate, reason)
        }
    }
}

/// Every gate, in the order they are asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The session the call would act on.
    pub session_key: SessionKey,
    /// Whether it has a row.
    pub exists: bool,
    /// The verdicts; the call passes where all do.
    pub verdicts: Vec<GateVerdict>,
}

impl Explanation {
    /// Whether the call would pass.
    pub fn allowed(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.allowed)
    }
}

/// A call that nobody makes: who would, what, and on which session.
struct Imagined<'a> {
    asked: &'a Asked<'a>,
    asking: &'a Asking,
    tool: Option<SessionTool>,
    key: &'a SessionKey,
    row: Option<&'a Session>,
}

impl<S: RegistryStore> Sessions<S> {
    /// Walks every gate for one caller, target and tool. Nothing changes, and no session need exist.
    ///
    /// # Errors
    /// When the target is malformed, or a sessionId or label that names nothing.
    ///
    /// Source: D12, D16.
    pub async fn explain(&self, call: Admitted<Explain>) -> Result<Explanation, RpcError> {
        let (request, operator, _) = call.into_parts();
        let settings = self.settings.current();
        let caller = match request.as_session {
            Some(session) => Caller::agent(operator.tenant.clone(), session, None),
            None => operator,
        };
        let asked = Asked {
            settings: &settings,
            rules: settings.key_rules(),
            action: action_of(request.tool, caller.session().is_some()),
            channel: request.channel,
            caller,
        };
        let requester = asked.requester();
        let reader = Reader {
            rules: &asked.rules,
            requester: requester.as_ref(),
        };
        let meaning = reader.read(&request.target)?;
        let mut lookup = Lookup::of(std::iter::once(&meaning));
        lookup.keys.extend(requester.clone());
        let tenant = &asked.caller.tenant;
        let found = self
            .store
            .look_up(tenant, &lookup)
            .await
            .map_err(store_failed)?;
        let asking = self.asking(&asked, requester.as_ref(), &found).await?;
        let (key, row) = target_of(&meaning, &found)?;
        let imagined = Imagined {
            asked: &asked,
            asking: &asking,
            tool: request.tool,
            key: &key,
            row: row.as_ref(),
        };
        Ok(Explanation {
            verdicts: imagined.verdicts(),
            exists: row.is_some(),
            session_key: key,
        })
    }
}

/// What a tool does to its target. Without one, a session would send and an operator would bring a
/// person's message.
const fn action_of(tool: Option<SessionTool>, from_session: bool) -> Action {
    match tool {
        Some(SessionTool::SessionsList) => Action::List,
        Some(SessionTool::SessionsHistory) => Action::History,
        Some(SessionTool::SessionsSearch) => Action::Search,
        Some(SessionTool::SessionsSend) => Action::Send,
        Some(SessionTool::SessionStatus) => Action::Status,
        Some(
            SessionTool::SessionsSpawn
            | SessionTool::SessionsYield
            | SessionTool::Subagents
            | SessionTool::AgentsList,
        ) => Action::Read,
        None if from_session => Action::Send,
        None => Action::HumanMessage,
    }
}

/// The session a reference names, whoever may see it: an operator asks.
fn target_of(meaning: &Meaning, found: &Found) -> Result<(SessionKey, Option<Session>), RpcError> {
    let of_row = |row: &Session| (row.key.clone(), Some(row.clone()));
    if let Some(given) = &meaning.key {
        let key = match given {
            KeyMeaning::Key { key, .. } => Some(key),
            KeyMeaning::Unsure { key, .. } => key.as_ref(),
        };
        if let Some(row) = key.and_then(|key| found.by_key.get(key)) {
            return Ok(of_row(row));
        }
        if let Some((_, row)) = found.by_session_id.get(given.given()) {
            return Ok(of_row(row));
        }
        let key = given.creatable().cloned();
        return key
            .map(|key| (key, None))
            .ok_or_else(|| judge::not_found(given.given()));
    }
    let Some(label) = &meaning.label else {
        return Err(judge::not_found(""));
    };
    match judge::labelled(found, meaning, label).as_slice() {
        [] => Err(judge::not_found(label.as_str())),
        [one] => Ok(of_row(one)),
        several => Err(judge::ambiguous(label, several)),
    }
}

impl Imagined<'_> {
    fn verdicts(&self) -> Vec<GateVerdict> {
        let mut verdicts = vec![self.role()];
        verdicts.extend(self.tool_policy());
        verdicts.push(self.session());
        verdicts.extend(self.thread());
        verdicts.extend(self.reach());
        verdicts.push(self.archived());
        verdicts.push(self.send_policy());
        verdicts
    }

    /// A session without a row changes nothing (D51).
    fn role(&self) -> GateVerdict {
        let stranger = match self.asking {
            Asking::Session(session) if !session.known => Some(&session.key),
            Asking::Owner | Asking::Channel | Asking::Session(_) => None,
        };
        if let Asking::Session(session) = self.asking
            && !session.configured
        {
            let agent = session.key.agent_id().map(String::from).unwrap_or_default();
            return GateVerdict::stops(
                "role",
                format!("Agent {agent}, which would call, is not configured."),
                format!("Add {agent} to agents.list."),
            );
        }
        if let Some(key) = stranger.filter(|_| judge::is_mutating(self.asked.action)) {
            return GateVerdict::stops(
                "role",
                format!("Session {key}, which would call, does not exist."),
                format!("Create it: confab sessions create {key}"),
            );
        }
        let reason = match self.asking {
            Asking::Owner | Asking::Channel => {
                "An operator may call everything that is not between services.".to_owned()
            },
            Asking::Session(session) => format!(
                "The agent of {} may make the calls behind the tools it has.",
                session.key
            ),
        };
        GateVerdict::passes("role", reason)
    }

    /// An operator needs no tools.
    fn tool_policy(&self) -> Option<GateVerdict> {
        let Asking::Session(session) = self.asking else {
            return None;
        };
        let tool = self.tool.unwrap_or(SessionTool::SessionsSend);
        let AskingSession {
            key,
            sandboxed,
            standing,
            ..
        } = session;
        let decision = Standing::decide(standing, self.settings(), key, *sandboxed, tool);
        Some(GateVerdict {
            allowed: decision.allowed,
            remedy: decision.remedy,
            ..GateVerdict::passes("tool_policy", decision.reason)
        })
    }

    fn session(&self) -> GateVerdict {
        let gate = "session";
        let key = self.key;
        let configured = judge::is_configured(&self.asked.rules, key);
        let agent = key.agent_id().map(String::from).unwrap_or_default();
        match self.row {
            Some(_) if configured => GateVerdict::passes(gate, format!("Session {key} exists.")),
            Some(_) if !self.asked.action.is_new_work() => GateVerdict::passes(
                gate,
                format!(
                    "Session {key} exists; its agent left the configuration, so it can be read."
                ),
            ),
            Some(_) => GateVerdict::stops(
                gate,
                format!("Agent \"{agent}\" no longer exists in configuration."),
                format!("Add {agent} to agents.list again."),
            ),
            None if !configured => GateVerdict::stops(
                gate,
                format!("Session {key} does not exist, and agent {agent} is not configured."),
                format!("Add {agent} to agents.list, or name a session that exists."),
            ),
            None if judge::creates(self.asked.action, key) => GateVerdict::passes(
                gate,
                format!("Session {key} does not exist; this makes it."),
            ),
            None => GateVerdict::stops(
                gate,
                format!("Session {key} does not exist, and this call does not make one."),
                format!("Create it: confab sessions create {key}"),
            ),
        }
    }

    /// Only a send minds threads.
    fn thread(&self) -> Option<GateVerdict> {
        if self.asked.action != Action::Send {
            return None;
        }
        Some(match self.key.thread() {
            Some(thread) => GateVerdict::stops(
                "thread",
                format!(
                    "{} is a thread, and threads are no targets of sessions_send.",
                    self.key
                ),
                format!("Send to {}.", thread.parent),
            ),
            None => GateVerdict::passes("thread", "The target is no thread."),
        })
    }

    /// Visibility, and what agents need beside it; each gate has its own unmet conditions.
    fn reach(&self) -> Vec<GateVerdict> {
        let rules = &self.settings().visibility;
        let question = visibility::Question {
            requester: self.asking.requester(),
            target: self.key,
            descends_from_requester: self.asking.is_ancestor_of(self.key),
            access: access(self.asked.action),
        };
        let unmet = match visibility::decide(rules, &question) {
            visibility::Decision::Allow => Vec::new(),
            visibility::Decision::Deny(refusal) => refusal.unmet,
        };
        let mut verdicts = vec![self.visibility(&unmet)];
        if self.is_between_agents() {
            verdicts.push(Self::agent_to_agent(&unmet));
        }
        verdicts
    }

    fn visibility(&self, unmet: &[Gate]) -> GateVerdict {
        let gate = "visibility";
        let Asking::Session(session) = self.asking else {
            return GateVerdict::passes(gate, "Operators see every session.");
        };
        let rules = &self.settings().visibility;
        let mode = visibility::effective_mode(rules, session.sandboxed);
        let in_force = if mode == rules.mode {
            format!("tools.sessions.visibility={}", mode.as_str())
        } else {
            format!("visibility {} in the sandbox", mode.as_str())
        };
        let relation = self.relation(session);
        if unmet.contains(&Gate::Visibility) {
            let wider = if self.is_between_agents() {
                VisibilityMode::All
            } else {
                VisibilityMode::Agent
            };
            return GateVerdict::stops(
                gate,
                format!(
                    "With {in_force}, {} does not reach {relation}.",
                    session.key
                ),
                format!("Set tools.sessions.visibility to {}.", wider.as_str()),
            );
        }
        GateVerdict::passes(
            gate,
            format!("With {in_force}, {} reaches {relation}.", session.key),
        )
    }

    fn relation(&self, session: &AskingSession) -> String {
        let key = self.key;
        if session.key == *key {
            "itself".to_owned()
        } else if self.asking.is_ancestor_of(key) {
            format!("{key}, which it spawned")
        } else if self.is_between_agents() {
            format!("{key}, a session of another agent")
        } else {
            format!("{key}, another session of its agent")
        }
    }

    fn agent_to_agent(unmet: &[Gate]) -> GateVerdict {
        let gate = "agent_to_agent";
        let faults: Vec<(&str, &str)> = unmet
            .iter()
            .filter_map(|unmet| match unmet {
                Gate::Visibility => None,
                Gate::Enabled => Some((
                    "access between agents is off (tools.agentToAgent.enabled is false)",
                    "set tools.agentToAgent.enabled to true",
                )),
                Gate::AllowRequester => Some((
                    "the requester's agent is not in tools.agentToAgent.allow",
                    "add the requester's agent to tools.agentToAgent.allow",
                )),
                Gate::AllowTarget => Some((
                    "the target's agent is not in tools.agentToAgent.allow",
                    "add the target's agent to tools.agentToAgent.allow",
                )),
            })
            .collect();
        if faults.is_empty() {
            return GateVerdict::passes(gate, "The two agents may reach one another.");
        }
        let reasons: Vec<&str> = faults.iter().map(|(reason, _)| *reason).collect();
        let remedies: Vec<&str> = faults.iter().map(|(_, remedy)| *remedy).collect();
        GateVerdict::stops(gate, sentence(&reasons), sentence(&remedies))
    }

    fn archived(&self) -> GateVerdict {
        let gate = "archived";
        match self.row.filter(|row| row.archived_at.is_some()) {
            None => GateVerdict::passes(gate, "The session is not archived."),
            Some(row) => match judge::refuse_archived(self.asked.action, row) {
                Ok(()) => GateVerdict::passes(gate, "The session is archived, and can be read."),
                Err(refusal) => GateVerdict::stops(
                    gate,
                    refusal.message,
                    format!("Restore it: confab sessions restore {}", row.key),
                ),
            },
        }
    }

    /// Told for every call, so that an operator sees what a message would meet; it stops only what
    /// it is asked for.
    fn send_policy(&self) -> GateVerdict {
        let policy = self.settings().session.send_policy.as_ref();
        let asked = is_subject_to_send_policy(self.asked.action, policy);
        let facts = facts(self.key, self.row, self.asked.channel.as_deref());
        let decision = send_policy::decide(policy, &facts);
        let allowed = decision.is_allowed() || !asked;
        let note = if asked {
            ""
        } else {
            " This call is not asked for it; messages and deliveries are."
        };
        GateVerdict {
            gate: "send_policy",
            allowed,
            reason: format!("{}{note}", decision.reason()),
            rule_index: match decision.by {
                DecidedBy::Rule(index) => Some(index),
                DecidedBy::Override
                | DecidedBy::NotConfigured
                | DecidedBy::AmbiguousKey
                | DecidedBy::Default => None,
            },
            remedy: decision.remedy(),
        }
    }

    /// Whether the call goes from one agent's session to another's, and not down a line of spawns.
    fn is_between_agents(&self) -> bool {
        match self.asking {
            Asking::Owner | Asking::Channel => false,
            Asking::Session(session) => {
                session.key.agent_id() != self.key.agent_id()
                    && !self.asking.is_ancestor_of(self.key)
            },
        }
    }

    fn settings(&self) -> &Settings {
        self.asked.settings
    }
}

/// Clauses as one sentence.
fn sentence(clauses: &[&str]) -> String {
    let joined = clauses.join(", and ");
    let mut characters = joined.chars();
    match characters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), characters.as_str()),
        None => joined,
    }
}
