//! The table that people read.

#![expect(clippy::print_stdout, reason = "a benchmark tells its figures")]

use std::time::Duration;

use crate::Figures;

/// A case and its floor.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) rows: u32,
    pub(crate) bytes: usize,
    pub(crate) alone: Figures,
    pub(crate) floor_alone: Figures,
    pub(crate) together: Figures,
    pub(crate) floor_together: Figures,
}

pub(crate) fn head(world: &str, clients: usize) {
    println!("ListSessions: {world}");
    println!("times in ms; E is an echo of as many bytes over the same transport");
    println!();
    println!(
        "{:<18}{:>15}{:>31}{:>36}",
        "",
        "",
        "1 client  ",
        format!("{clients} clients  ")
    );
    println!(
        "{:<18}{:>5}{:>10}{:>8}{:>8}{:>8}{:>7}{:>8}{:>8}{:>10}{:>10}",
        "list", "rows", "KiB", "p50", "p99", "E p50", "/ E", "p50", "p99", "rows/s", "of E",
    );
}

pub(crate) fn line(line: &Line) {
    let kib = f64::from(u32::try_from(line.bytes).unwrap_or(u32::MAX)) / 1_024.0;
    let times_floor = line.alone.p50.as_secs_f64() / line.floor_alone.p50.as_secs_f64();
    let rows_per_second = f64::from(line.rows) * line.together.calls_per_second;
    let share = 100.0 * line.together.calls_per_second / line.floor_together.calls_per_second;
    println!(
        "{:<18}{:>5}{:>10.1}{:>8}{:>8}{:>8}{:>6.1}x{:>8}{:>8}{:>10.0}{:>9.0}%",
        line.name,
        line.rows,
        kib,
        millis(line.alone.p50),
        millis(line.alone.p99),
        millis(line.floor_alone.p50),
        times_floor,
        millis(line.together.p50),
        millis(line.together.p99),
        rows_per_second,
        share,
    );
}

pub(crate) fn foot() {
    println!();
    println!("/ E: how many times the echo's p50; of E: calls a second as a share of the echo's");
}

fn millis(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1_000.0)
}
