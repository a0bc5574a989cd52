//! Deliveries: messages owed to an outside channel.

use serde::{Deserialize, Serialize};

use crate::channel::Route;
use crate::clock::Timestamp;
use crate::id::{DeliveryId, FlowId, RunId};
use crate::key::SessionKey;

/// Where a delivery is in its life (D49, D78).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryState {
    /// Waits for its sink.
    Pending,
    /// An attempt is under way.
    Sending,
    /// The sink accepted it.
    Delivered,
    /// The send policy forbids it; never retried.
    Blocked,
    /// Given up: a dead letter.
    Failed,
    /// Too old to be sent.
    Expired,
}

impl DeliveryState {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Sending,
        Self::Delivered,
        Self::Blocked,
        Self::Failed,
        Self::Expired,
    ];

    /// The lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sending => "sending",
            Self::Delivered => "delivered",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
            Self::Expired => "expired",
        }
    }

    /// The state a word names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// The record of a delivery.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// Identifies the delivery; stable over attempts, so that a sink can drop a repetition.
    pub id: DeliveryId,
    /// The flow that owes it.
    pub flow_id: FlowId,
    /// The run whose text it carries.
    pub run_id: RunId,
    /// The session that speaks.
    pub session_key: SessionKey,
    /// Where it goes, whole and unchanged (D32).
    pub route: Route,
    /// What is said.
    pub text: String,
    /// Where it is in its life.
    pub state: DeliveryState,
    /// Attempts made.
    pub attempts: u32,
    /// When the next attempt is due.
    pub next_attempt_at: Option<Timestamp>,
    /// What the last attempt met.
    pub last_error: Option<String>,
    /// When it was owed.
    pub created_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}
