//! What will happen in a simulated exchange, and how it must end by the rules.

use confab_flow::exchange::{ExchangeKind, Progress, StepId, Terms};
use confab_model::channel::Route;
use confab_model::delivery::DeliveryState;
use confab_model::flow::{DeliveryStatus, FlowState, Party, StopReason};
use confab_model::key::SessionKey;
use confab_model::limits::PING_PONG_TURNS_MAX;
use confab_model::run::{Outcome, RunError, RunState};

/// What a run comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    Say,
    ReplySkip,
    NoReply,
    AnnounceSkip,
    Blank,
    Fail,
}

impl Words {
    pub(crate) const ENDINGS: [Self; 5] = [
        Self::ReplySkip,
        Self::NoReply,
        Self::AnnounceSkip,
        Self::Blank,
        Self::Fail,
    ];
    pub(crate) const ALL: [Self; 6] = [
        Self::Say,
        Self::ReplySkip,
        Self::NoReply,
        Self::AnnounceSkip,
        Self::Blank,
        Self::Fail,
    ];

    /// The outcome, with a text of the step's own.
    pub(crate) fn outcome(self, step: StepId) -> Outcome {
        let text = match self {
            Self::Say => said(step),
            Self::ReplySkip => "REPLY_SKIP".to_owned(),
            Self::NoReply => " NO_REPLY\n".to_owned(),
            Self::AnnounceSkip => "ANNOUNCE_SKIP".to_owned(),
            Self::Blank => " \n".to_owned(),
            Self::Fail => {
                let error = RunError {
                    class: "provider_error".to_owned(),
                    message: String::new(),
                };
                return Outcome::Failed {
                    state: RunState::Failed,
                    error,
                };
            },
        };
        Outcome::Replied {
            text,
            model: None,
            usage: None,
        }
    }

    /// Why a loop ends at these words; nothing where it goes on.
    fn stop_reason(self) -> Option<StopReason> {
        match self {
            Self::Say => None,
            Self::ReplySkip | Self::NoReply => Some(StopReason::ReplySkip),
            Self::AnnounceSkip | Self::Blank => Some(StopReason::Empty),
            Self::Fail => Some(StopReason::Error),
        }
    }
}

pub(crate) fn said(step: StepId) -> String {
    format!("words of {step}")
}

/// What becomes of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sends {
    Delivered,
    Blocked,
    Failed,
    Expired,
}

impl Sends {
    pub(crate) const ALL: [Self; 4] = [Self::Delivered, Self::Blocked, Self::Failed, Self::Expired];

    pub(crate) const fn state(self) -> DeliveryState {
        match self {
            Self::Delivered => DeliveryState::Delivered,
            Self::Blocked => DeliveryState::Blocked,
            Self::Failed => DeliveryState::Failed,
            Self::Expired => DeliveryState::Expired,
        }
    }

    const fn status(self) -> DeliveryStatus {
        match self {
            Self::Delivered => DeliveryStatus::Delivered,
            Self::Blocked => DeliveryStatus::Blocked,
            Self::Failed | Self::Expired => DeliveryStatus::Failed,
        }
    }
}

/// Who the requester of a send is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    Another,
    Itself,
    Kin,
    Nobody,
}

impl Asker {
    /// Whether the answer goes back to the requester and nowhere else (D64, B016).
    const fn is_answered_only(self) -> bool {
        matches!(self, Self::Kin | Self::Itself)
    }
}

/// A whole schedule.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) kind: ExchangeKind,
    pub(crate) asker: Asker,
    pub(crate) cap: u32,
    pub(crate) routed: bool,
    pub(crate) wanted: bool,
    pub(crate) primary: Words,
    /// The words of turn 1, 2, …
    pub(crate) turns: Vec<Words>,
    pub(crate) announce: Words,
    pub(crate) sends: Sends,
}

impl Plan {
    /// How many variants there are.
    pub(crate) const VARIANTS: u32 = 48;

    /// A send in which everybody says something.
    pub(crate) fn send(cap: u32) -> Self {
        Self {
            kind: ExchangeKind::Send,
            asker: Asker::Another,
            cap,
            routed: true,
            wanted: true,
            primary: Words::Say,
            turns: vec![Words::Say; PING_PONG_TURNS_MAX.try_into().unwrap()],
            announce: Words::Say,
            sends: Sends::Delivered,
        }
    }

    /// Every combination of kind, asker, route and the caller's wish, by number.
    pub(crate) fn variant(number: u32) -> Self {
        Self {
            kind: match number % 3 {
                0 => ExchangeKind::Send,
                1 => ExchangeKind::Human,
                _ => ExchangeKind::Notice,
            },
            routed: (number / 3) & 1 == 0,
            wanted: (number / 3) & 2 == 0,
            asker: match number / 12 {
                0 => Asker::Another,
                1 => Asker::Itself,
                2 => Asker::Kin,
                _ => Asker::Nobody,
            },
            ..Self::send(2)
        }
    }

    /// A plan drawn at random.
    pub(crate) fn drawn(draws: &mut Draws) -> Self {
        // Most words are said, or no loop would get far.
        let words = |draws: &mut Draws| {
            if draws.one_in(8) {
                draws.pick(&Words::ENDINGS)
            } else {
                Words::Say
            }
        };
        Self {
            cap: draws.below(PING_PONG_TURNS_MAX + 1),
            primary: words(draws),
            turns: (0..PING_PONG_TURNS_MAX).map(|_| words(draws)).collect(),
            announce: words(draws),
            sends: draws.pick(&Sends::ALL),
            ..Self::variant(draws.below(Self::VARIANTS))
        }
    }

    pub(crate) fn terms(&self) -> Terms {
        let key = |text: &str| SessionKey::try_from(text.to_owned()).unwrap();
        let target = "agent:editor:main";
        let requester = match self.asker {
            Asker::Another | Asker::Kin => Some(key("agent:writer:main")),
            Asker::Itself => Some(key(target)),
            Asker::Nobody => None,
        };
        Terms {
            kind: self.kind,
            requester,
            requester_channel: None,
            target: key(target),
            target_channel: Some("discord".to_owned()),
            request: "please review".to_owned(),
            provenance: None,
            turns_max: self.cap,
            route: self.routed.then(|| Route {
                channel: "discord".to_owned(),
                to: "channel:42".to_owned(),
                account_id: None,
                thread_id: Some("17.5".to_owned()),
            }),
            announce: self.wanted,
            kin: self.asker == Asker::Kin,
        }
    }

    /// What the run of `step` comes to.
    pub(crate) fn outcome(&self, step: StepId) -> Outcome {
        let words = match step {
            StepId::Primary => self.primary,
            StepId::Turn(number) => *self
                .turns
                .get(usize::try_from(number - 1).unwrap())
                .unwrap(),
            StepId::Announce => self.announce,
        };
        words.outcome(step)
    }

    /// Whether a text reaches a channel's outbox.
    pub(crate) fn delivers(&self) -> bool {
        let said = self.primary == Words::Say && self.routed;
        match self.kind {
            ExchangeKind::Human => said,
            ExchangeKind::Notice => false,
            ExchangeKind::Send => {
                let announced = self.wanted && self.announce == Words::Say;
                said && announced && !self.asker.is_answered_only()
            },
        }
    }

    /// The end that the rules demand, worked out from the plan as a whole.
    pub(crate) fn expected(&self) -> Progress {
        let turns = self.loop_turns();
        let last = turns.last().copied();
        let number = u32::try_from(turns.len()).unwrap();
        let spoken = if last == Some(Words::Say) {
            number
        } else {
            number.saturating_sub(1)
        };
        let latest = if spoken == 0 {
            StepId::Primary
        } else {
            StepId::Turn(spoken)
        };
        Progress {
            state: FlowState::Done,
            turns: number,
            stop_reason: last.map(|words| words.stop_reason().unwrap_or(StopReason::MaxTurns)),
            last_speaker: last.map(|_| match number % 2 {
                1 => Party::Requester,
                _ => Party::Target,
            }),
            delivery: self.expected_delivery(),
            latest_reply: (self.primary == Words::Say).then(|| said(latest)),
        }
    }

    /// The words of the loop, up to the one that ends it.
    fn loop_turns(&self) -> &[Words] {
        let loops = self.kind == ExchangeKind::Send
            && self.asker == Asker::Another
            && self.primary == Words::Say;
        if !loops {
            return &[];
        }
        let cap = usize::try_from(self.cap).unwrap();
        let ending = self.turns.iter().position(|words| *words != Words::Say);
        self.turns
            .get(..ending.map_or(cap, |index| cap.min(index + 1)))
            .unwrap()
    }

    fn expected_delivery(&self) -> DeliveryStatus {
        let answered_only = self.kind == ExchangeKind::Send && self.asker.is_answered_only();
        let unwanted = self.kind == ExchangeKind::Send && !self.wanted;
        if self.delivers() {
            self.sends.status()
        } else if self.kind == ExchangeKind::Notice {
            DeliveryStatus::None
        } else if self.primary != Words::Say || answered_only {
            DeliveryStatus::Skipped
        } else if !self.routed || unwanted {
            DeliveryStatus::None
        } else if self.announce == Words::Fail {
            DeliveryStatus::Failed
        } else {
            DeliveryStatus::Skipped
        }
    }
}

/// Numbers drawn from a seed: the generator splitmix64.
#[derive(Clone, Debug)]
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `bound` - 1.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        u32::try_from(self.next() % u64::from(bound)).unwrap()
    }

    /// True once in `times` draws.
    pub(crate) fn one_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let index = self.below(u32::try_from(from.len()).unwrap());
        *from.get(usize::try_from(index).unwrap()).unwrap()
    }
}
