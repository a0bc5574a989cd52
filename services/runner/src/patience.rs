//! How long a service that cannot be reached is waited for.

use std::future::Future;
use std::time::Duration;

use confab_rpc::error::{Reason, RpcError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The first pause before a service that cannot be reached is asked again.
const PAUSE_MIN: Duration = Duration::from_millis(50);
/// The longest such pause.
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Whether a service did not answer, which passes.
pub fn is_out_of_reach(error: &RpcError) -> bool {
    matches!(error.reason, Reason::Unavailable | Reason::Deadline)
}

/// Asks a service, and asks again while it cannot be reached, until `patience` is over: a moment
/// without it must not cost a message that was accepted (D47). Ends early when the process stops.
///
/// # Errors
/// What the service answered last.
pub async fn patiently<T, F, C>(
    stop: &CancellationToken,
    patience: Duration,
    call: C,
) -> Result<T, RpcError>
where
    F: Future<Output = Result<T, RpcError>>,
    C: Fn() -> F,
{
    let deadline = Instant::now() + patience;
    let mut pause = PAUSE_MIN;
    loop {
        match call().await {
            Err(error) if is_out_of_reach(&error) && Instant::now() < deadline => {
                tracing::debug!(%error, "a service cannot be reached; trying again");
                tokio::select! {
                    () = tokio::time::sleep(pause) => {},
                    () = stop.cancelled() => return Err(error),
                }
                pause = pause.saturating_mul(2).min(PAUSE_MAX);
            },
            answer => return answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    fn refusal(reason: Reason) -> RpcError {
        RpcError::new(reason, "on purpose")
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_that_comes_back_is_asked_until_it_answers() {
        let asked = Cell::new(0);
        let call = || async {
            asked.set(asked.get() + 1);
            match asked.get() {
                1 => Err(refusal(Reason::Unavailable)),
                2 => Err(refusal(Reason::Deadline)),
                number => Ok(number),
            }
        };
        let answer = patiently(&CancellationToken::new(), MINUTE, call).await;
        assert_eq!(answer.unwrap(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn patience_ends_with_what_was_answered_last() {
        let began = Instant::now();
        let call = || async { Err::<(), _>(refusal(Reason::Unavailable)) };
        let error = patiently(&CancellationToken::new(), MINUTE, call)
            .await
            .unwrap_err();
        assert_eq!(error.reason, Reason::Unavailable);
        let waited = began.elapsed();
        assert!(
            waited >= MINUTE && waited < MINUTE + PAUSE_MAX * 2,
            "{waited:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_a_refusal_and_a_stop_end_the_wait_at_once() {
        let began = Instant::now();
        let stop = CancellationToken::new();
        let refused = || async { Err::<(), _>(refusal(Reason::SessionNotFound)) };
        let error = patiently(&stop, MINUTE, refused).await.unwrap_err();
        assert_eq!(error.reason, Reason::SessionNotFound);
        stop.cancel();
        let away = || async { Err::<(), _>(refusal(Reason::Unavailable)) };
        let error = patiently(&stop, MINUTE, away).await.unwrap_err();
        assert_eq!(error.reason, Reason::Unavailable);
        assert!(began.elapsed().is_zero());
    }
}
