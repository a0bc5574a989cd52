//! `confab config …`

use std::path::PathBuf;

use confab_config::check::{LoadError, Loaded, Problem, Warning};
use confab_config::source::ReadError;
use confab_config::{Source, load};
use serde_json::{Value, json};

use crate::cli::server::ConfigCommand;
use crate::exit::{Exit, Failure};
use crate::render::json::Fields;
use crate::render::paint::{Paint, Tone};
use crate::render::screen::Screen;
use crate::render::text;

/// Does what was typed.
///
/// # Errors
/// When the file cannot be read.
pub fn run(command: ConfigCommand, screen: &mut Screen) -> Result<Exit, Failure> {
    let ConfigCommand::Check { file } = command;
    let report = check(file)?;
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
        Ok(Loaded {
            settings, warnings, ..
        }) => Ok(Report {
            file: name,
            problems: Vec::new(),
            warnings,
            fingerprint: Some(settings.fingerprint),
        }),
        Err(LoadError::Invalid(problems)) => Ok(Report {
            file: name,
            problems: problems.list().iter().map(told).collect(),
            warnings: Vec::new(),
            fingerprint: None,
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
            .into()
    }

    fn tell(&self, paint: Paint) -> String {
        let mut lines = Vec::with_capacity(self.problems.len() + self.warnings.len() + 1);
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
