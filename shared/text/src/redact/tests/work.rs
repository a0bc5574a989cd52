//! The work grows with the text, whatever the text is made of.

use super::super::Redactor;
use super::super::names::TABLES;
use super::super::scan::Scan;
use super::super::shapes::SHAPES;
use super::super::tokens::TOKENS;

/// Bytes of the shorter text: more than any bound on how far something is read.
const SMALL_BYTES: usize = 4 * 1024;
/// How many times as long the other text is.
const GROWTH: usize = 8;
/// How many times the work the longer text may take.
const WORK_GROWTH_MAX: usize = 10;
/// Bytes looked at for each byte of the text, at most.
const WORK_PER_BYTE_MAX: usize = 100;

fn work(piece: &str, bytes: usize) -> usize {
    let text = piece.repeat(bytes / piece.len() + 1);
    let mut work = Scan::of(&text).reader.work();
    let shown = Redactor::built_in().redact(&text);
    if shown != text {
        work += Scan::of(&shown).reader.work();
    }
    work
}

/// Beginnings, ends and turns of every family, each hostile when repeated.
const PIECES: [&str; 77] = [
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n",
    "-----END PRIVATE KEY-----",
    "://a:",
    "://:@",
    "http://a:b@",
    "\"",
    "'",
    "`",
    "\\\"",
    "\\",
    "token=",
    "token=\"",
    "token='",
    "token=\\\"",
    "\"token\":\"",
    "\"token\":",
    "token: \"",
    "token=\"token='",
    "TOKEN=",
    "TOKEN:",
    "KEY ",
    "KEY =",
    "--token ",
    "--token",
    "--token=",
    "&token=",
    "?token=a&",
    "a&b=",
    "&key=",
    "authorization: a b ",
    "authorization:",
    "Authorization: Bearer ",
    "cookie: ",
    "cookie: a=",
    "cookie:",
    "bearer ",
    "bearer",
    "eyJ",
    "eyJ.",
    ".eyJaaaaaaaaaaa.",
    "TOKEN=-----BEGIN",
    "TOKEN=-----BEGIN ",
    "TOKEN=-----BEGIN PRIVATE KEY-----",
    "\nProc-Type: -----BEGIN PRIVATE KEY-----",
    "\\nDEK-Info: -----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMIIEaaaaaaaaaaaaaaaa\n",
    "token=}",
    ",key=",
    "authorization: digest ",
    "-eyJ",
    "eyJaaaaaaaaaaa.",
    "SG.",
    "1:",
    "0",
    "123456:",
    "%",
    "%41",
    "%41=",
    "\u{200b}",
    "a\u{200b}",
    "…",
    "***",
    "discord",
    "discord.",
    " ",
    "discord.com/api/webhooks/",
    "https://hooks.slack.com/services/",
    "${API_KEY:-",
    "$API_KEY=",
    "1//0",
    "sk-a",
    "-sk-",
    "key\\\\\\",
    "FlyV1 fm_",
    "password=a,",
    "token=a&token=a",
];

#[test]
fn work_grows_no_faster_than_a_hostile_text() {
    let mut pieces: Vec<String> = PIECES.map(str::to_owned).to_vec();
    pieces.extend(TOKENS.iter().map(|token| token.prefix.to_owned()));
    pieces.extend(SHAPES.iter().map(|shape| shape.anchor.to_owned()));
    let names = TABLES.iter().flat_map(|table| table.iter());
    pieces.extend(names.map(|name| (*name).to_owned()));
    for piece in pieces {
        let (few, many) = (
            work(&piece, SMALL_BYTES),
            work(&piece, GROWTH * SMALL_BYTES),
        );
        assert!(
            many < WORK_GROWTH_MAX * few,
            "{piece:?}: {few} bytes looked at, then {many}"
        );
        assert!(
            many < WORK_PER_BYTE_MAX * GROWTH * SMALL_BYTES,
            "{piece:?}: {many} bytes looked at"
        );
    }
}
