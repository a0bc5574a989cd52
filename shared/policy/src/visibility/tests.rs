use super::*;

fn key(raw: &str) -> SessionKey {
    SessionKey::parse(raw).unwrap()
}

fn rules(mode: VisibilityMode, enabled: bool, allow: &[&str]) -> VisibilityRules {
    let allow = allow
        .iter()
        .map(|raw| AgentPattern::parse(raw).unwrap())
        .collect();
    let agent_to_agent = AgentToAgent { enabled, allow };
    VisibilityRules {
        mode,
        agent_to_agent,
        ..VisibilityRules::default()
    }
}

/// Every rule set that differs in what it decides between agents `main` and `ops`.
fn all_rules() -> Vec<VisibilityRules> {
    let lists: [&[&str]; 5] = [&[], &["*"], &["main"], &["ops"], &["ma*", "ops"]];
    let mut all = Vec::new();
    for mode in VisibilityMode::ALL {
        for clamp in SandboxClamp::ALL {
            for (enabled, allow) in lists.iter().flat_map(|list| [(false, list), (true, list)]) {
                let open = rules(mode, enabled, allow);
                all.push(VisibilityRules {
                    sandbox_clamp: clamp,
                    ..open
                });
            }
        }
    }
    all
}

fn shows(reach: &Reach, own: bool, descends: bool, target: &SessionKey) -> bool {
    let agent = target.agent_id().unwrap();
    match reach {
        Reach::Everything => true,
        Reach::Session => own,
        Reach::Tree => own || descends,
        Reach::Agents {
            own: mine,
            others,
            descendants,
        } => {
            let other = match others {
                Others::None => false,
                Others::Matching(patterns) => patterns.iter().any(|one| one.matches(&agent)),
                Others::All => true,
            };
            agent == *mine || other || (*descendants && descends)
        },
    }
}

#[test]
fn a_list_shows_exactly_the_sessions_that_the_decision_allows() {
    let me = key("agent:main:main");
    let targets = ["agent:main:main", "agent:main:subagent:c", "agent:ops:main"].map(key);
    for rules in all_rules() {
        for (sandboxed, descends) in [(false, false), (false, true), (true, false), (true, true)] {
            let requester = Requester::Session {
                key: &me,
                sandboxed,
            };
            let reach = scope(&rules, requester);
            for target in &targets {
                let question = Question {
                    requester,
                    target,
                    descends_from_requester: descends && *target != me,
                    access: Access::List,
                };
                let allowed = decide(&rules, &question) == Decision::Allow;
                let shown = shows(
                    &reach,
                    *target == me,
                    question.descends_from_requester,
                    target,
                );
                assert_eq!(shown, allowed, "{rules:?} {question:?}");
            }
        }
    }
}

#[test]
fn a_sandbox_never_widens_what_is_configured() {
    for rules in all_rules() {
        assert_eq!(effective_mode(&rules, false), rules.mode);
        assert!(effective_mode(&rules, true) <= rules.mode, "{rules:?}");
    }
}

#[test]
fn a_refusal_names_every_unmet_gate_and_the_settings_behind_it() {
    let (me, other) = (key("agent:main:main"), key("agent:ops:main"));
    let rules = rules(VisibilityMode::Tree, false, &["x"]);
    let question = Question {
        requester: Requester::Session {
            key: &me,
            sandboxed: false,
        },
        target: &other,
        descends_from_requester: false,
        access: Access::List,
    };
    let Decision::Deny(refusal) = decide(&rules, &question) else {
        panic!("must be refused")
    };
    assert_eq!(
        refusal.message,
        "Session list visibility is restricted. Set tools.sessions.visibility=all and \
         tools.agentToAgent.enabled=true to allow cross-agent access; use \
         tools.agentToAgent.allow to restrict permitted agent pairs. \
         Unmet: visibility (tools.sessions.visibility is tree); \
         enabled (tools.agentToAgent.enabled is not true); \
         allow.requester (tools.agentToAgent.allow does not name the requester's agent main); \
         allow.target (tools.agentToAgent.allow does not name the target's agent ops)."
    );
}

#[test]
fn a_refusal_says_when_the_sandbox_narrowed_the_mode() {
    let (me, other) = (key("agent:main:main"), key("agent:main:discord:group:1"));
    let question = Question {
        requester: Requester::Session {
            key: &me,
            sandboxed: true,
        },
        target: &other,
        descends_from_requester: false,
        access: Access::Send,
    };
    let rules = rules(VisibilityMode::All, false, &[]);
    let Decision::Deny(refusal) = decide(&rules, &question) else {
        panic!("must be refused")
    };
    assert_eq!(
        refusal.message,
        "Session send visibility is restricted to the current session tree \
         (tools.sessions.visibility=tree). Unmet: visibility (tools.sessions.visibility is all, \
         narrowed to tree by the sandbox)."
    );
}

#[test]
fn the_session_that_serves_all_counts_as_agent_main() {
    let (global, main, ops) = (
        SessionKey::global(),
        key("agent:main:a"),
        key("agent:ops:a"),
    );
    let rules = rules(VisibilityMode::Agent, true, &[]);
    let decide_for = |target| {
        let requester = Requester::Session {
            key: &global,
            sandboxed: false,
        };
        let access = Access::History;
        decide(
            &rules,
            &Question {
                requester,
                target,
                descends_from_requester: false,
                access,
            },
        )
    };
    assert_eq!(decide_for(&main), Decision::Allow);
    assert_ne!(decide_for(&ops), Decision::Allow);
}

#[test]
fn a_pattern_fits_the_whole_of_an_agent_id_in_any_case() {
    let ops = AgentId::normalise("ops-team");
    for fitting in [
        "ops-team", "OPS-Team", "*", "**", "o*m", "ops*", "*team", "*s-t*", "o*-*m",
    ] {
        assert!(
            AgentPattern::parse(fitting).unwrap().matches(&ops),
            "{fitting}"
        );
    }
    for foreign in [
        "ops",
        "*ops",
        "team*",
        "ops-team*x",
        "o*x*m",
        "ops-team-*team",
        "s*s",
    ] {
        assert!(
            !AgentPattern::parse(foreign).unwrap().matches(&ops),
            "{foreign}"
        );
    }
}

#[test]
fn what_can_be_no_pattern_is_refused_with_a_hint() {
    for raw in ["", "  ", "op?", "a b", "agent:ops", "é", &"a".repeat(65)] {
        let error = AgentPattern::parse(raw).unwrap_err();
        assert_eq!(error.hint, AgentId::normalise(raw));
        assert!(
            !AgentPattern::unchecked(raw).matches(&AgentId::normalise("ops")),
            "{raw}"
        );
    }
    let error = AgentPattern::parse("My Agent!").unwrap_err();
    assert!(
        error.to_string().ends_with("for example `my-agent`"),
        "{error}"
    );
}

#[test]
fn the_words_of_modes_and_clamps_are_read_back() {
    for mode in VisibilityMode::ALL {
        assert_eq!(
            VisibilityMode::parse(&format!(" {} ", mode.as_str())),
            Some(mode)
        );
    }
    for clamp in SandboxClamp::ALL {
        assert_eq!(
            SandboxClamp::parse(&clamp.as_str().to_uppercase()),
            Some(clamp)
        );
    }
    assert_eq!(VisibilityMode::parse("everything"), None);
    assert_eq!(SandboxClamp::parse(""), None);
}
