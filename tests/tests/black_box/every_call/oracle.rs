//! What has to be decided, written down a second time from the rules and from nothing else.
//!
//! Source: D8, D9, D10, D12, D13, D51, D53.

/// How far sessions see, as the configuration says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) visibility: &'static str,
    pub(super) enabled: bool,
    /// Agents that may reach one another; empty: all.
    pub(super) allow: &'static [&'static str],
}

/// Every mode, closed and open, and the open ones with one side missing on the list.
pub(super) const SETTINGS: [Setting; 10] = [
    setting("self", false, &[]),
    setting("self", true, &[]),
    setting("tree", false, &[]),
    setting("tree", true, &["writer"]),
    setting("agent", false, &[]),
    setting("agent", true, &[]),
    setting("all", false, &[]),
    setting("all", true, &[]),
    setting("all", true, &["writer"]),
    setting("all", true, &["WRITER", "ed*"]),
];

const fn setting(
    visibility: &'static str,
    enabled: bool,
    allow: &'static [&'static str],
) -> Setting {
    Setting {
        visibility,
        enabled,
        allow,
    }
}

pub(super) const PARENT: &str = "agent:writer:main";
pub(super) const OWN: &str = "agent:writer:work-1";
pub(super) const CHILD: &str = "agent:writer:work-2";
pub(super) const FOREIGN_CHILD: &str = "agent:editor:work-3";
pub(super) const GRANDCHILD: &str = "agent:editor:work-4";
pub(super) const SIBLING: &str = "agent:writer:work-5";
pub(super) const ROOM: &str = "agent:writer:slack:channel:c1";
pub(super) const OTHER: &str = "agent:editor:main";
pub(super) const BOXED: &str = "agent:writer:boxed-1";
pub(super) const IN_THE_BOX: &str = "agent:writer:boxed-2";

/// The sessions there are, each with who spawned it.
pub(super) const SESSIONS: [(&str, Option<&str>); 10] = [
    (PARENT, None),
    (OTHER, None),
    (ROOM, None),
    (OWN, Some(PARENT)),
    (CHILD, Some(OWN)),
    (FOREIGN_CHILD, Some(OWN)),
    (GRANDCHILD, Some(CHILD)),
    (SIBLING, Some(PARENT)),
    (BOXED, None),
    (IN_THE_BOX, Some(BOXED)),
];

/// Keys without a session; the last one asks nevertheless.
pub(super) const MISSING: [&str; 3] = ["agent:writer:nowhere", "agent:editor:nowhere", GHOST];

const GHOST: &str = "agent:writer:ghost";

/// The sessions that ask.
pub(super) const CALLERS: [&str; 8] = [
    OWN,
    PARENT,
    CHILD,
    FOREIGN_CHILD,
    SIBLING,
    OTHER,
    BOXED,
    GHOST,
];

/// How a target is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Key,
    SessionId,
    Label,
}

/// How a call ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Allowed,
    Forbidden,
    NotFound,
    Other(String),
}

pub(super) fn exists(key: &str) -> bool {
    SESSIONS.iter().any(|(session, _)| *session == key)
}

/// Whether the session `caller` may see and reach `target`, whether there is such a session or not.
pub(super) fn reaches(setting: Setting, caller: &str, target: &str) -> bool {
    if caller == target {
        return true;
    }
    // A sandbox narrows to the tree, and what is narrower already stays.
    let mode = match (setting.visibility, caller) {
        ("agent" | "all", BOXED) => "tree",
        (mode, _) => mode,
    };
    let kin = matches!(mode, "tree" | "all") && descends(target, caller);
    let (own, other) = (agent(caller), agent(target));
    kin || match mode {
        "agent" => own == other,
        "all" => own == other || setting.enabled && listed(setting, own) && listed(setting, other),
        _ => false,
    }
}

/// How a call of the session `caller` about `target` has to end. A key out of reach is forbidden
/// whether there is such a session or not; a sessionId or label out of reach is not found.
pub(super) fn verdict(
    setting: Setting,
    caller: &str,
    (target, form): (&str, Form),
    changes: bool,
) -> Verdict {
    if changes && !exists(caller) {
        return Verdict::NotFound;
    }
    match (reaches(setting, caller, target), form) {
        (true, _) if exists(target) => Verdict::Allowed,
        (true, _) | (false, Form::SessionId | Form::Label) => Verdict::NotFound,
        (false, Form::Key) => Verdict::Forbidden,
    }
}

fn agent(key: &str) -> &str {
    key.split(':').nth(1).unwrap_or_default()
}

fn listed(setting: Setting, agent: &str) -> bool {
    let fits = |entry: &&str| {
        let entry = entry.to_lowercase();
        match entry.strip_suffix('*') {
            Some(beginning) => agent.starts_with(beginning),
            None => agent == entry,
        }
    };
    setting.allow.is_empty() || setting.allow.iter().any(fits)
}

fn descends(target: &str, ancestor: &str) -> bool {
    let spawner = SESSIONS.iter().find(|(session, _)| *session == target);
    match spawner.and_then(|(_, spawned_by)| *spawned_by) {
        Some(spawner) => spawner == ancestor || descends(spawner, ancestor),
        None => false,
    }
}
