use std::collections::BTreeMap;

use confab_model::id::AgentId;
use confab_rpc::error::{Reason, RpcError};
use serde_json::json;

use super::super::report::{Counts, LineFault, SessionReport};
use super::*;
use crate::exit::{Exit, Failure};
use crate::openclaw::plan::Agent;
use crate::openclaw::{Fault, PassedOver};

fn session(key: &str, outcome: Outcome) -> SessionReport {
    SessionReport {
        key: key.to_owned(),
        session_id: "s1".to_owned(),
        file: "sessions/sessions.json".to_owned(),
        outcome,
        differences: Vec::new(),
        left_out: Vec::new(),
        unclaimed: false,
        transcripts: 1,
    }
}

fn file(state: FileState, counts: Counts) -> FileReport {
    FileReport {
        file: "agents/main/sessions/s1.jsonl".to_owned(),
        key: "agent:main:main".to_owned(),
        session_id: "s1".to_owned(),
        bytes: 1_234,
        state,
        counts,
        error: None,
    }
}

fn report(sessions: Vec<SessionReport>, files: Vec<FileReport>) -> Report {
    Report {
        dry_run: false,
        complete: true,
        broken: false,
        agents: vec![Agent {
            id: AgentId::normalise("main"),
            rows: 1,
            transcripts: 1,
        }],
        sessions,
        files,
        faults: Vec::new(),
        passed_over: Vec::new(),
        fields: BTreeMap::new(),
    }
}

fn hostile() -> Report {
    let wide = format!("agent:main:{}\u{1b}[2J", "界 ".repeat(90));
    let mut left_alone = session(&wide, Outcome::LeftAlone);
    left_alone.differences = vec![format!("label: {wide} is stored, {wide} was given")];
    left_alone.left_out = vec![wide.clone()];
    left_alone.unclaimed = true;
    let faults = vec![LineFault {
        line: 7,
        reason: wide.clone(),
    }];
    let skipped = Counts {
        lines: 9,
        skipped: 3,
        faults,
        ..Counts::default()
    };
    let mut failed = file(FileState::Failed, Counts::default());
    failed.error = Some(wide.clone());
    let mut report = report(
        vec![left_alone, session("agent:main:main", Outcome::Created)],
        vec![file(FileState::Imported, skipped), failed],
    );
    report.faults = vec![Fault {
        file: wide.clone(),
        line: Some(3),
        reason: wide.clone(),
    }];
    report.passed_over = vec![PassedOver {
        file: wide,
        reason: "no transcript",
    }];
    report.fields = (0..40).map(|n| (format!("field{n}"), n)).collect();
    report
}

#[test]
fn whatever_a_directory_holds_the_report_fits_and_steers_no_terminal() {
    let told = tell(&hostile(), Paint::new(false));
    for line in told.lines() {
        assert!(text::width(line) <= COLUMNS, "{line}");
    }
    assert!(!told.contains('\u{1b}'), "{told:?}");
    // A sentence may go on in the next line.
    let unwrapped = told.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "left alone",
        "differs: label",
        "agents/main/sessions/s1.jsonl:7: ",
        "warning: 3 lines were skipped",
        "and 2 more",
        "could not be read or stored",
        "field39 (39)",
        "2 sessions: 1 created, 0 unchanged, 0 replaced, 1 left alone, 0 refused",
        "hint: --replace",
    ] {
        assert!(unwrapped.contains(part), "{part}: {told}");
    }
}

#[test]
fn a_quiet_import_tells_the_tables_and_the_totals_alone() {
    let counts = Counts {
        lines: 3,
        imported: 2,
        ..Counts::default()
    };
    let mut quiet = report(
        vec![session("agent:main:main", Outcome::Created)],
        vec![file(FileState::Imported, counts)],
    );
    let told = tell(&quiet, Paint::new(false));
    assert_eq!(
        told,
        "agent main: 1 sessions, 1 transcripts\n\n\
         SESSION          OUTCOME  TRANSCRIPTS\n\
         agent:main:main  created  1\n\n\
         FILE                           LINES  IMPORTED  REPEATED  ASIDE  SKIPPED\n\
         agents/main/sessions/s1.jsonl  3      2         0         0      0\n\n\
         1 sessions: 1 created, 0 unchanged, 0 replaced, 0 left alone, 0 refused\n\
         1 transcripts, 3 lines, 1234 bytes: 2 messages imported, 0 repeated, 0 entries kept aside, 0 \
         lines\nskipped"
    );
    quiet.dry_run = true;
    assert!(tell(&quiet, Paint::new(false)).contains("nothing was changed"));
    assert!(!tell(&quiet, Paint::new(false)).contains("incomplete"));
    quiet.complete = false;
    let told = tell(&quiet, Paint::new(false));
    assert!(told.contains("nothing was changed\nincomplete: "), "{told}");
}

#[test]
fn what_broke_in_the_service_is_no_refusal() {
    let failed = file(FileState::Failed, Counts::default());
    let mut broken = report(
        vec![session("agent:main:main", Outcome::Refused)],
        vec![failed],
    );
    broken.note(&Failure::new(Exit::Refused, "not found"));
    assert_eq!(broken.exit(), Exit::Refused);
    let internal = RpcError::new(Reason::Internal, "the store failed");
    broken.note(&Failure::from(internal));
    broken.note(&Failure::new(Exit::Refused, "not found"));
    assert_eq!(broken.exit(), Exit::Failed);
}

#[test]
fn skipped_lines_alone_are_no_failure_and_everything_else_that_stays_out_is() {
    let skipped = Counts {
        skipped: 5,
        ..Counts::default()
    };
    let with = |outcome, file| report(vec![session("agent:main:main", outcome)], vec![file]);
    let good = || file(FileState::Imported, Counts::default());
    assert_eq!(
        with(Outcome::Created, file(FileState::Imported, skipped)).exit(),
        Exit::Done
    );
    for outcome in Outcome::ALL {
        let stays_out = matches!(outcome, Outcome::LeftAlone | Outcome::Refused);
        let expected = if stays_out { Exit::Refused } else { Exit::Done };
        assert_eq!(with(outcome, good()).exit(), expected, "{outcome:?}");
    }
    let failed = file(FileState::Failed, Counts::default());
    assert_eq!(with(Outcome::Created, failed).exit(), Exit::Refused);
    let unread = Counts {
        unread: Some("broken".to_owned()),
        ..Counts::default()
    };
    assert_eq!(
        with(Outcome::Created, file(FileState::Imported, unread)).exit(),
        Exit::Refused
    );
    let mut broken = with(Outcome::Created, good());
    broken.faults = vec![Fault {
        file: "sessions.json".to_owned(),
        line: None,
        reason: "B205: it is empty".to_owned(),
    }];
    assert_eq!(broken.exit(), Exit::Refused, "B205");
}

#[test]
fn programs_get_every_part_under_its_name() {
    let record = hostile().record();
    let names: Vec<&String> = record.as_object().unwrap().keys().collect();
    let expected =
        "dryRun complete agents sessions files faults passedOver fieldsPassedOver totals";
    assert_eq!(names, expected.split(' ').collect::<Vec<_>>());
    assert_eq!(record["sessions"][0]["outcome"], "leftAlone");
    assert_eq!(record["files"][0]["faults"][0]["line"], 7);
    assert_eq!(record["files"][1]["state"], "failed");
    assert_eq!(
        record["agents"][0],
        json!({ "agentId": "main", "sessions": 1, "transcripts": 1 })
    );
    let totals = &record["totals"];
    assert_eq!(
        (&totals["sessions"]["leftAlone"], &totals["skipped"]),
        (&json!(1), &json!(3))
    );
    assert_eq!(
        (&totals["bytes"], &totals["filesFailed"]),
        (&json!(2_468), &json!(1))
    );
}
