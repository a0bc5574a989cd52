//! Waiting for a run or a flow, in legs: no single call lasts longer than a minute, so that proxies
//! between here and the server do not cut it off.

use std::time::Duration;

use confab_model::run::RunState;
use confab_proto::runner::v1::{WaitFlowRequest, WaitFlowResponse, WaitRunRequest};
use confab_proto::types::v1::Run;
use confab_rpc::wire::enums::Numbered as _;
use tokio::time::Instant;

use super::present;
use crate::connect::{Services, answer};
use crate::exit::{Exit, Failure};

/// Longest leg, in seconds.
const LEG_SECONDS_MAX: u64 = 60;

/// Waits until the run ended or yielded, for at most `wait`; then the run as it is.
///
/// # Errors
/// When the service refuses or cannot be reached.
pub async fn for_run(services: &Services, id: &str, wait: Duration) -> Result<Run, Failure> {
    let deadline = Instant::now() + wait;
    loop {
        let leg = leg(deadline);
        let request = WaitRunRequest {
            run_id: id.to_owned(),
            timeout_seconds: Some(seconds(leg)),
        };
        let answered = answer(services.waiting_runner(leg).wait_run(request).await)?;
        let run = present(answered.run, "the run")?;
        let yielded = RunState::of(run.state) == Some(RunState::Waiting);
        if !answered.timed_out || yielded || Instant::now() >= deadline {
            return Ok(run);
        }
    }
}

/// Waits until the flow is done, for at most `wait`; then the flow as it is.
///
/// # Errors
/// When the service refuses or cannot be reached.
pub async fn for_flow(
    services: &Services,
    id: &str,
    wait: Duration,
) -> Result<WaitFlowResponse, Failure> {
    let deadline = Instant::now() + wait;
    loop {
        let leg = leg(deadline);
        let request = WaitFlowRequest {
            flow_id: id.to_owned(),
            timeout_seconds: Some(seconds(leg)),
        };
        let answered = answer(services.waiting_runner(leg).wait_flow(request).await)?;
        if !answered.timed_out || Instant::now() >= deadline {
            return Ok(answered);
        }
    }
}

/// The next leg: whole seconds, as the calls count them, and not a second longer than a minute.
fn leg(deadline: Instant) -> Duration {
    let left = deadline.saturating_duration_since(Instant::now());
    let whole = left.as_secs() + u64::from(left.subsec_nanos() > 0);
    Duration::from_secs(whole.min(LEG_SECONDS_MAX))
}

fn seconds(leg: Duration) -> i32 {
    i32::try_from(leg.as_secs()).unwrap_or(i32::MAX)
}

/// What the state of a run that was waited for means for the program.
pub fn exit_of(run: &Run) -> Exit {
    match RunState::of(run.state) {
        Some(RunState::Succeeded | RunState::Waiting) => Exit::Done,
        Some(RunState::Queued | RunState::Running) => Exit::Deadline,
        Some(
            RunState::Failed
            | RunState::TimedOut
            | RunState::Cancelled
            | RunState::Killed
            | RunState::Interrupted,
        )
        | None => Exit::Refused,
    }
}

#[cfg(test)]
mod tests {
    use confab_proto::types::v1 as proto;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_long_wait_is_cut_into_minutes_and_a_short_one_is_rounded_up() {
        let in_seconds = |seconds| leg(Instant::now() + Duration::from_millis(seconds)).as_secs();
        assert_eq!(
            [300_000, 60_000, 59_001, 1, 0].map(in_seconds),
            [60, 60, 60, 1, 0]
        );
    }

    #[test]
    fn the_state_of_a_run_decides_how_the_program_ends() {
        let cases = [
            (proto::RunState::Succeeded, Exit::Done),
            (proto::RunState::Waiting, Exit::Done),
            (proto::RunState::Queued, Exit::Deadline),
            (proto::RunState::Running, Exit::Deadline),
            (proto::RunState::Failed, Exit::Refused),
            (proto::RunState::TimedOut, Exit::Refused),
            (proto::RunState::Killed, Exit::Refused),
        ];
        for (state, exit) in cases {
            assert_eq!(
                exit_of(&Run {
                    state: state.into(),
                    ..Run::default()
                }),
                exit,
                "{state:?}"
            );
        }
    }
}
