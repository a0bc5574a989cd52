//! `confab import …`: sessions and transcripts of another system, by the services' own calls.
//!
//! A session goes in before its transcripts, and a spawner before whom it spawned. Whatever is stored
//! already is met again and not stored twice, so an import that was cut short is started once more.
//!
//! Source: contract (Command line), B205.

mod progress;
mod rehearsal;
mod report;
mod tell;
mod upload;

use confab_model::id::AgentId;
use confab_proto::registry::v1::{ImportOutcome, ImportSessionRequest, ImportSessionResponse};
use confab_rpc::error::Reason;

use self::progress::Progress;
use self::rehearsal::Rehearsal;
use self::report::{Counts, FileReport, FileState, Outcome, Report, SessionReport};
use self::upload::Upload;
use crate::cli::import::{ImportCommand, ImportOpenclaw};
use crate::connect::{Services, answer};
use crate::exit::{Exit, Failure};
use crate::openclaw::plan::{self, Plan, Planned};
use crate::openclaw::source::Source;
use crate::render::screen::Screen;

/// Imports what was typed.
///
/// # Errors
/// When nothing is found, a service cannot be reached, or the caller may not.
pub async fn run(
    services: &Services,
    command: ImportCommand,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    match command {
        ImportCommand::Openclaw(args) => openclaw(services, args, screen).await,
    }
}

async fn openclaw(
    services: &Services,
    args: ImportOpenclaw,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let plan = plan::of(&args.dir).await.map_err(|error| {
        Failure::usage(error.to_string())
            .hint("name the directory that OpenClaw keeps its state in")
    })?;
    let Plan {
        agents,
        sessions,
        faults,
        passed_over,
        fields,
    } = plan;
    let mut import = Import {
        services,
        replace: args.replace,
        rehearsal: args.dry_run.then(Rehearsal::default),
        progress: Progress::of(&sessions),
        report: Report {
            dry_run: args.dry_run,
            complete: true,
            broken: false,
            agents,
            sessions: Vec::new(),
            files: Vec::new(),
            faults,
            passed_over,
            fields,
        },
    };
    let done = Box::pin(import.all(sessions)).await;
    let report = import.end().await;
    conclude(report, done, screen)
}

/// Shows what became of everything. Where it broke off, that is what went in until then, if anything
/// was tried; and then why.
fn conclude(
    mut report: Report,
    done: Result<(), Failure>,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    report.complete = done.is_ok();
    if report.complete || !report.sessions.is_empty() {
        screen.show(|| report.record(), |paint, _| tell::tell(&report, paint))?;
    }
    done.map_err(resumable)?;
    Ok(report.exit())
}

/// An import under way.
struct Import<'a> {
    services: &'a Services,
    replace: bool,
    /// Only in a dry run.
    rehearsal: Option<Rehearsal>,
    progress: Progress,
    report: Report,
}

impl Import<'_> {
    async fn all(&mut self, sessions: Vec<Planned>) -> Result<(), Failure> {
        for planned in sessions {
            self.session(planned).await?;
        }
        Ok(())
    }

    /// What became of it, however far it got.
    async fn end(self) -> Report {
        self.progress.end();
        if let Some(rehearsal) = self.rehearsal {
            rehearsal.end().await;
        }
        self.report
    }

    /// Brings in one session with all that was said in it.
    async fn session(&mut self, planned: Planned) -> Result<(), Failure> {
        self.progress.session(&planned.session.key);
        let answered = self.ask(&planned).await;
        let (outcome, answered) = match answered {
            Ok(answered) => (outcome_of(&answered)?, answered),
            Err(failure) if ends_everything(&failure) => return Err(failure),
            Err(failure) => {
                self.report.note(&failure);
                let left_out = vec![failure_in_one_line(&failure)];
                (
                    Outcome::Refused,
                    ImportSessionResponse {
                        left_out,
                        ..ImportSessionResponse::default()
                    },
                )
            },
        };
        let stored_key = stored_key(&answered, &planned);
        self.report.sessions.push(SessionReport {
            key: planned.session.key.clone(),
            session_id: planned.session.session_id.clone(),
            file: planned.file.clone(),
            outcome,
            differences: answered.differences,
            left_out: [planned.left_out.as_slice(), &answered.left_out].concat(),
            unclaimed: planned.unclaimed,
            transcripts: planned.sources.len(),
        });
        for source in &planned.sources {
            self.file(source, &planned, &stored_key, outcome).await?;
            self.progress.file(source.bytes);
        }
        Ok(())
    }

    async fn ask(&mut self, planned: &Planned) -> Result<ImportSessionResponse, Failure> {
        let request = ImportSessionRequest {
            session: Some(planned.session.clone()),
            earlier_session_ids: planned.earlier.clone(),
            replace: self.replace,
            dry_run: self.report.dry_run,
        };
        let mut registry = self.services.registry();
        match &mut self.rehearsal {
            None => answer(registry.import_session(request).await),
            Some(rehearsal) => {
                let answered = registry.import_session(rehearsal.asked(request)).await;
                Ok(rehearsal.foreseen(planned, answer(answered)?))
            },
        }
    }

    /// Brings in one transcript; the report has it also where everything ends with it.
    async fn file(
        &mut self,
        source: &Source,
        planned: &Planned,
        stored_key: &str,
        outcome: Outcome,
    ) -> Result<(), Failure> {
        let mut report = FileReport::of(source, &planned.session.key);
        let ended = match outcome {
            Outcome::LeftAlone | Outcome::Refused => Ok(()),
            Outcome::Created | Outcome::Unchanged | Outcome::Replaced => {
                match self.counts(source, stored_key, outcome).await {
                    Ok(counts) => {
                        report.state = FileState::Imported;
                        report.counts = counts;
                        Ok(())
                    },
                    Err(failure) => {
                        self.report.note(&failure);
                        report.state = FileState::Failed;
                        report.error = Some(failure_in_one_line(&failure));
                        if ends_everything(&failure) {
                            Err(failure)
                        } else {
                            Ok(())
                        }
                    },
                }
            },
        };
        self.report.files.push(report);
        ended
    }

    async fn counts(
        &mut self,
        source: &Source,
        key: &str,
        outcome: Outcome,
    ) -> Result<Counts, Failure> {
        let upload = Upload {
            source,
            key: key.to_owned(),
            agent: agent_of(key),
            dry_run: self.report.dry_run,
            progress: &self.progress,
        };
        let mut transcript = self.services.transcript().lasting();
        match &mut self.rehearsal {
            None => upload.run(&mut transcript).await,
            Some(rehearsal) if outcome == Outcome::Created => rehearsal.play(&upload, key).await,
            Some(rehearsal) => rehearsal.compare(&upload, key, &mut transcript).await,
        }
    }
}

/// The key that the registry stored the session under; a session that is not stored has the planned
/// one.
fn stored_key(answered: &ImportSessionResponse, planned: &Planned) -> String {
    let stored = answered.session.as_ref().map(|session| &session.key);
    stored.unwrap_or(&planned.session.key).clone()
}

/// The agent of a key, so that an earlier sessionId is never taken for another agent's.
fn agent_of(key: &str) -> Option<String> {
    let key = confab_model::key::SessionKey::parse(key).ok()?;
    key.agent_id().as_ref().map(AgentId::to_string)
}

fn outcome_of(answered: &ImportSessionResponse) -> Result<Outcome, Failure> {
    match answered.outcome() {
        ImportOutcome::Created => Ok(Outcome::Created),
        ImportOutcome::Unchanged => Ok(Outcome::Unchanged),
        ImportOutcome::Replaced => Ok(Outcome::Replaced),
        ImportOutcome::Differs => Ok(Outcome::LeftAlone),
        ImportOutcome::Unspecified => super::present(None, "the outcome"),
    }
}

/// Whether nothing that follows could go better.
fn ends_everything(failure: &Failure) -> bool {
    let is_gone = failure.reason == Some(Reason::Unavailable.as_str());
    match failure.exit {
        Exit::Forbidden | Exit::Deadline => true,
        Exit::Failed => is_gone || failure.reason.is_none(),
        Exit::Done | Exit::Usage | Exit::Refused => false,
    }
}

/// What went in before it broke stays.
fn resumable(failure: Failure) -> Failure {
    let told = "the same command goes on where it was, and stores nothing twice";
    match failure.exit {
        Exit::Failed | Exit::Deadline => {
            let hint = match &failure.hint {
                Some(hint) => format!("{hint}; {told}"),
                None => told.to_owned(),
            };
            failure.hint(hint)
        },
        Exit::Done | Exit::Usage | Exit::Forbidden | Exit::Refused => failure,
    }
}

/// A refusal with every field at fault.
fn failure_in_one_line(failure: &Failure) -> String {
    match failure.fields.as_slice() {
        [] => failure.message.clone(),
        fields => {
            let told = fields.iter().map(|one| one.description.as_str());
            told.collect::<Vec<_>>().join("; ")
        },
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use confab_rpc::error::RpcError;
    use serde_json::Value;

    use super::*;

    /// What was written, for who wants to read it later.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0
                .lock()
                .map_err(|_| io::Error::other("poisoned"))?
                .write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// How an import of so many sessions ends, and what is shown.
    fn concluded(
        sessions: usize,
        done: Result<(), Failure>,
        json: bool,
    ) -> (Result<Exit, Failure>, String) {
        let one = SessionReport {
            key: "agent:main:main".to_owned(),
            session_id: "s1".to_owned(),
            file: "sessions.json".to_owned(),
            outcome: Outcome::Created,
            differences: Vec::new(),
            left_out: Vec::new(),
            unclaimed: false,
            transcripts: 0,
        };
        let report = Report {
            sessions: vec![one; sessions],
            complete: true,
            ..Report::default()
        };
        let written = Written::default();
        let ended = conclude(report, done, &mut Screen::on(written.clone(), json));
        let shown = written.0.lock().unwrap().clone();
        (ended, String::from_utf8(shown).unwrap())
    }

    fn gone() -> Failure {
        Failure::from(RpcError::new(Reason::Unavailable, "the server is gone"))
    }

    #[test]
    fn an_import_that_broke_tells_what_went_in_and_then_why() {
        let (ended, shown) = concluded(400, Err(gone()), true);
        let report: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(report["complete"], false);
        assert_eq!(report["totals"]["sessions"]["created"], 400);
        let failure = ended.unwrap_err();
        assert_eq!(failure.exit, Exit::Failed);
        assert!(failure.hint.unwrap().contains("stores nothing twice"));

        let (ended, shown) = concluded(400, Err(gone()), false);
        assert!(
            shown.contains("400 created") && shown.contains("incomplete:"),
            "{shown}"
        );
        assert!(ended.is_err());
        let (ended, shown) = concluded(400, Ok(()), true);
        let report: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(report["complete"], true);
        assert_eq!(ended.unwrap(), Exit::Done);
    }

    #[test]
    fn an_import_that_never_began_tells_only_why() {
        for json in [true, false] {
            let (ended, shown) = concluded(0, Err(gone()), json);
            assert_eq!(
                (ended.unwrap_err().exit, shown.as_str()),
                (Exit::Failed, "")
            );
        }
    }

    #[test]
    fn an_import_that_broke_says_that_it_can_be_started_again() {
        for exit in [Exit::Failed, Exit::Deadline] {
            let bare = resumable(Failure::new(exit, "gone"));
            assert!(
                bare.hint
                    .is_some_and(|hint| hint.starts_with("the same command"))
            );
            let hinted = resumable(Failure::new(exit, "gone").hint("look there"));
            assert!(
                hinted
                    .hint
                    .is_some_and(|hint| hint.starts_with("look there; the same"))
            );
        }
        for exit in [Exit::Usage, Exit::Forbidden, Exit::Refused] {
            assert_eq!(resumable(Failure::new(exit, "no")).hint, None, "{exit:?}");
        }
    }

    #[test]
    fn only_what_the_next_session_would_meet_too_ends_an_import() {
        let failed = |exit, reason: Option<Reason>| {
            let mut failure = Failure::new(exit, "no");
            failure.reason = reason.map(Reason::as_str);
            ends_everything(&failure)
        };
        assert!(failed(Exit::Forbidden, Some(Reason::Role)));
        assert!(failed(Exit::Failed, Some(Reason::Unavailable)));
        assert!(failed(Exit::Failed, None), "this machine broke");
        assert!(failed(Exit::Deadline, Some(Reason::Deadline)));
        assert!(
            !failed(Exit::Failed, Some(Reason::Internal)),
            "one session may be damaged"
        );
        assert!(!failed(Exit::Refused, Some(Reason::SessionNotFound)));
    }
}
