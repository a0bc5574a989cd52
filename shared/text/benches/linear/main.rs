//! Whether what cleaning a text costs grows as the text does: sanitising and redacting, from 1 KB to
//! 4 MB, of ordinary texts and of such as would cost the square of their length if a search looked
//! twice at the same stretch.
//!
//! `cargo bench -p confab-text --bench linear` measures, in some minutes, and ends with one table; its
//! slope is that of the time over the size, both as logarithms: 1 is linear, 2 the square. With
//! `-- redact`, only what is named so. Without `--bench`, as under `cargo test`, everything is small
//! and runs once.

mod slope;
mod texts;

use std::cell::Cell;
use std::hint::black_box;
use std::time::Duration;

use confab_text::redact::Redactor;
use confab_text::sanitise::sanitise;
use criterion::measurement::{Measurement as _, WallTime};
use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};

use crate::slope::{Figure, Series, print_table};
use crate::texts::Shape;

const SIZES: [usize; 4] = [1 << 10, 1 << 14, 1 << 18, 1 << 22];
const SMOKE_SIZES: [usize; 2] = [1 << 10, 1 << 12];

/// What is done to a text; its answer is the length of what is left.
type Cleaning<'a> = &'a dyn Fn(&str) -> usize;

fn main() {
    let measures = std::env::args().any(|argument| argument == "--bench");
    let sizes: &[usize] = if measures { &SIZES } else { &SMOKE_SIZES };
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400))
        .configure_from_args();
    let redactor = Redactor::built_in();
    redactor.redact("its tables are made once");
    let sanitising = |text: &str| sanitise(text).len();
    let redacting = |text: &str| redactor.redact(text).len();
    let mut table = Vec::new();
    for shape in texts::for_the_sanitiser() {
        table.push(measured(
            &mut criterion,
            "sanitise",
            shape,
            &sanitising,
            sizes,
        ));
    }
    for shape in texts::for_redaction() {
        table.push(measured(&mut criterion, "redact", shape, &redacting, sizes));
    }
    criterion.final_summary();
    print_table(&table);
}

fn measured(
    criterion: &mut Criterion,
    verb: &str,
    (shape, text_of): Shape,
    clean: Cleaning<'_>,
    sizes: &[usize],
) -> Series {
    let name = format!("{verb} {shape}");
    let mut group = criterion.benchmark_group(&name);
    // A run of 4 MB is long enough to be taken alone.
    group.sampling_mode(SamplingMode::Flat);
    let mut figures = Vec::new();
    for size in sizes {
        let text = text_of(*size);
        let bytes = text.len();
        let shortest = Cell::new(None);
        group.throughput(Throughput::Bytes(u64::try_from(bytes).unwrap_or(u64::MAX)));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter_custom(|times| {
                let took = timed(&text, clean, times);
                let each = took / u32::try_from(times).unwrap_or(u32::MAX);
                let known = shortest.get();
                shortest.set(Some(known.map_or(each, |known: Duration| known.min(each))));
                took
            });
        });
        figures.extend(shortest.get().map(|time| Figure { bytes, time }));
    }
    group.finish();
    Series { name, figures }
}

fn timed(text: &str, clean: Cleaning<'_>, times: u64) -> Duration {
    let clock = WallTime;
    let start = clock.start();
    for _ in 0..times {
        black_box(clean(black_box(text)));
    }
    clock.end(start)
}
