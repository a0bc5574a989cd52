//! What a list of sessions costs: 100,000 sessions of three tenants and 200 agents behind a real
//! registry on a loopback socket, at 1 and at 64 clients, beside an echo of answers of the same size
//! over the same transport.
//!
//! `cargo bench -p confab-registry --bench list` measures, in less than three minutes; with
//! `-- --only tree`, only the lists whose names hold `tree`. With `--smoke`, and under `cargo test`,
//! everything is small and over in seconds.

#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

mod cases;
mod echo;
mod load;
mod raw;
mod table;
mod world;

use std::time::Duration;

use mimalloc::MiMalloc;

use crate::cases::Case;
use crate::echo::Echo;
use crate::load::{Figures, Load};
use crate::table::Line;
use crate::world::{Size, World};

// The allocator of the service's own binary.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// How long each load lasts, and how many clients the heavier one has.
#[derive(Clone, Copy, Debug)]
struct Effort {
    size: Size,
    alone: Duration,
    together: Duration,
    clients: usize,
}

const FULL: Effort = Effort {
    size: Size {
        sessions: 100_000,
        children: 1_000,
        branches: 10,
        leaves: 99,
    },
    alone: Duration::from_millis(1_500),
    together: Duration::from_millis(2_500),
    clients: 64,
};

const SMOKE: Effort = Effort {
    size: Size {
        sessions: 1_500,
        children: 60,
        branches: 3,
        leaves: 5,
    },
    alone: Duration::from_millis(20),
    together: Duration::from_millis(40),
    clients: 4,
};

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| asked.iter().any(|one| one == flag);
    // A test runner that only wants names gets none.
    if has("--list") {
        return;
    }
    let measuring = has("--bench") && !has("--smoke");
    let only = asked.iter().skip_while(|one| *one != "--only").nth(1);
    let cases: Vec<Case> = cases::all()
        .into_iter()
        .filter(|case| only.is_none_or(|part| case.name.contains(part.as_str())))
        .collect();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(run(&cases, if measuring { FULL } else { SMOKE }));
}

async fn run(cases: &[Case], effort: Effort) {
    let world = World::build(effort.size).await;
    let echo = Echo::start(world.tasks(), world.stopped()).await;
    table::head(&world.describe(), effort.clients);
    for case in cases {
        table::line(&measured(&world, &echo, case, effort).await);
    }
    table::foot();
    world.end().await;
}

/// One case and its floor, one after the other, each at 1 and at many clients.
async fn measured(world: &World, echo: &Echo, case: &Case, effort: Effort) -> Line {
    let (rows, bytes) = case.answer(world).await;
    let list = |clients| {
        let calls = (0..clients).map(|_| case.call(world));
        Load::new(calls.collect())
    };
    let floor = |clients| {
        let calls = (0..clients).map(|_| echo.call(bytes));
        Load::new(calls.collect())
    };
    Line {
        name: case.name,
        rows,
        bytes,
        alone: list(1).run(effort.alone).await,
        floor_alone: floor(1).run(effort.alone / 3).await,
        together: list(effort.clients).run(effort.together).await,
        floor_together: floor(effort.clients).run(effort.together / 3).await,
    }
}
