//! How a command ends: the exit status for scripts, one clear paragraph for people.
//!
//! Source: contract, Command line (exit status).

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use confab_rpc::error::{Reason, RpcError, Violation};
use confab_rpc::identity::SESSION;
use serde_json::{Value, json};

use crate::render::text;

/// The exit status of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: done.
    Done,
    /// 1: no connection, or something broke.
    Failed,
    /// 2: the command line or a JSON argument cannot be understood.
    Usage,
    /// 3: the caller may not.
    Forbidden,
    /// 4: the tool, the run or the service refused or reported an error.
    Refused,
    /// 5: the time was over.
    Deadline,
}

impl Exit {
    /// The number.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Forbidden => 3,
            Self::Refused => 4,
            Self::Deadline => 5,
        }
    }

    /// What a refused call means for the caller.
    pub const fn of_reason(reason: Reason) -> Self {
        match reason {
            Reason::Visibility
            | Reason::ToolPolicy
            | Reason::SendPolicy
            | Reason::Role
            | Reason::Unauthenticated => Self::Forbidden,
            Reason::Deadline => Self::Deadline,
            Reason::Unavailable | Reason::Internal => Self::Failed,
            Reason::InvalidArgument
            | Reason::SessionNotFound
            | Reason::RecordNotFound
            | Reason::SessionArchived
            | Reason::SessionExists
            | Reason::Protected
            | Reason::SessionBusy
            | Reason::TranscriptNotEmpty
            | Reason::Ambiguous
            | Reason::ThreadTarget
            | Reason::WaitRing
            | Reason::MaxHops
            | Reason::KeyReused
            | Reason::LabelInUse
            | Reason::Limit
            | Reason::Stale => Self::Refused,
        }
    }

    /// What a tool's result means: its `status` decides, with the reason of a refused call, else
    /// whether the tool called it an error.
    pub fn of_tool_result(result: &Value, is_error: bool) -> Self {
        match result.get("status").and_then(Value::as_str) {
            Some("forbidden") => Self::Forbidden,
            Some("error") => {
                let reason = result.get("reason").and_then(Value::as_str);
                reason
                    .and_then(Reason::parse)
                    .map_or(Self::Refused, Self::of_reason)
            },
            Some("timeout") => Self::Deadline,
            Some(_) | None if is_error => Self::Refused,
            Some(_) | None => Self::Done,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a command ended without doing its work.
#[derive(Debug)]
pub struct Failure {
    /// The exit status.
    pub exit: Exit,
    /// Why, for programs: the word of a service's reason, absent for what never left this process.
    pub reason: Option<&'static str>,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The fields at fault; all of them.
    pub fields: Vec<Violation>,
    /// What to do.
    pub hint: Option<String>,
}

impl Failure {
    /// A failure told as `message`.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            reason: None,
            message: message.into(),
            fields: Vec::new(),
            hint: None,
        }
    }

    /// The command line or a JSON argument cannot be understood.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Something on this machine broke: an error and its causes in one line.
    pub fn broken(what: &str, error: &dyn std::error::Error) -> Self {
        let mut message = format!("{what}: {error}");
        let mut cause = error.source();
        while let Some(error) = cause {
            let told = error.to_string();
            if !message.ends_with(&told) {
                message.push_str(": ");
                message.push_str(&told);
            }
            cause = error.source();
        }
        Self::new(Exit::Failed, message)
    }

    /// Says what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says what to do about a refusal for this one reason.
    #[must_use]
    pub fn hint_on(self, reason: Reason, hint: impl Into<String>) -> Self {
        if self.reason == Some(reason.as_str()) {
            self.hint(hint)
        } else {
            self
        }
    }

    /// The refusal or failure that a tool answered, as that of any other call.
    pub fn of_tool_result(result: &Value) -> Self {
        let word = |name: &str| result.get(name).and_then(Value::as_str);
        let message = word("error").unwrap_or("the tool failed and did not say why");
        let Some(reason) = word("reason").and_then(Reason::parse) else {
            return Self::new(Exit::of_tool_result(result, true), message);
        };
        let mut error = RpcError::new(reason, message);
        let violations = result.get("violations").and_then(Value::as_array);
        error.violations = violations
            .into_iter()
            .flatten()
            .filter_map(violation)
            .collect();
        let wait = result.get("retryAfterMs").and_then(Value::as_u64);
        error.retry_after = wait.map(Duration::from_millis);
        Self::from(error)
    }

    /// For people: the sentence, a line for each bad field, what to do. Nothing of what a service
    /// or a file said can steer the terminal.
    pub fn for_people(&self) -> String {
        let mut told = String::from("error: ");
        match self.fields.as_slice() {
            [] => told.push_str(&text::block(&self.message)),
            [one] => push_field(&mut told, one),
            several => {
                told.push_str("several fields are wrong");
                for field in several {
                    told.push_str("\n  ");
                    push_field(&mut told, field);
                }
            },
        }
        if let Some(hint) = &self.hint {
            told.push_str("\nhint: ");
            told.push_str(&text::block(hint));
        }
        told
    }

    /// For programs: one object.
    pub fn for_programs(&self) -> Value {
        let mut error = json!({ "exit": self.exit.code(), "message": self.message });
        if let Some(error) = error.as_object_mut() {
            if let Some(reason) = self.reason {
                error.insert("reason".to_owned(), Value::from(reason));
            }
            if !self.fields.is_empty() {
                let fields = self.fields.iter();
                let fields =
                    fields.map(|one| json!({ "field": one.field, "description": one.description }));
                error.insert("fields".to_owned(), fields.collect());
            }
            if let Some(hint) = &self.hint {
                error.insert("hint".to_owned(), Value::from(hint.as_str()));
            }
        }
        json!({ "error": error })
    }
}

/// A field at fault, as a tool tells it.
fn violation(told: &Value) -> Option<Violation> {
    let field = told.get("field")?.as_str()?;
    Some(Violation::new(field, told.get("description")?.as_str()?))
}

/// Writes the field's name unless its description begins with it.
fn push_field(told: &mut String, violation: &Violation) {
    let description = text::block(&violation.description);
    if violation.field.is_empty() || description.starts_with(&violation.field) {
        told.push_str(&description);
    } else {
        write!(told, "{}: {description}", text::line(&violation.field))
            .expect("writing to a String cannot fail");
    }
}

impl From<RpcError> for Failure {
    fn from(mut error: RpcError) -> Self {
        let hint = hint_for(&error);
        let session = error
            .violations
            .iter_mut()
            .filter(|one| one.field == SESSION.as_str());
        session.for_each(|one| "--as".clone_into(&mut one.field));
        Self {
            exit: Exit::of_reason(error.reason),
            reason: Some(error.reason.as_str()),
            message: error.message,
            fields: error.violations,
            hint,
        }
    }
}

/// What to do about a refusal, where the caller's own side can do something.
fn hint_for(error: &RpcError) -> Option<String> {
    match error.reason {
        Reason::Unavailable => Some(
            "`confab up` starts a server; --endpoint or CONFAB_ENDPOINT names another".to_owned(),
        ),
        Reason::Unauthenticated => Some(
            "give a token with --token or CONFAB_TOKEN; `confab token mint` makes one".to_owned(),
        ),
        Reason::Limit => error
            .retry_after
            .map(|wait| format!("it may work again in {} s", wait.as_secs().max(1))),
        Reason::Stale => {
            Some("something changed meanwhile; the same command may work now".to_owned())
        },
        Reason::InvalidArgument
        | Reason::SessionNotFound
        | Reason::RecordNotFound
        | Reason::SessionArchived
        | Reason::SessionExists
        | Reason::Protected
        | Reason::SessionBusy
        | Reason::TranscriptNotEmpty
        | Reason::Ambiguous
        | Reason::ThreadTarget
        | Reason::WaitRing
        | Reason::MaxHops
        | Reason::Visibility
        | Reason::ToolPolicy
        | Reason::SendPolicy
        | Reason::Role
        | Reason::KeyReused
        | Reason::LabelInUse
        | Reason::Deadline
        | Reason::Internal => None,
    }
}

#[cfg(test)]
mod tests;
