use proptest::prelude::*;
use proptest::sample::select;

use super::*;

fn pattern(raw: &str) -> ToolPattern {
    ToolPattern::parse(raw).unwrap()
}

fn patterns(raw: &[&str]) -> Vec<ToolPattern> {
    raw.iter().map(|one| pattern(one)).collect()
}

fn open() -> ToolRules {
    ToolRules {
        global: ToolList::default(),
        subagents: ToolList::default(),
        max_spawn_depth: 1,
    }
}

fn with_profile(profile: Profile) -> ToolRules {
    let mut rules = open();
    rules.global.profile = Some(profile);
    rules
}

fn root() -> ToolSubject<'static> {
    at_depth(0)
}

fn at_depth(subagent_depth: u32) -> ToolSubject<'static> {
    ToolSubject {
        agent: None,
        subagent_depth,
        sandboxed: false,
        inherited_allow: &[],
        inherited_deny: &[],
    }
}

/// Layer, reason and remedy of one decision.
fn told(
    rules: &ToolRules,
    subject: &ToolSubject<'_>,
    tool: SessionTool,
) -> (Layer, String, String) {
    let decision = decide(rules, subject, tool);
    (decision.layer, decision.reason, decision.remedy)
}

#[test]
fn tools_and_profiles_have_one_word_in_either_case() {
    for tool in SessionTool::ALL {
        let loud = format!(" {} ", tool.as_str().to_uppercase());
        assert_eq!(SessionTool::parse(&loud), Some(tool));
    }
    for profile in Profile::ALL {
        let loud = format!(" {} ", profile.as_str().to_uppercase());
        assert_eq!(Profile::parse(&loud), Some(profile));
    }
    assert_eq!(SessionTool::parse("exec"), None);
    assert_eq!(Profile::parse(""), None);
}

#[test]
fn an_entry_is_folded_and_older_names_become_current_ones_reg_a9() {
    let cases = [
        (" Sessions_SEND ", "sessions_send"),
        ("Bash", "exec"),
        ("apply-patch", "apply_patch"),
        ("GROUP:Sessions", "group:sessions"),
        ("group:fs", "group:fs"),
        ("server__tool.name:*", "server__tool.name:*"),
    ];
    for (raw, folded) in cases {
        assert_eq!(pattern(raw).as_str(), folded, "{raw}");
    }
}

#[test]
fn an_entry_that_names_no_tool_is_refused_with_what_may_stand_there() {
    for raw in [
        "",
        "  ",
        "two words",
        "tab\tbed",
        "group:",
        "group:*",
        "group: sessions",
    ] {
        let error = ToolPattern::parse(raw).unwrap_err();
        let start = format!("`{raw}` names no tool: write ");
        assert!(error.to_string().starts_with(&start), "{error}");
    }
}

#[test]
fn a_group_holds_its_own_tools_and_foreign_groups_none_of_ours_reg_a9() {
    let held = |raw: &str| {
        let group = pattern(raw);
        SessionTool::ALL
            .into_iter()
            .filter(|tool| group.matches(*tool))
            .count()
    };
    assert_eq!(held("group:openclaw"), 9);
    assert_eq!(held("group:sessions"), 8);
    assert_eq!(held("group:agents"), 1);
    assert!(pattern("group:agents").matches(SessionTool::AgentsList));
    assert_eq!(held("group:messaging"), 0);
    assert_eq!(held("group:plugins"), 0);
    assert_eq!(held("exec"), 0);
}

#[test]
fn searching_is_allowed_wherever_reading_is() {
    for profile in Profile::ALL {
        for (depth, sandboxed) in [(0, false), (0, true), (1, false), (1, true), (2, false)] {
            let mut rules = with_profile(profile);
            rules.max_spawn_depth = 2;
            let subject = ToolSubject {
                sandboxed,
                ..at_depth(depth)
            };
            let allowed = |tool| decide(&rules, &subject, tool).allowed;
            assert_eq!(
                allowed(SessionTool::SessionsSearch),
                allowed(SessionTool::SessionsHistory),
                "{profile:?}, depth {depth}, sandboxed {sandboxed}"
            );
        }
    }
}

#[test]
fn a_refusal_by_the_profile_names_it_and_the_profiles_that_hold_the_tool() {
    let tool = SessionTool::SessionsSpawn;
    let mut rules = with_profile(Profile::Messaging);
    assert_eq!(
        told(&rules, &root(), tool),
        (
            Layer::Profile,
            "The tool sessions_spawn is not available: refused by tools.profile=messaging."
                .to_owned(),
            "To allow it, set tools.profile to coding or full or add sessions_spawn to \
             tools.alsoAllow."
                .to_owned(),
        )
    );
    rules.global.allow = patterns(&["sessions_spawn"]);
    let (_, _, remedy) = told(&rules, &root(), tool);
    assert_eq!(remedy, "To allow it, set tools.profile to coding or full.");

    let own = ToolList {
        profile: Some(Profile::Minimal),
        ..ToolList::default()
    };
    let subject = ToolSubject {
        agent: Some(&own),
        ..root()
    };
    let (_, reason, remedy) = told(&open(), &subject, SessionTool::AgentsList);
    assert!(
        reason.contains("agents.list[].tools.profile=minimal"),
        "{reason}"
    );
    assert!(
        remedy.contains("agents_list to agents.list[].tools.alsoAllow"),
        "{remedy}"
    );
}

#[test]
fn a_refusal_names_every_layer_that_is_in_the_way() {
    let tool = SessionTool::AgentsList;
    let mut rules = with_profile(Profile::Coding);
    rules.global.deny = patterns(&["group:agents", "agents_*", "exec"]);
    rules.subagents.deny = patterns(&["agents_list"]);
    let own = ToolList {
        allow: patterns(&["sessions_*"]),
        ..ToolList::default()
    };
    let inherited = patterns(&["*_list"]);
    let subject = ToolSubject {
        agent: Some(&own),
        sandboxed: true,
        inherited_deny: &inherited,
        ..at_depth(1)
    };
    let (layer, reason, remedy) = told(&rules, &subject, tool);
    assert_eq!(layer, Layer::Profile);
    assert_eq!(
        reason,
        "The tool agents_list is not available: refused by tools.profile=coding; \
         and by tools.deny (group:agents, agents_*); \
         and by agents.list[].tools.allow, which does not name it; \
         and by the sandbox, whose tools are fixed; \
         and by tools.subagents.tools.deny (agents_list); \
         and by inheritedToolDeny of the session (*_list)."
    );
    for change in [
        "set tools.profile to full or add agents_list to tools.alsoAllow",
        "take group:agents, agents_* out of tools.deny",
        "add agents_list to agents.list[].tools.allow",
        "run the session outside a sandbox",
        "take agents_list out of tools.subagents.tools.deny",
        "take *_list out of inheritedToolDeny",
    ] {
        assert!(remedy.contains(change), "{remedy}");
    }
}

#[test]
fn a_refusal_of_a_child_names_its_depth_and_how_deep_children_may_be_reg_a13() {
    let mut rules = open();
    assert_eq!(
        told(&rules, &at_depth(1), SessionTool::SessionsSpawn),
        (
            Layer::Subagent,
            "The tool sessions_spawn is not available: refused by the subagent layer (depth 1 of \
             maxSpawnDepth 1, a leaf)."
                .to_owned(),
            "To allow it, raise agents.defaults.subagents.maxSpawnDepth above 1 or add \
             sessions_spawn by its full name to tools.subagents.tools.alsoAllow."
                .to_owned(),
        )
    );
    let (_, _, remedy) = told(&rules, &at_depth(1), SessionTool::SessionsSend);
    assert_eq!(
        remedy,
        "To allow it, add sessions_send by its full name to tools.subagents.tools.alsoAllow."
    );
    rules.max_spawn_depth = 5;
    let (_, _, remedy) = told(&rules, &at_depth(5), SessionTool::SessionsSpawn);
    assert!(!remedy.contains("raise"), "{remedy}");
}

#[test]
fn only_the_very_name_of_a_tool_lifts_what_children_lack_reg_a12() {
    let mut rules = open();
    rules.subagents.allow = patterns(&["sessions_*", "subagents"]);
    assert_eq!(effective(&rules, &at_depth(1)), [SessionTool::Subagents]);
    let (_, _, remedy) = told(&rules, &at_depth(1), SessionTool::SessionsSend);
    assert_eq!(
        remedy,
        "To allow it, add sessions_send by its full name to tools.subagents.tools.allow."
    );
    rules.max_spawn_depth = 2;
    let reason = told(&rules, &at_depth(1), SessionTool::SessionStatus).1;
    assert!(reason.contains("depth 1 of maxSpawnDepth 2)"), "{reason}");
    rules.subagents.allow = patterns(&["subagents"]);
    let reason = told(&rules, &at_depth(1), SessionTool::SessionsList).1;
    assert!(
        reason.contains("tools.subagents.tools.allow, which does not name it"),
        "{reason}"
    );
}

#[test]
fn what_a_parent_left_to_its_child_is_all_there_is() {
    let left = patterns(&["sessions_list", "sessions_spawn"]);
    let taken = patterns(&["sessions_spawn"]);
    let subject = ToolSubject {
        inherited_allow: &left,
        inherited_deny: &taken,
        ..at_depth(1)
    };
    let mut rules = open();
    rules.max_spawn_depth = 2;
    assert_eq!(effective(&rules, &subject), [SessionTool::SessionsList]);
    let (layer, reason, _) = told(&rules, &subject, SessionTool::SessionsHistory);
    assert_eq!(layer, Layer::Inherited);
    assert!(
        reason.contains("inheritedToolAllow of the session"),
        "{reason}"
    );
}

#[test]
fn a_permission_names_the_layer_that_granted_last() {
    let tool = SessionTool::SessionsList;
    let unrestricted = (
        Layer::Unrestricted,
        "The tool sessions_list is available: no list of tools restricts it.".to_owned(),
        String::new(),
    );
    assert_eq!(told(&open(), &root(), tool), unrestricted);
    let mut rules = with_profile(Profile::Minimal);
    rules.global.also_allow = patterns(&["sessions_l*"]);
    let (layer, reason, _) = told(&rules, &root(), tool);
    assert_eq!(layer, Layer::Profile);
    assert!(
        reason.contains("granted by tools.alsoAllow (sessions_l*)"),
        "{reason}"
    );
    rules.max_spawn_depth = 2;
    assert_eq!(decide(&rules, &at_depth(1), tool).layer, Layer::Subagent);
}

fn any_entries() -> impl Strategy<Value = Vec<ToolPattern>> {
    let texts = vec![
        "*",
        "sessions_*",
        "*_list",
        "*s*",
        "group:sessions",
        "group:agents",
        "exec",
        "sessions_list",
        "sessions_send",
        "sessions_spawn",
        "subagents",
        "agents_list",
    ];
    prop::collection::vec(select(texts).prop_map(pattern), 0..4)
}

fn any_list() -> impl Strategy<Value = ToolList> {
    let profile = prop::option::of(select(Profile::ALL.to_vec()));
    (profile, any_entries(), any_entries(), any_entries()).prop_map(
        |(profile, allow, also_allow, deny)| ToolList {
            profile,
            allow,
            also_allow,
            deny,
        },
    )
}

fn any_rules() -> impl Strategy<Value = ToolRules> {
    (any_list(), any_list(), 1..=5_u32).prop_map(|(global, subagents, max_spawn_depth)| ToolRules {
        global,
        subagents,
        max_spawn_depth,
    })
}

proptest! {
    #[test]
    fn a_denied_tool_is_in_no_list_whatever_else_is_said_reg_a9(
        rules in any_rules(),
        agent in any_list(),
        depth in 0..=5_u32,
        inherited in (any_entries(), any_entries()),
    ) {
        let subject = ToolSubject {
            agent: Some(&agent),
            inherited_allow: &inherited.0,
            inherited_deny: &inherited.1,
            ..at_depth(depth)
        };
        let mut denials = vec![&rules.global.deny, &agent.deny, &inherited.1];
        if depth > 0 {
            denials.push(&rules.subagents.deny);
        }
        for tool in effective(&rules, &subject) {
            let denied = denials.iter().any(|list| list.iter().any(|entry| entry.matches(tool)));
            prop_assert!(!denied, "{}", tool.as_str());
        }
    }

    #[test]
    fn a_later_layer_only_takes_away_reg_a8(
        rules in any_rules(),
        depth in 0..=5_u32,
        sandboxed in any::<bool>(),
        inherited in (any_entries(), any_entries()),
    ) {
        let before = effective(&rules, &root());
        let subject = ToolSubject {
            sandboxed,
            inherited_allow: &inherited.0,
            inherited_deny: &inherited.1,
            ..at_depth(depth)
        };
        for tool in effective(&rules, &subject) {
            prop_assert!(before.contains(&tool), "{}", tool.as_str());
        }
    }
}
