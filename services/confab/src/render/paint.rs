//! Colours, where there is a terminal that wants them.

use owo_colors::{OwoColorize as _, Style};

/// Colours, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    on: bool,
}

/// What a text means, and so how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A heading.
    Heading,
    /// Somebody who speaks.
    Actor,
    /// What matters less.
    Quiet,
    /// It went well.
    Good,
    /// It is under way.
    Busy,
    /// It went wrong.
    Bad,
    /// Everything else.
    Plain,
}

impl Paint {
    /// Colours if `on`.
    pub const fn new(on: bool) -> Self {
        Self { on }
    }

    /// Whether there are colours.
    pub const fn is_on(self) -> bool {
        self.on
    }

    /// The text as its tone looks. It must be safe already: see [`crate::render::text`].
    pub fn tone(self, tone: Tone, text: &str) -> String {
        if !self.on || tone == Tone::Plain || text.is_empty() {
            return text.to_owned();
        }
        let style = match tone {
            Tone::Heading => Style::new().bold(),
            Tone::Actor => Style::new().cyan(),
            Tone::Quiet => Style::new().dimmed(),
            Tone::Good => Style::new().green(),
            Tone::Busy => Style::new().yellow(),
            Tone::Bad => Style::new().red(),
            Tone::Plain => Style::new(),
        };
        text.style(style).to_string()
    }
}

/// The tone of a state's word, of runs, flows, deliveries and sessions alike.
pub fn tone_of(word: &str) -> Tone {
    match word {
        "succeeded" | "delivered" | "done" => Tone::Good,
        "failed" | "timed_out" | "cancelled" | "killed" | "interrupted" | "expired" | "blocked"
        | "timeout" | "error" => Tone::Bad,
        "none" | "skipped" | "" | "-" => Tone::Quiet,
        _ => Tone::Busy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colours_a_text_is_left_alone() {
        assert_eq!(Paint::new(false).tone(Tone::Bad, "failed"), "failed");
    }

    #[test]
    fn with_colours_a_text_ends_as_it_began() {
        let painted = Paint::new(true).tone(Tone::Bad, "failed");
        assert!(
            painted.starts_with("\u{1b}[") && painted.ends_with('m'),
            "{painted:?}"
        );
        assert!(painted.contains("failed"));
        assert_eq!(
            Paint::new(true).tone(Tone::Bad, ""),
            "",
            "nothing has no colour"
        );
    }
}
