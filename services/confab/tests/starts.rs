//! The server as a process: it starts, says so, answers, and stops in an orderly way.

#[path = "program/run.rs"]
mod run;
#[path = "starts/served.rs"]
mod served;
#[path = "starts/server.rs"]
mod server;
#[path = "starts/sessions.rs"]
mod sessions;

use run::confab;
use server::Server;

#[test]
fn it_says_when_it_is_ready_answers_and_ends_well_when_told_to_stop() {
    for signal in ["TERM", "INT"] {
        let data = tempfile::tempdir().expect("a directory");
        let server = Server::start(data.path(), None);
        let expected = format!("confab ready on {} http={}\n", server.endpoint, server.http);
        assert_eq!(server.line, expected);
        assert!(
            server.endpoint.starts_with("http://127.0.0.1:"),
            "{}",
            server.line
        );

        assert!(server.get("/healthz").starts_with("HTTP/1.1 200 "));
        let ready = server.get("/readyz");
        assert!(ready.starts_with("HTTP/1.1 200 "), "{ready}");
        assert!(ready.contains("config: "), "{ready}");
        assert!(server.get("/metrics").starts_with("HTTP/1.1 200 "));
        for service in ["registry", "transcript", "runner"] {
            assert!(
                data.path().join(format!("{service}.db")).exists(),
                "{service}"
            );
        }

        let (code, rest) = server.stop(signal);
        assert_eq!(code, Some(0), "{signal}");
        assert_eq!(rest, "", "the ready line is the only one");
    }
}

#[test]
fn what_was_stored_is_there_after_a_restart() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path(), None);
    let (code, _, error) = server.run(&["sessions", "create", "agent:main:main"]);
    assert_eq!(code, 0, "{error}");
    assert_eq!(server.stop("TERM").0, Some(0));

    let server = Server::start(data.path(), None);
    let (code, out, _) = server.run(&["sessions", "get", "agent:main:main"]);
    assert_eq!(code, 0);
    assert!(out.contains("agent:main:main"), "{out}");
}

#[test]
fn a_second_server_on_the_same_data_ends_at_once_and_names_the_first() {
    let data = tempfile::tempdir().expect("a directory");
    let _first = Server::start(data.path(), None);
    let path = data.path().to_str().expect("UTF-8");
    let (code, out, error) = confab(&["up", "--listen", "127.0.0.1:0", "--data", path]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(
        error.contains("in use by") && error.contains("--data"),
        "{error}"
    );
}

#[test]
fn open_mode_listens_on_this_machine_only() {
    let data = tempfile::tempdir().expect("a directory");
    let path = data.path().to_str().expect("UTF-8");
    let (code, out, error) = confab(&["up", "--listen", "0.0.0.0:0", "--data", path]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(
        error.contains("auth.mode") && error.contains("127.0.0.1"),
        "{error}"
    );
}

#[test]
fn a_server_with_a_wrong_configuration_tells_every_problem() {
    let data = tempfile::tempdir().expect("a directory");
    let config = data.path().join("confab.json5");
    let text = "{ session: { scope: 'no' }, confab: { runs: { leaseSecond: 3 } } }";
    std::fs::write(&config, text).expect("the file is written");
    let config = config.to_str().expect("UTF-8");
    let (code, out, error) = confab(&["up", "--listen", "127.0.0.1:0", "--config", config]);
    assert_eq!((code, out.as_str()), (1, ""));
    for path in ["session.scope", "confab.runs.leaseSecond", "leaseSeconds"] {
        assert!(error.contains(path), "{path}: {error}");
    }
}
