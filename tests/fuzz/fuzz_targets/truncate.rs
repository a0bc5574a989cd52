//! libFuzzer's way into the target: texts that are cut.

#![no_main]

use confab_fuzz::text::TRUNCATE;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (TRUNCATE.check)(bytes));
