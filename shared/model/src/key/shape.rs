//! What the rest of a key says about its session, read by position and never by searching words.

use super::{SessionKind, THREAD_MARKER};
use crate::channel::ChatType;

/// The family of spawned children.
pub(super) const SUBAGENT: &str = "subagent";
/// The family of scheduled jobs.
pub(super) const CRON: &str = "cron";
/// The family of external agent protocols.
pub(super) const ACP: &str = "acp";
/// The family of web hooks.
const HOOK: &str = "hook";
/// The family of devices.
const NODE: &str = "node";
/// A full key inside a rest, which is opaque.
const NESTED: &str = "agent";

/// What a key alone tells the send policy.
///
/// Source: reg:P7, reg:P8, reg:P9.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// What kind of chat it is, where the key says so.
    pub chat_type: Option<ChatType>,
    /// Its channel, where the key says so.
    pub channel: Option<String>,
    /// Whether the key can be read in several ways; then it says neither of the two.
    pub ambiguous: bool,
}

/// The kind of a session that is no main session.
///
/// Source: reg:K31.
pub(super) fn kind(rest: &str) -> SessionKind {
    let family = family(rest);
    match family {
        Some(SUBAGENT | ACP) => return SessionKind::Other,
        Some(CRON) => return SessionKind::Cron,
        Some(_) | None => {},
    }
    // A thread is of the kind of the session it branches off, and never a hook or a device.
    let base = rest.rsplit_once(THREAD_MARKER).map(|(base, _)| base);
    match (route(base.unwrap_or(rest)), family) {
        (Some(ChatType::Group | ChatType::Channel), _) => SessionKind::Group,
        (None, Some(HOOK)) if base.is_none() => SessionKind::Hook,
        (None, Some(NODE)) if base.is_none() => SessionKind::Node,
        (None, _) if base.is_none() && rest.starts_with("node-") => SessionKind::Node,
        (Some(ChatType::Direct) | None, _) => SessionKind::Other,
    }
}

/// The first part, where something follows it.
fn family(rest: &str) -> Option<&str> {
    rest.split_once(':').map(|(family, _)| family)
}

/// The chat type of a delivery route: `<channel>:<kind>:<id>`, `<channel>:<account>:direct:<id>`
/// or, without a channel, `direct:<id>`.
///
/// Source: reg:K19, reg:K22.
fn route(rest: &str) -> Option<ChatType> {
    let parts: Vec<&str> = rest.split(':').collect();
    match parts.as_slice() {
        [NESTED, ..] => None,
        [_, word, _, ..] if chat_type(word).is_some() => chat_type(word),
        [_, _, "direct" | "dm", _, ..] | ["direct" | "dm", _, ..] => Some(ChatType::Direct),
        _ => None,
    }
}

/// The chat type that a folded part names.
fn chat_type(part: &str) -> Option<ChatType> {
    match part {
        "direct" | "dm" => Some(ChatType::Direct),
        "group" => Some(ChatType::Group),
        "channel" => Some(ChatType::Channel),
        _ => None,
    }
}

/// The channel in `<channel>:group:<id>` or `<channel>:channel:<id>`.
pub(super) fn group_channel(rest: &str) -> Option<&str> {
    let mut parts = rest.split(':');
    let channel = parts.next().filter(|channel| *channel != NESTED)?;
    let word = parts.next()?;
    parts.next()?;
    matches!(word, "group" | "channel").then_some(channel)
}

/// Reads `rest` in every way that a chat's key is written; exactly one of them must fit.
pub(super) fn of(rest: &str) -> Shape {
    let parts: Vec<&str> = rest.split(':').collect();
    if let [SUBAGENT | ACP | CRON | HOOK | NODE | NESTED, _, ..] = parts.as_slice() {
        return Shape::default();
    }
    let readings = [
        unscoped(&parts),
        scoped(&parts),
        account_scoped(&parts),
        legacy(&parts),
    ];
    let mut fitting = readings.into_iter().flatten();
    match (fitting.next(), fitting.next()) {
        (Some((chat_type, channel)), None) => Shape {
            chat_type: Some(chat_type),
            channel: channel.map(str::to_owned),
            ambiguous: false,
        },
        (first, _) => Shape {
            ambiguous: first.is_some(),
            ..Shape::default()
        },
    }
}

/// What one way of reading a key finds: the chat type and, where the key names it, the channel.
type Reading<'a> = Option<(ChatType, Option<&'a str>)>;

/// `direct:<id>`.
fn unscoped<'a>(parts: &[&'a str]) -> Reading<'a> {
    match parts {
        ["direct" | "dm", _, ..] => Some((ChatType::Direct, None)),
        _ => None,
    }
}

/// `<channel>:<kind>:<id>`.
fn scoped<'a>(parts: &[&'a str]) -> Reading<'a> {
    match parts {
        [channel, word, _, ..] => chat_type(word).map(|chat_type| (chat_type, Some(*channel))),
        _ => None,
    }
}

/// `<channel>:<account>:<kind>:<id>`.
fn account_scoped<'a>(parts: &[&'a str]) -> Reading<'a> {
    match parts {
        [channel, _, word, _, ..] => chat_type(word).map(|chat_type| (chat_type, Some(*channel))),
        _ => None,
    }
}

/// The forms of older stores: `group:<id>`, `channel:<id>`, `<id>@g.us`,
/// `discord:guild-<id>:channel-<id>` and the same with an account behind `discord`.
fn legacy<'a>(parts: &[&'a str]) -> Reading<'a> {
    let chat_type = match parts {
        ["group", _, ..] => ChatType::Group,
        ["channel", _, ..] => ChatType::Channel,
        ["discord", guild, room] | ["discord", _, guild, room]
            if guild.starts_with("guild-") && room.starts_with("channel-") =>
        {
            ChatType::Channel
        },
        // Longer forms hold such an id too (`whatsapp:group:<id>@g.us`) and are read by position.
        [id] | ["whatsapp", id] if id.ends_with("@g.us") => ChatType::Group,
        _ => return None,
    };
    Some((chat_type, None))
}
