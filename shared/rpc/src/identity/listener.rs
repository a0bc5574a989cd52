//! Open mode stays on the machine.

use std::net::SocketAddr;

use confab_config::settings::Auth;

/// A listener that would let anybody in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "refusing to listen on {address} in auth.mode open, where callers name themselves; listen on \
     127.0.0.1, or set confab.auth.mode to jwt with at least one key"
)]
pub struct ListenerError {
    /// The address.
    pub address: SocketAddr,
}

/// Checks that a listener suits the way callers prove who they are.
///
/// # Errors
/// When others than this machine could reach it and name themselves.
///
/// Source: contract, Binaries.
pub fn check_listener(address: SocketAddr, auth: &Auth) -> Result<(), ListenerError> {
    check(address, matches!(auth, Auth::Open))
}

pub(crate) fn check(address: SocketAddr, open: bool) -> Result<(), ListenerError> {
    let loopback = address.ip().to_canonical().is_loopback();
    if open && !loopback {
        Err(ListenerError { address })
    } else {
        Ok(())
    }
}
