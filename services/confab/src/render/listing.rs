//! A list of sessions as people see it, made from what the tool `sessions_list` tells.
//!
//! Source: reg:L21.

use confab_model::clock::Timestamp;
use serde_json::Value;

use super::paint::{Paint, Tone, tone_of};
use super::records::more;
use super::table::{COLUMNS, Column, Field, render};
use super::text;
use super::time::ago;

/// Columns of a key, and of the mark before it.
const KEY_COLUMNS: usize = 44;
/// Marks a row that could not be read whole.
const FAULT: &str = "!";
/// Stands before what is told of one row.
const INDENT: &str = "    ";
/// Stands for what is not known.
const NOTHING: &str = "-";

/// One page: the rows, what is wrong with some of them, how the list is narrowed, and how to go on.
pub fn page(result: &Value, paint: Paint, now: Timestamp) -> String {
    let nobody = Vec::new();
    let rows = result.get("sessions").and_then(Value::as_array);
    let rows = rows.unwrap_or(&nobody);
    let mut told = vec![table(rows, paint, now)];
    told.extend(rows.iter().filter_map(|row| fault(row, paint)));
    told.extend(notes(result).map(|note| paint.tone(Tone::Quiet, &text::wrap(&note, COLUMNS, ""))));
    told.join("\n") + &more(word(result, "nextPageToken"), paint)
}

fn table(rows: &[Value], paint: Paint, now: Timestamp) -> String {
    if rows.is_empty() {
        return "no sessions".to_owned();
    }
    let marked = rows.iter().any(|row| word(row, "fault").is_some());
    let shown = render(
        &columns(marked),
        rows.iter().map(|row| fields(row, marked, now)).collect(),
        paint,
    );
    let mut lines = shown.lines();
    let mut told: Vec<String> = lines.next().map(str::to_owned).into_iter().collect();
    for (line, row) in lines.zip(rows) {
        told.push(line.to_owned());
        told.extend(said(row).map(|said| paint.tone(Tone::Quiet, &said)));
    }
    told.join("\n")
}

/// A column for marks is there only where a row is marked.
fn columns(marked: bool) -> Vec<Column> {
    let mark = marked.then_some(Column::text("", 1));
    let key = if marked { KEY_COLUMNS - 3 } else { KEY_COLUMNS };
    let others = [
        Column::key("SESSION", key),
        Column::text("KIND", 5),
        Column::text("CHANNEL", 10),
        Column::text("LABEL", 14),
        Column::text("LAST RUN", 8),
        Column::text("MOVED", 9),
    ];
    mark.into_iter().chain(others).collect()
}

fn fields(row: &Value, marked: bool, now: Timestamp) -> Vec<Field> {
    let status = word(row, "status").unwrap_or(NOTHING);
    let moved = row.get("updatedAt").and_then(Value::as_i64);
    let plain = |name| Field::plain(word(row, name).unwrap_or(NOTHING));
    let mark = word(row, "fault").map_or("", |_| FAULT);
    let mark = marked.then(|| Field::toned(Tone::Bad, mark));
    let others = [
        Field::toned(Tone::Actor, word(row, "key").unwrap_or(NOTHING)),
        plain("kind"),
        plain("channel"),
        plain("label"),
        Field::toned(tone_of(status), status),
        Field::toned(Tone::Quiet, ago(moved.map(Timestamp::from_millis), now)),
    ];
    mark.into_iter().chain(others).collect()
}

/// What is wrong with a row.
fn fault(row: &Value, paint: Paint) -> Option<String> {
    let key = word(row, "key").unwrap_or(NOTHING);
    let told = format!("{FAULT} {key}: {}", word(row, "fault")?);
    Some(paint.tone(Tone::Bad, &text::wrap(&told, COLUMNS, "")))
}

/// What a row tells of its transcript, a line each: title, newest text, newest messages.
fn said(row: &Value) -> impl Iterator<Item = String> {
    let one = |what: &str, text: &str| {
        let room = COLUMNS.saturating_sub(text::width(INDENT) + what.len() + 2);
        format!("{INDENT}{what}: {}", text::first_line(text, room))
    };
    let title = word(row, "derivedTitle").map(|title| one("title", title));
    let newest = word(row, "lastMessagePreview").map(|newest| one("last", newest));
    let messages = row.get("messages").and_then(Value::as_array);
    let messages = messages.into_iter().flatten().map(move |message| {
        let role = text::cut(&text::line(word(message, "role").unwrap_or(NOTHING)), 12);
        one(&role, &text_of(message))
    });
    title.into_iter().chain(newest).chain(messages)
}

/// The text of a message; a part that is no text is named.
fn text_of(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let parts = parts.iter().map(|part| match word(part, "text") {
                Some(text) => text.to_owned(),
                None => format!("({})", word(part, "type").unwrap_or(NOTHING)),
            });
            parts.collect::<Vec<_>>().join(" ")
        },
        Some(_) | None => String::new(),
    }
}

/// What was lowered or left out, and how the list is narrowed.
fn notes(result: &Value) -> impl Iterator<Item = String> {
    let lowered = |name: &str, what: &str| {
        let limit = result.get(name).and_then(Value::as_i64);
        limit.map(|limit| format!("{what} was lowered to {limit}, the most there is"))
    };
    let narrowed = result
        .get("visibility")
        .and_then(|note| word(note, "warning"));
    [
        lowered("limitApplied", "--limit"),
        lowered("messageLimitApplied", "--messages"),
        word(result, "enrichmentRefused").map(str::to_owned),
        narrowed.map(str::to_owned),
    ]
    .into_iter()
    .flatten()
}

fn word<'r>(record: &'r Value, name: &str) -> Option<&'r str> {
    record.get(name).and_then(Value::as_str)
}

#[cfg(test)]
mod tests;
