//! The session tools, and the profiles that are named sets of them.

/// A tool by which an agent works with sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionTool {
    /// Lists sessions.
    SessionsList,
    /// Reads what was said in one.
    SessionsHistory,
    /// Searches what was said in all; where it is allowed is where reading is.
    SessionsSearch,
    /// Says something in one.
    SessionsSend,
    /// Starts a child.
    SessionsSpawn,
    /// Ends the turn and waits for children.
    SessionsYield,
    /// Looks after children.
    Subagents,
    /// Shows or changes one session's settings.
    SessionStatus,
    /// Lists the agents that a child may be of.
    AgentsList,
}

impl SessionTool {
    /// Every tool.
    pub const ALL: [Self; 9] = [
        Self::SessionsList,
        Self::SessionsHistory,
        Self::SessionsSearch,
        Self::SessionsSend,
        Self::SessionsSpawn,
        Self::SessionsYield,
        Self::Subagents,
        Self::SessionStatus,
        Self::AgentsList,
    ];

    /// The name by which agents and configurations call it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SessionsList => "sessions_list",
            Self::SessionsHistory => "sessions_history",
            Self::SessionsSearch => "sessions_search",
            Self::SessionsSend => "sessions_send",
            Self::SessionsSpawn => "sessions_spawn",
            Self::SessionsYield => "sessions_yield",
            Self::Subagents => "subagents",
            Self::SessionStatus => "session_status",
            Self::AgentsList => "agents_list",
        }
    }

    /// The tool of a name; blanks around it and case do not matter.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.trim();
        Self::ALL
            .into_iter()
            .find(|tool| tool.as_str().eq_ignore_ascii_case(name))
    }
}

/// A named set of tools, `tools.profile`.
///
/// Source: reg:A5, reg:A6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Its own settings alone.
    Minimal,
    /// Sessions and children.
    Coding,
    /// Sessions without children.
    Messaging,
    /// Everything, as without a profile.
    Full,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 4] = [Self::Minimal, Self::Coding, Self::Messaging, Self::Full];

    /// The word of the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Coding => "coding",
            Self::Messaging => "messaging",
            Self::Full => "full",
        }
    }

    /// Reads the word; blanks around it and case do not matter.
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.trim();
        Self::ALL
            .into_iter()
            .find(|profile| profile.as_str().eq_ignore_ascii_case(word))
    }

    /// Whether the set holds `tool`.
    ///
    /// Source: reg:A5, reg:A6.
    pub const fn holds(self, tool: SessionTool) -> bool {
        match tool {
            SessionTool::SessionStatus => true,
            SessionTool::SessionsList
            | SessionTool::SessionsHistory
            | SessionTool::SessionsSearch
            | SessionTool::SessionsSend => match self {
                Self::Coding | Self::Messaging | Self::Full => true,
                Self::Minimal => false,
            },
            SessionTool::SessionsSpawn | SessionTool::SessionsYield | SessionTool::Subagents => {
                match self {
                    Self::Coding | Self::Full => true,
                    Self::Minimal | Self::Messaging => false,
                }
            },
            SessionTool::AgentsList => match self {
                Self::Full => true,
                Self::Minimal | Self::Coding | Self::Messaging => false,
            },
        }
    }
}
