//! Patterns in which `*` stands for any run of characters, the empty one included.

/// Whether `pattern` fits the whole of `text`; both are folded already.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, tail)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let (middle, end) = tail.rsplit_once('*').unwrap_or(("", tail));
    let inner = text
        .strip_prefix(start)
        .and_then(|rest| rest.strip_suffix(end));
    inner.is_some_and(|inner| holds_in_order(inner, middle.split('*')))
}

/// Whether `text` holds all `pieces`, one behind the other; the first place found is the best one.
fn holds_in_order<'a>(text: &str, pieces: impl Iterator<Item = &'a str>) -> bool {
    let mut rest = text;
    for piece in pieces {
        let Some((_, after)) = rest.split_once(piece) else {
            return false;
        };
        rest = after;
    }
    true
}
