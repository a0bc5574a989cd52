//! The demonstration told for people, from its records alone.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use confab_model::flow::StopReason;
use confab_model::message::Role;
use confab_proto::types::v1::Message;
use serde_json::Value;

use super::proof::{Claim, origin, text_of};
use super::script::{EDITOR, MESSAGE, SENDER, WRITER, route};
use super::story::Story;
use crate::render::paint::{Paint, Tone};
use crate::render::records::word;
use crate::render::table::{COLUMNS, Column, Field, render};
use crate::render::time::span;
use crate::render::{records, text};

/// Before every line below a heading.
const INDENT: &str = "   ";

/// Where the demonstration took place.
#[derive(Debug)]
pub(super) struct Stage<'a> {
    /// The address of the server.
    pub(super) endpoint: &'a str,
    /// How long the server took to be ready.
    pub(super) ready: Duration,
    /// The directory that is kept; absent when everything is thrown away.
    pub(super) kept: Option<&'a Path>,
}

/// Everything, from the stage to the command lines.
pub(super) fn whole(stage: &Stage<'_>, story: &Story, claims: &[Claim], paint: Paint) -> String {
    let sections = [
        the_stage(stage, paint),
        the_person(story, paint),
        the_exchange(story, paint),
        the_memory(story, paint),
        the_list(story, paint),
        the_proof(claims, paint),
        by_hand(stage, paint),
    ];
    sections.join("\n\n")
}

fn heading(number: usize, title: &str, paint: Paint) -> String {
    paint.tone(Tone::Heading, &format!("{number}. {title}"))
}

fn the_stage(stage: &Stage<'_>, paint: Paint) -> String {
    let told = format!(
        "registry, transcript and runner answer at {} in one process, each with its own database \
         (ready after {}). Two agents play: writer and editor, both scripted. The editor's session \
         is a channel: {}.",
        stage.endpoint,
        millis(stage.ready),
        records::route(&route()),
    );
    let head = heading(1, "The stage", paint);
    format!("{head}\n{}", text::wrap(&told, COLUMNS, INDENT))
}

fn the_person(story: &Story, paint: Paint) -> String {
    let told = format!(
        "The message was durable after {}, the answer there after {}. In between the writer called \
         the tool sessions_send and waited for the editor.",
        millis(story.took.stored),
        millis(story.took.answered),
    );
    let head = heading(2, "A person writes to the writer", paint);
    let drawn = story.person.draw(COLUMNS - INDENT.len(), paint);
    format!(
        "{head}\n{}\n\n{}",
        text::wrap(&told, COLUMNS, INDENT),
        indented(&drawn)
    )
}

fn the_exchange(story: &Story, paint: Paint) -> String {
    let flow = &story.exchange.flow;
    let told = format!(
        "Round 1, then the reply loop: {} turns, stop reason {}. Then the announce step, and its \
         delivery to the editor's own channel. All of it was done {} after the person wrote.",
        flow.turns,
        word(flow.stop_reason, StopReason::as_str),
        millis(story.took.done),
    );
    let head = heading(3, "The writer and the editor talk", paint);
    let drawn = story.exchange.draw(COLUMNS - INDENT.len(), paint);
    format!(
        "{head}\n{}\n\n{}",
        text::wrap(&told, COLUMNS, INDENT),
        indented(&drawn)
    )
}

fn the_memory(story: &Story, paint: Paint) -> String {
    let mut told = heading(4, "What the sessions remember", paint);
    let note =
        "Numbers that are missing belong to tool calls, and to the turn that ended the loop.";
    write!(told, "\n{INDENT}{note}").expect("writing to a String cannot fail");
    for (session, messages) in [(WRITER, &story.writer), (EDITOR, &story.editor)] {
        let name = paint.tone(Tone::Actor, session);
        write!(
            told,
            "\n{INDENT}{name}\n{}",
            indented(&history(messages, paint))
        )
        .expect("writing to a String cannot fail");
    }
    told
}

fn history(messages: &[Message], paint: Paint) -> String {
    let columns = [
        Column::text("SEQ", 3),
        Column::text("ROLE", 9),
        Column::key("FROM", 30),
        Column::text("TEXT", 44),
    ];
    let rows = messages.iter().map(|message| {
        let role = message
            .body
            .as_ref()
            .map(|body| word(body.role, Role::as_str));
        vec![
            Field::toned(Tone::Quiet, message.seq.to_string()),
            Field::plain(role.unwrap_or("-")),
            Field::plain(origin(message).unwrap_or_else(|| "its own agent".to_owned())),
            Field::plain(text_of(message)),
        ]
    });
    render(&columns, rows.collect(), paint)
}

fn the_list(story: &Story, paint: Paint) -> String {
    let columns = [
        Column::key("KEY", 36),
        Column::text("KIND", 6),
        Column::text("CHANNEL", 8),
        Column::text("LAST MESSAGE", 38),
    ];
    let rows = story.sessions.get("sessions").and_then(Value::as_array);
    let field = |row: &Value, name: &str| {
        row.get(name)
            .and_then(Value::as_str)
            .unwrap_or("-")
            .to_owned()
    };
    let rows = rows.into_iter().flatten().map(|row| {
        vec![
            Field::toned(Tone::Actor, field(row, "key")),
            Field::plain(field(row, "kind")),
            Field::plain(field(row, "channel")),
            Field::plain(field(row, "lastMessagePreview")),
        ]
    });
    let table = render(&columns, rows.collect(), paint);
    format!(
        "{}\n{}",
        heading(5, "What the tool sessions_list shows", paint),
        indented(&table)
    )
}

fn the_proof(claims: &[Claim], paint: Paint) -> String {
    let mut told = heading(6, "Held against the records", paint);
    for claim in claims {
        let mark = if claim.holds {
            paint.tone(Tone::Good, "yes")
        } else {
            paint.tone(Tone::Bad, "NO ")
        };
        write!(told, "\n{INDENT}{mark} {}", claim.what).expect("writing to a String cannot fail");
    }
    told
}

/// The command lines that do the same.
fn by_hand(stage: &Stage<'_>, paint: Paint) -> String {
    let head = heading(7, "The same by hand", paint);
    let lines = hand_lines(stage.kept);
    let lines = lines.iter().map(|line| format!("{INDENT}{line}"));
    format!("{head}\n{}", lines.collect::<Vec<_>>().join("\n"))
}

fn hand_lines(kept: Option<&Path>) -> Vec<String> {
    let directory = kept.map_or_else(|| "confab-demo".into(), Path::to_string_lossy);
    let config = quoted(&format!("{directory}/confab.json5"));
    let data = quoted(&format!("{directory}/by-hand"));
    let to = route();
    let account = to.account_id.unwrap_or_default();
    let thread = to.thread_id.unwrap_or_default();
    let first = "confab demo --keep confab-demo        # writes the configuration";
    let mut lines: Vec<String> = kept
        .is_none()
        .then(|| first.to_owned())
        .into_iter()
        .collect();
    lines.extend([
        format!("confab up --config {config} \\"),
        format!("    --data {data}"),
        "# and in another terminal:".to_owned(),
        format!("confab sessions create {EDITOR} --chat-type channel \\"),
        format!(
            "    --channel {} --to {} --account {account} --thread {thread}",
            to.channel, to.to
        ),
        format!("confab chat {WRITER} --sender {SENDER} \\"),
        format!("    {}", quoted(MESSAGE)),
        format!("confab flows list --session {EDITOR}"),
        "confab flows wait FLOW                # its id is in the list".to_owned(),
        format!("confab tool sessions_history '{{\"sessionKey\":\"{EDITOR}\"}}'"),
        format!("confab tool sessions_list --as {WRITER}"),
        "confab deliveries list".to_owned(),
    ]);
    lines
}

/// A word as a shell reads it back unchanged.
fn quoted(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "./_-:".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text::line(text).replace('\'', r"'\''"))
    }
}

fn indented(block: &str) -> String {
    block
        .lines()
        .map(|line| format!("{INDENT}{line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn millis(took: Duration) -> String {
    span(i64::try_from(took.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::Cli;

    /// Splits a command line as a shell would, quotes and joined lines included.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        let (mut word, mut quote) = (String::new(), false);
        for letter in line.chars() {
            match letter {
                '\'' => quote = !quote,
                ' ' if !quote => {
                    words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                },
                '#' if !quote && word.is_empty() => break,
                _ => word.push(letter),
            }
        }
        words.extend((!word.is_empty()).then_some(word));
        words
    }

    #[test]
    fn every_command_line_that_is_shown_can_be_typed() {
        for kept in [None, Some(Path::new("/tmp/a directory"))] {
            let lines = hand_lines(kept).join("\n").replace("\\\n", "");
            let mut typed = 0;
            for line in lines.lines().filter(|line| !line.starts_with('#')) {
                Cli::try_parse_from(words(line)).unwrap_or_else(|error| panic!("{line}: {error}"));
                typed += 1;
            }
            assert!(typed >= 8, "{lines}");
        }
    }

    #[test]
    fn a_word_with_blanks_or_quotes_is_quoted() {
        let cases = [
            ("a/b.json5", "a/b.json5"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ];
        for (text, shown) in cases {
            assert_eq!(quoted(text), shown, "{text:?}");
        }
    }
}
