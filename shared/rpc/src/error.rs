//! What a call can end with besides success: one type, rendered to and read from a gRPC status.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt as _};

/// The domain of every `ErrorInfo`.
pub const DOMAIN: &str = "confab";

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident => $word:literal, $code:ident;)+) => {
        /// Why a call was refused, for programs: `ErrorInfo.reason`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reason {
            $($(#[$doc])* $variant,)+
        }

        impl Reason {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word in `ErrorInfo.reason`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The status code that goes with it.
            pub const fn code(self) -> Code {
                match self { $(Self::$variant => Code::$code),+ }
            }
        }
    };
}

reasons! {
    /// A field has a form or value that is not allowed.
    InvalidArgument => "INVALID_ARGUMENT", InvalidArgument;
    /// No session has this key, sessionId or label within the caller's reach.
    SessionNotFound => "SESSION_NOT_FOUND", NotFound;
    /// No run, flow or delivery has this identifier within the caller's reach.
    RecordNotFound => "RECORD_NOT_FOUND", NotFound;
    /// The session is archived and takes no new work (D55).
    SessionArchived => "SESSION_ARCHIVED", FailedPrecondition;
    /// The session exists with other fields than were asked for.
    SessionExists => "SESSION_EXISTS", FailedPrecondition;
    /// The session cannot be changed so: a main session is neither archived nor deleted, and an open
    /// one is not deleted where only an archived one was meant.
    Protected => "SESSION_PROTECTED", FailedPrecondition;
    /// The session to copy into has messages already.
    TranscriptNotEmpty => "TRANSCRIPT_NOT_EMPTY", FailedPrecondition;
    /// The session has live work.
    SessionBusy => "SESSION_BUSY", FailedPrecondition;
    /// The reference fits several sessions (D6).
    Ambiguous => "AMBIGUOUS", FailedPrecondition;
    /// The session is a thread, which is no target for sends (D35).
    ThreadTarget => "THREAD_TARGET", FailedPrecondition;
    /// The wait would close a ring of waits (D34).
    WaitRing => "WAIT_RING", FailedPrecondition;
    /// The chain of sends is too long (D34).
    MaxHops => "MAX_HOPS", FailedPrecondition;
    /// The caller may not see or reach the session (D12).
    Visibility => "VISIBILITY", PermissionDenied;
    /// The caller's session does not have the tool.
    ToolPolicy => "TOOL_POLICY", PermissionDenied;
    /// The send policy forbids it (D18).
    SendPolicy => "SEND_POLICY", PermissionDenied;
    /// The caller's role does not have the call.
    Role => "ROLE", PermissionDenied;
    /// The caller is not known, or its token is not valid.
    Unauthenticated => "UNAUTHENTICATED", Unauthenticated;
    /// The idempotency key was used with other content (D36).
    KeyReused => "KEY_REUSED", AlreadyExists;
    /// Another session of the agent has this label.
    LabelInUse => "LABEL_IN_USE", AlreadyExists;
    /// A limit is reached; later it may work.
    Limit => "LIMIT", ResourceExhausted;
    /// The row changed between the decision and the write.
    Stale => "STALE", Aborted;
    /// The service is stopping or cannot be reached.
    Unavailable => "UNAVAILABLE", Unavailable;
    /// The call took longer than its deadline.
    Deadline => "DEADLINE", DeadlineExceeded;
    /// Something broke inside; the log says what.
    Internal => "INTERNAL", Internal;
}

impl Reason {
    /// The reason a word names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|reason| reason.as_str() == word)
    }
}

/// One field that was given wrongly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Path of the field, as the caller wrote it, for example `timeoutSeconds`.
    pub field: String,
    /// What was given, what is allowed, what to do.
    pub description: String,
}

impl Violation {
    /// A violation of `field`.
    pub fn new(field: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            description: description.into(),
        }
    }
}

/// Why a call was refused or failed: a part for the caller and a private part for the log.
#[derive(Clone, Debug)]
pub struct RpcError {
    /// Why, for programs.
    pub reason: Reason,
    /// Why, for people.
    pub message: String,
    /// The fields at fault; all of them.
    pub violations: Vec<Violation>,
    /// When it may work, where waiting helps.
    pub retry_after: Option<Duration>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl RpcError {
    /// A refusal for `reason`, told to people as `message`.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            violations: Vec::new(),
            retry_after: None,
            source: None,
        }
    }

    /// A failure inside: the caller learns that it happened, the log learns what.
    pub fn internal(source: impl StdError + Send + Sync + 'static) -> Self {
        Self {
            source: Some(Arc::new(source)),
            ..Self::new(Reason::Internal, "internal error; see the service's log")
        }
    }

    /// Bad fields; `violations` must not be empty.
    pub fn invalid(violations: Vec<Violation>) -> Self {
        let message = violations
            .iter()
            .map(|violation| violation.description.as_str())
            .collect::<Vec<_>>()
            .join("; ");
        Self {
            violations,
            ..Self::new(Reason::InvalidArgument, message)
        }
    }

    /// One bad field.
    pub fn invalid_field(field: impl Into<String>, description: impl Into<String>) -> Self {
        Self::invalid(vec![Violation::new(field, description)])
    }

    /// Says when it may work.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// What broke inside, for the log.
    pub fn source_chain(&self) -> Option<String> {
        let mut text = String::new();
        let mut next: Option<&(dyn StdError + 'static)> = match &self.source {
            Some(source) => Some(source.as_ref()),
            None => return None,
        };
        while let Some(error) = next {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&error.to_string());
            next = error.source();
        }
        Some(text)
    }

    /// Reads a status that another service answered. A status without confab's `ErrorInfo` is told
    /// by its code.
    pub fn from_status(status: &Status) -> Self {
        let details = status.get_error_details();
        let reason = details
            .error_info()
            .filter(|info| info.domain == DOMAIN)
            .and_then(|info| Reason::parse(&info.reason))
            .unwrap_or_else(|| reason_of_code(status.code()));
        let violations = details.bad_request().map_or_else(Vec::new, |bad| {
            bad.field_violations
                .iter()
                .map(|one| Violation::new(one.field.clone(), one.description.clone()))
                .collect()
        });
        Self {
            reason,
            message: status.message().to_owned(),
            violations,
            retry_after: details.retry_info().and_then(|info| info.retry_delay),
            source: None,
        }
    }
}

const fn reason_of_code(code: Code) -> Reason {
    match code {
        Code::InvalidArgument | Code::OutOfRange => Reason::InvalidArgument,
        Code::NotFound => Reason::RecordNotFound,
        Code::AlreadyExists => Reason::KeyReused,
        Code::PermissionDenied => Reason::Role,
        Code::Unauthenticated => Reason::Unauthenticated,
        Code::ResourceExhausted => Reason::Limit,
        Code::FailedPrecondition => Reason::SessionBusy,
        Code::Aborted => Reason::Stale,
        Code::Unavailable => Reason::Unavailable,
        Code::DeadlineExceeded | Code::Cancelled => Reason::Deadline,
        Code::Ok | Code::Unknown | Code::Unimplemented | Code::Internal | Code::DataLoss => {
            Reason::Internal
        },
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl StdError for RpcError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|source| {
            let source: &(dyn StdError + 'static) = source.as_ref();
            source
        })
    }
}

impl From<RpcError> for Status {
    /// Renders the public part. The private part is logged here, once, where the error leaves the
    /// process.
    fn from(error: RpcError) -> Self {
        if let Some(chain) = error.source_chain() {
            tracing::error!(reason = error.reason.as_str(), error = %chain, "call failed");
        }
        let mut details = ErrorDetails::with_error_info(
            error.reason.as_str(),
            DOMAIN,
            HashMap::<String, String>::new(),
        );
        if !error.violations.is_empty() {
            let fields = error
                .violations
                .iter()
                .map(|one| FieldViolation::new(one.field.clone(), one.description.clone()));
            details.set_bad_request(fields.collect::<Vec<_>>());
        }
        if let Some(wait) = error.retry_after {
            details.set_retry_info(Some(wait));
        }
        Self::with_error_details(error.reason.code(), error.message, details)
    }
}

/// Collects violations so that all are told together.
#[derive(Debug, Default)]
pub struct Violations(Vec<Violation>);

impl Violations {
    /// Notes a violation of `field`.
    pub fn push(&mut self, field: impl Into<String>, description: impl Into<String>) {
        self.0.push(Violation::new(field, description));
    }

    /// Keeps the value of a result, or notes its violation.
    pub fn keep<T>(&mut self, result: Result<T, Violation>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(violation) => {
                self.0.push(violation);
                None
            },
        }
    }

    /// Whether nothing was noted.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Ends the collection.
    ///
    /// # Errors
    /// When anything was noted.
    pub fn finish(self) -> Result<(), RpcError> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(RpcError::invalid(self.0))
        }
    }
}
