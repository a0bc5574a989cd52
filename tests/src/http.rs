//! The least of HTTP: one GET over a plain connection.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::Context as _;

/// Longest time to wait for a byte of the answer, in seconds.
const ANSWER_SECONDS_MAX: u64 = 10;

/// Gets `path` from `address` (`HOST:PORT`) and returns the status and the body.
///
/// # Errors
/// When there is no connection or no answer.
pub fn get(address: &str, path: &str) -> anyhow::Result<(u16, String)> {
    let mut stream = TcpStream::connect(address).with_context(|| format!("nobody at {address}"))?;
    stream.set_read_timeout(Some(Duration::from_secs(ANSWER_SECONDS_MAX)))?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let status = answer
        .split_whitespace()
        .nth(1)
        .context("no status line")?
        .parse()?;
    let (_, body) = answer
        .split_once("\r\n\r\n")
        .context("no end of the headers")?;
    Ok((status, body.to_owned()))
}
