//! A session's life: reset, archive, restore, delete.
//!
//! Source: D26, D36, D55, D56, reg:M15, reg:M16, reg:C5, reg:C6, reg:C7, reg:C9, reg:C10.

use confab_proto::registry::v1 as registry;
use confab_proto::runner::v1 as runner;
use confab_tests::client::Client;
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::grpc::{Caller, Grpc, REGISTRY, RUNNER, reason, refusal, session};
use confab_tests::home::{Home, config, script};
use confab_tests::json::{at, list, message_text, number, only, text};
use confab_tests::lifecycle::{Change, Kind};
use prost_types::FieldMask;
use serde_json::{Value, json};
use tonic::{Code, Status};

const MAIN: &str = "agent:main:main";
const ROOM: &str = "agent:main:slack:channel:c1";

fn home() -> anyhow::Result<Home> {
    let rules = json!([
        { "match": "^slow", "delayMs": 120_000, "reply": "late" },
        { "match": "^cost", "usage": { "input": 11, "output": 7 }, "reply": "spent" },
    ]);
    Home::new(&config(&["main", "ops"].map(|id| script(id, &rules))))
}

fn start() -> anyhow::Result<(Home, Deployment)> {
    let home = home()?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    Ok((home, deployment))
}

fn texts(client: &Client, session: &str) -> anyhow::Result<Vec<String>> {
    Ok(client.history(session)?.iter().map(message_text).collect())
}

fn session_id(client: &Client, key: &str) -> anyhow::Result<String> {
    text(&client.json(&["sessions", "get", key])?, "/sessionId")
}

/// Demands that new work for a session is refused in these words, whoever brings it (reg:M16).
fn assert_closed(client: &Client, key: &str) -> anyhow::Result<()> {
    let told = format!("Session \"{key}\" is archived. Restore it before starting new work.");
    let chat = client.run(&["chat", key, "hello"])?;
    assert_eq!(chat.status, 4, "{}", chat.text);
    assert_eq!(text(&chat.json, "/error/message")?, told, "{}", chat.text);
    let sent = client.tool(
        "sessions_send",
        &json!({ "sessionKey": key, "message": "m" }),
        None,
    )?;
    assert_eq!(sent.status, 4, "{}", sent.text);
    assert_eq!(
        only(&sent.json, &["status", "error", "reason"]),
        json!({ "status": "error", "error": told, "reason": "SESSION_ARCHIVED" })
    );
    let reset = client.run(&["sessions", "reset", key])?;
    assert_eq!(text(&reset.json, "/error/message")?, told, "{}", reset.text);
    Ok(())
}

#[test]
fn a_session_is_reset_archived_restored_and_deleted_in_one_process() -> anyhow::Result<()> {
    a_whole_life(Shape::OneProcess)
}

#[test]
fn a_session_is_reset_archived_restored_and_deleted_over_three_services() -> anyhow::Result<()> {
    a_whole_life(Shape::ThreeServices)
}

fn a_whole_life(shape: Shape) -> anyhow::Result<()> {
    let home = home()?;
    let deployment = Deployment::start(shape, &home)?;
    let client = &deployment.client;
    let run = client.json(&["chat", ROOM, "cost one"])?;
    let first = session_id(client, ROOM)?;
    let reset = client.json(&["sessions", "reset", ROOM])?;
    let second = text(&reset, "/sessionId")?;
    assert_ne!(first, second);
    assert_eq!(texts(client, ROOM)?, Vec::<String>::new());
    // B149, D26: what was said stays readable under its own name.
    assert_eq!(texts(client, &first)?, ["cost one", "spent"]);
    client.json(&["chat", ROOM, "two"])?;
    assert_eq!(texts(client, ROOM)?, ["two", "echo: two"]);

    let archived = client.json(&["sessions", "archive", ROOM])?;
    assert_eq!(at(&archived, "/archived")?, true);
    let since = number(&archived, "/archivedAt")?;
    assert_closed(client, ROOM)?;
    assert_eq!(
        texts(client, ROOM)?,
        ["two", "echo: two"],
        "it stays readable"
    );
    let again = client.json(&["sessions", "archive", ROOM])?;
    assert_eq!(
        number(&again, "/archivedAt")?,
        since,
        "reg:M13: the first moment counts"
    );

    let restored = client.json(&["sessions", "restore", ROOM])?;
    assert_eq!(at(&restored, "/archived")?, false);
    assert!(restored.get("archivedAt").is_none(), "{restored:#}");
    client.json(&["chat", ROOM, "three"])?;
    assert_eq!(session_id(client, ROOM)?, second);

    client.json(&["sessions", "delete", ROOM])?;
    for words in [["sessions", "get", ROOM], ["sessions", "archive", ROOM]] {
        let gone = client.run(&words)?;
        assert_eq!(gone.status, 4, "{}", gone.text);
        assert!(
            gone.text.contains(&format!("No session found: {ROOM}")),
            "{}",
            gone.text
        );
    }
    // B180: what the runs cost outlives the session.
    let kept = client.json(&["runs", "get", &text(&run, "/runId")?])?;
    assert_eq!(at(&kept, "/usage")?, &json!({ "input": 11, "output": 7 }));
    client.json(&["chat", ROOM, "four"])?;
    assert_ne!(
        session_id(client, ROOM)?,
        second,
        "a first contact makes another session"
    );
    assert_eq!(texts(client, ROOM)?, ["four", "echo: four"]);
    deployment.stop()
}

/// reg:C6: what people set and where it speaks stays; what belongs to the conversation does not.
#[test]
fn a_reset_keeps_what_people_set() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    let route = [
        "--channel",
        "slack",
        "--to",
        "channel:c1",
        "--account",
        "kev",
    ];
    client.json(&[["sessions", "create", ROOM].as_slice(), &route].concat())?;
    client.json(&["sessions", "create", MAIN])?;
    let change = json!({
        "label": "Desk", "thinkingLevel": "low", "verboseLevel": "full", "sendPolicy": "allow",
        "model": "m2", "groupActivation": "always", "pinned": true,
        "category": "Sales",
    });
    let before = client.json(&["sessions", "patch", ROOM, &change.to_string()])?;
    let after = client.json(&["sessions", "reset", ROOM])?;
    for name in [
        "label",
        "thinkingLevel",
        "verboseLevel",
        "sendPolicy",
        "modelOverride",
        "groupActivation",
        "pinned",
        "pinnedAt",
        "deliveryContext",
        "origin",
        "lastAccountId",
    ] {
        assert_eq!(after.get(name), before.get(name), "{name}: {after:#}");
    }
    assert!(after.get("category").is_none(), "{after:#}");
    client.json(&["sessions", "reset", MAIN])?;
    deployment.stop()
}

/// reg:M15, reg:C9, reg:C10, D51: the guards that no force opens, in their own words.
#[test]
fn guards_refuse_in_their_own_words_and_change_nothing() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    client.json(&["sessions", "create", MAIN])?;
    client.json(&["sessions", "create", "agent:ops:main"])?;
    client.json(&["sessions", "create", ROOM])?;
    client.json(&["sessions", "create", "agent:main:old"])?;
    client.json(&["sessions", "archive", "agent:main:old"])?;
    let before = client.json(&["sessions", "list"])?;
    let absent = "0198c1a2-7b3c-7000-8000-00000000abcd";
    let cases: [(&[&str], &str); 8] = [
        (
            &["archive", MAIN, "--force"],
            "Cannot archive an agent's main session.",
        ),
        (
            &["archive", "agent:ops:main"],
            "Cannot archive an agent's main session.",
        ),
        (
            &["delete", MAIN, "--force"],
            "Cannot delete the main session (agent:main:main).",
        ),
        (
            &["delete", "agent:ops:main"],
            "Cannot delete the main session (agent:ops:main).",
        ),
        (
            &["delete", ROOM, "--archived-only"],
            "Session agent:main:slack:channel:c1 is not archived. Archive it first, then delete it.",
        ),
        (
            &["reset", "agent:main:old", "--force"],
            "Session \"agent:main:old\" is archived. Restore it before starting new work.",
        ),
        (
            &["delete", ROOM, "--expect", absent],
            "Session agent:main:slack:channel:c1 changed before deletion. Retry.",
        ),
        (
            &["reset", "agent:main:nowhere"],
            "No session found: agent:main:nowhere",
        ),
    ];
    for (words, told) in cases {
        let refused = client.run(&[&["sessions"], words].concat())?;
        assert_eq!(refused.status, 4, "{words:?}: {}", refused.text);
        assert_eq!(text(&refused.json, "/error/message")?, told, "{words:?}");
    }
    assert_eq!(client.json(&["sessions", "list"])?, before);
    client.json(&["sessions", "delete", "agent:main:old", "--archived-only"])?;
    deployment.stop()
}

#[test]
fn a_change_of_a_generation_that_is_over_is_stale() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    deployment.client.json(&["sessions", "create", ROOM])?;
    let grpc = Grpc::to(&deployment)?;
    let old = session_id(&deployment.client, ROOM)?;
    let made = Change::of(Kind::Reset, ROOM).expecting(&old).make(&grpc)?;
    let present = made.map(|row| row.session_id).unwrap_or_default();
    for kind in [Kind::Reset, Kind::Archive, Kind::Delete] {
        let refused = refusal(Change::of(kind, ROOM).expecting(&old).make(&grpc))?;
        assert_eq!(refused.code(), Code::Aborted, "{kind:?}: {refused}");
        assert_eq!(reason(&refused), "STALE", "{kind:?}: {refused}");
    }
    assert_eq!(session_id(&deployment.client, ROOM)?, present);
    Change::of(Kind::Delete, ROOM)
        .expecting(&present)
        .make(&grpc)?;
    deployment.stop()
}

/// D56: work under way or waiting is in the way; with force it ends first, and tells so.
#[test]
fn busy_sessions_refuse_and_force_ends_their_work() -> anyhow::Result<()> {
    for (kind, word) in [
        (Kind::Reset, "reset"),
        (Kind::Archive, "archive"),
        (Kind::Delete, "delete"),
    ] {
        let (_home, deployment) = start()?;
        let client = &deployment.client;
        let mut runs = Vec::new();
        for message in ["slow one", "two"] {
            let run = client.json(&["chat", ROOM, message, "--no-wait"])?;
            runs.push(text(&run, "/runId")?);
        }
        let generation = session_id(client, ROOM)?;
        let refused = client.run(&["sessions", word, ROOM])?;
        assert_eq!(refused.status, 4, "{}", refused.text);
        assert_eq!(
            text(&refused.json, "/error/reason")?,
            "SESSION_BUSY",
            "{}",
            refused.text
        );
        assert!(
            text(&refused.json, "/error/message")?.contains("active"),
            "{}",
            refused.text
        );

        let grpc = Grpc::to(&deployment)?;
        let after = Change::of(kind, ROOM).forced().make(&grpc)?;
        for run in &runs {
            let ended = client.json(&["runs", "get", run])?;
            let state = text(&ended, "/state")?;
            assert!(
                ["cancelled", "killed"].contains(&state.as_str()),
                "{ended:#}"
            );
            assert_eq!(text(&ended, "/sessionId")?, generation, "{ended:#}");
        }
        match kind {
            Kind::Archive => assert_closed(client, ROOM)?,
            Kind::Reset | Kind::Restore | Kind::Delete => {
                client.json(&["chat", ROOM, "hello"])?;
                assert_eq!(texts(client, ROOM)?, ["hello", "echo: hello"]);
                assert_ne!(session_id(client, ROOM)?, generation);
            },
        }
        assert_eq!(after.is_none(), kind == Kind::Delete);
        deployment.stop()?;
    }
    Ok(())
}

/// D36, B222: a repeated call meets its first answer, whatever became of the session and the process
/// meanwhile; the same name for another call is refused.
#[test]
fn a_repeated_change_meets_its_first_answer() -> anyhow::Result<()> {
    let (home, deployment) = start()?;
    deployment.client.json(&["sessions", "create", ROOM])?;
    let mut answers = Vec::new();
    let grpc = Grpc::to(&deployment)?;
    for kind in Kind::ALL {
        let name = format!("{kind:?}");
        let first = Change::of(kind, ROOM).named(&name).make(&grpc)?;
        let again = Change::of(kind, ROOM).named(&name).make(&grpc)?;
        assert_eq!(first, again, "{kind:?}");
        answers.push((kind, name, first));
    }
    let gone = deployment.client.run(&["sessions", "get", ROOM])?;
    assert_eq!(gone.status, 4, "{}", gone.text);
    deployment.kill()?;

    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    deployment.client.json(&["chat", ROOM, "hello"])?;
    let present = session_id(&deployment.client, ROOM)?;
    let grpc = Grpc::to(&deployment)?;
    for (kind, name, first) in answers {
        assert_eq!(
            Change::of(kind, ROOM).named(&name).make(&grpc)?,
            first,
            "{kind:?}"
        );
        let others = [
            Change::of(kind, MAIN).named(&name),
            Change::of(
                if kind == Kind::Restore {
                    Kind::Reset
                } else {
                    Kind::Restore
                },
                ROOM,
            )
            .named(&name),
        ];
        for other in others {
            let refused = refusal(other.make(&grpc))?;
            assert_eq!(refused.code(), Code::AlreadyExists, "{kind:?}: {refused}");
            assert_eq!(reason(&refused), "KEY_REUSED", "{kind:?}: {refused}");
        }
    }
    assert_eq!(
        session_id(&deployment.client, ROOM)?,
        present,
        "nothing was done again"
    );
    deployment.stop()
}

/// Sets the model of the room under a name, as this caller.
fn set_model(grpc: &Grpc, model: &str, caller: &Caller) -> Result<(i64, bool), Status> {
    let asked = registry::PatchSessionRequest {
        target: Some(session(ROOM)),
        patch: Some(registry::SessionPatch {
            model: Some(model.to_owned()),
            ..Default::default()
        }),
        update_mask: Some(FieldMask {
            paths: vec!["model".to_owned()],
        }),
        idempotency_key: Some("model".to_owned()),
        ..Default::default()
    };
    let patched = grpc.call(REGISTRY, "PatchSession", asked, caller)?;
    let registry::PatchSessionResponse { session, changed } = patched;
    Ok((session.unwrap_or_default().row_version, changed))
}

/// D36, B218: a patch has a name too, and each caller has names of its own.
#[test]
fn a_repeated_patch_meets_its_first_answer_and_nobody_elses() -> anyhow::Result<()> {
    let (home, deployment) = start()?;
    deployment.client.json(&["sessions", "create", ROOM])?;
    let (operator, agent) = (Caller::operator(), Caller::agent(ROOM));
    let grpc = Grpc::to(&deployment)?;
    let first = set_model(&grpc, "m1", &operator)?;
    let of_agent = set_model(&grpc, "m2", &agent)?;
    assert!(first.1 && of_agent.1, "{first:?} {of_agent:?}");
    deployment.client.json(&["sessions", "reset", ROOM])?;
    deployment.kill()?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let grpc = Grpc::to(&deployment)?;
    assert_eq!(set_model(&grpc, "m1", &operator)?, first);
    assert_eq!(set_model(&grpc, "m2", &agent)?, of_agent);
    for (model, caller) in [("m2", &operator), ("m1", &agent)] {
        let refused = refusal(set_model(&grpc, model, caller))?;
        assert_eq!(reason(&refused), "KEY_REUSED", "{refused}");
    }
    let row = deployment.client.json(&["sessions", "get", ROOM])?;
    assert_eq!(text(&row, "/modelOverride")?, "m2", "{row:#}");
    deployment.stop()
}

/// B224: a message that races a reset runs once, in the generation that its run names.
#[test]
fn a_message_that_races_a_reset_is_in_the_generation_its_run_names() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    deployment.client.json(&["sessions", "create", ROOM])?;
    let grpc = Grpc::to(&deployment)?;
    let operator = Caller::operator();
    for number in 0..30 {
        let message = format!("message {number}");
        let asked = runner::SendMessageRequest {
            target: Some(session(ROOM)),
            text: message.clone(),
            ..Default::default()
        };
        let (sent, reset) = grpc.block_on(async {
            tokio::join!(
                grpc.services.call::<_, runner::SendMessageResponse>(
                    RUNNER,
                    "SendMessage",
                    asked,
                    &operator
                ),
                Change::of(Kind::Reset, ROOM).made_by(&grpc, &operator),
            )
        });
        if let Err(busy) = reset {
            assert_eq!(reason(&busy), "SESSION_BUSY", "{busy}");
        }
        let run = sent?.run.unwrap_or_default().run_id;
        let ended = deployment.client.json(&["runs", "wait", &run])?;
        assert_eq!(text(&ended, "/state")?, "succeeded", "{ended:#}");
        let said = texts(&deployment.client, &text(&ended, "/sessionId")?)?;
        let place = said.iter().filter(|text| **text == message).count();
        assert_eq!(place, 1, "{message}: {said:?}");
    }
    let runs = deployment
        .client
        .json(&["runs", "list", "--limit", "200"])?;
    assert_eq!(list(&runs, "/runs")?.len(), 30);
    deployment.stop()
}

/// A waiting caller is told that its run was ended, and never that it went well.
#[test]
fn whoever_waits_for_a_run_that_force_ends_is_told() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    let run = client.json(&["chat", ROOM, "slow", "--no-wait"])?;
    let id = text(&run, "/runId")?;
    let waiting = std::thread::spawn({
        let (client, id) = (client.clone(), id);
        move || client.run(&["runs", "wait", &id, "--seconds", "60"])
    });
    client.json(&["sessions", "reset", ROOM, "--force"])?;
    let told = waiting
        .join()
        .map_err(|_| anyhow::anyhow!("the waiter panicked"))??;
    assert_eq!(told.status, 4, "{}", told.text);
    assert!(told.json.get("reply").is_none(), "{}", told.text);
    let empty: Vec<Value> = Vec::new();
    assert_eq!(client.history(ROOM)?, empty);
    deployment.stop()
}
