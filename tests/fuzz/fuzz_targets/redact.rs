//! libFuzzer's way into the target: texts with secrets.

#![no_main]

use confab_fuzz::redact::TARGET;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (TARGET.check)(bytes));
