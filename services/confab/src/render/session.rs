//! Sessions as people and programs see them.
//!
//! Source: reg:L21.

use confab_model::channel::ChatType;
use confab_model::clock::Timestamp;
use confab_model::key::SessionKind;
use confab_proto::registry::v1::ListSessionsResponse;
use confab_proto::types::v1::Session;
use serde_json::{Value, json};

use super::json::Fields;
use super::paint::{Paint, Tone, tone_of};
use super::records::{route, word};
use super::table::{Column, Field, card, render};
use super::time::{ago, moment, span};
use crate::exit::Failure;

/// A row for programs, as the tool `sessions_list` shows it.
///
/// # Errors
/// When the registry told something that no session can be.
pub fn record(session: &Session) -> Result<Fields, Failure> {
    Ok(confab_tools::session_row(session, None)?.into())
}

fn filled(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// A page of rows for programs, in the form of the tool `sessions_list`.
///
/// # Errors
/// When the registry told something that no session can be.
pub fn page(page: &ListSessionsResponse) -> Result<Value, Failure> {
    let rows = page.sessions.iter().map(|one| record(one).map(Value::from));
    let rows = rows.collect::<Result<Vec<Value>, Failure>>()?;
    let note = page.visibility.as_ref().map(
        |note| json!({ "mode": note.mode, "restricted": note.restricted, "warning": note.warning }),
    );
    let fields = Fields::new()
        .put("count", rows.len())
        .put("sessions", rows)
        .put("hasMore", page.has_more)
        .put_some("nextPageToken", page.next_page_token.as_deref())
        .put_some("limitApplied", page.limit_applied)
        .put_some("visibility", note);
    Ok(fields.into())
}

/// A table of sessions.
pub fn table(sessions: &[Session], paint: Paint, now: Timestamp) -> String {
    if sessions.is_empty() {
        return "no sessions".to_owned();
    }
    let columns = [
        Column::key("SESSION", 44),
        Column::text("KIND", 5),
        Column::text("CHANNEL", 10),
        Column::text("LABEL", 14),
        Column::text("LAST RUN", 8),
        Column::text("MOVED", 9),
    ];
    let rows = sessions.iter().map(|session| {
        let status = session.status.as_deref().unwrap_or("-");
        vec![
            Field::toned(Tone::Actor, session.display_key.as_str()),
            Field::plain(word(session.kind, SessionKind::as_str)),
            Field::plain(session.channel.as_str()),
            Field::plain(session.label.as_deref().unwrap_or("-")),
            Field::toned(tone_of(status), status),
            Field::toned(Tone::Quiet, ago(moment(session.updated_at.as_ref()), now)),
        ]
    });
    render(&columns, rows.collect(), paint)
}

/// One session.
pub fn card_of(session: &Session, paint: Paint, now: Timestamp) -> String {
    let status = session
        .status
        .as_deref()
        .map(|word| Field::toned(tone_of(word), word));
    let told = |wire: Option<&prost_types::Timestamp>| {
        moment(wire).map(|then| Field::plain(ago(Some(then), now)))
    };
    let chat = Some(word(session.chat_type, ChatType::as_str)).filter(|word| *word != "-");
    let fields = [
        (
            "session",
            Some(Field::toned(Tone::Actor, session.display_key.as_str())),
        ),
        ("sessionId", filled(&session.session_id).map(Field::plain)),
        ("agent", filled(&session.agent_id).map(Field::plain)),
        (
            "kind",
            Some(Field::plain(word(session.kind, SessionKind::as_str))),
        ),
        ("channel", Some(Field::plain(session.channel.as_str()))),
        ("chat", chat.map(Field::plain)),
        ("label", session.label.as_deref().map(Field::plain)),
        (
            "answers go",
            session
                .delivery_context
                .as_ref()
                .map(|to| Field::plain(route(to))),
        ),
        (
            "spawned by",
            session.spawned_by.as_deref().map(Field::plain),
        ),
        ("sandboxed", session.sandboxed.then(|| Field::plain("yes"))),
        (
            "model",
            session
                .model_override
                .as_deref()
                .or(session.model.as_deref())
                .map(Field::plain),
        ),
        ("last run", status),
        (
            "took",
            session.runtime_ms.map(|millis| Field::plain(span(millis))),
        ),
        ("made", told(session.created_at.as_ref())),
        ("moved", told(session.updated_at.as_ref())),
        ("archived", told(session.archived_at.as_ref())),
    ];
    card(&fields, paint)
}

#[cfg(test)]
mod tests {
    use confab_proto::types::v1 as proto;

    use super::*;
    use crate::render::table::COLUMNS;
    use crate::render::text;

    fn sample() -> Session {
        Session {
            key: "agent:editor:slack:channel:reviews".to_owned(),
            display_key: "agent:editor:slack:channel:reviews".to_owned(),
            session_id: "session-1".to_owned(),
            agent_id: "editor".to_owned(),
            kind: proto::SessionKind::Group.into(),
            channel: "slack".to_owned(),
            delivery_context: Some(proto::Route {
                channel: "slack".to_owned(),
                to: "channel:reviews".to_owned(),
                account_id: None,
                thread_id: Some("17.4".to_owned()),
            }),
            status: Some("done".to_owned()),
            ..Session::default()
        }
    }

    #[test]
    fn a_row_has_what_is_known_and_always_whether_it_is_archived_or_pinned() {
        let shown: Value = record(&sample()).unwrap().into();
        assert_eq!(
            shown,
            json!({
                "key": "agent:editor:slack:channel:reviews",
                "agentId": "editor",
                "kind": "group",
                "channel": "slack",
                "deliveryContext": {"channel": "slack", "to": "channel:reviews", "threadId": "17.4"},
                "archived": false,
                "pinned": false,
                "sessionId": "session-1",
                "status": "done",
                "lastChannel": "slack",
                "lastTo": "channel:reviews",
            })
        );
    }

    #[test]
    fn a_table_and_a_card_fit_and_cannot_be_steered_by_a_label() {
        let hostile = "\u{1b}]0;x\u{7}\u{202e}界".repeat(50);
        let session = Session {
            display_key: hostile.clone(),
            label: Some(hostile.clone()),
            channel: hostile.clone(),
            status: Some(hostile),
            ..sample()
        };
        let (paint, now) = (Paint::new(false), Timestamp::from_millis(0));
        for shown in [
            table(std::slice::from_ref(&session), paint, now),
            card_of(&session, paint, now),
        ] {
            assert!(
                !shown.contains(['\u{1b}', '\u{7}', '\u{202e}']),
                "{shown:?}"
            );
            for line in shown.lines() {
                assert!(
                    text::width(line) <= COLUMNS,
                    "{} columns: {line}",
                    text::width(line)
                );
            }
        }
    }
}
