//! Where a server listens.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use crate::identity::ListenerError;

/// How far the HTTP port is from the gRPC port (contract).
const HTTP_PORT_DISTANCE: u16 = 100;

/// Where a server listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listen {
    /// gRPC.
    pub grpc: SocketAddr,
    /// Health, readiness and metrics.
    pub http: HttpListen,
}

/// Where health, readiness and metrics are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpListen {
    /// Nowhere.
    Off,
    /// There.
    At(SocketAddr),
}

/// A text that is neither `off` nor an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is no address; write ADDRESS:PORT, for example 127.0.0.1:7520, or off")]
pub struct HttpListenError {
    /// The text as given.
    pub given: String,
}

impl Listen {
    /// gRPC at `grpc`, and HTTP where it is asked for or at the default beside it.
    pub fn new(grpc: SocketAddr, http: Option<HttpListen>) -> Self {
        let http = http.unwrap_or_else(|| HttpListen::At(http_listen_default(grpc)));
        Self { grpc, http }
    }

    /// Checks that the addresses suit the way callers prove who they are.
    pub(crate) fn check(self, open: bool) -> Result<(), ListenerError> {
        crate::identity::check_open(self.grpc, open)?;
        match self.http {
            HttpListen::Off => Ok(()),
            HttpListen::At(address) => crate::identity::check_open(address, open),
        }
    }
}

impl FromStr for HttpListen {
    type Err = HttpListenError;

    fn from_str(text: &str) -> Result<Self, HttpListenError> {
        if text == "off" {
            return Ok(Self::Off);
        }
        text.parse().map(Self::At).map_err(|_| HttpListenError {
            given: text.to_owned(),
        })
    }
}

impl fmt::Display for HttpListen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => formatter.write_str("off"),
            Self::At(address) => address.fmt(formatter),
        }
    }
}

/// The HTTP address beside a gRPC one: the port 100 above; port 0 stays free to choose, and so does
/// one that would be above the last.
///
/// Source: contract, Binaries.
pub fn http_listen_default(grpc: SocketAddr) -> SocketAddr {
    let port = match grpc.port() {
        0 => 0,
        port => port.checked_add(HTTP_PORT_DISTANCE).unwrap_or(0),
    };
    SocketAddr::new(grpc.ip(), port)
}
