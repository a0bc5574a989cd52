//! Control tokens of models: `<|…|>`.

use memchr::memchr_iter;

use super::code::Code;
use super::cuts::Cuts;
use super::scan::{rest, spend};

/// The bars of a token, ASCII and full width.
const BARS: [char; 2] = ['|', '｜'];

/// Takes out control tokens: a bracket, a bar, no further bar, a bar, a bracket.
///
/// A blank stays where one stood between two letters or digits.
///
/// Source: run:Z15, D59, B161.
pub(super) fn strip(text: &str) -> Option<String> {
    let code = Code::of(text);
    let mut cuts = Cuts::new(text);
    for start in memchr_iter(b'<', text.as_bytes()) {
        if start >= cuts.end()
            && !code.holds(start)
            && let Some(end) = token_end(text, start)
        {
            cuts.push_between_words(start..end);
        }
    }
    cuts.apply()
}

/// Where the token ends that begins at `start`. The next bar decides, so no two tokens read the
/// same stretch.
fn token_end(text: &str, start: usize) -> Option<usize> {
    let inside = rest(text, start + 1).strip_prefix(BARS)?;
    let bar = inside.find(BARS);
    spend(bar.unwrap_or(inside.len()) + 1);
    let behind = rest(inside, bar?).strip_prefix(BARS)?.strip_prefix('>')?;
    Some(text.len() - behind.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_go() {
        let cases = [
            ("<|assistant|>Hello", "Hello"),
            ("one<|im_end|>two", "one two"),
            ("one<|a|><|b|>two", "one two"),
            ("one<|a|>, two", "one, two"),
            ("<｜tool▁sep｜>x", "x"),
            ("<|<|a|>b", "<|b"),
            ("a <|b\nc|> d", "a  d"),
            ("<||>", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(
                strip(text).as_deref(),
                Some(expected),
                "run:Z15 D59 {text:?}"
            );
        }
    }

    #[test]
    fn lookalikes_and_code_stay() {
        for text in ["a <| b", "<|>", "<a|b>", "<|a|b>", "`<|a|>`", "| a |> b"] {
            assert_eq!(strip(text), None, "run:Z15 B161 {text:?}");
        }
    }
}
