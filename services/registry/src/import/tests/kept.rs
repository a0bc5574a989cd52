//! Which fields an import keeps, and which it leaves out.

use confab_proto::registry::v1::ImportOutcome;
use confab_proto::types::v1 as types;
use confab_rpc::wire::time;

use super::{brought, row};
use crate::testing::{DEFAULTS, House, START};

/// Two models, and an agent whose sessions are sandboxed.
const MODELS: &str = r#"{
    agents: { list: [
        { id: "writer", default: true, model: "big" },
        { id: "editor", sandbox: { mode: "all" } },
    ] },
    confab: { models: ["big", "small"] },
}"#;

/// A value for one field, and how it is told where it is missing.
type Field = (&'static str, fn(&mut types::Session));

const FIELDS: &[Field] = &[
    ("label", |row| row.label = Some("Plan".to_owned())),
    ("category", |row| row.category = Some("Work".to_owned())),
    ("spawnedBy", |row| {
        row.spawned_by = Some("agent:writer:p".to_owned());
        row.parent_session_key = row.spawned_by.clone();
    }),
    ("spawnDepth", |row| row.spawn_depth = Some(3)),
    ("sandboxed", |row| row.sandboxed = true),
    ("chatType", |row| {
        row.chat_type = types::ChatType::Group.into();
    }),
    ("origin.provider", |row| {
        row.origin.get_or_insert_default().provider = Some("discord".to_owned());
    }),
    ("origin.accountId", |row| {
        row.origin.get_or_insert_default().account_id = Some("bot".to_owned());
    }),
    ("origin.threadId", |row| {
        row.origin.get_or_insert_default().thread_id = Some("9".to_owned());
    }),
    ("deliveryContext", |row| {
        row.delivery_context = Some(types::Route {
            channel: "discord".to_owned(),
            to: "group:42".to_owned(),
            account_id: Some("bot".to_owned()),
            thread_id: Some("9".to_owned()),
        });
    }),
    ("createdAt", |row| {
        row.created_at = Some(time::to_proto(START.plus_millis(-70)));
    }),
    ("updatedAt", |row| {
        row.updated_at = Some(time::to_proto(START.plus_millis(-60)));
    }),
    ("sessionStartedAt", |row| {
        row.session_started_at = Some(time::to_proto(START.plus_millis(-50)));
    }),
    ("archivedAt", |row| {
        row.archived_at = Some(time::to_proto(START.plus_millis(-40)));
    }),
    ("pinnedAt", |row| {
        row.pinned_at = Some(time::to_proto(START.plus_millis(-30)));
    }),
    ("model", |row| row.model = Some("some old one".to_owned())),
    ("totalTokens", |row| row.total_tokens = Some(30)),
    ("inputTokens", |row| row.input_tokens = Some(20)),
    ("outputTokens", |row| row.output_tokens = Some(10)),
    ("modelOverride", |row| {
        row.model_override = Some("small".to_owned());
    }),
    ("thinkingLevel", |row| {
        row.thinking_level = Some("high".to_owned());
    }),
    ("fastMode", |row| row.fast_mode = Some("auto".to_owned())),
    ("verboseLevel", |row| {
        row.verbose_level = Some("full".to_owned());
    }),
    ("traceLevel", |row| row.trace_level = Some("raw".to_owned())),
    ("reasoningLevel", |row| {
        row.reasoning_level = Some("stream".to_owned());
    }),
    ("responseUsage", |row| {
        row.response_usage = Some("tokens".to_owned());
    }),
    ("elevatedLevel", |row| {
        row.elevated_level = Some("ask".to_owned());
    }),
    ("execHost", |row| row.exec_host = Some("sandbox".to_owned())),
    ("execSecurity", |row| {
        row.exec_security = Some("deny".to_owned());
    }),
    ("execAsk", |row| row.exec_ask = Some("always".to_owned())),
    ("execNode", |row| row.exec_node = Some("laptop".to_owned())),
    ("sendPolicy", |row| {
        row.send_policy = types::SendPolicy::Deny.into();
    }),
    ("groupActivation", |row| {
        row.group_activation = Some("mention".to_owned());
    }),
];

#[tokio::test]
async fn each_field_is_kept_as_given_and_compared_with_what_is_stored() {
    for (field, give) in FIELDS {
        let house = House::with(MODELS).await;
        house.made("agent:writer:p").await;
        let mut without = brought("agent:writer:subagent:1", "s1");
        row(&mut without).label = None;
        let mut with = without.clone();
        give(row(&mut with));

        let created = house.imported(with.clone()).await;
        assert_eq!(created.left_out, Vec::<String>::new(), "{field}");
        let mut stored = created.session.unwrap();
        let before = stored.clone();
        give(&mut stored);
        assert_eq!(stored, before, "{field}");
        let again = house.imported(with.clone()).await;
        assert_eq!(again.outcome(), ImportOutcome::Unchanged, "{field}");

        let house = House::with(MODELS).await;
        house.made("agent:writer:p").await;
        house.imported(without).await;
        let differs = house.imported(with.clone()).await;
        assert_eq!(differs.outcome(), ImportOutcome::Differs, "{field}");
        assert_eq!(differs.differences.len(), 1, "{field}");
        let told = &differs.differences[0];
        assert!(
            told.starts_with(&format!("{field} is stored as ")),
            "{told}"
        );
        with.replace = true;
        let replaced = house.imported(with.clone()).await;
        assert_eq!(replaced.outcome(), ImportOutcome::Replaced, "{field}");
        let again = house.imported(with).await;
        assert_eq!(again.outcome(), ImportOutcome::Unchanged, "{field}");
    }
}

#[tokio::test]
async fn what_was_spawned_for_is_kept_beside_the_spawner() {
    let house = House::with(DEFAULTS).await;
    house.imported(brought("agent:writer:p", "s0")).await;
    let mut child = brought("agent:writer:subagent:1", "s1");
    row(&mut child).spawned_by = Some("agent:writer:p".to_owned());
    row(&mut child).spawn_mode = Some("session".to_owned());
    let stored = house.imported(child).await.session.unwrap();
    assert_eq!(stored.spawn_mode.as_deref(), Some("session"));
    assert_eq!(stored.spawn_depth, Some(1));
    assert!(stored.state_version > 0, "the creation is an event");
}

#[tokio::test]
async fn an_agents_sandbox_holds_unless_a_row_says_more() {
    let house = House::with(MODELS).await;
    for (key, given, stored) in [
        ("agent:editor:a", false, true),
        ("agent:writer:a", false, false),
        ("agent:writer:b", true, true),
    ] {
        let mut request = brought(key, &format!("id of {key}"));
        row(&mut request).sandboxed = given;
        row(&mut request).label = None;
        let answer = house.imported(request.clone()).await;
        assert_eq!(answer.session.unwrap().sandboxed, stored, "{key}");
        let again = house.imported(request).await;
        assert_eq!(again.outcome(), ImportOutcome::Unchanged, "{key}");
    }
}

/// A field, a value that cannot be kept, and the sentence about it.
type LeftOut = (fn(&mut types::Session), &'static str);

const LEFT_OUT: &[LeftOut] = &[
    (
        |row| row.label = Some("a\u{1b}[2Jb".to_owned()),
        "label \"a\\u{1b}[2Jb\" is not kept: invalid label: control characters are not allowed",
    ),
    (
        |row| row.model_override = Some("huge".to_owned()),
        "modelOverride \"huge\" is not kept: Unrecognized model \"huge\". Known models \
         (confab.models): big, small.",
    ),
    (
        |row| row.thinking_level = Some("hyper".to_owned()),
        "thinkingLevel \"hyper\" is not kept: invalid thinkingLevel (use \
         off|minimal|low|medium|high|xhigh|adaptive|max|ultra)",
    ),
    (
        |row| row.send_policy = 9,
        "sendPolicy \"9\" is not kept: invalid sendPolicy (use \"allow\"|\"deny\")",
    ),
    (
        |row| row.chat_type = 9,
        "chatType \"9\" is not kept: chatType has the unknown value 9; give one of \
         CHAT_TYPE_DIRECT, CHAT_TYPE_GROUP, CHAT_TYPE_CHANNEL",
    ),
    (
        |row| row.total_tokens = Some(-1),
        "totalTokens \"-1\" is not kept: tokens are counted from 0",
    ),
    (
        |row| row.spawn_depth = Some(2),
        "spawnDepth \"2\" is not kept: only subagent:* and acp:* sessions have a depth",
    ),
    (
        |row| row.spawned_by = Some("agent:writer:ghost".to_owned()),
        "spawnedBy \"agent:writer:ghost\" is not kept: there is no such session; import it first",
    ),
    (
        |row| row.spawned_by = Some("agent:writer:a".to_owned()),
        "spawnedBy \"agent:writer:a\" is not kept: a session cannot spawn itself",
    ),
    (
        |row| row.spawned_by = Some("agent:".to_owned()),
        "spawnedBy \"agent:\" is not kept: invalid spawnedBy: ",
    ),
    (
        |row| row.spawn_mode = Some("run".to_owned()),
        "spawnMode \"run\" is not kept: only a session that another one spawned has it",
    ),
    (
        |row| row.spawn_mode = Some("forever".to_owned()),
        "spawnMode \"forever\" is not kept: invalid spawnMode (use \"run\"|\"session\")",
    ),
    (
        |row| {
            row.delivery_context = Some(types::Route {
                channel: "discord".to_owned(),
                ..types::Route::default()
            });
        },
        "deliveryContext \"discord \" is not kept: deliveryContext.to is missing",
    ),
    (
        |row| row.origin.get_or_insert_default().provider = Some("x".repeat(600)),
        "origin.provider \"xxxxxxxxxx",
    ),
    (
        |row| row.model = Some("a\nb".to_owned()),
        "model \"a\\nb\" is not kept: model holds the control character",
    ),
];

#[tokio::test]
async fn a_value_that_cannot_be_kept_is_left_out_and_told() {
    for (give, sentence) in LEFT_OUT {
        let house = House::with(MODELS).await;
        let mut request = brought("agent:writer:a", "s1");
        row(&mut request).label = None;
        let plain = house.imported(request.clone()).await.session;
        give(row(&mut request));
        let answer = house.imported(request).await;
        assert_eq!(answer.outcome(), ImportOutcome::Unchanged, "{sentence}");
        assert_eq!(answer.session, plain, "{sentence}");
        assert_eq!(answer.left_out.len(), 1, "{:?}", answer.left_out);
        let told = &answer.left_out[0];
        assert!(told.starts_with(sentence), "{told}");
        assert!(told.len() < 400, "{told}");
    }
}

#[tokio::test]
async fn blanks_are_nothing_d7_and_the_configured_model_is_no_override() {
    let house = House::with(MODELS).await;
    let mut request = brought("agent:writer:a", "s1");
    row(&mut request).label = Some("  ".to_owned());
    row(&mut request).thinking_level = Some(String::new());
    row(&mut request).spawned_by = Some(" ".to_owned());
    row(&mut request).model_override = Some("big".to_owned());
    let answer = house.imported(request.clone()).await;
    assert_eq!(answer.left_out, Vec::<String>::new());
    assert_eq!(answer.session.unwrap().model_override, None);
    let again = house.imported(request).await;
    assert_eq!(again.outcome(), ImportOutcome::Unchanged);
}

#[tokio::test]
async fn a_ring_of_spawns_is_left_out() {
    let house = House::with(DEFAULTS).await;
    house
        .imported(brought("agent:writer:subagent:1", "s1"))
        .await;
    let mut child = brought("agent:writer:subagent:2", "s2");
    row(&mut child).spawned_by = Some("agent:writer:subagent:1".to_owned());
    house.imported(child).await;
    let mut ring = brought("agent:writer:subagent:1", "s1");
    row(&mut ring).spawned_by = Some("agent:writer:subagent:2".to_owned());
    ring.replace = true;
    let answer = house.imported(ring).await;
    assert_eq!(answer.outcome(), ImportOutcome::Unchanged);
    assert!(answer.left_out[0].ends_with("a ring of spawns has no head"));
}

#[tokio::test]
async fn what_is_no_field_of_an_import_is_passed_over() {
    let house = House::with(DEFAULTS).await;
    let mut request = brought("agent:writer:a", "s1");
    let given = row(&mut request);
    given.row_version = 99;
    given.work_epoch = 99;
    given.state_version = 99;
    given.last_run_id = Some("r".to_owned());
    given.status = Some("running".to_owned());
    given.fault = Some("bad".to_owned());
    given.spawned_cwd = Some("/".to_owned());
    let stored = house.imported(request).await.session.unwrap();
    assert_eq!(
        (stored.row_version, stored.work_epoch, stored.state_version),
        (1, 0, 0)
    );
    assert_eq!((stored.last_run_id, stored.status), (None, None));
    assert_eq!((stored.fault, stored.spawned_cwd), (None, None));
}
