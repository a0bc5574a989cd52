//! Every method of every service: who may call it, and where it is walked.
//!
//! Source: contract, Identity; D11, D73.

use super::calls::{Call, Read, Record, Shown, Tool};

/// Where a method meets sessions.
#[derive(Clone, Copy, Debug)]
pub(super) enum Row {
    /// The walk makes these calls for every caller and target.
    Walked(&'static [Call]),
    /// The walk has nothing to ask of it, for this reason.
    Exempt(&'static str),
}

use Row::{Exempt, Walked};

pub(super) const ROLES: [&str; 5] = ["operator", "service", "agent", "channel", "worker"];

/// A method is named without `confab.`; its callers beside services are named by role.
pub(super) type Method = (&'static str, &'static [&'static str], Row);

const NOBODY: &[&str] = &[];
const OPERATOR: &[&str] = &["operator"];
const AGENT: &[&str] = &["operator", "agent"];
const CHANNEL: &[&str] = &["operator", "channel"];

const FOR_SERVICES: Row = Exempt("only services call it, whose callers were judged before");
const FOR_OPERATORS: Row = Exempt("only operators call it, who see everything (D13)");
const LATER: Row = Exempt("a later version implements it; until then it answers UNIMPLEMENTED");

/// The whole table. A method that is in the protos and not here fails the test.
pub(super) const METHODS: &[Method] = &[
    (
        "registry.v1.RegistryService/CreateSession",
        OPERATOR,
        FOR_OPERATORS,
    ),
    (
        "registry.v1.RegistryService/ImportSession",
        OPERATOR,
        FOR_OPERATORS,
    ),
    (
        "registry.v1.RegistryService/GetSession",
        AGENT,
        Walked(&[Call::Read(Read::GetSession)]),
    ),
    (
        "registry.v1.RegistryService/ListSessions",
        AGENT,
        Walked(&[Call::Shown(Shown::ListSessions)]),
    ),
    (
        "registry.v1.RegistryService/ResolveSession",
        AGENT,
        Walked(&[Call::Read(Read::ResolveSession)]),
    ),
    (
        "registry.v1.RegistryService/PatchSession",
        AGENT,
        Walked(&[Call::PatchSession]),
    ),
    (
        "registry.v1.RegistryService/GetStatus",
        AGENT,
        Walked(&[Call::Read(Read::GetStatus)]),
    ),
    (
        "registry.v1.RegistryService/ListStateEvents",
        AGENT,
        Walked(&[Call::Read(Read::ListStateEvents)]),
    ),
    (
        "registry.v1.RegistryService/ListAgents",
        AGENT,
        Exempt("it names agents, and no session"),
    ),
    (
        "registry.v1.RegistryService/GetToolPolicy",
        AGENT,
        Exempt("it is about its caller alone"),
    ),
    (
        "registry.v1.RegistryService/WatchSessions",
        OPERATOR,
        FOR_OPERATORS,
    ),
    (
        "registry.v1.RegistryService/Authorize",
        NOBODY,
        FOR_SERVICES,
    ),
    (
        "registry.v1.RegistryService/RecordActivity",
        NOBODY,
        FOR_SERVICES,
    ),
    (
        "registry.v1.RegistryService/CommitLifecycle",
        NOBODY,
        FOR_SERVICES,
    ),
    (
        "registry.v1.RegistryService/WatchTarget",
        NOBODY,
        FOR_SERVICES,
    ),
    (
        "registry.v1.RegistryService/WatchNotices",
        NOBODY,
        FOR_SERVICES,
    ),
    (
        "registry.v1.RegistryService/AckNotices",
        NOBODY,
        FOR_SERVICES,
    ),
    (
        "registry.v1.RegistryService/ListOverdueSessions",
        NOBODY,
        FOR_SERVICES,
    ),
    (
        "transcript.v1.TranscriptService/AppendMessages",
        OPERATOR,
        FOR_OPERATORS,
    ),
    (
        "transcript.v1.TranscriptService/GetHistory",
        AGENT,
        Walked(&[Call::Read(Read::GetHistory)]),
    ),
    (
        "transcript.v1.TranscriptService/TailSessions",
        AGENT,
        Walked(&[Call::Shown(Shown::TailSessions)]),
    ),
    (
        "transcript.v1.TranscriptService/SearchMessages",
        AGENT,
        Walked(&[
            Call::Shown(Shown::SearchMessages),
            Call::Read(Read::SearchMessages),
        ]),
    ),
    (
        "transcript.v1.TranscriptService/ForkTranscript",
        OPERATOR,
        FOR_OPERATORS,
    ),
    (
        "transcript.v1.TranscriptService/ExportTranscript",
        OPERATOR,
        FOR_OPERATORS,
    ),
    (
        "transcript.v1.TranscriptService/ImportTranscript",
        OPERATOR,
        FOR_OPERATORS,
    ),
    (
        "runner.v1.RunnerService/SendMessage",
        CHANNEL,
        Exempt("people write, who are no session; adapters for their own channel"),
    ),
    ("runner.v1.RunnerService/StartRun", OPERATOR, FOR_OPERATORS),
    ("runner.v1.RunnerService/Send", AGENT, Walked(&[Call::Send])),
    ("runner.v1.RunnerService/Spawn", AGENT, LATER),
    ("runner.v1.RunnerService/Yield", AGENT, LATER),
    ("runner.v1.RunnerService/ListSubagents", AGENT, LATER),
    ("runner.v1.RunnerService/ControlSubagent", AGENT, LATER),
    (
        "runner.v1.RunnerService/WaitRun",
        &["operator", "agent", "channel"],
        Walked(&[Call::Record(Record::WaitRun)]),
    ),
    (
        "runner.v1.RunnerService/GetRun",
        &["operator", "agent", "channel"],
        Walked(&[Call::Record(Record::GetRun)]),
    ),
    ("runner.v1.RunnerService/ListRuns", OPERATOR, FOR_OPERATORS),
    ("runner.v1.RunnerService/AbortRun", OPERATOR, FOR_OPERATORS),
    ("runner.v1.RunnerService/WatchRun", CHANNEL, LATER),
    (
        "runner.v1.RunnerService/GetFlow",
        AGENT,
        Walked(&[Call::Record(Record::GetFlow)]),
    ),
    ("runner.v1.RunnerService/ListFlows", OPERATOR, FOR_OPERATORS),
    (
        "runner.v1.RunnerService/WaitFlow",
        AGENT,
        Walked(&[Call::Record(Record::WaitFlow)]),
    ),
    (
        "runner.v1.RunnerService/ResetSession",
        OPERATOR,
        FOR_OPERATORS,
    ),
    (
        "runner.v1.RunnerService/ArchiveSession",
        OPERATOR,
        FOR_OPERATORS,
    ),
    (
        "runner.v1.RunnerService/RestoreSession",
        OPERATOR,
        FOR_OPERATORS,
    ),
    (
        "runner.v1.RunnerService/DeleteSession",
        OPERATOR,
        FOR_OPERATORS,
    ),
    (
        "runner.v1.RunnerService/SweepSessions",
        OPERATOR,
        FOR_OPERATORS,
    ),
    (
        "runner.v1.WorkerService/Attach",
        &["operator", "worker"],
        LATER,
    ),
    ("runner.v1.DeliveryService/Subscribe", CHANNEL, LATER),
    (
        "runner.v1.DeliveryService/ListDeliveries",
        OPERATOR,
        FOR_OPERATORS,
    ),
    (
        "runner.v1.DeliveryService/RetryDelivery",
        OPERATOR,
        FOR_OPERATORS,
    ),
    (
        "runner.v1.DeliveryService/PruneDeliveries",
        OPERATOR,
        FOR_OPERATORS,
    ),
    (
        "tools.v1.ToolsService/ListTools",
        AGENT,
        Exempt("it is about its caller alone"),
    ),
    (
        "tools.v1.ToolsService/InvokeTool",
        AGENT,
        Walked(&[
            Call::Tool(Tool::History),
            Call::Tool(Tool::Send),
            Call::Tool(Tool::Status),
        ]),
    ),
    (
        "policy.v1.PolicyService/Explain",
        OPERATOR,
        Walked(&[Call::Shown(Shown::Explain)]),
    ),
];

/// Every call of the walk.
pub(super) fn walked() -> Vec<Call> {
    let mut calls = Vec::new();
    for (_, _, row) in METHODS {
        match row {
            Walked(walked) => calls.extend_from_slice(walked),
            Exempt(_) => {},
        }
    }
    calls
}
