//! Stored rows in the form in which they travel.
//!
//! The packed column holds a row as an operator sees it. A list hands it on as it is: making a model
//! of each row, only to make the same row of it again, is most of what a list would cost.

use confab_model::id::{RunId, SessionId};
use confab_model::key::SessionKey;
use confab_model::run::RunState;
use confab_model::session::Label;
use confab_model::session::levels::Word;
use confab_proto::types::v1 as proto;

use super::{Packed, Perspective, read, status_word, to_proto};
use crate::wire::enums::Numbered;
use crate::wire::{WireError, decoded, required, time};

/// A row of the packed column, as far as this version can read it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRow {
    /// The row as an operator sees it, but for the sequence of its newest state event; a field that
    /// could not be read is absent.
    pub row: Box<proto::Session>,
    /// What could not be read, in one line; absent where all could.
    pub fault: Option<String>,
}

/// Reads the registry's packed column into what [`to_proto`] makes of what
/// [`unpack`](super::unpack) reads.
///
/// # Errors
/// Those of [`unpack`](super::unpack).
pub fn unpack_row(bytes: &[u8]) -> Result<StoredRow, WireError> {
    let packed: Packed = decoded(bytes, "session")?;
    let row = required(packed.row, "session")?;
    let state = RunState::of(packed.last_run_state);
    if is_familiar(&row, state) {
        return Ok(StoredRow { row, fault: None });
    }
    let unpacked = read(*row, state)?;
    Ok(StoredRow {
        row: Box::new(to_proto(&unpacked.session, &Perspective::default())),
        fault: unpacked.fault,
    })
}

/// Whether this version would write the row with the same words, so that there is nothing to read of
/// it. What it doubts is read.
fn is_familiar(row: &proto::Session, state: Option<RunState>) -> bool {
    has_known_names(row)
        && has_known_times(row)
        && has_known_counts(row)
        && has_known_levels(row)
        && has_known_spawn(row)
        && has_known_run(row, state)
}

fn has_known_names(row: &proto::Session) -> bool {
    let key = SessionKey::parse(&row.key).ok();
    let kind = key.filter(|key| key.as_str() == row.key);
    kind.is_some_and(|key| key.kind().number() == row.kind)
        && SessionId::parse(row.session_id.as_str()).is_ok()
        && row.label.as_deref().is_none_or(|text| {
            Label::parse(text).is_ok_and(|label| label.as_str() == text)
                && row.display_name.as_deref() == Some(text)
        })
        && row.spawned_by.as_deref().is_none_or(|text| {
            SessionKey::parse(text).is_ok_and(|key| key.as_str() == text)
                && row.parent_session_key.as_deref() == Some(text)
        })
        && row
            .delivery_context
            .as_ref()
            .is_none_or(|route| !route.channel.is_empty() && !route.to.is_empty())
}

fn has_known_times(row: &proto::Session) -> bool {
    let always = [row.created_at, row.updated_at, row.session_started_at];
    let sometimes = [
        row.archived_at,
        row.pinned_at,
        row.marked_unread_at,
        row.last_read_at,
        row.last_interaction_at,
        row.started_at,
        row.ended_at,
    ];
    // A row without the sign that its prompt was sent is older than the sign.
    always.iter().all(Option::is_some)
        && row.system_sent.is_some()
        && always
            .into_iter()
            .chain(sometimes)
            .all(|moment| time::optional(moment, "").is_ok())
}

fn has_known_counts(row: &proto::Session) -> bool {
    let counts = [row.row_version, row.work_epoch];
    let tokens = [row.total_tokens, row.input_tokens, row.output_tokens];
    counts
        .into_iter()
        .chain(tokens.into_iter().flatten())
        .all(|count| count >= 0)
}

fn has_known_levels(row: &proto::Session) -> bool {
    use confab_model::channel::ChatType;
    use confab_model::session::SendAction;
    use confab_model::session::levels as known;

    is_number::<ChatType>(row.chat_type)
        && is_number::<SendAction>(row.send_policy)
        && is_word::<known::ThinkingLevel>(row.thinking_level.as_deref())
        && is_word::<known::VerboseLevel>(row.verbose_level.as_deref())
        && is_word::<known::TraceLevel>(row.trace_level.as_deref())
        && is_word::<known::ReasoningLevel>(row.reasoning_level.as_deref())
        && is_word::<known::ResponseUsage>(row.response_usage.as_deref())
        && is_word::<known::ElevatedLevel>(row.elevated_level.as_deref())
        && is_word::<known::FastMode>(row.fast_mode.as_deref())
        && is_word::<known::ExecHost>(row.exec_host.as_deref())
        && is_word::<known::ExecSecurity>(row.exec_security.as_deref())
        && is_word::<known::ExecAsk>(row.exec_ask.as_deref())
        && is_word::<known::GroupActivation>(row.group_activation.as_deref())
}

fn has_known_spawn(row: &proto::Session) -> bool {
    use confab_model::session::levels as known;

    row.spawn_depth.is_none_or(|depth| depth >= 0)
        && is_word::<known::SpawnMode>(row.spawn_mode.as_deref())
        && is_word::<known::SubagentRole>(row.subagent_role.as_deref())
        && is_word::<known::SubagentControlScope>(row.subagent_control_scope.as_deref())
}

/// The state's number and the row's word must agree: where they do not, the number says more.
fn has_known_run(row: &proto::Session, state: Option<RunState>) -> bool {
    match &row.last_run_id {
        None => row.status.is_none(),
        Some(run_id) => {
            state.is_some_and(|state| row.status.as_deref() == Some(status_word(state)))
                && RunId::parse(run_id.as_str()).is_ok()
        },
    }
}

fn is_word<T: Word>(given: Option<&str>) -> bool {
    given.is_none_or(|given| T::read(given).is_some_and(|value| value.word() == given))
}

fn is_number<T: Numbered>(number: i32) -> bool {
    number == 0 || T::of(number).is_some()
}
