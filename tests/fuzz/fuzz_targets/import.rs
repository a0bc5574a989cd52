//! libFuzzer's way into the target: lines of transcript files.

#![no_main]

use confab_fuzz::import::TARGET;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (TARGET.check)(bytes));
