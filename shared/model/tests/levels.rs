//! The words that tune a session: each reads its canonical form, its aliases, and nothing else.

use std::fmt::Debug;

use confab_model::session::SendAction;
use confab_model::session::levels::{
    ElevatedLevel, ExecAsk, ExecHost, ExecSecurity, FastMode, GroupActivation, ReasoningLevel,
    ResponseUsage, SpawnMode, SubagentControlScope, SubagentRole, ThinkingLevel, TraceLevel,
    VerboseLevel, Word,
};

/// The canonical words of a set, each of which must be read back in any case and among blanks.
fn words<T: Word + Debug + PartialEq>() -> Vec<&'static str> {
    for one in T::all() {
        assert_eq!(T::read(one.word()).as_ref(), Some(one));
        let shouted = format!(" {}\n", one.word().to_uppercase());
        assert_eq!(T::read(&shouted).as_ref(), Some(one), "{shouted:?}");
    }
    assert_eq!(T::read(""), None);
    assert_eq!(T::read("no such word"), None);
    T::all().iter().map(|one| one.word()).collect()
}

/// Source: reg:M7, reg:M18, reg:M19, reg:M20, reg:M21, reg:M23.
#[test]
fn each_set_has_its_canonical_words() {
    assert_eq!(
        words::<ThinkingLevel>(),
        [
            "off", "minimal", "low", "medium", "high", "xhigh", "adaptive", "max", "ultra"
        ]
    );
    assert_eq!(words::<VerboseLevel>(), ["on", "off", "full"]);
    assert_eq!(words::<TraceLevel>(), ["on", "off", "raw"]);
    assert_eq!(words::<ReasoningLevel>(), ["on", "off", "stream"]);
    assert_eq!(words::<ResponseUsage>(), ["off", "tokens", "full"]);
    assert_eq!(words::<ElevatedLevel>(), ["on", "off", "ask", "full"]);
    assert_eq!(words::<FastMode>(), ["true", "false", "auto"]);
    assert_eq!(words::<ExecHost>(), ["auto", "sandbox", "gateway", "node"]);
    assert_eq!(words::<ExecSecurity>(), ["deny", "allowlist", "full"]);
    assert_eq!(words::<ExecAsk>(), ["off", "on-miss", "always"]);
    assert_eq!(words::<GroupActivation>(), ["mention", "always"]);
    assert_eq!(words::<SubagentRole>(), ["orchestrator", "leaf"]);
    assert_eq!(words::<SubagentControlScope>(), ["children", "none"]);
    assert_eq!(words::<SpawnMode>(), ["run", "session"]);
    assert_eq!(words::<SendAction>(), ["allow", "deny"]);
}

/// Source: reg:M18.
#[test]
fn thinking_levels_have_aliases() {
    let cases = [
        (
            ThinkingLevel::Low,
            vec!["on", "enable", "enabled", "thinkhard", "think-hard"],
        ),
        (ThinkingLevel::Minimal, vec!["min", "think"]),
        (
            ThinkingLevel::Medium,
            vec!["mid", "med", "thinkharder", "harder"],
        ),
        (
            ThinkingLevel::High,
            vec!["ultrathink", "thinkhardest", "highest"],
        ),
        (ThinkingLevel::Adaptive, vec!["auto"]),
        (ThinkingLevel::Xhigh, vec!["extra-high", "x_high"]),
    ];
    for (level, aliases) in cases {
        for alias in aliases {
            assert_eq!(ThinkingLevel::parse(alias), Some(level), "{alias}");
        }
    }
}

/// Source: reg:M19, reg:M20.
#[test]
fn other_levels_have_aliases_too() {
    for (level, aliases) in [
        (VerboseLevel::Off, vec!["false", "no", "0"]),
        (VerboseLevel::Full, vec!["all", "everything"]),
        (VerboseLevel::On, vec!["minimal", "true", "yes", "1"]),
    ] {
        for alias in aliases {
            assert_eq!(VerboseLevel::parse(alias), Some(level), "{alias}");
        }
    }
    assert_eq!(ResponseUsage::parse("on"), Some(ResponseUsage::Tokens));
}
