//! What a page of messages costs: a transcript of 1,000,000 messages (about 1 GB) behind a real
//! server on a loopback socket, read at its end, in the middle and at its very beginning, with tool
//! messages and without, at 1 and at 64 clients; beside a transcript of 1,000 messages, and beside an
//! echo of answers of the same size over the same transport. It tells how much more memory the
//! process needed for the large transcript. Also the ends of 200 transcripts, searches, and appends
//! beside rows in a plain SQLite table.
//!
//! `cargo bench -p confab-transcript --bench history` measures, in some minutes, with 4 GB of room in
//! the directory for temporary files; with `-- --only deepest`, only the calls whose names hold
//! `deepest`; with `-- --messages 20000`, a transcript of as many. With `--smoke`, and under
//! `cargo test`, everything is small and over in seconds.

#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

mod cases;
mod filling;
mod floor;
mod speech;
mod world;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use confab_bench::asked::Asked;
use confab_bench::echo::Echo;
use confab_bench::memory::{Resident, forget_peak, mib};
use confab_bench::table::{Line, millis, print_foot, print_head, print_note};
use confab_bench::{Bench, Effort, disk};
use mimalloc::MiMalloc;
use tempfile::TempDir;
use tokio::time::Instant;

use crate::cases::{Case, Part};
use crate::world::{Size, World};

// The allocator of the service's own binary.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const FULL: (Size, Effort) = (
    Size {
        large: 1_000_000,
        small: 1_000,
        tails: 200,
    },
    Effort {
        alone: Duration::from_millis(1_500),
        together: Duration::from_millis(2_500),
        clients: 64,
    },
);

const SMOKE: (Size, Effort) = (
    Size {
        large: 3_000,
        small: 300,
        tails: 10,
    },
    Effort {
        alone: Duration::from_millis(20),
        together: Duration::from_millis(40),
        clients: 4,
    },
);

/// By how much the large transcript may raise the memory of the process, in KiB: 64 MiB.
const GROWTH_KIB_MAX: i64 = 64 * 1_024;

/// Names the directory that a process of its own fills, so that what filling needs is not in the
/// memory that is told.
const FILL: &str = "--fill";

fn main() {
    let Some(asked) = Asked::read() else {
        return;
    };
    let (mut size, effort) = if asked.is_measuring() { FULL } else { SMOKE };
    if let Some(messages) = asked.number_of("--messages") {
        size = size.with_messages(messages);
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if let Some(directory) = asked.value_of(FILL) {
        runtime.block_on(filling::fill(Path::new(directory), size));
        return;
    }
    let directory = TempDir::new().unwrap();
    fill_apart(directory.path());
    runtime.block_on(run(&asked, directory.path(), size, effort));
}

/// Starts this program again, with the same arguments, to fill the directory.
fn fill_apart(directory: &Path) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let arguments = std::env::args_os().skip(1);
    command.args(arguments).arg(FILL).arg(directory);
    assert!(command.status().unwrap().success(), "filling failed");
}

async fn run(asked: &Asked, directory: &Path, size: Size, effort: Effort) {
    let begun = Instant::now();
    let world = World::open(directory).await;
    let opened = begun.elapsed();
    let echo = Echo::start(world.tasks(), world.stopped()).await;
    let bench = Bench {
        echo: &echo,
        effort,
    };
    print_head(&format!("GetHistory: {size}"), effort.clients);
    let small = cases::of(Part::Small, size);
    let small = measure(&world, bench, asked, &small, &[]).await;
    forget_peak();
    let before = Resident::read();
    measure(&world, bench, asked, &cases::of(Part::Large, size), &small).await;
    let after = Resident::read();
    measure(&world, bench, asked, &cases::of(Part::Reads, size), &[]).await;
    let appends = cases::of(Part::Appends, size);
    let appends = measure(&world, bench, asked, &appends, &[]).await;
    print_foot(Some("the first page of the small transcript"));
    tell_memory(before, after);
    for (_, line) in appends {
        tell_append(directory, effort, &line).await;
    }
    let (p50, p99) = disk::append_and_sync(directory, 200);
    print_note(&format!(
        "append and sync of 4 KiB to a file: p50 {} ms, p99 {} ms",
        millis(p50),
        millis(p99)
    ));
    print_note(&format!("opened and served in {} ms", millis(opened)));
    world.end().await;
}

/// All the memory of this process, which is also that of the clients.
fn tell_memory(before: Resident, after: Resident) {
    let grown = after.grown_since(before);
    let verdict = if grown < GROWTH_KIB_MAX {
        "less"
    } else {
        "NOT less"
    };
    print_note(&format!(
        "memory before the large transcript: {before}; behind it: {after}"
    ));
    print_note(&format!(
        "it grew by {} MiB at most while the large transcript was read, {verdict} than {} MiB",
        mib(grown),
        mib(GROWTH_KIB_MAX)
    ));
}

/// What a client at a time appends, and what all of them do, beside as many rows in one transaction.
async fn tell_append(directory: &Path, effort: Effort, line: &Line) {
    let (alone, together) = line.rows_per_second();
    for (clients, rate) in [(1, alone), (effort.clients, together)] {
        let rows = clients * usize::try_from(line.rows).unwrap();
        let raw = floor::rows_per_second(directory, rows, effort.alone).await;
        print_note(&format!(
            "{}, {clients} at a time: {rate:.0} messages a second, {:.0}% of the {raw:.0} rows that \
             plain SQLite writes with {rows} in each transaction",
            line.name,
            100.0 * rate / raw,
        ));
    }
}

/// Measures those of the cases that are wanted; each beside the one in `bases` that it is compared
/// with.
async fn measure<'a>(
    world: &World,
    bench: Bench<'_>,
    asked: &Asked,
    cases: &'a [Case],
    bases: &[(&Case, Line)],
) -> Vec<(&'a Case, Line)> {
    let mut measured = Vec::new();
    for case in cases.iter().filter(|case| asked.wants(&case.name)) {
        let call = case.prepare(world).await;
        let (rows, bytes) = call.answer(world).await;
        let told = confab_bench::Case {
            name: &case.name,
            rows,
            bytes,
        };
        let mut line = bench.measure(told, || call.client(world)).await;
        if let Some((_, base)) = bases.iter().find(|(base, _)| base.is_base_of(case)) {
            line = line.beside(base);
        }
        line.print();
        measured.push((case, line));
    }
    measured
}
