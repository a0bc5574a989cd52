//! How far an import is, on standard error, for a person who watches.

use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::openclaw::plan::Planned;
use crate::render::text;

/// What the bar shows; a template of its own kind, checked by a test.
const TEMPLATE: &str = "{bar:30} {bytes}/{total_bytes} {eta} {msg}";
/// Columns of the session's key behind the bar.
const KEY_COLUMNS: usize = 36;

/// A bar, or nothing where standard error is no terminal.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
    /// Bytes of the files that are done, as they lie there.
    done: AtomicU64,
}

impl Progress {
    /// At the beginning of an import of these sessions.
    pub(super) fn of(sessions: &[Planned]) -> Self {
        let sources = sessions.iter().flat_map(|one| &one.sources);
        let total = sources.map(|source| source.bytes).sum();
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template(TEMPLATE);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self {
            bar,
            done: AtomicU64::new(0),
        }
    }

    /// A session is begun.
    pub(super) fn session(&self, key: &str) {
        self.bar.set_message(text::middle(key, KEY_COLUMNS));
    }

    /// A piece of a transcript was read.
    pub(super) fn piece(&self, bytes: usize) {
        self.bar.inc(u64::try_from(bytes).unwrap_or_default());
    }

    /// A transcript of this size is done, however much of it was read.
    pub(super) fn file(&self, bytes: u64) {
        let before = self.done.fetch_add(bytes, Ordering::Relaxed);
        self.bar.set_position(before.saturating_add(bytes));
    }

    /// Nothing follows, and nothing of the bar stays.
    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_can_be_drawn_and_follows_the_files() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
        let progress = Progress::of(&[]);
        progress.session("agent:a:\u{1b}[2J");
        progress.piece(10);
        progress.file(7);
        progress.piece(1);
        assert_eq!(
            progress.bar.position(),
            8,
            "what a file is larger than it lies there is dropped"
        );
        progress.end();
    }
}
