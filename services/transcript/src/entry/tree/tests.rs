//! Which lines are the conversation.

use proptest::prelude::*;

use super::{Line, Tree};
use crate::entry::head::{Head, Link, Sort};

fn head(sort: Sort, id: &str, link: Link) -> Head {
    Head {
        sort,
        id: (!id.is_empty()).then(|| id.to_owned()),
        link,
        side: false,
    }
}

/// `a<b`: message a hangs on b; `a<`: on nothing; `a`: tells nothing; `!a`: beside; `>a`: leaf a;
/// `?a`: unknown; `x`: broken.
fn tree(lines: &str) -> Tree {
    let lines = (1..).zip(lines.split_whitespace()).map(|(number, text)| {
        let (id, link) = match text.split_once('<') {
            None => (text, Link::Absent),
            Some((id, "")) => (id, Link::Root),
            Some((id, parent)) => (id, Link::Named(parent.to_owned())),
        };
        let head = match id.split_at(1) {
            ("x", "") => return Line::broken(0, number),
            ("!", id) => Head {
                side: true,
                ..head(Sort::Message, id, link)
            },
            (">", "") => head(Sort::Leaf, "", Link::Root),
            (">", target) => head(Sort::Leaf, "", Link::Named(target.to_owned())),
            ("?", id) => head(Sort::Unknown, id, link),
            _ => head(Sort::Message, id, link),
        };
        Line::entry(0, number, &head)
    });
    Tree::of(lines.collect())
}

fn branch(lines: &str) -> Vec<u32> {
    let tree = tree(lines);
    let count = u32::try_from(lines.split_whitespace().count()).unwrap();
    (0..count)
        .filter(|place| tree.is_on_branch(*place))
        .collect()
}

#[test]
fn the_conversation_is_the_path_to_the_leaf() {
    for (lines, expected) in [
        ("", vec![]),
        ("a< b<a c<b", vec![0, 1, 2]),
        // A plain list.
        ("a b c", vec![0, 1, 2]),
        // Two answers: the one that was appended last.
        ("a< b<a c<a", vec![0, 2]),
        ("a< b<a c<a >b", vec![0, 1]),
        ("a< b<a >a c<a", vec![0, 3]),
        ("a< b<a >a c", vec![0, 3]),
        ("a< b<a >", vec![]),
        ("a< >nowhere b<a", vec![0, 2]),
        // Beside the conversation, and of an unknown kind.
        ("a< b<a !c<a", vec![0, 1]),
        ("a< ?b<a c<b", vec![0, 1, 2]),
        ("a< ?b<a", vec![0]),
    ] {
        assert_eq!(branch(lines), expected, "run:T14 {lines}");
    }
}

#[test]
fn damage_takes_nothing_else_out_of_the_conversation() {
    for (lines, expected) in [
        // The parent's line is broken.
        ("a< x c<b d<c", vec![0, 2, 3]),
        ("x b<a c<b", vec![1, 2]),
        // Rings, of one, two and three.
        ("a<a b<a", vec![0, 1]),
        ("a<b b<a", vec![0, 1]),
        ("a<c b<a c<b d<c", vec![0, 1, 2, 3]),
        // The first of two stands.
        ("a< b<a a< c<b", vec![0, 1, 3]),
    ] {
        assert_eq!(branch(lines), expected, "B146 B147 {lines}");
    }
    assert!(tree("a< b<a a<").is_duplicate(2));
    assert!(!tree("a< b<a a<").is_duplicate(0));
}

#[test]
fn entries_are_found_by_id_and_by_their_number_among_the_readable() {
    let tree = tree("s a x b");
    assert_eq!(tree.place_of("b"), Some(3));
    assert_eq!(tree.place_of("nobody"), None);
    assert_eq!(tree.place_of_index(2), Some(3));
    assert_eq!(tree.place_of_index(3), None);
}

#[test]
fn a_line_is_small() {
    assert_eq!(size_of::<Line>(), 32, "B145");
}

proptest! {
    #[test]
    fn any_links_end_in_a_tree_whose_leaf_is_reached(
        links in prop::collection::vec((0_u8..12, 0_u8..14), 0..40)
    ) {
        let lines = (1..).zip(&links).map(|(number, (id, parent))| {
            let link = match parent {
                12 => Link::Absent,
                13 => Link::Root,
                named => Link::Named(named.to_string()),
            };
            Line::entry(0, number, &head(Sort::Message, &id.to_string(), link))
        });
        let tree = Tree::of(lines.collect());
        let mut places = 0..u32::try_from(links.len()).unwrap();
        let last = places.clone().rev().find(|place| !tree.is_duplicate(*place));
        prop_assert!(last.is_none_or(|last| tree.is_on_branch(last)));
        prop_assert!(places.all(|place| !(tree.is_on_branch(place) && tree.is_duplicate(place))));
    }
}
