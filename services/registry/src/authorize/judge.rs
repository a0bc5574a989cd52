//! One decision: pure, over what was looked up.

use confab_model::key::{KeyRules, SessionKey};
use confab_model::session::{Label, Session};
use confab_policy::send_policy::{self, Facts, SendPolicy};
use confab_policy::visibility::{self, Access, Decision, VisibilityRules};
use confab_rpc::error::{Reason, RpcError, Violation};
use confab_rpc::gate::Action;

use super::asking::Asking;
use crate::meaning::{KeyMeaning, Meaning};
use crate::store::Found;

/// What a target came to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    /// The caller may act on this session.
    Session(Box<Session>),
    /// The caller may, and this first use makes the session (D5).
    Create(SessionKey),
}

/// Everything that a decision depends on.
#[derive(Debug)]
pub(super) struct Judge<'a> {
    pub(super) rules: &'a KeyRules,
    pub(super) visibility: &'a VisibilityRules,
    /// Rules that forbid messages; absent = everything is allowed.
    pub(super) send_policy: Option<&'a SendPolicy>,
    pub(super) action: Action,
    /// The outside channel that the call itself names.
    pub(super) channel: Option<&'a str>,
    pub(super) asking: &'a Asking,
    pub(super) found: &'a Found,
}

impl Judge<'_> {
    /// Resolves and decides: which session, whether the caller may, whether it takes new work.
    ///
    /// # Errors
    /// The refusal.
    pub(super) fn decide(&self, meaning: &Meaning) -> Result<Verdict, RpcError> {
        self.refuse_strangers()?;
        let verdict = match (&meaning.key, &meaning.label) {
            (Some(key), None) => self.by_key(meaning, key)?,
            (None, Some(label)) => self.by_label(meaning, label)?,
            (Some(key), Some(label)) => {
                let verdict = self.by_key(meaning, key)?;
                self.agree(verdict, key, meaning, label)?
            },
            (None, None) => return Err(not_found("")),
        };
        self.accept(verdict)
    }

    /// A caller without a row of its own changes nothing; what it reads is judged like any other
    /// caller's (D51). A channel adapter brings messages and follows runs, and does nothing else.
    fn refuse_strangers(&self) -> Result<(), RpcError> {
        match self.asking {
            Asking::Session(session) if !session.configured => {
                let agent = session.key.agent_id().map(String::from).unwrap_or_default();
                Err(RpcError::new(
                    Reason::SessionNotFound,
                    format!(
                        "No session found: {} (agent not found: {agent}): call as a session of an \
                         agent of agents.list",
                        session.key
                    ),
                ))
            },
            Asking::Session(session) if !session.known && is_mutating(self.action) => {
                Err(not_found(session.key.as_str()))
            },
            Asking::Channel if !matches!(self.action, Action::HumanMessage | Action::Record) => {
                Err(RpcError::new(
                    Reason::Role,
                    "the role channel may bring messages and follow the runs they start, and \
                     nothing else",
                ))
            },
            Asking::Owner | Asking::Channel | Asking::Session(_) => Ok(()),
        }
    }

    fn by_key(&self, meaning: &Meaning, given: &KeyMeaning) -> Result<Verdict, RpcError> {
        match given {
            KeyMeaning::Key { key, .. } => {
                // The key alone says that it is a thread, so this tells nothing that visibility
                // would hide (D35, reg:R17).
                self.refuse_thread(key)?;
                self.refuse_out_of_reach(key)?;
                match self.found.by_key.get(key) {
                    Some(row) => Ok(Verdict::Session(Box::new(row.clone()))),
                    None => self.first_use(given),
                }
            },
            KeyMeaning::Unsure { key, given: text } => {
                let row = key.as_ref().and_then(|key| self.found.by_key.get(key));
                match row.filter(|row| self.reaches(&row.key)).cloned() {
                    Some(row) => Ok(Verdict::Session(Box::new(row))),
                    None => self.by_session_id(meaning, given, text),
                }
            },
        }
    }

    /// A hidden session and a missing one answer alike (D12).
    fn by_session_id(
        &self,
        meaning: &Meaning,
        given: &KeyMeaning,
        text: &str,
    ) -> Result<Verdict, RpcError> {
        let generation = self.found.by_session_id.get(text);
        let Some((session_id, row)) = generation.filter(|(_, row)| self.reaches(&row.key)) else {
            return self.first_use(given);
        };
        if let Some(agent_id) = &meaning.agent_id
            && row.key.agent_id().as_ref() != Some(agent_id)
        {
            return Err(disagreement(
                ("sessionKey", text),
                ("agentId", agent_id.as_str()),
                &format!("the session is {}", row.key),
            ));
        }
        let mut session = row.clone();
        // An old generation stays readable under its own sessionId (D26).
        if matches!(self.action, Action::History | Action::Search) {
            session.session_id = session_id.clone();
        }
        Ok(Verdict::Session(Box::new(session)))
    }

    fn by_label(&self, meaning: &Meaning, label: &Label) -> Result<Verdict, RpcError> {
        let candidates = self.labelled(meaning, label);
        match candidates.as_slice() {
            [] => Err(not_found(label.as_str())),
            [one] => Ok(Verdict::Session(Box::new((*one).clone()))),
            several => Err(ambiguous(label, several)),
        }
    }

    /// The sessions with this label within the caller's reach.
    fn labelled(&self, meaning: &Meaning, label: &Label) -> Vec<&Session> {
        let mut labelled = labelled(self.found, meaning, label);
        labelled.retain(|row| self.reaches(&row.key));
        labelled
    }

    /// A label beside a key must name the same session (D7, B011).
    fn agree(
        &self,
        verdict: Verdict,
        given: &KeyMeaning,
        meaning: &Meaning,
        label: &Label,
    ) -> Result<Verdict, RpcError> {
        let labelled = self.labelled(meaning, label);
        let key = match &verdict {
            Verdict::Session(session) => &session.key,
            Verdict::Create(key) => key,
        };
        if labelled.iter().any(|row| row.key == *key) {
            return Ok(verdict);
        }
        let Some(other) = labelled.first() else {
            return Err(not_found(label.as_str()));
        };
        Err(disagreement(
            ("sessionKey", given.given()),
            ("label", label.as_str()),
            &format!("they name {key} and {}", other.key),
        ))
    }

    /// What every session that was found, or that is to be made, must still pass.
    fn accept(&self, verdict: Verdict) -> Result<Verdict, RpcError> {
        match &verdict {
            Verdict::Session(session) => {
                self.refuse_thread(&session.key)?;
                self.refuse_unconfigured(&session.key)?;
                refuse_archived(self.action, session)?;
                self.refuse_sending(&session.key, Some(session))?;
            },
            Verdict::Create(key) => self.refuse_sending(key, None)?,
        }
        Ok(verdict)
    }

    /// Source: D16, D17, D18.
    fn refuse_sending(&self, key: &SessionKey, row: Option<&Session>) -> Result<(), RpcError> {
        if !is_subject_to_send_policy(self.action, self.send_policy) {
            return Ok(());
        }
        let decision = send_policy::decide(self.send_policy, &facts(key, row, self.channel));
        if decision.is_allowed() {
            return Ok(());
        }
        tracing::debug!(session.key = %key, reason = decision.reason(), "the send policy refuses");
        Err(RpcError::new(Reason::SendPolicy, send_policy::REFUSAL))
    }

    fn reaches(&self, target: &SessionKey) -> bool {
        self.refuse_out_of_reach(target).is_ok()
    }

    /// The text of a refusal is the policy's (D12).
    fn refuse_out_of_reach(&self, target: &SessionKey) -> Result<(), RpcError> {
        let question = visibility::Question {
            requester: self.asking.requester(),
            target,
            descends_from_requester: self.asking.is_ancestor_of(target),
            access: access(self.action),
        };
        match visibility::decide(self.visibility, &question) {
            Decision::Allow => Ok(()),
            Decision::Deny(refusal) => Err(RpcError::new(Reason::Visibility, refusal.message)),
        }
    }

    /// Source: D35, run:S12.
    fn refuse_thread(&self, key: &SessionKey) -> Result<(), RpcError> {
        match key.thread() {
            Some(thread) if self.action == Action::Send => Err(RpcError::new(
                Reason::ThreadTarget,
                format!(
                    "sessions_send cannot target a thread session for inter-agent coordination. \
                     Use the parent channel session key instead. Parent session key: {}",
                    thread.parent
                ),
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// An agent that left the configuration takes no new work (reg:R12, B010).
    fn refuse_unconfigured(&self, key: &SessionKey) -> Result<(), RpcError> {
        match key.agent_id() {
            Some(agent) if self.action.is_new_work() && !self.rules.knows(&agent) => {
                Err(RpcError::new(
                    Reason::SessionNotFound,
                    format!("Agent \"{agent}\" no longer exists in configuration"),
                ))
            },
            Some(_) | None => Ok(()),
        }
    }

    /// A session that does not exist yet: its first use makes it, or it is not found.
    ///
    /// Source: D5, B010.
    fn first_use(&self, given: &KeyMeaning) -> Result<Verdict, RpcError> {
        let key = given.creatable().filter(|key| creates(self.action, key));
        let Some(key) = key else {
            return Err(not_found(given.given()));
        };
        if !is_configured(self.rules, key) {
            let agent = key.agent_id().map(String::from).unwrap_or_default();
            let text = format!(
                "No session found: {} (agent not found: {agent})",
                given.given()
            );
            return Err(RpcError::new(Reason::SessionNotFound, text));
        }
        if !self.reaches(key) {
            return Err(not_found(given.given()));
        }
        Ok(Verdict::Create(key.clone()))
    }
}

/// Whether an action makes the session it is the first use of.
///
/// Source: D5.
pub(super) fn creates(action: Action, key: &SessionKey) -> bool {
    match action {
        Action::HumanMessage => true,
        Action::Send | Action::StartRun | Action::FlowRun => key.is_main(),
        Action::Read
        | Action::History
        | Action::Status
        | Action::List
        | Action::Create
        | Action::Patch
        | Action::Lifecycle
        | Action::Record
        | Action::Append
        | Action::Deliver
        | Action::Search => false,
    }
}

/// What the send policy asks of a session, or of a key without one.
///
/// Source: reg:P6, reg:P8.
pub(super) fn facts<'a>(
    key: &'a SessionKey,
    row: Option<&'a Session>,
    channel: Option<&'a str>,
) -> Facts<'a> {
    let route = row.and_then(|row| row.delivery_context.as_ref());
    Facts {
        key,
        session_override: row.and_then(|row| row.tuning.send_policy),
        channel: None,
        last_channel: route.map(|route| route.channel.as_str()),
        chat_type: row.and_then(|row| row.chat_type),
        call_channel: channel,
    }
}

/// Whether the send policy is asked for an action: for messages into a session unless it is about
/// deliveries only, and for everything that leaves. A flow's own turns are free (D74). A session's
/// own override is asked even where no rules are configured.
///
/// Source: D17, D74, reg:P2.
pub(super) fn is_subject_to_send_policy(action: Action, policy: Option<&SendPolicy>) -> bool {
    match action {
        Action::HumanMessage | Action::StartRun | Action::Send => {
            policy.is_none_or(|policy| policy.applies_to.covers_messages())
        },
        Action::Deliver => true,
        Action::Read
        | Action::History
        | Action::Status
        | Action::List
        | Action::Create
        | Action::Patch
        | Action::Lifecycle
        | Action::Record
        | Action::Append
        | Action::FlowRun
        | Action::Search => false,
    }
}

/// Whether the key's agent is configured; the one session that serves all needs none.
pub(super) fn is_configured(rules: &KeyRules, key: &SessionKey) -> bool {
    key.agent_id().is_none_or(|agent| rules.knows(&agent))
}

/// An archived session takes no new work, and stays readable.
///
/// Source: D55, reg:M16.
pub(super) fn refuse_archived(action: Action, session: &Session) -> Result<(), RpcError> {
    if action.is_new_work() && session.archived_at.is_some() {
        let text = format!(
            "Session \"{}\" is archived. Restore it before starting new work.",
            session.key
        );
        return Err(RpcError::new(Reason::SessionArchived, text));
    }
    Ok(())
}

/// Whether an action changes anything.
pub(super) const fn is_mutating(action: Action) -> bool {
    match action {
        Action::Read
        | Action::History
        | Action::Status
        | Action::List
        | Action::Record
        | Action::Search => false,
        Action::Send
        | Action::HumanMessage
        | Action::StartRun
        | Action::Create
        | Action::Patch
        | Action::Lifecycle
        | Action::Append
        | Action::FlowRun
        | Action::Deliver => true,
    }
}

/// The policy knows four sorts of access.
pub(super) const fn access(action: Action) -> Access {
    match action {
        Action::History | Action::Search => Access::History,
        Action::List => Access::List,
        Action::Send | Action::HumanMessage | Action::StartRun | Action::FlowRun => Access::Send,
        Action::Read
        | Action::Status
        | Action::Create
        | Action::Patch
        | Action::Lifecycle
        | Action::Record
        | Action::Append
        | Action::Deliver => Access::Status,
    }
}

pub(super) fn not_found(given: &str) -> RpcError {
    RpcError::new(
        Reason::SessionNotFound,
        format!("No session found: {given}"),
    )
}

/// The sessions with this label, whoever may see them.
pub(super) fn labelled<'a>(found: &'a Found, meaning: &Meaning, label: &Label) -> Vec<&'a Session> {
    let wanted = meaning.agent_id.as_ref();
    let all = found.by_label.get(label.as_str()).into_iter().flatten();
    all.filter(|row| wanted.is_none() || row.key.agent_id().as_ref() == wanted)
        .collect()
}

/// Names the candidates that the caller may see, and no other (D6).
pub(super) fn ambiguous(label: &Label, candidates: &[&Session]) -> RpcError {
    let keys: Vec<&str> = candidates.iter().map(|row| row.key.as_str()).collect();
    let text = format!(
        "Multiple sessions found with label: {} ({}): give sessionKey, or agentId beside the label",
        label.as_str(),
        keys.join(", ")
    );
    RpcError::new(Reason::Ambiguous, text)
}

fn disagreement(one: (&str, &str), other: (&str, &str), truth: &str) -> RpcError {
    let text = format!(
        "{} `{}` and {} `{}` name different sessions ({truth}): give one of the two",
        one.0, one.1, other.0, other.1
    );
    RpcError::invalid(vec![
        Violation::new(one.0, text),
        Violation::new(other.0, format!("{} disagrees with {}", other.0, one.0)),
    ])
}
