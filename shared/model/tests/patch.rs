//! Every vector of `patch.json`, and the laws that hold for all patches.

use confab_model::clock::Timestamp;
use confab_model::id::{RunId, SessionId};
use confab_model::key::SessionKey;
use confab_model::run::RunState;
use confab_model::session::levels::{FastMode, Word};
use confab_model::session::patch::{Change, Fault, FaultKind, Given, Patch};
use confab_model::session::{LastRun, Session};
use confab_vectors::{Case, PATCH};
use proptest::prelude::*;
use proptest::sample::select;
use serde::Deserialize;
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp::from_millis(2_000);
const CHILD: &str = "agent:main:subagent:1";
const GROUP: &str = "agent:main:discord:group:1";

fn key(text: &str) -> SessionKey {
    SessionKey::parse(text).expect("a key")
}

fn row(text: &str) -> Session {
    let id = SessionId::parse("generation").expect("an id");
    Session::fresh(key(text), id, Timestamp::from_millis(1_000))
}

fn with_run(state: RunState) -> LastRun {
    LastRun {
        run_id: RunId::parse("run").expect("an id"),
        state,
        started_at: None,
        ended_at: None,
        model: None,
        total_tokens: None,
        input_tokens: None,
        output_tokens: None,
    }
}

fn given(value: &Value) -> Given<'_> {
    match value {
        Value::Null => Given::Null,
        Value::Bool(flag) => Given::Flag(*flag),
        Value::Number(number) => number.as_f64().map_or(Given::Other, Given::Number),
        Value::String(text) => Given::Text(text),
        Value::Array(items) => items
            .iter()
            .map(Value::as_str)
            .collect::<Option<Vec<_>>>()
            .map_or(Given::Other, Given::Texts),
        Value::Object(_) => Given::Other,
    }
}

fn applied(row: &Session, object: &Value) -> Result<Session, Vec<Fault>> {
    let fields = object.as_object().expect("an object");
    let fields = fields
        .iter()
        .map(|(name, value)| (name.as_str(), given(value)));
    row.patched(&Patch::read(fields)?, NOW)
}

fn word<T: Word>(value: Option<T>) -> Value {
    json!(value.map(T::word))
}

/// A field of a row as it is shown; null where it holds nothing.
fn shown(row: &Session, field: &str) -> Value {
    let (tuning, spawn) = (&row.tuning, &row.spawn);
    match field {
        "spawnedBy" => json!(row.spawned_by),
        "spawnDepth" => json!(spawn.depth),
        "subagentRole" => word(spawn.role),
        "label" => json!(row.label),
        "category" => json!(row.category),
        "archived" => json!(row.archived_at.is_some()),
        "thinkingLevel" => word(tuning.thinking_level),
        "fastMode" => match tuning.fast_mode {
            Some(FastMode::On) => json!(true),
            Some(FastMode::Off) => json!(false),
            auto @ (Some(FastMode::Auto) | None) => word(auto),
        },
        "verboseLevel" => word(tuning.verbose_level),
        "traceLevel" => word(tuning.trace_level),
        "reasoningLevel" => word(tuning.reasoning_level),
        "responseUsage" => word(tuning.response_usage),
        "elevatedLevel" => word(tuning.elevated_level),
        "model" => json!(tuning.model),
        "sendPolicy" => word(tuning.send_policy),
        "groupActivation" => word(tuning.group_activation),
        other => json!(format!("{other} is not looked at")),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    key: String,
    field: String,
    value: Value,
    #[serde(default)]
    row: Stored,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Stored {
    spawned_by: Option<SessionKey>,
    archived: bool,
    active_run: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Pinned {
    value: Option<Value>,
    #[serde(default)]
    cleared: bool,
    error: Option<String>,
    message: Option<String>,
    error_message: Option<String>,
}

/// The row that a case begins with; what the case clears is there before.
fn stored(input: &Input, cleared: bool) -> Session {
    let row = Session {
        spawned_by: input.row.spawned_by.clone(),
        archived_at: input.row.archived.then_some(Timestamp::from_millis(1)),
        last_run: input.row.active_run.then(|| with_run(RunState::Running)),
        ..row(&input.key)
    };
    let before = json!({
        "label": "a label", "category": "a category", "model": "a model",
        "sendPolicy": "deny", "groupActivation": "mention",
    });
    if cleared {
        applied(&row, &before).expect("the row takes all of them")
    } else {
        row
    }
}

#[test]
fn each_field_takes_the_values_of_the_vectors_and_refuses_the_others() {
    let cases: Vec<Case<Input, Pinned>> = PATCH.cases().unwrap();
    for Case { id, given, out, .. } in cases {
        let row = stored(&given, out.cleared);
        match applied(&row, &json!({ given.field.as_str(): given.value })) {
            Ok(row) => {
                assert!(out.cleared || out.value.is_some(), "{id} passed");
                let expected = out.value.unwrap_or(Value::Null);
                assert_eq!(shown(&row, &given.field), expected, "{id}");
            },
            Err(faults) => assert_refused(&id, &given.field, &out, &faults),
        }
    }
}

fn assert_refused(id: &str, field: &str, out: &Pinned, faults: &[Fault]) {
    assert_eq!(faults.len(), 1, "{id}: {faults:?}");
    let fault = faults.first().expect("one fault");
    assert_eq!(fault.field, field, "{id}");
    if let Some(message) = out.message.as_ref().or(out.error_message.as_ref()) {
        assert_eq!(*message, fault.message, "{id}");
    }
    match out.error.as_deref() {
        Some(class) => assert_eq!(
            (class, fault.kind),
            ("INVALID_ARGUMENT", FaultKind::Invalid),
            "{id}"
        ),
        None => assert!(out.error_message.is_some(), "{id} was refused"),
    }
}

fn told(faults: Vec<Fault>) -> Vec<(String, String)> {
    let pair = |fault: Fault| (fault.field, fault.message);
    faults.into_iter().map(pair).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(field, message): &(&str, &str)| ((*field).to_owned(), (*message).to_owned());
    expected.iter().map(owned).collect()
}

/// Source: reg:M19, reg:M20, reg:M21, reg:M22, reg:M26.
#[test]
fn all_faults_of_form_are_told_in_the_order_of_the_fields() {
    let object = json!({
        "model": " ", "execNode": 7, "execAsk": "perhaps", "execSecurity": "none",
        "execHost": "moon", "elevatedLevel": "high", "responseUsage": "some",
        "reasoningLevel": "maybe", "fastMode": "fast", "thinkingLevel": "galactic",
        "unread": "yes", "pinned": 1, "category": "a\nb", "label": "a\u{7}",
        "inheritedToolAllow": ["ok", " "], "inheritedToolDeny": "exec", "spawnDepth": -1,
        "spawnedCwd": "", "spawnedWorkspaceDir": "a\u{0}", "spawnedBy": "  ", "labl": "x",
    });
    let expected = [
        ("labl", "labl is no field of a patch"),
        ("spawnedBy", "invalid spawnedBy: empty"),
        (
            "spawnedWorkspaceDir",
            "invalid spawnedWorkspaceDir: control characters are not allowed",
        ),
        ("spawnedCwd", "invalid spawnedCwd: empty"),
        ("spawnDepth", "invalid spawnDepth (use an integer >= 0)"),
        (
            "inheritedToolDeny",
            "invalid inheritedToolDeny (use an array of tool names)",
        ),
        (
            "inheritedToolAllow",
            "invalid inheritedToolAllow (use an array of tool names)",
        ),
        ("label", "invalid label: control characters are not allowed"),
        (
            "category",
            "invalid category: control characters are not allowed",
        ),
        ("pinned", "invalid pinned (use true or false)"),
        ("unread", "invalid unread (use true or false)"),
        (
            "thinkingLevel",
            "invalid thinkingLevel (use off|minimal|low|medium|high|xhigh|adaptive|max|ultra)",
        ),
        (
            "fastMode",
            "invalid fastMode (use true, false, or \"auto\")",
        ),
        (
            "reasoningLevel",
            "invalid reasoningLevel (use \"on\"|\"off\"|\"stream\")",
        ),
        (
            "responseUsage",
            "invalid responseUsage (use \"off\"|\"tokens\"|\"full\")",
        ),
        (
            "elevatedLevel",
            "invalid elevatedLevel (use \"on\"|\"off\"|\"ask\"|\"full\")",
        ),
        (
            "execHost",
            "invalid execHost (use \"auto\"|\"sandbox\"|\"gateway\"|\"node\")",
        ),
        (
            "execSecurity",
            "invalid execSecurity (use \"deny\"|\"allowlist\"|\"full\")",
        ),
        (
            "execAsk",
            "invalid execAsk (use \"off\"|\"on-miss\"|\"always\")",
        ),
        ("execNode", "invalid execNode: must be a string"),
        ("model", "invalid model: empty"),
    ];
    let faults = applied(&row(CHILD), &object).unwrap_err();
    assert!(faults.iter().all(|fault| fault.kind == FaultKind::Invalid));
    assert_eq!(told(faults), pairs(&expected));
}

/// Source: reg:M5, reg:M6, reg:M7, reg:M8, reg:M15, reg:M26.
#[test]
fn all_that_a_row_forbids_is_told_in_the_order_of_the_fields() {
    let object = json!({
        "spawnedBy": "agent:main:main", "spawnedWorkspaceDir": "/w", "spawnedCwd": "/c",
        "spawnDepth": 0, "subagentRole": "leaf", "subagentControlScope": "none",
        "inheritedToolDeny": ["exec"], "inheritedToolAllow": ["read"], "archived": true,
    });
    let faults = applied(&row("agent:ops:main"), &object).unwrap_err();
    let fields: Vec<_> = faults.iter().map(|fault| fault.field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "spawnedBy",
            "spawnedWorkspaceDir",
            "spawnedCwd",
            "spawnDepth",
            "subagentRole",
            "subagentControlScope",
            "inheritedToolDeny",
            "inheritedToolAllow",
            "archived",
        ]
    );
    for fault in &faults[..8] {
        let rule = "is only supported for subagent:* or acp:* sessions";
        assert_eq!(fault.message, format!("{} {rule}", fault.field));
    }
    assert_eq!(faults[8].message, "Cannot archive an agent's main session.");
}

/// Source: reg:M5, reg:M6, reg:M7, reg:M8.
#[test]
fn lineage_is_set_once_and_inherited_lists_may_change() {
    let lineage = json!({
        "spawnedBy": "agent:main:main", "spawnedWorkspaceDir": "/w", "spawnedCwd": "/c",
        "spawnDepth": 2, "subagentRole": "leaf", "subagentControlScope": "none",
        "inheritedToolDeny": [" Exec ", "exec", "read"],
    });
    for text in [CHILD, "agent:main:acp:1"] {
        let set = applied(&row(text), &lineage).unwrap();
        assert_eq!(set.spawn.inherited_tool_deny, ["exec", "read"]);
        assert_eq!(applied(&set, &lineage).unwrap(), set, "the same again");
        let changed = json!({ "spawnDepth": 3, "spawnedCwd": null, "inheritedToolDeny": [] });
        let faults = applied(&set, &changed).unwrap_err();
        assert!(faults.iter().all(|fault| fault.kind == FaultKind::Conflict));
        let expected = [
            ("spawnedCwd", "spawnedCwd cannot be cleared once set"),
            ("spawnDepth", "spawnDepth cannot be changed once set"),
        ];
        assert_eq!(told(faults), pairs(&expected));
        let emptied = applied(&set, &json!({ "inheritedToolDeny": [] })).unwrap();
        assert!(emptied.spawn.inherited_tool_deny.is_empty());
    }
    let nothing = json!({ "spawnedBy": null, "spawnDepth": null, "inheritedToolAllow": null });
    assert_eq!(applied(&row(GROUP), &nothing).unwrap(), row(GROUP));
}

#[test]
fn a_session_cannot_spawn_itself() {
    let faults = applied(&row(CHILD), &json!({ "spawnedBy": CHILD })).unwrap_err();
    assert_eq!(
        told(faults),
        pairs(&[(
            "spawnedBy",
            "invalid spawnedBy: a session cannot spawn itself"
        )])
    );
}

/// Source: reg:M13, reg:M14.
#[test]
fn archiving_comes_before_pinning() {
    let pinned = applied(&row(GROUP), &json!({ "pinned": true })).unwrap();
    assert_eq!(pinned.pinned_at, Some(NOW));
    let archived = applied(&pinned, &json!({ "archived": true })).unwrap();
    assert_eq!(
        (
            archived.archived_at,
            archived.pinned_at,
            archived.work_epoch
        ),
        (Some(NOW), None, 1)
    );
    let both = json!({ "archived": true, "pinned": true });
    let faults = applied(&pinned, &both).unwrap_err();
    assert_eq!(
        told(faults),
        pairs(&[("pinned", "cannot pin an archived session; restore it first")])
    );
    let back = json!({ "archived": false, "pinned": true });
    let restored = applied(&archived, &back).unwrap();
    assert_eq!(
        (
            restored.archived_at,
            restored.pinned_at,
            restored.work_epoch
        ),
        (None, Some(NOW), 2)
    );
}

/// Source: reg:M13, reg:M15.
#[test]
fn a_session_is_archived_once_and_only_without_a_run() {
    for state in RunState::ALL {
        let busy = Session {
            last_run: Some(with_run(state)),
            ..row(GROUP)
        };
        let outcome = applied(&busy, &json!({ "archived": true }));
        assert_eq!(outcome.is_ok(), state.is_ended(), "{state:?}");
    }
    let archived = row(GROUP).archive(Timestamp::from_millis(5));
    assert_eq!(
        applied(&archived, &json!({ "archived": true })).unwrap(),
        archived
    );
    for main in ["agent:main:main", "agent:ops:main", "global"] {
        assert!(applied(&row(main), &json!({ "archived": true })).is_err());
        assert!(applied(&row(main), &json!({ "archived": false })).is_ok());
    }
}

/// Source: reg:M17.
#[test]
fn a_session_is_unread_when_marked_so_or_moved_after_it_was_read() {
    let new = row(GROUP);
    assert!(!new.is_unread(), "nobody ever read it");
    let marked = applied(&new, &json!({ "unread": true })).unwrap();
    assert!(marked.is_unread());
    let read = applied(&marked, &json!({ "unread": false })).unwrap();
    assert!(!read.is_unread() && read.marked_unread_at.is_none());
    let later = Some(NOW.plus_millis(1));
    let moved = Session {
        updated_at: NOW.plus_millis(1),
        ..read.clone()
    };
    let written_to = Session {
        last_interaction_at: later,
        ..read
    };
    assert!(moved.is_unread() && written_to.is_unread());
    let read_early = applied(&written_to, &json!({ "unread": null })).unwrap();
    assert!(!read_early.is_unread(), "a clock ahead of ours");
}

/// Source: D54.
#[test]
fn a_patch_moves_neither_the_time_nor_the_version() {
    let patched = applied(&row(GROUP), &json!({ "label": "A", "model": "m" })).unwrap();
    let before = row(GROUP);
    assert_eq!(patched.updated_at, before.updated_at);
    assert_eq!(patched.row_version, before.row_version);
    assert_eq!(patched.work_epoch, before.work_epoch);
}

#[test]
fn texts_and_lists_are_bounded() {
    let tools = |count: usize| (0..count).map(|n| format!("t{n}")).collect::<Vec<_>>();
    let cases = [
        ("execNode", json!("n".repeat(4096)), true),
        ("execNode", json!("n".repeat(4097)), false),
        ("spawnedCwd", json!("c".repeat(4097)), false),
        ("spawnedWorkspaceDir", json!("w".repeat(4097)), false),
        ("model", json!("m".repeat(256)), true),
        ("model", json!("m".repeat(257)), false),
        ("category", json!("c".repeat(512)), true),
        ("category", json!("c".repeat(513)), false),
        ("inheritedToolAllow", json!(tools(100)), true),
        ("inheritedToolAllow", json!(tools(101)), false),
        ("inheritedToolDeny", json!(["t".repeat(64)]), true),
        ("inheritedToolDeny", json!(["t".repeat(65)]), false),
        ("spawnDepth", json!(i32::MAX), true),
        ("spawnDepth", json!(i64::from(i32::MAX) + 1), false),
    ];
    for (field, value, allowed) in cases {
        let outcome = applied(&row(CHILD), &json!({ field: value }));
        assert_eq!(outcome.is_ok(), allowed, "{field}");
    }
    let long = "x".repeat(10_000);
    let faults = Patch::read([(long.as_str(), Given::Null)]).unwrap_err();
    assert!(faults[0].field.len() + faults[0].message.len() < 200);
}

#[test]
fn a_patch_that_says_nothing_is_empty() {
    assert!(Patch::read([]).unwrap().is_empty());
    for field in Patch::FIELDS {
        let cleared = Patch::read([(field, Given::Null)]).unwrap();
        assert!(!cleared.is_empty(), "{field}");
    }
    let empty_list = Patch::read([("inheritedToolDeny", Given::Texts(Vec::new()))]).unwrap();
    assert_eq!(empty_list.inherited_tool_deny, Some(Change::Clear));
}

/// Anything that may be written for a field, and much that may not.
fn value() -> impl Strategy<Value = Value> {
    let words = vec![
        "on",
        "off",
        "full",
        "auto",
        "deny",
        "allow",
        "leaf",
        "children",
        "node",
        "always",
        "high",
        "agent:main:main",
        CHILD,
        "Some text",
        " ",
        "a\nb",
    ];
    prop_oneof![
        1 => Just(Value::Null),
        2 => any::<bool>().prop_map(Value::from),
        1 => (-2..4_i64).prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        6 => select(words.clone()).prop_map(Value::from),
        1 => any::<String>().prop_map(Value::from),
        1 => proptest::collection::vec(select(words), 0..3).prop_map(Value::from),
    ]
}

fn object(fields: usize) -> impl Strategy<Value = Value> {
    let names = select(Patch::FIELDS.to_vec());
    proptest::collection::vec((names, value()), 0..fields).prop_map(|fields| {
        let fields = fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        Value::Object(fields.collect())
    })
}

fn any_row() -> impl Strategy<Value = Session> {
    let keys = select(vec![CHILD, GROUP, "agent:main:main", "agent:main:acp:1"]);
    let run = proptest::option::of(select(RunState::ALL.to_vec()));
    (keys, run, any::<bool>(), object(4)).prop_map(|(text, run, archived, before)| {
        let fresh = row(text);
        let row = applied(&fresh, &before).unwrap_or(fresh);
        let row = if archived { row.archive(NOW) } else { row };
        Session {
            last_run: run.map(with_run),
            ..row
        }
    })
}

proptest! {
    #[test]
    fn the_same_patch_again_changes_nothing(row in any_row(), object in object(4)) {
        if let Ok(once) = applied(&row, &object) {
            prop_assert_eq!(applied(&once, &object), Ok(once.clone()));
            prop_assert_eq!(once.key, row.key);
            prop_assert_eq!(once.session_id, row.session_id);
            prop_assert_eq!(once.updated_at, row.updated_at);
        }
    }

    /// Several fields are refused together exactly when one of them is refused alone, except that
    /// archiving decides about a pin.
    #[test]
    fn fields_are_judged_one_by_one(row in any_row(), object in object(6)) {
        let fields = object.as_object().unwrap();
        prop_assume!(!(fields.contains_key("archived") && fields.contains_key("pinned")));
        let alone = fields.iter().all(|(name, value)| applied(&row, &json!({ name: value })).is_ok());
        prop_assert_eq!(applied(&row, &object).is_ok(), alone);
    }

    #[test]
    fn a_refusal_names_a_field_that_was_written(row in any_row(), object in object(6)) {
        if let Err(faults) = applied(&row, &object) {
            prop_assert!(!faults.is_empty());
            for fault in faults {
                prop_assert!(object.get(&fault.field).is_some(), "{:?}", fault);
            }
        }
    }

    #[test]
    fn a_row_is_never_archived_and_pinned(row in any_row(), object in object(6)) {
        if let Ok(patched) = applied(&row, &object) {
            prop_assert!(patched.archived_at.is_none() || patched.pinned_at.is_none());
        }
    }
}
