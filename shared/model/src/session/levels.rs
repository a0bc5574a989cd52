//! The words that tune a session, and the words that say how it was spawned.
//!
//! Each type reads its canonical words and their aliases; blanks around a word and case do not
//! matter. What is stored and shown is the canonical word.

use super::SendAction;

/// A closed set of words, for code that treats all such sets alike.
pub trait Word: Copy + Sized + 'static {
    /// All of them, in the order in which they are named to people.
    fn all() -> &'static [Self];

    /// The canonical word.
    fn word(self) -> &'static str;

    /// What a word or one of its aliases means; blanks around it and case do not matter.
    fn read(word: &str) -> Option<Self>;
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident = $word:literal $(| $alias:literal)*),+ $(,)?
    })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant),+
        }

        impl $name {
            /// All of them, in the order in which they are named to people.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The canonical word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }

            /// What a word or an alias means; blanks around it and case do not matter.
            pub fn parse(word: &str) -> Option<Self> {
                match word.trim().to_lowercase().as_str() {
                    $($word $(| $alias)* => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl Word for $name {
            fn all() -> &'static [Self] {
                Self::ALL
            }

            fn word(self) -> &'static str {
                self.as_str()
            }

            fn read(word: &str) -> Option<Self> {
                Self::parse(word)
            }
        }
    )+};
}

words! {
    /// How hard the model thinks. `think-hard` is low, although it sounds like high.
    ///
    /// Source: reg:M18.
    ThinkingLevel {
        /// Not at all.
        Off = "off",
        /// As little as the model can.
        Minimal = "minimal" | "min" | "think",
        /// A little.
        Low = "low" | "on" | "enable" | "enabled" | "thinkhard" | "think-hard" | "think_hard",
        /// In between.
        Medium = "medium" | "mid" | "med" | "thinkharder" | "think-harder" | "harder",
        /// Hard.
        High = "high" | "ultrathink" | "thinkhardest" | "think-hardest" | "highest",
        /// Harder.
        Xhigh = "xhigh" | "extra-high" | "extrahigh" | "extra_high" | "x_high" | "x-high",
        /// As hard as the model thinks fit.
        Adaptive = "adaptive" | "auto",
        /// As hard as it can.
        Max = "max",
        /// Beyond that, where a model has it.
        Ultra = "ultra",
    }

    /// How much of its work a session tells.
    ///
    /// Source: reg:M19.
    VerboseLevel {
        /// The steps.
        On = "on" | "minimal" | "true" | "yes" | "1",
        /// Nothing.
        Off = "off" | "false" | "no" | "0",
        /// The steps and what they gave.
        Full = "full" | "all" | "everything",
    }

    /// How much of its work a session traces.
    ///
    /// Source: reg:M20.
    TraceLevel {
        /// A summary.
        On = "on",
        /// Nothing.
        Off = "off",
        /// As it was.
        Raw = "raw",
    }

    /// Whether the model's reasoning is shown.
    ///
    /// Source: reg:M20.
    ReasoningLevel {
        /// With the reply.
        On = "on",
        /// Never.
        Off = "off",
        /// While it arises.
        Stream = "stream",
    }

    /// How usage is reported with a reply.
    ///
    /// Source: reg:M20.
    ResponseUsage {
        /// Not at all.
        Off = "off",
        /// Tokens.
        Tokens = "tokens" | "on",
        /// Tokens and cost.
        Full = "full",
    }

    /// Whether commands run with more rights than usual.
    ///
    /// Source: reg:M20.
    ElevatedLevel {
        /// They do.
        On = "on",
        /// They do not.
        Off = "off",
        /// After a person's consent.
        Ask = "ask",
        /// They do, and nothing is asked.
        Full = "full",
    }

    /// Whether speed goes before thoroughness.
    ///
    /// Source: reg:M20.
    FastMode {
        /// It does.
        On = "true",
        /// It does not.
        Off = "false",
        /// As the agent thinks fit.
        Auto = "auto",
    }

    /// Where commands run.
    ///
    /// Source: reg:M21.
    ExecHost {
        /// As the configuration says.
        Auto = "auto",
        /// In the sandbox.
        Sandbox = "sandbox",
        /// On the machine of the service.
        Gateway = "gateway",
        /// On a device.
        Node = "node",
    }

    /// Which commands may run.
    ///
    /// Source: reg:M21.
    ExecSecurity {
        /// None.
        Deny = "deny",
        /// Those on the list.
        Allowlist = "allowlist",
        /// All.
        Full = "full",
    }

    /// When a command needs a person's consent.
    ///
    /// Source: reg:M21.
    ExecAsk {
        /// Never.
        Off = "off",
        /// When it is not on the list.
        OnMiss = "on-miss",
        /// Each time.
        Always = "always",
    }

    /// When a group message reaches the agent.
    ///
    /// Source: reg:M23.
    GroupActivation {
        /// When it mentions the agent.
        Mention = "mention",
        /// Each time.
        Always = "always",
    }

    /// A session's part among spawned sessions.
    ///
    /// Source: reg:M7.
    SubagentRole {
        /// It may spawn children of its own.
        Orchestrator = "orchestrator",
        /// It does its task alone.
        Leaf = "leaf",
    }

    /// What a spawned session may control.
    ///
    /// Source: reg:M7.
    SubagentControlScope {
        /// Its own children.
        Children = "children",
        /// Nothing.
        None = "none",
    }

    /// What a session was spawned for.
    SpawnMode {
        /// One task.
        Run = "run",
        /// A conversation.
        Session = "session",
    }
}

impl Word for SendAction {
    fn all() -> &'static [Self] {
        &Self::ALL
    }

    fn word(self) -> &'static str {
        self.as_str()
    }

    fn read(word: &str) -> Option<Self> {
        Self::parse(word)
    }
}
