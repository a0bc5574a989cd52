use serde_json::json;

use super::*;

/// A reader with one field of every form.
#[derive(Debug, Default, PartialEq)]
struct Sample {
    name: Option<String>,
    count: Option<i32>,
    skip: Option<i64>,
    wait: Option<i64>,
    on: bool,
    side: Option<&'static str>,
    kinds: Vec<&'static str>,
}

const SIDES: [&str; 2] = ["left", "right"];

fn side(word: &str) -> Option<&'static str> {
    SIDES.into_iter().find(|side| *side == word)
}

fn read(arguments: &Value) -> Result<Sample, RpcError> {
    let given = arguments.as_object().expect("an object");
    let mut fields = Fields::new(given);
    let sample = Sample {
        name: fields.text("longName", Length::Units(4)),
        count: fields.small_whole("rowCount", Whole::Positive),
        skip: fields.whole("skip", Whole::NotNegative),
        wait: fields.whole("waitSeconds", Whole::UpTo(60)),
        on: fields.flag("on"),
        side: fields.word("side", &SIDES, side),
        kinds: fields.words("kinds", &SIDES, side),
    };
    fields.finish()?;
    Ok(sample)
}

fn faults(arguments: &Value) -> Vec<(String, String)> {
    let refusal = read(arguments).expect_err("must be refused");
    refusal
        .violations
        .into_iter()
        .map(|one| (one.field, one.description))
        .collect()
}

fn assert_read<const N: usize>(cases: [(Value, Sample); N]) {
    for (arguments, expected) in cases {
        assert_eq!(read(&arguments).unwrap(), expected, "{arguments}");
    }
}

/// Each of the arguments has one fault, of the one field that is given.
fn assert_refused<const N: usize>(cases: [(Value, &str); N]) {
    for (arguments, expected) in cases {
        let told = faults(&arguments);
        assert_eq!(told.len(), 1, "{arguments}: {told:?}");
        assert_eq!(told[0].1, expected, "{arguments}");
        assert!(arguments.get(&told[0].0).is_some(), "{arguments}: {told:?}");
    }
}

#[test]
fn fields_are_read_in_either_spelling_and_blank_ones_are_absent() {
    let named = || Some("ab".to_owned());
    let all = json!({
        "longName": "ab", "rowCount": 5, "skip": 0, "waitSeconds": 60, "on": true, "side": " left ",
    });
    let read = Sample {
        name: named(),
        count: Some(5),
        skip: Some(0),
        wait: Some(60),
        on: true,
        side: Some("left"),
        ..Sample::default()
    };
    let blank = json!({ "longName": " ", "rowCount": "", "skip": null, "side": " ", "kinds": "" });
    assert_read([
        (json!({}), Sample::default()),
        (all, read),
        (
            json!({ "long_name": "ab", "row_count": 5 }),
            Sample {
                name: named(),
                count: Some(5),
                ..Sample::default()
            },
        ),
        (blank, Sample::default()),
        (
            json!({ "longName": "🦀🦀" }),
            Sample {
                name: Some("🦀🦀".to_owned()),
                ..Sample::default()
            },
        ),
    ]);
}

#[test]
fn a_blank_text_is_kept_where_it_means_something() {
    let cases = [
        (json!({}), Ok(None)),
        (json!({ "longName": null }), Ok(None)),
        (json!({ "longName": " " }), Ok(Some(" "))),
        (json!({ "long_name": "ab" }), Ok(Some("ab"))),
        (
            json!({ "longName": 7 }),
            Err("longName must be a string; given: 7"),
        ),
        (
            json!({ "longName": "abcde" }),
            Err("longName is too long: 5 UTF-16 units; allowed: 1 to 4"),
        ),
    ];
    for (arguments, expected) in cases {
        let mut fields = Fields::new(arguments.as_object().expect("an object"));
        let text = fields.text_or_blank("longName", Length::Units(4));
        let read = fields.finish().map(|()| text.as_deref());
        assert_eq!(
            read.map_err(|error| error.message),
            expected.map_err(str::to_owned)
        );
    }
}

#[test]
fn whole_numbers_are_read_from_numbers_and_from_their_digits() {
    let count = |count| Sample {
        count: Some(count),
        ..Sample::default()
    };
    let skip = |skip| Sample {
        skip: Some(skip),
        ..Sample::default()
    };
    assert_read([
        (json!({ "rowCount": "5" }), count(5)),
        (json!({ "rowCount": " 05 " }), count(5)),
        (json!({ "rowCount": 5.0 }), count(5)),
        (json!({ "rowCount": 1e300 }), count(i32::MAX)),
        (
            json!({ "rowCount": "99999999999999999999" }),
            count(i32::MAX),
        ),
        (json!({ "skip": u64::MAX }), skip(i64::MAX)),
        (json!({ "skip": "-0" }), skip(0)),
        (
            json!({ "waitSeconds": "0" }),
            Sample {
                wait: Some(0),
                ..Sample::default()
            },
        ),
    ]);
}

#[test]
fn words_are_read_from_a_list_or_alone_and_each_counts_once() {
    let kinds = |kinds| Sample {
        kinds,
        ..Sample::default()
    };
    assert_read([
        (json!({ "kinds": "right" }), kinds(vec!["right"])),
        (json!({ "kinds": [] }), kinds(vec![])),
        (
            json!({ "kinds": ["right", "left", " right", "", null] }),
            kinds(vec!["right", "left"]),
        ),
    ]);
}

#[test]
fn a_fault_of_a_number_names_the_field_what_was_given_and_what_is_allowed() {
    let long = "x".repeat(100);
    let shown = format!(
        "rowCount must be a positive integer; given: \"{}…",
        "x".repeat(79)
    );
    assert_refused([
        (
            json!({ "rowCount": 0 }),
            "rowCount must be a positive integer; given: 0",
        ),
        (
            json!({ "rowCount": -1.0 }),
            "rowCount must be a positive integer; given: -1.0",
        ),
        (
            json!({ "rowCount": 1.5 }),
            "rowCount must be a positive integer; given: 1.5",
        ),
        (
            json!({ "rowCount": "1e3" }),
            "rowCount must be a positive integer; given: \"1e3\"",
        ),
        (
            json!({ "rowCount": "+5" }),
            "rowCount must be a positive integer; given: \"+5\"",
        ),
        (
            json!({ "rowCount": "-" }),
            "rowCount must be a positive integer; given: \"-\"",
        ),
        (
            json!({ "rowCount": "5 6" }),
            "rowCount must be a positive integer; given: \"5 6\"",
        ),
        (
            json!({ "rowCount": true }),
            "rowCount must be a positive integer; given: true",
        ),
        (
            json!({ "rowCount": [5] }),
            "rowCount must be a positive integer; given: an array",
        ),
        (
            json!({ "rowCount": {} }),
            "rowCount must be a positive integer; given: an object",
        ),
        (json!({ "rowCount": long }), shown.as_str()),
        (
            json!({ "skip": -1 }),
            "skip must be a non-negative integer; given: -1",
        ),
        (
            json!({ "skip": "-99999999999999999999" }),
            "skip must be a non-negative integer; given: \"-99999999999999999999\"",
        ),
        (
            json!({ "waitSeconds": 61 }),
            "waitSeconds must be an integer from 0 to 60; given: 61",
        ),
        (
            json!({ "wait_seconds": 61 }),
            "wait_seconds must be an integer from 0 to 60; given: 61",
        ),
    ]);
}

#[test]
fn a_fault_of_any_other_field_names_it_too() {
    assert_refused([
        (
            json!({ "longName": 5 }),
            "longName must be a string; given: 5",
        ),
        (
            json!({ "longName": "🦀🦀x" }),
            "longName is too long: 5 UTF-16 units; allowed: 1 to 4",
        ),
        (
            json!({ "on": "true" }),
            "on must be true or false; given: \"true\"",
        ),
        (json!({ "on": 1 }), "on must be true or false; given: 1"),
        (
            json!({ "side": "up" }),
            "side must be one of left, right; given: \"up\"",
        ),
        (
            json!({ "side": 1 }),
            "side must be one of left, right; given: 1",
        ),
        (
            json!({ "kinds": ["left", "up"] }),
            "kinds must hold only left, right; given: \"up\"",
        ),
        (
            json!({ "kinds": 7 }),
            "kinds must hold only left, right; given: 7",
        ),
        (
            json!({ "longName": "a", "long_name": "a" }),
            "longName is given twice, as longName and as long_name; give one of them",
        ),
    ]);
}

#[test]
fn an_unknown_field_is_refused_with_the_name_that_was_probably_meant() {
    let allowed = "allowed: longName, rowCount, skip, waitSeconds, on, side, kinds";
    let cases = [
        ("longNam", Some("longName")),
        ("lon_name", Some("longName")),
        ("LongName", Some("longName")),
        ("Row_Count", Some("rowCount")),
        ("wait", Some("waitSeconds")),
        ("seconds", Some("waitSeconds")),
        ("zzzzzz", None),
        ("", None),
    ];
    for (name, near) in cases {
        let told = faults(&json!({ name: 1 }));
        let expected = match near {
            Some(near) => format!("unknown field \"{name}\"; did you mean {near}? {allowed}"),
            None => format!("unknown field \"{name}\"; {allowed}"),
        };
        assert_eq!(told, [(name.to_owned(), expected)]);
    }
}

#[test]
fn all_faults_are_told_together() {
    let told =
        faults(&json!({ "rowCount": 0, "skip": "x", "on": 3, "kinds": ["a", "b"], "no": 1 }));
    let fields: Vec<&str> = told.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(fields, ["rowCount", "skip", "on", "kinds", "kinds", "no"]);
}

#[test]
fn a_required_text_is_missed_once_whatever_is_wrong_with_it() {
    let cases = [
        (json!({}), "name required: a string that is not blank"),
        (
            json!({ "name": " \n" }),
            "name required: a string that is not blank",
        ),
        (
            json!({ "name": null }),
            "name required: a string that is not blank",
        ),
        (json!({ "name": 3 }), "name must be a string; given: 3"),
        (
            json!({ "name": "abc" }),
            "name is too long: 3 bytes; allowed: 1 to 2",
        ),
    ];
    for (arguments, expected) in cases {
        let mut fields = Fields::new(arguments.as_object().unwrap());
        assert_eq!(fields.required_text("name", Length::Bytes(2)), "");
        assert_eq!(fields.finish().unwrap_err().message, expected);
    }
}
