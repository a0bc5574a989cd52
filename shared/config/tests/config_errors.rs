//! Every vector of `config_errors.json` through the public door.

#![expect(
    clippy::panic,
    reason = "a vector that cannot be read is a failed test"
)]

use std::collections::BTreeSet;

use confab_config::check::Problem;
use confab_config::{LoadError, Source, load};
use confab_vectors::{CONFIG_ERRORS, Case};
use serde_json::Value;

fn problems_of(config: &Value) -> Vec<Problem> {
    match load(&Source::inline(config.to_string())) {
        Ok(_) => Vec::new(),
        Err(LoadError::Invalid(problems)) => problems.list().to_vec(),
        Err(LoadError::Read(error)) => panic!("{error}"),
    }
}

fn agrees(problem: &Problem, expected: &Value) -> bool {
    let same = |name: &str, found: Option<&str>| {
        expected[name]
            .as_str()
            .is_none_or(|text| Some(text) == found)
    };
    let within = |prefix: &str| problem.path.starts_with(prefix);
    same("path", Some(&problem.path))
        && expected["pathPrefix"].as_str().is_none_or(within)
        && same("problem", Some(problem.class.as_str()))
        && same("nearest", problem.nearest.as_deref())
}

#[test]
fn every_vector_finds_exactly_its_problems() {
    let cases: Vec<Case> = CONFIG_ERRORS.cases().unwrap();
    for Case { id, given, out, .. } in cases {
        let problems = problems_of(&given["config"]);
        let expected = out["errors"].as_array().unwrap();
        assert_eq!(
            out["ok"].as_bool().unwrap(),
            problems.is_empty(),
            "{id}: {problems:?}"
        );
        assert_eq!(problems.len(), expected.len(), "{id}: {problems:?}");
        let met: BTreeSet<usize> = expected
            .iter()
            .filter_map(|expected| problems.iter().position(|found| agrees(found, expected)))
            .collect();
        assert_eq!(met.len(), expected.len(), "{id}: {problems:?}");
    }
}
