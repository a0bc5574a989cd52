use proptest::prelude::*;

use super::*;

fn key(raw: &str) -> SessionKey {
    SessionKey::parse(raw).unwrap()
}

fn facts(key: &SessionKey) -> Facts<'_> {
    Facts {
        key,
        session_override: None,
        channel: None,
        last_channel: None,
        chat_type: None,
        call_channel: None,
    }
}

fn rule(action: SendAction) -> SendRule {
    SendRule {
        action,
        channel: None,
        chat_type: None,
        key_prefix: None,
        raw_key_prefix: None,
    }
}

fn policy(default: SendAction, rules: Vec<SendRule>) -> SendPolicy {
    SendPolicy {
        default,
        applies_to: SendPolicyReach::All,
        rules,
    }
}

fn deny_channel(channel: &str) -> SendPolicy {
    let channel = Some(channel.to_owned());
    let rule = SendRule {
        channel,
        ..rule(SendAction::Deny)
    };
    policy(SendAction::Allow, vec![rule])
}

#[test]
fn without_a_policy_everything_passes_reg_p2() {
    let key = key("agent:main:direct:group:x");
    let decision = decide(None, &facts(&key));
    assert_eq!(decision.by, DecidedBy::NotConfigured);
    assert!(decision.is_allowed());
    assert_eq!(
        decision.reason(),
        "session.sendPolicy is not configured, so every message passes."
    );
}

#[test]
fn a_blank_channel_is_no_channel_reg_p6() {
    let (key, policy) = (key("agent:main:discord:group:1"), deny_channel("discord"));
    let told = |call, stored, last| {
        let facts = Facts {
            call_channel: Some(call),
            channel: Some(stored),
            last_channel: Some(last),
            ..facts(&key)
        };
        decide(Some(&policy), &facts).action
    };
    assert_eq!(told(" ", "", "\t"), SendAction::Deny);
    assert_eq!(told("", " ", " Discord "), SendAction::Deny);
    assert_eq!(told("", " ", "slack"), SendAction::Allow);
    assert_eq!(told("", "slack", "discord"), SendAction::Allow);
}

#[test]
fn a_told_chat_type_beats_the_one_of_the_key_reg_p8() {
    let key = key("agent:main:discord:group:1");
    let rules = vec![SendRule {
        chat_type: Some(ChatType::Group),
        ..rule(SendAction::Deny)
    }];
    let policy = policy(SendAction::Allow, rules);
    let told = Facts {
        chat_type: Some(ChatType::Direct),
        ..facts(&key)
    };
    assert!(decide(Some(&policy), &told).is_allowed());
    assert!(!decide(Some(&policy), &facts(&key)).is_allowed());
}

#[test]
fn a_prefix_meets_a_peer_id_that_keeps_its_case_reg_p5() {
    let key = key("agent:main:signal:group:AbC=");
    for prefix in ["signal:group:abc", "agent:main:signal:group:abc="] {
        let rules = vec![SendRule {
            key_prefix: Some(prefix.to_owned()),
            ..rule(SendAction::Deny)
        }];
        let policy = policy(SendAction::Allow, rules);
        assert!(
            !decide(Some(&policy), &facts(&key)).is_allowed(),
            "{prefix}"
        );
    }
}

#[test]
fn a_refusal_by_a_rule_names_it_and_what_it_matched_d16() {
    let key = key("agent:main:discord:group:1");
    let narrow = SendRule {
        channel: Some("discord".to_owned()),
        chat_type: Some(ChatType::Group),
        key_prefix: Some("discord:".to_owned()),
        raw_key_prefix: Some("agent:main:".to_owned()),
        ..rule(SendAction::Deny)
    };
    let allow = rule(SendAction::Allow);
    let decision = decide(
        Some(&policy(SendAction::Allow, vec![allow.clone(), narrow])),
        &facts(&key),
    );
    assert_eq!(
        decision.reason(),
        "session.sendPolicy.rules[1] (deny) matches session agent:main:discord:group:1 by \
         channel=discord, chatType=group, keyPrefix=discord:, rawKeyPrefix=agent:main:."
    );
    assert_eq!(
        decision.remedy(),
        "To allow it, narrow or remove session.sendPolicy.rules[1], or set the sendPolicy of \
         session agent:main:discord:group:1 to allow; an allow rule does not outweigh a deny rule."
    );
    let decision = decide(Some(&policy(SendAction::Deny, vec![allow])), &facts(&key));
    assert_eq!(
        decision.reason(),
        "session.sendPolicy.rules[0] (allow) matches every session, \
         agent:main:discord:group:1 too."
    );
}

#[test]
fn a_refusal_without_a_rule_says_what_decided_d16() {
    let policy = policy(SendAction::Deny, Vec::new());
    let own = Some(SendAction::Deny);
    let cases = [
        (
            "agent:main:main",
            None,
            "No rule of session.sendPolicy matches session agent:main:main, and \
             session.sendPolicy.default is deny.",
            "session.sendPolicy.default to allow",
        ),
        (
            "agent:main:main",
            own,
            "The sendPolicy of session agent:main:main itself is deny.",
            "clear this override",
        ),
        (
            "agent:main:direct:group:x",
            None,
            "The key agent:main:direct:group:x can be read in several ways, and \
             session.sendPolicy denies every session whose chat it cannot tell for certain.",
            "a key that can be read in one way only",
        ),
    ];
    for (raw, session_override, reason, remedy) in cases {
        let key = key(raw);
        let facts = Facts {
            session_override,
            ..facts(&key)
        };
        let decision = decide(Some(&policy), &facts);
        assert_eq!(decision.reason(), reason);
        assert!(decision.remedy().contains(remedy), "{}", decision.remedy());
    }
}

#[test]
fn a_policy_about_deliveries_leaves_messages_alone_d17() {
    assert!(SendPolicyReach::All.covers_messages());
    assert!(!SendPolicyReach::Delivery.covers_messages());
}

/// A field of a rule that is absent, fits the session `agent:main:slack:group:c1` or does not.
fn field<T: Clone + std::fmt::Debug>(fit: T, other: T) -> impl Strategy<Value = Option<T>> {
    prop_oneof![Just(None), Just(Some(fit)), Just(Some(other)),]
}

fn words(fit: &str, other: &str) -> impl Strategy<Value = Option<String>> + use<> {
    field(fit.to_owned(), other.to_owned())
}

fn any_rule() -> impl Strategy<Value = SendRule> {
    (
        prop_oneof![Just(SendAction::Allow), Just(SendAction::Deny)],
        words("slack", "discord"),
        field(ChatType::Group, ChatType::Direct),
        words("slack:group:", "cron:"),
        words("agent:main:", "agent:ops:"),
    )
        .prop_map(
            |(action, channel, chat_type, key_prefix, raw_key_prefix)| SendRule {
                action,
                channel,
                chat_type,
                key_prefix,
                raw_key_prefix,
            },
        )
}

/// Whether a rule of [`any_rule`] names nothing but what that session has.
fn fits(rule: &SendRule) -> bool {
    rule.channel.as_deref() != Some("discord")
        && rule.chat_type != Some(ChatType::Direct)
        && rule.key_prefix.as_deref() != Some("cron:")
        && rule.raw_key_prefix.as_deref() != Some("agent:ops:")
}

proptest! {
    #[test]
    fn any_matching_deny_rule_denies_wherever_it_stands_reg_p3(
        rules in prop::collection::vec(any_rule(), 0..6),
        default in prop_oneof![Just(SendAction::Allow), Just(SendAction::Deny)],
    ) {
        let first = |action| rules.iter().position(|rule| rule.action == action && fits(rule));
        let expected = match (first(SendAction::Deny), first(SendAction::Allow)) {
            (Some(index), _) => (SendAction::Deny, DecidedBy::Rule(index)),
            (None, Some(index)) => (SendAction::Allow, DecidedBy::Rule(index)),
            (None, None) => (default, DecidedBy::Default),
        };
        let key = key("agent:main:slack:group:c1");
        let decision = decide(Some(&policy(default, rules.clone())), &facts(&key));
        prop_assert_eq!((decision.action, decision.by), expected);
    }
}
