//! Tokens that their prefix gives away.
//!
//! Source: run:R5, run:R14, run:R16.

use super::reader::{Reader, is_name, is_word};
use super::scan::Scan;
use super::spans::Cover;

/// How much of a tail is looked at to tell a token from words, in bytes: a bound on the work that a
/// text of nothing but prefixes costs.
const VERDICT_BYTES: usize = 64;
/// A tail of nothing but small letters that is shorter than this may be a word, in bytes.
const WORD_BYTES_MAX: usize = 16;
/// How far back a text is looked at for being base64, in bytes.
const BASE64_BYTES: usize = 16;
/// The length of a tail that has no upper bound.
const ANY: usize = usize::MAX;

/// What else has to hold before a prefix is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// Nothing: nobody writes the prefix by chance.
    Sure,
    /// The tail is not a chain of small words, `sk-learn-something`.
    NoChain,
    /// The tail is neither that nor one word, `am_configuration`.
    NoWords,
    /// The prefix is no part of a longer piece of base64.
    NoBase64,
}

/// One family.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    /// How it begins; case counts.
    pub(super) prefix: &'static str,
    tail: fn(u8) -> bool,
    /// Bytes of the tail, from and to.
    bytes: (usize, usize),
    guard: Guard,
}

const fn token(
    prefix: &'static str,
    tail: fn(u8) -> bool,
    bytes: (usize, usize),
    guard: Guard,
) -> Token {
    Token {
        prefix,
        tail,
        bytes,
        guard,
    }
}

/// Every family.
pub(super) const TOKENS: &[Token] = &[
    token("sk-", is_name, (8, ANY), Guard::NoChain),
    token("sk_", is_alnum, (10, ANY), Guard::NoWords),
    token("sk_live_", is_alnum, (10, ANY), Guard::Sure),
    token("sk_test_", is_alnum, (10, ANY), Guard::Sure),
    token("rk_live_", is_alnum, (10, ANY), Guard::Sure),
    token("rk_test_", is_alnum, (10, ANY), Guard::Sure),
    token("bb_live_", is_name, (10, ANY), Guard::NoWords),
    // GitHub, GitLab, Bitbucket, Atlassian
    token("ghp_", is_word, (10, ANY), Guard::Sure),
    token("gho_", is_word, (10, ANY), Guard::Sure),
    token("ghu_", is_word, (10, ANY), Guard::Sure),
    token("ghs_", is_word, (10, ANY), Guard::Sure),
    token("ghr_", is_word, (10, ANY), Guard::Sure),
    token("github_pat_", is_word, (10, ANY), Guard::Sure),
    token("glpat-", is_name, (20, ANY), Guard::Sure),
    token("gloas-", is_hex, (32, ANY), Guard::Sure),
    token("gldt-", is_name, (20, ANY), Guard::NoChain),
    token("glcbt-", is_name, (20, ANY), Guard::NoChain),
    token("glptt-", is_name, (20, ANY), Guard::NoChain),
    token("glft-", is_name, (20, ANY), Guard::NoChain),
    token("glimt-", is_name, (20, ANY), Guard::NoChain),
    token("glagent-", is_name, (20, ANY), Guard::NoChain),
    token("glwt-", is_name, (20, ANY), Guard::NoChain),
    token("glsoat-", is_name, (20, ANY), Guard::NoChain),
    token("glffct-", is_name, (20, ANY), Guard::NoChain),
    token("glrt-", is_name, (20, ANY), Guard::NoChain),
    token("glrtr-", is_name, (20, ANY), Guard::NoChain),
    token("GR1348941", is_name, (20, ANY), Guard::Sure),
    token("BBDC-", is_base64_name, (40, 50), Guard::Sure),
    token("ATBB", is_base64_name, (20, ANY), Guard::NoBase64),
    token("ATATT", is_base64_name, (20, ANY), Guard::NoBase64),
    token("ATCTT3xFfG", is_base64_name, (10, ANY), Guard::NoBase64),
    // Chat
    token("xoxa-", is_name, (10, ANY), Guard::Sure),
    token("xoxb-", is_name, (10, ANY), Guard::Sure),
    token("xoxp-", is_name, (10, ANY), Guard::Sure),
    token("xoxr-", is_name, (10, ANY), Guard::Sure),
    token("xoxs-", is_name, (10, ANY), Guard::Sure),
    token("xapp-", is_name, (10, ANY), Guard::Sure),
    token("syt_", is_word, (10, ANY), Guard::NoWords),
    // Models and search
    token("gsk_", is_name, (10, ANY), Guard::NoWords),
    token("AIza", is_name, (20, ANY), Guard::NoBase64),
    token("ya29.", is_dotted, (10, ANY), Guard::Sure),
    token("1//0", is_name, (10, ANY), Guard::NoBase64),
    token("pplx-", is_name, (10, ANY), Guard::NoWords),
    token("fal_", is_name, (10, ANY), Guard::NoWords),
    token("fc-", is_name, (10, ANY), Guard::NoWords),
    token("xai-", is_name, (30, ANY), Guard::NoChain),
    token("tvly-", is_name, (10, ANY), Guard::NoWords),
    token("exa_", is_name, (10, ANY), Guard::NoWords),
    token("hf_", is_alnum, (10, ANY), Guard::NoWords),
    token("api_org_", is_alnum, (20, ANY), Guard::NoWords),
    token("r8_", is_alnum, (10, ANY), Guard::NoWords),
    token("fw-", is_alnum, (30, ANY), Guard::Sure),
    token("fw_", is_alnum, (30, ANY), Guard::Sure),
    token("fpk_", is_alnum, (30, ANY), Guard::Sure),
    token("am_", is_name, (10, ANY), Guard::NoWords),
    token("retaindb_", is_name, (10, ANY), Guard::NoWords),
    token("hsk-", is_name, (10, ANY), Guard::NoWords),
    token("mem0_", is_name, (10, ANY), Guard::NoWords),
    token("brv_", is_name, (10, ANY), Guard::NoWords),
    token("apify_api_", is_alnum, (20, ANY), Guard::NoWords),
    // Packages and containers
    token("npm_", is_alnum, (10, ANY), Guard::NoWords),
    token("pypi-", is_name, (10, ANY), Guard::NoWords),
    token("dckr_pat_", is_name, (27, 32), Guard::Sure),
    token("dckr_oat_", is_name, (27, 32), Guard::Sure),
    // Clouds and their services
    token("AKIA", is_upper, (16, 16), Guard::NoBase64),
    token("ASIA", is_upper, (16, 16), Guard::NoBase64),
    token("AKID", is_alnum, (10, ANY), Guard::NoBase64),
    token("LTAI", is_alnum, (10, ANY), Guard::NoBase64),
    token("gAAAA", is_base64_name, (20, ANY), Guard::NoBase64),
    token("dop_v1_", is_alnum, (10, ANY), Guard::Sure),
    token("doo_v1_", is_alnum, (10, ANY), Guard::Sure),
    token("dor_v1_", is_alnum, (10, ANY), Guard::Sure),
    token("bkua_", is_alnum, (40, 40), Guard::Sure),
    token("CCIPAT_", is_word, (20, ANY), Guard::Sure),
    token("sbp_", is_hex, (40, 40), Guard::Sure),
    token("dapi", is_hex, (32, 32), Guard::NoBase64),
    token("ddp_", is_alnum, (36, 36), Guard::Sure),
    token("ddw_", is_alnum, (36, 36), Guard::Sure),
    token("glsa_", is_word, (41, 41), Guard::Sure),
    token("glc_eyJ", is_base64_name, (60, 160), Guard::Sure),
    token("nfp_", is_alnum, (36, 36), Guard::Sure),
    token("CFPAT-", is_name, (40, ANY), Guard::Sure),
    token("HRKU-AA", is_name, (20, ANY), Guard::Sure),
    token("fio-u-", is_base64_name, (40, ANY), Guard::Sure),
];

fn is_alnum(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

fn is_dotted(byte: u8) -> bool {
    is_name(byte) || byte == b'.'
}

/// Base64 of both alphabets, and what else the tokens of some use.
fn is_base64_name(byte: u8) -> bool {
    is_name(byte) || matches!(byte, b'+' | b'/' | b'=' | b'@')
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')
}

/// Hides the token of `family` whose prefix stands at `start`, if it is one.
pub(super) fn found(scan: &mut Scan<'_>, family: &Token, start: usize) {
    let tail = start + family.prefix.len();
    if scan.reader.slice(start, tail) != family.prefix || !scan.reader.begins(start) {
        return;
    }
    let (min, max) = family.bytes;
    let bound = max.saturating_add(1).min(VERDICT_BYTES.max(min + 1));
    let seen = scan.reader.run(tail, bound, family.tail);
    if seen - tail < min || !believed(&scan.reader, family, start, scan.reader.slice(tail, seen)) {
        return;
    }
    let end = scan.reader.run(seen, max.saturating_add(1), family.tail);
    if end - tail > max {
        return;
    }
    let length = scan.reader.slice(start, end).trim_end_matches('.').len();
    scan.claim(start..start + length, Cover::Masked);
}

fn believed(reader: &Reader<'_>, family: &Token, start: usize, tail: &str) -> bool {
    let small = !tail.bytes().any(is_upper);
    let chain = small && tail.contains(['-', '_']);
    match family.guard {
        Guard::Sure => true,
        Guard::NoChain => !chain,
        Guard::NoWords => !(chain || small && tail.len() < WORD_BYTES_MAX),
        Guard::NoBase64 => {
            !matches!(reader.before(start), b'+' | b'/')
                || start - reader.run_back(start, BASE64_BYTES, is_base64) < BASE64_BYTES
        },
    }
}
