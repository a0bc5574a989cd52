//! Sessions of other systems.

mod kept;

use confab_model::id::TenantId;
use confab_proto::registry::v1::registry_service_server::RegistryService as _;
use confab_proto::registry::v1::{
    ImportOutcome, ImportSessionRequest, ImportSessionResponse, LifecycleChange,
    ListSessionsRequest, ResolveSessionRequest,
};
use confab_proto::types::v1 as types;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::wire::time;

use crate::store::awareness::{AwarenessStore as _, ChangedState};
use crate::testing::{DEFAULTS, House, START, answered, asked, change_of, operator};

/// What makes one import another.
type Vary = fn(&mut ImportSessionRequest);

/// A session of long before the test, made in generation `id`.
fn brought(key: &str, id: &str) -> ImportSessionRequest {
    let at = |millis| Some(time::to_proto(START.plus_millis(millis)));
    ImportSessionRequest {
        session: Some(types::Session {
            key: key.to_owned(),
            session_id: id.to_owned(),
            label: Some(format!("Label of {id}")),
            created_at: at(-9_000),
            updated_at: at(-5_000),
            ..types::Session::default()
        }),
        ..ImportSessionRequest::default()
    }
}

/// The row that an import gives.
fn row(request: &mut ImportSessionRequest) -> &mut types::Session {
    request.session.get_or_insert_default()
}

impl House {
    async fn import(
        &self,
        request: ImportSessionRequest,
    ) -> Result<ImportSessionResponse, RpcError> {
        answered(self.api.import_session(asked(operator(), request)).await)
    }

    /// What becomes of an import that is not refused.
    async fn imported(&self, request: ImportSessionRequest) -> ImportSessionResponse {
        self.import(request).await.unwrap()
    }

    /// The key of the session that a reference finds.
    async fn resolved(&self, reference: &str) -> Result<String, RpcError> {
        let request = ResolveSessionRequest {
            target: Some(types::SessionTarget {
                session_key: Some(reference.to_owned()),
                ..types::SessionTarget::default()
            }),
        };
        let answer = self.api.resolve_session(asked(operator(), request)).await;
        Ok(answered(answer)?.session.unwrap_or_default().key)
    }
}

#[tokio::test]
async fn a_new_session_is_stored_and_a_repetition_changes_nothing() {
    let house = House::with(DEFAULTS).await;
    let request = brought("AGENT:Writer:Discord:Channel:7", "s1");
    let first = house.imported(request.clone()).await;
    assert_eq!(first.outcome(), ImportOutcome::Created);
    assert!(first.differences.is_empty() && first.left_out.is_empty());
    let stored = house.row("agent:writer:discord:channel:7").await.unwrap();
    assert_eq!(stored.session_id.as_str(), "s1");
    assert_eq!(stored.created_at, START.plus_millis(-9_000));
    assert_eq!(stored.updated_at, START.plus_millis(-5_000));
    assert_eq!((stored.row_version, stored.work_epoch), (1, 0));

    house.clock.advance_millis(60_000);
    let again = house.imported(request).await;
    assert_eq!(again.outcome(), ImportOutcome::Unchanged);
    assert_eq!(again.session, first.session);
    assert_eq!(
        house.row("agent:writer:discord:channel:7").await.unwrap(),
        stored
    );
}

/// Imports of a key that is stored: what they vary, what becomes of them, and what is told.
const OF_A_STORED_KEY: &[(&str, Vary, ImportOutcome, &str)] = &[
    ("the same", |_| {}, ImportOutcome::Unchanged, ""),
    (
        "less than is stored",
        |request| {
            row(request).label = None;
            row(request).updated_at = None;
        },
        ImportOutcome::Unchanged,
        "",
    ),
    (
        "a field that cannot be kept",
        |request| row(request).thinking_level = Some("hyper".to_owned()),
        ImportOutcome::Unchanged,
        "",
    ),
    (
        "another label",
        |request| row(request).label = Some("Other".to_owned()),
        ImportOutcome::Differs,
        "label is stored as \"Label of s1\", and \"Other\" was given",
    ),
    (
        "a category where none is",
        |request| row(request).category = Some("Work".to_owned()),
        ImportOutcome::Differs,
        "category is stored as nothing, and \"Work\" was given",
    ),
    (
        "another generation",
        |request| row(request).session_id = "s2".to_owned(),
        ImportOutcome::Differs,
        "sessionId is stored as \"s1\", and \"s2\" was given",
    ),
    (
        "an earlier generation that is not stored",
        |request| request.earlier_session_ids = vec!["s0".to_owned()],
        ImportOutcome::Differs,
        "earlierSessionIds is stored as nothing, and \"s0\" was given",
    ),
    (
        "another label that is to replace",
        |request| {
            row(request).label = Some("Other".to_owned());
            request.replace = true;
        },
        ImportOutcome::Replaced,
        "label is stored as \"Label of s1\", and \"Other\" was given",
    ),
    (
        "the same that is to replace",
        |request| request.replace = true,
        ImportOutcome::Unchanged,
        "",
    ),
];

#[tokio::test]
async fn an_import_of_a_stored_key_ends_as_its_content_says() {
    for (case, vary, outcome, difference) in OF_A_STORED_KEY {
        for dry_run in [true, false] {
            let house = House::with(DEFAULTS).await;
            house.imported(brought("agent:writer:a", "s1")).await;
            let before = house.row("agent:writer:a").await.unwrap();
            let mut request = brought("agent:writer:a", "s1");
            vary(&mut request);
            request.dry_run = dry_run;
            let answer = house.imported(request).await;
            assert_eq!(answer.outcome(), *outcome, "{case}");
            assert_eq!(answer.differences.join("; "), *difference, "{case}");
            let after = house.row("agent:writer:a").await.unwrap();
            let written = *outcome == ImportOutcome::Replaced && !dry_run;
            assert_eq!(after != before, written, "{case}, dry run {dry_run}");
        }
    }
}

#[tokio::test]
async fn what_replaces_a_session_makes_its_generation_an_earlier_one_d26() {
    let house = House::with(DEFAULTS).await;
    house.imported(brought("agent:writer:a", "s1")).await;
    let mut request = brought("agent:writer:a", "s2");
    request.replace = true;
    let answer = house.imported(request.clone()).await;
    assert_eq!(answer.outcome(), ImportOutcome::Replaced);
    let stored = house.row("agent:writer:a").await.unwrap();
    assert_eq!(stored.session_id.as_str(), "s2");
    assert_eq!((stored.row_version, stored.work_epoch), (2, 1));
    for id in ["s1", "s2"] {
        assert_eq!(house.resolved(id).await.unwrap(), "agent:writer:a");
    }
    let again = house.imported(request).await;
    assert_eq!(again.outcome(), ImportOutcome::Unchanged);
}

#[tokio::test]
async fn work_for_what_was_replaced_is_refused() {
    let house = House::with(DEFAULTS).await;
    house.imported(brought("agent:writer:a", "s1")).await;
    let before = house.row("agent:writer:a").await.unwrap();
    let mut request = brought("agent:writer:a", "s1");
    row(&mut request).category = Some("Work".to_owned());
    request.replace = true;
    house.imported(request).await;
    let decided_before = change_of(&before, LifecycleChange::Archive, "c");
    let refused = house.commit(decided_before).await.unwrap_err();
    assert_eq!(refused.reason, Reason::Stale);
    let stored = house.row("agent:writer:a").await.unwrap();
    assert_eq!(stored.session_id, before.session_id);
    assert_eq!(stored.archived_at, None);
}

#[tokio::test]
async fn whoever_follows_changes_sees_an_import_as_one_and_there_is_no_event() {
    let house = House::with(DEFAULTS).await;
    let tenant = TenantId::default();
    let mut seen = house.sessions.store.present(&tenant).await.unwrap().head;
    for id in ["s1", "s2"] {
        let mut request = brought("agent:writer:a", id);
        request.replace = true;
        house.imported(request).await;
        let page = house.sessions.store.session_changes(&tenant, seen, 10);
        let page = page.await.unwrap();
        let row = house.row("agent:writer:a").await.unwrap();
        assert_eq!(row.state_version, 0);
        let [change] = page.changes.as_slice() else {
            panic!("{:?}", page.changes)
        };
        assert_eq!(change.state, ChangedState::Present(Box::new(row)));
        seen = change.sequence;
    }
}

#[tokio::test]
async fn a_generation_that_was_replaced_can_come_back() {
    let house = House::with(DEFAULTS).await;
    house.imported(brought("agent:writer:a", "s1")).await;
    for (id, version) in [("s2", 2), ("s1", 3)] {
        let mut request = brought("agent:writer:a", id);
        request.replace = true;
        assert_eq!(
            house.imported(request).await.outcome(),
            ImportOutcome::Replaced
        );
        let stored = house.row("agent:writer:a").await.unwrap();
        assert_eq!(stored.session_id.as_str(), id);
        assert_eq!(
            (stored.row_version, stored.work_epoch),
            (version, version - 1)
        );
    }
}

#[tokio::test]
async fn earlier_generations_are_found_by_their_session_ids_d26() {
    let house = House::with(DEFAULTS).await;
    let mut request = brought("agent:writer:a", "s3");
    let earlier = ["s1", "s2", "s1", "s3"];
    request.earlier_session_ids = earlier.map(str::to_owned).to_vec();
    assert_eq!(
        house.imported(request.clone()).await.outcome(),
        ImportOutcome::Created
    );
    for id in ["s1", "s2", "s3"] {
        assert_eq!(house.resolved(id).await.unwrap(), "agent:writer:a");
    }
    assert_eq!(
        house.imported(request).await.outcome(),
        ImportOutcome::Unchanged
    );
}

#[tokio::test]
async fn a_generation_of_another_session_is_never_taken() {
    let house = House::with(DEFAULTS).await;
    let mut first = brought("agent:writer:a", "s2");
    first.earlier_session_ids = vec!["s1".to_owned()];
    house.imported(first).await;
    let mut as_present = brought("agent:writer:b", "s1");
    let mut as_earlier = brought("agent:writer:b", "s9");
    as_earlier.earlier_session_ids = vec!["s2".to_owned()];
    for (request, id) in [(&mut as_present, "s1"), (&mut as_earlier, "s2")] {
        for replace in [false, true] {
            request.replace = replace;
            let answer = house.imported(request.clone()).await;
            assert_eq!(answer.outcome(), ImportOutcome::Differs);
            assert_eq!(answer.session, None);
            let sentence = format!("sessionId \"{id}\" is of another session, agent:writer:a");
            assert_eq!(answer.differences, [sentence]);
        }
    }
    assert_eq!(house.keys().await, ["agent:writer:a"]);
}

#[tokio::test]
async fn a_deleted_session_does_not_come_back_by_its_session_id() {
    let house = House::with(DEFAULTS).await;
    house.imported(brought("agent:writer:a", "s1")).await;
    let stored = house.row("agent:writer:a").await.unwrap();
    let deletion = change_of(&stored, LifecycleChange::Delete, "c");
    house.commit(deletion).await.unwrap();

    let answer = house.imported(brought("agent:writer:a", "s1")).await;
    assert_eq!(answer.outcome(), ImportOutcome::Differs);
    assert!(answer.differences[0].contains("before it was deleted"));
    assert_eq!(house.row("agent:writer:a").await, None);

    let answer = house.imported(brought("agent:writer:a", "s2")).await;
    assert_eq!(answer.outcome(), ImportOutcome::Created);
    let epoch = answer.session.unwrap().work_epoch;
    assert!(epoch > 0, "work for the deleted session fits no new one");
}

#[tokio::test]
async fn a_dry_run_answers_the_same_and_stores_nothing() {
    let house = House::with(DEFAULTS).await;
    house.imported(brought("agent:writer:p", "s0")).await;
    let mut request = brought("agent:writer:subagent:1", "s1");
    row(&mut request).spawned_by = Some("agent:writer:p".to_owned());
    request.earlier_session_ids = vec!["s-old".to_owned()];
    request.dry_run = true;
    let dry = house.imported(request.clone()).await;
    assert_eq!(dry.outcome(), ImportOutcome::Created);
    assert_eq!(house.keys().await, ["agent:writer:p"]);
    let missing = house.resolved("s-old").await.unwrap_err();
    assert_eq!(missing.reason, Reason::SessionNotFound);
    request.dry_run = false;
    assert_eq!(house.imported(request).await, dry);
}

#[tokio::test]
async fn a_label_of_another_session_is_left_out() {
    let house = House::with(DEFAULTS).await;
    house.labelled("agent:writer:desk", "Desk").await;
    let mut request = brought("agent:writer:a", "s1");
    row(&mut request).label = Some("Desk".to_owned());
    for outcome in [ImportOutcome::Created, ImportOutcome::Unchanged] {
        let answer = house.imported(request.clone()).await;
        assert_eq!(answer.outcome(), outcome);
        assert_eq!(
            answer.left_out,
            ["label \"Desk\" is not kept: another session of the agent has it"]
        );
        assert_eq!(answer.session.unwrap().label, None);
    }
    let mut elsewhere = brought("agent:editor:a", "s2");
    row(&mut elsewhere).label = Some("Desk".to_owned());
    let answer = house.imported(elsewhere).await;
    assert_eq!(answer.session.unwrap().label.as_deref(), Some("Desk"));
}

#[tokio::test]
async fn a_session_of_an_agent_that_is_not_configured_is_refused() {
    let house = House::with(DEFAULTS).await;
    let refused = house.import(brought("agent:ghost:main", "s1")).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.reason, Reason::SessionNotFound);
    assert_eq!(
        refused.message,
        "agent not found: ghost: add it to agents.list, then import agent:ghost:main again"
    );
    assert_eq!(house.keys().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_main_agent_that_is_not_configured_is_never_the_default_agent() {
    let house = House::with(DEFAULTS).await;
    for key in ["agent:main:main", "agent:main:desk", "AGENT:Main:main"] {
        let refused = house.import(brought(key, "s1")).await.unwrap_err();
        assert_eq!(refused.reason, Reason::SessionNotFound, "{key}");
        assert!(refused.message.starts_with("agent not found: main"));
    }
    assert_eq!(house.keys().await, Vec::<String>::new());
}

#[tokio::test]
async fn all_that_is_wrong_with_names_and_times_is_told_at_once() {
    let house = House::with(DEFAULTS).await;
    let mut request = brought("agent::", "");
    row(&mut request).created_at = Some(prost_types::Timestamp {
        seconds: 0,
        nanos: -1,
    });
    row(&mut request).updated_at = Some(time::to_proto(START.plus_millis(i64::MAX)));
    row(&mut request).pinned_at = Some(prost_types::Timestamp {
        seconds: -1,
        nanos: 0,
    });
    request.earlier_session_ids = vec!["fine".to_owned(), "a\u{7}b".to_owned()];
    let refused = house.import(request).await.unwrap_err();
    assert_eq!(refused.reason, Reason::InvalidArgument);
    let fields: Vec<&str> = refused
        .violations
        .iter()
        .map(|violation| violation.field.as_str())
        .collect();
    assert_eq!(
        fields,
        [
            "session.key",
            "session.sessionId",
            "earlierSessionIds[1]",
            "session.createdAt",
            "session.updatedAt",
            "session.pinnedAt",
        ]
    );
    let nothing = house.import(ImportSessionRequest::default()).await;
    assert_eq!(nothing.unwrap_err().violations.len(), 2);
}

#[tokio::test]
async fn names_that_are_no_keys_are_refused_d3() {
    let house = House::with(DEFAULTS).await;
    let long = format!("agent:writer:{}", "x".repeat(600));
    for key in [
        "agent:writer",
        "agent:writer:a\nb",
        "agent:writer::x",
        "0190a3c4-0000-7000-8000-000000000001",
        "current",
        long.as_str(),
    ] {
        let refused = house.import(brought(key, "s1")).await.unwrap_err();
        assert_eq!(refused.reason, Reason::InvalidArgument, "{key}");
        assert_eq!(refused.violations[0].field, "session.key", "{key}");
    }
    let mut request = brought("agent:writer:a", "s1");
    request.earlier_session_ids = (0..1_001).map(|number| number.to_string()).collect();
    let refused = house.import(request).await.unwrap_err();
    assert_eq!(refused.violations[0].field, "earlierSessionIds");
    assert_eq!(house.keys().await, Vec::<String>::new());
}

#[tokio::test]
async fn an_archived_session_comes_archived() {
    let house = House::with(DEFAULTS).await;
    let mut request = brought("agent:writer:a", "s1");
    row(&mut request).archived_at = Some(time::to_proto(START.plus_millis(-100)));
    row(&mut request).pinned_at = Some(time::to_proto(START.plus_millis(-200)));
    let answer = house.imported(request).await;
    assert_eq!(answer.outcome(), ImportOutcome::Created);
    assert!(answer.left_out[0].ends_with("an archived session cannot be pinned"));
    assert_eq!(house.keys().await, Vec::<String>::new());
    let archived = ListSessionsRequest {
        archived: Some(true),
        ..ListSessionsRequest::default()
    };
    let page = house.list(operator(), archived).await.unwrap();
    assert_eq!(page.sessions[0].session.key, "agent:writer:a");

    let mut main = brought("agent:writer:main", "s2");
    row(&mut main).archived_at = Some(time::to_proto(START));
    let answer = house.imported(main).await;
    assert!(answer.left_out[0].ends_with("an agent's main session cannot be archived"));
    assert_eq!(house.keys().await, ["agent:writer:main"]);
}

#[tokio::test]
async fn times_that_are_not_given_follow_from_those_that_are() {
    let house = House::with(DEFAULTS).await;
    let at = |millis| START.plus_millis(millis);
    for (number, given, stored) in [
        (1, (None, None), (at(0), at(0))),
        (2, (Some(at(-9)), None), (at(-9), at(-9))),
        (3, (None, Some(at(-5))), (at(-5), at(-5))),
        (4, (Some(at(-9)), Some(at(-5))), (at(-9), at(-5))),
    ] {
        let key = format!("agent:writer:{number}");
        let mut request = brought(&key, &format!("s{number}"));
        row(&mut request).created_at = given.0.map(time::to_proto);
        row(&mut request).updated_at = given.1.map(time::to_proto);
        house.imported(request).await;
        let session = house.row(&key).await.unwrap();
        assert_eq!((session.created_at, session.updated_at), stored, "{number}");
        assert_eq!(session.session_started_at, stored.0, "{number}");
    }
}

#[tokio::test]
async fn a_thousand_imports_at_once_store_each_session_once() {
    let house = House::with(DEFAULTS).await;
    let request = |number: usize| {
        let mut request = brought(&format!("agent:writer:{number}"), &format!("s{number}"));
        request.earlier_session_ids = vec![format!("old{number}")];
        request
    };
    for (created, unchanged) in [(500, 500), (0, 1_000)] {
        // Each session twice at the same time.
        let calls = (0..1_000).map(|number| house.imported(request(number / 2)));
        let outcomes: Vec<ImportOutcome> = futures::future::join_all(calls)
            .await
            .iter()
            .map(ImportSessionResponse::outcome)
            .collect();
        let count = |outcome| outcomes.iter().filter(|one| **one == outcome).count();
        assert_eq!(count(ImportOutcome::Created), created);
        assert_eq!(count(ImportOutcome::Unchanged), unchanged);
    }
    assert_eq!(house.resolved("old499").await.unwrap(), "agent:writer:499");
}
