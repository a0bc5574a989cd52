//! What was remembered for a turn: `<relevant-memories>`.

use super::code::Code;
use super::cuts::Cuts;
use super::tags::heads;

/// Takes out memories with their tags; an open block goes on to the end of the text, and a closing
/// tag without a block goes alone.
///
/// Source: run:Z6.
pub(super) fn strip(text: &str) -> Option<String> {
    let code = Code::of(text);
    let mut cuts = Cuts::new(text);
    let mut open = None;
    for head in heads(text, &code).filter(|head| is_name(head.name)) {
        let Some(tail) = head.tail(text) else {
            continue;
        };
        if head.closes || tail.closes_itself {
            // A tag that closes itself inside a block is a part of the block.
            if head.closes || open.is_none() {
                cuts.push(open.take().unwrap_or(head.start)..tail.end);
            }
        } else if open.is_none() {
            open = Some(head.start);
        }
    }
    if let Some(start) = open {
        cuts.push(start..text.len());
    }
    cuts.apply()
}

/// Whether the tag's name is that of memories.
pub(super) fn is_name(name: &str) -> bool {
    ["relevant-memories", "relevant_memories"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_go() {
        let cases = [
            ("a<relevant-memories>1</relevant_memories>b", "ab"),
            ("a<Relevant_Memories x=\"1\">1</RELEVANT-MEMORIES>b", "ab"),
            ("a<relevant-memories>1", "a"),
            ("a</relevant-memories>b", "ab"),
            ("a<relevant-memories/>b", "ab"),
            (
                "a<relevant-memories>1<relevant-memories>2</relevant-memories>b",
                "ab",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(strip(text).as_deref(), Some(expected), "run:Z6 {text:?}");
        }
    }

    #[test]
    fn lookalikes_and_code_stay() {
        let cases = [
            "<relevant-memory>x",
            "`<relevant-memories>`",
            "<relevant-memories",
        ];
        for text in cases {
            assert_eq!(strip(text), None, "run:Z6 {text:?}");
        }
    }
}
