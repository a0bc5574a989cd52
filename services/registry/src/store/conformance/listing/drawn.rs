//! Rows drawn from a seed.

use confab_model::session::{Label, Session};

use super::super::{put, session};
use crate::store::RegistryStore;
use crate::testing::{START, key};

/// Numbers drawn from a seed: the generator splitmix64.
#[derive(Clone, Debug)]
pub(super) struct Draws(u64);

impl Draws {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `bound` - 1.
    fn below(&mut self, bound: u32) -> u32 {
        u32::try_from(self.next() % u64::from(bound)).unwrap()
    }

    /// True once in `times` draws.
    fn one_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }

    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let index = self.below(u32::try_from(from.len()).unwrap());
        &from[usize::try_from(index).unwrap()]
    }
}

/// Makes `count` sessions of three agents, beside each agent's main session and the one that serves
/// all: few moments, so that many rows differ by their key alone; and families several spawns deep.
pub(super) async fn fill(
    store: &impl RegistryStore,
    draws: &mut Draws,
    count: u32,
) -> Vec<Session> {
    let mut rows = Vec::new();
    for text in ["agent:a:main", "agent:b:main", "agent:c:main", "global"] {
        rows.push(put(store, session(text)).await);
    }
    for number in 0..count {
        let session = draw(draws, number, &rows);
        rows.push(put(store, session).await);
    }
    rows
}

fn draw(draws: &mut Draws, number: u32, rows: &[Session]) -> Session {
    let agent = draws.pick(&["a", "b", "c"]);
    let rest = draws.pick(&[
        "discord:group:",
        "cron:job",
        "cron:job:run:",
        "hook:",
        "node-",
        "desk ",
        "Größe/",
        "subagent:",
        "subagent:",
        "subagent:",
    ]);
    let spawned_by = rest
        .starts_with("subagent:")
        .then(|| draws.pick(rows).key.clone());
    let mut moment = |once_in: u32| {
        let told = draws.one_in(once_in);
        let at = START.plus_millis(i64::from(draws.below(6)) * 200);
        told.then_some(at)
    };
    let pinned_at = moment(10);
    let archived_at = moment(8);
    let created_at = moment(1).unwrap_or(START);
    let updated_at = moment(1).unwrap_or(START);
    let label = draws.one_in(4).then(|| format!("Name {}", number / 20));
    let taken = |label: &Label| {
        rows.iter().any(|row| {
            row.label.as_ref() == Some(label)
                && row.key.as_str().starts_with(&format!("agent:{agent}:"))
        })
    };
    Session {
        spawned_by,
        pinned_at,
        archived_at,
        created_at,
        updated_at,
        label: label
            .map(|text| Label::parse(&text).unwrap())
            .filter(|label| !taken(label)),
        key: key(&format!("agent:{agent}:{rest}{number}")),
        ..session(&format!("agent:{agent}:{number}"))
    }
}
