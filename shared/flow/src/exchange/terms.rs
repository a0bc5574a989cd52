//! What an exchange is about, frozen when it starts.

use confab_model::channel::Route;
use confab_model::flow::{FlowKind, Party};
use confab_model::key::SessionKey;
use confab_model::limits::PING_PONG_TURNS_MAX;
use confab_model::message::Provenance;
use serde::{Deserialize, Serialize};

use super::prompt;

/// The flows that are exchanges; a spawn is another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExchangeKind {
    /// One session writes to another.
    Send,
    /// A person writes to a session, or a backend starts a run.
    Human,
    /// A session is woken because one that it watches has changed (D57).
    Notice,
}

impl ExchangeKind {
    /// The kind of the flow's record. The contract knows three kinds, and none of them is a notice:
    /// its record says `human`, like that of any other run without a session that asks; its run
    /// says `notice`.
    pub const fn flow_kind(self) -> FlowKind {
        match self {
            Self::Send => FlowKind::Send,
            Self::Human | Self::Notice => FlowKind::Human,
        }
    }
}

/// Everything an exchange knows at its start; the first entry of its journal holds it.
///
/// Nothing here is looked up again: a configuration or a route that changes meanwhile does not
/// change a conversation that has begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Terms {
    /// A send, a person's message or a notice.
    pub kind: ExchangeKind,
    /// The session that asks; absent for a person, an operator or a backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requester: Option<SessionKey>,
    /// The channel of the session that asks, as its agent is told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requester_channel: Option<String>,
    /// The session that is asked.
    pub target: SessionKey,
    /// The channel of the session that is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_channel: Option<String>,
    /// The text of the message, unchanged.
    pub request: String,
    /// Where the request came from, stored as it is. Absent for a send between sessions: the
    /// exchange then writes `inter_session` with the requester as the source (D74, run:T19).
    #[serde(default, with = "provenance", skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// Most turns of the reply loop, 0 to [`PING_PONG_TURNS_MAX`]; a person's message has no loop.
    pub turns_max: u32,
    /// Where the answer leaves: the target's own route for a send (D32), the message's for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<Route>,
    /// Whether the caller wants an announce step; a person's message has none.
    pub announce: bool,
    /// Whether one side descends from the other: then there is neither loop nor announce (D64).
    pub kin: bool,
}

impl Terms {
    /// The terms of waking `target` for what happened in sessions that it watches. What happened is
    /// not part of them: the notices join the run when it begins.
    ///
    /// Source: D57, D62, D74.
    pub fn notice(target: SessionKey, target_channel: Option<String>) -> Self {
        Self {
            kind: ExchangeKind::Notice,
            requester: None,
            requester_channel: None,
            target,
            target_channel,
            request: prompt::NOTICE.to_owned(),
            provenance: None,
            turns_max: 0,
            route: None,
            announce: false,
            kin: false,
        }
    }

    /// The session that takes the odd turns of a send's loop; absent where there can be none.
    ///
    /// Source: D31, run:S66.
    pub(super) fn loop_partner(&self) -> Option<&SessionKey> {
        let another = self.requester.as_ref().filter(|key| **key != self.target);
        another.filter(|_| self.turns_max > 0)
    }

    /// Whether a session writes to itself: it hears its own answer, and no channel does (B016).
    pub(super) fn is_to_oneself(&self) -> bool {
        self.requester.as_ref() == Some(&self.target)
    }

    /// The cap of the loop, bounded whatever a journal says.
    pub(super) fn turns_cap(&self) -> u32 {
        self.turns_max.min(PING_PONG_TURNS_MAX)
    }
}

/// Whose turn it is: the requester's first, then they alternate.
///
/// Source: D31, run:S67.
pub(super) const fn speaker(turn: u32) -> Party {
    if turn % 2 == 1 {
        Party::Requester
    } else {
        Party::Target
    }
}

/// How a journal holds a provenance.
mod provenance {
    use confab_model::key::SessionKey;
    use confab_model::message::{Provenance, ProvenanceKind};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(remote = "Provenance", rename_all = "camelCase")]
    struct Stored {
        kind: ProvenanceKind,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source_session_key: Option<SessionKey>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source_channel: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source_tool: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sender: Option<String>,
    }

    #[derive(Serialize)]
    struct Written<'a>(#[serde(with = "Stored")] &'a Provenance);

    #[derive(Deserialize)]
    struct Read(#[serde(with = "Stored")] Provenance);

    #[expect(
        clippy::ref_option,
        reason = "serde calls it with a reference to the field"
    )]
    pub(super) fn serialize<S: Serializer>(
        provenance: &Option<Provenance>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        provenance.as_ref().map(Written).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Provenance>, D::Error> {
        Ok(Option::<Read>::deserialize(deserializer)?.map(|read| read.0))
    }
}
