//! The card of a session: a few lines for people, only those that apply. It never shows a
//! credential: it is made of the row alone (B171).

use std::fmt;

use confab_model::clock::Timestamp;
use confab_model::key::SessionKind;
use confab_model::session::levels::{
    ElevatedLevel, ExecHost, FastMode, ReasoningLevel, ThinkingLevel, TraceLevel, VerboseLevel,
};
use confab_model::session::{LastRun, SendAction, Session};
use confab_rpc::wire::session::status_word;

/// What a card is made of.
pub(super) struct Card<'a> {
    pub(super) session: &'a Session,
    /// The key as the caller may call it.
    pub(super) shown_as: &'a str,
    pub(super) default_model: Option<&'a str>,
    pub(super) now: Timestamp,
}

impl fmt::Display for Card<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = [
            Some(format!("confab {}", env!("CARGO_PKG_VERSION"))),
            Some(self.model()),
            self.tokens(),
            self.context(),
            Some(self.session_line()),
            self.last_run(),
            self.execution(),
            self.activation(),
        ];
        let lines: Vec<String> = lines.into_iter().flatten().collect();
        formatter.write_str(&lines.join("\n"))
    }
}

impl Card<'_> {
    /// The model that ran last, else the one that would run; its own and the configured one beside
    /// it where they differ.
    fn model(&self) -> String {
        let own = self.session.tuning.model.as_deref();
        let ran = self.run().and_then(|run| run.model.as_deref());
        let shown = ran.or(own).or(self.default_model).unwrap_or("n/a");
        let mut notes = Vec::new();
        if let Some(own) = own.filter(|own| *own != shown) {
            notes.push(format!("override {own}"));
        } else if own.is_some() {
            notes.push("override".to_owned());
        }
        if let Some(default) = self.default_model.filter(|default| *default != shown) {
            notes.push(format!("default {default}"));
        }
        if notes.is_empty() {
            format!("🧠 Model: {shown}")
        } else {
            format!("🧠 Model: {shown} ({})", notes.join(", "))
        }
    }

    /// Unknown is absent, never 0.
    fn tokens(&self) -> Option<String> {
        let run = self.run()?;
        let (read, written) = (run.input_tokens?, run.output_tokens?);
        Some(format!("🧮 Tokens: {read} in / {written} out"))
    }

    fn context(&self) -> Option<String> {
        let total = self.run()?.total_tokens?;
        Some(format!("📚 Context: {total}/?"))
    }

    fn session_line(&self) -> String {
        let moved = match self.run() {
            Some(_) => format!("updated {}", ago(self.session.updated_at, self.now)),
            None => "no activity".to_owned(),
        };
        let archived = self.session.archived_at.map_or("", |_| " • archived");
        format!("🧵 Session: {} • {moved}{archived}", self.shown_as)
    }

    fn last_run(&self) -> Option<String> {
        let run = self.run()?;
        let word = status_word(run.state);
        let span = run.started_at.zip(run.ended_at);
        let took = span.map(|(start, end)| format!(" in {}", span_of(end.millis_since(start))));
        let took = took.unwrap_or_default();
        Some(format!("🏃 Last run: {word}{took}"))
    }

    /// The settings that are not as usual.
    fn execution(&self) -> Option<String> {
        let tuning = &self.session.tuning;
        let off = |word: &&str| *word != "off";
        let parts = [
            ("Host", tuning.exec_host.map(ExecHost::as_str)),
            ("Think", tuning.thinking_level.map(ThinkingLevel::as_str)),
            ("Fast", tuning.fast_mode.map(fast_word)),
            (
                "Verbose",
                tuning.verbose_level.map(VerboseLevel::as_str).filter(off),
            ),
            (
                "Trace",
                tuning.trace_level.map(TraceLevel::as_str).filter(off),
            ),
            (
                "Reasoning",
                tuning
                    .reasoning_level
                    .map(ReasoningLevel::as_str)
                    .filter(off),
            ),
            (
                "Elevated",
                tuning.elevated_level.map(ElevatedLevel::as_str).filter(off),
            ),
            ("Send policy", tuning.send_policy.map(SendAction::as_str)),
        ];
        let told: Vec<String> = parts
            .into_iter()
            .filter_map(|(name, word)| Some(format!("{name}: {}", word?)))
            .collect();
        (!told.is_empty()).then(|| format!("⚙️ Execution: {}", told.join(" · ")))
    }

    /// Groups only.
    fn activation(&self) -> Option<String> {
        let activation = self.session.tuning.group_activation?;
        let group = self.session.key.kind() == SessionKind::Group;
        group.then(|| format!("👥 Activation: {}", activation.as_str()))
    }

    fn run(&self) -> Option<&LastRun> {
        self.session.last_run.as_ref()
    }
}

const fn fast_word(mode: FastMode) -> &'static str {
    match mode {
        FastMode::On => "on",
        FastMode::Off => "off",
        FastMode::Auto => "auto",
    }
}

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// How long ago, in the largest whole unit.
fn ago(then: Timestamp, now: Timestamp) -> String {
    let millis = now.millis_since(then);
    if millis < SECOND {
        return "just now".to_owned();
    }
    let (count, unit) = if millis < MINUTE {
        (millis / SECOND, "s")
    } else if millis < HOUR {
        (millis / MINUTE, "m")
    } else if millis < DAY {
        (millis / HOUR, "h")
    } else {
        (millis / DAY, "d")
    };
    format!("{count}{unit} ago")
}

/// A length of time: milliseconds below a second, else seconds with a tenth.
fn span_of(millis: i64) -> String {
    if millis < SECOND {
        format!("{millis} ms")
    } else {
        format!("{}.{} s", millis / SECOND, millis % SECOND / 100)
    }
}
