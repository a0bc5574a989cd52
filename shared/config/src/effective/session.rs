//! Section `session`.

use confab_model::key::Scope;
use confab_policy::send_policy::{SendPolicy, SendPolicyReach, SendRule};
use serde_json::{Map, Value, json};

use super::Report;
use crate::settings::{MaintenanceSettings, ResetRule, ResetSettings, SessionSettings};

/// Units in which a duration can be written, with their milliseconds, the longest first.
const TIMES: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1000),
    ("ms", 1),
];

pub(super) fn tell(report: &mut Report<'_>, session: &SessionSettings) {
    let scope = match session.scope {
        Scope::PerSender => "per-sender",
        Scope::Global => "global",
    };
    report.put("session.scope", scope);
    report.put(
        "session.agentToAgent.maxPingPongTurns",
        session.max_ping_pong_turns,
    );
    report.put("session.agentToAgent.maxHops", session.max_hops);
    tell_send_policy(report, session.send_policy.as_ref());
    tell_resets(report, &session.reset);
    tell_maintenance(report, &session.maintenance);
}

/// Without a policy everything is allowed, as with an empty one (reg:P2).
fn tell_send_policy(report: &mut Report<'_>, policy: Option<&SendPolicy>) {
    let reach = match policy.map(|policy| policy.applies_to) {
        Some(SendPolicyReach::All) | None => "all",
        Some(SendPolicyReach::Delivery) => "delivery",
    };
    let default = policy.map_or("allow", |policy| policy.default.as_str());
    let rules: Vec<Value> = policy.map_or_else(Vec::new, |policy| {
        policy.rules.iter().map(written_rule).collect()
    });
    report.put("session.sendPolicy.default", default);
    report.put("session.sendPolicy.appliesTo", reach);
    report.put("session.sendPolicy.rules", rules);
}

fn written_rule(rule: &SendRule) -> Value {
    let chat_type = rule.chat_type.map(|kind| kind.as_str().to_owned());
    let fields = [
        ("channel", &rule.channel),
        ("chatType", &chat_type),
        ("keyPrefix", &rule.key_prefix),
        ("rawKeyPrefix", &rule.raw_key_prefix),
    ];
    let matching: Map<String, Value> = fields
        .into_iter()
        .filter_map(|(name, text)| Some((name.to_owned(), text.clone()?.into())))
        .collect();
    json!({ "action": rule.action.as_str(), "match": matching })
}

fn tell_resets(report: &mut Report<'_>, resets: &ResetSettings) {
    for (name, value) in written_reset(&resets.default) {
        report.put(format!("session.reset.{name}"), value);
    }
    let kinds = [
        ("direct", &resets.by_type.direct),
        ("group", &resets.by_type.group),
        ("thread", &resets.by_type.thread),
    ];
    for (kind, rule) in kinds {
        if let Some(rule) = rule {
            tell_own_reset(report, &format!("session.resetByType.{kind}"), rule);
        }
    }
    for (channel, rule) in &resets.by_channel {
        tell_own_reset(report, &format!("session.resetByChannel.{channel}"), rule);
    }
}

/// The rule of a kind or a channel: that there is one is never a default.
fn tell_own_reset(report: &mut Report<'_>, path: &str, rule: &ResetRule) {
    let fields: Map<String, Value> = written_reset(rule)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    report.put_given(path.to_owned(), fields);
}

/// The keys of a reset as they would be written; without one, `none` alone.
fn written_reset(rule: &ResetRule) -> Vec<(&'static str, Value)> {
    let mode = match (rule.daily, rule.idle_minutes) {
        (Some(_), _) => "daily",
        (None, Some(_)) => "idle",
        (None, None) => "none",
    };
    let mut keys = vec![("mode", mode.into())];
    if let Some(daily) = rule.daily {
        keys.push(("atHour", daily.at_hour.into()));
        keys.push(("timeZone", daily.time_zone.to_string().into()));
    }
    keys.extend(
        rule.idle_minutes
            .map(|minutes| ("idleMinutes", minutes.into())),
    );
    keys
}

fn tell_maintenance(report: &mut Report<'_>, maintenance: &MaintenanceSettings) {
    report.put("session.maintenance.mode", maintenance.mode.as_str());
    let after = "session.maintenance.pruneAfter";
    match maintenance.prune_after_millis {
        // It may have been given as `pruneDays`.
        Some(millis) => report.put_given(after.to_owned(), written_duration(millis)),
        None => report.put(after, Value::Null),
    }
    report.put("session.maintenance.maxEntries", maintenance.max_entries);
}

/// In the longest unit that leaves no rest.
fn written_duration(millis: u64) -> String {
    let fitting = TIMES
        .into_iter()
        .find(|(_, unit)| millis.is_multiple_of(*unit));
    let (name, unit) = fitting.unwrap_or(("ms", 1));
    format!("{}{name}", millis / unit)
}
