use super::*;

fn at(told: Option<prost_types::Timestamp>) -> i64 {
    told.map(|at| at.seconds).unwrap_or_default()
}

/// D26: what a session was before its resets stays readable under its old sessionIds, oldest first.
#[tokio::test]
async fn generations_that_a_row_names_go_in_before_the_present_one() {
    let rows = json!({
        "main": row("s3", &json!({ "usageFamilySessionIds": ["s1", "s2", "s3"] })),
    });
    let state = State::with(&[
        ("sessions/sessions.json", &rows.to_string()),
        ("sessions/s3.jsonl", ""),
        ("sessions/s1.jsonl.reset.2026-01-02T03-04-05.678Z", ""),
        ("sessions/s2.jsonl.reset.2026-01-01T03-04-05.678Z", ""),
    ]);
    let plan = state.plan().await.unwrap();
    assert_eq!(
        sessions(&plan),
        [
            "agent:main:main s3 < s1 < s2 = s1.jsonl.reset.2026-01-02T03-04-05.678Z of s1, \
          s2.jsonl.reset.2026-01-01T03-04-05.678Z of s2, s3.jsonl of s3"
        ]
    );
}

#[tokio::test]
async fn what_was_put_aside_of_one_generation_goes_in_before_what_is_in_use() {
    let state = State::with(&[
        ("sessions/sessions.json", &index(&[("main", "s1")])),
        ("sessions/s1.jsonl", ""),
        ("sessions/s1.jsonl.reset.2026-02-01T00-00-00Z", ""),
        ("sessions/s1.jsonl.reset.2026-01-01T00-00-00Z", ""),
    ]);
    let plan = state.plan().await.unwrap();
    assert_eq!(
        sessions(&plan),
        [
            "agent:main:main s1 = s1.jsonl.reset.2026-01-01T00-00-00Z of s1, \
          s1.jsonl.reset.2026-02-01T00-00-00Z of s1, s1.jsonl of s1"
        ]
    );
}

/// D4: an index may have a short and a full form of one key; the newer row is the session.
#[tokio::test]
async fn two_rows_of_one_key_are_one_session() {
    let rows = json!({
        "main": row("s1", &json!({ "updatedAt": 1_000, "label": "old" })),
        "agent:main:main": row("s2", &json!({ "updatedAt": 2_000, "label": "new" })),
    });
    let state = State::with(&[
        ("sessions/sessions.json", &rows.to_string()),
        ("sessions/s1.jsonl", ""),
        ("sessions/s2.jsonl", ""),
    ]);
    let plan = state.plan().await.unwrap();
    assert_eq!(
        sessions(&plan),
        ["agent:main:main s2 < s1 = s1.jsonl of s1, s2.jsonl of s2"]
    );
    let one = &plan.sessions[0];
    assert_eq!(one.session.label.as_deref(), Some("new"));
    assert!(
        one.left_out[0].contains("another row of the same key"),
        "{:?}",
        one.left_out
    );
}

/// The transcript of a thread is that thread's, though its session shares the sessionId.
#[tokio::test]
async fn a_row_has_the_file_it_names_wherever_the_directory_was_before() {
    let old = "/home/old/.openclaw/agents/main/sessions/kept-under-another-name.jsonl";
    let rows = json!({
        "telegram:group:1:topic:7": row("s1", &json!({ "sessionFile": "s1-topic-7.jsonl" })),
        "main": row("s2", &json!({ "sessionFile": old })),
    });
    let state = State::with(&[
        ("agents/main/sessions/sessions.json", &rows.to_string()),
        ("agents/main/sessions/s1-topic-7.jsonl", ""),
        ("agents/main/sessions/s1-topic-8.jsonl", ""),
        ("agents/main/sessions/kept-under-another-name.jsonl", ""),
    ]);
    let plan = state.plan().await.unwrap();
    assert_eq!(
        sessions(&plan),
        [
            "agent:main:imported:s1-topic-8 s1-topic-8 = s1-topic-8.jsonl of s1-topic-8 (unclaimed)",
            "agent:main:main s2 = kept-under-another-name.jsonl of s2",
            "agent:main:telegram:group:1:topic:7 s1 = s1-topic-7.jsonl of s1",
        ]
    );
}

#[tokio::test]
async fn who_spawned_goes_in_before_whom_they_spawned() {
    let rows = json!({
        "agent:main:subagent:a": row("s1", &json!({ "spawnedBy": "agent:main:subagent:b" })),
        "agent:main:subagent:b": row("s2", &json!({ "spawnedBy": "main" })),
        "main": row("s3", &json!({})),
    });
    let state = State::with(&[("sessions/sessions.json", &rows.to_string())]);
    let plan = state.plan().await.unwrap();
    let keys: Vec<&str> = plan
        .sessions
        .iter()
        .map(|one| one.session.key.as_str())
        .collect();
    assert_eq!(
        keys,
        [
            "agent:main:main",
            "agent:main:subagent:b",
            "agent:main:subagent:a"
        ]
    );
}

/// What nobody claims is archived as of its last line, and its name cannot break a key.
#[tokio::test]
async fn an_orphan_is_an_archived_session_with_the_times_of_its_lines() {
    let lines = "{\"type\":\"session\",\"timestamp\":\"1970-01-01T00:00:05Z\"}\n\
        {\"type\":\"message\",\"timestamp\":\"1970-01-01T00:00:09Z\"}\n";
    let state = State::with(&[("sessions/a b:c.jsonl", lines)]);
    let plan = state.plan().await.unwrap();
    let one = &plan.sessions[0];
    let digest = "agent:main:imported:a-b-c-";
    assert!(one.session.key.starts_with(digest), "{}", one.session.key);
    assert_eq!(one.session.session_id, "a b:c");
    assert!(one.unclaimed);
    let session = &one.session;
    let times = [
        session.created_at,
        session.session_started_at,
        session.updated_at,
    ];
    assert_eq!(times.map(at), [5, 5, 9]);
    assert_eq!(at(session.archived_at), 9);
}

/// Two names that a key would write alike are two sessions, whichever signs and cases they have.
#[tokio::test]
async fn no_two_orphans_share_a_key() {
    let names = ["a b", "a:b", "a-b", "A-b", "a-B", "\u{e4}", "\u{f6}"];
    let state = State::new();
    for name in names {
        state.file(&format!("sessions/{name}.jsonl"), b"");
    }
    let plan = state.plan().await.unwrap();
    let mut ids: Vec<&str> = plan
        .sessions
        .iter()
        .map(|one| one.session.session_id.as_str())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, ["A-b", "a b", "a-B", "a-b", "a:b", "\u{e4}", "\u{f6}"]);
    let keys = plan.sessions.iter().map(|one| one.session.key.as_str());
    let keys: std::collections::BTreeSet<&str> = keys.collect();
    assert_eq!(keys.len(), names.len(), "{keys:?}");
    assert!(keys.contains("agent:main:imported:a-b"), "{keys:?}");
    assert_eq!(faults(&plan), [""; 0]);
}

#[tokio::test]
async fn a_session_whose_key_another_one_has_is_told() {
    let state = State::with(&[
        (
            "sessions/sessions.json",
            &index(&[("agent:main:imported:s1", "s2")]),
        ),
        ("sessions/s1.jsonl", ""),
    ]);
    let plan = state.plan().await.unwrap();
    assert_eq!(sessions(&plan), ["agent:main:imported:s1 s2"]);
    let told = faults(&plan);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("sessions/s1.jsonl: ") && told[0].contains("met twice"),
        "{told:?}"
    );
}

/// The older of two rows of one generation may be the one that names its file and its past.
#[tokio::test]
async fn two_rows_of_one_generation_know_together_what_each_of_them_knows() {
    for (short, full) in [(1_000, 2_000), (2_000, 1_000)] {
        let rows = json!({
            "main": row("s3", &json!({
                "updatedAt": short, "usageFamilySessionIds": ["s1", "s2"], "sessionFile": "own.jsonl",
            })),
            "agent:main:main": row("s3", &json!({
                "updatedAt": full, "usageFamilySessionIds": ["s2"],
            })),
        });
        let state = State::with(&[
            ("sessions/sessions.json", &rows.to_string()),
            ("sessions/own.jsonl", ""),
            ("sessions/s1.jsonl", ""),
            ("sessions/s2.jsonl", ""),
        ]);
        let plan = state.plan().await.unwrap();
        assert_eq!(
            sessions(&plan),
            ["agent:main:main s3 < s1 < s2 = s1.jsonl of s1, s2.jsonl of s2, own.jsonl of s3"],
            "{short}"
        );
    }
}

/// A moment that cannot be stored must not cost the session.
#[tokio::test]
async fn an_orphan_has_no_moment_that_cannot_be_stored() {
    let lines = "{\"type\":\"session\",\"timestamp\":\"1969-12-31T23:59:59Z\"}\n\
        {\"type\":\"message\",\"timestamp\":\"1970-01-01T00:00:09Z\"}\n";
    let file = "sessions/s1.jsonl.reset.1960-01-02T03-04-05.678Z";
    let state = State::with(&[(file, lines)]);
    let session = state.plan().await.unwrap().sessions.remove(0).session;
    let times = [
        session.created_at,
        session.session_started_at,
        session.updated_at,
        session.archived_at,
    ];
    assert_eq!(times.map(at), [9; 4]);
}

#[tokio::test]
async fn fields_without_a_place_are_counted_by_their_names() {
    let rows = json!({
        "a": row("s1", &json!({ "skillsSnapshot": {}, "compactionCount": 1 })),
        "b": row("s2", &json!({ "skillsSnapshot": {} })),
    });
    let state = State::with(&[("sessions/sessions.json", &rows.to_string())]);
    let plan = state.plan().await.unwrap();
    let fields: Vec<(&str, u64)> = plan
        .fields
        .iter()
        .map(|(name, times)| (name.as_str(), *times))
        .collect();
    assert_eq!(fields, [("compactionCount", 1), ("skillsSnapshot", 2)]);
}
