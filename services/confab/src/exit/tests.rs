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

#[test]
fn a_tools_refusal_is_told_like_that_of_any_other_call() {
    let failure = Failure::of_tool_result(&json!({
        "status": "error",
        "error": "limit must be 1 or more",
        "reason": "INVALID_ARGUMENT",
        "violations": [{"field": "limit", "description": "limit must be 1 or more"}],
    }));
    assert_eq!(
        (failure.exit, failure.reason),
        (Exit::Refused, Some("INVALID_ARGUMENT"))
    );
    assert_eq!(failure.for_people(), "error: limit must be 1 or more");

    let failure = Failure::of_tool_result(&json!({
        "status": "error", "error": "slow down", "reason": "LIMIT", "retryAfterMs": 3_000,
    }));
    assert!(failure.hint.is_some_and(|hint| hint.contains("3 s")));

    let failure = Failure::of_tool_result(&json!({"status": "forbidden", "error": "no"}));
    assert_eq!((failure.exit, failure.reason), (Exit::Forbidden, None));
    let failure = Failure::of_tool_result(&json!({"status": "error", "reason": "A_LATER_ONE"}));
    assert_eq!(failure.exit, Exit::Refused);
}

#[test]
fn a_hint_is_given_for_its_reason_alone() {
    let failed = || Failure::from(RpcError::new(Reason::SessionBusy, "busy"));
    assert_eq!(failed().hint_on(Reason::SessionExists, "x").hint, None);
    let hinted = failed().hint_on(Reason::SessionBusy, "x");
    assert_eq!(hinted.hint.as_deref(), Some("x"));
}
