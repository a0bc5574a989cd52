//! From a patch and a row to the row as patched.

use super::super::{Session, Spawn, Tuning};
use super::{Change, Fault, Patch};
use crate::clock::Timestamp;

pub(super) fn patched(
    before: &Session,
    patch: &Patch,
    now: Timestamp,
) -> Result<Session, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut row = before.clone();
    set_lineage(&mut row, patch, &mut faults);
    set(&mut row.label, patch.label.as_ref());
    set(&mut row.category, patch.category.as_ref());
    // Archiving comes before pinning: it decides whether a pin is allowed.
    let mut row = shelved(row, flag(patch.archived.as_ref()), now, &mut faults);
    pin(&mut row, flag(patch.pinned.as_ref()), now, &mut faults);
    mark(&mut row, flag(patch.unread.as_ref()), now);
    tune(&mut row.tuning, patch);
    if faults.is_empty() {
        Ok(row)
    } else {
        Err(faults)
    }
}

/// Source: reg:M5, reg:M6, reg:M7, reg:M8.
fn set_lineage(row: &mut Session, patch: &Patch, faults: &mut Vec<Fault>) {
    let mut once = SetOnce {
        allowed: row.key.bears_lineage(),
        faults,
    };
    let Spawn {
        depth,
        mode: _,
        role,
        control_scope,
        workspace_dir,
        cwd,
        inherited_tool_allow,
        inherited_tool_deny,
    } = &mut row.spawn;
    if patch.spawned_by == Some(Change::Set(row.key.clone())) {
        once.faults.push(Fault::invalid(
            "spawnedBy",
            "invalid spawnedBy: a session cannot spawn itself",
        ));
    } else {
        once.set("spawnedBy", &mut row.spawned_by, patch.spawned_by.as_ref());
    }
    once.set(
        "spawnedWorkspaceDir",
        workspace_dir,
        patch.spawned_workspace_dir.as_ref(),
    );
    once.set("spawnedCwd", cwd, patch.spawned_cwd.as_ref());
    once.set("spawnDepth", depth, patch.spawn_depth.as_ref());
    once.set("subagentRole", role, patch.subagent_role.as_ref());
    once.set(
        "subagentControlScope",
        control_scope,
        patch.subagent_control_scope.as_ref(),
    );
    once.set_tools(
        "inheritedToolDeny",
        inherited_tool_deny,
        patch.inherited_tool_deny.as_ref(),
    );
    once.set_tools(
        "inheritedToolAllow",
        inherited_tool_allow,
        patch.inherited_tool_allow.as_ref(),
    );
}

/// Fields that only spawned sessions have, most of which are set once.
struct SetOnce<'a> {
    /// Whether the row can be a spawned session's.
    allowed: bool,
    faults: &'a mut Vec<Fault>,
}

impl SetOnce<'_> {
    fn set<T: Clone + PartialEq>(
        &mut self,
        field: &str,
        stored: &mut Option<T>,
        change: Option<&Change<T>>,
    ) {
        match (change, &*stored) {
            (None, _) | (Some(Change::Clear), None) => {},
            (Some(Change::Clear), Some(_)) => self.faults.push(Fault::conflict(
                field,
                format!("{field} cannot be cleared once set"),
            )),
            (Some(Change::Set(_)), _) if !self.allowed => self.refuse(field),
            (Some(Change::Set(new)), Some(old)) if new != old => self.faults.push(Fault::conflict(
                field,
                format!("{field} cannot be changed once set"),
            )),
            (Some(Change::Set(new)), _) => *stored = Some(new.clone()),
        }
    }

    fn set_tools(
        &mut self,
        field: &str,
        stored: &mut Vec<String>,
        change: Option<&Change<Vec<String>>>,
    ) {
        match change {
            None => {},
            Some(Change::Set(tools)) if !tools.is_empty() && !self.allowed => self.refuse(field),
            Some(Change::Set(tools)) => stored.clone_from(tools),
            Some(Change::Clear) => stored.clear(),
        }
    }

    fn refuse(&mut self, field: &str) {
        self.faults.push(Fault::invalid(
            field,
            format!("{field} is only supported for subagent:* or acp:* sessions"),
        ));
    }
}

fn set<T: Clone>(stored: &mut Option<T>, change: Option<&Change<T>>) {
    match change {
        None => {},
        Some(Change::Set(value)) => *stored = Some(value.clone()),
        Some(Change::Clear) => *stored = None,
    }
}

/// What is to become of a flag; one that is cleared is false.
fn flag(change: Option<&Change<bool>>) -> Option<bool> {
    change.map(|change| match change {
        Change::Set(flag) => *flag,
        Change::Clear => false,
    })
}

/// Source: reg:M13, reg:M15.
fn shelved(
    row: Session,
    archived: Option<bool>,
    now: Timestamp,
    faults: &mut Vec<Fault>,
) -> Session {
    match archived {
        None => return row,
        Some(false) => return row.restore(),
        Some(true) => {},
    }
    if row.key.is_main() {
        faults.push(Fault::invalid(
            "archived",
            "Cannot archive an agent's main session.",
        ));
        return row;
    }
    if row.archived_at.is_none() && row.is_busy() {
        faults.push(Fault::conflict(
            "archived",
            "Cannot archive a session with an active run.",
        ));
        return row;
    }
    row.archive(now)
}

/// Source: reg:M14.
fn pin(row: &mut Session, pinned: Option<bool>, now: Timestamp, faults: &mut Vec<Fault>) {
    match pinned {
        None => {},
        Some(true) if row.archived_at.is_some() => faults.push(Fault::conflict(
            "pinned",
            "cannot pin an archived session; restore it first",
        )),
        Some(true) => {
            row.pinned_at.get_or_insert(now);
        },
        Some(false) => row.pinned_at = None,
    }
}

/// Source: reg:M17.
fn mark(row: &mut Session, unread: Option<bool>, now: Timestamp) {
    match unread {
        None => {},
        Some(true) => {
            row.marked_unread_at.get_or_insert(now);
        },
        Some(false) => {
            row.marked_unread_at = None;
            // A row may have been moved by a clock that is ahead of ours; it is read all the same.
            row.last_read_at = Some(now.max(row.moved_at()));
        },
    }
}

/// Source: reg:M18, reg:M19, reg:M20, reg:M21, reg:M22, reg:M23.
fn tune(tuning: &mut Tuning, patch: &Patch) {
    set(&mut tuning.thinking_level, patch.thinking_level.as_ref());
    set(&mut tuning.fast_mode, patch.fast_mode.as_ref());
    set(&mut tuning.verbose_level, patch.verbose_level.as_ref());
    set(&mut tuning.trace_level, patch.trace_level.as_ref());
    set(&mut tuning.reasoning_level, patch.reasoning_level.as_ref());
    set(&mut tuning.response_usage, patch.response_usage.as_ref());
    set(&mut tuning.elevated_level, patch.elevated_level.as_ref());
    set(&mut tuning.exec_host, patch.exec_host.as_ref());
    set(&mut tuning.exec_security, patch.exec_security.as_ref());
    set(&mut tuning.exec_ask, patch.exec_ask.as_ref());
    set(&mut tuning.exec_node, patch.exec_node.as_ref());
    set(&mut tuning.model, patch.model.as_ref());
    set(&mut tuning.send_policy, patch.send_policy.as_ref());
    set(
        &mut tuning.group_activation,
        patch.group_activation.as_ref(),
    );
}
