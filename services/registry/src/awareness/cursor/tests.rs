use proptest::prelude::*;

use super::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Something that matters happens.
    Event,
    /// The watcher reads the changes that the notice names, and acknowledges it.
    Drain,
    /// The watcher's acknowledgement of an earlier notice arrives once more.
    Repeat,
    /// The registry starts again.
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => Just(Step::Event),
        3 => Just(Step::Drain),
        1 => Just(Step::Repeat),
        1 => Just(Step::Restart),
    ];
    prop::collection::vec(step, 0..60)
}

/// What a watcher has seen of a log whose events are 1, 2, 3 …
struct Watcher {
    cursor: Cursor,
    head: u64,
    seen: u64,
    acknowledged: Vec<u64>,
}

impl Watcher {
    fn take(&mut self, step: Step) {
        self.cursor = match step {
            Step::Event => {
                self.head += 1;
                self.cursor.notify(self.head)
            },
            Step::Drain if self.cursor.is_owed() => {
                let watermark = self.cursor.notified();
                // The notice says `changesSince last_seen`: nothing between may be unseen.
                assert!(self.cursor.last_seen() <= self.seen);
                self.seen = self.head;
                self.acknowledged.push(watermark);
                self.cursor.acknowledge(watermark)
            },
            Step::Drain => self.cursor,
            Step::Repeat => {
                let earlier = self.acknowledged.first().copied().unwrap_or_default();
                self.cursor.acknowledge(earlier)
            },
            Step::Restart => self.cursor.sweep(),
        };
    }
}

proptest! {
    #[test]
    fn no_event_is_lost_to_a_watcher(steps in steps()) {
        let cursor = Cursor::starting_at(0);
        let mut watcher = Watcher { cursor, head: 0, seen: 0, acknowledged: Vec::new() };
        for step in steps {
            let before = watcher.cursor;
            watcher.take(step);
            let after = watcher.cursor;
            // The three stand together, and none ever goes back.
            let stored = Cursor::stored(after.last_seen(), after.notified(), after.material());
            prop_assert_eq!(stored, Some(after));
            prop_assert!(after.last_seen() >= before.last_seen(), "{:?} {:?}", step, after);
            prop_assert!(after.notified() >= before.notified(), "{:?} {:?}", step, after);
            prop_assert!(after.material() >= before.material(), "{:?} {:?}", step, after);
            // Whoever has not seen everything is owed a notice that covers what is missing.
            if watcher.seen < watcher.head {
                prop_assert!(after.is_owed(), "{:?} {:?}", step, after);
                prop_assert!(after.last_seen() <= watcher.seen, "{:?} {:?}", step, after);
            }
            // While a notice is owed, further events and restarts make no other.
            if before.is_owed() && matches!(step, Step::Event | Step::Restart) {
                prop_assert!(!after.owes_anew(Some(before)), "{:?} {:?}", step, after);
            }
        }
        // Two drains without an event between them settle everything.
        watcher.take(Step::Drain);
        watcher.take(Step::Drain);
        prop_assert!(!watcher.cursor.is_owed());
        prop_assert_eq!(watcher.cursor, Cursor::starting_at(watcher.head));
    }
}

#[test]
fn a_watermark_that_was_never_owed_acknowledges_no_more_than_was() {
    let cursor = Cursor::starting_at(3).notify(7).notify(9);
    let taken = cursor.acknowledge(u64::MAX);
    assert_eq!((taken.last_seen(), taken.notified()), (7, 9));
    assert!(taken.owes_anew(Some(cursor)), "reg:W22");
}

#[test]
fn numbers_that_cannot_stand_together_are_no_cursor() {
    assert_eq!(Cursor::stored(2, 1, 3), None);
    assert_eq!(Cursor::stored(1, 3, 2), None);
    assert_eq!(
        Cursor::stored(1, 2, 2),
        Some(Cursor::starting_at(1).notify(2))
    );
}
