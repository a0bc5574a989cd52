//! A driver that loses its memory, over a world that does a thing once however often it is asked.

use std::collections::VecDeque;

use confab_flow::exchange::{Action, Event, Exchange, Progress, RunOrder, Terms};
use confab_model::run::Outcome;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::plan::{Draws, Plan};

/// Journal rows no schedule needs: more is a machine that does not end.
const ROWS_MAX: usize = 64;

/// When the driver loses everything but the journal.
#[derive(Clone, Debug)]
pub(crate) enum Crash {
    Never,
    /// After each journal write, before anything is asked of the world.
    BeforeActions,
    /// After each journal write, when the world was asked and its answers are lost.
    AfterActions,
    /// Now and then, at either point.
    Drawn(Draws),
}

/// What befalls a drive.
#[derive(Clone, Debug)]
pub(crate) struct Mishaps {
    pub(crate) crash: Crash,
    /// Whether every event comes twice, and older ones again.
    pub(crate) repeat: bool,
}

impl Mishaps {
    pub(crate) const fn none() -> Self {
        Self {
            crash: Crash::Never,
            repeat: false,
        }
    }

    fn before_actions(&mut self) -> bool {
        match &mut self.crash {
            Crash::Never | Crash::AfterActions => false,
            Crash::BeforeActions => true,
            Crash::Drawn(draws) => draws.one_in(4),
        }
    }

    fn after_actions(&mut self) -> bool {
        match &mut self.crash {
            Crash::Never | Crash::BeforeActions => false,
            Crash::AfterActions => true,
            Crash::Drawn(draws) => draws.one_in(4),
        }
    }
}

/// What is left when an exchange is over.
#[derive(Debug, PartialEq)]
pub(crate) struct World {
    machine: Exchange,
    /// The terms, read back from JSON.
    terms: Terms,
    /// The journal, each row read back from JSON.
    journal: Vec<Event>,
    runs: Vec<(RunOrder, Outcome)>,
    deliveries: Vec<Action>,
}

impl World {
    fn new(terms: Terms) -> Self {
        Self {
            terms: stored(&terms),
            machine: Exchange::new(terms),
            journal: Vec::new(),
            runs: Vec::new(),
            deliveries: Vec::new(),
        }
    }

    pub(crate) fn end(&self) -> Progress {
        self.machine.progress()
    }

    pub(crate) fn delivered(&self) -> usize {
        self.deliveries.len()
    }

    /// Does what is asked, once for each step, and says what came of it.
    fn execute(&mut self, plan: &Plan, action: Action) -> Event {
        match action {
            Action::StartRun(order) => self.run(plan, order),
            Action::Deliver { .. } => {
                if !self.deliveries.contains(&action) {
                    self.deliveries.push(action);
                }
                Event::DeliverySettled {
                    state: plan.sends.state(),
                }
            },
        }
    }

    fn run(&mut self, plan: &Plan, order: RunOrder) -> Event {
        let step = order.step_id;
        let known = self.runs.iter().find(|(known, _)| known.step_id == step);
        if let Some((known, outcome)) = known {
            assert_eq!(*known, order, "an order that is repeated is the same order");
            return Event::RunEnded {
                step,
                outcome: outcome.clone(),
            };
        }
        let outcome = plan.outcome(step);
        self.runs.push((order, outcome.clone()));
        Event::RunEnded { step, outcome }
    }

    /// Starts again from the journal alone.
    fn restart(&mut self) -> Vec<Action> {
        let rebuilt = Exchange::replay(self.terms.clone(), &self.journal).unwrap();
        assert_eq!(
            rebuilt, self.machine,
            "a replay gives the state that was lost"
        );
        self.machine = rebuilt;
        self.machine.open_actions()
    }

    /// Takes an event in; nothing to do where it is no news.
    fn take(&mut self, event: &Event) -> Vec<Action> {
        if !self.machine.is_news(event).unwrap() {
            let before = self.machine.clone();
            assert_eq!(self.machine.apply(event), Ok(Vec::new()));
            assert_eq!(self.machine, before, "old news change nothing");
            return Vec::new();
        }
        assert!(!self.machine.is_done(), "an exchange ends once");
        assert!(self.journal.len() < ROWS_MAX, "an exchange ends");
        self.journal.push(stored(event));
        let actions = self.machine.apply(event).unwrap();
        assert!(actions.len() <= 1, "one thing at a time");
        actions
    }
}

/// Drives `plan` to its end.
pub(crate) fn drive(plan: &Plan, mishaps: &mut Mishaps) -> World {
    let mut world = World::new(plan.terms());
    let mut inbox = VecDeque::from([Event::Started]);
    while let Some(event) = inbox.pop_front() {
        let rows = world.journal.len();
        let mut actions = world.take(&event);
        let written = world.journal.len() > rows;
        if written && mishaps.before_actions() {
            inbox.clear();
            actions = world.restart();
        }
        if written && mishaps.after_actions() {
            inbox.clear();
            for action in actions {
                world.execute(plan, action);
            }
            actions = world.restart();
        }
        for action in actions {
            inbox.push_back(world.execute(plan, action));
        }
        if mishaps.repeat && written {
            repeat(&world, &mut inbox);
        }
    }
    for event in world.journal.clone() {
        assert_eq!(world.take(&event), [], "{plan:?}");
    }
    assert!(
        world.machine.is_done(),
        "an exchange that waits for nothing is done: {plan:?}"
    );
    assert_eq!(world.machine.open_actions(), [], "{plan:?}");
    world
}

/// Puts in once more: what waits, what was written last, and the two oldest rows.
fn repeat(world: &World, inbox: &mut VecDeque<Event>) {
    let waiting: Vec<Event> = inbox.iter().cloned().collect();
    inbox.extend(waiting);
    for event in world.journal.iter().take(2).chain(world.journal.last()) {
        inbox.push_front(event.clone());
    }
}

/// What a store gives back for `value`.
fn stored<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}
