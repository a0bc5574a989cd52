//! Runs, flows and deliveries as people see them.

use std::fmt::Write as _;

use confab_model::clock::Timestamp;
use confab_model::delivery::DeliveryState;
use confab_model::flow::{DeliveryMode, DeliveryStatus, FlowKind, FlowState, StopReason};
use confab_model::run::{MessageState, RunState, Step};
use confab_proto::types::v1::{Delivery, DeliverySummary, Flow, Route, Run};
use confab_rpc::wire::enums::Numbered;

use super::paint::{Paint, Tone, tone_of};
use super::table::{COLUMNS, Column, Field, card, render};
use super::text;
use super::time::{ago, moment, span};

#[cfg(test)]
pub(crate) mod samples;

/// Columns of both sides of a flow in a table, the arrow between them included.
const WHO_COLUMNS: usize = 33;

/// Says that more rows follow, and how to see them.
pub fn more(next_page_token: Option<&str>, paint: Paint) -> String {
    next_page_token.map_or_else(String::new, |token| {
        let told = format!("more follow: --page-token {}", text::line(token));
        format!("\n{}", paint.tone(Tone::Quiet, &told))
    })
}

/// The word of an enum, or `-`.
pub fn word<T: Numbered>(number: i32, word: fn(T) -> &'static str) -> &'static str {
    T::of(number).map_or("-", word)
}

/// The step of a run, with its turn in the loop.
pub fn step_of(run: &Run) -> String {
    let step = word(run.step, Step::as_str);
    if run.turn > 0 {
        format!("{step} {}", run.turn)
    } else {
        step.to_owned()
    }
}

/// Who asked: a session, else whoever has none.
pub fn requester(flow: &Flow) -> &str {
    match (flow.requester.as_deref(), FlowKind::of(flow.kind)) {
        (Some(session), _) => session,
        (None, Some(FlowKind::Send | FlowKind::Spawn)) => "operator",
        (None, Some(FlowKind::Human) | None) => "person",
    }
}

/// A route on one line: `slack channel:reviews account=acme thread=17.4`.
pub fn route(route: &Route) -> String {
    let mut shown = format!("{} {}", route.channel, route.to);
    for (name, value) in [("account", &route.account_id), ("thread", &route.thread_id)] {
        if let Some(value) = value {
            write!(shown, " {name}={value}").expect("writing to a String cannot fail");
        }
    }
    text::line(&shown)
}

fn state(word: &str) -> Field {
    Field::toned(tone_of(word), word)
}

fn summary(summary: Option<&DeliverySummary>) -> Field {
    let summary = summary.copied().unwrap_or_default();
    let status = word(summary.status, DeliveryStatus::as_str);
    let mode = word(summary.mode, DeliveryMode::as_str);
    Field::toned(
        tone_of(status),
        if status == mode {
            status.to_owned()
        } else {
            format!("{status} ({mode})")
        },
    )
}

/// A table of runs.
pub fn runs(runs: &[Run], paint: Paint, now: Timestamp) -> String {
    if runs.is_empty() {
        return "no runs".to_owned();
    }
    let columns = [
        Column::key("RUN", 36),
        Column::key("SESSION", 25),
        Column::text("STEP", 10),
        Column::text("STATE", 11),
        Column::text("CREATED", 10),
    ];
    let rows = runs.iter().map(|run| {
        vec![
            Field::plain(run.run_id.as_str()),
            Field::toned(Tone::Actor, run.session_key.as_str()),
            Field::plain(step_of(run)),
            state(word(run.state, RunState::as_str)),
            Field::toned(Tone::Quiet, ago(moment(run.created_at.as_ref()), now)),
        ]
    });
    render(&columns, rows.collect(), paint)
}

/// One run with its receipts and its whole answer.
pub fn run(run: &Run, paint: Paint, now: Timestamp) -> String {
    let error = run
        .error
        .as_ref()
        .map(|error| format!("{}: {}", error.class, error.message));
    let usage = run
        .usage
        .map(|usage| format!("{} in, {} out", usage.input, usage.output));
    let plain = |value: &str| Some(Field::plain(value)).filter(|_| !value.is_empty());
    let fields = [
        ("run", plain(&run.run_id)),
        (
            "session",
            Some(Field::toned(Tone::Actor, run.session_key.as_str())),
        ),
        ("step", Some(Field::plain(step_of(run)))),
        ("state", Some(state(word(run.state, RunState::as_str)))),
        (
            "message",
            Some(Field::plain(word(run.message_state, MessageState::as_str))),
        ),
        ("delivery", Some(summary(run.delivery.as_ref()))),
        ("error", error.map(|told| Field::toned(Tone::Bad, told))),
        ("flow", plain(&run.flow_id)),
        ("parent", run.parent_run_id.as_deref().map(Field::plain)),
        ("hop", Some(Field::plain(run.hop.to_string()))),
        ("attempts", Some(Field::plain(run.attempts.to_string()))),
        ("model", run.model.as_deref().map(Field::plain)),
        ("tokens", usage.map(Field::plain)),
        (
            "created",
            Some(Field::plain(ago(moment(run.created_at.as_ref()), now))),
        ),
        (
            "took",
            run.runtime_ms.map(|millis| Field::plain(span(millis))),
        ),
        (
            "input",
            Some(Field::plain(text::first_line(&run.input, COLUMNS))),
        ),
    ];
    let mut shown = card(&fields, paint);
    if let Some(reply) = run
        .reply
        .as_deref()
        .filter(|reply| !reply.trim().is_empty())
    {
        shown.push_str("\n\n");
        shown.push_str(&text::block(reply.trim_end()));
    }
    shown
}

/// A table of flows.
pub fn flows(flows: &[Flow], paint: Paint, now: Timestamp) -> String {
    if flows.is_empty() {
        return "no flows".to_owned();
    }
    let columns = [
        Column::key("FLOW", 36),
        Column::text("KIND", 5),
        Column::text("WHO", WHO_COLUMNS),
        Column::text("STATE", 20),
    ];
    let rows = flows.iter().map(|flow| {
        let from = requester(flow);
        let (from, to) = text::pair(from, &flow.target, WHO_COLUMNS - 1);
        vec![
            Field::plain(flow.flow_id.as_str()),
            Field::plain(word(flow.kind, FlowKind::as_str)),
            Field::toned(Tone::Actor, format!("{from}→{to}")),
            progress(flow, now),
        ]
    });
    render(&columns, rows.collect(), paint)
}

/// How far a flow is, and since when.
fn progress(flow: &Flow, now: Timestamp) -> Field {
    let reached = word(flow.state, FlowState::as_str);
    let since = moment(flow.ended_at.as_ref()).or_else(|| moment(flow.created_at.as_ref()));
    Field::toned(tone_of(reached), format!("{reached}, {}", ago(since, now)))
}

/// The facts about one flow, without its turns.
pub fn flow_card(flow: &Flow, paint: Paint, now: Timestamp) -> String {
    let reached = word(flow.state, FlowState::as_str);
    let loop_end = StopReason::of(flow.stop_reason)
        .map(|reason| format!("{} turns, stopped by {}", flow.turns, reason.as_str()));
    let ended = moment(flow.ended_at.as_ref());
    let took = ended
        .zip(moment(flow.created_at.as_ref()))
        .map(|(end, start)| end.millis_since(start));
    let fields = [
        ("flow", Some(Field::plain(flow.flow_id.as_str()))),
        (
            "kind",
            Some(Field::plain(word(flow.kind, FlowKind::as_str))),
        ),
        ("state", Some(state(reached))),
        ("loop", loop_end.map(Field::plain)),
        ("delivery", Some(summary(flow.delivery.as_ref()))),
        (
            "began",
            Some(Field::plain(ago(moment(flow.created_at.as_ref()), now))),
        ),
        ("took", took.map(|millis| Field::plain(span(millis)))),
    ];
    card(&fields, paint)
}

/// A table of deliveries.
pub fn deliveries(deliveries: &[Delivery], paint: Paint, now: Timestamp) -> String {
    if deliveries.is_empty() {
        return "no deliveries".to_owned();
    }
    let columns = [
        Column::key("DELIVERY", 36),
        Column::text("STATE", 9),
        Column::key("TO", 28),
        Column::text("TEXT", 19),
    ];
    let rows = deliveries.iter().map(|delivery| {
        let age = ago(moment(delivery.created_at.as_ref()), now);
        let told = delivery.last_error.as_deref().unwrap_or(&delivery.text);
        vec![
            Field::plain(delivery.delivery_id.as_str()),
            state(word(delivery.state, DeliveryState::as_str)),
            Field::plain(delivery.route.as_ref().map(route).unwrap_or_default()),
            Field::plain(format!("{age}: {}", text::line(told.trim()))),
        ]
    });
    render(&columns, rows.collect(), paint)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Paint = Paint::new(false);
    const NOW: Timestamp = Timestamp::from_millis(61_500);

    /// Records whose every text is long and hostile.
    fn hostile() -> (Run, Flow, Delivery) {
        let text = "\u{1b}[2J\u{9b}31m\u{202e}界\n".repeat(40);
        let (mut run, mut flow, mut delivery) =
            (samples::run(), samples::flow(), samples::delivery());
        for field in [
            &mut run.run_id,
            &mut run.session_key,
            &mut run.input,
            &mut run.flow_id,
        ] {
            field.clone_from(&text);
        }
        run.reply = None;
        run.model = Some(text.clone());
        flow.flow_id.clone_from(&text);
        flow.target.clone_from(&text);
        flow.requester = Some(text.clone());
        delivery.delivery_id.clone_from(&text);
        delivery.text.clone_from(&text);
        delivery.last_error = None;
        delivery.route = Some(Route {
            channel: text.clone(),
            to: text.clone(),
            account_id: Some(text.clone()),
            thread_id: Some(text),
        });
        (run, flow, delivery)
    }

    #[test]
    fn every_table_and_card_fits_and_cannot_be_steered_by_what_is_in_it() {
        let (one, other, third) = hostile();
        let shown = [
            runs(std::slice::from_ref(&one), PLAIN, NOW),
            run(&one, PLAIN, NOW),
            flows(std::slice::from_ref(&other), PLAIN, NOW),
            flow_card(&other, PLAIN, NOW),
            deliveries(&[third], PLAIN, NOW),
        ];
        for text in shown {
            assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{text:?}");
            for line in text.lines() {
                assert!(
                    text::width(line) <= COLUMNS,
                    "{} columns: {line}",
                    text::width(line)
                );
            }
        }
    }

    #[test]
    fn a_table_of_runs_shows_where_and_how_far_each_one_is() {
        let shown = runs(&[samples::run()], PLAIN, NOW);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 2);
        for word in [
            "run-1",
            "agent:editor:main",
            "reply 2",
            "timed_out",
            "1 min ago",
        ] {
            assert!(lines[1].contains(word), "{word}: {shown}");
        }
    }

    #[test]
    fn a_run_is_shown_with_its_whole_answer() {
        let shown = run(&samples::run(), PLAIN, NOW);
        assert!(shown.ends_with("\n\nline one\nline two"), "{shown}");
        assert!(shown.contains("delivery  delivered (announce)"), "{shown}");
    }

    #[test]
    fn a_flow_tells_why_its_loop_stopped() {
        let shown = flow_card(&samples::flow(), PLAIN, NOW);
        assert!(shown.contains("2 turns, stopped by reply_skip"), "{shown}");
        assert!(shown.contains("took      500 ms"), "{shown}");
    }

    #[test]
    fn who_is_no_session_is_a_person_or_an_operator() {
        let mut flow = samples::flow();
        assert_eq!(requester(&flow), "agent:writer:main");
        flow.requester = None;
        assert_eq!(requester(&flow), "operator");
        flow.kind = confab_proto::types::v1::FlowKind::Human.into();
        assert_eq!(requester(&flow), "person");
    }

    #[test]
    fn a_route_is_shown_whole() {
        let whole = samples::delivery().route.unwrap();
        assert_eq!(
            route(&whole),
            "slack channel:reviews account=acme thread=17.4"
        );
    }

    #[test]
    fn an_empty_list_says_so() {
        assert_eq!(runs(&[], PLAIN, NOW), "no runs");
        assert_eq!(flows(&[], PLAIN, NOW), "no flows");
        assert_eq!(deliveries(&[], PLAIN, NOW), "no deliveries");
        assert_eq!(more(None, PLAIN), "");
        assert_eq!(more(Some("t"), PLAIN), "\nmore follow: --page-token t");
    }
}
