//! Whether what is told really happened: every claim held against the records.

use confab_model::delivery::DeliveryState;
use confab_model::flow::{FlowState, Party, StopReason};
use confab_model::message::{ProvenanceKind, Role};
use confab_model::run::{RunState, Step};
use confab_proto::types::v1::block::Content;
use confab_proto::types::v1::{Message, Run};
use confab_rpc::wire::enums::Numbered as _;
use serde_json::Value;

use super::script::{EDITOR, MESSAGE, SENDER, TURNS, WRITER, route};
use super::story::Story;

/// One claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// What is claimed.
    pub(super) what: &'static str,
    /// Whether the records bear it out.
    pub(super) holds: bool,
}

/// Holds every claim against the records.
pub(super) fn claims(story: &Story) -> Vec<Claim> {
    let claim = |what, holds| Claim { what, holds };
    vec![
        claim("the person's message was answered", is_answered(story)),
        claim(
            "while it was at work, the writer asked the editor",
            is_asked(story),
        ),
        claim(
            "the editor answered, and they took two turns",
            has_its_turns(story),
        ),
        claim(
            "REPLY_SKIP stopped the loop, and the editor spoke last",
            is_stopped(story),
        ),
        claim(
            "one announce left, to the editor's whole address",
            is_delivered_once(story),
        ),
        claim(
            "the writer's session holds each message once",
            holds_once(&story.writer, &writers(story)),
        ),
        claim(
            "the editor's session holds each message once",
            holds_once(&story.editor, &editors(story)),
        ),
        claim("both sessions are listed", are_listed(&story.sessions)),
    ]
}

fn is_answered(story: &Story) -> bool {
    match story.person.runs.as_slice() {
        [run] => {
            succeeded(run)
                && run.session_key == WRITER
                && run.input == MESSAGE
                && !reply(run).is_empty()
        },
        _ => false,
    }
}

/// Whether the exchange comes out of the very run that answers the person.
fn is_asked(story: &Story) -> bool {
    let (asking, asked) = (story.person.runs.first(), story.exchange.runs.first());
    asking.zip(asked).is_some_and(|(asking, asked)| {
        asked.parent_run_id.as_deref() == Some(asking.run_id.as_str())
            && asked.input.starts_with("Please check this draft")
    })
}

fn has_its_turns(story: &Story) -> bool {
    let flow = &story.exchange.flow;
    let runs = &story.exchange.runs;
    let steps: Vec<_> = runs
        .iter()
        .map(|run| (Step::of(run.step), run.turn, run.session_key.as_str()))
        .collect();
    let expected = [
        (Some(Step::Send), 0, EDITOR),
        (Some(Step::Reply), 1, WRITER),
        (Some(Step::Reply), 2, EDITOR),
        (Some(Step::Announce), 0, EDITOR),
    ];
    FlowState::of(flow.state) == Some(FlowState::Done)
        && flow.requester.as_deref() == Some(WRITER)
        && flow.target == EDITOR
        && steps == expected
        && runs.iter().all(succeeded)
}

fn is_stopped(story: &Story) -> bool {
    let flow = &story.exchange.flow;
    flow.turns == TURNS
        && StopReason::of(flow.stop_reason) == Some(StopReason::ReplySkip)
        && Party::of(flow.last_speaker) == Some(Party::Target)
}

fn is_delivered_once(story: &Story) -> bool {
    let announce = story.exchange.runs.last().map(reply).unwrap_or_default();
    match story.deliveries.as_slice() {
        [one] => {
            DeliveryState::of(one.state) == Some(DeliveryState::Delivered)
                && one.route.as_ref() == Some(&route())
                && one.flow_id == story.exchange.flow.flow_id
                && one.session_key == EDITOR
                && !announce.is_empty()
                && one.text == announce
        },
        _ => false,
    }
}

fn are_listed(sessions: &Value) -> bool {
    let rows = sessions.get("sessions").and_then(Value::as_array);
    let mut keys: Vec<&str> = rows
        .into_iter()
        .flatten()
        .filter_map(|row| row.get("key").and_then(Value::as_str))
        .collect();
    keys.sort_unstable();
    // `main` for the operator is the default agent's main session, and keys are shown whole (D1).
    keys == [EDITOR, WRITER]
}

/// A message as it is expected: who speaks, from where, what.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Expected<'a> {
    role: &'static str,
    from: Option<String>,
    text: &'a str,
}

/// What the writer's session should hold: the person's message and its answer, then the editor's
/// answer as a turn and what the writer said to it.
fn writers(story: &Story) -> Vec<Expected<'_>> {
    let (asked, first) = (story.person.runs.first(), story.exchange.runs.first());
    let turn = story.exchange.runs.get(1);
    vec![
        user(Some(format!("person {SENDER}")), MESSAGE),
        assistant(asked),
        user(
            Some(format!("session {EDITOR}")),
            first.map(reply).unwrap_or_default(),
        ),
        assistant(turn),
    ]
}

/// What the editor's session should hold: the writer's message and the first answer, the writer's
/// turn, and what was announced. The turn that is a skip word is stored but not shown (D74).
fn editors(story: &Story) -> Vec<Expected<'_>> {
    let (first, turn) = (story.exchange.runs.first(), story.exchange.runs.get(1));
    let from_writer = || Some(format!("session {WRITER}"));
    vec![
        user(
            from_writer(),
            first.map(|run| run.input.as_str()).unwrap_or_default(),
        ),
        assistant(first),
        user(from_writer(), turn.map(reply).unwrap_or_default()),
        assistant(story.exchange.runs.get(3)),
    ]
}

const fn user(from: Option<String>, text: &str) -> Expected<'_> {
    Expected {
        role: Role::User.as_str(),
        from,
        text,
    }
}

fn assistant(run: Option<&Run>) -> Expected<'_> {
    Expected {
        role: Role::Assistant.as_str(),
        from: None,
        text: run.map(reply).unwrap_or_default(),
    }
}

/// Whether the messages are the expected ones, each once, in whatever order they were stored.
fn holds_once(messages: &[Message], expected: &[Expected<'_>]) -> bool {
    let mut held: Vec<_> = messages.iter().map(seen).collect();
    let mut expected = expected.to_vec();
    held.sort();
    expected.sort();
    held == expected
}

fn seen(message: &Message) -> Expected<'_> {
    let role = message.body.as_ref().and_then(|body| Role::of(body.role));
    Expected {
        role: role.map(Role::as_str).unwrap_or_default(),
        from: origin(message),
        text: text_of(message),
    }
}

/// Where a message came from: a person, a session, or the session's own agent.
pub(super) fn origin(message: &Message) -> Option<String> {
    let provenance = message.body.as_ref()?.provenance.as_ref()?;
    match ProvenanceKind::of(provenance.kind)? {
        ProvenanceKind::ExternalUser => Some(format!(
            "person {}",
            provenance.sender.as_deref().unwrap_or_default()
        )),
        ProvenanceKind::InterSession => Some(format!(
            "session {}",
            provenance.source_session_key.as_deref().unwrap_or_default()
        )),
        ProvenanceKind::InternalSystem => Some("confab".to_owned()),
    }
}

/// The first text of a message.
pub(super) fn text_of(message: &Message) -> &str {
    let blocks = message.body.iter().flat_map(|body| &body.blocks);
    let mut texts = blocks.filter_map(|block| match &block.content {
        Some(Content::Text(text)) => Some(text.text.as_str()),
        Some(Content::Thinking(_) | Content::ToolCall(_) | Content::Image(_)) | None => None,
    });
    texts.next().unwrap_or_default()
}

fn succeeded(run: &Run) -> bool {
    RunState::of(run.state) == Some(RunState::Succeeded)
}

fn reply(run: &Run) -> &str {
    run.reply.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests;
