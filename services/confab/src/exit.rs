//! How a command ends: the exit status for scripts, one clear paragraph for people.
//!
//! Source: contract, Command line (exit status).

use std::fmt::Write as _;
use std::process::ExitCode;

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
            | Reason::SessionBusy
            | Reason::Protected
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
        | Reason::SessionBusy
        | Reason::Protected
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
mod tests {
    use super::*;

    #[test]
    fn every_status_has_the_number_of_the_contract() {
        let all = [
            Exit::Done,
            Exit::Failed,
            Exit::Usage,
            Exit::Forbidden,
            Exit::Refused,
            Exit::Deadline,
        ];
        assert_eq!(all.map(Exit::code), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn what_the_caller_may_not_do_is_three_and_every_other_refusal_is_four() {
        let cases = [
            (Reason::Visibility, Exit::Forbidden),
            (Reason::Role, Exit::Forbidden),
            (Reason::SendPolicy, Exit::Forbidden),
            (Reason::Unauthenticated, Exit::Forbidden),
            (Reason::InvalidArgument, Exit::Refused),
            (Reason::SessionNotFound, Exit::Refused),
            (Reason::Limit, Exit::Refused),
            (Reason::KeyReused, Exit::Refused),
            (Reason::Deadline, Exit::Deadline),
            (Reason::Unavailable, Exit::Failed),
            (Reason::Internal, Exit::Failed),
        ];
        for (reason, exit) in cases {
            assert_eq!(Exit::of_reason(reason), exit, "{reason:?}");
            assert_eq!(
                Failure::from(RpcError::new(reason, "no")).exit,
                exit,
                "{reason:?}"
            );
        }
    }

    #[test]
    fn the_status_of_a_tool_result_decides_how_the_program_ends() {
        let cases = [
            (json!({"status": "ok"}), false, Exit::Done),
            (json!({"status": "accepted"}), false, Exit::Done),
            (json!({"status": "no_reply"}), false, Exit::Done),
            (json!({"count": 0}), false, Exit::Done),
            (json!({"status": "forbidden"}), true, Exit::Forbidden),
            (json!({"status": "error"}), true, Exit::Refused),
            (
                json!({"status": "error", "reason": "LIMIT"}),
                true,
                Exit::Refused,
            ),
            (
                json!({"status": "error", "reason": "UNAVAILABLE"}),
                true,
                Exit::Failed,
            ),
            (
                json!({"status": "error", "reason": "a later one"}),
                true,
                Exit::Refused,
            ),
            (json!({"status": "timeout"}), false, Exit::Deadline),
            (json!({"count": 0}), true, Exit::Refused),
        ];
        for (result, is_error, exit) in cases {
            assert_eq!(Exit::of_tool_result(&result, is_error), exit, "{result}");
        }
    }

    #[test]
    fn several_bad_fields_are_told_one_to_a_line() {
        let error = RpcError::invalid(vec![
            Violation::new("limit", "limit must be 1 or more; got 0"),
            Violation::new("label", "longer than 512 characters"),
        ]);
        assert_eq!(
            Failure::from(error).for_people(),
            "error: several fields are wrong\n  limit must be 1 or more; got 0\n  \
             label: longer than 512 characters"
        );
    }

    #[test]
    fn the_session_that_a_call_names_is_the_option_that_named_it() {
        let error = RpcError::invalid_field("confab-session", "the key is incomplete");
        assert_eq!(
            Failure::from(error).for_people(),
            "error: --as: the key is incomplete"
        );
    }

    #[test]
    fn a_failure_for_programs_has_its_status_reason_and_fields() {
        let error = RpcError::invalid_field("limit", "limit must be 1 or more");
        assert_eq!(
            Failure::from(error).for_programs(),
            json!({"error": {
                "exit": 4,
                "message": "limit must be 1 or more",
                "reason": "INVALID_ARGUMENT",
                "fields": [{"field": "limit", "description": "limit must be 1 or more"}],
            }})
        );
    }

    #[test]
    fn a_hostile_message_cannot_steer_the_terminal() {
        let failure = Failure::usage("\u{1b}[2Jgone\u{7}").hint("\u{9b}31m");
        assert!(
            !failure
                .for_people()
                .chars()
                .any(|c| c.is_control() && c != '\n')
        );
    }
}
