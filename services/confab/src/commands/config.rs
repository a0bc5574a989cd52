//! `confab config …`

use std::path::PathBuf;

use confab_config::check::{LoadError, Problem, Warning};
use confab_config::source::ReadError;
use confab_config::{Effective, Source, load};
use serde_json::{Value, json};

use crate::cli::server::ConfigCommand;
use crate::exit::{Exit, Failure};
use crate::render::json::Fields;
use crate::render::paint::{Paint, Tone};
use crate::render::screen::Screen;
use crate::render::table::{Column, Field, render};
use crate::render::text;

/// Does what was typed.
///
/// # Errors
/// When the file cannot be read.
pub fn run(command: ConfigCommand, screen: &mut Screen) -> Result<Exit, Failure> {
    let ConfigCommand::Check { file, effective } = command;
    let mut report = check(file)?;
    if !effective {
        report.effective = None;
    }
    screen.show(|| report.record(), |paint, _| report.tell(paint))?;
    Ok(if report.problems.is_empty() {
        Exit::Done
    } else {
        Exit::Refused
    })
}

/// What there is to say about a file.
struct Report {
    file: String,
    problems: Vec<Told>,
    warnings: Vec<Warning>,
    /// What `/readyz` would show; absent with problems.
    fingerprint: Option<String>,
    /// Every setting in force; absent with problems, and where nobody asked.
    effective: Option<Vec<Effective>>,
}

/// A problem for people and for programs.
struct Told {
    line: String,
    record: Value,
}

/// Checks a file as the services would read it, the `CONFAB__…` variables of this environment
/// included.
fn check(file: PathBuf) -> Result<Report, Failure> {
    let name = file.display().to_string();
    match load(&Source::of_process(Some(file))) {
        Ok(loaded) => Ok(Report {
            file: name,
            problems: Vec::new(),
            effective: Some(loaded.effective()),
            warnings: loaded.warnings,
            fingerprint: Some(loaded.settings.fingerprint),
        }),
        Err(LoadError::Invalid(problems)) => Ok(Report {
            file: name,
            problems: problems.list().iter().map(told).collect(),
            warnings: Vec::new(),
            fingerprint: None,
            effective: None,
        }),
        Err(LoadError::Read(error @ ReadError::Syntax { .. })) => {
            let failure = Failure::broken("syntax", &error);
            let record = json!({ "path": "", "problem": "syntax", "message": failure.message });
            Ok(Report {
                file: name,
                problems: vec![Told {
                    line: failure.message,
                    record,
                }],
                warnings: Vec::new(),
                fingerprint: None,
                effective: None,
            })
        },
        Err(LoadError::Read(
            error @ (ReadError::Unreadable { .. } | ReadError::TooLarge { .. }),
        )) => Err(Failure::broken("the file cannot be checked", &error)),
    }
}

fn told(problem: &Problem) -> Told {
    let record = Fields::new()
        .put("path", problem.path.as_str())
        .put("problem", problem.class.as_str())
        .put_some(
            "given",
            Some(problem.given.as_str()).filter(|given| !given.is_empty()),
        )
        .put("allowed", problem.allowed.as_str())
        .put_some("nearest", problem.nearest.as_deref())
        .put("message", problem.to_string());
    Told {
        line: problem.to_string(),
        record: record.into(),
    }
}

impl Report {
    fn record(&self) -> Value {
        let warnings = self.warnings.iter();
        let warnings =
            warnings.map(|warning| json!({ "path": warning.path, "message": warning.message }));
        Fields::new()
            .put("ok", self.problems.is_empty())
            .put(
                "problems",
                self.problems
                    .iter()
                    .map(|one| one.record.clone())
                    .collect::<Vec<_>>(),
            )
            .put("warnings", warnings.collect::<Vec<_>>())
            .put_some("config", self.fingerprint.as_deref())
            .put_some("effective", self.effective.as_deref().map(settings))
            .into()
    }

    fn tell(&self, paint: Paint) -> String {
        let mut lines = Vec::with_capacity(self.problems.len() + self.warnings.len() + 2);
        lines.extend(self.effective.as_deref().map(|keys| table(keys, paint)));
        for problem in &self.problems {
            lines.push(format!(
                "{} {}",
                paint.tone(Tone::Bad, "problem"),
                text::line(&problem.line)
            ));
        }
        for warning in &self.warnings {
            let message = text::line(&warning.message);
            lines.push(format!("{} {message}", paint.tone(Tone::Busy, "warning")));
        }
        let file = text::line(&self.file);
        lines.push(match (&self.fingerprint, self.problems.len()) {
            (Some(fingerprint), _) => {
                format!(
                    "{} {file} (config: {fingerprint})",
                    paint.tone(Tone::Good, "ok")
                )
            },
            (None, 1) => format!("{file} cannot be used: 1 problem"),
            (None, count) => format!("{file} cannot be used: {count} problems"),
        });
        lines.join("\n")
    }
}

/// The settings for programs.
///
/// Source: B212.
fn settings(keys: &[Effective]) -> Vec<Value> {
    let record =
        |key: &Effective| json!({ "path": key.path, "value": key.value, "default": key.default });
    keys.iter().map(record).collect()
}

/// The settings for people; what the file leaves to a default is marked.
fn table(keys: &[Effective], paint: Paint) -> String {
    let columns = [
        Column::key("PATH", 52),
        Column::text("VALUE", 37),
        Column::text("", 7),
    ];
    let rows = keys.iter().map(|key| {
        let mark = if key.default { "default" } else { "" };
        vec![
            Field::plain(key.path.as_str()),
            Field::plain(key.value.to_string()),
            Field::toned(Tone::Quiet, mark),
        ]
    });
    render(&columns, rows.collect(), paint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::table::COLUMNS;

    #[test]
    fn settings_fit_and_defaults_are_marked_b212() {
        let keys = [
            Effective {
                path: "agents.defaults.subagents.archiveAfterMinutes".to_owned(),
                value: json!(60),
                default: true,
            },
            Effective {
                path: "x".repeat(90),
                value: json!("界\u{1b}[2J".repeat(60)),
                default: false,
            },
        ];
        let told = table(&keys, Paint::new(false));
        let lines: Vec<&str> = told.lines().collect();
        assert!(
            lines[1].contains("  60 ") && lines[1].ends_with("default"),
            "{told}"
        );
        assert!(!lines[2].ends_with("default"), "{told}");
        for line in lines {
            assert!(text::width(line) <= COLUMNS, "{line}");
            assert!(!line.contains('\u{1b}'), "{line:?}");
        }
        assert_eq!(
            settings(&keys)[0],
            json!({
                "path": "agents.defaults.subagents.archiveAfterMinutes",
                "value": 60,
                "default": true,
            })
        );
    }
}
