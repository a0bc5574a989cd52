//! Rows as callers see them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use confab_config::{Live, Settings};
use confab_model::id::AgentId;
use confab_model::key::{SessionKey, SessionKind};
use confab_model::session::Session;
use confab_proto::registry::v1::{
    self as proto_registry, Agent, GetStatusResponse, ListAgentsResponse, Spawnable,
};
use confab_proto::types::v1 as proto;
use confab_rpc::caller::Caller;
use confab_rpc::wire::enums::Numbered as _;
use confab_rpc::wire::session::{Perspective, to_proto};

use crate::agents::{AgentEntry, AgentsPage, ToolVerdict};
use crate::awareness;
use crate::commands::change_to_wire;
use crate::import::Imported;
use crate::maintenance::Overdue;
use crate::status::{Status, default_model};
use crate::store::Listed;

/// What the main session of one's own agent is called.
const MAIN: &str = "main";

/// Renders rows.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The database file that holds the transcripts; absent where there is none.
    pub transcript_database: Option<PathBuf>,
    /// The settings in force: the model a session would run with.
    pub settings: Live,
}

impl Rows {
    /// A page of a list through the eyes of `caller`: each row with what is wrong with it, and the
    /// sessions it spawned.
    ///
    /// Source: reg:L21, reg:L33.
    pub fn show_page(&self, page: Vec<Listed>, caller: &Caller) -> Vec<proto::Session> {
        let settings = self.settings.current();
        let models = Models::of(&settings);
        let own_agent = caller.session().and_then(SessionKey::agent_id);
        let own_agent = own_agent.as_ref().map(AgentId::as_str);
        let database = self.transcript_database.as_deref();
        let database = database.map(|file| file.display().to_string());
        let shown = page.into_iter().map(|listed| {
            let mut row = listed.session;
            if is_main_to(&row, own_agent) {
                MAIN.clone_into(&mut row.display_key);
            }
            row.transcript_path = database
                .as_ref()
                .map(|file| format!("{file}#{}", row.session_id));
            if row.model.is_none() {
                row.model = models.ahead_of(&row);
            }
            row.fault = listed.fault;
            row.child_sessions = listed.children;
            *row
        });
        shown.collect()
    }

    /// `session` through the eyes of `caller`, with the place of its transcript.
    ///
    /// Before its first run a session shows the model it would run with.
    ///
    /// Source: D1, D58, reg:L30, reg:L31, B132.
    pub fn show(&self, session: &Session, caller: &Caller) -> proto::Session {
        let database = self.transcript_database.as_deref();
        let transcript_path =
            database.map(|file| format!("{}#{}", file.display(), session.session_id));
        let perspective = Perspective {
            requester: caller.session(),
        };
        let mut row = to_proto(session, &perspective);
        row.transcript_path = transcript_path;
        if row.model.is_none() {
            let own = session.tuning.model.clone();
            row.model = own.or_else(|| default_model(&self.settings.current(), session));
        }
        row
    }

    /// What became of an imported session.
    pub fn show_import(
        &self,
        imported: Imported,
        caller: &Caller,
    ) -> proto_registry::ImportSessionResponse {
        proto_registry::ImportSessionResponse {
            outcome: proto_registry::ImportOutcome::from(imported.outcome).into(),
            session: imported.session.map(|session| self.show(&session, caller)),
            differences: imported.differences,
            left_out: imported.left_out,
        }
    }

    /// A session whose time is over.
    pub fn show_overdue(
        &self,
        overdue: Overdue,
        caller: &Caller,
    ) -> proto_registry::OverdueSession {
        proto_registry::OverdueSession {
            tenant: overdue.tenant.to_string(),
            session: Some(self.show(&overdue.session, caller)),
            change: change_to_wire(overdue.change).into(),
            reason: overdue.reason,
            enforced: overdue.enforced,
        }
    }

    /// A session's status through the eyes of `caller`.
    pub fn show_status(&self, status: Status, caller: &Caller) -> GetStatusResponse {
        GetStatusResponse {
            session: Some(self.show(&status.session, caller)),
            status_text: status.card,
            active: None,
            changes: status.changes.map(awareness::changes_to_proto),
            default_model: status.default_model,
        }
    }
}

/// Whether a row is `main` to a caller of `own_agent`, as
/// [`SessionKey::display_for`] has it.
fn is_main_to(row: &proto::Session, own_agent: Option<&str>) -> bool {
    let serves_all = row.agent_id.is_empty();
    row.kind == SessionKind::Main.number()
        && (serves_all || own_agent == Some(row.agent_id.as_str()))
}

/// The models that agents are configured with, by agent.
struct Models<'a> {
    by_agent: BTreeMap<&'a str, Option<&'a str>>,
    default_agent: &'a str,
}

impl<'a> Models<'a> {
    fn of(settings: &'a Settings) -> Self {
        let agents = settings.agents.list().iter();
        Self {
            by_agent: agents
                .map(|agent| (agent.id.as_str(), agent.model.as_deref()))
                .collect(),
            default_agent: settings.agents.default_agent().as_str(),
        }
    }

    /// The model that a session would run with; the one that serves all runs with the default
    /// agent's.
    fn ahead_of(&self, row: &proto::Session) -> Option<String> {
        let agent = match row.agent_id.as_str() {
            "" => self.default_agent,
            agent => agent,
        };
        let configured = || self.by_agent.get(agent).copied().flatten();
        let own = row.model_override.as_deref();
        own.or_else(configured).map(str::to_owned)
    }
}

/// The agents a caller may spawn.
pub(super) fn show_agents(page: AgentsPage) -> ListAgentsResponse {
    ListAgentsResponse {
        requester: page.requester.map(String::from),
        allow_any: page.allow_any,
        agents: page.agents.into_iter().map(show_agent).collect(),
    }
}

fn show_agent(agent: AgentEntry) -> Agent {
    Agent {
        agent_id: agent.id.to_string(),
        name: agent.name,
        configured: true,
        model: agent.model,
        driver: agent.driver.to_owned(),
        may_spawn: agent.may_spawn.map(|spawns| Spawnable {
            any: spawns.allow_any,
            agent_ids: spawns.agents.into_iter().map(String::from).collect(),
        }),
    }
}

/// What the policy says of one tool.
pub(super) fn show_tool(verdict: ToolVerdict) -> proto_registry::ToolVerdict {
    proto_registry::ToolVerdict {
        tool: verdict.tool.as_str().to_owned(),
        allowed: verdict.allowed,
        reason: verdict.reason,
    }
}
