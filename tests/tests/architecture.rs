//! Keeps the crates in their rooms: who may use whom, what a pure crate may take from outside, and
//! that versions stand in the root manifest alone. Reads manifests only, so it needs none of our
//! crates and no network.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

/// Every crate of the workspace with the crates of the workspace that it may use, tests included.
/// The direction is `model ← policy, flow, text ← config ← rpc ← tools ← services`.
const MAY_USE: &[(&str, &[&str])] = &[
    ("confab-proto", &[]),
    ("confab-model", &["confab-vectors"]),
    ("confab-policy", &["confab-model", "confab-vectors"]),
    ("confab-flow", &["confab-model", "confab-vectors"]),
    ("confab-text", &["confab-model", "confab-vectors"]),
    (
        "confab-config",
        &[
            "confab-model",
            "confab-policy",
            "confab-text",
            "confab-vectors",
        ],
    ),
    ("confab-store", &["confab-model"]),
    ("confab-telemetry", &[]),
    ("confab-vectors", &[]),
    (
        "confab-rpc",
        &[
            "confab-proto",
            "confab-model",
            "confab-policy",
            "confab-config",
            "confab-telemetry",
        ],
    ),
    (
        "confab-tools",
        &[
            "confab-proto",
            "confab-model",
            "confab-text",
            "confab-config",
            "confab-rpc",
            "confab-vectors",
        ],
    ),
    // What benchmarks share knows no service.
    (
        "confab-bench",
        &["confab-config", "confab-rpc", "confab-telemetry"],
    ),
    (
        "confab-registry",
        &[
            "confab-bench",
            "confab-proto",
            "confab-model",
            "confab-policy",
            "confab-config",
            "confab-rpc",
            "confab-store",
            "confab-telemetry",
            "confab-vectors",
        ],
    ),
    (
        "confab-transcript",
        &[
            "confab-bench",
            "confab-proto",
            "confab-model",
            "confab-policy",
            "confab-text",
            "confab-config",
            "confab-rpc",
            "confab-store",
            "confab-telemetry",
            "confab-vectors",
        ],
    ),
    (
        "confab-runner",
        &[
            "confab-proto",
            "confab-model",
            "confab-policy",
            "confab-flow",
            "confab-text",
            "confab-config",
            "confab-rpc",
            "confab-store",
            "confab-telemetry",
            "confab-tools",
            "confab-vectors",
        ],
    ),
    (
        "confab",
        &[
            "confab-proto",
            "confab-model",
            "confab-config",
            "confab-rpc",
            "confab-store",
            "confab-telemetry",
            "confab-tools",
            "confab-registry",
            "confab-transcript",
            "confab-runner",
        ],
    ),
    // The wire form alone: any client in the world generates the same types.
    ("confab-tests", &["confab-proto"]),
    // Feeds bytes to what reads them, wherever that is; nobody uses it.
    (
        "confab-fuzz",
        &[
            "confab-model",
            "confab-text",
            "confab-transcript",
            "confab-vectors",
        ],
    ),
];

/// The crates that decide and do nothing else: no I/O, no clock, no randomness.
const PURE: [&str; 4] = [
    "confab-model",
    "confab-policy",
    "confab-flow",
    "confab-text",
];

/// What a pure crate may take from outside the workspace. A runtime, a transport, a database and a
/// source of chance are absent by design; a new line here has to be as harmless as these.
const PURE_MAY_TAKE: [&str; 9] = [
    "aho-corasick",
    "memchr",
    "regex",
    "serde",
    "serde_json",
    "sha2",
    "thiserror",
    "unicode-segmentation",
    "uuid",
];

/// The crates that serve tests and benchmarks alone: the vectors with their reader, and what
/// benchmarks share.
const TESTS_ALONE: [&str; 2] = ["confab-vectors", "confab-bench"];

const SERVICES: [&str; 3] = ["confab-registry", "confab-transcript", "confab-runner"];

/// The tables of a manifest that list dependencies.
const DEPENDENCY_TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// One line of a manifest: `from` depends on `to`.
#[derive(Debug, Clone)]
struct Edge {
    from: String,
    to: String,
    kind: DependencyKind,
}

/// Says what is wrong with each edge between two crates of the workspace that `may_use` lacks.
fn forbidden_edges(edges: &[Edge], may_use: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<String> {
    let ours = |name: &str| may_use.contains_key(name);
    let allowed = |edge: &Edge| {
        may_use
            .get(edge.from.as_str())
            .is_some_and(|users| users.contains(edge.to.as_str()))
    };
    edges
        .iter()
        .filter(|edge| ours(&edge.to) && !allowed(edge))
        .map(|edge| format!("{} must not use {} ({:?})", edge.from, edge.to, edge.kind))
        .collect()
}

/// Says what a pure crate takes from outside that `PURE_MAY_TAKE` lacks; its tests are free.
fn impure_edges(edges: &[Edge], may_use: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<String> {
    edges
        .iter()
        .filter(|edge| PURE.contains(&edge.from.as_str()))
        .filter(|edge| edge.kind != DependencyKind::Development)
        .filter(|edge| !may_use.contains_key(edge.to.as_str()))
        .filter(|edge| !PURE_MAY_TAKE.contains(&edge.to.as_str()))
        .map(|edge| format!("{} is pure and must not use {}", edge.from, edge.to))
        .collect()
}

/// Names each crate that takes one of `TESTS_ALONE` for more than its tests and benchmarks.
fn outside_tests(edges: &[Edge]) -> Vec<String> {
    edges
        .iter()
        .filter(|edge| TESTS_ALONE.contains(&edge.to.as_str()))
        .filter(|edge| edge.kind != DependencyKind::Development)
        .map(|edge| format!("{} must not use {} outside its tests", edge.from, edge.to))
        .collect()
}

/// Names each dependency of a member's manifest that does not take its version from the root.
fn dependencies_of_their_own(manifest: &toml::Table) -> Vec<String> {
    let by_target = manifest
        .get("target")
        .and_then(toml::Value::as_table)
        .into_iter()
        .flat_map(toml::Table::values)
        .filter_map(toml::Value::as_table);
    std::iter::once(manifest)
        .chain(by_target)
        .flat_map(|scope| DEPENDENCY_TABLES.iter().filter_map(|name| scope.get(*name)))
        .filter_map(toml::Value::as_table)
        .flatten()
        .filter(|(_, value)| !inherits(value))
        .map(|(name, _)| name.clone())
        .collect()
}

fn inherits(dependency: &toml::Value) -> bool {
    dependency.get("workspace").and_then(toml::Value::as_bool) == Some(true)
}

fn may_use() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    MAY_USE
        .iter()
        .map(|(name, used)| (*name, used.iter().copied().collect()))
        .collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn workspace() -> anyhow::Result<Metadata> {
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .other_options(["--locked".to_owned(), "--offline".to_owned()])
        .exec()
        .context("cargo metadata failed")
}

fn edges(workspace: &Metadata) -> Vec<Edge> {
    let of_package = |package: &cargo_metadata::Package| {
        let from = package.name.to_string();
        package
            .dependencies
            .iter()
            .map(|dependency| Edge {
                from: from.clone(),
                to: dependency.name.clone(),
                kind: dependency.kind,
            })
            .collect::<Vec<_>>()
    };
    workspace.packages.iter().flat_map(of_package).collect()
}

fn edge(from: &str, to: &str, kind: DependencyKind) -> Edge {
    Edge {
        from: from.to_owned(),
        to: to.to_owned(),
        kind,
    }
}

#[test]
fn no_crate_uses_another_against_the_direction() -> anyhow::Result<()> {
    let edges = edges(&workspace()?);
    assert!(
        edges
            .iter()
            .any(|edge| edge.from == "confab-policy" && edge.to == "confab-model"),
        "the manifests were not read: policy builds on model"
    );
    assert_eq!(forbidden_edges(&edges, &may_use()), Vec::<String>::new());
    Ok(())
}

#[test]
fn an_edge_against_the_direction_is_found() {
    let planted = [
        edge("confab-policy", "confab-model", DependencyKind::Normal),
        edge("confab-model", "confab-rpc", DependencyKind::Normal),
        edge(
            "confab-transcript",
            "confab-registry",
            DependencyKind::Development,
        ),
        edge("confab-newcomer", "confab-model", DependencyKind::Build),
    ];
    let expected = [
        "confab-model must not use confab-rpc (Normal)",
        "confab-transcript must not use confab-registry (Development)",
        "confab-newcomer must not use confab-model (Build)",
    ];
    assert_eq!(forbidden_edges(&planted, &may_use()), expected);
}

#[test]
fn the_table_has_a_row_for_every_crate_and_no_other() -> anyhow::Result<()> {
    let members: BTreeSet<String> = workspace()?
        .packages
        .iter()
        .map(|package| package.name.to_string())
        .collect();
    let rows: BTreeSet<String> = MAY_USE.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(members, rows);
    Ok(())
}

#[test]
fn the_table_lets_only_the_binary_for_people_and_the_fuzz_targets_use_a_service() {
    let users: Vec<&str> = MAY_USE
        .iter()
        .filter(|(_, used)| used.iter().any(|name| SERVICES.contains(name)))
        .map(|(name, _)| *name)
        .collect();
    assert_eq!(users, ["confab", "confab-fuzz"]);
}

#[test]
fn a_pure_crate_takes_nothing_that_does_io_keeps_time_or_rolls_dice() -> anyhow::Result<()> {
    assert_eq!(
        impure_edges(&edges(&workspace()?), &may_use()),
        Vec::<String>::new()
    );
    Ok(())
}

#[test]
fn an_impure_dependency_of_a_pure_crate_is_found() {
    let planted = [
        edge("confab-flow", "tokio", DependencyKind::Normal),
        edge("confab-text", "rand", DependencyKind::Build),
        edge("confab-text", "proptest", DependencyKind::Development),
        edge("confab-store", "sqlx", DependencyKind::Normal),
        edge("confab-model", "serde", DependencyKind::Normal),
    ];
    let expected = [
        "confab-flow is pure and must not use tokio",
        "confab-text is pure and must not use rand",
    ];
    assert_eq!(impure_edges(&planted, &may_use()), expected);
}

#[test]
fn vectors_and_benchmarks_serve_tests_alone() -> anyhow::Result<()> {
    let edges = edges(&workspace()?);
    for name in TESTS_ALONE {
        assert!(
            edges.iter().any(|edge| edge.to == name),
            "nobody uses {name}"
        );
    }
    assert_eq!(outside_tests(&edges), Vec::<String>::new());
    Ok(())
}

#[test]
fn what_serves_tests_is_found_outside_them() {
    let planted = [
        edge(
            "confab-model",
            "confab-vectors",
            DependencyKind::Development,
        ),
        edge("confab-flow", "confab-vectors", DependencyKind::Normal),
        edge("confab-text", "confab-vectors", DependencyKind::Build),
        edge("confab-registry", "confab-bench", DependencyKind::Normal),
    ];
    let expected = [
        "confab-flow must not use confab-vectors outside its tests",
        "confab-text must not use confab-vectors outside its tests",
        "confab-registry must not use confab-bench outside its tests",
    ];
    assert_eq!(outside_tests(&planted), expected);
}

#[test]
fn versions_stand_in_the_root_manifest_alone() -> anyhow::Result<()> {
    for package in &workspace()?.packages {
        let manifest: toml::Table = fs::read_to_string(&package.manifest_path)?
            .parse()
            .with_context(|| format!("{} is not TOML", package.manifest_path))?;
        let own = dependencies_of_their_own(&manifest);
        assert_eq!(
            own,
            Vec::<String>::new(),
            "in the manifest of {}",
            package.name
        );
    }
    Ok(())
}

#[test]
fn a_version_in_a_member_is_found_in_every_table() -> anyhow::Result<()> {
    let planted: toml::Table = r#"
        [dependencies]
        serde = { workspace = true, features = ["rc"] }
        tokio = "1"
        [dev-dependencies.proptest]
        version = "1"
        [build-dependencies]
        confab-model = { path = "../model" }
        [target.'cfg(unix)'.dependencies]
        libc = { version = "0.2" }
    "#
    .parse()?;
    let mut found = dependencies_of_their_own(&planted);
    found.sort();
    assert_eq!(found, ["confab-model", "libc", "proptest", "tokio"]);
    Ok(())
}
