//! Points at which a test can let the process die.
//!
//! Source: D47.

/// Reads the variable `FAILPOINTS` and keeps what it says in force for the life of the process. A
/// binary calls this first in `main`. Without the feature `failpoints` it does nothing.
#[cfg(not(feature = "failpoints"))]
pub const fn activate_failpoints() {}

/// Reads the variable `FAILPOINTS` and keeps what it says in force for the life of the process. A
/// binary calls this first in `main`. Without the feature `failpoints` it does nothing.
#[cfg(feature = "failpoints")]
pub fn activate_failpoints() {
    // Dropping a scenario ends it, and this one lasts as long as the process.
    std::mem::forget(fail::FailScenario::setup());
}

/// A place where a test may let the process die as by `kill -9`: with `FAILPOINTS` set to
/// `<name>=return(kill)`. Without the feature `failpoints` it does nothing.
#[cfg(not(feature = "failpoints"))]
pub const fn crash_point(_name: &str) {}

/// A place where a test may let the process die as by `kill -9`: with `FAILPOINTS` set to
/// `<name>=return(kill)`. Without the feature `failpoints` it does nothing.
#[cfg(feature = "failpoints")]
pub fn crash_point(name: &str) {
    fail::fail_point!(name, |argument: Option<String>| {
        if argument.as_deref() == Some("kill") {
            die();
        }
    });
}

/// Ends the process without unwinding, flushing or any other farewell. The safe way to send
/// oneself a signal is a child, and `sh` is where `kill` is always found.
#[cfg(feature = "failpoints")]
fn die() -> ! {
    let kill = format!("kill -9 {}", std::process::id());
    let sent = std::process::Command::new("sh")
        .arg("-c")
        .arg(kill)
        .status();
    if sent.is_err() {
        std::process::abort();
    }
    loop {
        std::thread::park();
    }
}
