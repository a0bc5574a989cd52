//! Spawners before whom they spawned, so that a lineage is never refused for its order.

use std::collections::{BTreeMap, BTreeSet};

use super::Planned;

/// The sessions, of which no two have one key, in their order, each behind the one that spawned it. A
/// ring, which no honest index has, is broken somewhere.
pub(super) fn spawners_first(sessions: Vec<Planned>) -> Vec<Planned> {
    let keys: Vec<String> = sessions.iter().map(|one| one.session.key.clone()).collect();
    let mut waiting: BTreeMap<String, Planned> = sessions
        .into_iter()
        .map(|one| (one.session.key.clone(), one))
        .collect();
    let mut ordered = Vec::new();
    for key in keys {
        let chain = unplaced_chain(&waiting, key);
        let placed = chain.into_iter().rev();
        ordered.extend(placed.filter_map(|key| waiting.remove(&key)));
    }
    ordered
}

/// The session and those above it that are not placed yet, itself first.
fn unplaced_chain(waiting: &BTreeMap<String, Planned>, key: String) -> Vec<String> {
    let mut chain: Vec<String> = Vec::new();
    let mut met = BTreeSet::new();
    let mut next = Some(key);
    while let Some(key) = next.filter(|key| waiting.contains_key(key) && met.insert(key.clone())) {
        let one = waiting.get(&key);
        next = one.and_then(|one| one.session.spawned_by.clone());
        chain.push(key);
    }
    chain
}

#[cfg(test)]
mod tests {
    use confab_proto::types::v1::Session;

    use super::*;

    fn ordered(lineage: &[(&str, &str)]) -> Vec<String> {
        let sessions = lineage.iter().map(|(key, spawner)| Planned {
            session: Session {
                key: (*key).to_owned(),
                spawned_by: (!spawner.is_empty()).then(|| (*spawner).to_owned()),
                ..Session::default()
            },
            file: String::new(),
            earlier: Vec::new(),
            sources: Vec::new(),
            unclaimed: false,
            left_out: Vec::new(),
        });
        let ordered = spawners_first(sessions.collect());
        ordered.into_iter().map(|one| one.session.key).collect()
    }

    #[test]
    fn a_spawner_stands_before_whom_it_spawned_and_everything_else_keeps_its_place() {
        let given = [("c", "b"), ("x", ""), ("b", "a"), ("a", "gone"), ("d", "b")];
        assert_eq!(ordered(&given), ["a", "b", "c", "x", "d"]);
        assert_eq!(ordered(&[]), [""; 0]);
    }

    #[test]
    fn a_ring_loses_nobody() {
        assert_eq!(
            ordered(&[("a", "b"), ("b", "c"), ("c", "a"), ("d", "d")]).len(),
            4
        );
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let names: Vec<String> = (0..50_000).map(|n| format!("k{n:05}")).collect();
        let lineage: Vec<(&str, &str)> = names
            .iter()
            .zip(names.iter().skip(1))
            .map(|(child, parent)| (child.as_str(), parent.as_str()))
            .collect();
        assert_eq!(ordered(&lineage).len(), lineage.len());
    }
}
