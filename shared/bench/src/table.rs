//! The table that people read.

#![expect(clippy::print_stdout, reason = "a benchmark tells its figures")]

use std::time::Duration;

use crate::load::Figures;

/// A case and its floor.
#[derive(Clone, Debug)]
pub struct Line {
    /// What people call the case.
    pub name: String,
    /// Rows of its answer.
    pub rows: u32,
    /// Bytes of its answer.
    pub bytes: usize,
    /// One client.
    pub alone: Figures,
    /// One client of the floor.
    pub floor_alone: Figures,
    /// Many clients.
    pub together: Figures,
    /// As many clients of the floor.
    pub floor_together: Figures,
    /// How many times the p50 of the case it is compared with, alone and together.
    pub compared: Option<(f64, f64)>,
}

impl Line {
    /// The line beside another case of the same run.
    #[must_use]
    pub fn beside(self, other: &Self) -> Self {
        let alone = times(self.alone.p50, other.alone.p50);
        let together = times(self.together.p50, other.together.p50);
        Self {
            compared: Some((alone, together)),
            ..self
        }
    }

    /// Rows in a second, of one client and of many.
    pub fn rows_per_second(&self) -> (f64, f64) {
        let rows = f64::from(self.rows);
        (
            rows * self.alone.calls_per_second,
            rows * self.together.calls_per_second,
        )
    }

    /// Prints it.
    pub fn print(&self) {
        let kib = f64::from(u32::try_from(self.bytes).unwrap_or(u32::MAX)) / 1_024.0;
        let (compared_alone, compared_together) = self.compared.unzip();
        let (_, rows_per_second) = self.rows_per_second();
        let share = 100.0 * self.together.calls_per_second / self.floor_together.calls_per_second;
        println!(
            "{:<28}{:>6}{kib:>8.1}{}{}{rows_per_second:>10.0}{share:>7.0}%",
            self.name,
            self.rows,
            columns(self.alone, self.floor_alone, compared_alone),
            columns(self.together, self.floor_together, compared_together),
        );
    }
}

/// What is told of some clients.
fn columns(figures: Figures, floor: Figures, compared: Option<f64>) -> String {
    format!(
        "{:>9}{:>8}{:>8}{:>8}{:>8}",
        millis(figures.p50),
        millis(figures.p99),
        ratio(Some(times(figures.p50, floor.p50))),
        ratio(Some(times(figures.p99, floor.p99))),
        ratio(compared),
    )
}

/// Says what is measured and what the columns are.
pub fn print_head(title: &str, clients: usize) {
    println!("{title}");
    println!("times in ms; E is an echo of as many bytes over the same transport");
    println!();
    println!(
        "{:<42}{:^41}{:^59}",
        "",
        "1 client",
        format!("{clients} clients")
    );
    let columns = format!(
        "{:>9}{:>8}{:>8}{:>8}{:>8}",
        "p50", "p99", "p50/E", "p99/E", "/ base"
    );
    println!(
        "{:<28}{:>6}{:>8}{columns}{columns}{:>10}{:>8}",
        "call", "rows", "KiB", "rows/s", "of E"
    );
}

/// Says what the ratios are, and on which other line `base` stands; absent: there is none.
pub fn print_foot(base: Option<&str>) {
    println!();
    println!(
        "p50/E, p99/E: how many times the echo's; of E: calls a second, as a share of the echo's"
    );
    if let Some(base) = base {
        println!("/ base: how many times the p50 of {base}");
    }
    println!();
}

/// A sentence below the table.
pub fn print_note(note: &str) {
    println!("{note}");
}

/// A time as the table shows it.
pub fn millis(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1_000.0)
}

fn ratio(times: Option<f64>) -> String {
    times.map_or_else(|| "-".to_owned(), |times| format!("{times:.2}x"))
}

fn times(time: Duration, floor: Duration) -> f64 {
    time.as_secs_f64() / floor.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::columns;
    use crate::load::Figures;

    #[test]
    fn a_case_is_told_as_a_multiple_of_its_floor() {
        let figures = |p50, p99| Figures {
            p50: Duration::from_micros(p50),
            p99: Duration::from_micros(p99),
            calls_per_second: 1_000.0,
        };
        let told = columns(figures(300, 900), figures(100, 600), None);
        let told: Vec<&str> = told.split_whitespace().collect();
        assert_eq!(told, ["0.30", "0.90", "3.00x", "1.50x", "-"]);
    }
}
