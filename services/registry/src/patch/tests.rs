//! Patching sessions.

mod contended;
mod repeated;

use confab_proto::registry::v1::{
    CreateSessionRequest, LifecycleChange, PatchSessionRequest, SessionPatch,
};
use confab_proto::types::v1 as types;
use confab_rpc::error::Reason;
use confab_rpc::gate::{Action, Target};
use confab_vectors::LABELS;
use prost_types::FieldMask;
use serde_json::Value;

use crate::testing::{DEFAULTS, House, OPEN_HOUSE, agent, change_of, named, operator, target};

/// Models are known, and writers have one.
const MODELS: &str = r#"{
    agents: { list: [{ id: "writer", default: true, model: "m-1" }, { id: "editor" }] },
    confab: { models: ["m-1", "m-2"] },
}"#;

const CHILD: &str = "agent:writer:subagent:1";

fn patch_of(session_key: &str, patch: SessionPatch) -> PatchSessionRequest {
    PatchSessionRequest {
        target: Some(types::SessionTarget::from(Target::reference(session_key))),
        patch: Some(patch),
        ..Default::default()
    }
}

fn clearing(session_key: &str, fields: &[&str]) -> PatchSessionRequest {
    PatchSessionRequest {
        update_mask: Some(FieldMask {
            paths: fields.iter().map(|&field| field.to_owned()).collect(),
        }),
        ..patch_of(session_key, SessionPatch::default())
    }
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "the fields of the message are options"
)]
fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn labelled(label: &str) -> SessionPatch {
    SessionPatch {
        label: text(label),
        ..Default::default()
    }
}

fn filed(category: &str) -> SessionPatch {
    SessionPatch {
        category: text(category),
        ..Default::default()
    }
}

fn modelled(model: &str) -> SessionPatch {
    SessionPatch {
        model: text(model),
        ..Default::default()
    }
}

/// Every field at once, but for `archived`, which is not for this call.
fn everything() -> SessionPatch {
    SessionPatch {
        label: text(" Desk "),
        archived: None,
        pinned: Some(true),
        model: text("m-2"),
        send_policy: types::SendPolicy::Deny.into(),
        thinking_level: text("think-hard"),
        fast_mode: text("TRUE"),
        verbose_level: text("everything"),
        reasoning_level: text("stream"),
        elevated_level: text("ask"),
        response_usage: text("on"),
        group_activation: text("always"),
        trace_level: text("raw"),
        exec_host: text("node"),
        exec_security: text("allowlist"),
        exec_ask: text("on-miss"),
        exec_node: text("phone"),
        category: text("Work"),
        unread: Some(true),
        spawned_by: text("agent:writer:main"),
        spawned_workspace_dir: text("/w"),
        spawned_cwd: text("/w/c"),
        spawn_depth: Some(1),
        subagent_role: text("leaf"),
        subagent_control_scope: text("none"),
        inherited_tool_allow: vec!["Read".to_owned(), "read".to_owned()],
        inherited_tool_deny: vec!["exec".to_owned()],
    }
}

/// The patched fields of a row, in the form of a patch.
fn shown(row: &types::Session) -> SessionPatch {
    SessionPatch {
        label: row.label.clone(),
        archived: None,
        pinned: row.pinned_at.is_some().then_some(true),
        model: row.model_override.clone(),
        send_policy: row.send_policy,
        thinking_level: row.thinking_level.clone(),
        fast_mode: row.fast_mode.clone(),
        verbose_level: row.verbose_level.clone(),
        reasoning_level: row.reasoning_level.clone(),
        elevated_level: row.elevated_level.clone(),
        response_usage: row.response_usage.clone(),
        group_activation: row.group_activation.clone(),
        trace_level: row.trace_level.clone(),
        exec_host: row.exec_host.clone(),
        exec_security: row.exec_security.clone(),
        exec_ask: row.exec_ask.clone(),
        exec_node: row.exec_node.clone(),
        category: row.category.clone(),
        unread: row.unread.then_some(true),
        spawned_by: row.spawned_by.clone(),
        spawned_workspace_dir: row.spawned_workspace_dir.clone(),
        spawned_cwd: row.spawned_cwd.clone(),
        spawn_depth: row.spawn_depth,
        subagent_role: row.subagent_role.clone(),
        subagent_control_scope: row.subagent_control_scope.clone(),
        inherited_tool_allow: row.inherited_tool_allow.clone(),
        inherited_tool_deny: row.inherited_tool_deny.clone(),
    }
}

async fn house_with_child(config: &str) -> House {
    let house = House::with(config).await;
    house.made("agent:writer:main").await;
    house.made(CHILD).await;
    house
}

#[tokio::test]
async fn every_field_is_set_kept_and_cleared() {
    let house = house_with_child(MODELS).await;
    house.clock.advance_millis(5);
    let before = house.row(CHILD).await.unwrap();
    let set = house
        .patch(operator(), patch_of(CHILD, everything()))
        .await
        .unwrap();
    let canonical = SessionPatch {
        label: text("Desk"),
        thinking_level: text("low"),
        fast_mode: text("true"),
        verbose_level: text("full"),
        response_usage: text("tokens"),
        inherited_tool_allow: vec!["read".to_owned()],
        ..everything()
    };
    let row = set.session.unwrap();
    assert!(set.changed);
    assert_eq!(shown(&row), canonical);

    let stored = house.row(CHILD).await.unwrap();
    assert_eq!(stored.row_version, before.row_version + 1);
    assert_eq!(stored.work_epoch, before.work_epoch);
    assert_eq!(stored.updated_at, before.updated_at, "D54");
    assert_eq!(stored.pinned_at, Some(before.updated_at.plus_millis(5)));

    let house = house.reopened().await;
    assert_eq!(house.row(CHILD).await.unwrap(), stored);
    let fields = [
        "label",
        "pinned",
        "model",
        "send_policy",
        "thinking_level",
        "fast_mode",
        "verbose_level",
        "reasoning_level",
        "elevated_level",
        "response_usage",
        "group_activation",
        "trace_level",
        "exec_host",
        "exec_security",
        "exec_ask",
        "exec_node",
        "category",
        "unread",
        "inherited_tool_allow",
        "inheritedToolDeny",
    ];
    let cleared = house
        .patch(operator(), clearing(CHILD, &fields))
        .await
        .unwrap();
    let once = SessionPatch {
        spawned_by: text("agent:writer:main"),
        spawned_workspace_dir: text("/w"),
        spawned_cwd: text("/w/c"),
        spawn_depth: Some(1),
        subagent_role: text("leaf"),
        subagent_control_scope: text("none"),
        ..Default::default()
    };
    assert_eq!(shown(&cleared.session.unwrap()), once);
}

#[tokio::test]
async fn a_bad_field_leaves_the_row_as_it_is_and_all_faults_are_told_at_once() {
    let house = house_with_child(MODELS).await;
    let before = house.row(CHILD).await;
    let malformed = SessionPatch {
        label: text(" "),
        verbose_level: text("loud"),
        category: text("fine"),
        model: text("m-9"),
        ..Default::default()
    };
    let refused = house
        .patch(operator(), patch_of(CHILD, malformed))
        .await
        .unwrap_err();
    assert_eq!(refused.reason, Reason::InvalidArgument);
    let told: Vec<&str> = refused
        .violations
        .iter()
        .map(|one| one.description.as_str())
        .collect();
    assert_eq!(
        told,
        [
            "invalid label: empty",
            "invalid verboseLevel (use \"on\"|\"off\"|\"full\")",
            "Unrecognized model \"m-9\". Known models (confab.models): m-1, m-2.",
        ]
    );
    assert_eq!(house.row(CHILD).await, before);
}

#[tokio::test]
async fn what_the_row_forbids_is_told_with_the_model_in_the_order_of_the_fields() {
    let house = House::with(MODELS).await;
    house.made("agent:writer:desk").await;
    let patch = SessionPatch {
        spawn_depth: Some(1),
        subagent_role: text("leaf"),
        model: text("m-9"),
        category: text("fine"),
        ..Default::default()
    };
    let refused = house
        .patch(operator(), patch_of("agent:writer:desk", patch))
        .await
        .unwrap_err();
    let fields: Vec<&str> = refused
        .violations
        .iter()
        .map(|one| one.field.as_str())
        .collect();
    assert_eq!(fields, ["spawnDepth", "subagentRole", "model"]);
    assert_eq!(house.row("agent:writer:desk").await.unwrap().row_version, 1);
}

#[tokio::test]
async fn a_patch_that_says_what_the_row_says_writes_nothing() {
    let house = house_with_child(DEFAULTS).await;
    let request = patch_of(CHILD, labelled("Desk"));
    assert!(
        house
            .patch(operator(), request.clone())
            .await
            .unwrap()
            .changed
    );
    house.clock.advance_millis(9);
    let again = house.patch(operator(), request).await.unwrap();
    assert!(!again.changed);
    assert_eq!(again.session.unwrap().row_version, 2);
    let nothing = patch_of(CHILD, SessionPatch::default());
    assert!(!house.patch(operator(), nothing).await.unwrap().changed);
}

#[tokio::test]
async fn a_model_is_known_and_the_configured_one_is_no_override() {
    let house = house_with_child(MODELS).await;
    let set = async |model: &str| {
        house
            .patch(operator(), patch_of(CHILD, modelled(model)))
            .await
    };
    assert_eq!(
        set(" m-2 ").await.unwrap().session.unwrap().model_override,
        text("m-2")
    );
    // reg:M22: what the agent has anyway is stored as no model of its own.
    let default = set("m-1").await.unwrap();
    assert!(default.changed);
    assert_eq!(default.session.unwrap().model_override, None);
    let blank = set("  ").await.unwrap_err();
    assert_eq!(blank.message, "invalid model: empty");
    let unknown = set("default").await.unwrap_err();
    assert_eq!(unknown.violations[0].field, "model");
    assert!(
        unknown
            .message
            .starts_with("Unrecognized model \"default\"."),
        "{unknown}"
    );

    let any = house_with_child(DEFAULTS).await;
    let set = any
        .patch(operator(), patch_of(CHILD, modelled("m-9")))
        .await;
    assert_eq!(set.unwrap().session.unwrap().model_override, text("m-9"));
}

#[tokio::test]
async fn an_agent_sets_its_model_and_nothing_else() {
    let house = house_with_child(OPEN_HOUSE).await;
    let own = patch_of("current", modelled("m-2"));
    let set = house.patch(agent("agent:writer:main"), own).await.unwrap();
    assert_eq!(set.session.unwrap().model_override, text("m-2"));

    let more = SessionPatch {
        label: text("Mine"),
        pinned: Some(true),
        ..modelled("m-3")
    };
    let refused = house
        .patch(agent("agent:writer:main"), patch_of("current", more))
        .await
        .unwrap_err();
    assert_eq!(refused.reason, Reason::Role);
    assert!(refused.message.contains("sets label, pinned"), "{refused}");

    // D11: the same decision as everywhere.
    let narrow = house_with_child(DEFAULTS).await;
    narrow.made("agent:editor:main").await;
    let refused = narrow
        .patch(
            agent("agent:editor:main"),
            patch_of("agent:writer:main", modelled("m-2")),
        )
        .await
        .unwrap_err();
    assert_eq!(refused.reason, Reason::Visibility);
}

#[tokio::test]
async fn archiving_is_not_for_this_call() {
    let house = house_with_child(DEFAULTS).await;
    for archived in [true, false] {
        let patch = SessionPatch {
            archived: Some(archived),
            ..Default::default()
        };
        let refused = house
            .patch(operator(), patch_of(CHILD, patch))
            .await
            .unwrap_err();
        assert_eq!(refused.reason, Reason::InvalidArgument);
        assert_eq!(refused.violations[0].field, "patch.archived");
        assert!(refused.message.contains("ArchiveSession"), "{refused}");
    }
}

#[tokio::test]
async fn a_missing_session_is_not_found_and_nothing_is_made() {
    let house = House::with(DEFAULTS).await;
    for given in [
        "agent:writer:main",
        "agent:writer:desk",
        "0b6b2c1e-7b1d-4a55-9a5d-2f5f1b0c9d01",
    ] {
        let refused = house
            .patch(operator(), patch_of(given, labelled("x")))
            .await
            .unwrap_err();
        assert_eq!(refused.reason, Reason::SessionNotFound, "{given}");
    }
    assert_eq!(house.keys().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_change_based_on_another_version_is_refused_telling_both() {
    let house = house_with_child(DEFAULTS).await;
    let based = |version: i64, label: &str| PatchSessionRequest {
        expected_row_version: Some(version),
        ..patch_of(CHILD, labelled(label))
    };
    house.patch(operator(), based(1, "One")).await.unwrap();
    let refused = house.patch(operator(), based(1, "Two")).await.unwrap_err();
    assert_eq!(refused.reason, Reason::Stale);
    assert!(
        refused.message.contains("row version 2") && refused.message.contains("based on 1"),
        "{refused}"
    );
    house.patch(operator(), based(2, "Two")).await.unwrap();
    let refused = house.patch(operator(), based(0, "x")).await.unwrap_err();
    assert_eq!(refused.violations[0].field, "expectedRowVersion");
}

#[tokio::test]
async fn an_archived_session_is_patched_but_not_pinned() {
    let house = house_with_child(DEFAULTS).await;
    let row = house.row(CHILD).await.unwrap();
    house
        .commit(change_of(&row, LifecycleChange::Archive, "c"))
        .await
        .unwrap();
    house
        .patch(operator(), patch_of(CHILD, labelled("Old")))
        .await
        .unwrap();
    let pinned = SessionPatch {
        pinned: Some(true),
        ..Default::default()
    };
    let refused = house
        .patch(operator(), patch_of(CHILD, pinned))
        .await
        .unwrap_err();
    assert_eq!(refused.reason, Reason::SessionArchived);
    assert_eq!(
        refused.message,
        "cannot pin an archived session; restore it first"
    );
}

#[tokio::test]
async fn a_spawner_is_stored_by_its_one_name_d4() {
    let house = house_with_child(DEFAULTS).await;
    // No agent is called main, so its main session is the default agent's (reg:K15).
    let patch = SessionPatch {
        spawned_by: text("agent:main:main"),
        ..Default::default()
    };
    let answer = house.patch(operator(), patch_of(CHILD, patch)).await;
    let row = answer.unwrap().session.unwrap();
    assert_eq!(row.spawned_by, text("agent:writer:main"));
}

#[tokio::test]
async fn a_spawner_exists_and_closes_no_ring() {
    let house = house_with_child(DEFAULTS).await;
    house.made("agent:writer:subagent:2").await;
    let spawned = |by: &str| SessionPatch {
        spawned_by: text(by),
        ..Default::default()
    };
    let refused = house
        .patch(operator(), patch_of(CHILD, spawned("agent:writer:ghost")))
        .await
        .unwrap_err();
    assert_eq!(refused.reason, Reason::SessionNotFound);

    let patched = house
        .patch(
            operator(),
            patch_of(CHILD, spawned("agent:writer:subagent:2")),
        )
        .await
        .unwrap();
    // reg:V20: as deep as its spawner, and one more.
    let depth = patched.session.unwrap().spawn_depth;
    assert_eq!(depth, Some(2));
    let refused = house
        .patch(
            operator(),
            patch_of("agent:writer:subagent:2", spawned(CHILD)),
        )
        .await
        .unwrap_err();
    assert_eq!(refused.reason, Reason::InvalidArgument);
    assert!(refused.message.contains("ring of spawns"), "{refused}");
}

#[tokio::test]
async fn the_vectors_of_labels_hold() {
    let config = r#"{ agents: { list: [{ id: "main", default: true }, { id: "ops" }] } }"#;
    let mut checked = 0;
    for case in LABELS.cases::<Value, Value>().unwrap() {
        let Some(label) = case.given["label"].as_str() else {
            // A label that is no text has no form on this wire.
            continue;
        };
        let house = House::with(config).await;
        for row in case.given["rows"].as_array().into_iter().flatten() {
            let made = house
                .labelled(row["key"].as_str().unwrap(), row["label"].as_str().unwrap())
                .await;
            if row["archived"] == true {
                let archive = change_of(&made, LifecycleChange::Archive, "c");
                house.commit(archive).await.unwrap();
            }
        }
        let key = case.given["key"].as_str().unwrap_or("agent:main:main");
        house.made(key).await;
        let answer = house
            .patch(operator(), patch_of(key, labelled(label)))
            .await;
        match case.out["message"].as_str() {
            None => {
                let stored = answer.unwrap().session.unwrap().label;
                assert_eq!(stored.as_deref(), case.out["label"].as_str(), "{}", case.id);
            },
            Some(message) => {
                let refused = answer.unwrap_err();
                assert_eq!(refused.message, message, "{}", case.id);
                let code = if refused.reason == Reason::LabelInUse {
                    "ALREADY_EXISTS"
                } else {
                    "INVALID_ARGUMENT"
                };
                assert_eq!(case.out["error"], code, "{}", case.id);
            },
        }
        checked += 1;
    }
    assert_eq!(checked, 13);
}

#[tokio::test]
async fn an_archived_row_keeps_its_label_to_itself() {
    let house = house_with_child(DEFAULTS).await;
    house
        .patch(operator(), patch_of(CHILD, labelled("Desk")))
        .await
        .unwrap();
    let row = house.row(CHILD).await.unwrap();
    let archive = change_of(&row, LifecycleChange::Archive, "c");
    house.commit(archive).await.unwrap();
    let refused = house
        .patch(operator(), patch_of("agent:writer:main", labelled("Desk")))
        .await
        .unwrap_err();
    assert_eq!(refused.reason, Reason::LabelInUse, "reg:M9");
}

#[tokio::test]
async fn a_label_names_the_session_to_patch() {
    let house = house_with_child(DEFAULTS).await;
    house.labelled("agent:writer:desk", "Desk").await;
    let request = PatchSessionRequest {
        target: Some(types::SessionTarget::from(target("", "Desk", ""))),
        ..patch_of("", filed("Work"))
    };
    let set = house.patch(operator(), request).await.unwrap();
    assert_eq!(set.session.unwrap().key, "agent:writer:desk");
    let found = house
        .decide(operator(), Action::Read, target("", "Desk", ""))
        .await
        .unwrap();
    assert_eq!(found.category.as_deref(), Some("Work"));
}

#[tokio::test]
async fn a_child_stores_its_depth_and_mode_and_patches_respect_them() {
    let house = house_with_child(DEFAULTS).await;
    let spawned = |by: &str| CreateSessionRequest {
        spawned_by: text(by),
        spawn_mode: text("run"),
        ..named("agent:writer:subagent:3")
    };
    let made = house.create(spawned(CHILD)).await.unwrap().session;
    assert_eq!(made.spawn.depth, Some(2), "reg:V20: the key alone says 1");
    let deeper = SessionPatch {
        spawn_depth: Some(3),
        ..Default::default()
    };
    let refused = house
        .patch(operator(), patch_of(made.key.as_str(), deeper))
        .await
        .unwrap_err();
    assert_eq!(refused.message, "spawnDepth cannot be changed once set");
}

#[tokio::test]
async fn a_taken_label_is_told_beside_what_else_is_wrong() {
    let house = House::with(DEFAULTS).await;
    house.labelled("agent:writer:desk", "Desk").await;
    house.made("agent:writer:main").await;
    let patch = SessionPatch {
        label: text("Desk"),
        thinking_level: text("deep"),
        spawned_by: text("agent:editor:main"),
        ..SessionPatch::default()
    };
    let refused = house.patch(operator(), patch_of("main", patch)).await;
    let faults = refused.unwrap_err().violations;
    let fields: Vec<&str> = faults.iter().map(|fault| fault.field.as_str()).collect();
    assert_eq!(fields, ["spawnedBy", "label", "thinkingLevel"]);
    assert_eq!(faults[1].description, "label already in use: Desk");
}
