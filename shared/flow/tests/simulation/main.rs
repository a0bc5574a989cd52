//! The exchange under every schedule, with crashes and repetitions.
//!
//! A plan says what every run and the delivery will come to. The plan is driven once in peace; its
//! end is compared with what the rules say. Then it is driven again with a crash after every
//! event, or with every event twice, and must come to the same end by the same journal.

#![expect(
    clippy::unwrap_used,
    reason = "a machine that refuses its own events is a failure"
)]

mod driver;
mod plan;

use confab_flow::exchange::ExchangeKind;
use confab_model::limits::PING_PONG_TURNS_MAX;

use driver::{Crash, Mishaps, World, drive};
use plan::{Draws, Plan, Sends, Words};

/// The mishaps that every plan is driven with.
const MISHAPS: [Mishaps; 3] = [
    Mishaps {
        crash: Crash::BeforeActions,
        repeat: false,
    },
    Mishaps {
        crash: Crash::AfterActions,
        repeat: true,
    },
    Mishaps {
        crash: Crash::Never,
        repeat: true,
    },
];

/// Drives `plan` in peace and with every mishap, and checks each end.
fn check(plan: &Plan) {
    let peaceful = drive(plan, &mut Mishaps::none());
    assert_eq!(peaceful.end(), plan.expected(), "{plan:?}");
    check_deliveries(plan, &peaceful);
    for mut mishaps in MISHAPS {
        let troubled = drive(plan, &mut mishaps);
        assert_eq!(troubled, peaceful, "{mishaps:?} {plan:?}");
    }
}

fn check_deliveries(plan: &Plan, world: &World) {
    assert!(world.delivered() <= 1, "at most one delivery: {plan:?}");
    assert_eq!(world.delivered() == 1, plan.delivers(), "{plan:?}");
}

/// Every ending of a loop of at most `cap` turns: at turn 1 to `cap` in each way, and not at all.
fn loops(cap: u32) -> Vec<Vec<Words>> {
    let talk = |turns: u32| vec![Words::Say; usize::try_from(turns).unwrap()];
    let mut loops = vec![talk(cap)];
    for turn in 1..=cap {
        for ending in Words::ENDINGS {
            let mut words = talk(turn - 1);
            words.push(ending);
            loops.push(words);
        }
    }
    loops
}

/// Every last act: what the announce run says and what becomes of its delivery.
fn last_acts() -> Vec<(Words, Sends)> {
    let said = Sends::ALL.map(|sends| (Words::Say, sends));
    let unsaid = Words::ENDINGS.map(|words| (words, Sends::Delivered));
    said.into_iter().chain(unsaid).collect()
}

/// One last act of each kind: said and sent, said and blocked, silence, failure.
const LAST_ACTS: [(Words, Sends); 4] = [
    (Words::Say, Sends::Delivered),
    (Words::Say, Sends::Blocked),
    (Words::AnnounceSkip, Sends::Delivered),
    (Words::Fail, Sends::Delivered),
];

#[test]
fn every_schedule_of_a_send_ends_once_with_at_most_one_delivery() {
    let mut schedules = 0;
    for cap in 0..=PING_PONG_TURNS_MAX {
        for turns in loops(cap) {
            for (announce, sends) in LAST_ACTS {
                let plan = Plan {
                    turns: turns.clone(),
                    announce,
                    sends,
                    ..Plan::send(cap)
                };
                check(&plan);
                schedules += 1;
            }
        }
    }
    // 21 loops without an end, 210 turns that may end one in 5 ways, 4 last acts.
    assert_eq!(schedules, (21 + 210 * 5) * 4);
}

#[test]
fn every_first_and_last_act_of_every_kind_of_exchange_ends_once() {
    for primary in Words::ALL {
        for (announce, sends) in last_acts() {
            for variant in 0..Plan::VARIANTS {
                check(&Plan {
                    primary,
                    announce,
                    sends,
                    ..Plan::variant(variant)
                });
            }
        }
    }
}

#[test]
fn a_drawn_schedule_with_drawn_mishaps_ends_like_a_peaceful_one() {
    // To repeat one schedule: CONFAB_SIMULATION_SEED=<seed> cargo test -p confab-flow
    let seeds = match option_env!("CONFAB_SIMULATION_SEED") {
        Some(seed) => seed.parse().map(|seed: u64| seed..seed + 1).unwrap(),
        None => 0..10_000,
    };
    for seed in seeds {
        let mut draws = Draws::new(seed);
        let plan = Plan::drawn(&mut draws);
        let peaceful = drive(&plan, &mut Mishaps::none());
        assert_eq!(peaceful.end(), plan.expected(), "seed {seed}: {plan:?}");
        check_deliveries(&plan, &peaceful);
        let repeat = draws.one_in(2);
        let mut mishaps = Mishaps {
            crash: Crash::Drawn(draws),
            repeat,
        };
        assert_eq!(
            drive(&plan, &mut mishaps),
            peaceful,
            "seed {seed}: {plan:?}"
        );
    }
}

#[test]
fn the_drawn_schedules_reach_every_kind_of_exchange() {
    let plans: Vec<Plan> = (0..200)
        .map(|seed| Plan::drawn(&mut Draws::new(seed)))
        .collect();
    assert!(
        plans
            .iter()
            .any(|plan| plan.kind == ExchangeKind::Human && plan.delivers())
    );
    assert!(
        plans
            .iter()
            .any(|plan| plan.kind == ExchangeKind::Send && plan.delivers())
    );
    assert!(
        plans
            .iter()
            .any(|plan| plan.kind == ExchangeKind::Notice && plan.primary == Words::Say)
    );
    assert!(plans.iter().any(|plan| plan.expected().turns > 3));
}
