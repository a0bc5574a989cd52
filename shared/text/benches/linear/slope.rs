//! The table, and how the time grows in it.

#![expect(
    clippy::print_stdout,
    reason = "a benchmark tells what it found on standard output"
)]

use std::time::Duration;

/// One size of one text, and the shortest time that it took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    pub(crate) bytes: usize,
    pub(crate) time: Duration,
}

/// All sizes of one text.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) figures: Vec<Figure>,
}

impl Figure {
    fn nanoseconds_per_byte(self) -> f64 {
        1e9 * self.time.as_secs_f64() / number(self.bytes)
    }
}

impl Series {
    /// The slope of the line through all figures, as logarithms, by least squares.
    fn slope(&self) -> Option<f64> {
        let points = self.figures.iter().map(|figure| {
            let seconds = figure.time.as_secs_f64();
            (number(figure.bytes).ln(), seconds.ln())
        });
        let count = number(self.figures.len());
        let mean_x = points.clone().map(|(x, _)| x).sum::<f64>() / count;
        let mean_y = points.clone().map(|(_, y)| y).sum::<f64>() / count;
        let above: f64 = points
            .clone()
            .map(|(x, y)| (x - mean_x) * (y - mean_y))
            .sum();
        let below: f64 = points.map(|(x, _)| (x - mean_x).powi(2)).sum();
        (below > 0.0).then(|| above / below)
    }

    fn print(&self) {
        for (place, figure) in self.figures.iter().enumerate() {
            let is_last = place + 1 == self.figures.len();
            let slope = self.slope().filter(|_| is_last);
            println!(
                "{:<38}{:>9}{:>13}{:>9.2}{:>8.0}  {}",
                self.name,
                figure.bytes,
                format!("{:.2?}", figure.time),
                figure.nanoseconds_per_byte(),
                1e3 / figure.nanoseconds_per_byte(),
                slope.map_or_else(String::new, |slope| format!("{slope:.2}")),
            );
        }
    }
}

/// Prints every figure, and behind the last of each text its slope.
pub(crate) fn print_table(table: &[Series]) {
    println!(
        "{:<38}{:>9}{:>13}{:>9}{:>8}  slope",
        "what", "bytes", "time", "ns/byte", "MB/s"
    );
    table.iter().for_each(Series::print);
    let slopes = table
        .iter()
        .filter_map(|series| Some((series.slope()?, &series.name)));
    if let Some((slope, name)) = slopes.max_by(|one, other| one.0.total_cmp(&other.0)) {
        println!("the steepest: {name}, {slope:.2} (1 is linear, 2 the square)");
    }
}

fn number(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}
