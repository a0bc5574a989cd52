//! The binary: it starts, says where it is, answers, and stops when it is told to.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

const BINARY: &str = env!("CARGO_BIN_EXE_confab-transcript");

fn start(directory: &TempDir) -> Child {
    Command::new(BINARY)
        .args(["--listen", "127.0.0.1:0", "--data"])
        .arg(directory.path())
        .env_remove("CONFAB_CONFIG")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    line
}

#[test]
fn it_says_where_it_is_answers_and_exits_with_0_when_told_to_stop() {
    let directory = TempDir::new().unwrap();
    let mut server = start(&directory);
    let line = first_line(&mut server);
    let (grpc, http) = line
        .trim()
        .strip_prefix("confab-transcript ready on http://127.0.0.1:")
        .and_then(|rest| rest.split_once(" http=127.0.0.1:"))
        .unwrap_or_else(|| panic!("{line:?}"));
    assert!(grpc.parse::<u16>().unwrap() > 0);

    let probe = |path: &str| {
        let url = format!("http://127.0.0.1:{http}{path}");
        Command::new(BINARY)
            .args(["--probe", &url])
            .status()
            .unwrap()
            .code()
    };
    assert_eq!((probe("/readyz"), probe("/nothing")), (Some(0), Some(1)));

    // The data has one owner: a second one says who it is.
    let mut second = start(&directory);
    assert_eq!(second.wait().unwrap().code(), Some(1));
    let mut told = String::new();
    second
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut told)
        .unwrap();
    assert!(told.contains(&format!("process {}", server.id())), "{told}");

    let kill = Command::new("kill")
        .arg(server.id().to_string())
        .status()
        .unwrap();
    assert!(kill.success());
    assert_eq!(server.wait().unwrap().code(), Some(0));
    assert_eq!(probe("/readyz"), Some(1));
}
