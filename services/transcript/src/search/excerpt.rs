//! The words around a hit.

use std::collections::VecDeque;

use unicode_segmentation::GraphemeCursor;

use crate::limits::{CLUSTER_BYTES_MAX, EXCERPT_LEAD_UNITS, EXCERPT_UNITS_MAX};
use crate::search::query::Query;
use crate::search::words::words;

/// What stands where an excerpt is cut.
const CUT: char = '…';

/// `text` on one line: every run of white space and control characters is one blank.
pub fn one_line(text: &str) -> String {
    let is_gap = |character: char| character.is_whitespace() || character.is_control();
    let parts: Vec<&str> = text.split(is_gap).filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

/// At most [`EXCERPT_UNITS_MAX`] UTF-16 units of `line` around the first place where a term of
/// `query` stands, or from its beginning; no visible character is split.
///
/// Source: D77.
pub fn excerpt(line: &str, query: &Query) -> String {
    // The cut marks count too, one unit each.
    let room = EXCERPT_UNITS_MAX.saturating_sub(2);
    if fits(line, EXCERPT_UNITS_MAX) {
        return line.to_owned();
    }
    let hit = first_hit(line, query).unwrap_or_default();
    let (before, behind) = line.split_at_checked(hit).unwrap_or(("", line));
    // Near the end of the line there is more room in front of the hit.
    let lead = room
        .saturating_sub(units_up_to(behind, room))
        .max(EXCERPT_LEAD_UNITS);
    let start = boundary(line, hit.saturating_sub(back(before, lead)));
    let rest = line.get(start..).unwrap_or_default();
    let end = boundary(line, start.saturating_add(forward(rest, room)));
    let mut cut = String::new();
    if start > 0 {
        cut.push(CUT);
    }
    cut.push_str(line.get(start..end).unwrap_or_default());
    if end < line.len() {
        cut.push(CUT);
    }
    cut
}

/// Where the first term begins, in bytes.
fn first_hit(line: &str, query: &Query) -> Option<usize> {
    let mut words = words(line);
    let mut window = VecDeque::new();
    loop {
        while window.len() < query.longest()
            && let Some(word) = words.next()
        {
            window.push_back(word);
        }
        let first = window.front()?;
        if query.begins(&window.iter()) {
            return Some(first.at.start);
        }
        window.pop_front();
    }
}

fn fits(text: &str, units: usize) -> bool {
    units_up_to(text, units.saturating_add(1)) <= units
}

/// The UTF-16 units of `text`, counted no further than `most`.
fn units_up_to(text: &str, most: usize) -> usize {
    text.encode_utf16().take(most).count()
}

/// The bytes at the end of `text` that are at most so many UTF-16 units.
fn back(text: &str, units: usize) -> usize {
    bytes_of(text.chars().rev(), units)
}

/// The bytes at the beginning of `text` that are at most so many UTF-16 units.
fn forward(text: &str, units: usize) -> usize {
    bytes_of(text.chars(), units)
}

fn bytes_of(characters: impl Iterator<Item = char>, units: usize) -> usize {
    let mut left = units;
    let mut bytes: usize = 0;
    for character in characters {
        let Some(rest) = left.checked_sub(character.len_utf16()) else {
            break;
        };
        left = rest;
        bytes = bytes.saturating_add(character.len_utf8());
    }
    bytes
}

/// The start of the visible character that `at` lies in. A flood of marks is one endless visible
/// character, and is cut anywhere.
fn boundary(text: &str, at: usize) -> usize {
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    if cursor.is_boundary(text, 0) == Ok(true) {
        return at;
    }
    match cursor.prev_boundary(text, 0) {
        Ok(Some(start)) if at.saturating_sub(start) <= CLUSTER_BYTES_MAX => start,
        Ok(_) | Err(_) => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(text: &str, query: &str) -> String {
        excerpt(&one_line(text), &Query::parse(query).unwrap())
    }

    #[test]
    fn a_short_text_is_shown_whole_on_one_line() {
        assert_eq!(around(" a\n\n b\tc\u{0} ", "b"), "a b c");
    }

    #[test]
    fn a_long_text_is_cut_around_the_first_hit() {
        let far = format!("{}needle {}", "x ".repeat(500), "y ".repeat(500));
        let shown = around(&far, "needle");
        assert_eq!(shown.encode_utf16().count(), EXCERPT_UNITS_MAX);
        assert!(shown.starts_with("…x x") && shown.ends_with('…'), "{shown}");
        let at = shown.find("needle").unwrap();
        assert!(
            shown[..at].chars().count() <= EXCERPT_LEAD_UNITS + 1,
            "{shown}"
        );

        let early = format!("needle {}", "y ".repeat(500));
        let shown = around(&early, "needle");
        assert!(
            shown.starts_with("needle y") && shown.ends_with('…'),
            "{shown}"
        );

        let late = format!("{}needle", "x ".repeat(500));
        let shown = around(&late, "needle");
        assert!(
            shown.starts_with('…') && shown.ends_with("needle"),
            "{shown}"
        );
        assert_eq!(shown.encode_utf16().count(), EXCERPT_UNITS_MAX - 1);
    }

    #[test]
    fn the_first_of_several_terms_is_shown_and_a_phrase_where_it_stands_in_a_row() {
        let text = format!("two {}one two{}", "x ".repeat(300), " y".repeat(300));
        assert!(around(&text, "one two").starts_with("two x"));
        assert!(around(&text, "\"one two\"").contains("one two y"));
    }

    #[test]
    fn without_a_hit_the_beginning_is_shown() {
        let text = "x ".repeat(500);
        assert!(around(&text, "needle").starts_with("x x"));
    }

    #[test]
    fn no_visible_character_is_split() {
        let family = "👩\u{200d}👩\u{200d}👧";
        for shift in 0..12 {
            let text = format!("{}{}", "a".repeat(shift), family.repeat(100));
            let shown = around(&text, "a");
            let kept = shown.trim_end_matches('…').trim_start_matches('a');
            assert_eq!(kept.len() % family.len(), 0, "{shift}: {shown}");
            assert!(shown.encode_utf16().count() <= EXCERPT_UNITS_MAX);
        }
    }

    #[test]
    fn a_flood_of_accents_is_cut_at_the_limit() {
        let shown = around(&format!("e{}", "\u{301}".repeat(2000)), "e");
        assert_eq!(shown.encode_utf16().count(), EXCERPT_UNITS_MAX - 1);
    }
}
