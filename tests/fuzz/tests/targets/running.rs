//! Feeds a target: its corpus and every seed as they are, then mutations of all.

use std::hash::{BuildHasher as _, RandomState};
use std::panic::catch_unwind;

use confab_fuzz::Target;
use proptest::test_runner::{Config, RngSeed, TestError, TestRunner};

use crate::corpus::committed;
use crate::mutation::mutated;

/// Inputs for each case that proptest is asked for: 2,048 with its default of 256. `PROPTEST_CASES`
/// asks for more.
const INPUTS_PER_CASE: u32 = 8;

/// Steps towards the smallest input that still fails.
const SHRINK_STEPS_MAX: u32 = 2_000;

/// Feeds the target; the seed of the draws is new each time, unless `PROPTEST_RNG_SEED` names it.
pub(crate) fn feed(target: Target, seeds: &[Vec<u8>]) {
    let committed = committed(target.name);
    assert!(!committed.is_empty(), "nothing to begin with");
    let seeds = [committed.as_slice(), seeds].concat();
    for seed in &seeds {
        let held = catch_unwind(|| (target.check)(seed));
        assert!(held.is_ok(), "{}: {}", target.name, literal(seed));
    }
    let given = Config::default();
    let drawn = match given.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => RandomState::new().hash_one(target.name),
    };
    let mut runner = TestRunner::new(Config {
        cases: given.cases.saturating_mul(INPUTS_PER_CASE),
        max_shrink_iters: SHRINK_STEPS_MAX,
        rng_seed: RngSeed::Fixed(drawn),
        // The seed says it all; a file beside the sources would say it again.
        failure_persistence: None,
        ..given
    });
    let outcome = runner.run(&mutated(&seeds), |input| {
        (target.check)(&input);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!(
            "{}: {}\nto see it again: PROPTEST_RNG_SEED={drawn} cargo test -p confab-fuzz",
            target.name,
            told(failure)
        );
    }
}

/// What failed, and with what.
fn told(failure: TestError<Vec<u8>>) -> String {
    match failure {
        TestError::Abort(reason) => reason.to_string(),
        TestError::Fail(reason, input) => {
            format!("{reason}\nsmallest input: {}", literal(&input))
        },
    }
}

/// An input as it stands in a source text.
fn literal(input: &[u8]) -> String {
    format!("b\"{}\"", input.escape_ascii())
}
