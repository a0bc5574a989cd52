//! Connections over the network.

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tonic::transport::{Channel, Endpoint};
use tower::ServiceExt as _;
use tower::util::BoxCloneSyncService;

use super::Transport;

/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// How often a connection is checked, used or not, so that a dead peer is found.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(20);
/// How long the check may take.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// A text that is no address of a service.
#[derive(Debug, thiserror::Error)]
#[error("{url:?} is no address of a service; write it as http://HOST:PORT")]
pub struct AddressError {
    /// The text as given.
    pub url: String,
}

/// A service that does not answer.
#[derive(Debug, thiserror::Error)]
pub enum Unreachable {
    /// Told to whoever chose the address.
    #[error("cannot reach {url}; is the service running there?")]
    Address {
        /// Its address.
        url: String,
        /// What the transport says.
        source: tonic::transport::Error,
    },
    /// Told to callers of another service, who must not learn the addresses behind it.
    #[error("{name} cannot be reached; try again later")]
    Neighbour {
        /// What it is, for example `the registry`.
        name: &'static str,
        /// What the transport says.
        source: tonic::transport::Error,
    },
}

/// The service at `url` (`http://HOST:PORT`). The connection is made with the first call, and made
/// again whenever it broke. A call that fails names the address.
///
/// # Errors
/// When `url` is no such address.
pub fn connect(url: &str) -> Result<Transport, AddressError> {
    let channel = channel(url)?;
    let url = url.to_owned();
    let told = channel.map_err(move |source| Unreachable::Address { url, source }.into());
    Ok(BoxCloneSyncService::new(told))
}

/// The same for a service that another one calls: a call that fails says `name` (for example
/// `the registry`) instead of the address, which is logged once for each time that it goes missing.
///
/// # Errors
/// When `url` is no address of a service.
pub fn connect_to(name: &'static str, url: &str) -> Result<Transport, AddressError> {
    let channel = channel(url)?;
    let url = url.to_owned();
    let outage = Arc::new(Outage::default());
    let told = channel.map_result(move |answered| match answered {
        Ok(response) => {
            outage.end();
            Ok(response)
        },
        Err(source) => {
            if outage.begin() {
                tracing::warn!(url, error = source.source(), "{name} cannot be reached");
            }
            Err(Unreachable::Neighbour { name, source }.into())
        },
    });
    Ok(BoxCloneSyncService::new(told))
}

fn channel(url: &str) -> Result<Channel, AddressError> {
    let refused = || AddressError {
        url: url.to_owned(),
    };
    let endpoint = Endpoint::from_shared(url.to_owned()).map_err(|_| refused())?;
    let uri = endpoint.uri();
    let plain = uri.scheme_str() == Some("http") && uri.host().is_some() && uri.path() == "/";
    if !plain {
        return Err(refused());
    }
    Ok(endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .keep_alive_while_idle(true)
        .connect_lazy())
}

/// Whether a service is missing; told once, however many calls miss it.
#[derive(Debug, Default)]
struct Outage(AtomicBool);

impl Outage {
    /// Whether this is the first failure since the last answer.
    fn begin(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }

    fn end(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_begins_once_and_anew_after_an_answer() {
        let outage = Outage::default();
        assert_eq!([outage.begin(), outage.begin()], [true, false]);
        outage.end();
        assert!(outage.begin());
    }
}
