//! Every vector of `visibility.json`.

use confab_model::key::SessionKey;
use confab_policy::visibility::{
    Access, AgentPattern, AgentToAgent, Decision, Question, Requester, SandboxClamp,
    VisibilityMode, VisibilityRules, decide,
};
use confab_vectors::{Case, VISIBILITY};
use serde_json::Value;

fn rules(config: &Value) -> VisibilityRules {
    let word = |name: &str| config[name].as_str();
    let allow = config
        .pointer("/agentToAgent/allow")
        .and_then(Value::as_array);
    VisibilityRules {
        mode: word("visibility").map_or_else(VisibilityMode::default, |word| {
            VisibilityMode::parse(word).expect(word)
        }),
        sandbox_clamp: word("sandboxClamp").map_or_else(SandboxClamp::default, |word| {
            SandboxClamp::parse(word).expect(word)
        }),
        agent_to_agent: AgentToAgent {
            enabled: config.pointer("/agentToAgent/enabled") == Some(&Value::Bool(true)),
            allow: allow
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(AgentPattern::unchecked)
                .collect(),
        },
    }
}

/// Follows the stored lineage from `target` up; more steps than sessions would be a ring.
fn descends(sessions: &[Value], target: &str, ancestor: &str) -> bool {
    let parent_of = |key: &str| {
        let row = sessions.iter().find(|row| row["key"] == key)?;
        row["spawnedBy"].as_str().map(str::to_owned)
    };
    std::iter::successors(parent_of(target), |key| parent_of(key))
        .take(sessions.len())
        .any(|key| key == ancestor)
}

fn decide_case(input: &Value) -> Decision {
    let text = |name: &str| input[name].as_str().expect("a text");
    let target = SessionKey::parse(text("target")).expect("a key");
    let requester = SessionKey::parse(text("requester"));
    let sandboxed = input["sandboxed"] == true;
    let question = Question {
        requester: match &requester {
            Ok(key) => Requester::Session { key, sandboxed },
            Err(_) => Requester::Operator,
        },
        target: &target,
        descends_from_requester: descends(
            input["sessions"].as_array().expect("sessions"),
            text("target"),
            text("requester"),
        ),
        access: match text("action") {
            "send" => Access::Send,
            "status" => Access::Status,
            _ => Access::History,
        },
    };
    assert!(
        requester.is_ok() || text("requester") == "operator",
        "a key or `operator`"
    );
    decide(&rules(&input["config"]), &question)
}

fn faults(case: &Case) -> Vec<String> {
    let out = &case.out;
    let Decision::Deny(refusal) = decide_case(&case.given) else {
        let right = out["allow"] == true;
        return if right {
            Vec::new()
        } else {
            vec![format!("{}: must be refused", case.id)]
        };
    };
    let unmet: Vec<&str> = refusal.unmet.iter().map(|gate| gate.as_str()).collect();
    let start = out["startsWith"].as_str().unwrap_or_default();
    let checks = [
        (out["allow"] == false, "must be allowed"),
        (
            out["unmet"] == Value::from(unmet.clone()),
            "other gates are unmet",
        ),
        (
            refusal.message.starts_with(start),
            "the message begins otherwise",
        ),
        (
            unmet.iter().all(|gate| refusal.message.contains(gate)),
            "a gate is not named",
        ),
    ];
    let failed = checks.into_iter().filter(|(holds, _)| !holds);
    failed
        .map(|(_, fault)| format!("{}: {fault}: {refusal:?}", case.id))
        .collect()
}

#[test]
fn every_case_of_the_visibility_vectors_holds() {
    let cases: Vec<Case> = VISIBILITY.cases().unwrap();
    let failures: Vec<String> = cases.iter().flat_map(faults).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
