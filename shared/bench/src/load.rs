//! Clients that call again and again, each as soon as it is answered.

use std::time::Duration;

use futures::future::join_all;
use tokio::time::Instant;

use crate::raw::RawCall;

/// What some clients did.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Half of the calls took no longer.
    pub p50: Duration,
    /// One call in a hundred took longer.
    pub p99: Duration,
    /// Calls answered in a second, all clients together.
    pub calls_per_second: f64,
}

/// Clients, each on a connection of its own.
#[derive(Debug)]
pub struct Load {
    clients: Vec<RawCall>,
}

impl Load {
    /// Clients that are to call.
    pub const fn new(clients: Vec<RawCall>) -> Self {
        Self { clients }
    }

    /// Lets the clients call for `time`, after a first call of each that opens its connection.
    pub async fn run(self, time: Duration) -> Figures {
        join_all(self.clients.iter().map(RawCall::make)).await;
        let begun = Instant::now();
        let tasks = self.clients.into_iter().map(|client| {
            // The spawned tasks end by themselves, and are waited for right here.
            let task = async move {
                let mut taken = Vec::new();
                while begun.elapsed() < time {
                    let called = Instant::now();
                    client.make().await;
                    taken.push(called.elapsed());
                }
                taken
            };
            tokio_util::task::TaskTracker::new().spawn(task)
        });
        let tasks: Vec<_> = tasks.collect();
        let mut taken = Vec::new();
        for task in tasks {
            taken.extend(task.await.unwrap());
        }
        let elapsed = begun.elapsed();
        taken.sort_unstable();
        Figures {
            p50: at(&taken, 50),
            p99: at(&taken, 99),
            calls_per_second: f64::from(u32::try_from(taken.len()).unwrap())
                / elapsed.as_secs_f64(),
        }
    }
}

/// What `percent` of the sorted times do not exceed.
pub(crate) fn at(sorted: &[Duration], percent: usize) -> Duration {
    let place = sorted.len().saturating_sub(1) * percent / 100;
    sorted.get(place).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::at;

    #[test]
    fn a_percentile_is_one_of_the_times() {
        let taken: Vec<Duration> = (1..=101).map(Duration::from_millis).collect();
        assert_eq!(at(&taken, 50), Duration::from_millis(51));
        assert_eq!(at(&taken, 99), Duration::from_millis(100));
        assert_eq!(at(&[], 99), Duration::ZERO);
    }
}
