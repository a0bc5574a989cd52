use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use confab_proto::types::v1::{Session, SessionKind};
use confab_rpc::error::{Reason, RpcError};
use futures::stream;
use serde_json::json;

use super::*;

fn session(key: &str) -> Session {
    Session {
        key: key.to_owned(),
        display_key: key.to_owned(),
        kind: SessionKind::Main.into(),
        ..Session::default()
    }
}

fn told(cursor: &str, change: Change) -> WatchSessionsResponse {
    WatchSessionsResponse {
        cursor: cursor.to_owned(),
        change: Some(change),
    }
}

/// Keeps what is written, and is gone after so many lines.
#[derive(Clone, Default)]
struct Paper {
    written: Arc<Mutex<Vec<u8>>>,
    lines_max: Option<usize>,
}

impl io::Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self
            .lines_max
            .is_some_and(|most| self.lines().len() >= most)
        {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Paper {
    fn lines(&self) -> Vec<String> {
        let written = self.written.lock().unwrap().clone();
        let text = String::from_utf8(written).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

async fn shown(
    changes: impl IntoIterator<Item = WatchSessionsResponse>,
    json: bool,
    lines_max: Option<usize>,
) -> (Result<Exit, Failure>, Vec<String>) {
    ended(changes.into_iter().map(Ok), json, lines_max).await
}

async fn ended(
    changes: impl Iterator<Item = Result<WatchSessionsResponse, Status>>,
    json: bool,
    lines_max: Option<usize>,
) -> (Result<Exit, Failure>, Vec<String>) {
    let paper = Paper {
        lines_max,
        ..Paper::default()
    };
    let mut screen = Screen::on(paper.clone(), json);
    let end = follow(stream::iter(changes), &mut screen).await;
    (end, paper.lines())
}

#[tokio::test]
async fn each_change_is_a_line_with_its_cursor_until_the_server_stops() {
    let changes = vec![
        told("c1", Change::Session(session("agent:a:main"))),
        told("c2", Change::DeletedKey("agent:a:cron:x".to_owned())),
        told("c3", Change::Gap(true)),
        WatchSessionsResponse {
            cursor: "c4".to_owned(),
            change: None,
        },
    ];
    let (end, lines) = shown(changes, false, None).await;
    assert_eq!(end.unwrap(), Exit::Done);
    let words: Vec<Vec<&str>> = lines
        .iter()
        .map(|line| line.split_whitespace().skip(1).collect())
        .collect();
    assert_eq!(
        words,
        [
            ["agent:a:main", "changed", "c1"],
            ["agent:a:cron:x", "deleted", "c2"],
            ["-", "gap", "c3"],
        ]
    );
}

#[tokio::test]
async fn for_programs_each_change_is_an_object_on_its_own_line() {
    let changes = vec![
        told("c1", Change::Session(session("agent:a:main"))),
        told("c2", Change::DeletedKey("k".to_owned())),
        told("c3", Change::Gap(true)),
    ];
    let (_, lines) = shown(changes, true, None).await;
    let mut records: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for record in &mut records {
        let at = record.as_object_mut().unwrap().remove("at");
        assert!(at.is_some_and(|at| at.is_i64()), "{record}");
    }
    assert_eq!(records[0]["session"]["key"], "agent:a:main");
    assert_eq!(records[0]["key"], "agent:a:main");
    assert_eq!(
        records[1],
        json!({ "change": "deleted", "key": "k", "cursor": "c2" })
    );
    assert_eq!(records[2], json!({ "change": "gap", "cursor": "c3" }));
}

#[tokio::test]
async fn a_broken_connection_tells_how_to_go_on() {
    let broken = || Err(RpcError::new(Reason::Unavailable, "it broke").into());
    let one = Ok(told("c1", Change::Gap(true)));
    let (late, _) = ended([one, broken()].into_iter(), false, None).await;
    let failure = late.unwrap_err();
    assert_eq!(failure.exit, Exit::Failed);
    assert!(failure.hint.is_some_and(|hint| hint.contains("--after c1")));
    let (early, _) = ended([broken()].into_iter(), false, None).await;
    let hint = early.unwrap_err().hint.unwrap_or_default();
    assert!(!hint.contains("--after"), "{hint}");
}

#[tokio::test]
async fn it_ends_when_nobody_reads_any_more() {
    let many = (0..1_000).map(|n| told(&n.to_string(), Change::Gap(true)));
    let (end, lines) = shown(many, false, Some(2)).await;
    assert_eq!(end.unwrap(), Exit::Done);
    assert_eq!(lines.len(), 2);
}

#[test]
fn what_others_wrote_cannot_steer_the_terminal_and_a_cursor_stays_whole() {
    let hostile = "\u{1b}]0;x\u{7}界".repeat(50);
    let cursor = "c".repeat(150);
    let at = Timestamp::from_millis(0);
    let change = Change::DeletedKey(hostile);
    let line = tell(&change, &cursor, at, Paint::new(false));
    assert!(!line.contains(['\u{1b}', '\u{7}']), "{line:?}");
    assert!(line.ends_with(&cursor), "{line}");
    let rest = line.strip_suffix(cursor.as_str()).unwrap();
    assert!(text::width(rest) <= 80, "{rest}");
}
