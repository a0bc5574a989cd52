//! Addresses without the secrets that may be in them.

use regex::{Captures, Regex};

/// The parts of a plain address: scheme, user, host with port, database.
///
/// It is strict on purpose: where an address is written so that a part of a password could be taken
/// for something else, nothing matches and nothing is shown.
const PARTS: &str = concat!(
    r"^(?<scheme>[a-z]+://)",
    r"(?:(?<user>[\w.~%-]+)(?::[^@/?#]*)?@)?",
    r"(?<host>(?:\[[0-9A-Fa-f:.]+\]|[\w.-]*)(?::\d+)?)",
    r"(?<path>(?:/[\w.~%-]*)*)",
    r"(?:[?#][^@]*)?$"
);

/// What stands for an address that is not shown.
const HIDDEN: &str = "(not shown)";

/// The address of a database: without password and options.
pub(super) fn database(address: &str) -> String {
    shown(address, &["scheme", "user", "host", "path"])
}

/// The address of a server: scheme, host and port alone.
pub(super) fn server(address: &str) -> String {
    shown(address, &["scheme", "host"])
}

fn shown(address: &str, parts: &[&str]) -> String {
    let pattern = Regex::new(PARTS).expect("the pattern is fixed");
    let found = pattern.captures(address);
    found.map_or_else(|| HIDDEN.to_owned(), |found| joined(&found, parts))
}

fn joined(found: &Captures<'_>, parts: &[&str]) -> String {
    let mut text = String::new();
    for part in parts {
        let Some(given) = found.name(part) else {
            continue;
        };
        text.push_str(given.as_str());
        if *part == "user" {
            text.push('@');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_shown_without_password_and_options() {
        let cases = [
            ("postgres://host/db", "postgres://host/db"),
            (
                "postgres://user@host:5432/db",
                "postgres://user@host:5432/db",
            ),
            ("postgres://user:hunter2@host/db", "postgres://user@host/db"),
            (
                "postgresql://u:hunter2@h:1/d?sslmode=require",
                "postgresql://u@h:1/d",
            ),
            ("postgres://u@h/d?password=hunter2", "postgres://u@h/d"),
            ("postgres:///db", "postgres:///db"),
            // Not written as it should be: what is what cannot be told.
            ("postgres://u:hun/ter2@h/d", HIDDEN),
            ("postgres://u:hun?ter2@h/d", HIDDEN),
            ("postgres://u:hun@ter2@h/d", HIDDEN),
            ("postgres://u@h/d?password=hun@ter2", HIDDEN),
            ("postgres://u:12?34@h/d", HIDDEN),
        ];
        for (address, expected) in cases {
            assert_eq!(database(address), expected, "{address}");
        }
    }

    #[test]
    fn a_server_is_shown_by_its_host_alone() {
        let cases = [
            ("http://collector:4317", "http://collector:4317"),
            ("http://u:hunter2@collector:4317/", "http://collector:4317"),
            (
                "http://collector/hunter2/v1?key=hunter2",
                "http://collector",
            ),
            ("http://[::1]:4317", "http://[::1]:4317"),
            ("http://hun@ter2@collector", HIDDEN),
        ];
        for (address, expected) in cases {
            assert_eq!(server(address), expected, "{address}");
        }
    }
}
