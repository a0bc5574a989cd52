//! The binary as a process: it starts, tells where it is, answers, and ends when it is told to.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Stdio;
use std::time::Duration;

use confab_proto::runner::v1::{GetRunRequest, SendMessageRequest};
use confab_proto::types::v1::SessionTarget;
use confab_rpc::clients::{Call, Credentials, RunnerClient, connect};
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::identity::Named;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use tonic::Code;

const BINARY: &str = env!("CARGO_BIN_EXE_confab-runner");
const PATIENCE: Duration = Duration::from_mins(1);
/// Nobody listens there.
const NOWHERE: &str = "http://127.0.0.1:9";

/// A runner whose neighbours cannot be reached.
struct Started {
    child: Child,
    grpc: String,
    http: String,
    _data: TempDir,
}

impl Started {
    async fn new() -> Self {
        let data = TempDir::new().unwrap();
        let mut child = Command::new(BINARY)
            .args(["--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"])
            .args(["--registry", NOWHERE, "--transcript", NOWHERE, "--data"])
            .arg(data.path())
            .env_remove("CONFAB_CONFIG")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = timeout(PATIENCE, lines.next_line())
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        let told = line.strip_prefix("confab-runner ready on ").unwrap();
        let (grpc, http) = told.split_once(" http=").unwrap();
        let (grpc, http) = (grpc.to_owned(), format!("http://{http}"));
        Self {
            child,
            grpc,
            http,
            _data: data,
        }
    }

    fn client(&self) -> RunnerClient {
        let named = Credentials::Named(Named::default());
        RunnerClient::new(Call::new(connect(&self.grpc).unwrap(), named))
    }

    /// Sends SIGTERM and answers with how the process ended.
    async fn stop(mut self) -> Option<i32> {
        let id = self.child.id().unwrap().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &id])
                .status()
                .await
                .unwrap()
                .success()
        );
        timeout(PATIENCE, self.child.wait())
            .await
            .unwrap()
            .unwrap()
            .code()
    }
}

async fn probe(url: &str) -> bool {
    Command::new(BINARY)
        .args(["--probe", url])
        .status()
        .await
        .unwrap()
        .success()
}

#[tokio::test]
async fn it_starts_without_its_neighbours_and_says_that_they_are_missing() {
    let started = Started::new().await;
    let target = SessionTarget {
        session_key: Some("main".to_owned()),
        ..SessionTarget::default()
    };
    let message = SendMessageRequest {
        target: Some(target),
        text: "hello".to_owned(),
        ..SendMessageRequest::default()
    };
    let refused = started.client().send_message(message).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
    assert_eq!(RpcError::from_status(&refused).reason, Reason::Unavailable);
    assert!(!refused.message().is_empty());
    // What it owns alone it answers alone.
    let unknown = GetRunRequest {
        run_id: "nobody".to_owned(),
    };
    let unknown = started.client().get_run(unknown).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound, "{unknown:?}");
    assert_eq!(started.stop().await, Some(0));
}

#[tokio::test]
async fn a_probe_tells_whether_it_answers() {
    let started = Started::new().await;
    assert!(probe(&format!("{}/healthz", started.http)).await);
    assert!(!probe(&format!("{}/nothing", started.http)).await);
    assert!(!probe(&format!("{NOWHERE}/healthz")).await);
    assert_eq!(started.stop().await, Some(0));
}
