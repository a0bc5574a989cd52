//! What the file adds to what is hidden.

use super::{settings, walked};

#[test]
fn run_r18_the_patterns_of_the_file_are_hidden_beside_the_built_in_families() {
    let settings = settings(r"{logging: {redactPatterns: ['CUST-[0-9]{6}', '/badge (\\w+)/']}}");
    let token = "ghp_AAAAAAAAAAAAAAAAAAAA";
    let shown = settings
        .redactor
        .redact(&format!("cust-123456, badge x7, {token}"))
        .into_owned();
    assert_eq!(shown, "***, badge ***, ghp_AA…AAAA");
}

#[test]
fn run_r0_nothing_switches_it_off() {
    for (word, warnings) in [("off", 1), ("tools", 0)] {
        let walk = walked(&format!("{{logging: {{redactSensitive: '{word}'}}}}"));
        assert_eq!(walk.problems, [], "{word}");
        assert_eq!(walk.warnings.len(), warnings, "{word}");
        let shown = walk.settings.redactor.redact("PASSWORD=banana");
        assert_eq!(shown, "PASSWORD=***", "{word}");
    }
}

#[test]
fn run_r17_every_secret_that_the_settings_know_is_hidden() {
    let settings = settings(
        "{
            agents: {list: [{id: 'a', driver: {type: 'openai', baseUrl: 'http://h/v1', apiKeyEnv: 'API'}}]},
            confab: {
                storage: {url: 'postgres://ann:tulips-in-may@host/db'},
                auth: {mode: 'jwt', keys: [{kid: 'a', alg: 'HS256', secretEnv: 'KEY_A'}]},
                deliveries: {sinks: [{channel: 'x', type: 'webhook', url: 'http://h', secretEnv: 'HOOK'}]},
            },
        }",
    );
    let said = "value-of-API value-of-KEY_A value-of-HOOK tulips-in-may value-of-other";
    let shown = settings.redactor.redact(said);
    assert_eq!(shown, "*** *** *** *** value-of-other");
}

#[test]
fn run_r17_a_short_secret_is_a_word() {
    let settings = settings("{confab: {storage: {url: 'postgres://ann:may@host/db'}}}");
    assert_eq!(settings.redactor.redact("it may rain"), "it may rain");
}

#[test]
fn b211_every_faulty_pattern_is_reported_in_its_place_and_not_repeated() {
    let walk = walked("{logging: {redactPatterns: ['(tulips', 7, 'ok', '/tulips/q']}}");
    let told: Vec<String> = walk.problems.iter().map(ToString::to_string).collect();
    let places: Vec<&str> = walk
        .problems
        .iter()
        .map(|problem| problem.path.as_str())
        .collect();
    let expected = [1, 0, 3].map(|index| format!("logging.redactPatterns[{index}]"));
    assert_eq!(places, expected);
    assert!(!told.concat().contains("tulips"), "{told:?}");
    assert!(told[2].contains("the flags g, i, m, s and u"), "{told:?}");
}
