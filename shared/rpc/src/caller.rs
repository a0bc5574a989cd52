//! Who makes a call.

use confab_model::id::{AgentId, RunId, TenantId};
use confab_model::key::SessionKey;

/// The role a caller acts in; the rows of the role table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// A person, or a backend that runs the installation.
    Operator,
    /// One of confab's own services.
    Service,
    /// A session's agent.
    Agent,
    /// A channel adapter.
    Channel,
    /// An external process that does the work of agents.
    Worker,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Operator,
        Self::Service,
        Self::Agent,
        Self::Channel,
        Self::Worker,
    ];

    /// The lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Service => "service",
            Self::Agent => "agent",
            Self::Channel => "channel",
            Self::Worker => "worker",
        }
    }

    /// The role a word names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == word)
    }
}

/// What a caller is, beside its tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A person, or a backend; not subject to visibility (D13).
    Operator,
    /// A service, across the network.
    Service,
    /// A part of a service that acts on its own: timers, flows, deliveries. Never made from
    /// metadata; across the network it is [`Identity::Service`].
    System {
        /// Which part.
        component: &'static str,
    },
    /// A session's agent; always subject to visibility (D13).
    Agent {
        /// The session on whose behalf it acts.
        session: SessionKey,
        /// The run that makes the call; absent for an agent that names itself.
        run: Option<RunId>,
    },
    /// A channel adapter.
    Channel {
        /// Its channel.
        channel: String,
    },
    /// An external worker.
    Worker {
        /// Its agent.
        agent: AgentId,
    },
}

/// Who makes a call: a tenant, and what they are in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The outermost scope of everything the caller touches.
    pub tenant: TenantId,
    /// What they are.
    pub identity: Identity,
    /// The token's subject; absent in open mode.
    pub subject: Option<String>,
}

impl Caller {
    /// A part of a service that acts on its own in `tenant`.
    pub const fn system(component: &'static str, tenant: TenantId) -> Self {
        Self {
            tenant,
            identity: Identity::System { component },
            subject: None,
        }
    }

    /// An operator of `tenant`.
    pub const fn operator(tenant: TenantId) -> Self {
        Self {
            tenant,
            identity: Identity::Operator,
            subject: None,
        }
    }

    /// The agent of `session`, in `run` where the call comes from one.
    pub const fn agent(tenant: TenantId, session: SessionKey, run: Option<RunId>) -> Self {
        Self {
            tenant,
            identity: Identity::Agent { session, run },
            subject: None,
        }
    }

    /// The role the caller acts in.
    pub const fn role(&self) -> Role {
        match self.identity {
            Identity::Operator => Role::Operator,
            Identity::Service | Identity::System { .. } => Role::Service,
            Identity::Agent { .. } => Role::Agent,
            Identity::Channel { .. } => Role::Channel,
            Identity::Worker { .. } => Role::Worker,
        }
    }

    /// The session on whose behalf the call is made; only agents have one.
    pub const fn session(&self) -> Option<&SessionKey> {
        match &self.identity {
            Identity::Agent { session, .. } => Some(session),
            Identity::Operator
            | Identity::Service
            | Identity::System { .. }
            | Identity::Channel { .. }
            | Identity::Worker { .. } => None,
        }
    }

    /// The run that makes the call; only agents have one.
    pub const fn run(&self) -> Option<&RunId> {
        match &self.identity {
            Identity::Agent { run, .. } => run.as_ref(),
            Identity::Operator
            | Identity::Service
            | Identity::System { .. }
            | Identity::Channel { .. }
            | Identity::Worker { .. } => None,
        }
    }

    /// Whether visibility is skipped: for services, whose work was authorised when it was accepted,
    /// and for operators (D13).
    pub const fn sees_everything(&self) -> bool {
        match self.identity {
            Identity::Operator | Identity::Service | Identity::System { .. } => true,
            Identity::Agent { .. } | Identity::Channel { .. } | Identity::Worker { .. } => false,
        }
    }

    /// The owner of an idempotency key: the session for agents, the token's subject for others,
    /// empty in open mode. A part of a service owns its keys by a name that no token can have,
    /// because it begins with a control character.
    ///
    /// Source: D36.
    pub fn idempotency_owner(&self) -> String {
        match &self.identity {
            Identity::Agent { session, .. } => session.to_string(),
            Identity::System { component } => format!("\u{1}{component}"),
            Identity::Operator
            | Identity::Service
            | Identity::Channel { .. }
            | Identity::Worker { .. } => self.subject.clone().unwrap_or_default(),
        }
    }
}
