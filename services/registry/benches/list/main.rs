//! What a list of sessions costs: 100,000 sessions of three tenants and 200 agents behind a real
//! registry on a loopback socket, at 1 and at 64 clients, beside an echo of answers of the same size
//! over the same transport.
//!
//! `cargo bench -p confab-registry --bench list` measures, in less than three minutes; with
//! `-- --only tree`, only the lists whose names hold `tree`; with `-- --sessions 5000`, as many
//! sessions. With `--smoke`, and under `cargo test`, everything is small and over in seconds.

#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

mod cases;
mod world;

use std::time::Duration;

use confab_bench::asked::Asked;
use confab_bench::echo::Echo;
use confab_bench::{Bench, Effort, table};
use mimalloc::MiMalloc;

use crate::cases::Case;
use crate::world::{Size, World};

// The allocator of the service's own binary.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const FULL: (Size, Effort) = (
    Size {
        sessions: 100_000,
        children: 1_000,
        branches: 10,
        leaves: 99,
    },
    Effort {
        alone: Duration::from_millis(1_500),
        together: Duration::from_millis(2_500),
        clients: 64,
    },
);

const SMOKE: (Size, Effort) = (
    Size {
        sessions: 1_500,
        children: 60,
        branches: 3,
        leaves: 5,
    },
    Effort {
        alone: Duration::from_millis(20),
        together: Duration::from_millis(40),
        clients: 4,
    },
);

fn main() {
    let Some(asked) = Asked::read() else {
        return;
    };
    let wanted = |case: &Case| asked.wants(case.name);
    let cases: Vec<Case> = cases::all().into_iter().filter(wanted).collect();
    let (mut size, effort) = if asked.is_measuring() { FULL } else { SMOKE };
    if let Some(sessions) = asked.number_of("--sessions") {
        size = size.with_sessions(sessions);
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(run(&cases, size, effort));
}

async fn run(cases: &[Case], size: Size, effort: Effort) {
    let world = World::build(size).await;
    let echo = Echo::start(world.tasks(), world.stopped()).await;
    let bench = Bench {
        echo: &echo,
        effort,
    };
    table::print_head(
        &format!("ListSessions: {}", world.describe()),
        effort.clients,
    );
    for case in cases {
        let (rows, bytes) = case.answer(&world).await;
        let measured = confab_bench::Case {
            name: case.name,
            rows,
            bytes,
        };
        bench.measure(measured, || case.call(&world)).await.print();
    }
    table::print_foot(None);
    world.end().await;
}
