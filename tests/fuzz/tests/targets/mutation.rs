//! Inputs made of seeds: pieces of them in a row, and then single bytes changed.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// Pieces of one input.
const PIECES_MAX: usize = 6;

/// Changes of single bytes.
const EDITS_MAX: usize = 4;

/// How often a piece that repeats stands there.
const TIMES_MAX: usize = 60;

/// Longest input that is drawn, in bytes.
const INPUT_BYTES_MAX: usize = 16_384;

#[derive(Clone, Debug)]
enum Edit {
    Replace(Index, u8),
    Insert(Index, u8),
    Remove(Index),
    CutOff(Index),
}

/// Inputs that hold parts of the seeds.
pub(crate) fn mutated(seeds: &[Vec<u8>]) -> impl Strategy<Value = Vec<u8>> + use<> {
    let pieces = vec(piece(seeds.to_vec()), 1..=PIECES_MAX);
    (pieces, vec(edit(), 0..=EDITS_MAX)).prop_map(|(pieces, edits)| {
        let mut input = pieces.concat();
        input.truncate(INPUT_BYTES_MAX);
        for edit in edits {
            edit.apply(&mut input);
        }
        input
    })
}

/// A seed, the middle of one, one again and again, or bytes of no meaning.
fn piece(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let seed = proptest::sample::select(seeds);
    let middle = (seed.clone(), any::<Index>(), any::<Index>()).prop_map(|(seed, from, to)| {
        let (from, to) = (from.index(seed.len() + 1), to.index(seed.len() + 1));
        seed.get(from.min(to)..from.max(to))
            .unwrap_or_default()
            .to_vec()
    });
    let repeated = (seed.clone(), 2..=TIMES_MAX).prop_map(|(seed, times)| seed.repeat(times));
    prop_oneof![
        4 => seed,
        3 => middle,
        1 => repeated,
        2 => vec(any::<u8>(), 0..8),
    ]
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Edit::Replace(at, byte)),
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Edit::Insert(at, byte)),
        any::<Index>().prop_map(Edit::Remove),
        any::<Index>().prop_map(Edit::CutOff),
    ]
}

impl Edit {
    fn apply(self, input: &mut Vec<u8>) {
        let length = input.len();
        match self {
            Self::Insert(at, byte) => input.insert(at.index(length + 1), byte),
            Self::CutOff(at) => input.truncate(at.index(length + 1)),
            // There is nothing to change in what is empty.
            Self::Replace(..) | Self::Remove(_) if length == 0 => {},
            Self::Replace(at, byte) => {
                let replaced = input.get_mut(at.index(length));
                *replaced.expect("a place in the input") = byte;
            },
            Self::Remove(at) => {
                input.remove(at.index(length));
            },
        }
    }
}
