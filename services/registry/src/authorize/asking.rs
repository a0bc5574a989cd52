//! Who asks, as far as visibility is concerned.

use std::collections::BTreeSet;

use confab_model::key::SessionKey;
use confab_policy::visibility::Requester;
use confab_rpc::caller::{Caller, Identity};
use confab_rpc::error::{Reason, RpcError};

use super::standing::Standing;

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asking {
    /// An operator, or a service whose work was authorised when it was accepted (D13).
    Owner,
    /// A channel adapter, which brings people's messages and follows the runs they start.
    Channel,
    /// A session's agent.
    Session(AskingSession),
}

/// A session's agent that asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AskingSession {
    /// The session.
    pub(super) key: SessionKey,
    /// Whether its agent runs in a sandbox.
    pub(super) sandboxed: bool,
    /// Whether it is of a configured agent and has a row, or is a main session that gets one on its
    /// first use (D51).
    pub(super) known: bool,
    /// Whether its agent is configured: nobody speaks for one that is not.
    pub(super) configured: bool,
    /// Those of the sessions that were found that descend from it, where its visibility follows
    /// spawns.
    pub(super) descendants: BTreeSet<SessionKey>,
    /// What its tools depend on.
    pub(super) standing: Standing,
}

impl Asking {
    /// A caller that has no session.
    ///
    /// # Errors
    /// When it may act on no session at all.
    pub(super) fn without_session(caller: &Caller) -> Result<Self, RpcError> {
        match &caller.identity {
            Identity::Operator | Identity::Service | Identity::System { .. } => Ok(Self::Owner),
            Identity::Channel { .. } => Ok(Self::Channel),
            Identity::Worker { .. } | Identity::Agent { .. } => Err(RpcError::new(
                Reason::Role,
                format!(
                    "the role {} acts on no session of its own accord: a worker uses the token of \
                     the run it was assigned",
                    caller.role().as_str()
                ),
            )),
        }
    }

    /// The same in the words of the policy.
    pub(super) const fn requester(&self) -> Requester<'_> {
        match self {
            Self::Owner | Self::Channel => Requester::Operator,
            Self::Session(session) => Requester::Session {
                key: &session.key,
                sandboxed: session.sandboxed,
            },
        }
    }

    /// Whether `target` descends from the session that asks.
    pub(super) fn is_ancestor_of(&self, target: &SessionKey) -> bool {
        match self {
            Self::Owner | Self::Channel => false,
            Self::Session(session) => session.descendants.contains(target),
        }
    }
}
