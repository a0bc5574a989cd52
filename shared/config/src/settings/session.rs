//! Sessions, and what becomes of old ones.

use confab_model::key::Scope;
use confab_policy::send_policy::SendPolicy;

use super::reset::ResetSettings;

/// Section `session`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSettings {
    /// Whether every sender has sessions of their own (reg:K10).
    pub scope: Scope,
    /// Most reply-loop turns of a send, 0 to 20 (D31).
    pub max_ping_pong_turns: u32,
    /// Most hops of a chain of sends, 1 to 100 (D65).
    pub max_hops: u32,
    /// Rules that forbid messages; absent = everything is allowed (reg:P1).
    pub send_policy: Option<SendPolicy>,
    /// When a session begins anew by itself.
    pub reset: ResetSettings,
    /// Which sessions may be removed.
    pub maintenance: MaintenanceSettings,
}

/// Section `session.maintenance`; by default nothing is removed.
///
/// Source: D75.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MaintenanceSettings {
    /// Whether anything is removed at all.
    pub mode: MaintenanceMode,
    /// How long a session that is not used is kept, in milliseconds, from 1; absent = for ever.
    pub prune_after_millis: Option<u64>,
    /// How many sessions are kept, from 1; absent = all.
    pub max_entries: Option<u32>,
}

/// Whether maintenance removes sessions, or only says which it would remove.
///
/// Source: D75, reg:X1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaintenanceMode {
    /// It reports.
    #[default]
    Warn,
    /// It removes.
    Enforce,
}

impl MaintenanceMode {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Warn, Self::Enforce];

    /// The word of the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Enforce => "enforce",
        }
    }
}
