//! Where a command's answer goes: standard output, as people or programs want it.

use std::fmt;
use std::io::{self, ErrorKind, IsTerminal as _, Write};

use confab_config::source;
use confab_model::clock::Timestamp;
use serde_json::Value;

use super::paint::Paint;
use crate::exit::{Exit, Failure};

/// Whether anybody reads what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Somebody may.
    There,
    /// Nobody does any more, as when `head` has seen enough.
    Gone,
}

/// Standard output, and how to write to it.
pub struct Screen {
    out: Box<dyn Write + Send>,
    /// Whether programs read it.
    pub json: bool,
    /// Whether a person watches it.
    pub terminal: bool,
    /// Colours, or none.
    pub paint: Paint,
    /// The moment from which distances in time are told.
    pub now: Timestamp,
}

impl Screen {
    /// Standard output; JSON where asked for, colours only on a terminal that wants them.
    pub fn standard(json: bool, now: Timestamp) -> Self {
        let terminal = io::stdout().is_terminal();
        let wanted = source::variable("NO_COLOR").is_none()
            && source::variable("TERM").is_none_or(|name| name != "dumb");
        Self {
            out: Box::new(io::stdout()),
            json,
            terminal,
            paint: Paint::new(terminal && wanted && !json),
            now,
        }
    }

    /// A screen that writes to `out`, where no person watches.
    #[cfg(test)]
    pub(crate) fn on(out: impl Write + Send + 'static, json: bool) -> Self {
        Self {
            out: Box::new(out),
            json,
            terminal: false,
            paint: Paint::new(false),
            now: Timestamp::from_millis(0),
        }
    }

    /// Writes one text and a line end. A reader that is gone is no failure.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn say(&mut self, text: &str) -> Result<(), Failure> {
        self.line(text).map(|_| ())
    }

    /// The same, for who writes one line after another and has to know when to stop.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn line(&mut self, text: &str) -> Result<Reader, Failure> {
        self.bytes(format!("{text}\n").as_bytes())
    }

    /// Writes bytes as they are.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<Reader, Failure> {
        match self.out.write_all(bytes).and_then(|()| self.out.flush()) {
            Ok(()) => Ok(Reader::There),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Reader::Gone),
            Err(error) => Err(Failure::broken("cannot write to standard output", &error)),
        }
    }

    /// Writes a JSON value: over several lines for a person, on one for a program.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn value(&mut self, value: &Value) -> Result<(), Failure> {
        if self.terminal {
            self.say(&format!("{value:#}"))
        } else {
            self.say(&value.to_string())
        }
    }

    /// Writes `record` for programs, or what `people` makes of it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn show(
        &mut self,
        record: impl FnOnce() -> Value,
        people: impl FnOnce(Paint, Timestamp) -> String,
    ) -> Result<(), Failure> {
        if self.json {
            self.value(&record())
        } else {
            let text = people(self.paint, self.now);
            self.say(&text)
        }
    }
}

impl fmt::Debug for Screen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Screen")
            .field("json", &self.json)
            .field("terminal", &self.terminal)
            .field("paint", &self.paint)
            .finish_non_exhaustive()
    }
}

/// Tells a failure on standard error and answers with its exit status.
pub fn complain(failure: &Failure, json: bool) -> Exit {
    let told = if json {
        failure.for_programs().to_string()
    } else {
        failure.for_people()
    };
    // Nobody is left to tell that standard error is closed.
    drop(writeln!(io::stderr(), "{told}"));
    failure.exit
}
