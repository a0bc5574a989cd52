//! What an exchange hears and what it asks for.

use std::fmt;
use std::str::FromStr;

use confab_model::channel::Route;
use confab_model::delivery::DeliveryState;
use confab_model::flow::{DeliveryStatus, FlowState, Party, StopReason};
use confab_model::key::SessionKey;
use confab_model::message::Provenance;
use confab_model::run::{Lane, Outcome, Step};
use serde::{Deserialize, Serialize};

/// Names a step within its exchange: `primary`, `turn:3` or `announce`.
///
/// Everything a step leaves outside (run, messages, delivery) is keyed by the flow and this name,
/// so a step that is executed again meets what it did before (architecture, "Flows are data").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum StepId {
    /// The run that answers the request.
    Primary,
    /// A turn of the reply loop, from 1.
    Turn(u32),
    /// The announce step.
    Announce,
}

/// Why a word names no step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("step is `{0}`; it must be `primary`, `announce` or `turn:` with a number from 1")]
pub struct StepIdError(String);

impl fmt::Display for StepId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Primary => formatter.write_str("primary"),
            Self::Turn(number) => write!(formatter, "turn:{number}"),
            Self::Announce => formatter.write_str("announce"),
        }
    }
}

impl FromStr for StepId {
    type Err = StepIdError;

    fn from_str(word: &str) -> Result<Self, StepIdError> {
        let step = match word {
            "primary" => Some(Self::Primary),
            "announce" => Some(Self::Announce),
            turn => turn
                .strip_prefix("turn:")
                .and_then(|number| number.parse().ok())
                .filter(|number| *number > 0)
                .map(Self::Turn),
        };
        // A number has several spellings (`03`, `+3`); only the one that is written is a key.
        step.filter(|step| step.to_string() == word)
            .ok_or_else(|| StepIdError(word.to_owned()))
    }
}

impl TryFrom<String> for StepId {
    type Error = StepIdError;

    fn try_from(word: String) -> Result<Self, StepIdError> {
        word.parse()
    }
}

impl From<StepId> for String {
    fn from(step: StepId) -> Self {
        step.to_string()
    }
}

/// A row of the journal: something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The exchange was accepted.
    Started,
    /// The run of a step is over.
    RunEnded {
        /// Whose run.
        step: StepId,
        /// How it ended.
        outcome: Outcome,
    },
    /// The delivery is over: `delivered`, `blocked`, `failed` or `expired`.
    DeliverySettled {
        /// How it ended.
        state: DeliveryState,
    },
}

/// Something the exchange needs done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Queue a run; its end comes back as [`Event::RunEnded`].
    StartRun(RunOrder),
    /// Hand a text over to a channel; its end comes back as [`Event::DeliverySettled`].
    Deliver {
        /// The step whose run wrote the text.
        from: StepId,
        /// The session that speaks.
        session: SessionKey,
        /// Where it goes, whole (D32).
        route: Route,
        /// What is said.
        text: String,
    },
}

/// A run the exchange needs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOrder {
    /// The step it belongs to.
    pub step_id: StepId,
    /// Whose run it is.
    pub party: Party,
    /// The session it runs in.
    pub session: SessionKey,
    /// Why it is started.
    pub step: Step,
    /// The turn of the reply loop, from 1; 0 elsewhere.
    pub turn: u32,
    /// Which share of the machine it draws on.
    pub lane: Lane,
    /// The stored body, or the announce step's text (D62).
    pub input: String,
    /// The whole text handed to the agent (D62).
    pub prompt: String,
    /// Where the input came from; absent where it is not stored, or where nobody said.
    pub provenance: Option<Provenance>,
    /// Whether `input` is stored in the session as a user message (D74).
    pub store_input: bool,
}

/// How far an exchange is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Where it is in its life.
    pub state: FlowState,
    /// Reply-loop runs that ended, the one that stopped the loop included (D31).
    pub turns: u32,
    /// Why the loop ended; absent while it runs and where there was none.
    pub stop_reason: Option<StopReason>,
    /// Whose loop run ended last.
    pub last_speaker: Option<Party>,
    /// What became of the outbound message (D79).
    pub delivery: DeliveryStatus,
    /// The last thing either side said; a skip word is not said (run:S69).
    pub latest_reply: Option<String>,
}

/// Why an event cannot belong to this exchange. The exchange is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The first event of a journal is [`Event::Started`].
    #[error("the exchange has not started; its first event must be `started`")]
    NotStarted,
    /// The run of a step that was never asked for.
    #[error("step `{step}` ended, but this exchange never asked for it; it waits for {waits_for}")]
    UnknownStep {
        /// The step that was named.
        step: StepId,
        /// What the exchange waits for, in words.
        waits_for: String,
    },
    /// The end of a delivery that was never asked for.
    #[error("a delivery ended, but this exchange never asked for one; it waits for {waits_for}")]
    UnknownDelivery {
        /// What the exchange waits for, in words.
        waits_for: String,
    },
    /// A delivery that is still on its way.
    #[error(
        "a delivery in state `{}` is not over; `delivered`, `blocked`, `failed` or `expired` end it",
        state.as_str()
    )]
    NotSettled {
        /// The state that was given.
        state: DeliveryState,
    },
}
