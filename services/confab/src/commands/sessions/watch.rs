//! `confab sessions watch`: one line a change, until somebody stops it or the server stops.

use confab_model::clock::{Clock as _, Timestamp};
use confab_proto::registry::v1::watch_sessions_response::Change;
use confab_proto::registry::v1::{WatchSessionsRequest, WatchSessionsResponse};
use confab_store::clock::SystemClock;
use futures::{Stream, StreamExt as _};
use serde_json::Value;
use tonic::Status;

use crate::cli::sessions::WatchSessions;
use crate::connect::{Services, answer};
use crate::exit::{Exit, Failure};
use crate::render::json::Fields;
use crate::render::paint::{Paint, Tone};
use crate::render::screen::{Reader, Screen};
use crate::render::{session, text, time};

/// Columns of a key; the cursor behind it is always whole, so that it can be used.
const KEY_COLUMNS: usize = 50;
/// Columns of what happened.
const WHAT_COLUMNS: usize = 7;

/// Follows the changes of sessions.
///
/// # Errors
/// When the service refuses, cannot be reached, or the connection breaks.
pub(super) async fn run(
    services: &Services,
    args: WatchSessions,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let followed = async {
        let mut registry = services.registry().lasting();
        let request = WatchSessionsRequest { cursor: args.after };
        let changes = answer(registry.watch_sessions(request).await)?;
        follow(changes, screen).await
    };
    tokio::select! {
        ended = followed => ended,
        stopped = tokio::signal::ctrl_c() => {
            stopped.map_err(|error| Failure::broken("cannot listen for Ctrl-C", &error))?;
            Ok(Exit::Done)
        },
    }
}

/// Shows changes as they come. The server ends the stream when it stops; a reader that is gone, as
/// `head` is, wants no more.
async fn follow(
    mut changes: impl Stream<Item = Result<WatchSessionsResponse, Status>> + Unpin,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let mut last = None;
    while let Some(told) = changes.next().await {
        let told = answer(told.map(tonic::Response::new));
        let told = told.map_err(|failure| resumable(failure, last.as_deref()))?;
        // A kind of change that this version does not know is none that it could show.
        let Some(line) = line(&told, SystemClock.now(), screen)? else {
            continue;
        };
        if screen.line(&line)? == Reader::Gone {
            break;
        }
        last = Some(told.cursor);
    }
    Ok(Exit::Done)
}

fn resumable(failure: Failure, cursor: Option<&str>) -> Failure {
    match cursor {
        Some(cursor) => failure.hint(format!("--after {cursor} goes on from the last change")),
        None => failure,
    }
}

fn line(
    told: &WatchSessionsResponse,
    at: Timestamp,
    screen: &Screen,
) -> Result<Option<String>, Failure> {
    let Some(change) = &told.change else {
        return Ok(None);
    };
    Ok(Some(if screen.json {
        Value::from(record(change, &told.cursor, at)?).to_string()
    } else {
        tell(change, &told.cursor, at, screen.paint)
    }))
}

/// A change for programs, on one line.
fn record(change: &Change, cursor: &str, at: Timestamp) -> Result<Fields, Failure> {
    let fields = Fields::new()
        .put("at", at.millis())
        .put("change", word(change))
        .put_some("key", key(change))
        .put("cursor", cursor);
    Ok(match change {
        Change::Session(row) => fields.put("session", Value::from(session::record(row)?)),
        Change::DeletedKey(_) | Change::Gap(_) => fields,
    })
}

/// A change for people.
fn tell(change: &Change, cursor: &str, at: Timestamp, paint: Paint) -> String {
    let tone = match change {
        Change::Session(_) => Tone::Plain,
        Change::DeletedKey(_) => Tone::Busy,
        Change::Gap(_) => Tone::Bad,
    };
    let key = text::middle(key(change).unwrap_or("-"), KEY_COLUMNS);
    let what = text::pad(word(change), WHAT_COLUMNS);
    format!(
        "{}  {}  {}  {}",
        paint.tone(Tone::Quiet, &time::of_day(at)),
        paint.tone(Tone::Actor, &text::pad(&key, KEY_COLUMNS)),
        paint.tone(tone, &what),
        paint.tone(Tone::Quiet, &text::line(cursor)),
    )
}

const fn word(change: &Change) -> &'static str {
    match change {
        Change::Session(_) => "changed",
        Change::DeletedKey(_) => "deleted",
        Change::Gap(_) => "gap",
    }
}

fn key(change: &Change) -> Option<&str> {
    match change {
        Change::Session(row) => Some(&row.display_key),
        Change::DeletedKey(key) => Some(key),
        Change::Gap(_) => None,
    }
}

#[cfg(test)]
mod tests;
