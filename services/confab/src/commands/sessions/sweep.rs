//! `confab sessions sweep`.

use std::time::Duration;

use confab_proto::runner::v1::{SweepSessionsRequest, SweepSessionsResponse, SweptSession};
use serde_json::Value;

use crate::cli::sessions::SweepSessions;
use crate::connect::{Services, answer};
use crate::exit::{Exit, Failure};
use crate::render::json::Fields;
use crate::render::paint::{Paint, Tone, tone_of};
use crate::render::screen::Screen;
use crate::render::table::{COLUMNS, Column, Field, render};
use crate::render::text;

/// Longest time that a sweep may take: it ends the work of up to a thousand sessions.
const SWEEP_TIMEOUT: Duration = Duration::from_mins(10);
/// The outcome of a session that could not be swept.
const FAILED: &str = "failed";
/// The outcome of a session that was only told.
const PLANNED: &str = "planned";

/// Sweeps, or tells what a sweep would do.
///
/// # Errors
/// When the service refuses or cannot be reached.
pub(super) async fn run(
    services: &Services,
    args: &SweepSessions,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let request = SweepSessionsRequest {
        dry_run: args.dry_run,
    };
    let mut runner = services.waiting_runner(SWEEP_TIMEOUT);
    let swept = answer(runner.sweep_sessions(request).await)?;
    screen.show(
        || record(&swept),
        |paint, _| tell(&swept.sessions, paint) + warning(&swept.sessions, args.dry_run),
    )?;
    let failed = swept.sessions.iter().any(|one| one.outcome == FAILED);
    Ok(if failed { Exit::Refused } else { Exit::Done })
}

fn record(swept: &SweepSessionsResponse) -> Value {
    let rows = swept.sessions.iter().map(|one| {
        Value::from(
            Fields::new()
                .put("key", one.session_key.as_str())
                .put("change", one.change.as_str())
                .put("outcome", one.outcome.as_str())
                .put("reason", one.reason.as_str())
                .put_some("error", one.error.as_deref()),
        )
    });
    Fields::new()
        .put("sessions", rows.collect::<Vec<_>>())
        .into()
}

/// Why a sweep that was to be done only told.
fn warning(swept: &[SweptSession], dry_run: bool) -> &'static str {
    if !dry_run && swept.iter().any(|one| one.outcome == PLANNED) {
        "\nplanned: nothing was done, because session.maintenance.mode is warn; `enforce` does it"
    } else {
        ""
    }
}

/// A table; what went wrong stands below it.
fn tell(swept: &[SweptSession], paint: Paint) -> String {
    if swept.is_empty() {
        return "no session's time is over".to_owned();
    }
    let columns = [
        Column::key("SESSION", 36),
        Column::text("CHANGE", 7),
        Column::text("OUTCOME", 8),
        Column::text("REASON", 43),
    ];
    let rows = swept.iter().map(|one| {
        vec![
            Field::toned(Tone::Actor, one.session_key.as_str()),
            Field::plain(one.change.as_str()),
            Field::toned(tone_of(&one.outcome), one.outcome.as_str()),
            Field::plain(one.reason.as_str()),
        ]
    });
    let mut told = render(&columns, rows.collect(), paint);
    for one in swept {
        if let Some(error) = &one.error {
            let line = format!("{}: {error}", text::line(&one.session_key));
            told.push('\n');
            told.push_str(&text::wrap(&line, COLUMNS, "  "));
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn swept(outcome: &str, error: Option<&str>) -> SweptSession {
        SweptSession {
            session_key: format!("agent:a:subagent:{}", "界".repeat(60)),
            change: "archive".to_owned(),
            reason: "Its task ended 61 minutes ago.\u{1b}[2J".repeat(9),
            outcome: outcome.to_owned(),
            error: error.map(str::to_owned),
        }
    }

    #[test]
    fn a_sweep_fits_and_tells_what_went_wrong_below() {
        let rows = [
            swept("done", None),
            swept("failed", Some("the store is full")),
        ];
        let told = tell(&rows, Paint::new(false));
        assert!(told.contains("the store is full"), "{told}");
        assert!(!told.contains('\u{1b}'), "{told:?}");
        for line in told.lines() {
            assert!(text::width(line) <= COLUMNS, "{line}");
        }
        assert_eq!(tell(&[], Paint::new(false)), "no session's time is over");
        let planned = [swept("planned", None)];
        assert!(warning(&planned, false).contains("session.maintenance.mode"));
        assert_eq!(warning(&planned, true), "");
        assert_eq!(warning(&rows, false), "");
    }

    #[test]
    fn a_sweep_for_programs_has_no_error_where_there_is_none() {
        let one = SweptSession {
            session_key: "k".to_owned(),
            change: "delete".to_owned(),
            reason: "r".to_owned(),
            outcome: "planned".to_owned(),
            error: None,
        };
        let shown = record(&SweepSessionsResponse {
            sessions: vec![one],
        });
        let row = json!({ "key": "k", "change": "delete", "outcome": "planned", "reason": "r" });
        assert_eq!(shown, json!({ "sessions": [row] }));
    }
}
