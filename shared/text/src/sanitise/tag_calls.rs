//! Tool calls that begin a line and are written with tags, outside XML: the channels of one model
//! family, and `<function=name>`.
//!
//! They go before the control tokens and the tags they are made of would.

use memchr::memchr_iter;

use super::code::Code;
use super::cuts::Cuts;
use super::json::Values;
use super::scan::{Ahead, begins_line, byte, part, skip, skip_whitespace, starts_with};
use super::standalone::JSON_BYTES_MAX;

/// How far the object of a channel's call may stand behind the tool's name, in bytes.
const CHANNEL_BYTES_MAX: usize = 200;

/// Takes out `<|channel|>commentary to=name code<|message|>{…}<|call|>` and
/// `<function=name><parameter=x>…</parameter></function>`.
///
/// Source: run:Z20.
pub(super) fn strip(text: &str) -> Option<String> {
    let code = Code::of(text);
    let mut values = Values::new(text, JSON_BYTES_MAX);
    let mut function_close = Ahead::new(text, "</function>");
    let mut cuts = Cuts::new(text);
    for start in memchr_iter(b'<', text.as_bytes()) {
        if start < cuts.end() || code.holds(start) || !begins_line(text, start) {
            continue;
        }
        let end = if starts_with(text, start, "<function=") {
            function_payload(text, start).and_then(|payload| function_close.end(payload))
        } else {
            channel_payload(text, start)
                .and_then(|payload| values.end(payload))
                .map(|json| {
                    skip_word(text, skip_whitespace(text, json), "<|call|>").unwrap_or(json)
                })
        };
        if let Some(end) = end {
            cuts.push(start..end);
        }
    }
    cuts.apply()
}

fn function_payload(text: &str, start: usize) -> Option<usize> {
    let name = skip_word(text, start, "<function=")?;
    let name_end = skip(text, name, is_name);
    let inside = skip_whitespace(text, skip_word(text, name_end, ">")?);
    (name_end > name).then_some(())?;
    skip_word(text, inside, "<parameter=")
}

fn channel_payload(text: &str, start: usize) -> Option<usize> {
    let channel = skip_word(text, start, "<|start|>assistant").unwrap_or(start);
    let at = skip_whitespace(text, skip_word(text, channel, "<|channel|>")?);
    let at = skip_whitespace(text, skip_word(text, at, "commentary")?);
    let name = skip_word(text, at, "to=")?;
    let bytes = text.as_bytes().get(name..)?;
    let near = bytes.get(..CHANNEL_BYTES_MAX).unwrap_or(bytes);
    let message = memchr::memmem::find(near, b"<|message|>")? + name;
    if part(text, name..message).contains('\n') {
        return None;
    }
    let json = skip_whitespace(text, skip_word(text, message, "<|message|>")?);
    (byte(text, json) == Some(b'{')).then_some(json)
}

fn skip_word(text: &str, at: usize, word: &str) -> Option<usize> {
    starts_with(text, at, word).then(|| at + word.len())
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || "_.:-".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_go() {
        let cases = [
            (
                "A\n<|channel|>commentary to=functions.read code<|message|>{\"a\":1}<|call|>\nB",
                "A\n\nB",
            ),
            (
                "<|start|>assistant<|channel|>commentary to=r <|constrain|>json<|message|>{}",
                "",
            ),
            (
                "<function=read>\n<parameter=path>\n/x\n</parameter>\n</function>B",
                "B",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(strip(text).as_deref(), Some(expected), "run:Z20 {text:?}");
        }
    }

    #[test]
    fn other_channels_prose_and_code_stay() {
        let cases = [
            "<|channel|>final<|message|>{}",
            "see <|channel|>commentary to=r code<|message|>{}<|call|>",
            "<|channel|>commentary to=r code<|message|>{",
            "<function=read>x</function>",
            "<function=read><parameter=a>x",
            "```\n<function=read><parameter=a>x</function>\n```",
        ];
        for text in cases {
            assert_eq!(strip(text), None, "run:Z20 {text:?}");
        }
    }
}
