//! What callers ask of the runner: requests parsed once, carried as proof from there on.

mod lifecycle;
mod read;
mod talk;

pub use lifecycle::{ChangeSession, SweepSessions};
pub use read::{GetFlow, GetRun, ListDeliveries, ListFlows, ListRuns, WaitFlow, WaitRun};
pub use talk::{HumanMessage, Keyed, SendToSession, StartRun};

use confab_model::id::IdempotencyKey;
use confab_model::limits::{ID_BYTES_MAX, MESSAGE_BYTES_MAX};
use confab_rpc::error::{Violation, Violations};

use crate::pages::{self, List};
use crate::store::RecordCursor;

/// Reads a message's text: not blank, at most 1 MiB; kept to the letter.
fn text(text: String, field: &str, violations: &mut Violations) -> Option<String> {
    if text.trim().is_empty() {
        violations.push(
            field,
            format!("{field} is missing or blank; give 1 to {MESSAGE_BYTES_MAX} bytes of text"),
        );
        return None;
    }
    if text.len() > MESSAGE_BYTES_MAX {
        violations.push(
            field,
            format!(
                "{field} is {} bytes long; at most {MESSAGE_BYTES_MAX} are allowed: shorten it, \
                 or send it in parts",
                text.len()
            ),
        );
        return None;
    }
    Some(text)
}

/// Reads an idempotency key; blank counts as absent.
fn key(key: Option<String>, field: &str, violations: &mut Violations) -> Option<IdempotencyKey> {
    let key = key.filter(|key| !key.trim().is_empty())?;
    let bytes = key.len();
    violations.keep(IdempotencyKey::parse(key).map_err(|_| {
        Violation::new(
            field,
            format!(
                "{field} is {bytes} bytes long or holds control characters; give 1 to \
                 {ID_BYTES_MAX} bytes without them"
            ),
        )
    }))
}

/// Reads a page token of list `L`; blank counts as absent.
fn page_token<L: List>(token: Option<String>, violations: &mut Violations) -> Option<RecordCursor> {
    let token = token.filter(|token| !token.trim().is_empty())?;
    violations.keep(
        pages::cursor::<L>(&token).map_err(|error| Violation::new("pageToken", error.to_string())),
    )
}
