//! Section `session`.

use confab_model::channel::ChatType;
use confab_model::key::Scope;
use confab_model::limits::{HOPS_DEFAULT, HOPS_MAX, PING_PONG_TURNS_DEFAULT, PING_PONG_TURNS_MAX};
use serde_json::Value;

use super::findings::Class;
use super::section::{Section, any_text};
use crate::settings::{SendAction, SendPolicy, SendPolicyReach, SendRule, SessionSettings};

/// The text of reg:G2 about durations.
const DURATION: &str = "a duration (use ms, s, m, h, d; a bare number is days)";
/// The text of reg:G2 about sizes.
const SIZE: &str = "a size (use b, kb, mb, gb, tb) or false";

const ACTIONS: [(&str, SendAction); 2] = [("allow", SendAction::Allow), ("deny", SendAction::Deny)];

pub(super) fn read(section: &mut Section<'_, '_>) -> SessionSettings {
    let scopes = [("per-sender", Scope::PerSender), ("global", Scope::Global)];
    let scope = section.word("scope", &scopes).unwrap_or_default();
    let (max_ping_pong_turns, max_hops) = section.strict_object("agentToAgent", |section| {
        let turns = section.integer("maxPingPongTurns", 0..=PING_PONG_TURNS_MAX);
        let hops = section.integer("maxHops", 1..=HOPS_MAX);
        (
            turns.unwrap_or(PING_PONG_TURNS_DEFAULT),
            hops.unwrap_or(HOPS_DEFAULT),
        )
    });
    let has_policy = section.has("sendPolicy");
    let send_policy = section.strict_object("sendPolicy", read_send_policy);
    section.not_yet("sendPolicy", "enforce");
    read_direct_chats(section);
    read_resets(section);
    read_upkeep(section);
    SessionSettings {
        scope,
        max_ping_pong_turns,
        max_hops,
        send_policy: has_policy.then_some(send_policy),
    }
}

fn read_send_policy(section: &mut Section<'_, '_>) -> SendPolicy {
    let reaches = [
        ("all", SendPolicyReach::All),
        ("delivery", SendPolicyReach::Delivery),
    ];
    SendPolicy {
        default: section
            .folded_word("default", &ACTIONS)
            .unwrap_or(SendAction::Allow),
        applies_to: section
            .folded_word("appliesTo", &reaches)
            .unwrap_or(SendPolicyReach::All),
        rules: section.objects("rules", read_send_rule).unwrap_or_default(),
    }
}

fn read_send_rule(section: &mut Section<'_, '_>) -> SendRule {
    section.require("action", "allow, deny");
    let action = section
        .folded_word("action", &ACTIONS)
        .unwrap_or(SendAction::Deny);
    let chat_types = [
        ("direct", ChatType::Direct),
        ("group", ChatType::Group),
        ("channel", ChatType::Channel),
        ("dm", ChatType::Direct),
    ];
    section.object("match", |section| SendRule {
        action,
        channel: folded_text(section, "channel"),
        chat_type: section.folded_word("chatType", &chat_types),
        key_prefix: folded_text(section, "keyPrefix"),
        raw_key_prefix: folded_text(section, "rawKeyPrefix"),
    })
}

/// A text trimmed and folded; empty is absent (reg:P1).
fn folded_text(section: &mut Section<'_, '_>, name: &'static str) -> Option<String> {
    let text = section.any_text(name)?.trim().to_lowercase();
    (!text.is_empty()).then_some(text)
}

fn read_direct_chats(section: &mut Section<'_, '_>) {
    let scopes = [
        "main",
        "per-peer",
        "per-channel-peer",
        "per-account-channel-peer",
    ];
    section.word("dmScope", &scopes.map(|scope| (scope, ())));
    section.not_yet("dmScope", "act on");
    if section.text("mainKey").is_some_and(|key| key != "main") {
        section.ignored("mainKey", "the main session is always `main`");
    }
    section.value("identityLinks", "an object of lists of texts", |links| {
        let links = links.as_object().ok_or(Class::Type)?;
        if links.values().all(is_list_of_texts) {
            Ok(())
        } else {
            Err(Class::Type)
        }
    });
    section.not_yet("identityLinks", "act on");
    section.text("store");
    section.ignored(
        "store",
        "confab keeps sessions in its own database, see confab.storage",
    );
}

fn is_list_of_texts(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|entries| entries.iter().all(Value::is_string))
}

fn read_resets(section: &mut Section<'_, '_>) {
    section.object("reset", read_reset);
    section.not_yet("reset", "act on");
    section.object("resetByType", |section| {
        for kind in ["direct", "dm", "group", "thread"] {
            section.object(kind, read_reset);
        }
    });
    section.not_yet("resetByType", "act on");
    section.named_objects("resetByChannel", read_reset);
    section.not_yet("resetByChannel", "act on");
}

fn read_reset(section: &mut Section<'_, '_>) {
    section.word("mode", &["daily", "idle", "none"].map(|mode| (mode, ())));
    section.integer("atHour", 0..=23);
    section.integer("idleMinutes", 1..=u32::MAX);
    section.text("timeZone");
}

fn read_upkeep(section: &mut Section<'_, '_>) {
    section.object("threadBindings", |section| {
        section.boolean("enabled");
        section.value("idleHours", "a number from 0", not_negative);
        section.value("maxAgeHours", "a number from 0", not_negative);
        section.boolean("spawnSessions");
        section.word(
            "defaultSpawnContext",
            &["isolated", "fork"].map(|context| (context, ())),
        );
    });
    section.not_yet("threadBindings", "act on");
    section.object("maintenance", read_maintenance);
    section.not_yet("maintenance", "act on");
    section.object("writeLock", |section| {
        for name in ["acquireTimeoutMs", "staleMs", "maxHoldMs"] {
            section.integer(name, 1..=u32::MAX);
        }
    });
    section.ignored("writeLock", "confab's database needs no lock files");
    section.integer("parentForkMaxTokens", 0..=u32::MAX);
    section.not_yet("parentForkMaxTokens", "act on");
}

fn read_maintenance(section: &mut Section<'_, '_>) {
    section.word("mode", &["enforce", "warn"].map(|mode| (mode, ())));
    section.value("pruneAfter", DURATION, duration);
    section.integer("pruneDays", 1..=u32::MAX);
    section.integer("maxEntries", 1..=u32::MAX);
    section.value("resetArchiveRetention", "a duration or false", |value| {
        unless_false(value, duration)
    });
    section.value("maxDiskBytes", SIZE, |value| unless_false(value, size));
    section.value("highWaterBytes", SIZE, |value| unless_false(value, size));
}

fn not_negative(value: &Value) -> Result<(), Class> {
    let number = value.as_f64().ok_or(Class::Type)?;
    if number >= 0.0 {
        Ok(())
    } else {
        Err(Class::Range)
    }
}

fn unless_false(
    value: &Value,
    read: impl FnOnce(&Value) -> Result<(), Class>,
) -> Result<(), Class> {
    if value.as_bool() == Some(false) {
        Ok(())
    } else {
        read(value)
    }
}

/// Checks a duration; longer units come first, so that `ms` is not read as `s`.
fn duration(value: &Value) -> Result<(), Class> {
    quantity(value, &["ms", "s", "m", "h", "d"])
}

fn size(value: &Value) -> Result<(), Class> {
    quantity(value, &["kb", "mb", "gb", "tb", "b"])
}

/// A number from 0, alone or as a text with one of `units`.
fn quantity(value: &Value, units: &[&str]) -> Result<(), Class> {
    if value.is_number() {
        return not_negative(value);
    }
    let text = any_text(value)?.trim().to_ascii_lowercase();
    let amount = units
        .iter()
        .find_map(|unit| text.strip_suffix(unit))
        .unwrap_or(&text)
        .trim_end();
    let digits = amount.bytes().any(|byte| byte.is_ascii_digit())
        && amount
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
    if digits && amount.parse::<f64>().is_ok() {
        Ok(())
    } else {
        Err(Class::Value)
    }
}
