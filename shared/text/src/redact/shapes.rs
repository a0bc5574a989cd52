//! Tokens and addresses that have more of a shape than a prefix.
//!
//! Source: run:R5, run:R14, run:R15, run:R16.

use std::ops::Range;

use regex::Regex;

use super::reader::{is_name, is_word};
use super::scan::Scan;
use super::spans::Cover;

/// What may stand right before a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// Anything but a letter, a digit or `_`.
    Word,
    /// Nor `-`: a shape without a bound begins in one place of a word only.
    Name,
    /// Anything.
    Any,
    /// Anything; a subdomain and `https://` belong to the shape.
    Host,
}

/// One family.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// What gives it away; case does not matter to finding it.
    pub(super) anchor: &'static str,
    edge: Edge,
    /// How many bytes from the anchor on are looked at.
    window: usize,
    /// Matched from the anchor on; a group `secret` is all that is hidden.
    pub(super) pattern: &'static str,
}

const fn shape(anchor: &'static str, edge: Edge, window: usize, pattern: &'static str) -> Shape {
    Shape {
        anchor,
        edge,
        window,
        pattern,
    }
}

/// The window of a shape without a bound.
const ANY: usize = usize::MAX;
/// Most words with a dot between them that a shape without a bound has.
const WORDS_MAX: usize = 3;

const JWT: &str = r"^eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}";
const SENDGRID: &str = r"^SG\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}";
const DOPPLER: &str =
    r"^dp\.(?:ct|pt|sa|scim|audit|st)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}\b";
const PRIVATE_APP: &str = r"^pat-(?:eu|na)1-[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}";
const FLY: &str = r"^FlyV1 fm[A-Za-z0-9]{0,4}_[A-Za-z0-9+/=,_-]{10,}";
const GITLAB_SESSION: &str = r"^(?i:_gitlab_session)=(?<secret>[0-9A-Za-z_-]{16,128})";
const SLACK: &str = r"^(?i:hooks\.slack\.com)/(?:services|workflows|triggers)/[A-Za-z0-9+/_=-]+";
const DISCORD_HOOK: &str =
    r"^(?i:discord(?:app)?\.com)/api/(?:v[0-9]{1,2}/)?webhooks/[0-9]+/[A-Za-z0-9_-]+";
const DISCORD_BOT: &str = concat!(
    r"^(?i:discord)(?s:.{0,40}?)",
    r"(?<secret>\b[A-Za-z0-9_-]{24}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27})"
);

/// Every family.
pub(super) const SHAPES: &[Shape] = &[
    shape("eyJ", Edge::Name, ANY, JWT),
    shape("SG.", Edge::Name, ANY, SENDGRID),
    shape("dp.", Edge::Word, 128, DOPPLER),
    shape("pat-eu1-", Edge::Word, 64, PRIVATE_APP),
    shape("pat-na1-", Edge::Word, 64, PRIVATE_APP),
    shape("FlyV1 fm", Edge::Word, ANY, FLY),
    shape("_gitlab_session=", Edge::Any, 256, GITLAB_SESSION),
    shape("hooks.slack.com/", Edge::Host, ANY, SLACK),
    shape("discord.com/api/", Edge::Host, ANY, DISCORD_HOOK),
    shape("discordapp.com/api/", Edge::Host, ANY, DISCORD_HOOK),
    shape("discord", Edge::Any, 256, DISCORD_BOT),
];

/// How the addresses of webhooks begin.
const HTTPS: &str = "https://";
/// Longest name before the host of a webhook, `ptb.` and its like, in bytes.
const SUBDOMAIN_BYTES_MAX: usize = 16;

/// A family with its pattern compiled.
#[derive(Debug)]
pub(super) struct Matcher {
    shape: Shape,
    pattern: Regex,
}

impl Matcher {
    pub(super) fn of(shape: Shape) -> Self {
        let pattern = Regex::new(shape.pattern).expect("the patterns are fixed, and tested");
        Self { shape, pattern }
    }

    /// What gives the family away.
    pub(super) fn anchor(&self) -> &'static str {
        self.shape.anchor
    }

    /// Hides what has the shape at `start`.
    pub(super) fn found(&self, scan: &mut Scan<'_>, start: usize) {
        if !self.may_begin(scan, start) {
            return;
        }
        let text = scan.reader.text();
        let end = text.floor_char_boundary(start.saturating_add(self.shape.window));
        match self.secret(text.get(start..end).unwrap_or("")) {
            Some(secret) => {
                scan.reader.worked(secret.end);
                let from = match self.shape.edge {
                    Edge::Host => address_start(scan, start),
                    Edge::Word | Edge::Name | Edge::Any => start + secret.start,
                };
                scan.claim(from..start + secret.end, Cover::Masked);
            },
            None if self.shape.window == ANY => note_words(scan, start),
            None => scan.reader.worked(end - start),
        }
    }

    fn may_begin(&self, scan: &Scan<'_>, start: usize) -> bool {
        match self.shape.edge {
            Edge::Word => scan.reader.begins(start),
            Edge::Name => scan.reader.begins(start) && scan.reader.before(start) != b'-',
            Edge::Any | Edge::Host => true,
        }
    }

    fn secret(&self, window: &str) -> Option<Range<usize>> {
        // Telling that nothing matches is much cheaper than telling what does.
        if !self.pattern.is_match(window) {
            return None;
        }
        let found = self.pattern.captures(window)?;
        let secret = found.name("secret").or_else(|| found.get(0))?;
        Some(secret.range())
    }
}

/// Notes what a shape without a bound cost that failed at `start`: it fails within its last word.
fn note_words(scan: &Scan<'_>, start: usize) {
    let mut at = start;
    for _ in 0..WORDS_MAX {
        at = scan.reader.run(at, ANY, is_name) + 1;
    }
}

/// Where the address begins whose host stands at `start`.
fn address_start(scan: &Scan<'_>, start: usize) -> usize {
    let host = scan.reader.run_back(start, SUBDOMAIN_BYTES_MAX, |byte| {
        is_name(byte) || byte == b'.'
    });
    let scheme = host.saturating_sub(HTTPS.len());
    if scan.reader.slice(scheme, host) == HTTPS {
        scheme
    } else {
        start
    }
}

/// Digits of a bot's number, at least and at most.
const BOT_DIGITS: (usize, usize) = (6, 20);
/// The part of a bot's token behind its number is at least this long, in bytes.
const BOT_TAIL_BYTES_MIN: usize = 20;
/// The length of a UUID, in bytes.
const UUID_BYTES: usize = 36;

/// Hides the bot token `123456:ABC…` whose colon stands at `colon`, with `bot` before it or not.
pub(super) fn bot_token(scan: &mut Scan<'_>, colon: usize) {
    let (min, max) = BOT_DIGITS;
    let digits = scan
        .reader
        .run_back(colon, max + 1, |byte| byte.is_ascii_digit());
    if colon - digits < min || colon - digits > max {
        return;
    }
    let after_bot = scan
        .reader
        .slice(digits.saturating_sub(3), digits)
        .eq_ignore_ascii_case("bot");
    if !after_bot && !scan.reader.begins(digits) {
        return;
    }
    let end = scan.reader.run(colon + 1, ANY, is_name);
    let tail = scan.reader.slice(colon + 1, end);
    if tail.len() >= BOT_TAIL_BYTES_MIN && !is_identifier(tail) {
        scan.claim(digits..end, Cover::Masked);
    }
}

/// Whether `tail` is a UUID, a digest or a chain of small words rather than a secret.
fn is_identifier(tail: &str) -> bool {
    let hex = tail
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let digest = hex && matches!(tail.len(), 32 | UUID_BYTES | 40 | 64);
    let letters = |byte: u8| byte.is_ascii_lowercase() || !is_word(byte) || byte == b'_';
    digest || tail.contains(['-', '_']) && tail.bytes().all(letters)
}
