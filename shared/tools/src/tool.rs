//! The tools: their names, what a model is told of them, what they take.

use serde_json::Value;

use crate::{agents, history, list, schema, search, send, status};

/// One of the session tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// `sessions_list`.
    List,
    /// `sessions_history`.
    History,
    /// `sessions_search`.
    Search,
    /// `sessions_send`.
    Send,
    /// `session_status`.
    Status,
    /// `agents_list`.
    Agents,
}

/// What a model is told of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name, for example `sessions_send`.
    pub name: &'static str,
    /// One paragraph for the model that decides whether to call it.
    pub description: &'static str,
    /// JSON Schema (draft 2020-12) of its arguments: an object.
    pub input_schema: Value,
}

impl Tool {
    /// All of them, in the order of the documentation.
    pub(crate) const ALL: [Self; 6] = [
        Self::List,
        Self::History,
        Self::Search,
        Self::Send,
        Self::Status,
        Self::Agents,
    ];

    /// Its name.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::List => "sessions_list",
            Self::History => "sessions_history",
            Self::Search => "sessions_search",
            Self::Send => "sessions_send",
            Self::Status => "session_status",
            Self::Agents => "agents_list",
        }
    }

    /// The tool of this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.as_str() == name)
    }

    /// What a model is told of it.
    pub(crate) fn spec(self) -> ToolSpec {
        ToolSpec {
            name: self.as_str(),
            description: self.description(),
            input_schema: match self {
                Self::List => schema::of::<list::Input>(),
                Self::History => schema::of::<history::Input>(),
                Self::Search => schema::of::<search::Input>(),
                Self::Send => schema::of::<send::Input>(),
                Self::Status => schema::of::<status::Input>(),
                Self::Agents => schema::of::<agents::Input>(),
            },
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::List => {
                "List the sessions you may see: pinned ones first, then the most recently active. \
                 Use it to find the sessionKey of a conversation before you read it with \
                 sessions_history or write to it with sessions_send. Filter by kind, agent, label, \
                 text or recent activity; ask for last messages, titles or previews only when you \
                 need them. When hasMore is true, call again with nextPageToken as pageToken. A \
                 visibility block in the result means that other sessions may exist outside of \
                 what you may see."
            },
            Self::History => {
                "Read the messages of one session you may see, oldest first. Without offset you \
                 get the newest messages. To walk back through a long session, start with offset \
                 0, then pass nextOffset as offset together with the snapshot of the first page \
                 until hasMore is false. Long texts are cut and large pages lose their oldest \
                 messages: truncated, contentTruncated and droppedMessages tell. Tool calls and \
                 their results are left out unless includeTools is true."
            },
            Self::Search => {
                "Find messages by their words in all sessions you may see, best match first. A \
                 message must hold every word of the query; words in double quotes must stand in a \
                 row, and a * behind a word makes it the beginning of one. Everything else in the \
                 query is ignored: there are no operators. Tool calls, their results and masked \
                 secrets are not searched. To read on at a hit, call sessions_history with its \
                 sessionId as sessionKey, offset 0 and its seq as snapshot: that page ends with \
                 the hit."
            },
            Self::Send => {
                "Send a message to another session and wait for its answer. Name the session by \
                 sessionKey (from sessions_list), by label, or by agentId for that agent's main \
                 session. status is ok with the reply, no_reply when the other agent ended without \
                 text, timeout when it is still at work after timeoutSeconds (the work goes on: do \
                 not send again), accepted when timeoutSeconds is 0, forbidden or error otherwise. \
                 Afterwards both agents may exchange a few more turns, and the other one may \
                 announce the outcome in its own channel; delivery tells what became of that."
            },
            Self::Status => {
                "Show how one session you may see stands: a card in statusText with its model, \
                 tokens, last run and settings, and apart from one another where it comes from \
                 (origin), where your present run speaks (active, your own session only) and where \
                 its answers go (deliveryContext). Without sessionKey it is your own session. When \
                 you are told that a session changed, give the stateVersion you know as \
                 changesSince: stateChanges lists what happened since then; when historyGap is \
                 true, events are missing, so read the session anew with sessions_history; when \
                 truncated is true, call again with the last sequence. With model the session gets \
                 a model of its own from its next run on, and default takes it away."
            },
            Self::Agents => {
                "List the agents whose ids you may name where an agentId is asked for when a \
                 session is spawned: yourself first, if allowed, then the others by id. allowAny is \
                 true when every configured agent is allowed. It takes no arguments."
            },
        }
    }
}

#[cfg(test)]
mod tests;
