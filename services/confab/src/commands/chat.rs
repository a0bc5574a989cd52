//! `confab chat`

use std::time::Duration;

use confab_model::message::SkipWord;
use confab_model::run::RunState;
use confab_proto::runner::v1::SendMessageRequest;
use confab_proto::types::v1::Run;

use super::{present, route, target, waiting};
use crate::cli::Chat;
use crate::connect::{Services, answer};
use crate::exit::{Exit, Failure};
use crate::render::paint::Tone;
use crate::render::records::word;
use crate::render::screen::Screen;
use crate::render::{json, records, text};

/// Brings the message, waits for its run, shows the answer.
///
/// # Errors
/// When the message was refused, the run ended badly, or the time was over.
pub async fn run(services: &Services, args: Chat, screen: &mut Screen) -> Result<Exit, Failure> {
    let request = SendMessageRequest {
        target: Some(target(&args.session)),
        text: args.text,
        route: route(args.route),
        sender: args.sender,
        owner: args.owner,
        idempotency_key: None,
    };
    let answered = answer(services.runner().send_message(request).await)?;
    let run = present(answered.run, "the run")?;
    if args.no_wait {
        screen.show(
            || json::run(&run),
            |paint, now| records::run(&run, paint, now),
        )?;
        return Ok(Exit::Done);
    }
    let wait = Duration::from_secs(args.wait.into());
    let waited = waiting::for_run(services, &run.run_id, wait).await;
    // The message is stored, whatever becomes of this connection.
    let waited = waited.map_err(|failure| failure.hint(wait_again(&run)))?;
    show(&waited, screen)
}

/// The reply alone for people, the whole run for programs.
fn show(run: &Run, screen: &mut Screen) -> Result<Exit, Failure> {
    let exit = waiting::exit_of(run);
    if screen.json {
        screen.value(&json::run(run))?;
        return Ok(exit);
    }
    match exit {
        Exit::Done => {
            let told = match told(run) {
                Ok(reply) => text::block(reply.trim_end()),
                Err(silence) => screen.paint.tone(Tone::Quiet, silence),
            };
            screen.say(&told)?;
            Ok(exit)
        },
        Exit::Deadline => Err(late(run)),
        Exit::Failed | Exit::Usage | Exit::Forbidden | Exit::Refused => Err(bad(run)),
    }
}

/// The reply, or why there is none to show.
fn told(run: &Run) -> Result<&str, &'static str> {
    match run.reply.as_deref() {
        Some(reply) if SkipWord::of(reply).is_some() => Err("(the agent chose silence)"),
        Some(reply) if !reply.trim().is_empty() => Ok(reply),
        Some(_) | None => Err("(no reply)"),
    }
}

fn late(run: &Run) -> Failure {
    let state = word(run.state, RunState::as_str);
    let message = format!(
        "the time was over; run {} is still {state} and goes on",
        run.run_id
    );
    Failure::new(Exit::Deadline, message).hint(wait_again(run))
}

fn wait_again(run: &Run) -> String {
    format!(
        "the message is stored; wait again: confab runs wait {}",
        run.run_id
    )
}

fn bad(run: &Run) -> Failure {
    let state = word(run.state, RunState::as_str);
    let why = run.error.as_ref();
    let why = why
        .map(|error| format!(": {}: {}", error.class, error.message))
        .unwrap_or_default();
    Failure::new(
        Exit::Refused,
        format!("run {} ended as {state}{why}", run.run_id),
    )
    .hint(format!("see confab runs get {}", run.run_id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replied(reply: Option<&str>) -> Run {
        Run {
            reply: reply.map(str::to_owned),
            ..Run::default()
        }
    }

    #[test]
    fn a_skip_word_is_silence_and_not_shown() {
        assert_eq!(
            told(&replied(Some(" NO_REPLY\n"))),
            Err("(the agent chose silence)")
        );
        assert_eq!(told(&replied(Some("  "))), Err("(no reply)"));
        assert_eq!(told(&replied(None)), Err("(no reply)"));
        assert_eq!(
            told(&replied(Some("NO_REPLY, he said"))),
            Ok("NO_REPLY, he said")
        );
    }
}
