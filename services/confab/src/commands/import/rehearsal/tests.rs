use std::fs;
use std::path::Path;

use super::*;
use crate::commands::import::progress::Progress;
use crate::openclaw::source::{Place, Source};

fn planned(key: &str, session_id: &str) -> Planned {
    Planned {
        session: Session {
            key: key.to_owned(),
            session_id: session_id.to_owned(),
            ..Session::default()
        },
        file: "sessions.json".to_owned(),
        earlier: Vec::new(),
        sources: Vec::new(),
        unclaimed: false,
        left_out: Vec::new(),
    }
}

fn answered(outcome: ImportOutcome) -> ImportSessionResponse {
    ImportSessionResponse {
        outcome: outcome.into(),
        ..ImportSessionResponse::default()
    }
}

fn source(path: &Path, session_id: &str) -> Source {
    Source {
        session_id: session_id.to_owned(),
        name: path.display().to_string(),
        bytes: 0,
        place: Place::Plain(path.to_owned()),
    }
}

fn line(id: &str, parent: &str) -> String {
    format!(
        "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":\"{parent}\",\
         \"timestamp\":\"2026-01-02T03:04:05.000Z\",\
         \"message\":{{\"role\":\"user\",\"content\":\"{id}\"}}}}\n"
    )
}

#[test]
fn a_session_id_that_an_earlier_session_would_have_is_taken() {
    let mut rehearsal = Rehearsal::default();
    let mut first = planned("agent:a:main", "s2");
    first.earlier = vec!["s1".to_owned()];
    let created = rehearsal.foreseen(&first, answered(ImportOutcome::Created));
    assert_eq!(created.outcome(), ImportOutcome::Created);
    for taken in ["s1", "s2"] {
        let second = planned("agent:a:desk", taken);
        let told = rehearsal.foreseen(&second, answered(ImportOutcome::Created));
        assert_eq!(told.outcome(), ImportOutcome::Differs, "{taken}");
        assert!(told.differences[0].contains("agent:a:main"), "{told:?}");
    }
    let free = rehearsal.foreseen(
        &planned("agent:a:desk", "s3"),
        answered(ImportOutcome::Created),
    );
    assert_eq!(free.outcome(), ImportOutcome::Created);
    let again = rehearsal.foreseen(&first, answered(ImportOutcome::Replaced));
    assert_eq!(
        again.outcome(),
        ImportOutcome::Replaced,
        "its own sessionIds are its own"
    );
}

#[test]
fn a_spawner_that_would_be_stored_by_then_is_not_asked_about() {
    let mut rehearsal = Rehearsal::default();
    let mut child = planned("agent:a:subagent:1", "s2");
    child.session.spawned_by = Some("agent:a:main".to_owned());
    let request = || ImportSessionRequest {
        session: Some(child.session.clone()),
        ..ImportSessionRequest::default()
    };
    assert_eq!(
        rehearsal.asked(request()),
        request(),
        "nobody knows of it yet"
    );
    rehearsal.foreseen(
        &planned("agent:a:main", "s1"),
        answered(ImportOutcome::Created),
    );
    let asked = rehearsal.asked(request()).session.unwrap();
    assert_eq!(
        (asked.spawned_by, asked.key.as_str()),
        (None, "agent:a:subagent:1")
    );
}

/// What a second file of the same generation has in common with the first is stored once.
#[tokio::test]
async fn transcripts_are_counted_as_an_import_counts_them_one_after_the_other() {
    let directory = tempfile::tempdir().unwrap();
    let (first, second) = (directory.path().join("a"), directory.path().join("b"));
    let header = "{\"type\":\"session\",\"version\":3,\"id\":\"s1\"}\n";
    let damaged = [
        header,
        &line("m1", ""),
        "{\"type\":\n",
        "\n",
        &line("m2", "m1"),
    ]
    .concat();
    fs::write(&first, damaged).unwrap();
    fs::write(&second, [line("m2", "m1"), line("m3", "m2")].concat()).unwrap();
    let progress = Progress::of(&[]);
    let scratch = Scratch::open().await.unwrap();
    let counted = scratch
        .import(&source(&first, "s1"), "agent:a:main", &progress)
        .await
        .unwrap();
    let numbers = |counts: &Counts| {
        (
            counts.lines,
            counts.imported,
            counts.repeated,
            counts.skipped,
            counts.kept_aside,
        )
    };
    assert_eq!(numbers(&counted), (4, 2, 0, 1, 1), "{counted:?}");
    assert_eq!(counted.faults[0].line, 3);
    let counted = scratch
        .import(&source(&second, "s1"), "agent:a:main", &progress)
        .await
        .unwrap();
    assert_eq!(numbers(&counted), (2, 1, 1, 0, 0), "{counted:?}");
    let other = scratch
        .import(&source(&second, "s2"), "agent:a:desk", &progress)
        .await
        .unwrap();
    assert_eq!(numbers(&other), (2, 2, 0, 0, 0), "{other:?}");
    let absent = directory.path().join("absent");
    let unread = scratch
        .import(&source(&absent, "s3"), "agent:a:x", &progress)
        .await
        .unwrap();
    assert!(
        unread
            .unread
            .is_some_and(|reason| reason.contains("opened"))
    );
    scratch.close().await;
}
