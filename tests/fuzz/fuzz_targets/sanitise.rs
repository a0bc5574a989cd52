//! libFuzzer's way into the target: what an agent said.

#![no_main]

use confab_fuzz::sanitise::TARGET;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (TARGET.check)(bytes));
