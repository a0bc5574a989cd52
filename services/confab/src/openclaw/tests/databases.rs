use futures::StreamExt as _;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::super::source::{PIECE_BYTES, Source};
use super::*;

const DATABASE: &str = "agents/main/agent/openclaw-agent.sqlite";
const EVENTS: &str = "CREATE TABLE transcript_events \
    (session_id TEXT, seq INTEGER, event_json TEXT, created_at INTEGER)";
const NODES: &str = "CREATE TABLE session_nodes (session_key TEXT, current_session_id TEXT, \
    updated_at INTEGER, entry_json TEXT)";
const WINDOWS: &str = "CREATE TABLE session_windows (session_id TEXT, session_key TEXT, \
    created_at INTEGER, updated_at INTEGER)";

/// What a transcript of the plan says, as one text.
async fn said(plan: &Plan, source: usize) -> String {
    pieces(&plan.sessions[0].sources[source]).await
}

/// All pieces of a transcript, none longer than is allowed.
async fn pieces(source: &Source) -> String {
    let mut pieces = source.pieces().unwrap();
    let mut whole = Vec::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece.unwrap();
        assert!(!piece.is_empty() && piece.len() <= PIECE_BYTES);
        whole.extend(piece);
    }
    String::from_utf8(whole).unwrap()
}

/// run:T1: rows, generations and events of the newer form; a line end inside of an event is none.
#[tokio::test]
async fn the_database_of_a_newer_release_has_sessions_generations_and_transcripts() {
    let state = State::new();
    let statements = [
        EVENTS,
        NODES,
        WINDOWS,
        "INSERT INTO session_nodes VALUES ('agent:main:main', 's2', 2000, '{\"label\":\"desk\"}'), \
         ('agent:main:bad', 's3', 2000, 'no json')",
        "INSERT INTO session_windows VALUES ('s2', 'agent:main:main', 1500, 2000), \
         ('s1', 'agent:main:main', 1000, 1500), ('s4', 'agent:x', 1000, 1500)",
        "INSERT INTO transcript_events VALUES ('s2', 2, '{\"b\":2}', 0), \
         ('s2', 1, '{\"a\":' || char(10) || '1}', 0), ('s1', 1, '{\"c\":3}', 0)",
    ];
    state.database(DATABASE, &statements).await;
    let plan = state.plan().await.unwrap();
    assert_eq!(
        sessions(&plan),
        ["agent:main:main s2 < s1 = openclaw-agent.sqlite#s1 of s1, \
          openclaw-agent.sqlite#s2 of s2"]
    );
    let session = &plan.sessions[0].session;
    assert_eq!(session.label.as_deref(), Some("desk"));
    assert_eq!(
        session.updated_at.map(|at| at.seconds),
        Some(2),
        "the column stands for the row"
    );
    assert_eq!(said(&plan, 0).await, "{\"c\":3}\n");
    assert_eq!(said(&plan, 1).await, "{\"a\": 1}\n{\"b\":2}\n");
    let told = faults(&plan);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].contains("the entry of agent:main:bad is no JSON"),
        "{told:?}"
    );
    assert!(told[1].contains("the key of s4"), "{told:?}");
}

/// The newest form: long events are compressed, and what a reset put aside is in a table.
#[tokio::test]
async fn long_events_are_inflated_and_those_that_cannot_be_read_are_lines_that_are_none() {
    let state = State::new();
    let event = format!("{{\"text\":\"{}\"}}", "a".repeat(3_000_000));
    let packed = compress_to_vec(event.as_bytes(), CompressionLevel::Fastest);
    let digits = packed.iter().map(|byte| format!("{byte:02x}"));
    let hexadecimal = digits.collect::<Vec<_>>().concat();
    let long = format!(
        "INSERT INTO transcript_events VALUES ('s1', 2, NULL, x'{hexadecimal}', {}, NULL, 0)",
        event.len()
    );
    let statements = [
        "CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, \
         event_json TEXT, event_zstd BLOB, event_utf8_bytes INTEGER, navigation_json TEXT, \
         created_at INTEGER NOT NULL, PRIMARY KEY (session_id, seq)) STRICT",
        "CREATE TABLE session_transcript_archives (session_id TEXT, generation INTEGER, \
         archive_blob BLOB)",
        NODES,
        "INSERT INTO session_nodes VALUES ('agent:main:main', 's1', 2000, '{}')",
        "INSERT INTO session_transcript_archives VALUES ('s0', 1, x'00')",
        "INSERT INTO transcript_events VALUES ('s1', 1, '{\"a\":1}', NULL, NULL, NULL, 0), \
         ('s1', 3, NULL, x'28b52ffd0000', 9, NULL, 0), ('s1', 4, NULL, NULL, NULL, NULL, 0), \
         ('s1', 5, '\"' || hex(zeroblob(9000000)) || '\"', NULL, NULL, NULL, 0), \
         ('s1', 6, '{\"b\":2}', NULL, NULL, NULL, 0), ('s2', 1, NULL, x'00', NULL, NULL, 0)",
        &long,
    ];
    state.database(DATABASE, &statements).await;
    let plan = state.plan().await.unwrap();
    assert_eq!(
        sessions(&plan),
        [
            "agent:main:imported:s2 s2 = openclaw-agent.sqlite#s2 of s2 (unclaimed)",
            "agent:main:main s1 = openclaw-agent.sqlite#s1 of s1",
        ]
    );
    let mut planned = plan.sessions.iter();
    let main = planned.find(|one| one.session.key == "agent:main:main");
    let whole = pieces(&main.unwrap().sources[0]).await;
    let lines: Vec<&str> = whole.lines().collect();
    let none = "an event that cannot be read";
    assert_eq!(lines[0], "{\"a\":1}");
    assert!(lines[1] == event, "the long event");
    assert_eq!(lines[2..], [none, none, none, "{\"b\":2}"]);
    let told = faults(&plan);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("a transcript of s0 was put aside"),
        "{told:?}"
    );
}

#[tokio::test]
async fn the_database_of_the_release_before_is_read_too_and_events_of_nobody_are_kept() {
    let state = State::new();
    let statements = [
        EVENTS,
        "CREATE TABLE session_entries (session_key TEXT, session_id TEXT, updated_at INTEGER, \
         entry_json TEXT)",
        "CREATE TABLE sessions (session_id TEXT, session_key TEXT, created_at INTEGER, \
         updated_at INTEGER)",
        "INSERT INTO session_entries VALUES ('agent:main:main', 's1', 2000, '{}')",
        "INSERT INTO transcript_events VALUES ('s1', 1, '{}', 0), ('s9', 1, '{}', 0)",
    ];
    state.database(DATABASE, &statements).await;
    assert_eq!(
        sessions(&state.plan().await.unwrap()),
        [
            "agent:main:imported:s9 s9 = openclaw-agent.sqlite#s9 of s9 (unclaimed)",
            "agent:main:main s1 = openclaw-agent.sqlite#s1 of s1",
        ]
    );
}

/// A release that moved to the database leaves its files behind: one session, files first.
#[tokio::test]
async fn what_a_database_took_over_from_files_is_one_session() {
    let state = State::with(&[
        (
            "agents/main/sessions/sessions.json",
            &index(&[("agent:main:main", "s1")]),
        ),
        ("agents/main/sessions/s1.jsonl", "{}\n"),
    ]);
    let statements = [
        EVENTS,
        NODES,
        "INSERT INTO session_nodes VALUES ('agent:main:main', 's1', 2000, '{}')",
        "INSERT INTO transcript_events VALUES ('s1', 1, '{}', 0)",
    ];
    state.database(DATABASE, &statements).await;
    assert_eq!(
        sessions(&state.plan().await.unwrap()),
        ["agent:main:main s1 = s1.jsonl of s1, openclaw-agent.sqlite#s1 of s1"]
    );
}

#[tokio::test]
async fn a_database_that_cannot_be_read_is_told_and_the_rest_goes_in() {
    let damaged = State::with(&[
        (
            DATABASE,
            "no database at all, though as long as a header of one would have to be: it is",
        ),
        (
            "agents/main/sessions/sessions.json",
            &index(&[("main", "s1")]),
        ),
    ]);
    let plan = damaged.plan().await.unwrap();
    assert_eq!(sessions(&plan), ["agent:main:main s1"]);
    assert_eq!(faults(&plan).len(), 1, "B205: {:?}", faults(&plan));
    assert!(
        faults(&plan)[0].starts_with(DATABASE),
        "{:?}",
        faults(&plan)
    );

    let foreign = State::new();
    foreign
        .database(DATABASE, &["CREATE TABLE other (x)"])
        .await;
    let told = faults(&foreign.plan().await.unwrap());
    assert!(told[0].contains("none of the tables"), "{told:?}");
}

/// Reading changes nothing where the database lies, also where something of it is pending.
#[tokio::test]
async fn a_database_is_read_with_what_is_pending_and_stays_as_it_was() {
    let state = State::new();
    let path = state.path(DATABASE);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let options = SqliteConnectOptions::new()
        .filename(&path)
        .create_if_missing(true)
        .pragma("journal_mode", "WAL");
    let mut open = SqliteConnection::connect_with(&options).await.unwrap();
    for statement in [
        EVENTS,
        NODES,
        "INSERT INTO session_nodes VALUES ('agent:main:main', 's1', 2000, '{}')",
    ] {
        sqlx::query(statement).execute(&mut open).await.unwrap();
    }
    let beside = |ending: &str| fs::read(state.path(&format!("{DATABASE}{ending}"))).unwrap();
    let before = (beside(""), beside("-wal"));
    assert!(!before.1.is_empty(), "something is pending");
    assert_eq!(
        sessions(&state.plan().await.unwrap()),
        ["agent:main:main s1"]
    );
    assert!(before == (beside(""), beside("-wal")), "it was touched");
    open.close().await.unwrap();
}
