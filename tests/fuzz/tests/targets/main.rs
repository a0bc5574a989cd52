//! Every fuzz target with mutated vectors, a bounded number of them.

#![expect(
    clippy::panic,
    reason = "a failure is told with its input and its seed"
)]

mod corpus;
mod mutation;
mod running;

use confab_fuzz::{import, key, redact, sanitise, text};

use crate::running::feed;

#[test]
fn keys_are_canonical_or_refused_readably() {
    feed(key::TARGET, &corpus::keys());
}

#[test]
fn the_sanitiser_only_takes_away_and_finds_nothing_twice() {
    feed(sanitise::TARGET, &corpus::said());
}

#[test]
fn a_cut_keeps_the_beginning() {
    feed(text::TRUNCATE, &corpus::long());
}

#[test]
fn a_skip_word_alone_is_shown_by_no_view() {
    feed(text::SKIP_WORDS, &corpus::skip_words());
}

#[test]
fn redaction_hides_a_planted_secret_and_leaves_masks_alone() {
    feed(redact::TARGET, &corpus::secrets());
}

#[test]
fn the_importer_keeps_a_good_line_beside_a_bad_one() {
    feed(import::TARGET, &corpus::lines());
}
