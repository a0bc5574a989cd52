//! The runs an exchange asks for.

use confab_model::flow::Party;
use confab_model::key::SessionKey;
use confab_model::message::{Provenance, ProvenanceKind};
use confab_model::run::{Lane, Step};

use super::event::{RunOrder, StepId};
use super::prompt;
use super::terms::{ExchangeKind, Terms, speaker};

/// The tool that carries messages between sessions (run:T19).
const SEND_TOOL: &str = "sessions_send";

/// What has been said so far; neither text is ever blank or a skip word.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Talk {
    /// The round-1 reply.
    pub(super) first: String,
    /// The latest reply of either side.
    pub(super) latest: String,
}

/// The run that answers the request.
pub(super) fn primary(terms: &Terms) -> RunOrder {
    match terms.kind {
        ExchangeKind::Human => human(terms),
        ExchangeKind::Send => send(terms),
        ExchangeKind::Notice => notice(terms),
    }
}

fn human(terms: &Terms) -> RunOrder {
    RunOrder {
        step_id: StepId::Primary,
        party: Party::Target,
        session: terms.target.clone(),
        step: Step::Human,
        turn: 0,
        lane: Lane::Main,
        input: terms.request.clone(),
        prompt: prompt::annotated(terms.provenance.as_ref(), &terms.request),
        provenance: terms.provenance.clone(),
        store_input: true,
    }
}

/// A watcher is woken; nobody wrote to it, so nothing is stored as a message.
///
/// Source: D57, D62, D74.
fn notice(terms: &Terms) -> RunOrder {
    RunOrder {
        step_id: StepId::Primary,
        party: Party::Target,
        session: terms.target.clone(),
        step: Step::Notice,
        turn: 0,
        lane: Lane::Main,
        input: terms.request.clone(),
        prompt: terms.request.clone(),
        provenance: None,
        store_input: false,
    }
}

fn send(terms: &Terms) -> RunOrder {
    let provenance = terms.provenance.clone().unwrap_or_else(|| Provenance {
        kind: ProvenanceKind::InterSession,
        source_session_key: terms.requester.clone(),
        source_channel: terms.requester_channel.clone(),
        source_tool: Some(SEND_TOOL.to_owned()),
        sender: None,
    });
    RunOrder {
        step_id: StepId::Primary,
        party: Party::Target,
        session: terms.target.clone(),
        step: Step::Send,
        turn: 0,
        lane: Lane::Nested,
        input: terms.request.clone(),
        prompt: prompt::send(terms, &provenance),
        provenance: Some(provenance),
        store_input: true,
    }
}

/// A turn of the reply loop: one side reads what the other said last.
///
/// Source: D74, run:S67, run:S68.
pub(super) fn turn(terms: &Terms, number: u32, requester: &SessionKey, talk: &Talk) -> RunOrder {
    let party = speaker(number);
    let (session, source, channel) = match party {
        Party::Requester => (requester, &terms.target, &terms.target_channel),
        Party::Target => (&terms.target, requester, &terms.requester_channel),
    };
    let provenance = Provenance::inter_session(source.clone(), channel.clone(), SEND_TOOL);
    RunOrder {
        step_id: StepId::Turn(number),
        party,
        session: session.clone(),
        step: Step::Reply,
        turn: number,
        lane: Lane::Nested,
        input: talk.latest.clone(),
        prompt: prompt::reply(terms, &provenance, number, &talk.latest),
        provenance: Some(provenance),
        store_input: true,
    }
}

/// The announce step, in the target alone; its prompt is not stored.
///
/// Source: D32, D62, D74, run:S74.
pub(super) fn announce(terms: &Terms, talk: &Talk) -> RunOrder {
    RunOrder {
        step_id: StepId::Announce,
        party: Party::Target,
        session: terms.target.clone(),
        step: Step::Announce,
        turn: 0,
        lane: Lane::Nested,
        input: prompt::announce_input(terms, &talk.first, &talk.latest),
        prompt: prompt::announce(terms, &talk.first, &talk.latest),
        provenance: None,
        store_input: false,
    }
}
