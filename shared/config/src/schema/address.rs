//! Addresses of other programs, as far as a file's reader can judge them.

use serde_json::Value;

use super::findings::Class;
use super::section::any_text;

/// What [`http`] accepts, in words.
pub(super) const HTTP: &str = "an address that begins with http:// or https://";
/// What [`plain`] accepts, in words.
pub(super) const PLAIN: &str = "an address http://HOST:PORT";

/// An address of the web.
pub(super) fn http(value: &Value) -> Result<String, Class> {
    of_scheme(value, &["http://", "https://"])
}

/// An address without encryption.
pub(super) fn plain(value: &Value) -> Result<String, Class> {
    of_scheme(value, &["http://"])
}

fn of_scheme(value: &Value, schemes: &[&str]) -> Result<String, Class> {
    let address = any_text(value)?.trim();
    let rest = schemes
        .iter()
        .find_map(|scheme| address.strip_prefix(scheme));
    rest.filter(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace))
        .map(|_| address.to_owned())
        .ok_or(Class::Value)
}
