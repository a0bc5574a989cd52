//! Text that others wrote, made safe and short enough for a terminal.
//!
//! A message or a label may hold anything, escape sequences included. Nothing of it may move the
//! cursor, change a title or reverse what a person reads: every control character becomes a visible
//! sign of its own.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Shows that something was cut off.
const ELLIPSIS: &str = "…";
/// Shows where a line ended, in a text that must stay on one line.
const LINE_END: char = '↵';
/// Stands for what has no picture of its own.
const REPLACEMENT: char = '\u{fffd}';
/// Columns of a tabulator.
const TABULATOR: &str = "    ";

/// The columns a text takes on a terminal.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text on one line: control characters shown, line ends as `↵`.
pub fn line(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.replace("\r\n", "\n").chars() {
        match letter {
            '\n' => safe.push(LINE_END),
            '\t' => safe.push(' '),
            _ => safe.push(visible(letter)),
        }
    }
    safe
}

/// The text on as many lines as it has: control characters shown, line ends kept.
pub fn block(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.replace("\r\n", "\n").chars() {
        match letter {
            '\n' => safe.push('\n'),
            '\t' => safe.push_str(TABULATOR),
            _ => safe.push(visible(letter)),
        }
    }
    safe
}

/// The first line of a text that is not blank, cut to `columns`; `…` where anything is left out.
pub fn first_line(text: &str, columns: usize) -> String {
    let trimmed = text.trim();
    let first = trimmed.lines().next().unwrap_or_default();
    let shown = line(first.trim_end());
    if first.len() == trimmed.len() {
        cut(&shown, columns)
    } else {
        cut(&(shown + " …"), columns)
    }
}

/// A text that is on one line already, cut at its end to `columns`.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = prefix(text, columns.saturating_sub(1));
    kept.push_str(ELLIPSIS);
    kept
}

/// A key or an address on one line, cut in its middle to `columns`: its ends tell most.
pub fn middle(text: &str, columns: usize) -> String {
    let shown = line(text);
    if width(&shown) <= columns {
        return shown;
    }
    let tail_columns = columns.saturating_sub(1) / 2;
    let head_columns = columns.saturating_sub(1).saturating_sub(tail_columns);
    prefix(&shown, head_columns) + ELLIPSIS + &suffix(&shown, tail_columns)
}

/// A text that is on one line already, filled up with blanks to `columns`.
pub fn pad(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    text.to_owned() + &" ".repeat(missing)
}

/// Two keys or addresses on one line, whole if they fit into `columns` together; else each gets
/// half, and what one leaves the other may use.
pub fn pair(first: &str, second: &str, columns: usize) -> (String, String) {
    let (first, second) = (line(first), line(second));
    if width(&first) + width(&second) <= columns {
        return (first, second);
    }
    let half = columns / 2;
    let room = columns.saturating_sub(width(&second).min(half));
    let first = middle(&first, room);
    let left = columns.saturating_sub(width(&first));
    (first, middle(&second, left))
}

/// A paragraph on lines of at most `columns`, each behind `indent`. A word that is longer than a
/// line is cut.
pub fn wrap(text: &str, columns: usize, indent: &str) -> String {
    let room = columns.saturating_sub(width(indent));
    let mut lines = vec![String::new()];
    for word in line(text).split_whitespace() {
        let word = cut(word, room);
        match lines.last_mut() {
            Some(last) if last.is_empty() => last.push_str(&word),
            Some(last) if width(last) + 1 + width(&word) <= room => {
                last.push(' ');
                last.push_str(&word);
            },
            Some(_) | None => lines.push(word),
        }
    }
    lines
        .iter()
        .map(|line| format!("{indent}{line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// As much from the start as fits into `columns`; what a reader takes for one letter stays whole.
fn prefix(text: &str, columns: usize) -> String {
    fitting(text.graphemes(true), columns).concat()
}

/// As much from the end as fits into `columns`.
fn suffix(text: &str, columns: usize) -> String {
    let mut kept = fitting(text.graphemes(true).rev(), columns);
    kept.reverse();
    kept.concat()
}

/// The first of the letters that fit into `columns` together.
fn fitting<'t>(letters: impl Iterator<Item = &'t str>, columns: usize) -> Vec<&'t str> {
    let mut used = 0;
    letters
        .take_while(|letter| {
            used += width(letter);
            used <= columns
        })
        .collect()
}

/// The character itself, or the sign that stands for it.
fn visible(letter: char) -> char {
    let picture = match letter {
        // The block "Control Pictures" has one for each of these, in the same order.
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(letter)),
        '\u{7f}' => Some('\u{2421}'),
        // The second set of controls, line and paragraph separators, and what reverses the
        // direction of writing.
        '\u{80}'..='\u{9f}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{feff}' => Some(REPLACEMENT),
        _ => Some(letter),
    };
    picture.unwrap_or(REPLACEMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clears the screen, changes the title, rings the bell, reverses the writing, goes back.
    const HOSTILE: &str = "a\u{1b}[2J\u{1b}]0;title\u{7}b\u{9b}31m\u{202e}c\rd\u{8}\u{0}e\u{7f}";

    #[test]
    fn nothing_that_steers_a_terminal_passes() {
        for shown in [
            line(HOSTILE),
            block(HOSTILE),
            first_line(HOSTILE, 80),
            middle(HOSTILE, 80),
        ] {
            assert!(!shown.chars().any(char::is_control), "{shown:?}");
            assert!(!shown.contains('\u{202e}'), "{shown:?}");
            assert!(
                shown.contains("␛[2J"),
                "the sequence is shown, not hidden: {shown}"
            );
        }
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        for text in ["", "Grüße, 世界 👩‍👩‍👧", "a  b"] {
            assert_eq!(line(text), text);
            assert_eq!(block(text), text);
        }
    }

    #[test]
    fn line_ends_stay_in_a_block_and_show_in_a_line() {
        assert_eq!(block("a\r\nb\n\tc"), "a\nb\n    c");
        assert_eq!(line("a\r\nb\n\tc"), "a↵b↵ c");
    }

    #[test]
    fn a_first_line_says_when_more_follows() {
        let cases = [
            ("one", 10, "one"),
            ("\n  one\ntwo", 10, "one …"),
            ("0123456789ab", 10, "012345678…"),
            ("世界世界世界", 5, "世界…"),
            ("", 5, ""),
        ];
        for (text, columns, shown) in cases {
            assert_eq!(first_line(text, columns), shown, "{text:?}");
        }
    }

    #[test]
    fn a_long_key_keeps_both_its_ends() {
        assert_eq!(middle("agent:editor:main", 20), "agent:editor:main");
        assert_eq!(
            middle("agent:editor:slack:channel:reviews", 15),
            "agent:e…reviews"
        );
    }

    #[test]
    fn a_letter_of_several_parts_is_kept_whole_or_left_out() {
        let family = "👩\u{200d}👩\u{200d}👧";
        let text = format!("{family}{family}e\u{301}e\u{301}{family}");
        assert_eq!(cut(&text, 4), format!("{family}…"));
        assert_eq!(middle(&text, 6), format!("{family}…{family}"));
        assert_eq!(middle(&text, 7), format!("{family}…e\u{301}{family}"));
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
    }

    #[test]
    fn blanks_fill_up_by_what_is_seen() {
        assert_eq!(pad("世界", 6), "世界  ");
        assert_eq!(pad("abc", 2), "abc");
    }

    #[test]
    fn a_paragraph_is_broken_between_words() {
        assert_eq!(wrap("one two  three\nfour", 9, " "), " one two\n three↵f…");
        assert_eq!(wrap("", 9, " "), " ");
    }

    #[test]
    fn of_two_keys_the_longer_one_is_cut() {
        let pair = |columns| {
            pair(
                "agent:a:main",
                "agent:editor:slack:channel:reviews",
                columns,
            )
        };
        let (whole, other) = pair(46);
        assert_eq!(
            (whole.as_str(), other.as_str()),
            ("agent:a:main", "agent:editor:slack:channel:reviews")
        );
        let (whole, cut) = pair(30);
        assert_eq!(
            (whole.as_str(), cut.as_str()),
            ("agent:a:main", "agent:edi…:reviews")
        );
        let (first, second) = super::pair(&"x".repeat(50), &"y".repeat(50), 21);
        assert_eq!((width(&first), width(&second)), (11, 10));
    }

    #[test]
    fn no_cut_is_wider_than_asked() {
        let text = "ab世界👩‍👩‍👧cd".repeat(9);
        for columns in 1..60 {
            for shown in [
                cut(&text, columns),
                middle(&text, columns),
                first_line(&text, columns),
            ] {
                assert!(width(&shown) <= columns, "{columns}: {shown}");
            }
        }
    }
}
