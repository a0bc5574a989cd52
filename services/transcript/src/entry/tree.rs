//! Which entries of a file are its conversation.
//!
//! A file can have a million lines, so a line is 32 bytes here: ids are told by their hashes.

use std::num::NonZeroU64;

use sha2::{Digest as _, Sha256};

use super::head::{Head, Link, Sort};

/// No line.
const NONE: u32 = u32::MAX;

/// The hash of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IdHash(NonZeroU64);

impl IdHash {
    /// Of this id.
    pub fn of(id: &str) -> Self {
        Self::of_digest(Sha256::digest(id).into())
    }

    /// Of a header's id, which is no entry's, whatever it is: no text has the byte before it.
    fn of_header(id: &str) -> Self {
        let digest = Sha256::new().chain_update([0xFF]).chain_update(id);
        Self::of_digest(digest.finalize().into())
    }

    fn of_digest(digest: [u8; 32]) -> Self {
        let first = digest.first_chunk().copied().unwrap_or_default();
        Self(NonZeroU64::new(u64::from_be_bytes(first)).unwrap_or(NonZeroU64::MIN))
    }
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineSort {
    /// An entry, or the header.
    Entry(Sort),
    /// A line with a fault.
    Broken,
}

/// A line as the tree knows it.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Where it begins.
    pub offset: u64,
    /// Its number in the file, from 1.
    pub number: u32,
    /// What it is.
    pub sort: LineSort,
    id: Option<IdHash>,
    parent: Option<IdHash>,
    hangs: Hangs,
    side: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hangs {
    Leaf,
    Nothing,
    Named,
}

impl Line {
    /// A line with a fault.
    pub const fn broken(offset: u64, number: u32) -> Self {
        Self {
            offset,
            number,
            sort: LineSort::Broken,
            id: None,
            parent: None,
            hangs: Hangs::Leaf,
            side: false,
        }
    }

    /// A line with an entry.
    pub fn entry(offset: u64, number: u32, head: &Head) -> Self {
        let (hangs, parent) = match &head.link {
            Link::Absent => (Hangs::Leaf, None),
            Link::Root => (Hangs::Nothing, None),
            Link::Named(id) => (Hangs::Named, Some(IdHash::of(id))),
        };
        Self {
            sort: LineSort::Entry(head.sort),
            id: match head.sort {
                Sort::Header => Some(IdHash::of_header(head.id.as_deref().unwrap_or_default())),
                Sort::Message | Sort::Compaction | Sort::Leaf | Sort::Note | Sort::Unknown => {
                    head.id.as_deref().map(IdHash::of)
                },
            },
            parent,
            hangs,
            side: head.side,
            ..Self::broken(offset, number)
        }
    }

    const fn is_node(&self) -> bool {
        !matches!(self.sort, LineSort::Broken | LineSort::Entry(Sort::Header))
    }

    /// Whether it becomes the leaf when it is appended.
    const fn moves_leaf(&self) -> bool {
        let is_known = !matches!(self.sort, LineSort::Entry(Sort::Unknown));
        is_known && !self.side
    }
}

/// The tree of a file.
#[derive(Debug)]
pub struct Tree {
    lines: Vec<Line>,
    /// The lines with an id, by id and then by place.
    by_id: Vec<u32>,
    on_branch: Vec<bool>,
}

impl Tree {
    /// The tree of a file with these lines, and the path to its leaf.
    ///
    /// A parent is always an earlier line, so there is no ring. What names a parent that is not there
    /// hangs on the leaf of that moment: damage to one line must not take those before it out of the
    /// conversation. Where an id is there twice, the first stands.
    ///
    /// Source: run:T14, B146, B147.
    pub fn of(lines: Vec<Line>) -> Self {
        let mut by_id: Vec<u32> = (0..)
            .zip(&lines)
            .filter(|(_, line)| line.id.is_some())
            .map(|(place, _)| place)
            .collect();
        by_id.sort_unstable_by_key(|place| (id_at(&lines, *place), *place));
        let on_branch = vec![false; lines.len()];
        let mut tree = Self {
            lines,
            by_id,
            on_branch,
        };
        tree.mark_branch();
        tree
    }

    fn mark_branch(&mut self) {
        let mut parents = vec![NONE; self.lines.len()];
        let mut leaf = NONE;
        for ((place, line), parent) in (0..).zip(&self.lines).zip(&mut parents) {
            if !line.is_node() || self.is_duplicate(place) {
                continue;
            }
            *parent = match line.hangs {
                Hangs::Leaf => leaf,
                Hangs::Nothing => NONE,
                Hangs::Named => self.earlier(line, place).unwrap_or(leaf),
            };
            if line.sort == LineSort::Entry(Sort::Leaf) {
                leaf = *parent;
            } else if line.moves_leaf() {
                leaf = place;
            }
        }
        while let Some(mark) = at(leaf).and_then(|place| self.on_branch.get_mut(place)) {
            *mark = true;
            leaf = at(leaf)
                .and_then(|place| parents.get(place))
                .copied()
                .unwrap_or(NONE);
        }
    }

    fn earlier(&self, line: &Line, place: u32) -> Option<u32> {
        self.first(line.parent?).filter(|parent| *parent < place)
    }

    /// The first line with this id.
    fn first(&self, id: IdHash) -> Option<u32> {
        let start = self
            .by_id
            .partition_point(|place| id_at(&self.lines, *place) < Some(id));
        let place = self.by_id.get(start).copied()?;
        (id_at(&self.lines, place) == Some(id)).then_some(place)
    }

    /// The line at a place.
    pub fn line(&self, place: u32) -> Option<&Line> {
        self.lines.get(at(place)?)
    }

    /// Whether an earlier line has the id of this one.
    pub fn is_duplicate(&self, place: u32) -> bool {
        let first = self.line(place).and_then(|line| self.first(line.id?));
        first.is_some_and(|first| first < place)
    }

    /// Whether a line is on the path from the root to the leaf.
    pub fn is_on_branch(&self, place: u32) -> bool {
        let mark = at(place).and_then(|place| self.on_branch.get(place));
        mark.copied().unwrap_or_default()
    }

    /// The place of the entry with this id.
    pub fn place_of(&self, id: &str) -> Option<u32> {
        self.first(IdHash::of(id))
    }

    /// The place of the entry with this number among the lines that are JSON, the header being one of
    /// them.
    pub fn place_of_index(&self, index: u64) -> Option<u32> {
        let entries = (0..)
            .zip(&self.lines)
            .filter(|(_, line)| line.sort != LineSort::Broken);
        let mut rest = entries.skip(usize::try_from(index).ok()?);
        rest.next().map(|(place, _)| place)
    }
}

fn id_at(lines: &[Line], place: u32) -> Option<IdHash> {
    lines.get(at(place)?)?.id
}

fn at(place: u32) -> Option<usize> {
    usize::try_from(place).ok()
}

#[cfg(test)]
mod tests;
