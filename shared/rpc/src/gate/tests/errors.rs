//! Refusals as statuses: what crosses the network and what does not.

use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use crate::error::{DOMAIN, Reason, RpcError, Violation, Violations};

#[test]
fn every_reason_crosses_the_network_and_comes_back() {
    for reason in Reason::ALL.iter().copied() {
        let status = Status::from(RpcError::new(reason, "why"));
        assert_eq!(status.code(), reason.code(), "{reason:?}");
        let info = status.get_details_error_info().unwrap();
        assert_eq!(
            (info.reason.as_str(), info.domain.as_str()),
            (reason.as_str(), DOMAIN)
        );
        let back = RpcError::from_status(&status);
        assert_eq!((back.reason, back.message.as_str()), (reason, "why"));
        assert_eq!(Reason::parse(reason.as_str()), Some(reason));
    }
}

#[test]
fn every_reason_of_the_contract_has_its_code() {
    let contract = [
        ("SESSION_NOT_FOUND", Code::NotFound),
        ("SESSION_ARCHIVED", Code::FailedPrecondition),
        ("SESSION_BUSY", Code::FailedPrecondition),
        ("AMBIGUOUS", Code::FailedPrecondition),
        ("VISIBILITY", Code::PermissionDenied),
        ("TOOL_POLICY", Code::PermissionDenied),
        ("SEND_POLICY", Code::PermissionDenied),
        ("ROLE", Code::PermissionDenied),
        ("KEY_REUSED", Code::AlreadyExists),
        ("LABEL_IN_USE", Code::AlreadyExists),
        ("LIMIT", Code::ResourceExhausted),
        ("STALE", Code::Aborted),
        ("UNAVAILABLE", Code::Unavailable),
        ("UNAUTHENTICATED", Code::Unauthenticated),
        ("INVALID_ARGUMENT", Code::InvalidArgument),
    ];
    for (word, code) in contract {
        assert_eq!(Reason::parse(word).map(Reason::code), Some(code), "{word}");
    }
    for word in ["THREAD_TARGET", "WAIT_RING", "MAX_HOPS"] {
        assert!(Reason::parse(word).is_some(), "{word}");
    }
}

#[test]
fn no_two_reasons_share_a_word() {
    let mut words: Vec<_> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), Reason::ALL.len());
}

#[test]
fn a_bad_request_lists_every_violation() {
    let mut violations = Violations::default();
    violations.push("limit", "limit is 0");
    violations.push("label", "label is empty");
    let kept = violations.keep(Err::<(), _>(Violation::new("kinds", "kinds is unknown")));
    assert_eq!(kept, None);
    assert_eq!(violations.keep(Ok(7)), Some(7));
    let status = Status::from(violations.finish().unwrap_err());
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(
        status.message(),
        "limit is 0; label is empty; kinds is unknown"
    );
    let told: Vec<_> = status.get_details_bad_request().unwrap().field_violations;
    let told: Vec<_> = told
        .iter()
        .map(|one| (one.field.as_str(), one.description.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("limit", "limit is 0"),
            ("label", "label is empty"),
            ("kinds", "kinds is unknown")
        ],
    );
    assert_eq!(RpcError::from_status(&status).violations.len(), 3);
}

#[test]
fn a_collection_without_violations_is_no_error() {
    assert!(Violations::default().finish().is_ok());
}

#[test]
fn a_wait_is_told_and_comes_back() {
    let wait = Duration::from_millis(1500);
    let error = RpcError::new(Reason::Limit, "too many").retry_after(wait);
    let status = Status::from(error);
    assert_eq!(
        status.get_details_retry_info().unwrap().retry_delay,
        Some(wait)
    );
    assert_eq!(RpcError::from_status(&status).retry_after, Some(wait));
}

/// Two errors deep, each with a secret.
#[derive(Debug, thiserror::Error)]
#[error("connecting to the database with password hunter2")]
struct Outer(#[source] Inner);

#[derive(Debug, thiserror::Error)]
#[error("disk /var/lib/secret is full")]
struct Inner;

#[test]
fn a_source_chain_reaches_the_log_but_never_the_status() {
    let error = RpcError::internal(Outer(Inner));
    assert_eq!(
        error.source_chain().unwrap(),
        "connecting to the database with password hunter2: disk /var/lib/secret is full",
    );
    let status = Status::from(error);
    assert_eq!(status.code(), Code::Internal);
    let details = String::from_utf8_lossy(status.details()).into_owned();
    let everything = format!("{status} {status:?} {} {details}", status.message());
    for secret in ["hunter2", "secret", "full"] {
        assert!(!everything.contains(secret), "{everything}");
    }
}

#[test]
fn a_status_of_somebody_else_is_told_by_its_code() {
    let cases = [
        (Code::NotFound, Reason::RecordNotFound),
        (Code::PermissionDenied, Reason::Role),
        (Code::Unauthenticated, Reason::Unauthenticated),
        (Code::Unavailable, Reason::Unavailable),
        (Code::DeadlineExceeded, Reason::Deadline),
        (Code::Unimplemented, Reason::Internal),
        (Code::Unknown, Reason::Internal),
    ];
    for (code, reason) in cases {
        assert_eq!(
            RpcError::from_status(&Status::new(code, "x")).reason,
            reason,
            "{code:?}"
        );
    }
}

#[test]
fn a_reason_of_another_domain_is_not_ours() {
    let details = tonic_types::ErrorDetails::with_error_info(
        "SESSION_BUSY",
        "elsewhere",
        std::collections::HashMap::<String, String>::new(),
    );
    let status = Status::with_error_details(Code::Unavailable, "x", details);
    assert_eq!(RpcError::from_status(&status).reason, Reason::Unavailable);
}
