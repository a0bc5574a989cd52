//! Keyed wake-ups inside one process.
//!
//! A signal is a hint that something about its key may have changed: whoever is woken looks at the
//! store. A store that several processes share carries the same hints between them.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// Wakes the watchers of a key. Clones share their watchers. Memory is bounded by the live
/// watchers: the entry of a key goes with its last watcher.
pub struct Signals<K: Eq + Hash> {
    entries: Arc<Mutex<HashMap<K, Entry>>>,
}

struct Entry {
    sender: watch::Sender<u64>,
    watchers: usize,
}

/// Waits for the signals of one key.
pub struct Watcher<K: Eq + Hash> {
    key: K,
    receiver: watch::Receiver<u64>,
    signals: Signals<K>,
}

impl<K: Eq + Hash> Signals<K> {
    /// Signals without watchers.
    pub fn new() -> Self {
        Self {
            entries: Arc::default(),
        }
    }

    /// Watches `key` from this moment on. A caller subscribes first and looks at the store second,
    /// so that no change falls between the two.
    pub fn subscribe(&self, key: K) -> Watcher<K>
    where
        K: Clone,
    {
        let mut entries = self.entries();
        let entry = entries.entry(key.clone()).or_insert_with(|| Entry {
            sender: watch::Sender::new(0),
            watchers: 0,
        });
        entry.watchers = entry.watchers.saturating_add(1);
        let receiver = entry.sender.subscribe();
        Watcher {
            key,
            receiver,
            signals: self.clone(),
        }
    }

    /// Wakes every watcher of `key`; nothing happens when there is none.
    pub fn notify(&self, key: &K) {
        if let Some(entry) = self.entries().get(key) {
            entry
                .sender
                .send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// The number of keys that somebody watches.
    pub fn watched_keys(&self) -> usize {
        self.entries().len()
    }

    fn release(&self, key: &K) {
        let mut entries = self.entries();
        let Some(entry) = entries.get_mut(key) else {
            return;
        };
        entry.watchers = entry.watchers.saturating_sub(1);
        if entry.watchers == 0 {
            entries.remove(key);
        }
    }

    /// No code panics while it holds the map, so a poisoned one is still whole.
    fn entries(&self) -> MutexGuard<'_, HashMap<K, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash> Watcher<K> {
    /// Waits until the key was signalled since the subscription or the last return of this method.
    /// Several signals in between count as one. Dropping the future loses no signal.
    pub async fn notified(&mut self) {
        if self.receiver.changed().await.is_err() {
            // The sender lives as long as this watcher, so there is nothing left to wake it.
            std::future::pending::<()>().await;
        }
    }

    /// The key.
    pub const fn key(&self) -> &K {
        &self.key
    }
}

impl<K: Eq + Hash> Drop for Watcher<K> {
    fn drop(&mut self) {
        self.signals.release(&self.key);
    }
}

impl<K: Eq + Hash> Clone for Signals<K> {
    fn clone(&self) -> Self {
        Self {
            entries: Arc::clone(&self.entries),
        }
    }
}

impl<K: Eq + Hash> Default for Signals<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Eq + Hash> fmt::Debug for Signals<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Signals")
            .field("watched_keys", &self.watched_keys())
            .finish()
    }
}

impl<K: Eq + Hash + fmt::Debug> fmt::Debug for Watcher<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Watcher")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_signal_between_subscribing_and_waiting_is_not_lost() {
        let signals = Signals::new();
        let mut watcher = signals.subscribe("run");
        assert!(watcher.notified().now_or_never().is_none());
        signals.notify(&"run");
        assert!(watcher.notified().now_or_never().is_some());
        assert!(watcher.notified().now_or_never().is_none());
    }

    #[test]
    fn every_watcher_of_a_key_is_woken_and_no_other() {
        let signals = Signals::new();
        let (mut first, mut second) = (signals.subscribe(1), signals.subscribe(1));
        let mut stranger = signals.subscribe(2);
        signals.notify(&1);
        assert!(first.notified().now_or_never().is_some());
        assert!(second.notified().now_or_never().is_some());
        assert!(stranger.notified().now_or_never().is_none());
    }

    #[test]
    fn a_key_is_forgotten_with_its_last_watcher() {
        let signals = Signals::new();
        let (first, mut second) = (signals.subscribe(1), signals.subscribe(1));
        drop(first);
        signals.notify(&1);
        assert!(second.notified().now_or_never().is_some());
        assert_eq!(signals.watched_keys(), 1);
        drop(second);
        assert_eq!(signals.watched_keys(), 0);
        signals.notify(&1);
        assert_eq!(signals.watched_keys(), 0);
    }
}
