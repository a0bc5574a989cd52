//! The role table: which roles may call which method; deny by default.
//!
//! Health and reflection answer everybody and are exempt by name.

use crate::caller::Role;

/// Methods that need no role.
const OPEN_METHODS: [&str; 5] = [
    "grpc.health.v1.Health/Check",
    "grpc.health.v1.Health/List",
    "grpc.health.v1.Health/Watch",
    "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// Who may call a method, beside operators and services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// Services only.
    Services,
    /// Operators and services.
    Operators,
    /// Operators, services and these roles.
    Also(&'static [Role]),
}

/// The rows: full method name without the leading slash, and who may call it.
pub const TABLE: &[(&str, Row)] = &[
    (
        "confab.registry.v1.RegistryService/CreateSession",
        Row::Operators,
    ),
    (
        "confab.registry.v1.RegistryService/ImportSession",
        Row::Operators,
    ),
    (
        "confab.registry.v1.RegistryService/GetSession",
        Row::Also(&[Role::Agent]),
    ),
    (
        "confab.registry.v1.RegistryService/ListSessions",
        Row::Also(&[Role::Agent]),
    ),
    (
        "confab.registry.v1.RegistryService/ResolveSession",
        Row::Also(&[Role::Agent]),
    ),
    (
        "confab.registry.v1.RegistryService/PatchSession",
        Row::Also(&[Role::Agent]),
    ),
    (
        "confab.registry.v1.RegistryService/GetStatus",
        Row::Also(&[Role::Agent]),
    ),
    (
        "confab.registry.v1.RegistryService/ListStateEvents",
        Row::Also(&[Role::Agent]),
    ),
    (
        "confab.registry.v1.RegistryService/ListAgents",
        Row::Also(&[Role::Agent]),
    ),
    (
        "confab.registry.v1.RegistryService/GetToolPolicy",
        Row::Also(&[Role::Agent]),
    ),
    (
        "confab.registry.v1.RegistryService/WatchSessions",
        Row::Operators,
    ),
    (
        "confab.registry.v1.RegistryService/Authorize",
        Row::Services,
    ),
    (
        "confab.registry.v1.RegistryService/RecordActivity",
        Row::Services,
    ),
    (
        "confab.registry.v1.RegistryService/CommitLifecycle",
        Row::Services,
    ),
    (
        "confab.registry.v1.RegistryService/WatchTarget",
        Row::Services,
    ),
    (
        "confab.registry.v1.RegistryService/WatchNotices",
        Row::Services,
    ),
    (
        "confab.registry.v1.RegistryService/AckNotices",
        Row::Services,
    ),
    (
        "confab.registry.v1.RegistryService/ListOverdueSessions",
        Row::Services,
    ),
    (
        "confab.transcript.v1.TranscriptService/AppendMessages",
        Row::Operators,
    ),
    (
        "confab.transcript.v1.TranscriptService/GetHistory",
        Row::Also(&[Role::Agent]),
    ),
    (
        "confab.transcript.v1.TranscriptService/TailSessions",
        Row::Also(&[Role::Agent]),
    ),
    (
        "confab.transcript.v1.TranscriptService/SearchMessages",
        Row::Also(&[Role::Agent]),
    ),
    (
        "confab.transcript.v1.TranscriptService/ForkTranscript",
        Row::Operators,
    ),
    (
        "confab.transcript.v1.TranscriptService/ExportTranscript",
        Row::Operators,
    ),
    (
        "confab.transcript.v1.TranscriptService/ImportTranscript",
        Row::Operators,
    ),
    (
        "confab.runner.v1.RunnerService/SendMessage",
        Row::Also(&[Role::Channel]),
    ),
    ("confab.runner.v1.RunnerService/StartRun", Row::Operators),
    (
        "confab.runner.v1.RunnerService/Send",
        Row::Also(&[Role::Agent]),
    ),
    (
        "confab.runner.v1.RunnerService/Spawn",
        Row::Also(&[Role::Agent]),
    ),
    (
        "confab.runner.v1.RunnerService/Yield",
        Row::Also(&[Role::Agent]),
    ),
    (
        "confab.runner.v1.RunnerService/ListSubagents",
        Row::Also(&[Role::Agent]),
    ),
    (
        "confab.runner.v1.RunnerService/ControlSubagent",
        Row::Also(&[Role::Agent]),
    ),
    (
        "confab.runner.v1.RunnerService/WaitRun",
        Row::Also(&[Role::Agent, Role::Channel]),
    ),
    (
        "confab.runner.v1.RunnerService/GetRun",
        Row::Also(&[Role::Agent, Role::Channel]),
    ),
    ("confab.runner.v1.RunnerService/ListRuns", Row::Operators),
    ("confab.runner.v1.RunnerService/AbortRun", Row::Operators),
    (
        "confab.runner.v1.RunnerService/WatchRun",
        Row::Also(&[Role::Channel]),
    ),
    // The session that asked for a flow may read it and wait for it (D73).
    (
        "confab.runner.v1.RunnerService/GetFlow",
        Row::Also(&[Role::Agent]),
    ),
    ("confab.runner.v1.RunnerService/ListFlows", Row::Operators),
    (
        "confab.runner.v1.RunnerService/WaitFlow",
        Row::Also(&[Role::Agent]),
    ),
    (
        "confab.runner.v1.RunnerService/ResetSession",
        Row::Operators,
    ),
    (
        "confab.runner.v1.RunnerService/ArchiveSession",
        Row::Operators,
    ),
    (
        "confab.runner.v1.RunnerService/RestoreSession",
        Row::Operators,
    ),
    (
        "confab.runner.v1.RunnerService/DeleteSession",
        Row::Operators,
    ),
    (
        "confab.runner.v1.RunnerService/SweepSessions",
        Row::Operators,
    ),
    (
        "confab.runner.v1.WorkerService/Attach",
        Row::Also(&[Role::Worker]),
    ),
    (
        "confab.runner.v1.DeliveryService/Subscribe",
        Row::Also(&[Role::Channel]),
    ),
    (
        "confab.runner.v1.DeliveryService/ListDeliveries",
        Row::Operators,
    ),
    (
        "confab.runner.v1.DeliveryService/RetryDelivery",
        Row::Operators,
    ),
    (
        "confab.runner.v1.DeliveryService/PruneDeliveries",
        Row::Operators,
    ),
    (
        "confab.tools.v1.ToolsService/ListTools",
        Row::Also(&[Role::Agent]),
    ),
    (
        "confab.tools.v1.ToolsService/InvokeTool",
        Row::Also(&[Role::Agent]),
    ),
    ("confab.policy.v1.PolicyService/Explain", Row::Operators),
];

/// What the table says of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Anybody may call it, whether it is known who calls or not.
    Exempt,
    /// The caller's role decides.
    Roles(Row),
    /// The table has no row: nobody may call it.
    Unlisted,
}

/// Looks up the method of an HTTP path, for example `/confab.tools.v1.ToolsService/ListTools`.
pub fn verdict(path: &str) -> Verdict {
    let method = path.trim_start_matches('/');
    if OPEN_METHODS.contains(&method) {
        return Verdict::Exempt;
    }
    TABLE
        .iter()
        .find(|(name, _)| *name == method)
        .map_or(Verdict::Unlisted, |(_, row)| Verdict::Roles(*row))
}

impl Row {
    /// Whether callers of this role may call the method.
    pub fn allows(self, role: Role) -> bool {
        match role {
            Role::Service => true,
            Role::Operator => self != Self::Services,
            Role::Agent | Role::Channel | Role::Worker => match self {
                Self::Services | Self::Operators => false,
                Self::Also(roles) => roles.contains(&role),
            },
        }
    }
}
