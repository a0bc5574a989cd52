//! The role table against the protos and against the contract.

use std::collections::BTreeSet;

use prost::Message as _;
use prost_types::FileDescriptorSet;

use crate::caller::Role;
use crate::roles::{Row, TABLE, Verdict, verdict};

/// The full names of all RPCs of confab, as reflection tells them.
fn rpcs() -> BTreeSet<String> {
    let set = FileDescriptorSet::decode(confab_proto::DESCRIPTORS).unwrap();
    let mut names = BTreeSet::new();
    for file in set
        .file
        .iter()
        .filter(|file| file.package().starts_with("confab."))
    {
        for service in &file.service {
            for method in &service.method {
                names.insert(format!(
                    "{}.{}/{}",
                    file.package(),
                    service.name(),
                    method.name()
                ));
            }
        }
    }
    names
}

/// What is wrong with a role table: RPCs without a row, rows without an RPC, rows given twice.
fn faults(table: &[(&str, Row)], rpcs: &BTreeSet<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut faults = Vec::new();
    for (name, _) in table {
        if !seen.insert((*name).to_owned()) {
            faults.push(format!("{name} has two rows"));
        }
        if !rpcs.contains(*name) {
            faults.push(format!("{name} is no RPC"));
        }
    }
    faults.extend(
        rpcs.difference(&seen)
            .map(|name| format!("{name} has no row")),
    );
    faults
}

#[test]
fn every_rpc_has_one_row_and_every_row_has_an_rpc() {
    assert_eq!(faults(TABLE, &rpcs()), Vec::<String>::new());
}

#[test]
fn the_descriptors_hold_every_service_of_the_contract() {
    let rpcs = rpcs();
    let services: BTreeSet<&str> = rpcs
        .iter()
        .filter_map(|name| name.split('/').next())
        .collect();
    let contract = BTreeSet::from([
        "confab.policy.v1.PolicyService",
        "confab.registry.v1.RegistryService",
        "confab.runner.v1.DeliveryService",
        "confab.runner.v1.RunnerService",
        "confab.runner.v1.WorkerService",
        "confab.tools.v1.ToolsService",
        "confab.transcript.v1.TranscriptService",
    ]);
    assert_eq!(services, contract);
}

#[test]
fn a_missing_an_invented_and_a_repeated_row_are_found() {
    let rpcs = rpcs();
    for removed in 0..TABLE.len() {
        let mut table = TABLE.to_vec();
        let (name, _) = table.remove(removed);
        assert_eq!(faults(&table, &rpcs), [format!("{name} has no row")]);
    }
    let mut invented = TABLE.to_vec();
    invented.push(("confab.tools.v1.ToolsService/Guess", Row::Operators));
    assert_eq!(
        faults(&invented, &rpcs),
        ["confab.tools.v1.ToolsService/Guess is no RPC"]
    );
    let mut repeated = TABLE.to_vec();
    repeated.push(TABLE[0]);
    assert_eq!(
        faults(&repeated, &rpcs),
        [format!("{} has two rows", TABLE[0].0)]
    );
}

#[test]
fn health_and_reflection_answer_everybody() {
    for path in [
        "/grpc.health.v1.Health/Check",
        "/grpc.health.v1.Health/List",
        "/grpc.health.v1.Health/Watch",
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    ] {
        assert_eq!(verdict(path), Verdict::Exempt, "{path}");
    }
}

#[test]
fn what_the_table_does_not_list_is_for_nobody() {
    for path in [
        "",
        "/",
        "/confab.registry.v1.RegistryService",
        "/confab.registry.v1.RegistryService/",
        "/confab.registry.v1.RegistryService/Authorise",
        "/confab.registry.v1.registryservice/Authorize",
        "/confab.registry.v1.RegistryService/Authorize/more",
        "/grpc.health.v2.Health/Check",
        "/grpc.health.v1.HealthAndMore/Check",
        "/grpc.health.v1.Health",
        "/grpc.health.v1.Health/",
        "/grpc.health.v1.Health/MadeUp",
        "/grpc.health.v1.Health/Check/more",
        "/grpc.reflection.v1.ServerReflection/MadeUp",
        "/grpc.reflection.v1alpha.ServerReflection/MadeUp",
    ] {
        assert_eq!(verdict(path), Verdict::Unlisted, "{path}");
    }
}

/// Methods for services alone, by the contract.
const SERVICES_ONLY: [&str; 7] = [
    "RegistryService/Authorize",
    "RegistryService/RecordActivity",
    "RegistryService/CommitLifecycle",
    "RegistryService/WatchTarget",
    "RegistryService/WatchNotices",
    "RegistryService/AckNotices",
    "RegistryService/ListOverdueSessions",
];

/// Methods behind the tools of agents, and those that read what an agent asked for (D73).
const AGENTS: [&str; 22] = [
    "RegistryService/GetSession",
    "RegistryService/ListSessions",
    "RegistryService/ResolveSession",
    "RegistryService/PatchSession",
    "RegistryService/GetStatus",
    "RegistryService/ListStateEvents",
    "RegistryService/ListAgents",
    "RegistryService/GetToolPolicy",
    "TranscriptService/GetHistory",
    "TranscriptService/TailSessions",
    "TranscriptService/SearchMessages",
    "RunnerService/Send",
    "RunnerService/Spawn",
    "RunnerService/Yield",
    "RunnerService/ListSubagents",
    "RunnerService/ControlSubagent",
    "RunnerService/WaitRun",
    "RunnerService/GetRun",
    "RunnerService/GetFlow",
    "RunnerService/WaitFlow",
    "ToolsService/ListTools",
    "ToolsService/InvokeTool",
];

/// Methods of channel adapters.
const CHANNELS: [&str; 5] = [
    "RunnerService/SendMessage",
    "DeliveryService/Subscribe",
    "RunnerService/GetRun",
    "RunnerService/WaitRun",
    "RunnerService/WatchRun",
];

/// Methods of workers.
const WORKERS: [&str; 1] = ["WorkerService/Attach"];

/// Whether the contract lets a role call a method.
fn contract(role: Role, method: &str) -> bool {
    match role {
        Role::Service => true,
        Role::Operator => !SERVICES_ONLY.contains(&method),
        Role::Agent => AGENTS.contains(&method),
        Role::Channel => CHANNELS.contains(&method),
        Role::Worker => WORKERS.contains(&method),
    }
}

#[test]
fn every_role_may_call_what_the_contract_gives_it_and_nothing_else() {
    for name in rpcs() {
        let Verdict::Roles(row) = verdict(&format!("/{name}")) else {
            panic!("{name}: no row")
        };
        // `confab.registry.v1.RegistryService/GetSession` → `RegistryService/GetSession`
        let method = name.rsplit('.').next().unwrap();
        for role in Role::ALL {
            assert_eq!(row.allows(role), contract(role, method), "{role:?} {name}");
        }
    }
}

#[test]
fn the_lists_of_this_test_name_existing_methods() {
    let rpcs = rpcs();
    let lists = [&SERVICES_ONLY[..], &AGENTS[..], &CHANNELS[..], &WORKERS[..]];
    for method in lists.into_iter().flatten() {
        assert!(rpcs.iter().any(|name| name.ends_with(method)), "{method}");
    }
}
