//! House rules that no lint knows: how long a file may be, what nothing is called, what is never
//! committed, and that every decision the code cites is written down.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use regex::Regex;

/// Most lines of a Rust source file.
const FILE_LINES_MAX: usize = 600;

/// Most lines of ARCHITECTURE.md.
const ARCHITECTURE_LINES_MAX: usize = 150;

/// Names that say nothing about what is inside, for a file (without its ending) or a directory.
const EMPTY_NAMES: [&str; 7] = [
    "util", "utils", "common", "helper", "helpers", "misc", "mod",
];

/// Marks of work that is not done or a test that does not count. Put together from two halves, so
/// that this file does not find itself.
const UNFINISHED: [&str; 4] = [
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("#[", "ignore"),
    concat!("#[", "should_panic"),
];

/// How the code cites a decision: a letter D and its number, or a fact behind `reg` or `run` and a
/// colon. A range is matched whole and so never has an entry: each id is cited by itself.
const CITATION: &str = r"\b(?:(?:reg|run):[A-Z][0-9]{1,3}|D[0-9]{1,2})(?:-[A-Z][0-9]{1,3})?\b";

/// How docs/decisions.md begins an entry.
const ENTRY: &str = r"(?m)^- \*\*([^*\s]+)\*\*";

/// A text file of the repository, its path relative to the root.
#[derive(Debug)]
struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    fn new(path: &str, text: impl Into<String>) -> Self {
        Self {
            path: PathBuf::from(path),
            text: text.into(),
        }
    }
}

fn too_long(source: &Source) -> Option<String> {
    let lines = source.text.lines().count();
    (lines > FILE_LINES_MAX).then(|| {
        format!(
            "{}: {lines} lines, at most {FILE_LINES_MAX}: split it",
            source.path.display()
        )
    })
}

/// Says which part of the path has a name from `EMPTY_NAMES`.
fn empty_name(path: &Path) -> Option<String> {
    path.iter()
        .filter_map(|part| Path::new(part).file_stem()?.to_str())
        .find(|stem| EMPTY_NAMES.contains(stem))
        .map(|stem| format!("{}: '{stem}' does not say what is inside", path.display()))
}

fn unfinished(source: &Source) -> Vec<String> {
    source
        .text
        .lines()
        .zip(1_usize..)
        .flat_map(|(line, number)| {
            UNFINISHED
                .iter()
                .filter(move |mark| line.contains(*mark))
                .map(move |mark| format!("{}:{number}: {mark}", source.path.display()))
        })
        .collect()
}

/// Names each citation in the source that has no entry among the `documented` ids.
fn undocumented(source: &Source, citation: &Regex, documented: &BTreeSet<String>) -> Vec<String> {
    source
        .text
        .lines()
        .zip(1_usize..)
        .flat_map(|(line, number)| {
            citation
                .find_iter(line)
                .map(|found| found.as_str())
                .filter(|id| !documented.contains(*id))
                .map(move |id| format!("{}:{number}: {id}", source.path.display()))
        })
        .collect()
}

fn documented_ids(decisions: &str) -> anyhow::Result<BTreeSet<String>> {
    let entry = Regex::new(ENTRY)?;
    Ok(entry
        .captures_iter(decisions)
        .map(|found| found[1].to_owned())
        .collect())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(name: &str) -> anyhow::Result<String> {
    fs::read_to_string(root().join(name)).with_context(|| format!("{name} cannot be read"))
}

/// Every file of the repository, sorted. What git ignores (build output, data) and what is hidden
/// stays out.
fn paths() -> anyhow::Result<BTreeSet<PathBuf>> {
    let root = root();
    let mut found = BTreeSet::new();
    let mut directories = vec![root.clone()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == "target"
                || name == "confab-data"
                || name.as_encoded_bytes().starts_with(b".")
            {
                continue;
            }
            if entry.file_type()?.is_dir() {
                directories.push(entry.path());
            } else {
                found.insert(entry.path().strip_prefix(&root)?.to_owned());
            }
        }
    }
    Ok(found)
}

fn sources(extensions: &[&str]) -> anyhow::Result<Vec<Source>> {
    let mut found = Vec::new();
    for path in paths()? {
        if path
            .extension()
            .is_some_and(|own| extensions.iter().any(|extension| own == *extension))
        {
            let text = fs::read_to_string(root().join(&path))
                .with_context(|| format!("{} cannot be read", path.display()))?;
            found.push(Source { path, text });
        }
    }
    Ok(found)
}

#[test]
fn no_source_file_is_longer_than_six_hundred_lines() -> anyhow::Result<()> {
    let sources = sources(&["rs"])?;
    assert!(
        sources
            .iter()
            .any(|source| source.path == Path::new("tests/tests/house.rs"))
    );
    let found: Vec<String> = sources.iter().filter_map(too_long).collect();
    assert_eq!(found, Vec::<String>::new());
    Ok(())
}

#[test]
fn a_file_of_six_hundred_and_one_lines_is_found() {
    assert_eq!(
        too_long(&Source::new("a.rs", "x\n".repeat(FILE_LINES_MAX))),
        None
    );
    assert!(too_long(&Source::new("a.rs", "x\n".repeat(FILE_LINES_MAX + 1))).is_some());
}

#[test]
fn every_name_says_what_is_inside() -> anyhow::Result<()> {
    let found: Vec<String> = paths()?
        .iter()
        .filter_map(|path| empty_name(path))
        .collect();
    assert_eq!(found, Vec::<String>::new());
    Ok(())
}

#[test]
fn an_empty_name_is_found_in_a_file_and_in_a_directory() {
    for path in [
        "shared/rpc/src/gate/mod.rs",
        "tests/common/server.rs",
        "shared/text/src/utils.rs",
    ] {
        assert!(empty_name(Path::new(path)).is_some(), "{path}");
    }
    assert_eq!(empty_name(Path::new("shared/model/src/key.rs")), None);
}

#[test]
fn nothing_unfinished_is_committed() -> anyhow::Result<()> {
    let found: Vec<String> = sources(&["rs"])?.iter().flat_map(unfinished).collect();
    assert_eq!(found, Vec::<String>::new());
    Ok(())
}

#[test]
fn an_unfinished_place_is_found_with_its_line() {
    for mark in UNFINISHED {
        let source = Source::new("a.rs", format!("fn later() {{\n    {mark}"));
        assert_eq!(unfinished(&source), [format!("a.rs:2: {mark}")]);
    }
}

#[test]
fn every_decision_the_code_cites_is_written_down() -> anyhow::Result<()> {
    let documented = documented_ids(&read("docs/decisions.md")?)?;
    let citation = Regex::new(CITATION)?;
    let found: Vec<String> = sources(&["rs", "proto"])?
        .iter()
        .flat_map(|source| undocumented(source, &citation, &documented))
        .collect();
    assert!(
        found.is_empty(),
        "no entry in docs/decisions.md for:\n{}",
        found.join("\n")
    );
    Ok(())
}

#[test]
fn a_citation_without_an_entry_is_found() -> anyhow::Result<()> {
    let fact = concat!("reg", ":K5");
    let documented = documented_ids("- **D31** A reply loop.\n\n  See **D32**.\n")?;
    let source = Source::new(
        "a.rs",
        format!("/// Source: D31, D32\n/// Source: `{fact}-K7`, HD50."),
    );
    let expected = ["a.rs:1: D32".to_owned(), format!("a.rs:2: {fact}-K7")];
    assert_eq!(
        undocumented(&source, &Regex::new(CITATION)?, &documented),
        expected
    );
    Ok(())
}

#[test]
fn the_map_of_the_house_stays_short() -> anyhow::Result<()> {
    let lines = read("ARCHITECTURE.md")?.lines().count();
    assert!(
        lines <= ARCHITECTURE_LINES_MAX,
        "ARCHITECTURE.md has {lines} lines, at most {ARCHITECTURE_LINES_MAX}"
    );
    Ok(())
}
