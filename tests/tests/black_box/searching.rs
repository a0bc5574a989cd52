//! `sessions_search`: what is found, by whom, and how a hit is opened.
//!
//! Source: contract (tools), D7, D9, D12, D26, D74, D77.

use anyhow::ensure;
use confab_proto::transcript::v1 as transcript;
use confab_tests::client::Client;
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::grpc::{Caller, Grpc, TRANSCRIPT, reason, refusal, session};
use confab_tests::home::{Home, config, config_with, script};
use confab_tests::json::{at, list, merge, number, text};
use serde_json::{Value, json};
use tonic::Code;

const MAIN: &str = "agent:main:main";
const OTHER: &str = "agent:ops:main";
const ROOM: &str = "agent:main:slack:channel:c1";

fn configured() -> Value {
    let silent = json!([{ "match": "^silent", "reply": "NO_REPLY" }]);
    config(&[script("main", &silent), script("ops", &json!([]))])
}

fn search(client: &Client, arguments: &Value, caller: Option<&str>) -> anyhow::Result<Value> {
    let answer = client.tool("sessions_search", arguments, caller)?;
    ensure!(answer.status == 0, "{arguments}: {}", answer.text);
    Ok(answer.json)
}

/// The keys and sequences of what is found.
fn found(client: &Client, query: &str, caller: Option<&str>) -> anyhow::Result<Vec<(String, i64)>> {
    let told = search(client, &json!({ "query": query }), caller)?;
    let hits = list(&told, "/matches")?.iter();
    let mut hits = hits
        .map(|hit| Ok((text(hit, "/sessionKey")?, number(hit, "/seq")?)))
        .collect::<anyhow::Result<Vec<_>>>()?;
    assert_eq!(number(&told, "/count")?, i64::try_from(hits.len())?);
    hits.sort();
    Ok(hits)
}

fn pairs(hits: &[(&str, i64)]) -> Vec<(String, i64)> {
    hits.iter()
        .map(|(key, seq)| ((*key).to_owned(), *seq))
        .collect()
}

#[test]
fn a_hit_is_found_at_once_and_opens_in_the_history_by_its_sequence() -> anyhow::Result<()> {
    for shape in [Shape::OneProcess, Shape::ThreeServices] {
        let home = Home::new(&configured())?;
        let deployment = Deployment::start(shape, &home)?;
        let client = &deployment.client;
        for number in 0..30 {
            client.json(&["chat", MAIN, &format!("message number {number}")])?;
        }
        client.json(&["chat", MAIN, "the Zürich report, please"])?;
        client.json(&["chat", MAIN, "something else"])?;
        // Case and accents do not matter; the reply is found as well.
        let told = search(client, &json!({ "query": "zurich REPORT" }), None)?;
        assert_eq!(at(&told, "/count")?, 2, "{told:#}");
        for hit in list(&told, "/matches")? {
            ensure!(text(hit, "/excerpt")?.contains("Zürich report"), "{hit:#}");
            ensure!(number(hit, "/timestamp")? > 1_600_000_000_000, "{hit:#}");
            let seq = number(hit, "/seq")?;
            let asked = json!({
                "sessionKey": text(hit, "/sessionId")?, "offset": 0, "snapshot": seq, "limit": 3,
            });
            let opened = client.tool("sessions_history", &asked, None)?.json;
            let shown = list(&opened, "/messages")?;
            assert_eq!(shown.len(), 3, "{opened:#}");
            let last = shown.last().unwrap_or(&Value::Null);
            assert_eq!(
                (number(last, "/seq")?, at(last, "/role")?),
                (seq, at(hit, "/role")?)
            );
        }
        deployment.stop()?;
    }
    Ok(())
}

#[test]
fn a_search_sees_what_its_caller_may_see_and_nothing_else() -> anyhow::Result<()> {
    let mut tree = configured();
    merge(
        &mut tree,
        json!({ "tools": { "sessions": { "visibility": "tree" } } }),
    );
    let home = Home::new(&tree)?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    let child = "agent:ops:work-1";
    for key in [MAIN, OTHER, ROOM] {
        client.json(&["chat", key, "the plan"])?;
    }
    client.json(&["sessions", "create", child, "--spawned-by", MAIN])?;
    client.json(&["chat", child, "the plan"])?;
    let everything = pairs(&[
        (child, 1),
        (child, 2),
        (MAIN, 1),
        (MAIN, 2),
        (ROOM, 1),
        (ROOM, 2),
        (OTHER, 1),
        (OTHER, 2),
    ]);
    let mut everything = everything;
    everything.sort();
    assert_eq!(found(client, "plan", None)?, everything);
    let mut seen = pairs(&[("main", 1), ("main", 2), (child, 1), (child, 2)]);
    seen.sort();
    assert_eq!(found(client, "plan", Some(MAIN))?, seen);
    // One session out of reach is refused as its history would be, and so is an agent of whom the
    // caller may see nothing; who spawned a session of that agent sees that one.
    for (asked, caller) in [
        (json!({ "query": "plan", "sessionKey": OTHER }), MAIN),
        (json!({ "query": "plan", "agentId": "ops" }), ROOM),
    ] {
        let refused = client.tool("sessions_search", &asked, Some(caller))?;
        assert_eq!(
            (refused.status, at(&refused.json, "/reason")?),
            (3, &json!("VISIBILITY")),
            "{asked}"
        );
    }
    let asked = json!({ "query": "plan", "agentId": "ops" });
    for (caller, hits) in [(None, 4), (Some(MAIN), 2)] {
        let told = search(client, &asked, caller)?;
        assert_eq!(at(&told, "/count")?, hits, "{caller:?}: {told:#}");
    }
    deployment.stop()
}

#[test]
fn tenants_find_their_own_messages_only() -> anyhow::Result<()> {
    let home = Home::new(&configured())?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    deployment.client.json(&["chat", MAIN, "the treasure"])?;
    let grpc = Grpc::to(&deployment)?;
    let asked = transcript::SearchMessagesRequest {
        query: "treasure".to_owned(),
        ..Default::default()
    };
    for (caller, hits) in [
        (Caller::operator(), 2),
        (Caller::operator().of_tenant("other"), 0),
    ] {
        let told: transcript::SearchMessagesResponse =
            grpc.call(TRANSCRIPT, "SearchMessages", asked.clone(), &caller)?;
        assert_eq!(told.matches.len(), hits, "{caller:?}: {told:#?}");
    }
    deployment.stop()
}

#[test]
fn skip_words_and_deleted_sessions_are_no_hits_and_old_generations_are() -> anyhow::Result<()> {
    let home = Home::new(&configured())?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    client.json(&["chat", ROOM, "silent treasure"])?;
    assert_eq!(found(client, "NO_REPLY", None)?, []);
    assert_eq!(found(client, "treasure", None)?, pairs(&[(ROOM, 1)]));
    client.json(&["sessions", "reset", ROOM])?;
    assert_eq!(found(client, "treasure", None)?, pairs(&[(ROOM, 1)]));
    client.json(&["sessions", "delete", ROOM])?;
    assert_eq!(found(client, "treasure", None)?, []);
    deployment.stop()
}

#[test]
fn a_query_is_words_and_never_a_language() -> anyhow::Result<()> {
    let home = Home::new(&configured())?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    client.json(&["chat", MAIN, "alpha AND beta (gamma) x:y 100% NEAR(a b)"])?;
    // The message and the reply to it, which repeats it.
    for (query, hits) in [
        ("alpha AND beta", 2),
        ("\"alpha and\"", 2),
        ("alp*", 2),
        ("gamma)", 2),
        ("(gamma", 2),
        ("x:y", 2),
        ("100%", 2),
        ("NEAR(a b)", 2),
        ("alpha\" beta", 2),
        ("'alpha'", 2),
        ("beta*", 2),
        ("\"beta gamma\"", 2),
        ("text:alpha", 0),
        ("^alpha", 2),
        ("alpha;--", 2),
    ] {
        let told = search(client, &json!({ "query": query }), None)?;
        assert_eq!(at(&told, "/count")?, hits, "{query}: {told:#}");
    }
    assert_eq!(
        found(client, "alpha NOT beta", None)?,
        [],
        "NOT is a word like any other"
    );
    for (query, named) in [("", "query"), ("   ", "query"), ("?!", "query")] {
        let refused = client.tool("sessions_search", &json!({ "query": query }), None)?;
        assert_eq!(refused.status, 4, "{query:?}: {}", refused.text);
        ensure!(refused.text.contains(named), "{query:?}: {}", refused.text);
    }
    let long = json!({ "query": "a".repeat(513) });
    let refused = client.tool("sessions_search", &long, None)?;
    ensure!(
        refused.status == 4 && refused.text.contains("512"),
        "{}",
        refused.text
    );
    deployment.stop()
}

/// A pattern that comes into force later counts for what was indexed before: what it hides cannot be
/// probed (D77).
#[test]
fn a_new_pattern_hides_what_was_found_before() -> anyhow::Result<()> {
    let home = Home::new(&configured())?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    client.json(&["chat", MAIN, "the ticket is TICKET-4711 for ann"])?;
    assert_eq!(found(client, "4711", None)?.len(), 2);
    let mut hiding = configured();
    merge(
        &mut hiding,
        json!({ "logging": { "redactPatterns": ["TICKET-\\d+"] } }),
    );
    deployment.reload(&home, &hiding)?;
    assert_eq!(found(client, "4711", None)?, []);
    let told = search(client, &json!({ "query": "ann" }), None)?;
    ensure!(!told.to_string().contains("4711"), "{told:#}");
    let shown = client.tool("sessions_history", &json!({ "sessionKey": MAIN }), None)?;
    ensure!(!shown.text.contains("4711"), "{}", shown.text);
    assert_eq!(at(&shown.json, "/contentRedacted")?, true);
    deployment.stop()
}

#[test]
fn an_anchor_and_filters_are_for_typed_callers() -> anyhow::Result<()> {
    let home = Home::new(&config_with(&[script("main", &json!([]))], json!({})))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    for number in 0..20 {
        client.json(&["chat", MAIN, &format!("message {number}")])?;
    }
    let grpc = Grpc::to(&deployment)?;
    let of = |asked: transcript::GetHistoryRequest| {
        let asked = transcript::GetHistoryRequest {
            target: Some(session(MAIN)),
            ..asked
        };
        grpc.call::<_, transcript::GetHistoryResponse>(
            TRANSCRIPT,
            "GetHistory",
            asked,
            &Caller::operator(),
        )
    };
    let seqs = |page: &transcript::GetHistoryResponse| -> Vec<i64> {
        page.messages
            .iter()
            .filter_map(|shown| Some(shown.message.as_ref()?.seq))
            .collect()
    };
    let around = of(transcript::GetHistoryRequest {
        anchor_seq: Some(20),
        limit: Some(5),
        ..Default::default()
    })?;
    assert_eq!(seqs(&around), [18, 19, 20, 21, 22]);
    let mut asked = transcript::GetHistoryRequest {
        roles: vec![1],
        limit: Some(7),
        ..Default::default()
    };
    let mut walked = Vec::new();
    loop {
        let page = of(asked.clone())?;
        walked.extend(seqs(&page).into_iter().rev());
        let Some(next) = page.next_snapshot else {
            break;
        };
        asked.snapshot = Some(next);
    }
    let people: Vec<i64> = (0..20).rev().map(|number| 2 * number + 1).collect();
    assert_eq!(walked, people);
    asked.offset = Some(0);
    let refused = refusal(of(asked))?;
    assert_eq!(
        (refused.code(), reason(&refused).as_str()),
        (Code::InvalidArgument, "INVALID_ARGUMENT")
    );
    deployment.stop()
}
