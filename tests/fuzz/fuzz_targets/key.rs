//! libFuzzer's way into the target: session keys.

#![no_main]

use confab_fuzz::key::TARGET;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (TARGET.check)(bytes));
