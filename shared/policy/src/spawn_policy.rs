//! Of which agents a session may spawn children.

use std::collections::BTreeSet;

use confab_model::id::AgentId;

/// What any agent is called in a list of allowed ones.
const ANY: &str = "*";

/// A configured list of agents, `subagents.allowAgents`.
///
/// Source: reg:A2.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowAgents {
    /// Whether `*` stands in it.
    pub any: bool,
    /// The agents it names, each once, in the order of the list.
    pub ids: Vec<AgentId>,
}

impl AllowAgents {
    /// Reads the entries: `*`, or an agent's id, which is normalised. Blank entries name nobody.
    ///
    /// Source: reg:A2, reg:K5.
    pub fn parse<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut allow = Self::default();
        for text in texts {
            let text = text.as_ref().trim();
            if text == ANY {
                allow.any = true;
            } else if !text.is_empty() {
                allow.name(AgentId::normalise(text));
            }
        }
        allow
    }

    fn name(&mut self, id: AgentId) {
        if !self.ids.contains(&id) {
            self.ids.push(id);
        }
    }
}

/// The agents that a session may spawn children of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spawnable {
    /// Whether the list says `*`.
    pub allow_any: bool,
    /// The agents: the requester first if it is one of them, the rest ascending.
    pub agents: Vec<AgentId>,
}

/// The agents that a session of `requester` may spawn children of.
///
/// `allow` is the requester's own list, or else the one of `agents.defaults`. Without either it is
/// the requester alone; a list of names is taken at its word, so that the requester is in only if
/// it is named, and agents that are not configured are left out.
///
/// Source: reg:A2, reg:A3.
pub fn spawnable(
    requester: &AgentId,
    allow: Option<&AllowAgents>,
    configured: &[AgentId],
) -> Spawnable {
    let itself = || BTreeSet::from([requester]);
    let allowed: BTreeSet<&AgentId> = match allow {
        None => itself(),
        Some(list) if list.any => configured.iter().chain(itself()).collect(),
        Some(list) => configured
            .iter()
            .filter(|id| list.ids.contains(id))
            .collect(),
    };
    let (first, rest): (Vec<&AgentId>, Vec<&AgentId>) =
        allowed.into_iter().partition(|id| *id == requester);
    Spawnable {
        allow_any: allow.is_some_and(|list| list.any),
        agents: first.into_iter().chain(rest).cloned().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(texts: &[&str]) -> Vec<AgentId> {
        texts.iter().map(|text| AgentId::normalise(text)).collect()
    }

    #[test]
    fn a_list_is_normalised_and_names_each_agent_once_and_blanks_are_nobody() {
        let list = AllowAgents::parse([" Ops ", "", "  ", "ops", "my agent"]);
        let expected = AllowAgents {
            any: false,
            ids: ids(&["ops", "my-agent"]),
        };
        assert_eq!(list, expected);
        assert!(AllowAgents::parse(["ops", " * "]).any);
    }

    #[test]
    fn an_agent_that_is_not_configured_may_spawn_itself_but_by_name() {
        let (ghost, configured) = (AgentId::normalise("ghost"), ids(&["main"]));
        let agents = |allow: Option<&AllowAgents>| spawnable(&ghost, allow, &configured).agents;
        assert_eq!(agents(None), ids(&["ghost"]));
        assert_eq!(
            agents(Some(&AllowAgents::parse(["*"]))),
            ids(&["ghost", "main"])
        );
        assert_eq!(
            agents(Some(&AllowAgents::parse(["ghost", "main"]))),
            ids(&["main"])
        );
    }
}
