//! The binaries under test: built by cargo once a run, then kept under names of their own.
//!
//! Cargo builds no other package's binaries for a test, so this module asks it to. The command names
//! the same packages, target directory and profile as `cargo test --workspace`, and one test target,
//! which makes cargo join the features of the development dependencies too. So everything is shared
//! with what that command has built before: nothing is left to do but to compare time stamps (about
//! half a second), and a binary is never older than its sources.
//!
//! Crash tests need the binaries with the feature `failpoints`. It concerns the store and the crates
//! on top of it only (under a minute on two cores, once), and cargo keeps both variants of those
//! beside one another; the one place they would fight for is `<profile>/<name>`. So the variant with
//! crash points is built first, the plain one last, and each binary gets a hard link in
//! `<profile>/black-box/<variant>/`, which is what the tests start.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context as _, bail};
use serde_json::Value;

/// Variables that cargo sets for the test that it runs. A cargo that a test starts must not see
/// them: build scripts would run again because one of them changed.
const OF_THE_OUTER_CARGO: [&str; 5] = [
    "CARGO_MANIFEST_",
    "CARGO_PKG_",
    "CARGO_CRATE_",
    "CARGO_PRIMARY_PACKAGE",
    "LD_LIBRARY_PATH",
];

/// How binaries are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variant {
    /// As everybody else compiles them.
    Plain,
    /// With the points at which `FAILPOINTS` lets a process die.
    Failpoints,
}

impl Variant {
    const fn directory(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Failpoints => "failpoints",
        }
    }

    const fn features(self) -> &'static [&'static str] {
        match self {
            Self::Plain => &[],
            Self::Failpoints => &["--features", "confab/failpoints"],
        }
    }
}

/// The file of the binary `name` in this variant, as new as its sources.
///
/// # Errors
/// When the workspace cannot be compiled, or has no such binary.
pub fn find(variant: Variant, name: &str) -> anyhow::Result<PathBuf> {
    static PLAIN: OnceLock<Result<Binaries, String>> = OnceLock::new();
    static FAILPOINTS: OnceLock<Result<Binaries, String>> = OnceLock::new();
    let built = match variant {
        Variant::Plain => PLAIN.get_or_init(|| told(build(&[Variant::Plain]))),
        Variant::Failpoints => {
            FAILPOINTS.get_or_init(|| told(build(&[Variant::Failpoints, Variant::Plain])))
        },
    };
    match built {
        Ok(binaries) => binaries
            .get(&(variant, name.to_owned()))
            .cloned()
            .with_context(|| format!("the workspace has no binary {name}")),
        Err(reason) => bail!("the binaries could not be built: {reason}"),
    }
}

type Binaries = BTreeMap<(Variant, String), PathBuf>;

/// An error that can be told to every test that needed the binaries.
fn told(built: anyhow::Result<Binaries>) -> Result<Binaries, String> {
    built.map_err(|error| format!("{error:#}"))
}

/// Builds the variants in this order. Test programs that run at the same time take turns.
fn build(variants: &[Variant]) -> anyhow::Result<Binaries> {
    let place = Place::of_this_test()?;
    let directory = place.profile_directory.join("black-box");
    fs::create_dir_all(&directory)?;
    let turn = File::create(directory.join("build.lock"))?;
    turn.lock()?;
    let mut found = Binaries::new();
    for variant in variants {
        let kept = directory.join(variant.directory());
        fs::create_dir_all(&kept)?;
        for (name, executable) in compile(&place, *variant)? {
            let link = kept.join(&name);
            replace_link(&executable, &link)?;
            found.insert((*variant, name), link);
        }
    }
    Ok(found)
}

/// Where this test's own program lies: `<target>/<profile>/deps/<program>`.
struct Place {
    target_directory: PathBuf,
    profile_directory: PathBuf,
    profile: String,
}

impl Place {
    fn of_this_test() -> anyhow::Result<Self> {
        let program = std::env::current_exe()?;
        let profile_directory = program
            .ancestors()
            .nth(2)
            .context("the test lies nowhere")?;
        let target_directory = profile_directory.parent().context("no target directory")?;
        let directory = profile_directory.file_name().and_then(OsStr::to_str);
        let profile = match directory.context("the profile's directory has no name")? {
            "debug" => "dev",
            other => other,
        };
        Ok(Self {
            target_directory: target_directory.to_owned(),
            profile_directory: profile_directory.to_owned(),
            profile: profile.to_owned(),
        })
    }
}

/// Lets cargo build every binary and returns where each is.
fn compile(place: &Place, variant: Variant) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut cargo = Command::new(env!("CARGO"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy().into_owned();
        if OF_THE_OUTER_CARGO
            .iter()
            .any(|prefix| text.starts_with(prefix))
        {
            cargo.env_remove(name);
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    cargo
        .current_dir(root)
        .args([
            "build",
            "--workspace",
            "--locked",
            "--bins",
            "--test",
            "architecture",
        ])
        .args(["--message-format", "json-render-diagnostics"])
        .args(["--profile", &place.profile])
        .args(variant.features())
        .arg("--target-dir")
        .arg(&place.target_directory)
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    let output = cargo.output().context("cargo cannot be started")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(executable)
        .collect())
}

/// The binary that a line of cargo's report is about.
fn executable(line: &str) -> Option<(String, PathBuf)> {
    let report: Value = serde_json::from_str(line).ok()?;
    let kind = report.pointer("/target/kind/0")?.as_str()?;
    let name = report.pointer("/target/name")?.as_str()?;
    let executable = report.get("executable")?.as_str()?;
    (kind == "bin").then(|| (name.to_owned(), PathBuf::from(executable)))
}

/// Makes `link` another name of `file`. A program that runs under the old link is left alone.
fn replace_link(file: &Path, link: &Path) -> anyhow::Result<()> {
    if link.exists() {
        fs::remove_file(link)?;
    }
    fs::hard_link(file, link)
        .with_context(|| format!("{} cannot be linked to {}", file.display(), link.display()))
}
