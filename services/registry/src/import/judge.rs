//! What becomes of an import, decided on what the database knows.

use confab_model::clock::Timestamp;
use confab_model::id::RunId;
use confab_model::run::RunState;
use confab_model::session::{LastRun, Origin, Session, Spawn};

use super::shown::{differences, differs, not_kept, quoted};
use super::{Facts, Holder, ImportOutcome, Imported, Importing};
use crate::commands::{ImportSession, ImportedRun};
use crate::create::child_depth;
use crate::store::Row;

/// The identifier that a row shows for a run that another system carried out.
const IMPORTED_RUN: &str = "imported";
/// Why a session under a run is not replaced.
const AT_WORK: &str = "the session has live work: wait for it or stop it, then import again";

/// What is to be done with an import.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// What becomes of it.
    pub outcome: ImportOutcome,
    /// The row to write where it is created or replaced, else the one that is stored.
    pub row: Option<Row>,
    /// Fields that are stored otherwise.
    pub differences: Vec<String>,
    /// What was given and is not kept.
    pub left_out: Vec<String>,
}

impl Judged {
    fn new(
        outcome: ImportOutcome,
        row: Option<Row>,
        differences: Vec<String>,
        request: ImportSession,
    ) -> Self {
        Self {
            outcome,
            row,
            differences,
            left_out: request.left_out,
        }
    }

    /// The answer, with the session as it is stored.
    pub fn answer(self, session: Option<Session>) -> Imported {
        Imported {
            outcome: self.outcome,
            session,
            differences: self.differences,
            left_out: self.left_out,
        }
    }
}

impl Importing {
    /// Decides what becomes of the import. A sessionId of another session, or of one that was
    /// deleted, is never taken: its transcript would get a second owner.
    ///
    /// Source: D26.
    pub fn judge(self, facts: Facts) -> Judged {
        let (mut request, now) = (self.request, self.now);
        leave_out_what_cannot_be(&mut request, &facts);
        let taken = taken_ids(&request, &facts.holders);
        let spawner = facts.spawner.as_ref();
        match facts.stored {
            None if taken.is_empty() => {
                let session = with_depth(over(&request, self.fresh), spawner);
                let row = Some(Row::new(session));
                Judged::new(ImportOutcome::Created, row, taken, request)
            },
            None => Judged::new(ImportOutcome::Differs, None, taken, request),
            Some(stored) => {
                let mut found = missing_ids(&request, &stored.session, &facts.holders);
                let wanted = over(&request, stored.session.clone());
                found.extend(differences(&stored.session, &wanted));
                let blocked = !taken.is_empty();
                found.extend(taken);
                if found.is_empty() {
                    Judged::new(ImportOutcome::Unchanged, Some(stored), found, request)
                } else if request.replace && is_at_work(&stored.session) {
                    found.push(AT_WORK.to_owned());
                    Judged::new(ImportOutcome::Differs, Some(stored), found, request)
                } else if blocked || !request.replace {
                    Judged::new(ImportOutcome::Differs, Some(stored), found, request)
                } else {
                    let row = in_the_place_of(stored, &request, spawner, now);
                    Judged::new(ImportOutcome::Replaced, Some(row), found, request)
                }
            },
        }
    }
}

/// Leaves out what the other sessions, or the session itself, do not allow.
///
/// Source: reg:M5, reg:M9, reg:M13, reg:M14.
fn leave_out_what_cannot_be(request: &mut ImportSession, facts: &Facts) {
    let stored = facts.stored.as_ref().map(|row| &row.session);
    if facts.label_taken && request.fields.patch.label.take().is_some() {
        leave_out(request, "label", "another session of the agent has it");
    }
    if let Some(why) = spawner_fault(request, facts) {
        request.fields.spawned_by = None;
        leave_out(request, "spawnedBy", &why);
    }
    let spawned = request.fields.spawned_by.is_some()
        || stored.is_some_and(|stored| stored.spawned_by.is_some());
    if !spawned && request.fields.spawn_mode.take().is_some() {
        let why = "only a session that another one spawned has it";
        leave_out(request, "spawnMode", why);
    }
    if request.key.is_main() && request.times.archived_at.take().is_some() {
        let why = "an agent's main session cannot be archived";
        leave_out(request, "archivedAt", why);
    }
    let archived = request.times.archived_at.is_some()
        || stored.is_some_and(|stored| stored.archived_at.is_some());
    if archived && request.times.pinned_at.take().is_some() {
        leave_out(request, "pinnedAt", "an archived session cannot be pinned");
    }
}

fn leave_out(request: &mut ImportSession, field: &str, why: &str) {
    let sentence = not_kept(&request.given, field, why);
    request.left_out.push(sentence);
}

/// Why the session that is named cannot have spawned this one.
fn spawner_fault(request: &ImportSession, facts: &Facts) -> Option<String> {
    let spawner = request.fields.spawned_by.as_ref()?;
    if *spawner == request.key {
        return Some("a session cannot spawn itself".to_owned());
    }
    if facts.spawner.is_none() {
        return Some("there is no such session; import it first".to_owned());
    }
    facts.spawner_descends.then(|| {
        format!(
            "that session descends from {}, and a ring of spawns has no head",
            request.key
        )
    })
}

/// Whether a run of the session has not ended: its generation is not taken from under it.
fn is_at_work(session: &Session) -> bool {
    let run = session.last_run.as_ref();
    run.is_some_and(|run| !run.state.is_ended())
}

/// The sessionIds that the import may not have.
fn taken_ids(request: &ImportSession, holders: &[Holder]) -> Vec<String> {
    let mut taken = Vec::new();
    for holder in holders {
        let (id, key) = (quoted(holder.session_id.as_str()), &holder.key);
        if holder.deleted {
            taken.push(format!(
                "sessionId {id} is of {key} as it was before it was deleted: its transcript is an \
                 archive that no session gets back"
            ));
        } else if *key != request.key {
            taken.push(format!("sessionId {id} is of another session, {key}"));
        }
    }
    taken
}

/// The generations that are not stored as they are given.
fn missing_ids(request: &ImportSession, stored: &Session, holders: &[Holder]) -> Vec<String> {
    let mut missing = Vec::new();
    let (present, given) = (&stored.session_id, &request.session_id);
    if present != given {
        let (present, given) = (present.as_str(), given.as_str());
        missing.push(differs("sessionId", Some(present), Some(given)));
    }
    for earlier in &request.earlier {
        if holders.iter().all(|holder| holder.session_id != *earlier) {
            let id = Some(earlier.as_str());
            missing.push(differs("earlierSessionIds", None, id));
        }
    }
    missing
}

/// `row` with all that is given.
fn over(request: &ImportSession, row: Session) -> Session {
    let (fields, times) = (&request.fields, request.times);
    // A row forbids neither a name nor a level.
    let row = row.patched(&fields.patch, row.updated_at).unwrap_or(row);
    let archived_at = times.archived_at.or(row.archived_at);
    let pinned_at = times.pinned_at.or(row.pinned_at);
    Session {
        spawned_by: fields.spawned_by.clone().or(row.spawned_by),
        spawn: Spawn {
            depth: fields.spawn_depth.or(row.spawn.depth),
            mode: fields.spawn_mode.or(row.spawn.mode),
            ..row.spawn
        },
        sandboxed: fields.sandboxed.unwrap_or(row.sandboxed),
        chat_type: fields.chat_type.or(row.chat_type),
        origin: origin_over(&fields.origin, row.origin),
        delivery_context: fields.delivery_context.clone().or(row.delivery_context),
        created_at: times.created_at.unwrap_or(row.created_at),
        updated_at: times.updated_at.unwrap_or(row.updated_at),
        session_started_at: times.session_started_at.unwrap_or(row.session_started_at),
        archived_at,
        pinned_at: pinned_at.filter(|_| archived_at.is_none()),
        last_run: run_over(&fields.run, row.last_run),
        ..row
    }
}

fn origin_over(given: &Origin, stored: Origin) -> Origin {
    Origin {
        provider: given.provider.clone().or(stored.provider),
        account_id: given.account_id.clone().or(stored.account_id),
        thread_id: given.thread_id.clone().or(stored.thread_id),
    }
}

/// What is known of the last run; one that has no record here is told as a run that ended.
fn run_over(given: &ImportedRun, stored: Option<LastRun>) -> Option<LastRun> {
    if *given == ImportedRun::default() {
        return stored;
    }
    let run = stored.unwrap_or_else(|| LastRun {
        run_id: RunId::parse(IMPORTED_RUN).expect("a short word is an identifier"),
        state: RunState::Succeeded,
        started_at: None,
        ended_at: None,
        model: None,
        total_tokens: None,
        input_tokens: None,
        output_tokens: None,
    });
    Some(LastRun {
        model: given.model.clone().or(run.model),
        total_tokens: given.total_tokens.or(run.total_tokens),
        input_tokens: given.input_tokens.or(run.input_tokens),
        output_tokens: given.output_tokens.or(run.output_tokens),
        ..run
    })
}

fn with_depth(mut session: Session, spawner: Option<&Session>) -> Session {
    if let Some(spawner) = spawner.filter(|one| session.spawned_by.as_ref() == Some(&one.key)) {
        session.spawn.depth = child_depth(&session, spawner);
    }
    session
}

/// The row that takes the place of `before`. Its epoch rises, so that work that was authorised for the
/// old content is refused; a present generation that is no longer given becomes an earlier one.
fn in_the_place_of(
    before: Row,
    request: &ImportSession,
    spawner: Option<&Session>,
    now: Timestamp,
) -> Row {
    let old = before.session;
    let (row_version, archived_at) = (old.row_version, old.archived_at);
    let next_generation = old.session_id != request.session_id;
    let base = if next_generation {
        Session {
            archived_at,
            ..old.next_generation(request.session_id.clone(), now)
        }
    } else {
        Session {
            work_epoch: old.work_epoch.saturating_add(1),
            ..old
        }
    };
    let routed_anew = request.fields.delivery_context.is_some();
    Row {
        session: Session {
            row_version: row_version.saturating_add(1),
            ..with_depth(over(request, base), spawner)
        },
        last_run_at: before.last_run_at.filter(|_| !next_generation),
        routed: before.routed.filter(|_| !routed_anew),
        reopened_at: before.reopened_at,
    }
}
