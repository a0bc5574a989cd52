use super::*;

const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\
    \"timestamp\":\"2026-02-02T02:40:00.000Z\"}\n";

/// A directory, what its sessions are, and what each of its faults says.
struct Case<'a> {
    name: &'a str,
    files: Vec<(&'a str, String)>,
    sessions: &'a [&'a str],
    faults: &'a [(&'a str, &'a str)],
}

fn text(text: &str) -> String {
    text.to_owned()
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn cases() -> Vec<Case<'static>> {
    vec![
        Case {
            name: "run:T1: an index, its transcript, and one of a thread",
            files: vec![
                (
                    "agents/main/sessions/sessions.json",
                    index(&[
                        ("agent:main:main", "s1"),
                        ("telegram:group:-1:topic:17", "s2"),
                    ]),
                ),
                ("agents/main/sessions/s1.jsonl", text(HEADER)),
                ("agents/main/sessions/s2-topic-17.jsonl", text(HEADER)),
            ],
            sessions: &[
                "agent:main:main s1 = s1.jsonl of s1",
                "agent:main:telegram:group:-1:topic:17 s2 = s2-topic-17.jsonl of s2",
            ],
            faults: &[],
        },
        Case {
            name: "several agents keep their own",
            files: vec![
                (
                    "agents/main/sessions/sessions.json",
                    index(&[("main", "s1")]),
                ),
                (
                    "agents/ops/sessions/sessions.json",
                    index(&[("main", "s1")]),
                ),
                ("agents/ops/sessions/s1.jsonl", text(HEADER)),
            ],
            sessions: &["agent:main:main s1", "agent:ops:main s1 = s1.jsonl of s1"],
            faults: &[],
        },
        Case {
            name: "an older release keeps them beside its configuration",
            files: vec![
                (
                    "openclaw.json",
                    text("{agents: {list: [{id: 'a'}, {id: 'ops', default: true}]}}"),
                ),
                ("sessions/sessions.json", index(&[("main", "s1")])),
                ("sessions/s1.jsonl", text(HEADER)),
            ],
            sessions: &["agent:ops:main s1 = s1.jsonl of s1"],
            faults: &[],
        },
        Case {
            name: "nothing but transcripts",
            files: vec![("s1.jsonl", text(HEADER)), ("notes.txt", text("mine"))],
            sessions: &["agent:main:imported:s1 s1 = s1.jsonl of s1 (unclaimed)"],
            faults: &[],
        },
        Case {
            name: "run:T27: archives that no row names stand for themselves, also compressed",
            files: vec![
                ("sessions/sessions.json", index(&[("main", "s2")])),
                (
                    "sessions/s1.jsonl.reset.2026-01-02T03-04-05.678Z",
                    text(HEADER),
                ),
                (
                    "sessions/s0.jsonl.deleted.2026-01-02T03-04-05.678Z.zst",
                    text(""),
                ),
                ("sessions/s2.jsonl", text(HEADER)),
            ],
            sessions: &[
                "agent:main:imported:s0 s0 = s0.jsonl.deleted.2026-01-02T03-04-05.678Z.zst of s0 \
                 (unclaimed)",
                "agent:main:imported:s1 s1 = s1.jsonl.reset.2026-01-02T03-04-05.678Z of s1 \
                 (unclaimed)",
                "agent:main:main s2 = s2.jsonl of s2",
            ],
            faults: &[],
        },
        Case {
            name: "B205: a cut index is told, and its transcripts are kept",
            files: vec![
                (
                    "sessions/sessions.json",
                    text("{\n\"main\": {\"sessionId\": \"s"),
                ),
                ("sessions/s1.jsonl", text(HEADER)),
            ],
            sessions: &["agent:main:imported:s1 s1 = s1.jsonl of s1 (unclaimed)"],
            faults: &[("sessions/sessions.json:2", "no JSON")],
        },
        Case {
            name: "a missing index, and a missing transcript",
            files: vec![
                ("agents/a/sessions/s1.jsonl", text(HEADER)),
                ("agents/b/sessions/sessions.json", index(&[("main", "s9")])),
            ],
            sessions: &[
                "agent:a:imported:s1 s1 = s1.jsonl of s1 (unclaimed)",
                "agent:b:main s9",
            ],
            faults: &[],
        },
        Case {
            name: "rows of a wrong type are told one by one",
            files: vec![(
                "sessions/sessions.json",
                json!({
                    "main": row("s1", &json!({ "updatedAt": "soon", "spawnDepth": [] })),
                    "list": [], "number": 7, "nameless": {}, "agent:x": row("s2", &json!({})),
                    "control": row("a\u{1}b", &json!({})),
                })
                .to_string(),
            )],
            sessions: &["agent:main:main s1"],
            faults: &[
                ("sessions/sessions.json", "entry of agent:x"),
                ("sessions/sessions.json", "entry of control"),
                ("sessions/sessions.json", "entry of list is no object"),
                (
                    "sessions/sessions.json",
                    "entry of nameless: it has no sessionId",
                ),
                ("sessions/sessions.json", "entry of number is no object"),
            ],
        },
        Case {
            name: "what should be a file is a directory",
            files: vec![
                ("sessions/sessions.json/inside", text("x")),
                ("sessions/s1.jsonl/inside", text("x")),
                ("sessions/s2.jsonl", text(HEADER)),
            ],
            sessions: &["agent:main:imported:s2 s2 = s2.jsonl of s2 (unclaimed)"],
            faults: &[
                ("sessions/s1.jsonl", "no regular file"),
                ("sessions/sessions.json", "no regular file"),
            ],
        },
        Case {
            name: "an agent that can be none",
            files: vec![
                ("agents/..a/sessions/s1.jsonl", text(HEADER)),
                ("agents/b/sessions/s1.jsonl", text(HEADER)),
                ("agents/readme", text("x")),
            ],
            sessions: &["agent:b:imported:s1 s1 = s1.jsonl of s1 (unclaimed)"],
            faults: &[("agents/..a", "")],
        },
    ]
}

#[tokio::test]
async fn every_layout_becomes_its_sessions_and_its_faults() {
    for case in cases() {
        let name = case.name;
        let state = State::new();
        for (path, text) in &case.files {
            state.file(path, text.as_bytes());
        }
        let plan = state.plan().await.unwrap();
        assert_eq!(sessions(&plan), case.sessions, "{name}");
        let told = faults(&plan);
        assert_eq!(told.len(), case.faults.len(), "{name}: {told:?}");
        for (told, (file, reason)) in told.iter().zip(case.faults) {
            let fits = told.starts_with(&format!("{file}: ")) && told.contains(reason);
            assert!(fits, "{name}: {told}");
        }
    }
}

/// One agent's directory, or its directory of sessions, is that agent's by its path.
#[tokio::test]
async fn a_part_of_a_state_directory_can_be_given_alone() {
    let state = State::with(&[
        (
            "agents/ops/sessions/sessions.json",
            &index(&[("main", "s1")]),
        ),
        (
            "agents/main/sessions/sessions.json",
            &index(&[("main", "s2")]),
        ),
    ]);
    for below in ["agents/ops", "agents/ops/sessions"] {
        let plan = state.plan_of(below).await.unwrap();
        assert_eq!(sessions(&plan), ["agent:ops:main s1"], "{below}");
        let agents: Vec<&str> = plan.agents.iter().map(|agent| agent.id.as_str()).collect();
        assert_eq!(agents, ["ops"], "{below}");
    }
}

/// A name that is no agent's is never taken for the main agent's sessions.
#[tokio::test]
async fn what_lies_below_agents_under_a_name_of_no_agent_is_told() {
    let state = State::with(&[
        (
            "agents/..a/sessions/sessions.json",
            &index(&[("main", "s1")]),
        ),
        ("agents/..b/notes.txt", "x"),
    ]);
    for below in ["agents/..a", "agents/..a/sessions"] {
        let plan = state.plan_of(below).await.unwrap();
        assert_eq!(sessions(&plan), [""; 0], "{below}");
        let told = faults(&plan);
        assert_eq!(told.len(), 1, "{below}: {told:?}");
        assert!(told[0].contains("\"..a\""), "{below}: {told:?}");
    }
    assert!(state.plan_of("agents/..b").await.is_err());
}

/// Somebody may keep state directories in a directory called `agents`.
#[tokio::test]
async fn a_whole_state_directory_is_no_agent_wherever_it_lies() {
    let config = "{agents: {list: [{id: 'ops'}]}}";
    let state = State::with(&[
        ("agents/one/openclaw.json", config),
        (
            "agents/one/sessions/sessions.json",
            &index(&[("main", "s1")]),
        ),
        (
            "agents/two/agents/ops/sessions/sessions.json",
            &index(&[("main", "s2")]),
        ),
        (
            "agents/two/sessions/sessions.json",
            &index(&[("main", "s3")]),
        ),
        (
            "agents/me/.openclaw/agents/ops/sessions/sessions.json",
            &index(&[("main", "s4")]),
        ),
        ("agents/me/.openclaw/sessions/s5.jsonl", HEADER),
    ]);
    let cases: [(&str, &[&str]); 3] = [
        ("agents/one", &["agent:ops:main s1"]),
        ("agents/two", &["agent:main:main s3", "agent:ops:main s2"]),
        (
            "agents/me/.openclaw",
            &[
                "agent:main:imported:s5 s5 = s5.jsonl of s5 (unclaimed)",
                "agent:ops:main s4",
            ],
        ),
    ];
    for (below, expected) in cases {
        let plan = state.plan_of(below).await.unwrap();
        assert_eq!(sessions(&plan), expected, "{below}");
        assert_eq!(faults(&plan), [""; 0], "{below}");
    }
}

#[tokio::test]
async fn a_directory_without_sessions_and_what_is_no_directory_are_refused() {
    let state = State::with(&[("notes.txt", "x"), ("agents/main/agent/models.json", "{}")]);
    let told = state.plan().await.unwrap_err().to_string();
    for looked_for in ["agents/<id>/sessions", "openclaw-agent.sqlite", "*.jsonl"] {
        assert!(told.contains(looked_for), "{told}");
    }
    for below in ["notes.txt", "absent"] {
        let told = state.plan_of(below).await.unwrap_err().to_string();
        assert!(
            told.contains(below) && told.contains("cannot be read"),
            "{told}"
        );
    }
}

/// Neither a link nor a name in an index leads out of the directory.
#[cfg(unix)]
#[tokio::test]
async fn what_lies_outside_is_told_and_never_read() {
    use std::os::unix::fs::symlink;

    let outside = State::with(&[
        ("sessions/sessions.json", &index(&[("main", "s9")])),
        ("secret.jsonl", HEADER),
    ]);
    let secret = outside.path("secret.jsonl");
    let named = json!({
        "agent:main:a": row("s1", &json!({ "sessionFile": secret })),
        "agent:main:b": row("s2", &json!({ "sessionFile": "../../../../../etc/hostname" })),
    });
    let state = State::with(&[("agents/main/sessions/sessions.json", &named.to_string())]);
    fs::create_dir_all(state.path("agents/away")).unwrap();
    fs::create_dir_all(state.path("agents/main/agent")).unwrap();
    symlink(&secret, state.path("agents/main/sessions/link.jsonl")).unwrap();
    symlink(outside.path("sessions"), state.path("agents/away/sessions")).unwrap();
    symlink(
        &secret,
        state.path("agents/main/agent/openclaw-agent.sqlite"),
    )
    .unwrap();
    let plan = state.plan().await.unwrap();
    assert_eq!(sessions(&plan), ["agent:main:a s1", "agent:main:b s2"]);
    let told = faults(&plan);
    assert_eq!(told.len(), 5, "{told:?}");
    for told in told {
        assert!(told.contains("out of the directory"), "{told}");
    }
}

#[tokio::test]
async fn what_is_near_to_a_transcript_is_passed_over_and_told() {
    let state = State::with(&[
        ("sessions/sessions.json", &index(&[("main", "s1")])),
        ("sessions/s1.jsonl", HEADER),
        ("sessions/s1.trajectory.jsonl", HEADER),
        ("sessions/s1.jsonl.bak.2026-01-02T03-04-05Z", HEADER),
        ("sessions/s1.jsonl.lock", ""),
        (
            "sessions/s1.checkpoint.0198c1a2-7b3c-7000-8000-000000000001.jsonl",
            HEADER,
        ),
        (
            "sessions/s2.checkpoint.0198c1a2-7b3c-7000-8000-000000000002.jsonl",
            HEADER,
        ),
    ]);
    let plan = state.plan().await.unwrap();
    assert_eq!(
        sessions(&plan),
        [
            "agent:main:imported:s2 s2 = \
             s2.checkpoint.0198c1a2-7b3c-7000-8000-000000000002.jsonl of s2 (unclaimed)",
            "agent:main:main s1 = s1.jsonl of s1",
        ],
        "the copy is all that is left of s2"
    );
    assert_eq!(plan.passed_over.len(), 3, "{:?}", plan.passed_over);
    assert_eq!(faults(&plan), [""; 0]);
}
