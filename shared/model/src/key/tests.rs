use super::*;

fn rules(scope: Scope) -> KeyRules {
    let [main, ops] = ["main", "ops"].map(AgentId::normalise);
    KeyRules {
        agents: vec![main.clone(), ops],
        default_agent: main,
        scope,
    }
}

fn key(raw: &str) -> SessionKey {
    SessionKey::parse(raw).unwrap()
}

fn canonical(raw: &str, rules: &KeyRules, agent: Option<&str>) -> Result<String, KeyError> {
    let agent = agent.map(AgentId::normalise);
    rules
        .canonicalise(raw, None, agent.as_ref())
        .map(String::from)
}

#[test]
fn only_a_full_key_or_global_is_parsed() {
    assert_eq!(key(" AGENT:Ops:CRON:Job ").as_str(), "agent:ops:cron:job");
    assert_eq!(key("Global"), SessionKey::global());
    let not_full =
        |raw: &str| SessionKey::parse(raw) == Err(KeyError::NotFull { given: raw.into() });
    assert!(
        ["main", "current", "cron:x", "agent"]
            .into_iter()
            .all(not_full)
    );
    assert_eq!(
        SessionKey::parse("Unknown"),
        Err(KeyError::Reserved { word: "unknown" })
    );
}

#[test]
fn every_fault_of_a_key_has_its_own_error() {
    let given = String::from;
    let faults = [
        ("  ", KeyError::Empty),
        (
            "agent:a:b\u{7}",
            KeyError::ControlCharacter { character: '\u{7}' },
        ),
        (
            "agent:a:b::c",
            KeyError::EmptyPart {
                given: given("agent:a:b::c"),
            },
        ),
        (
            "agent:a: :c",
            KeyError::EmptyPart {
                given: given("agent:a: :c"),
            },
        ),
        (
            "agent:a:b:",
            KeyError::EmptyPart {
                given: given("agent:a:b:"),
            },
        ),
        (
            "agent:a",
            KeyError::Incomplete {
                given: given("agent:a"),
            },
        ),
        (
            "agent:é:b",
            KeyError::Agent {
                given: given("agent:é:b"),
                agent: given("é"),
            },
        ),
        (
            "agent:-a:b",
            KeyError::Agent {
                given: given("agent:-a:b"),
                agent: given("-a"),
            },
        ),
    ];
    for (raw, error) in faults {
        assert_eq!(SessionKey::parse(raw), Err(error), "{raw:?}");
    }
}

#[test]
fn a_key_that_folding_or_its_agent_makes_too_long_is_refused() {
    let grown = format!("agent:a:{}", "İ".repeat(252));
    assert_eq!(grown.len(), KEY_BYTES_MAX);
    assert_eq!(
        SessionKey::parse(&grown),
        Err(KeyError::TooLong { bytes: 764 })
    );
    let bare = "x".repeat(KEY_BYTES_MAX);
    let error = canonical(&bare, &rules(Scope::PerSender), None);
    assert_eq!(
        error,
        Err(KeyError::TooLong {
            bytes: KEY_BYTES_MAX + "agent:main:".len()
        })
    );
}

#[test]
fn matrix_ids_keep_their_case_but_for_the_last_thread_marker() {
    let parsed = key("agent:a:MATRIX:Group:!Ab:THREAD:Srv:Thread:$Ev");
    assert_eq!(
        parsed.as_str(),
        "agent:a:matrix:group:!Ab:THREAD:Srv:thread:$Ev"
    );
    let thread = parsed.thread().unwrap();
    assert_eq!(thread.thread_id, "$Ev");
    assert_eq!(thread.parent, key("agent:a:matrix:group:!Ab:THREAD:Srv"));
}

#[test]
fn threads_need_a_session_before_the_marker() {
    assert_eq!(key("agent:a:thread:5").thread(), None);
    assert_eq!(
        key("agent:a:x:thread:5").thread().unwrap().parent,
        key("agent:a:x")
    );
    assert_eq!(SessionKey::global().thread(), None);
}

#[test]
fn a_short_form_belongs_to_the_agent_given_or_to_the_default_agent() {
    let rules = rules(Scope::PerSender);
    assert_eq!(
        canonical("Hook:X", &rules, None),
        Ok("agent:main:hook:x".into())
    );
    assert_eq!(
        canonical("hook:x", &rules, Some("ops")),
        Ok("agent:ops:hook:x".into())
    );
    assert_eq!(
        canonical("main", &rules, None),
        Ok("agent:main:main".into())
    );
    let requester = key("agent:ops:x");
    let main = rules.canonicalise("main", Some(&requester), None);
    assert_eq!(main, Ok(key("agent:ops:main")));
}

#[test]
fn an_agent_beside_a_full_key_must_be_the_agent_of_the_key() {
    let rules = rules(Scope::PerSender);
    assert_eq!(
        canonical("agent:ops:x", &rules, Some("OPS")),
        Ok("agent:ops:x".into())
    );
    let error = canonical("agent:ops:x", &rules, Some("main")).unwrap_err();
    let agent_id = AgentId::normalise("main");
    assert_eq!(
        error,
        KeyError::OtherAgent {
            key: "agent:ops:x".into(),
            agent_id
        }
    );
    let text = error.to_string();
    assert!(
        text.contains("`agent:ops:x`") && text.contains("agentId `main`"),
        "{text}"
    );
}

#[test]
fn an_unconfigured_agent_main_lends_its_main_session_to_the_default_agent() {
    let ops = AgentId::normalise("ops");
    let rules = KeyRules {
        agents: vec![ops.clone()],
        default_agent: ops,
        scope: Scope::PerSender,
    };
    assert_eq!(
        canonical("agent:main:main", &rules, None),
        Ok("agent:ops:main".into())
    );
    assert_eq!(
        canonical("agent:main:main", &rules, Some("ops")),
        Ok("agent:ops:main".into())
    );
    assert_eq!(
        canonical("agent:main:other", &rules, None),
        Ok("agent:main:other".into())
    );
    assert!(rules.knows(&rules.default_agent) && !rules.knows(&AgentId::normalise("main")));
}

#[test]
fn reserved_words_are_refused_unless_one_session_serves_all() {
    let (each, one) = (rules(Scope::PerSender), rules(Scope::Global));
    assert_eq!(
        canonical("global", &each, None),
        Err(KeyError::Reserved { word: "global" })
    );
    assert_eq!(canonical("global", &one, None), Ok("global".into()));
    for rules in [&each, &one] {
        let error = canonical("UNKNOWN", rules, None).unwrap_err();
        assert_eq!(error, KeyError::Reserved { word: "unknown" });
        assert!(
            error.to_string().contains("`unknown` is reserved"),
            "{error}"
        );
    }
}

#[test]
fn under_a_global_scope_every_main_session_is_the_one_session() {
    let rules = rules(Scope::Global);
    for (raw, agent) in [
        ("main", None),
        ("main", Some("ops")),
        ("agent:ops:main", Some("ops")),
    ] {
        assert_eq!(canonical(raw, &rules, agent), Ok("global".into()), "{raw}");
    }
    assert!(canonical("agent:ops:main", &rules, Some("main")).is_err());
    let global = SessionKey::global();
    assert_eq!(
        (global.kind(), global.rest(), global.agent_id()),
        (SessionKind::Main, "global", None)
    );
    assert_eq!(global.display_for(None), "main");
}

#[test]
fn a_main_session_is_shown_as_main_to_its_own_agent_alone() {
    let main = key("agent:ops:main");
    assert_eq!(main.display_for(Some(&key("agent:ops:subagent:1"))), "main");
    assert_eq!(
        main.display_for(Some(&key("agent:main:main"))),
        "agent:ops:main"
    );
    assert_eq!(main.display_for(None), "agent:ops:main");
    assert!(!key("agent:ops:global").is_main());
}

#[test]
fn kinds_follow_the_position_of_the_words() {
    let kinds = [
        ("subagent:1:group:2", SessionKind::Other),
        ("acp:x", SessionKind::Other),
        ("cron:job:run:1", SessionKind::Cron),
        ("cron", SessionKind::Other),
        ("node-a", SessionKind::Node),
        ("node:a", SessionKind::Node),
        ("node", SessionKind::Other),
        ("hook:a:thread:1", SessionKind::Other),
        ("discord:channel:1:thread:2", SessionKind::Group),
        ("slack:work:dm:1", SessionKind::Other),
        ("slack:work:x:group", SessionKind::Other),
        ("agent:group:x", SessionKind::Other),
    ];
    for (rest, kind) in kinds {
        assert_eq!(key(&format!("agent:a:{rest}")).kind(), kind, "{rest}");
    }
    for kind in SessionKind::ALL {
        assert_eq!(
            SessionKind::parse(&format!(" {} ", kind.as_str().to_uppercase())),
            Some(kind)
        );
    }
    assert_eq!(SessionKind::parse("session"), None);
}

#[test]
fn a_run_of_a_job_is_told_from_the_job() {
    let is_run = |rest: &str| key(&format!("agent:a:{rest}")).is_cron_run();
    assert!(is_run("cron:nightly:run:7"));
    let others = [
        "cron:run:7",
        "cron:nightly:run",
        "cron:a:b:run:7",
        "x:nightly:run:7",
    ];
    assert!(!others.into_iter().any(is_run));
}

#[test]
fn spawns_are_counted_by_whole_parts() {
    let depth = |rest: &str| key(&format!("agent:a:{rest}")).depth();
    assert_eq!(
        (
            depth("subagent:1:subagent:2"),
            depth("x-subagent:1"),
            depth("x:subagent")
        ),
        (2, 0, 0)
    );
    assert!(!key("agent:a:subagent").is_subagent());
}

#[test]
fn the_shape_of_a_chat_is_read_by_position() {
    use crate::channel::ChatType::{Channel, Direct, Group};
    let shapes = [
        ("direct:5", Some(Direct), None),
        ("discord:acct:direct:5", Some(Direct), Some("discord")),
        ("whatsapp:group:1@g.us", Some(Group), Some("whatsapp")),
        ("1-2@g.us", Some(Group), None),
        ("discord:acct:guild-1:channel-2", Some(Channel), None),
        ("telegram:group:-1:topic:9", Some(Group), Some("telegram")),
        ("hook:group:1", None, None),
        ("subagent:1:group:2", None, None),
        ("main", None, None),
    ];
    for (rest, chat_type, channel) in shapes {
        let expected = Shape {
            chat_type,
            channel: channel.map(str::to_owned),
            ambiguous: false,
        };
        assert_eq!(key(&format!("agent:a:{rest}")).shape(), expected, "{rest}");
    }
    for rest in [
        "direct:group:x",
        "a:group:direct:b",
        "channel:group:7",
        "group:direct:5",
    ] {
        let expected = Shape {
            ambiguous: true,
            ..Shape::default()
        };
        assert_eq!(key(&format!("agent:a:{rest}")).shape(), expected, "{rest}");
    }
}

#[test]
fn references_that_look_like_keys_are_keys_and_all_others_are_looked_up() {
    let rules = rules(Scope::PerSender);
    let parse = |raw: &str| Reference::parse(raw, &rules, None, None);
    assert_eq!(parse(" Current "), Ok(Reference::Current));
    for (raw, canonical) in [
        ("main", "agent:main:main"),
        ("AGENT:ops:x", "agent:ops:x"),
        ("node-kitchen", "agent:main:node-kitchen"),
        ("discord:group:1", "agent:main:discord:group:1"),
    ] {
        assert_eq!(parse(raw), Ok(Reference::Key(key(canonical))), "{raw}");
    }
    let uuid = "0B6B2C1E-7b1d-4a55-9a5d-2f5f1b0c9d01";
    for raw in [uuid, "dashboard:abc", "cli", "agent"] {
        let key = key(&format!("agent:main:{raw}"));
        let session_id = raw.to_owned();
        assert_eq!(
            parse(raw),
            Ok(Reference::Unsure {
                key: Some(key),
                session_id
            }),
            "{raw}"
        );
    }
    let unsure = Reference::Unsure {
        key: None,
        session_id: "a::b".to_owned(),
    };
    assert_eq!(parse("a::b"), Ok(unsure));
}

#[test]
fn references_that_can_be_neither_key_nor_session_id_are_refused() {
    let rules = rules(Scope::PerSender);
    let parse = |raw: &str| Reference::parse(raw, &rules, None, None);
    assert_eq!(parse(" \t"), Err(KeyError::Empty));
    assert_eq!(parse("global"), Err(KeyError::Reserved { word: "global" }));
    assert_eq!(
        parse("a\u{0}b"),
        Err(KeyError::ControlCharacter { character: '\u{0}' })
    );
    for raw in ["agent:", "agent:x", "agent:x::y", "cron:", ":group::"] {
        assert!(parse(raw).is_err(), "{raw}");
    }
}
