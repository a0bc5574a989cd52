//! Patches of a session: what was written for each field, read and applied, all or nothing.
//!
//! [`Patch::read`] judges the form of every field; [`Session::patched`] judges what the row forbids.
//! Both tell all faults at once, in the order of the fields. What neither can know is left to the
//! caller: whether a label is free, a model known and a parent there.

mod applying;
mod reading;

use super::levels::{
    ElevatedLevel, ExecAsk, ExecHost, ExecSecurity, FastMode, GroupActivation, ReasoningLevel,
    ResponseUsage, SubagentControlScope, SubagentRole, ThinkingLevel, TraceLevel, VerboseLevel,
};
use super::{Label, SendAction, Session};
use crate::key::SessionKey;

/// What was written for a field, before anybody judged it.
#[derive(Clone, Debug, PartialEq)]
pub enum Given<'a> {
    /// Nothing, in so many words: the field is to be cleared.
    Null,
    /// True or false.
    Flag(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(&'a str),
    /// A list of texts.
    Texts(Vec<&'a str>),
    /// Anything else.
    Other,
}

/// What becomes of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<T> {
    /// It holds this.
    Set(T),
    /// It holds nothing.
    Clear,
}

/// Whether a fault lies in the patch or between the patch and the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// No row of this key takes such a field.
    Invalid,
    /// The row's present state forbids it.
    Conflict,
}

/// One thing that is wrong with a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The field, in camel case; what was written where no field is called so.
    pub field: String,
    /// What is wrong and what is allowed.
    pub message: String,
    /// Where the fault lies.
    pub kind: FaultKind,
}

impl Fault {
    fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self {
            field: field.to_owned(),
            message: message.into(),
            kind: FaultKind::Invalid,
        }
    }

    fn conflict(field: &str, message: impl Into<String>) -> Self {
        Self {
            kind: FaultKind::Conflict,
            ..Self::invalid(field, message)
        }
    }
}

/// Changes of a session's fields; a field that is `None` stays as it is.
///
/// The fields stand in the order in which they are judged and applied. A flag that is cleared is
/// false.
///
/// Source: reg:M26.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// The session that spawned it; set once.
    pub spawned_by: Option<Change<SessionKey>>,
    /// The workspace it was spawned with; set once.
    pub spawned_workspace_dir: Option<Change<String>>,
    /// The working directory it was spawned with; set once.
    pub spawned_cwd: Option<Change<String>>,
    /// Spawns above it; set once.
    pub spawn_depth: Option<Change<u32>>,
    /// Its part among spawned sessions; set once.
    pub subagent_role: Option<Change<SubagentRole>>,
    /// What it may control; set once.
    pub subagent_control_scope: Option<Change<SubagentControlScope>>,
    /// Tools it inherits a refusal of.
    pub inherited_tool_deny: Option<Change<Vec<String>>>,
    /// Tools it inherits a permission for.
    pub inherited_tool_allow: Option<Change<Vec<String>>>,
    /// The name people give it; that it is unique is judged by the caller.
    pub label: Option<Change<Label>>,
    /// The group people file it under.
    pub category: Option<Change<String>>,
    /// Whether it is archived.
    pub archived: Option<Change<bool>>,
    /// Whether it is pinned.
    pub pinned: Option<Change<bool>>,
    /// Whether it is marked unread, or read.
    pub unread: Option<Change<bool>>,
    /// How hard the model thinks.
    pub thinking_level: Option<Change<ThinkingLevel>>,
    /// Whether speed goes before thoroughness.
    pub fast_mode: Option<Change<FastMode>>,
    /// How much of its work it tells.
    pub verbose_level: Option<Change<VerboseLevel>>,
    /// How much of its work it traces.
    pub trace_level: Option<Change<TraceLevel>>,
    /// Whether its reasoning is shown.
    pub reasoning_level: Option<Change<ReasoningLevel>>,
    /// How usage is reported with a reply.
    pub response_usage: Option<Change<ResponseUsage>>,
    /// Whether commands run with more rights than usual.
    pub elevated_level: Option<Change<ElevatedLevel>>,
    /// Where commands run.
    pub exec_host: Option<Change<ExecHost>>,
    /// Which commands may run.
    pub exec_security: Option<Change<ExecSecurity>>,
    /// When a command needs a person's consent.
    pub exec_ask: Option<Change<ExecAsk>>,
    /// The device commands run on.
    pub exec_node: Option<Change<String>>,
    /// Its own model; that it is known is judged by the caller.
    pub model: Option<Change<String>>,
    /// Its own send policy.
    pub send_policy: Option<Change<SendAction>>,
    /// When a group message reaches the agent.
    pub group_activation: Option<Change<GroupActivation>>,
}

impl Patch {
    /// The names of the fields, in the order in which they are judged. Nothing else of a row can be
    /// patched.
    ///
    /// Source: reg:M24, reg:M26.
    pub const FIELDS: [&'static str; 27] = [
        "spawnedBy",
        "spawnedWorkspaceDir",
        "spawnedCwd",
        "spawnDepth",
        "subagentRole",
        "subagentControlScope",
        "inheritedToolDeny",
        "inheritedToolAllow",
        "label",
        "category",
        "archived",
        "pinned",
        "unread",
        "thinkingLevel",
        "fastMode",
        "verboseLevel",
        "traceLevel",
        "reasoningLevel",
        "responseUsage",
        "elevatedLevel",
        "execHost",
        "execSecurity",
        "execAsk",
        "execNode",
        "model",
        "sendPolicy",
        "groupActivation",
    ];

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reads what was written for each field; of a field that is written twice the last counts.
    ///
    /// # Errors
    /// All faults of form: names that are no fields first, then in the order of the fields.
    ///
    /// Source: reg:M1, reg:M12, reg:M18, reg:M19, reg:M20, reg:M21, reg:M22, reg:M23.
    pub fn read<'a>(
        fields: impl IntoIterator<Item = (&'a str, Given<'a>)>,
    ) -> Result<Self, Vec<Fault>> {
        let (patch, faults) = Self::gather(fields);
        if faults.is_empty() {
            Ok(patch)
        } else {
            Err(faults)
        }
    }

    /// Reads the fields that can be read, and tells what is wrong with the others, for a caller that
    /// goes on to what the row forbids, so that one answer tells all. A patch with faults must not be
    /// applied.
    pub fn gather<'a>(
        fields: impl IntoIterator<Item = (&'a str, Given<'a>)>,
    ) -> (Self, Vec<Fault>) {
        reading::gather(fields)
    }
}

impl Session {
    /// The row as patched; `updated_at` and `row_version` are not moved.
    ///
    /// # Errors
    /// All that the row forbids, in the order of the fields; then nothing is changed.
    ///
    /// Source: D51, D54, reg:M2, reg:M5, reg:M6, reg:M7, reg:M8, reg:M13, reg:M14, reg:M15, reg:M17.
    pub fn patched(&self, patch: &Patch, now: crate::clock::Timestamp) -> Result<Self, Vec<Fault>> {
        applying::patched(self, patch, now)
    }
}
