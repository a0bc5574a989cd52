use confab_model::clock::Timestamp;

use super::*;

const KEY: &str = "agent:ops:slack:group:c1";

fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

fn session(key: &str, archived: bool) -> Session {
    let now = Timestamp::default();
    let key = SessionKey::parse(key).unwrap();
    let row = Session::fresh(key, id("present"), now);
    Session {
        archived_at: archived.then_some(now),
        ..row
    }
}

fn refusal(kind: RefusalKind, message: &str) -> Result<(), Refusal> {
    let message = message.to_owned();
    Err(Refusal { kind, message })
}

#[test]
fn a_change_has_one_word_in_either_case() {
    for change in Change::ALL {
        let loud = format!(" {} ", change.as_str().to_uppercase());
        assert_eq!(Change::parse(&loud), Some(change));
    }
    assert_eq!(Change::parse("deletion"), None);
}

#[test]
fn every_main_session_can_be_reset_and_neither_archived_nor_deleted_reg_m15_c7_c9() {
    for key in ["agent:main:main", "agent:ops:main", "global"] {
        let row = session(key, false);
        assert_eq!(check(&row, Change::Reset, None), Ok(()), "{key}");
        assert_eq!(check(&row, Change::Restore, None), Ok(()), "{key}");
        let message = "Cannot archive an agent's main session.";
        let refused = refusal(RefusalKind::Protected, message);
        assert_eq!(check(&row, Change::Archive, None), refused, "{key}");
        let message = format!("Cannot delete the main session ({key}).");
        let refused = refusal(RefusalKind::Protected, &message);
        assert_eq!(check(&row, Change::Delete, None), refused, "{key}");
    }
}

#[test]
fn an_archived_session_refuses_a_reset_and_nothing_else_reg_m16() {
    let row = session(KEY, true);
    let message = "Session \"agent:ops:slack:group:c1\" is archived. \
                   Restore it before starting new work.";
    let refused = refusal(RefusalKind::Archived, message);
    assert_eq!(check(&row, Change::Reset, None), refused);
    for change in [Change::Archive, Change::Restore, Change::Delete] {
        assert_eq!(check(&row, change, None), Ok(()), "{change:?}");
    }
}

#[test]
fn an_open_session_that_is_no_main_session_takes_every_change() {
    for change in Change::ALL {
        let row = session(KEY, false);
        assert_eq!(check(&row, change, None), Ok(()), "{change:?}");
        assert_eq!(
            check(&row, change, Some(&id("present"))),
            Ok(()),
            "{change:?}"
        );
    }
}

#[test]
fn a_stale_expectation_is_refused_with_the_change_it_was_meant_for_reg_c10() {
    let nouns = [
        (Change::Reset, "reset"),
        (Change::Archive, "archive"),
        (Change::Restore, "restore"),
        (Change::Delete, "deletion"),
    ];
    for (change, noun) in nouns {
        let message = format!("Session {KEY} changed before {noun}. Retry.");
        let refused = refusal(RefusalKind::Stale, &message);
        let row = session(KEY, false);
        assert_eq!(check(&row, change, Some(&id("former"))), refused);
    }
}

#[test]
fn what_trying_again_cannot_mend_is_named_before_a_stale_expectation() {
    let kind = |row: &Session, change| check(row, change, Some(&id("former"))).unwrap_err().kind;
    let main = session("agent:main:main", false);
    assert_eq!(kind(&main, Change::Delete), RefusalKind::Protected);
    let archived = session(KEY, true);
    assert_eq!(kind(&archived, Change::Reset), RefusalKind::Archived);
    assert_eq!(kind(&archived, Change::Delete), RefusalKind::Stale);
}
