//! The exchange: the durable conversation around a send, a person's message or a notice.
//!
//! A send runs `primary → reply loop → announce → delivery`, a person's message `primary →
//! delivery`, a notice `primary` alone. At any moment an exchange waits for at most one thing, and that thing follows from
//! its state alone: what to do after an event and what to do after a restart is the same question,
//! answered by [`Exchange::open_actions`].
//!
//! The driver journals an event first, then applies it, then executes the actions. An event that
//! comes twice or late changes nothing.

mod event;
mod order;
mod prompt;
mod terms;
#[cfg(test)]
mod tests;

use confab_model::channel::Route;
use confab_model::delivery::DeliveryState;
use confab_model::flow::{DeliveryStatus, FlowState, Party, StopReason};
use confab_model::key::SessionKey;
use confab_model::message::SkipWord;
use confab_model::run::Outcome;

pub use event::{Action, ApplyError, Event, Progress, RunOrder, StepId, StepIdError};
use order::Talk;
pub use terms::{ExchangeKind, Terms};

/// An exchange at one point of its journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    terms: Terms,
    stage: Stage,
    /// The steps whose runs are over, in order: how a repeated event is recognised.
    ended: Vec<StepId>,
    /// Whether a delivery was asked for and is over.
    settled: bool,
    stop_reason: Option<StopReason>,
    last_speaker: Option<Party>,
    turns: u32,
    delivery: DeliveryStatus,
    latest_reply: Option<String>,
}

/// What an exchange waits for, with all it takes to ask for it.
#[derive(Clone, Debug, PartialEq)]
enum Stage {
    New,
    Primary,
    Turn {
        number: u32,
        requester: SessionKey,
        talk: Talk,
    },
    Announce {
        route: Route,
        talk: Talk,
    },
    Delivering {
        from: StepId,
        route: Route,
        text: String,
    },
    Done,
}

/// What a run's outcome says.
enum Answer<'a> {
    Said(&'a str),
    Skip(SkipWord),
    Empty,
    Failed,
}

impl<'a> Answer<'a> {
    fn of(outcome: &'a Outcome) -> Self {
        match outcome {
            Outcome::Failed { .. } => Self::Failed,
            Outcome::Replied { text, .. } if text.trim().is_empty() => Self::Empty,
            Outcome::Replied { text, .. } => {
                SkipWord::of(text).map_or(Self::Said(text), Self::Skip)
            },
        }
    }
}

impl Exchange {
    /// An exchange with an empty journal; [`Event::Started`] sets it going.
    pub fn new(terms: Terms) -> Self {
        Self {
            terms,
            stage: Stage::New,
            ended: Vec::new(),
            settled: false,
            stop_reason: None,
            last_speaker: None,
            turns: 0,
            delivery: DeliveryStatus::Pending,
            latest_reply: None,
        }
    }

    /// The exchange that a journal describes. [`Self::open_actions`] then says what must be going
    /// on, or be done again.
    ///
    /// # Errors
    /// When an event cannot belong to this exchange: the journal is not this flow's.
    pub fn replay<'a>(
        terms: Terms,
        events: impl IntoIterator<Item = &'a Event>,
    ) -> Result<Self, ApplyError> {
        let mut exchange = Self::new(terms);
        for event in events {
            exchange.advance(event)?;
        }
        Ok(exchange)
    }

    /// Takes an event in and says what to do next. Nothing is to be done for an event that was
    /// seen before or that comes late.
    ///
    /// # Errors
    /// When the event cannot belong to this exchange; the exchange is unchanged.
    pub fn apply(&mut self, event: &Event) -> Result<Vec<Action>, ApplyError> {
        if self.advance(event)? {
            Ok(self.open_actions())
        } else {
            Ok(Vec::new())
        }
    }

    /// Whether the event would change anything; a driver need not journal one that would not.
    ///
    /// # Errors
    /// When the event cannot belong to this exchange.
    pub fn is_news(&self, event: &Event) -> Result<bool, ApplyError> {
        match event {
            Event::Started => Ok(self.stage == Stage::New),
            Event::RunEnded { .. } | Event::DeliverySettled { .. } if self.stage == Stage::New => {
                Err(ApplyError::NotStarted)
            },
            Event::RunEnded { step, .. } => self.is_news_of_run(*step),
            Event::DeliverySettled { state } => self.is_news_of_delivery(*state),
        }
    }

    /// What is outstanding: at most one run or one delivery; nothing before the start and after
    /// the end. Executing it again is harmless, since everything it leaves is keyed by its step.
    pub fn open_actions(&self) -> Vec<Action> {
        match &self.stage {
            Stage::New | Stage::Done => Vec::new(),
            Stage::Primary => vec![Action::StartRun(order::primary(&self.terms))],
            Stage::Turn {
                number,
                requester,
                talk,
            } => {
                vec![Action::StartRun(order::turn(
                    &self.terms,
                    *number,
                    requester,
                    talk,
                ))]
            },
            Stage::Announce { talk, .. } => {
                vec![Action::StartRun(order::announce(&self.terms, talk))]
            },
            Stage::Delivering { from, route, text } => vec![Action::Deliver {
                from: *from,
                session: self.terms.target.clone(),
                route: route.clone(),
                text: text.clone(),
            }],
        }
    }

    /// The step whose run the exchange waits for.
    pub const fn open_step(&self) -> Option<StepId> {
        match &self.stage {
            Stage::Primary => Some(StepId::Primary),
            Stage::Turn { number, .. } => Some(StepId::Turn(*number)),
            Stage::Announce { .. } => Some(StepId::Announce),
            Stage::New | Stage::Delivering { .. } | Stage::Done => None,
        }
    }

    /// How far the exchange is.
    pub fn progress(&self) -> Progress {
        Progress {
            state: self.state(),
            turns: self.turns,
            stop_reason: self.stop_reason,
            last_speaker: self.last_speaker,
            delivery: self.delivery,
            latest_reply: self.latest_reply.clone(),
        }
    }

    /// Where the exchange is in its life.
    pub const fn state(&self) -> FlowState {
        match &self.stage {
            Stage::New | Stage::Primary => FlowState::Primary,
            Stage::Turn { .. } => FlowState::ReplyLoop,
            Stage::Announce { .. } => FlowState::Announce,
            Stage::Delivering { .. } => FlowState::Delivering,
            Stage::Done => FlowState::Done,
        }
    }

    /// Whether nothing more will happen.
    pub const fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Done)
    }

    /// What the exchange is about.
    pub const fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Takes an event in; false where it was no news.
    fn advance(&mut self, event: &Event) -> Result<bool, ApplyError> {
        if !self.is_news(event)? {
            return Ok(false);
        }
        self.stage = match event {
            Event::Started => Stage::Primary,
            Event::RunEnded { step, outcome } => self.after_run(*step, outcome),
            Event::DeliverySettled { state } => self.after_delivery(*state)?,
        };
        Ok(true)
    }

    fn is_news_of_run(&self, step: StepId) -> Result<bool, ApplyError> {
        if self.open_step() == Some(step) {
            Ok(true)
        } else if self.ended.contains(&step) {
            Ok(false)
        } else {
            Err(ApplyError::UnknownStep {
                step,
                waits_for: self.waits_for(),
            })
        }
    }

    fn is_news_of_delivery(&self, state: DeliveryState) -> Result<bool, ApplyError> {
        settled_status(state)?;
        if matches!(self.stage, Stage::Delivering { .. }) {
            Ok(true)
        } else if self.settled {
            Ok(false)
        } else {
            Err(ApplyError::UnknownDelivery {
                waits_for: self.waits_for(),
            })
        }
    }

    fn waits_for(&self) -> String {
        match (self.open_step(), self.is_done()) {
            (Some(step), _) => format!("step `{step}`"),
            (None, true) => "nothing, it is done".to_owned(),
            (None, false) => "its delivery".to_owned(),
        }
    }

    /// The stage after the open run ended.
    fn after_run(&mut self, step: StepId, outcome: &Outcome) -> Stage {
        self.ended.push(step);
        let answer = Answer::of(outcome);
        // The old stage is taken apart for what it carries; the caller sets the next one.
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Primary => self.after_primary(&answer),
            Stage::Turn {
                number,
                requester,
                talk,
            } => self.after_turn(number, requester, talk, &answer),
            Stage::Announce { route, .. } => self.after_announce(route, &answer),
            unchanged @ (Stage::New | Stage::Delivering { .. } | Stage::Done) => unchanged,
        }
    }

    /// Source: D57, D63, D64, D79, run:S60, run:S63, run:S64.
    fn after_primary(&mut self, answer: &Answer<'_>) -> Stage {
        if let Answer::Said(text) = answer {
            self.latest_reply = Some((*text).to_owned());
        }
        match (self.terms.kind, answer) {
            // Nothing was to leave, so nothing was skipped either.
            (
                ExchangeKind::Notice,
                Answer::Said(_) | Answer::Failed | Answer::Empty | Answer::Skip(_),
            ) => self.end(DeliveryStatus::None),
            (
                ExchangeKind::Human | ExchangeKind::Send,
                Answer::Failed | Answer::Empty | Answer::Skip(_),
            ) => self.end(DeliveryStatus::Skipped),
            (ExchangeKind::Human, Answer::Said(text)) => self.answer_person(text),
            (ExchangeKind::Send, Answer::Said(text)) => self.answer_session(text),
        }
    }

    fn answer_person(&mut self, text: &str) -> Stage {
        match self.terms.route.clone() {
            Some(route) => Stage::Delivering {
                from: StepId::Primary,
                route,
                text: text.to_owned(),
            },
            None => self.end(DeliveryStatus::None),
        }
    }

    fn answer_session(&mut self, text: &str) -> Stage {
        if self.terms.kin || self.terms.is_to_oneself() {
            return self.end(DeliveryStatus::Skipped);
        }
        let talk = Talk {
            first: text.to_owned(),
            latest: text.to_owned(),
        };
        match self.terms.loop_partner().cloned() {
            Some(requester) => Stage::Turn {
                number: 1,
                requester,
                talk,
            },
            None => self.conclude(talk),
        }
    }

    /// Source: D31, D33, run:S67, run:S69.
    fn after_turn(
        &mut self,
        number: u32,
        requester: SessionKey,
        mut talk: Talk,
        answer: &Answer<'_>,
    ) -> Stage {
        self.turns = number;
        self.last_speaker = Some(terms::speaker(number));
        let stop_reason = match answer {
            Answer::Failed => StopReason::Error,
            Answer::Empty | Answer::Skip(SkipWord::Announce) => StopReason::Empty,
            Answer::Skip(SkipWord::Reply | SkipWord::NoReply) => StopReason::ReplySkip,
            Answer::Said(text) => {
                (*text).clone_into(&mut talk.latest);
                self.latest_reply = Some((*text).to_owned());
                if number < self.terms.turns_cap() {
                    return Stage::Turn {
                        number: number.saturating_add(1),
                        requester,
                        talk,
                    };
                }
                StopReason::MaxTurns
            },
        };
        self.stop_reason = Some(stop_reason);
        self.conclude(talk)
    }

    /// The talk is over: the target decides what its channel hears, if there is one to hear.
    ///
    /// Source: D32, D79.
    fn conclude(&mut self, talk: Talk) -> Stage {
        match self.terms.route.clone().filter(|_| self.terms.announce) {
            Some(route) => Stage::Announce { route, talk },
            None => self.end(DeliveryStatus::None),
        }
    }

    /// Source: D32, D33, run:S75, run:S76.
    fn after_announce(&mut self, route: Route, answer: &Answer<'_>) -> Stage {
        match answer {
            Answer::Failed => self.end(DeliveryStatus::Failed),
            Answer::Empty | Answer::Skip(_) => self.end(DeliveryStatus::Skipped),
            Answer::Said(text) => Stage::Delivering {
                from: StepId::Announce,
                route,
                text: text.trim().to_owned(),
            },
        }
    }

    fn after_delivery(&mut self, state: DeliveryState) -> Result<Stage, ApplyError> {
        let status = settled_status(state)?;
        self.settled = true;
        Ok(self.end(status))
    }

    const fn end(&mut self, delivery: DeliveryStatus) -> Stage {
        self.delivery = delivery;
        Stage::Done
    }
}

/// What a delivery's end is called in its flow.
///
/// Source: D79.
const fn settled_status(state: DeliveryState) -> Result<DeliveryStatus, ApplyError> {
    match state {
        DeliveryState::Delivered => Ok(DeliveryStatus::Delivered),
        DeliveryState::Blocked => Ok(DeliveryStatus::Blocked),
        DeliveryState::Failed | DeliveryState::Expired => Ok(DeliveryStatus::Failed),
        DeliveryState::Pending | DeliveryState::Sending => Err(ApplyError::NotSettled { state }),
    }
}
