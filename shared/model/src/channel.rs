//! Outside channels: routes, chat types, and the rule that names a row's channel.

use serde::{Deserialize, Serialize};

use crate::key::SessionKind;

/// The channel of sessions that belong to no outside channel (cron, hook, node).
pub const INTERNAL: &str = "internal";

/// The channel of a session about which nothing is known.
pub const UNKNOWN: &str = "unknown";

/// Where a message goes, or came from: one whole address, never merged with another (D32).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Route {
    /// Channel name, for example `discord`; lower case, never empty.
    pub channel: String,
    /// Recipient within the channel, for example `group:42`; never empty.
    pub to: String,
    /// The account of ours that speaks, where a channel has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    /// The thread within the recipient, where the channel has threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
}

/// What kind of chat a session belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatType {
    /// One person.
    Direct,
    /// A group.
    Group,
    /// A room open to many.
    Channel,
}

impl ChatType {
    /// The lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Group => "group",
            Self::Channel => "channel",
        }
    }

    /// Reads the word; `dm` is an older name of `direct`.
    pub fn parse(word: &str) -> Option<Self> {
        match word.trim().to_ascii_lowercase().as_str() {
            "direct" | "dm" => Some(Self::Direct),
            "group" => Some(Self::Group),
            "channel" => Some(Self::Channel),
            _ => None,
        }
    }
}

/// The channel a listing row shows.
///
/// Cron, hook and node sessions are `internal`; otherwise the first of: the stored channel, the
/// origin's provider, the channel last used, the channel in a group key; otherwise `unknown`.
///
/// Source: reg:K33, reg:K34.
pub fn row_channel<'a>(
    kind: SessionKind,
    stored: Option<&'a str>,
    origin_provider: Option<&'a str>,
    last: Option<&'a str>,
    from_key: Option<&'a str>,
) -> &'a str {
    match kind {
        SessionKind::Cron | SessionKind::Hook | SessionKind::Node => INTERNAL,
        SessionKind::Main | SessionKind::Group | SessionKind::Other => {
            [stored, origin_provider, last, from_key]
                .into_iter()
                .flatten()
                .map(str::trim)
                .find(|channel| !channel.is_empty())
                .unwrap_or(UNKNOWN)
        },
    }
}
