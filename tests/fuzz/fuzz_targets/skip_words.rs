//! libFuzzer's way into the target: words by which nothing is said.

#![no_main]

use confab_fuzz::text::SKIP_WORDS;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (SKIP_WORDS.check)(bytes));
