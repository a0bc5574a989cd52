//! The decision on who may see and reach which session: the only place that makes it.
//!
//! The registry's own gate and the `Authorize` call of the other services both end here.

mod asking;
mod explain;
mod judge;
mod standing;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use confab_config::Settings;
use confab_model::id::{AgentId, TenantId};
use confab_model::key::{KeyRules, SessionKey};
use confab_model::limits::{AUTHORIZE_TARGETS_MAX, SCOPE_KEYS_MAX};
use confab_model::session::Session;
use confab_policy::visibility::{self, Others, VisibilityMode};
use confab_rpc::caller::Caller;
use confab_rpc::error::RpcError;
use confab_rpc::gate::{
    About, Action, Among, Answer, Authority, Question, Reach, Scope, ScopeNote, Target,
};

use self::asking::{Asking, AskingSession};
pub use self::explain::{Explanation, GateVerdict};
use self::judge::{Judge, Verdict};
pub(crate) use self::standing::{Standing, refusal};
use crate::create::{self, Created};
use crate::meaning::{Meaning, Reader, canonical};
use crate::store::{Found, Lookup, RegistryStore};
use crate::{Sessions, store_failed};

/// The registry's own store as the authority of its gate.
#[derive(Clone, Debug)]
pub struct LocalAuthority<S>(Arc<Sessions<S>>);

impl<S> LocalAuthority<S> {
    /// The authority that looks into `sessions`.
    pub const fn new(sessions: Arc<Sessions<S>>) -> Self {
        Self(sessions)
    }
}

impl<S: RegistryStore> Authority for LocalAuthority<S> {
    async fn authorize(&self, question: Question) -> Result<Answer, RpcError> {
        self.0.authorize(question).await
    }
}

impl<S: RegistryStore> Sessions<S> {
    /// Answers a question of a gate: a decision for each target, or the scope of a list.
    ///
    /// # Errors
    /// When nothing can be decided: the caller may not ask at all, or the store fails. A refusal of
    /// one target is a decision.
    ///
    /// Source: D5, D6, D7, D11, D12, D13, D35, D51, D55.
    pub async fn authorize(&self, question: Question) -> Result<Answer, RpcError> {
        let Question {
            caller,
            action,
            about,
            channel,
        } = question;
        let settings = self.settings.current();
        let asked = Asked {
            settings: &settings,
            rules: settings.key_rules(),
            caller,
            action,
            channel,
        };
        match about {
            About::Nothing => Ok(Answer {
                decisions: Vec::new(),
                scope: None,
            }),
            About::One(target) => self.decide_all(&asked, vec![target]).await,
            About::Many(targets) => self.decide_all(&asked, targets).await,
            About::Scope => self.scope(&asked).await,
        }
    }

    /// Looks up everything the targets may mean together, so that a thousand of them cost as many
    /// statements as one.
    async fn decide_all(
        &self,
        asked: &Asked<'_>,
        targets: Vec<Target>,
    ) -> Result<Answer, RpcError> {
        check_number(targets.len())?;
        let requester = asked.requester();
        let reader = Reader {
            rules: &asked.rules,
            requester: requester.as_ref(),
        };
        let meanings: Vec<Result<Meaning, RpcError>> =
            targets.iter().map(|target| reader.read(target)).collect();
        let mut lookup = Lookup::of(meanings.iter().flatten());
        lookup.keys.extend(requester.clone());

        let tenant = &asked.caller.tenant;
        let found = self
            .store
            .look_up(tenant, &lookup)
            .await
            .map_err(store_failed)?;
        let asking = self.asking(asked, requester.as_ref(), &found).await?;
        standing::refuse_tools(asked.settings, &asking, asked.action)?;
        let judge = Judge {
            rules: &asked.rules,
            visibility: &asked.settings.visibility,
            send_policy: asked.settings.session.send_policy.as_ref(),
            action: asked.action,
            channel: asked.channel.as_deref(),
            asking: &asking,
            found: &found,
        };
        let mut decisions = Vec::with_capacity(meanings.len());
        for meaning in meanings {
            let verdict = meaning.and_then(|meaning| judge.decide(&meaning));
            decisions.push(self.carry_out(asked, verdict).await?);
        }
        Ok(Answer {
            decisions,
            scope: None,
        })
    }

    /// Makes the session of a first use. An inner error is a decision, an outer one a failure.
    async fn carry_out(
        &self,
        asked: &Asked<'_>,
        verdict: Result<Verdict, RpcError>,
    ) -> Result<Result<Session, RpcError>, RpcError> {
        let key = match verdict {
            Ok(Verdict::Session(session)) => return Ok(Ok(*session)),
            Ok(Verdict::Create(key)) => key,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let fresh = self.fresh(asked.settings, key);
        let creation = self
            .store
            .create(&asked.caller.tenant, fresh)
            .await
            .map_err(store_failed)?;
        let Created { session, created } = create::outcome(creation)?;
        if created {
            tracing::info!(session.key = %session.key, "session created on first use");
        }
        // Where another call came first, the session may have been archived since.
        Ok(judge::refuse_archived(asked.action, &session).map(|()| session))
    }

    /// Who asks, and which of the sessions that were found descend from them.
    async fn asking(
        &self,
        asked: &Asked<'_>,
        requester: Option<&SessionKey>,
        found: &Found,
    ) -> Result<Asking, RpcError> {
        let Some(key) = requester else {
            return Asking::without_session(&asked.caller);
        };
        let row = found.by_key.get(key);
        let sandboxed = row.map_or_else(
            || create::sandboxed_by_default(asked.settings, key),
            |row| row.sandboxed,
        );
        let configured = judge::is_configured(&asked.rules, key);
        let known = configured && (row.is_some() || key.is_main());
        Ok(Asking::Session(AskingSession {
            key: key.clone(),
            sandboxed,
            known,
            configured,
            descendants: self.family(asked, key, sandboxed, found).await?,
            standing: Standing::of(key, row),
        }))
    }

    /// The sessions among those found that descend from `key`, where its visibility follows spawns.
    /// Only a session that was spawned descends from anybody.
    ///
    /// Source: D9, D53.
    async fn family(
        &self,
        asked: &Asked<'_>,
        key: &SessionKey,
        sandboxed: bool,
        found: &Found,
    ) -> Result<BTreeSet<SessionKey>, RpcError> {
        match visibility::effective_mode(&asked.settings.visibility, sandboxed) {
            VisibilityMode::SelfOnly | VisibilityMode::Agent => Ok(BTreeSet::new()),
            VisibilityMode::Tree | VisibilityMode::All => {
                let spawned: BTreeSet<SessionKey> = found
                    .sessions()
                    .filter(|session| session.spawned_by.is_some())
                    .map(|session| session.key.clone())
                    .collect();
                let spawned: Vec<SessionKey> = spawned.into_iter().collect();
                let tenant = &asked.caller.tenant;
                let family = self.store.descending(tenant, key, &spawned).await;
                family.map_err(store_failed)
            },
        }
    }

    /// Which sessions a list may show to the caller.
    ///
    /// A session without a row that is not its agent's main session sees none (D51).
    async fn scope(&self, asked: &Asked<'_>) -> Result<Answer, RpcError> {
        let requester = asked.requester();
        let lookup = Lookup {
            keys: requester.iter().cloned().collect(),
            ..Lookup::default()
        };
        let tenant = &asked.caller.tenant;
        let found = self
            .store
            .look_up(tenant, &lookup)
            .await
            .map_err(store_failed)?;
        let asking = self.asking(asked, requester.as_ref(), &found).await?;
        standing::refuse_tools(asked.settings, &asking, asked.action)?;
        let (reach, mode) = match &asking {
            Asking::Owner => (Reach::All, VisibilityMode::All),
            Asking::Channel => (Reach::Among(Among::default()), VisibilityMode::SelfOnly),
            Asking::Session(session) => {
                let rules = &asked.settings.visibility;
                let mode = visibility::effective_mode(rules, session.sandboxed);
                (self.reach(asked, &asking).await?, mode)
            },
        };
        Ok(Answer {
            decisions: Vec::new(),
            scope: Some(Scope {
                reach,
                note: note(mode),
            }),
        })
    }

    /// The reach of whoever asks; a session's family is named by its head alone.
    async fn reach(&self, asked: &Asked<'_>, asking: &Asking) -> Result<Reach, RpcError> {
        let Asking::Session(AskingSession { key, known, .. }) = asking else {
            return Ok(Reach::All);
        };
        if !known {
            return Ok(Reach::Among(Among::default()));
        }
        let itself = || vec![key.clone()];
        let among = match visibility::scope(&asked.settings.visibility, asking.requester()) {
            visibility::Reach::Everything => return Ok(Reach::All),
            visibility::Reach::Session => Among {
                keys: itself(),
                ..Among::default()
            },
            visibility::Reach::Tree => Among {
                family: Some(key.clone()),
                ..Among::default()
            },
            visibility::Reach::Agents {
                own,
                others,
                descendants,
            } => {
                let tenant = &asked.caller.tenant;
                match self.agents_among(tenant, own, others).await? {
                    None => return Ok(Reach::All),
                    Some(agents) => Among {
                        agents,
                        keys: Vec::new(),
                        family: descendants.then(|| key.clone()),
                    },
                }
            },
        };
        Ok(Reach::Among(among))
    }

    /// The requester's own agent and the others it may reach; `None` where it may reach all.
    async fn agents_among(
        &self,
        tenant: &TenantId,
        own: AgentId,
        others: Others,
    ) -> Result<Option<Vec<AgentId>>, RpcError> {
        let patterns = match others {
            Others::All => return Ok(None),
            Others::None => return Ok(Some(vec![own])),
            Others::Matching(patterns) => patterns,
        };
        let mut agents = self.store.agents(tenant).await.map_err(store_failed)?;
        agents
            .retain(|agent| *agent == own || patterns.iter().any(|pattern| pattern.matches(agent)));
        Ok(Some(agents))
    }

    /// Names the family of a scope by its keys, for services that cannot follow spawns; at most
    /// [`SCOPE_KEYS_MAX`].
    ///
    /// # Errors
    /// When the store fails.
    pub async fn spell_out(&self, tenant: &TenantId, scope: Scope) -> Result<Scope, RpcError> {
        let Reach::Among(mut among) = scope.reach else {
            return Ok(scope);
        };
        if let Some(head) = among.family.take() {
            let room = SCOPE_KEYS_MAX.saturating_sub(among.keys.len() + 1);
            let family = self.store.descendants(tenant, &head, room).await;
            among.keys.push(head);
            among.keys.extend(family.map_err(store_failed)?);
        }
        Ok(Scope {
            reach: Reach::Among(among),
            ..scope
        })
    }
}

/// A question, and the settings under which it is answered from beginning to end.
#[derive(Debug)]
struct Asked<'a> {
    settings: &'a Settings,
    rules: KeyRules,
    caller: Caller,
    action: Action,
    channel: Option<String>,
}

impl Asked<'_> {
    /// The caller's session by its canonical key, so that one session has one name here (D4).
    fn requester(&self) -> Option<SessionKey> {
        let session = self.caller.session()?;
        Some(canonical(&self.rules, session))
    }
}

fn check_number(targets: usize) -> Result<(), RpcError> {
    if targets > AUTHORIZE_TARGETS_MAX {
        let text =
            format!("targets has {targets} entries: at most {AUTHORIZE_TARGETS_MAX} are allowed");
        return Err(RpcError::invalid_field("targets", text));
    }
    Ok(())
}

/// How a mode narrows a list; absent where it does not.
///
/// Source: reg:L38.
fn note(mode: VisibilityMode) -> Option<ScopeNote> {
    let word = mode.as_str();
    (mode != VisibilityMode::All).then(|| ScopeNote {
        mode: word.to_owned(),
        warning: format!(
            "Session visibility is restricted (effective tools.sessions.visibility={word}). Results \
             may omit sessions outside the current scope. The count field reflects only sessions \
             within the current scope."
        ),
    })
}
