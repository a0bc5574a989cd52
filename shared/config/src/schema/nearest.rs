//! The known name that a mistyped one was probably meant to be.

/// Most edits between a name and the one it stands for (contract).
const EDITS_MAX: usize = 2;

/// Longest name that is compared, in characters; bounds the work on hostile input.
const NAME_CHARS_MAX: usize = 128;

/// The candidate closest to `name`, within two edits; the earlier one of equals.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    if name.chars().count() > NAME_CHARS_MAX {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(edits, _)| *edits <= EDITS_MAX)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// The fewest insertions, deletions and replacements that turn `left` into `right`.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    // `row[j]` is the distance between what was read of `left` and the first `j` of `right`.
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (read, from) in left.chars().enumerate() {
        let mut diagonal = read;
        let mut before = read + 1;
        let mut next = vec![before];
        for (above, to) in row.iter().skip(1).zip(&right) {
            let replaced = diagonal + usize::from(from != *to);
            before = replaced.min(before + 1).min(above + 1);
            diagonal = *above;
            next.push(before);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_edits() {
        let cases = [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("flaw", "lawn", 2),
            ("sendPolicyy", "sendPolicy", 1),
            ("visibilty", "visibility", 1),
            ("ünknown", "unknown", 1),
        ];
        for (left, right, edits) in cases {
            assert_eq!(distance(left, right), edits, "{left} -> {right}");
            assert_eq!(distance(right, left), edits, "{right} -> {left}");
        }
    }

    #[test]
    fn the_nearest_name_is_within_two_edits() {
        let known = ["channel", "chatType", "keyPrefix", "rawKeyPrefix"];
        assert_eq!(nearest("chanel", known), Some("channel"));
        assert_eq!(nearest("chatTyp", known), Some("chatType"));
        assert_eq!(nearest("foo", known), None);
        assert_eq!(nearest(&"x".repeat(NAME_CHARS_MAX + 1), known), None);
    }
}
