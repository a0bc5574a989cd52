//! Where outbound messages go.

use std::fmt;

/// Section `confab.deliveries`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliverySettings {
    /// Tried in order; the first whose channel matches takes the delivery.
    pub sinks: Vec<Sink>,
    /// Seconds before each further attempt; its length bounds the retries (D49, D71).
    pub retry_delays_seconds: Vec<u32>,
    /// How long an undelivered message is kept trying, in seconds (D78).
    pub max_age_seconds: u32,
}

/// One entry of `confab.deliveries.sinks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sink {
    /// The channels it takes.
    pub channel: ChannelPattern,
    /// What it does with them.
    pub kind: SinkKind,
}

/// A channel's name, or every channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelPattern {
    /// Written `*`.
    Any,
    /// One channel, lower case.
    Named(String),
}

impl ChannelPattern {
    /// Reads a pattern; a name is trimmed and folded to lower case. Absent when it is empty.
    pub(crate) fn parse(raw: &str) -> Option<Self> {
        match raw.trim() {
            "" => None,
            "*" => Some(Self::Any),
            name => Some(Self::Named(name.to_lowercase())),
        }
    }

    /// Whether `channel` is meant, whatever its case.
    pub fn matches(&self, channel: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Named(name) => *name == channel.trim().to_lowercase(),
        }
    }
}

impl fmt::Display for ChannelPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => formatter.write_str("*"),
            Self::Named(name) => formatter.write_str(name),
        }
    }
}

/// What a sink does with a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SinkKind {
    /// Hands it to the subscribers of the delivery stream.
    Stream,
    /// Counts it as delivered and forgets it (D71).
    Discard,
    /// Posts it.
    Webhook {
        /// The address.
        url: String,
        /// The environment variable that holds the signing secret; absent = unsigned.
        secret_env: Option<String>,
    },
}

impl SinkKind {
    /// The word of the file: `stream`, `discard` or `webhook`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Discard => "discard",
            Self::Webhook { .. } => "webhook",
        }
    }
}
