//! Page tokens: where the next page of a keyset-paged list begins.
//!
//! A token is opaque to clients: a version byte, the list's kind, a line feed and the cursor's
//! fields as JSON, all in URL-safe base64 without padding.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::limits::PAGE_TOKEN_BYTES_MAX;

const VERSION: u8 = 1;
const KIND_END: u8 = b'\n';

/// Where a list goes on: the values of its order's columns in the last row shown. A cursor is a
/// struct of texts, numbers and booleans, which always has a JSON form.
pub trait Cursor: Serialize + DeserializeOwned {
    /// Which list it belongs to, in letters, digits and `-`; unique within a service.
    const KIND: &'static str;
}

/// Why a page token is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageTokenError {
    /// The text was not made by this program.
    #[error(
        "pageToken is not one that a list answered: repeat the last nextPageToken unchanged, or \
         leave it out to begin at the first page"
    )]
    Malformed,

    /// The token was made by a version with other cursors.
    #[error(
        "pageToken is of version {given}, and this server reads version {VERSION}: leave it out \
         to begin at the first page"
    )]
    Version {
        /// The token's version.
        given: u8,
    },

    /// The token belongs to another list.
    #[error(
        "pageToken belongs to the list {given:?}, not to {expected:?}: use a token only with the \
         list that answered it, or leave it out to begin at the first page"
    )]
    Kind {
        /// The token's list.
        given: String,
        /// The list that was asked for.
        expected: &'static str,
    },
}

/// The token of `cursor`.
pub fn encode<C: Cursor>(cursor: &C) -> String {
    let fields = serde_json::to_vec(cursor).expect("a struct of plain fields has a JSON form");
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(C::KIND.as_bytes());
    bytes.push(KIND_END);
    bytes.extend_from_slice(&fields);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The cursor of `token`.
///
/// # Errors
/// When `token` was not made by [`encode`] for the same kind of cursor and the same version.
pub fn decode<C: Cursor>(token: &str) -> Result<C, PageTokenError> {
    if token.len() > PAGE_TOKEN_BYTES_MAX {
        return Err(PageTokenError::Malformed);
    }
    let bytes = URL_SAFE_NO_PAD
        .decode(token)
        .map_err(|_| PageTokenError::Malformed)?;
    let (&version, rest) = bytes.split_first().ok_or(PageTokenError::Malformed)?;
    // Versions are small numbers; a larger one is a text that happens to be base64.
    if version >= b' ' {
        return Err(PageTokenError::Malformed);
    }
    if version != VERSION {
        return Err(PageTokenError::Version { given: version });
    }
    let mut parts = rest.splitn(2, |&byte| byte == KIND_END);
    let (Some(kind), Some(fields)) = (parts.next(), parts.next()) else {
        return Err(PageTokenError::Malformed);
    };
    if kind != C::KIND.as_bytes() {
        return Err(wrong_kind::<C>(kind));
    }
    serde_json::from_slice(fields).map_err(|_| PageTokenError::Malformed)
}

fn wrong_kind<C: Cursor>(kind: &[u8]) -> PageTokenError {
    match str::from_utf8(kind) {
        Ok(given) => PageTokenError::Kind {
            given: given.to_owned(),
            expected: C::KIND,
        },
        Err(_) => PageTokenError::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Sessions {
        updated_at: i64,
        key: String,
    }

    impl Cursor for Sessions {
        const KIND: &'static str = "sessions";
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Runs {
        updated_at: i64,
        key: String,
    }

    impl Cursor for Runs {
        const KIND: &'static str = "runs";
    }

    #[test]
    fn a_cursor_survives_the_round_trip_in_url_safe_letters() {
        let cursor = Sessions {
            updated_at: -7,
            key: "agent:ä:\n>>>???".to_owned(),
        };
        let token = encode(&cursor);
        assert!(
            token
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        );
        assert_eq!(decode::<Sessions>(&token).unwrap(), cursor);
    }

    #[test]
    fn a_token_of_another_list_or_version_is_refused_by_name() {
        let token = encode(&Runs {
            updated_at: 1,
            key: "k".to_owned(),
        });
        let refused = decode::<Sessions>(&token).unwrap_err();
        let expected = PageTokenError::Kind {
            given: "runs".to_owned(),
            expected: "sessions",
        };
        assert_eq!(refused, expected);

        let later = URL_SAFE_NO_PAD.encode(b"\x02sessions\n{}");
        let refused = decode::<Sessions>(&later).unwrap_err();
        assert_eq!(refused, PageTokenError::Version { given: 2 });
    }

    #[test]
    fn garbage_is_refused_naming_page_token() {
        let whole = encode(&Sessions {
            updated_at: 1,
            key: "k".to_owned(),
        });
        let long = "A".repeat(PAGE_TOKEN_BYTES_MAX + 1);
        let no_fields = URL_SAFE_NO_PAD.encode(b"\x01sessions\n{}");
        let no_end = URL_SAFE_NO_PAD.encode(b"\x01sessions");
        let not_text = URL_SAFE_NO_PAD.encode(b"\x01\xff\n{}");
        for garbage in [
            "",
            "abc",
            "%",
            "AQ==",
            &whole[..whole.len() - 3],
            &long,
            &no_fields,
            &no_end,
            &not_text,
        ] {
            let refused = decode::<Sessions>(garbage).unwrap_err();
            assert_eq!(refused, PageTokenError::Malformed, "{garbage:?}");
            assert!(refused.to_string().contains("pageToken"), "{refused}");
        }
    }
}
