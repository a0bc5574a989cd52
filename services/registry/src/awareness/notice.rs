//! Notices: what a watcher is owed.

use confab_model::id::TenantId;
use confab_model::key::SessionKey;
use confab_store::page::{self, Cursor as Token};
use serde::{Deserialize, Serialize};

use super::cursor::Cursor;

/// Which notice: of whom, about whom, up to where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticeId {
    /// The tenant of both.
    pub tenant: TenantId,
    /// The session that watches.
    pub watcher: SessionKey,
    /// The session that changed.
    pub target: SessionKey,
    /// The sequence up to which the notice tells.
    pub watermark: u64,
}

impl Token for NoticeId {
    const KIND: &'static str = "notice";
}

impl NoticeId {
    /// The identifier as services pass it on.
    pub fn token(&self) -> String {
        page::encode(self)
    }

    /// The notice that a token names; `None` where no registry made it.
    pub fn of_token(token: &str) -> Option<Self> {
        page::decode(token).ok()
    }
}

/// A notice that is owed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Its place in the order in which notices came to be owed.
    pub number: u64,
    /// Which notice.
    pub id: NoticeId,
    /// The line for the watcher's prompt.
    pub text: String,
}

impl Notice {
    /// The notice owed by `cursor`.
    pub fn owed(
        number: u64,
        tenant: TenantId,
        watcher: SessionKey,
        target: SessionKey,
        cursor: Cursor,
    ) -> Self {
        let text = text(&target, cursor.last_seen());
        Self {
            number,
            id: NoticeId {
                tenant,
                watcher,
                target,
                watermark: cursor.notified(),
            },
            text,
        }
    }
}

/// The line a watcher reads; it stays the same until it is acknowledged.
///
/// Source: reg:W19.
fn text(target: &SessionKey, last_seen: u64) -> String {
    format!(
        "Session \"{target}\" changed (other actor). Reconcile before acting: session_status \
         sessionKey \"{target}\" changesSince {last_seen}."
    )
}

#[cfg(test)]
mod tests {
    use confab_model::limits::KEY_BYTES_MAX;

    use super::*;

    #[test]
    fn the_longest_keys_have_a_token_that_is_read_again() {
        let longest = |agent: &str| {
            let filler = "\"".repeat(KEY_BYTES_MAX - agent.len());
            SessionKey::parse(&format!("{agent}{filler}")).unwrap()
        };
        let id = NoticeId {
            tenant: TenantId::default(),
            watcher: longest("agent:a:"),
            target: longest("agent:b:"),
            watermark: u64::MAX,
        };
        assert_eq!(NoticeId::of_token(&id.token()), Some(id));
        assert_eq!(NoticeId::of_token("garbage"), None);
    }

    #[test]
    fn a_line_names_the_target_and_where_to_begin() {
        let key = SessionKey::parse("agent:a:main").unwrap();
        assert_eq!(
            text(&key, 10),
            "Session \"agent:a:main\" changed (other actor). Reconcile before acting: \
             session_status sessionKey \"agent:a:main\" changesSince 10.",
            "reg:W19"
        );
    }
}
