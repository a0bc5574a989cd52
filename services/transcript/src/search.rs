//! Searching what was said.
//!
//! The words of all messages are in an index, cleaned and masked as a history shows them, so that
//! nothing can be found that may not be read. A search first brings the index up to date, then looks
//! for the words, then asks the gate about every session in which it found something.

pub mod excerpt;
pub mod follow;
pub mod query;
mod reindex;
pub mod words;

use std::collections::BTreeMap;

use confab_model::clock::Timestamp;
use confab_model::id::{AgentId, SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::message::Role;
use confab_rpc::caller::Caller;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::{Admitted, Authority, Gate, Reach, Subject};

use crate::commands::search::{SearchAgent, SearchMessages, SeeHits};
use crate::limits::{SEARCH_ATTEMPTS_MAX, SEARCH_HITS_MAX, SEARCH_ROUND_HITS};
use crate::search::excerpt::{excerpt, one_line};
use crate::search::query::Query;
use crate::shown::readable_text;
use crate::store::search::{Found, Ground, Hit, SearchStore, Sought};
use crate::store::{Row, TranscriptStore};
use crate::{Messages, store_failed};

/// A message in which everything was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchMatch {
    /// The session's key.
    pub session_key: SessionKey,
    /// The generation.
    pub session_id: SessionId,
    /// The message's place in it.
    pub seq: u64,
    /// Who speaks.
    pub role: Role,
    /// The words around the first of those searched for, on one line.
    pub excerpt: String,
    /// When it was said.
    pub at: Timestamp,
}

/// The hits of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPage {
    /// Newest first.
    pub matches: Vec<SearchMatch>,
    /// The limit in force, where the asked one was lowered.
    pub limit_applied: Option<u32>,
}

/// A hit in a session that the caller may see.
struct Seen {
    hit: Hit,
    session_key: SessionKey,
}

impl<S: TranscriptStore + SearchStore> Messages<S> {
    /// Searches the sessions that the caller may see.
    ///
    /// Among very many hits, the newest [`SEARCH_HITS_MAX`] are looked at.
    ///
    /// # Errors
    /// When the agent asked for is out of reach, nothing can be decided, or the store fails.
    ///
    /// Source: D11, D12, D77.
    pub async fn search<A: Authority>(
        &self,
        gate: &Gate<A>,
        call: Admitted<SearchMessages>,
    ) -> Result<SearchPage, RpcError> {
        let ground = ground_of(&call)?;
        refuse_agent(gate, call.caller(), &ground).await?;
        let (request, caller, _) = call.into_parts();
        let hits = self.hits(&caller.tenant, &request.query, &ground).await?;
        let limit = usize::try_from(request.limit.value).unwrap_or(usize::MAX);
        let seen = see(gate, &caller, &ground, hits, limit).await?;
        let mut matches = Vec::with_capacity(seen.len());
        for one in seen {
            matches.extend(self.matched(&caller.tenant, &request.query, one).await?);
        }
        Ok(SearchPage {
            matches,
            limit_applied: request.limit.applied,
        })
    }

    /// Looks into an index that covers everything that was stored when the search began. The rules of
    /// masking may change meanwhile: then it is built anew, and asked again.
    async fn hits(
        &self,
        tenant: &TenantId,
        query: &Query,
        ground: &Ground,
    ) -> Result<Vec<Hit>, RpcError> {
        for _ in 0..SEARCH_ATTEMPTS_MAX {
            let state = self.catch_up().await?;
            let sought = Sought {
                rules: state.rules,
                through: state.head,
                terms: query.terms().to_vec(),
                ground: ground.clone(),
                limit: SEARCH_HITS_MAX,
            };
            let found = self.store.find(tenant, &sought).await;
            match found.map_err(store_failed)? {
                Found::Hits(hits) => return Ok(hits),
                Found::Behind => {},
            }
        }
        Err(RpcError::new(
            Reason::Unavailable,
            "the rules of masking are being changed, and the search index with them; try again",
        ))
    }

    /// The match as it may be shown; `None` where the message cannot be read.
    async fn matched(
        &self,
        tenant: &TenantId,
        query: &Query,
        seen: Seen,
    ) -> Result<Option<SearchMatch>, RpcError> {
        let Seen { hit, session_key } = seen;
        let row = self.store.message_of(tenant, &hit).await;
        let Some(Row {
            at,
            body: Some(body),
            ..
        }) = row.map_err(store_failed)?
        else {
            return Ok(None);
        };
        let redactor = self.redactor();
        let line = one_line(&readable_text(&body, &redactor));
        // On one line two harmless lines may make a secret.
        let line = redactor.redact(&line);
        Ok(Some(SearchMatch {
            session_key,
            session_id: hit.session_id,
            seq: hit.seq,
            role: body.role,
            excerpt: excerpt(&line, query),
            at,
        }))
    }
}

/// Where to search, as the gate allows.
fn ground_of(call: &Admitted<SearchMessages>) -> Result<Ground, RpcError> {
    let request = call.request();
    let agent_id = request.agent_id.clone();
    if let Subject::One(session) = call.subject() {
        return Ok(Ground {
            reach: Reach::All,
            session_key: Some(session.key.clone()),
            session_id: request.generation(session),
            agent_id,
        });
    }
    Ok(Ground {
        reach: call.scope()?.reach.clone(),
        session_key: None,
        session_id: None,
        agent_id,
    })
}

/// An agent out of reach is refused, as its history would be, and not taken for one that said
/// nothing.
///
/// Source: D12.
async fn refuse_agent<A: Authority>(
    gate: &Gate<A>,
    caller: &Caller,
    ground: &Ground,
) -> Result<(), RpcError> {
    let Some(agent_id) = ground.agent_id.clone() else {
        return Ok(());
    };
    if !reaches(&ground.reach, &agent_id) {
        let asked = SearchAgent { agent_id };
        gate.admit_as(caller.clone(), asked).await?;
    }
    Ok(())
}

/// Whether any session of an agent may be within reach.
fn reaches(reach: &Reach, agent_id: &AgentId) -> bool {
    match reach {
        Reach::All => true,
        Reach::Among(among) => {
            among.agents.contains(agent_id)
                || among.family.is_some()
                || among
                    .keys
                    .iter()
                    .any(|key| key.agent_id().as_ref() == Some(agent_id))
        },
    }
}

/// The first hits whose sessions the caller may see at this moment; the sessions of a round are asked
/// about together. A session that was deleted is not found, and neither is anything in it.
async fn see<A: Authority>(
    gate: &Gate<A>,
    caller: &Caller,
    ground: &Ground,
    hits: Vec<Hit>,
    limit: usize,
) -> Result<Vec<Seen>, RpcError> {
    let mut keys: BTreeMap<SessionId, Option<SessionKey>> = BTreeMap::new();
    let mut seen = Vec::with_capacity(limit);
    for round in hits.chunks(SEARCH_ROUND_HITS) {
        ask(gate, caller, ground, round, &mut keys).await?;
        for hit in round {
            let key = keys.get(&hit.session_id).cloned().flatten();
            seen.extend(key.map(|session_key| Seen {
                hit: hit.clone(),
                session_key,
            }));
        }
        if seen.len() >= limit {
            break;
        }
    }
    seen.truncate(limit);
    Ok(seen)
}

/// Asks about the sessions of a round that were not asked about before.
async fn ask<A: Authority>(
    gate: &Gate<A>,
    caller: &Caller,
    ground: &Ground,
    round: &[Hit],
    keys: &mut BTreeMap<SessionId, Option<SessionKey>>,
) -> Result<(), RpcError> {
    let mut session_ids: Vec<SessionId> = round
        .iter()
        .map(|hit| hit.session_id.clone())
        .filter(|session_id| !keys.contains_key(session_id))
        .collect();
    session_ids.sort_unstable();
    session_ids.dedup();
    if session_ids.is_empty() {
        return Ok(());
    }
    let asked = gate
        .admit_as(caller.clone(), SeeHits { session_ids })
        .await?;
    for (session_id, decision) in asked.request().session_ids.iter().zip(asked.sessions()?) {
        let session = decision.as_ref().ok();
        let key = session
            .filter(|session| session.session_id == *session_id)
            .map(|session| session.key.clone())
            .filter(|key| is_on(ground, key));
        keys.insert(session_id.clone(), key);
    }
    Ok(())
}

/// Whether a session is one of those asked for; the database did not know the key of each.
fn is_on(ground: &Ground, key: &SessionKey) -> bool {
    let session = ground.session_key.as_ref();
    let agent = ground.agent_id.as_ref();
    session.is_none_or(|wanted| wanted == key)
        && agent.is_none_or(|wanted| key.agent_id().as_ref() == Some(wanted))
}

#[cfg(test)]
mod tests;
