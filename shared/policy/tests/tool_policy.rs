//! Every vector of `tool_policy.json`.

use std::collections::BTreeSet;

use confab_policy::tool_policy::{
    Profile, SessionTool, ToolList, ToolPattern, ToolRules, ToolSubject, decide, effective,
};
use confab_vectors::{Case, TOOL_POLICY};
use serde_json::Value;

fn patterns(list: &Value) -> Vec<ToolPattern> {
    let entries = list.as_array().into_iter().flatten();
    entries
        .map(|entry| entry.as_str().expect("a text"))
        .map(|entry| ToolPattern::parse(entry).expect("an entry"))
        .collect()
}

fn list(section: &Value) -> ToolList {
    ToolList {
        profile: section["profile"]
            .as_str()
            .map(|word| Profile::parse(word).expect(word)),
        allow: patterns(&section["allow"]),
        also_allow: patterns(&section["alsoAllow"]),
        deny: patterns(&section["deny"]),
    }
}

fn number(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok()
}

fn depth(input: &Value) -> u32 {
    let depth = input.pointer("/session/depth").and_then(number);
    depth.expect("a depth")
}

fn rules(input: &Value) -> ToolRules {
    ToolRules {
        global: list(&input["tools"]),
        subagents: input
            .pointer("/tools/subagents/tools")
            .map(list)
            .unwrap_or_default(),
        max_spawn_depth: number(&input["maxSpawnDepth"]).unwrap_or(1),
    }
}

/// Asks `question` about the session of a case.
fn with_subject<T>(input: &Value, question: impl FnOnce(&ToolSubject<'_>) -> T) -> T {
    let agent = input.get("agentTools").map(list);
    question(&ToolSubject {
        agent: agent.as_ref(),
        subagent_depth: depth(input),
        sandboxed: input.pointer("/session/sandboxed") == Some(&Value::Bool(true)),
        inherited_allow: &[],
        inherited_deny: &[],
    })
}

/// The tools that the vectors speak of, without those that this case leaves out.
fn compared<'a>(out: &Value, names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    let left_out = |name: &str| {
        let list = out["notCompared"].as_array();
        name == "sessions_search" || list.is_some_and(|list| list.iter().any(|one| one == name))
    };
    let names = names.into_iter().filter(|name| !left_out(name));
    names.map(str::to_owned).collect()
}

fn fault(case: &Case) -> Option<String> {
    let tools = with_subject(&case.given, |subject| {
        effective(&rules(&case.given), subject)
    });
    let pinned = case.out.get("tools").and_then(Value::as_array);
    let pinned = pinned.into_iter().flatten().filter_map(Value::as_str);
    let expected = compared(&case.out, pinned);
    let actual = compared(&case.out, tools.iter().map(|tool| tool.as_str()));
    (expected != actual).then(|| format!("{}: must be {expected:?}, is {actual:?}", case.id))
}

#[test]
fn every_case_of_the_tool_policy_vectors_holds() {
    let cases: Vec<Case> = TOOL_POLICY.cases().unwrap();
    let failures: Vec<String> = cases.iter().filter_map(fault).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_refusal_of_the_vectors_names_the_tool_and_says_what_to_change() {
    let cases: Vec<Case> = TOOL_POLICY.cases().unwrap();
    for case in cases {
        for tool in SessionTool::ALL {
            let decision = with_subject(&case.given, |subject| {
                decide(&rules(&case.given), subject, tool)
            });
            let named = decision.reason.contains(tool.as_str());
            assert!(named, "{}: {}", case.id, decision.reason);
            let remedied = !decision.remedy.is_empty();
            assert_eq!(remedied, !decision.allowed, "{}: {decision:?}", case.id);
        }
    }
}

#[test]
fn a_leaf_of_the_vectors_never_waits_for_children_d72() {
    let cases: Vec<Case> = TOOL_POLICY.cases().unwrap();
    let leaves = cases.iter().filter(|case| {
        let depth = depth(&case.given);
        depth > 0 && depth >= rules(&case.given).max_spawn_depth
    });
    let mut seen = 0;
    for case in leaves {
        let tools = with_subject(&case.given, |subject| {
            effective(&rules(&case.given), subject)
        });
        assert!(!tools.contains(&SessionTool::SessionsYield), "{}", case.id);
        seen += 1;
    }
    assert!(seen > 0, "no case is about a leaf");
}
