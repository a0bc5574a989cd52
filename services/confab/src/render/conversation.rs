//! A flow drawn as the conversation it is: who said what to whom, turn by turn.

use confab_model::delivery::DeliveryState;
use confab_model::flow::{DeliveryStatus, FlowKind};
use confab_model::message::SkipWord;
use confab_model::run::{RunState, Step};
use confab_proto::types::v1::{Delivery, Flow, Run};
use confab_rpc::wire::enums::Numbered;

use super::paint::{Paint, Tone, tone_of};
use super::records::{requester, route, step_of, word};
use super::text;
use super::time::span;

/// Columns of the step at the start of a line.
const STEP_COLUMNS: usize = 11;
/// Stands between the sides.
const ARROW: &str = " → ";
/// What the reply to an opening message is called.
const ANSWER: &str = "answer";

/// One thing that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The step of the run it belongs to, with its turn.
    pub step: String,
    /// Who said it: a session key, a person's name, `person` or `operator`.
    pub from: String,
    /// To whom: a session key, a channel, or a person.
    pub to: String,
    /// What was said; empty where the run ended without a text.
    pub text: String,
    /// What it means, where the text alone does not tell: a skip word, a failure, a wait.
    pub note: Option<String>,
    /// How long the agent took to say it, in milliseconds; absent for what opens a run.
    pub took: Option<i64>,
}

/// Everything that was said in a flow, in order.
pub fn said(flow: &Flow, runs: &[Run]) -> Vec<Said> {
    let mut all = Vec::with_capacity(runs.len().saturating_add(1));
    for run in runs {
        if opens(run) {
            all.push(Said {
                step: step_of(run),
                from: asker(flow, run),
                to: run.session_key.clone(),
                text: run.input.clone(),
                note: None,
                took: None,
            });
        }
        all.push(answer(flow, run));
    }
    all
}

/// Whether a run begins with a message that nobody said before in this flow.
fn opens(run: &Run) -> bool {
    match Step::of(run.step) {
        Some(Step::Human | Step::Send | Step::Task) => true,
        Some(Step::Reply | Step::Announce | Step::Completion | Step::Notice | Step::Resume)
        | None => false,
    }
}

/// A session, a person by name where it is known, or whoever has no session.
fn asker(flow: &Flow, run: &Run) -> String {
    let sender = run.provenance.as_ref().and_then(|from| from.sender.clone());
    match (&flow.requester, sender) {
        (None, Some(sender)) => sender,
        (Some(_), _) | (None, None) => requester(flow).to_owned(),
    }
}

fn answer(flow: &Flow, run: &Run) -> Said {
    let to = match Step::of(run.step) {
        Some(Step::Announce) => flow
            .route
            .as_ref()
            .map_or_else(|| "nobody".to_owned(), route),
        Some(
            Step::Human
            | Step::Send
            | Step::Reply
            | Step::Task
            | Step::Completion
            | Step::Notice
            | Step::Resume,
        )
        | None => other_side(flow, run),
    };
    Said {
        step: if opens(run) {
            ANSWER.to_owned()
        } else {
            step_of(run)
        },
        from: run.session_key.clone(),
        to,
        text: run.reply.clone().unwrap_or_default(),
        note: note(run),
        took: run.runtime_ms,
    }
}

/// The side of the flow that a run's session talks to.
fn other_side(flow: &Flow, run: &Run) -> String {
    if run.session_key == flow.target {
        asker(flow, run)
    } else {
        flow.target.clone()
    }
}

fn note(run: &Run) -> Option<String> {
    let skip = run.reply.as_deref().and_then(SkipWord::of);
    match (RunState::of(run.state)?, &run.error, skip) {
        (RunState::Succeeded, _, Some(_)) => Some(skipped(run).to_owned()),
        (RunState::Succeeded, _, None)
            if run.reply.as_deref().unwrap_or_default().trim().is_empty() =>
        {
            Some("said nothing".to_owned())
        },
        (RunState::Succeeded, _, None) => None,
        (state, Some(error), _) => Some(format!(
            "{}: {}: {}",
            state.as_str(),
            error.class,
            error.message
        )),
        (state, None, _) => Some(state.as_str().to_owned()),
    }
}

/// What a skip word means in the step it was said in (D33).
fn skipped(run: &Run) -> &'static str {
    match Step::of(run.step) {
        Some(Step::Reply) => "ends the conversation",
        Some(
            Step::Human
            | Step::Send
            | Step::Announce
            | Step::Task
            | Step::Completion
            | Step::Notice
            | Step::Resume,
        )
        | None => "stays silent",
    }
}

/// The conversation for people, at most `columns` wide: a line for each thing said with its text
/// below, then what left.
pub fn draw(
    flow: &Flow,
    runs: &[Run],
    deliveries: &[Delivery],
    columns: usize,
    paint: Paint,
) -> String {
    let pen = Pen { columns, paint };
    let mut lines: Vec<String> = Vec::new();
    for one in said(flow, runs) {
        pen.said(&mut lines, &one);
    }
    for delivery in deliveries {
        pen.delivery(&mut lines, delivery);
    }
    if deliveries.is_empty() {
        lines.extend(undelivered(flow).map(|why| paint.tone(Tone::Quiet, why)));
    }
    lines.join("\n")
}

/// Draws lines of a width.
#[derive(Clone, Copy, Debug)]
struct Pen {
    columns: usize,
    paint: Paint,
}

impl Pen {
    /// Columns beside the step.
    const fn room(self) -> usize {
        self.columns.saturating_sub(STEP_COLUMNS)
    }

    /// The sides, and how long it took where there is room for it; below, what was said.
    fn said(self, lines: &mut Vec<String>, one: &Said) {
        let room = self.room().saturating_sub(text::width(ARROW));
        let (from, to) = text::pair(&one.from, &one.to, room);
        let used = text::width(&from) + text::width(ARROW) + text::width(&to);
        let took = one.took.map(|millis| format!("  {}", span(millis)));
        let took = took
            .filter(|took| used + text::width(took) <= self.room())
            .unwrap_or_default();
        let (from, to) = (
            self.paint.tone(Tone::Actor, &from),
            self.paint.tone(Tone::Actor, &to),
        );
        let took = self.paint.tone(Tone::Quiet, &took);
        lines.push(format!(
            "{}{from}{ARROW}{to}{took}",
            self.step(&one.step, Tone::Heading)
        ));
        lines.extend(self.quote(&one.text));
        lines.extend(one.note.as_deref().map(|note| self.note(note, Tone::Quiet)));
    }

    /// Its state, its whole route, its text, and what went wrong.
    fn delivery(self, lines: &mut Vec<String>, delivery: &Delivery) {
        let state = word(delivery.state, DeliveryState::as_str);
        let route = delivery.route.as_ref().map(route).unwrap_or_default();
        let route = self
            .paint
            .tone(Tone::Actor, &text::middle(&route, self.room()));
        lines.push(format!("{}{route}", self.step(state, tone_of(state))));
        lines.extend(self.quote(&delivery.text));
        lines.extend(
            delivery
                .last_error
                .as_deref()
                .map(|error| self.note(error, Tone::Bad)),
        );
    }

    fn step(self, step: &str, tone: Tone) -> String {
        let step = text::cut(&text::line(step), STEP_COLUMNS - 1);
        let blanks = " ".repeat(STEP_COLUMNS.saturating_sub(text::width(&step)));
        self.paint.tone(tone, &step) + &blanks
    }

    fn quote(self, said: &str) -> Option<String> {
        let shown = text::first_line(said, self.room().saturating_sub(2));
        (!shown.is_empty()).then(|| format!("{}“{shown}”", " ".repeat(STEP_COLUMNS)))
    }

    fn note(self, note: &str, tone: Tone) -> String {
        let note = text::first_line(note, self.room());
        " ".repeat(STEP_COLUMNS) + &self.paint.tone(tone, &note)
    }
}

/// Why nothing left, or that nothing left yet.
fn undelivered(flow: &Flow) -> Option<&'static str> {
    let status = flow
        .delivery
        .map(|summary| summary.status)
        .unwrap_or_default();
    match (DeliveryStatus::of(status)?, FlowKind::of(flow.kind)) {
        (DeliveryStatus::None, Some(FlowKind::Human)) => {
            Some("the answer goes to the caller only: the message had no route")
        },
        (DeliveryStatus::None, _) => Some("nothing leaves: there is no route, or none was wanted"),
        (DeliveryStatus::Skipped, _) => Some("nothing leaves: the agent chose silence"),
        (DeliveryStatus::Blocked, _) => Some("nothing leaves: the send policy forbids it"),
        (DeliveryStatus::Pending, _) => Some("nothing has left yet"),
        (DeliveryStatus::Failed, _) => Some("it could not be delivered"),
        (DeliveryStatus::Delivered, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use confab_proto::types::v1 as proto;

    use super::*;
    use crate::render::records::samples;

    fn run(session: &str, step: proto::Step, turn: i32, reply: &str) -> Run {
        Run {
            session_key: session.to_owned(),
            step: step.into(),
            turn,
            input: "please review".to_owned(),
            reply: Some(reply.to_owned()),
            state: proto::RunState::Succeeded.into(),
            ..Run::default()
        }
    }

    fn exchange() -> Vec<Run> {
        let (writer, editor) = ("agent:writer:main", "agent:editor:main");
        vec![
            run(editor, proto::Step::Send, 0, "one remark"),
            run(writer, proto::Step::Reply, 1, "thank you"),
            run(editor, proto::Step::Reply, 2, "REPLY_SKIP"),
            run(editor, proto::Step::Announce, 0, "reviewed"),
        ]
    }

    #[test]
    fn an_exchange_is_told_turn_by_turn_from_the_side_that_speaks() {
        let all = said(&samples::flow(), &exchange());
        let told: Vec<(&str, &str, &str, &str)> = all
            .iter()
            .map(|one| {
                (
                    one.step.as_str(),
                    one.from.as_str(),
                    one.to.as_str(),
                    one.text.as_str(),
                )
            })
            .collect();
        let (writer, editor) = ("agent:writer:main", "agent:editor:main");
        let channel = "slack channel:reviews account=acme thread=17.4";
        assert_eq!(
            told,
            [
                ("send", writer, editor, "please review"),
                ("answer", editor, writer, "one remark"),
                ("reply 1", writer, editor, "thank you"),
                ("reply 2", editor, writer, "REPLY_SKIP"),
                ("announce", editor, channel, "reviewed"),
            ]
        );
        assert_eq!(all[3].note.as_deref(), Some("ends the conversation"));
    }

    #[test]
    fn a_failed_turn_tells_its_error_and_an_empty_one_that_it_was_empty() {
        let mut failed = run("agent:editor:main", proto::Step::Send, 0, "");
        failed.state = proto::RunState::Failed.into();
        failed.error = Some(proto::RunError {
            class: "rate_limited".to_owned(),
            message: "wait".to_owned(),
        });
        assert_eq!(note(&failed).as_deref(), Some("failed: rate_limited: wait"));
        let empty = run("agent:editor:main", proto::Step::Send, 0, " ");
        assert_eq!(note(&empty).as_deref(), Some("said nothing"));
    }

    #[test]
    fn a_person_without_a_name_is_a_person() {
        let flow = Flow {
            target: "agent:writer:main".to_owned(),
            ..Flow::default()
        };
        let all = said(
            &flow,
            &[run("agent:writer:main", proto::Step::Human, 0, "done")],
        );
        assert_eq!(
            (all[0].from.as_str(), all[1].to.as_str()),
            ("person", "person")
        );
    }

    #[test]
    fn a_drawing_fits_and_cannot_be_steered_by_what_was_said() {
        let hostile = "\u{1b}[2J\u{202e}界界\n".repeat(60);
        let mut runs = exchange();
        for run in &mut runs {
            run.reply = Some(hostile.clone());
            run.input.clone_from(&hostile);
        }
        let mut flow = samples::flow();
        flow.requester = Some(hostile.clone());
        let delivery = Delivery {
            text: hostile,
            ..samples::delivery()
        };
        for columns in [40, 97, 100] {
            let drawn = draw(
                &flow,
                &runs,
                std::slice::from_ref(&delivery),
                columns,
                Paint::new(false),
            );
            assert!(!drawn.contains(['\u{1b}', '\u{202e}']), "{drawn:?}");
            for line in drawn.lines() {
                assert!(
                    text::width(line) <= columns,
                    "{} columns: {line}",
                    text::width(line)
                );
            }
        }
    }

    #[test]
    fn a_drawing_shows_whole_sides_and_times_where_they_fit() {
        let mut runs = exchange();
        runs[0].runtime_ms = Some(7);
        let drawn = draw(
            &samples::flow(),
            &runs,
            &[samples::delivery()],
            100,
            Paint::new(false),
        );
        assert!(
            drawn.contains("answer     agent:editor:main → agent:writer:main  7 ms\n"),
            "{drawn}"
        );
        assert!(
            drawn.contains("delivered  slack channel:reviews account=acme thread=17.4"),
            "{drawn}"
        );
    }

    #[test]
    fn a_flow_without_delivery_says_why() {
        let mut flow = samples::flow();
        flow.delivery = Some(proto::DeliverySummary {
            status: proto::DeliveryStatus::Skipped.into(),
            mode: proto::DeliveryMode::Announce.into(),
        });
        let drawn = draw(&flow, &exchange(), &[], 100, Paint::new(false));
        assert!(
            drawn.ends_with("nothing leaves: the agent chose silence"),
            "{drawn}"
        );
    }
}
