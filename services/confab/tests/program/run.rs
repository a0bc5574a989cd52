//! Runs the real program, one command to its end.

use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Longest time anything may take: a drain, on a slow machine.
pub(crate) const WAIT: Duration = Duration::from_mins(1);

/// The program with an environment of its own: nothing of this machine's configuration counts.
pub(crate) fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_confab"));
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

/// Runs a command to its end: the exit status, standard output and standard error.
pub(crate) fn confab(arguments: &[&str]) -> (i32, String, String) {
    confab_with(&[], arguments)
}

/// Runs a command to its end with variables of its own.
pub(crate) fn confab_with(variables: &[(&str, &str)], arguments: &[&str]) -> (i32, String, String) {
    let mut command = program(arguments);
    command.envs(variables.iter().copied());
    let output = within(move || command.output().expect("the program starts"));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program writes UTF-8");
    let code = output.status.code().expect("nobody killed the program");
    (code, text(output.stdout), text(output.stderr))
}

/// What `work` makes, or a failed test when it takes too long.
pub(crate) fn within<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = mpsc::channel();
    thread::spawn(move || {
        // Nobody listens any more when the test has failed already.
        drop(done.send(work()));
    });
    result.recv_timeout(WAIT).expect("it is done in time")
}
