//! Patches as messages with a mask, and as JSON.

use confab_model::session::SendAction;
use confab_model::session::levels::{FastMode, ThinkingLevel};
use confab_model::session::patch::{Change, Fault, FaultKind, Given, Patch};
use confab_proto::registry::v1::SessionPatch;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use prost_types::FieldMask;
use serde_json::{Value, json};

use crate::error::{Reason, RpcError, Violations};
use crate::wire::patch::{from_json, patch_from_wire, patch_to_wire, refused};

fn mask(paths: &[&str]) -> FieldMask {
    let paths = paths.iter().map(|path| (*path).to_owned()).collect();
    FieldMask { paths }
}

fn read(wire: &SessionPatch, mask: Option<FieldMask>) -> Result<Patch, RpcError> {
    let mut violations = Violations::default();
    let patch = patch_from_wire(wire, mask, "patch", &mut violations);
    violations.finish().map(|()| patch)
}

/// What was noted: paths and texts.
fn noted(error: RpcError) -> Vec<(String, String)> {
    let pairs = error.violations.into_iter();
    pairs.map(|one| (one.field, one.description)).collect()
}

fn pair(field: &str, description: &str) -> (String, String) {
    (field.to_owned(), description.to_owned())
}

fn named(label: &str) -> SessionPatch {
    SessionPatch {
        label: Some(label.to_owned()),
        ..SessionPatch::default()
    }
}

/// Any value that some field takes.
fn value() -> impl Strategy<Value = Value> {
    let words = vec![
        "on",
        "off",
        "full",
        "auto",
        "deny",
        "allow",
        "leaf",
        "none",
        "node",
        "always",
        "high",
        "raw",
        "stream",
        "tokens",
        "agent:main:main",
        "Some text",
    ];
    prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => (0..4_i32).prop_map(Value::from),
        4 => select(words.clone()).prop_map(Value::from),
        1 => vec(select(words), 0..3).prop_map(Value::from),
    ]
}

/// Patches of up to twelve fields; what a field does not take is left out.
fn patch() -> impl Strategy<Value = Patch> {
    let field = (select(Patch::FIELDS.to_vec()), value());
    vec(field, 0..12).prop_map(|fields| {
        let readable = fields.iter().filter(|(name, value)| {
            let object = json!({ *name: value });
            from_json(object.as_object().unwrap()).is_ok()
        });
        let object: Value = readable
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        from_json(object.as_object().unwrap()).unwrap()
    })
}

proptest! {
    #[test]
    fn every_patch_comes_back(given in patch()) {
        let (wire, mask) = patch_to_wire(&given);
        prop_assert_eq!(mask.paths.is_empty(), given.is_empty());
        prop_assert_eq!(read(&wire, Some(mask)).unwrap(), given);
    }
}

#[test]
fn each_field_has_its_path() {
    for field in Patch::FIELDS {
        let cleared = Patch::read([(field, Given::Null)]).unwrap();
        let (wire, mask) = patch_to_wire(&cleared);
        assert_eq!(wire, SessionPatch::default(), "{field}");
        assert_eq!(mask.paths.len(), 1, "{field}");
        for path in [mask.paths[0].as_str(), field] {
            let mask = FieldMask {
                paths: vec![path.to_owned()],
            };
            assert_eq!(read(&wire, Some(mask)).unwrap(), cleared, "{path}");
        }
    }
}

#[test]
fn without_a_mask_the_fields_that_are_there_are_set() {
    let wire = SessionPatch {
        send_policy: 2,
        fast_mode: Some("AUTO".to_owned()),
        archived: Some(false),
        ..named(" Plan ")
    };
    for mask in [None, Some(mask(&[]))] {
        let patch = read(&wire, mask).unwrap();
        assert_eq!(patch.send_policy, Some(Change::Set(SendAction::Deny)));
        assert_eq!(patch.fast_mode, Some(Change::Set(FastMode::Auto)));
        assert_eq!(patch.archived, Some(Change::Set(false)));
        assert!(matches!(&patch.label, Some(Change::Set(label)) if label.as_str() == "Plan"));
        assert_eq!((patch.pinned, patch.category), (None, None));
    }
    assert!(read(&SessionPatch::default(), None).unwrap().is_empty());
}

#[test]
fn a_mask_clears_what_it_names_and_the_message_lacks() {
    let patch = read(
        &named("Plan"),
        Some(mask(&["label", "model", "thinkingLevel", "model"])),
    )
    .unwrap();
    assert!(matches!(patch.label, Some(Change::Set(_))));
    assert_eq!(patch.model, Some(Change::Clear));
    assert_eq!(patch.thinking_level, Some(Change::Clear));
    assert_eq!(patch.category, None);
}

#[test]
fn a_field_that_the_mask_does_not_name_is_refused() {
    let wire = SessionPatch {
        thinking_level: Some("low".to_owned()),
        ..named("Plan")
    };
    let error = read(&wire, Some(mask(&["label"]))).unwrap_err();
    assert_eq!(
        noted(error),
        [pair(
            "patch.thinkingLevel",
            "patch.thinkingLevel is set but updateMask does not name it; add thinking_level to \
             updateMask or leave the field out",
        )]
    );
}

#[test]
fn unknown_paths_are_refused_with_the_nearest_field() {
    let error = read(
        &named("Plan"),
        Some(mask(&["label", "thinking_leve", "*", "session_id"])),
    );
    assert_eq!(
        noted(error.unwrap_err()),
        [
            pair(
                "updateMask",
                "updateMask names `thinking_leve`, which is no field of a patch; did you mean \
                 thinking_level?",
            ),
            pair(
                "updateMask",
                "updateMask names `*`, which is no field of a patch"
            ),
            pair(
                "updateMask",
                "updateMask names `session_id`, which is no field of a patch",
            ),
        ]
    );
}

#[test]
fn a_mask_is_bounded() {
    let endless = FieldMask {
        paths: vec!["label".to_owned(); 101],
    };
    let error = read(&named("Plan"), Some(endless)).unwrap_err();
    assert_eq!(
        noted(error),
        [pair(
            "updateMask",
            "updateMask has 101 paths; at most 100 are allowed"
        )]
    );
}

#[test]
fn faults_of_form_are_violations_below_the_prefix() {
    let wire = SessionPatch {
        send_policy: 9,
        spawn_depth: Some(-1),
        ..named("a\tb")
    };
    assert_eq!(
        noted(read(&wire, None).unwrap_err()),
        [
            pair(
                "patch.spawnDepth",
                "invalid spawnDepth (use an integer >= 0)"
            ),
            pair(
                "patch.label",
                "invalid label: control characters are not allowed"
            ),
            pair(
                "patch.sendPolicy",
                "invalid sendPolicy (use \"allow\"|\"deny\")"
            ),
        ]
    );
}

#[test]
fn json_sets_clears_and_leaves() {
    let object = json!({ "thinkingLevel": "ultra", "fastMode": true, "label": null });
    let patch = from_json(object.as_object().unwrap()).unwrap();
    assert_eq!(
        patch.thinking_level,
        Some(Change::Set(ThinkingLevel::Ultra))
    );
    assert_eq!(patch.fast_mode, Some(Change::Set(FastMode::On)));
    assert_eq!(patch.label, Some(Change::Clear));
    assert_eq!(patch.category, None);
}

#[test]
fn json_of_a_wrong_form_is_refused_with_all_faults() {
    let object = json!({
        "archivedAt": 1, "nonsense": 2, "verboseLevel": true, "label": {}, "pinned": [1],
    });
    let error = from_json(object.as_object().unwrap()).unwrap_err();
    assert_eq!(error.reason, Reason::InvalidArgument);
    assert_eq!(
        noted(error),
        [
            pair(
                "archivedAt",
                "archivedAt is no field of a patch; did you mean archived?"
            ),
            pair("nonsense", "nonsense is no field of a patch"),
            pair("label", "invalid label: must be a string"),
            pair("pinned", "invalid pinned (use true or false)"),
            pair(
                "verboseLevel",
                "invalid verboseLevel (use \"on\"|\"off\"|\"full\")"
            ),
        ]
    );
}

#[test]
fn a_refusal_is_about_the_state_only_where_no_field_is_bad() {
    let fault = |field: &str, kind| Fault {
        field: field.to_owned(),
        message: format!("no {field}"),
        kind,
    };
    let (busy, archived) = (
        fault("archived", FaultKind::Conflict),
        fault("pinned", FaultKind::Conflict),
    );
    let once = fault("spawnedBy", FaultKind::Conflict);
    let bad = fault("spawnDepth", FaultKind::Invalid);
    let cases = [
        (vec![busy.clone()], Reason::SessionBusy),
        (vec![archived], Reason::SessionArchived),
        (vec![once.clone()], Reason::InvalidArgument),
        (vec![busy.clone(), once], Reason::InvalidArgument),
        (vec![bad, busy], Reason::InvalidArgument),
    ];
    for (faults, reason) in cases {
        let count = faults.len();
        let error = refused(faults);
        assert_eq!(error.reason, reason);
        assert_eq!(error.violations.len(), count);
    }
}
