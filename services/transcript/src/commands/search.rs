//! Searching, and what a search asks the gate meanwhile.

use confab_model::id::{AgentId, SessionId};
use confab_model::limits::{
    AGENT_ID_CHARS_MAX, MESSAGE_SEARCH_BYTES_MAX, MESSAGE_SEARCH_LIMIT_DEFAULT,
    MESSAGE_SEARCH_LIMIT_MAX, ROUTE_FIELD_BYTES_MAX,
};
use confab_model::session::Session;
use confab_proto::transcript::v1 as proto;
use confab_rpc::error::{RpcError, Violations};
use confab_rpc::gate::{About, Action, Governed, Target};
use confab_rpc::wire;
use confab_rpc::wire::limits::Limit;

use crate::search::query::Query;

/// Searches messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchMessages {
    /// What for.
    pub query: Query,
    /// Hits on the page.
    pub limit: Limit,
    /// Only in this session.
    pub target: Option<Target>,
    /// Only in sessions of this agent.
    pub agent_id: Option<AgentId>,
}

impl SearchMessages {
    /// Reads the request.
    ///
    /// # Errors
    /// With every field that is missing or malformed.
    ///
    /// Source: D52, D54, D77.
    pub fn parse(wire: proto::SearchMessagesRequest) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        let query = query_from_wire(&wire.query, &mut violations);
        let limit = wire::limits::limit_from_wire(
            wire.limit,
            MESSAGE_SEARCH_LIMIT_DEFAULT,
            MESSAGE_SEARCH_LIMIT_MAX,
            "limit",
            &mut violations,
        );
        let agent_id = agent_from_wire(wire.agent_id, &mut violations);
        let mut target = Target::optional(wire.target);
        // Beside a session, the agent is one more thing that must be true of it.
        if let (Some(target), Some(agent_id)) = (&mut target, &agent_id) {
            target.agent_id.get_or_insert_with(|| agent_id.to_string());
        }
        violations.finish()?;
        let Some(query) = query else {
            return Err(RpcError::invalid_field("query", NO_WORD));
        };
        Ok(Self {
            query,
            limit,
            target,
            agent_id,
        })
    }

    /// The one generation that is meant, where the session was named by its sessionId.
    pub fn generation(&self, session: &Session) -> Option<SessionId> {
        let named = self.target.as_ref()?.session_key.as_deref()?;
        (named.trim() == session.session_id.as_str()).then(|| session.session_id.clone())
    }
}

const NO_WORD: &str = "query holds no word to search for: give one or more words of letters or \
                       digits, \"words in a row\" in quotes, or the beginning of a word with a * \
                       behind it";

fn query_from_wire(text: &str, violations: &mut Violations) -> Option<Query> {
    let bytes = text.len();
    if bytes > MESSAGE_SEARCH_BYTES_MAX {
        let fault = format!(
            "query has {bytes} bytes; at most {MESSAGE_SEARCH_BYTES_MAX} are allowed: shorten it"
        );
        violations.push("query", fault);
        return None;
    }
    let query = Query::parse(text);
    if query.is_none() {
        violations.push("query", NO_WORD);
    }
    query
}

fn agent_from_wire(text: Option<String>, violations: &mut Violations) -> Option<AgentId> {
    let max = ROUTE_FIELD_BYTES_MAX;
    let text = wire::fields::optional_from_wire(text, max, "agentId", violations)?;
    let characters = text.trim().chars().count();
    if characters > AGENT_ID_CHARS_MAX {
        let fault = format!(
            "agentId has {characters} characters: at most {AGENT_ID_CHARS_MAX} are allowed"
        );
        violations.push("agentId", fault);
        return None;
    }
    Some(AgentId::normalise(&text))
}

impl Governed for SearchMessages {
    fn action(&self) -> Action {
        Action::Search
    }

    fn about(&self) -> About {
        self.target.clone().map_or(About::Scope, About::One)
    }
}

/// Asks for the main session of an agent none of whose sessions is within reach: the refusal tells
/// why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchAgent {
    /// The agent.
    pub agent_id: AgentId,
}

impl Governed for SearchAgent {
    fn action(&self) -> Action {
        Action::Search
    }

    fn about(&self) -> About {
        About::One(Target {
            agent_id: Some(self.agent_id.to_string()),
            ..Target::default()
        })
    }
}

/// Asks for the sessions in which something was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeeHits {
    /// Their generations.
    pub session_ids: Vec<SessionId>,
}

impl Governed for SeeHits {
    fn action(&self) -> Action {
        Action::Search
    }

    fn about(&self) -> About {
        let targets = self.session_ids.iter();
        About::Many(
            targets
                .map(|session_id| Target::reference(session_id.as_str()))
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(query: &str) -> proto::SearchMessagesRequest {
        proto::SearchMessagesRequest {
            query: query.to_owned(),
            ..Default::default()
        }
    }

    fn faults(wire: proto::SearchMessagesRequest) -> Vec<String> {
        let refusal = SearchMessages::parse(wire).unwrap_err();
        let fields = refusal.violations.into_iter();
        fields.map(|violation| violation.field).collect()
    }

    #[test]
    fn a_query_without_a_word_is_refused_with_what_to_give_d77() {
        for query in ["", "  ", "***", "\"\"", "() - ^", "\u{0}"] {
            let refusal = SearchMessages::parse(request(query)).unwrap_err();
            assert_eq!(refusal.message, NO_WORD, "{query}");
        }
        assert!(SearchMessages::parse(request(&"a".repeat(512))).is_ok());
        assert_eq!(faults(request(&"a".repeat(513))), ["query"]);
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let wire = proto::SearchMessagesRequest {
            limit: Some(0),
            agent_id: Some("a".repeat(65)),
            ..request(" ")
        };
        assert_eq!(faults(wire), ["query", "limit", "agentId"]);
    }

    #[test]
    fn a_limit_is_lowered_and_told_d54() {
        for (given, value, applied) in [
            (None, 20, None),
            (Some(100), 100, None),
            (Some(101), 100, Some(100)),
        ] {
            let wire = proto::SearchMessagesRequest {
                limit: given,
                ..request("a")
            };
            let limit = SearchMessages::parse(wire).unwrap().limit;
            assert_eq!((limit.value, limit.applied), (value, applied));
        }
    }

    #[test]
    fn an_agent_beside_a_session_qualifies_it_d52() {
        let wire = proto::SearchMessagesRequest {
            target: Some(Target::reference("main").into()),
            agent_id: Some("Writer".to_owned()),
            ..request("a")
        };
        let asked = SearchMessages::parse(wire).unwrap();
        let About::One(target) = asked.about() else {
            panic!("{asked:?}")
        };
        assert_eq!(target.agent_id.as_deref(), Some("writer"));
    }
}
