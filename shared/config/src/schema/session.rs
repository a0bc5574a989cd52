//! Section `session`.

mod maintenance;
mod reset;
mod send_policy;

use confab_model::key::Scope;
use confab_model::limits::{HOPS_DEFAULT, HOPS_MAX, PING_PONG_TURNS_DEFAULT, PING_PONG_TURNS_MAX};
use serde_json::Value;

use super::findings::Class;
use super::quantity::not_negative;
use super::section::Section;
use crate::settings::SessionSettings;

/// Why there is nothing that makes a key out of a person.
const WHOLE_KEYS: &str = "callers bring whole session keys";

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
    let send_policy = section.strict_object("sendPolicy", send_policy::read);
    read_direct_chats(section);
    let reset = reset::read(section);
    read_threads(section);
    SessionSettings {
        scope,
        max_ping_pong_turns,
        max_hops,
        send_policy,
        reset,
        maintenance: section.object("maintenance", maintenance::read),
    }
}

fn read_direct_chats(section: &mut Section<'_, '_>) {
    let scopes = [
        "main",
        "per-peer",
        "per-channel-peer",
        "per-account-channel-peer",
    ];
    section.word("dmScope", &scopes.map(|scope| (scope, ())));
    section.ignored("dmScope", WHOLE_KEYS);
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
    section.ignored("identityLinks", WHOLE_KEYS);
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

fn read_threads(section: &mut Section<'_, '_>) {
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
    section.object("writeLock", |section| {
        for name in ["acquireTimeoutMs", "staleMs", "maxHoldMs"] {
            section.integer(name, 1..=u32::MAX);
        }
    });
    section.ignored("writeLock", "confab's database needs no lock files");
    section.integer("parentForkMaxTokens", 0..=u32::MAX);
    section.not_yet("parentForkMaxTokens", "act on");
}
