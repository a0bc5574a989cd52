//! Every vector of `send_policy.json`.

use confab_model::channel::ChatType;
use confab_model::key::SessionKey;
use confab_model::session::SendAction;
use confab_policy::send_policy::{
    DecidedBy, Decision, Facts, SendPolicy, SendPolicyReach, SendRule, decide,
};
use confab_vectors::{Case, SEND_POLICY};
use serde_json::{Value, json};

fn action(word: &Value) -> Option<SendAction> {
    word.as_str()
        .map(|word| SendAction::parse(word).expect(word))
}

fn chat_type(word: &Value) -> Option<ChatType> {
    word.as_str().map(|word| ChatType::parse(word).expect(word))
}

fn rule(rule: &Value) -> SendRule {
    let condition = &rule["match"];
    let folded = |name: &str| {
        let text = condition.get(name).and_then(Value::as_str);
        text.map(|text| text.trim().to_lowercase())
    };
    SendRule {
        action: action(&rule["action"]).expect("an action"),
        channel: folded("channel"),
        chat_type: chat_type(&condition["chatType"]),
        key_prefix: folded("keyPrefix"),
        raw_key_prefix: folded("rawKeyPrefix"),
    }
}

fn policy(config: &Value) -> Option<SendPolicy> {
    config.as_object()?;
    let rules = config["rules"].as_array();
    Some(SendPolicy {
        default: action(&config["default"]).unwrap_or(SendAction::Allow),
        applies_to: SendPolicyReach::All,
        rules: rules.into_iter().flatten().map(rule).collect(),
    })
}

fn decide_case(input: &Value) -> Decision {
    let entry = &input["entry"];
    let key = SessionKey::parse(input["key"].as_str().expect("a key")).expect("a key");
    let facts = Facts {
        key: &key,
        session_override: action(&entry["sendPolicy"]),
        channel: entry["channel"].as_str(),
        last_channel: entry["lastChannel"].as_str(),
        chat_type: chat_type(&entry["chatType"]),
        call_channel: input.pointer("/call/channel").and_then(Value::as_str),
    };
    decide(policy(&input["config"]).as_ref(), &facts)
}

fn by(decision: &Decision) -> Value {
    match decision.by {
        DecidedBy::Override => json!("override"),
        DecidedBy::Rule(index) => json!({ "rule": index }),
        DecidedBy::Default => json!("default"),
        DecidedBy::NotConfigured => json!("not configured"),
        DecidedBy::AmbiguousKey => json!("ambiguous key"),
    }
}

#[test]
fn every_case_of_the_send_policy_vectors_holds() {
    let cases: Vec<Case> = SEND_POLICY.cases().unwrap();
    let differences = |case: &Case| {
        let decision = decide_case(&case.given);
        case.differences(&json!({ "decision": decision.action.as_str(), "by": by(&decision) }))
    };
    let failures: Vec<String> = cases.iter().flat_map(differences).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_refusal_of_the_vectors_names_its_rule_and_what_would_change_it() {
    let cases: Vec<Case> = SEND_POLICY.cases().unwrap();
    for case in cases {
        let decision = decide_case(&case.given);
        let (reason, remedy) = (decision.reason(), decision.remedy());
        assert_eq!(
            remedy.is_empty(),
            decision.is_allowed(),
            "{}: {remedy}",
            case.id
        );
        if let DecidedBy::Rule(index) = decision.by {
            let name = format!("session.sendPolicy.rules[{index}]");
            assert!(reason.contains(&name), "{}: {reason}", case.id);
        }
    }
}
