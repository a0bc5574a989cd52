//! Who waits for whom, so that no wait closes a ring (D34).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use confab_model::id::TenantId;
use confab_model::key::SessionKey;

type Node = (TenantId, SessionKey);

/// The waits of this process: an edge from the session of a waiting run to the session it waits
/// for. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct WaitGraph {
    edges: Arc<Mutex<BTreeMap<Node, BTreeMap<SessionKey, usize>>>>,
}

/// A wait that goes on; the edge goes when it is dropped.
#[derive(Debug)]
pub struct Waiting {
    graph: WaitGraph,
    from: Node,
    to: SessionKey,
}

impl WaitGraph {
    /// Adds a wait of `from` for `to`.
    ///
    /// # Errors
    /// The ring that the wait would close: the sessions from `from` by way of `to` back to `from`.
    pub fn enter(
        &self,
        tenant: &TenantId,
        from: &SessionKey,
        to: &SessionKey,
    ) -> Result<Waiting, Vec<SessionKey>> {
        let mut edges = lock(&self.edges);
        if let Some(mut ring) = path(&edges, tenant, to, from) {
            ring.insert(0, from.clone());
            return Err(ring);
        }
        let from = (tenant.clone(), from.clone());
        let count = edges
            .entry(from.clone())
            .or_default()
            .entry(to.clone())
            .or_insert(0);
        *count = count.saturating_add(1);
        Ok(Waiting {
            graph: self.clone(),
            from,
            to: to.clone(),
        })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut edges = lock(&self.graph.edges);
        let Some(targets) = edges.get_mut(&self.from) else {
            return;
        };
        if let Some(count) = targets.get_mut(&self.to) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                targets.remove(&self.to);
            }
        }
        if targets.is_empty() {
            edges.remove(&self.from);
        }
    }
}

/// The way from one session to another along the waits, both ends included.
fn path(
    edges: &BTreeMap<Node, BTreeMap<SessionKey, usize>>,
    tenant: &TenantId,
    from: &SessionKey,
    to: &SessionKey,
) -> Option<Vec<SessionKey>> {
    let mut ways = vec![vec![from.clone()]];
    let mut seen = vec![from.clone()];
    while let Some(way) = ways.pop() {
        let Some(here) = way.last() else { continue };
        if here == to {
            return Some(way);
        }
        let Some(targets) = edges.get(&(tenant.clone(), here.clone())) else {
            continue;
        };
        for next in targets
            .keys()
            .filter(|next| !seen.contains(next))
            .cloned()
            .collect::<Vec<_>>()
        {
            seen.push(next.clone());
            let mut further = way.clone();
            further.push(next);
            ways.push(further);
        }
    }
    None
}

/// No code panics while it holds the graph, so a poisoned one is still whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> SessionKey {
        SessionKey::parse(text).unwrap()
    }

    #[test]
    fn a_ring_of_waits_is_refused_with_its_path() {
        let graph = WaitGraph::default();
        let tenant = TenantId::default();
        let [a, b, c] = ["agent:a:main", "agent:b:main", "agent:c:main"].map(key);
        let _first = graph.enter(&tenant, &a, &b).unwrap();
        let _second = graph.enter(&tenant, &b, &c).unwrap();
        let ring = graph.enter(&tenant, &c, &a).unwrap_err();
        assert_eq!(ring, [c.clone(), a, b, c]);
    }

    #[test]
    fn a_wait_that_is_over_closes_no_ring() {
        let graph = WaitGraph::default();
        let tenant = TenantId::default();
        let [a, b] = ["agent:a:main", "agent:b:main"].map(key);
        let twice = (
            graph.enter(&tenant, &a, &b).unwrap(),
            graph.enter(&tenant, &a, &b).unwrap(),
        );
        drop(twice.0);
        graph.enter(&tenant, &b, &a).unwrap_err();
        drop(twice.1);
        graph.enter(&tenant, &b, &a).unwrap();
        assert!(graph.edges.lock().unwrap().is_empty());
    }

    #[test]
    fn tenants_do_not_wait_for_one_another() {
        let graph = WaitGraph::default();
        let [a, b] = ["agent:a:main", "agent:b:main"].map(key);
        let _other = graph
            .enter(&TenantId::parse("other").unwrap(), &a, &b)
            .unwrap();
        graph.enter(&TenantId::default(), &b, &a).unwrap();
    }
}
