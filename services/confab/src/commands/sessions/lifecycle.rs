//! `confab sessions reset | archive | restore | delete`: the runner does it, which knows whether the
//! session has work.
//!
//! Source: D26, D56.

use confab_proto::runner::v1::{
    ArchiveSessionRequest, DeleteSessionRequest, ResetSessionRequest, RestoreSessionRequest,
};
use confab_proto::types::v1::Session;
use confab_rpc::error::Reason;
use serde_json::json;

use super::get;
use crate::cli::sessions::{ChangeSession, DeleteSession};
use crate::commands::{present, target};
use crate::connect::{Services, answer};
use crate::exit::{Exit, Failure};
use crate::render::screen::Screen;
use crate::render::{session, text};

/// Gives the key a new sessionId.
///
/// # Errors
/// When the session has work or is archived, or a service refuses or cannot be reached.
pub(super) async fn reset(
    services: &Services,
    args: ChangeSession,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let before = get(services, &args.key).await?;
    let expects = args.expect.is_some();
    let request = ResetSessionRequest {
        target: Some(target(&args.key)),
        expected_session_id: args.expect,
        force: args.force,
        idempotency_key: None,
    };
    let answered = answer(services.changing_runner().reset_session(request).await);
    let answered = answered.map_err(|failure| hinted(failure, args.force, expects))?;
    let after = present(answered.session, "the session")?;
    show(&reset_line(&before, &after), &after, screen)
}

fn reset_line(before: &Session, after: &Session) -> String {
    format!(
        "reset: {} has sessionId {} (was {})",
        after.display_key, after.session_id, before.session_id
    )
}

/// Hides a session.
///
/// # Errors
/// When the session has work or is a main session, or a service refuses or cannot be reached.
pub(super) async fn archive(
    services: &Services,
    args: ChangeSession,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let expects = args.expect.is_some();
    let request = ArchiveSessionRequest {
        target: Some(target(&args.key)),
        expected_session_id: args.expect,
        force: args.force,
        idempotency_key: None,
        patch: None,
        update_mask: None,
    };
    let answered = answer(services.changing_runner().archive_session(request).await);
    let answered = answered.map_err(|failure| hinted(failure, args.force, expects))?;
    let after = present(answered.session, "the session")?;
    show(&format!("archived: {}", after.display_key), &after, screen)
}

/// Opens an archived session again.
///
/// # Errors
/// When a service refuses or cannot be reached.
pub(super) async fn restore(
    services: &Services,
    key: &str,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let request = RestoreSessionRequest {
        target: Some(target(key)),
        idempotency_key: None,
        patch: None,
        update_mask: None,
    };
    let answered = answer(services.changing_runner().restore_session(request).await)?;
    let after = present(answered.session, "the session")?;
    show(&format!("restored: {}", after.display_key), &after, screen)
}

/// Removes a session.
///
/// # Errors
/// When the session has work or is a main session, or a service refuses or cannot be reached.
pub(super) async fn delete(
    services: &Services,
    args: DeleteSession,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let ChangeSession { key, force, expect } = args.session;
    let expects = expect.is_some();
    let before = get(services, &key).await?;
    let request = DeleteSessionRequest {
        target: Some(target(&key)),
        expected_session_id: expect,
        force,
        idempotency_key: None,
        archived_only: args.archived_only,
    };
    answer(services.changing_runner().delete_session(request).await)
        .map_err(|failure| hinted(failure, force, expects))?;
    screen.show(
        || json!({ "key": before.display_key, "deleted": true }),
        |_, _| deleted_line(&before),
    )?;
    Ok(Exit::Done)
}

/// Source: reg:C11.
fn deleted_line(before: &Session) -> String {
    let key = text::line(&before.display_key);
    format!("deleted: {key}; its messages are kept, but nobody can read them any more")
}

/// A refusal with the option that would change it: the one that ends live work, or the one that
/// names another sessionId than the session has.
fn hinted(failure: Failure, force: bool, expects: bool) -> Failure {
    let failure = if expects {
        let hint = "the session has another sessionId than --expect names, or is being changed: \
                    `confab sessions get KEY` shows what it has";
        failure.hint_on(Reason::Stale, hint)
    } else {
        failure
    };
    if force {
        return failure;
    }
    let hint = "--force aborts its work first; or wait until it is done";
    failure.hint_on(Reason::SessionBusy, hint)
}

/// One line that says what happened, and the session as it is.
fn show(what: &str, after: &Session, screen: &mut Screen) -> Result<Exit, Failure> {
    let record = session::record(after)?;
    screen.show(
        || record.into(),
        |paint, now| {
            let card = session::card_of(after, paint, now);
            format!("{}\n{card}", text::line(what))
        },
    )?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use confab_rpc::error::RpcError;

    use super::*;

    fn session(id: &str) -> Session {
        Session {
            display_key: "agent:a:main".to_owned(),
            session_id: id.to_owned(),
            ..Session::default()
        }
    }

    #[test]
    fn a_reset_tells_the_new_generation_and_the_old_one() {
        assert_eq!(
            reset_line(&session("one"), &session("two")),
            "reset: agent:a:main has sessionId two (was one)"
        );
    }

    #[test]
    fn a_delete_says_what_became_of_the_messages_and_cannot_steer_the_terminal() {
        let hostile = Session {
            display_key: "a\u{1b}[2J".to_owned(),
            ..Session::default()
        };
        let told = deleted_line(&hostile);
        assert!(told.contains("kept"), "{told}");
        assert!(!told.contains('\u{1b}'), "{told:?}");
    }

    #[test]
    fn a_busy_session_hints_at_force_unless_it_was_given() {
        let failed = |reason| Failure::from(RpcError::new(reason, "no"));
        let hint = |reason, force| hinted(failed(reason), force, false).hint;
        assert!(hint(Reason::SessionBusy, false).is_some_and(|hint| hint.contains("--force")));
        assert_eq!(hint(Reason::SessionBusy, true), None);
        assert_eq!(hint(Reason::Protected, false), None);
    }

    #[test]
    fn another_generation_than_was_expected_is_no_reason_to_repeat_the_command() {
        let failed = || Failure::from(RpcError::new(Reason::Stale, "no"));
        let hint = |expects| hinted(failed(), true, expects).hint.unwrap();
        assert!(hint(true).contains("--expect"));
        assert!(hint(false).contains("the same command may work"));
    }
}
