//! The texts that are cleaned.

use confab_vectors::hostile::SHAPES;

/// A name, and what makes a text of at least as many bytes.
pub(crate) type Shape = (&'static str, fn(usize) -> String);

const ORDINARY: [Shape; 4] = [
    ("prose", |bytes| filled(PROSE, bytes)),
    ("code", |bytes| filled(CODE, bytes)),
    ("pages of HTML", |bytes| filled(HTML, bytes)),
    ("prose, other scripts", |bytes| filled(SCRIPTS, bytes)),
];

const SECRETS: [Shape; 10] = [
    ("a secret in prose", |bytes| {
        let secret = format!("GITHUB_TOKEN={}\n", "A".repeat(30));
        filled(
            &format!("HOME=/root\n{secret}PATH=/usr/bin\n{PROSE}"),
            bytes,
        )
    }),
    ("sk-", |bytes| filled("sk-", bytes)),
    ("token=", |bytes| filled("token=", bytes)),
    ("token=\"", |bytes| filled("token=\"", bytes)),
    ("eyJ", |bytes| filled("eyJ", bytes)),
    ("BEGIN PRIVATE KEY", |bytes| {
        filled("-----BEGIN PRIVATE KEY-----", bytes)
    }),
    ("://a:", |bytes| filled("://a:", bytes)),
    ("quotes", |bytes| filled("\"", bytes)),
    ("backslashes", |bytes| filled("\\\"", bytes)),
    ("authorization:", |bytes| {
        filled("authorization: a b ", bytes)
    }),
];

const PROSE: &str = "The build failed because the lock file was stale; I ran it again, and it passed. \
    See [the log](https://example.org/log/1) for details \u{2014} nothing else \u{201c}changed\u{201d}.\n\n";
const CODE: &str = "    let mut rows: Vec<Row> = page.iter().filter(|row| row.size < limit).collect();\n    \
    if rows[0].id <= first && rows.len() > 1 {\n        return Err(Error::Order { at: rows[0].id });\n    }\n";
const HTML: &str = "<div class=\"row\"><p>One <b>bold</b> word, <a href=\"/a\">a link</a></p>\
    <table><tr><td>1</td></tr></table></div>\n";
const SCRIPTS: &str =
    "答えは次のとおりです。Ответ готов, проверьте его. 🎉👍 Η απάντηση είναι έτοιμη.\n";

/// Ordinary ones, and all the marks of what is no answer.
pub(crate) fn for_the_sanitiser() -> Vec<Shape> {
    [ORDINARY.as_slice(), &SHAPES].concat()
}

/// Ordinary ones, and the beginnings of what is a secret.
pub(crate) fn for_redaction() -> Vec<Shape> {
    [ORDINARY.as_slice(), &SECRETS].concat()
}

fn filled(part: &str, bytes: usize) -> String {
    part.repeat(bytes.div_ceil(part.len()))
}
