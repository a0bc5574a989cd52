//! Lists by pages.

use confab_model::delivery::DeliveryState;
use confab_model::id::TenantId;
use confab_model::run::RunState;

use super::{Backend, Bench, at, key, said, tenant};
use crate::store::{DeliveryFilter, NewFlow, Page, PageRequest, RecordCursor, RunnerStore};

const A: &str = "agent:a:main";
const B: &str = "agent:b:main";
const C: &str = "agent:c:main";

/// Walks a list page by page.
macro_rules! walk {
    ($limit:expr, $list:expr) => {{
        let mut rows = Vec::new();
        let mut after: Option<RecordCursor> = None;
        loop {
            let request = PageRequest {
                limit: $limit,
                after,
            };
            let page: Page<_> = $list(&request).await.unwrap();
            let size = u32::try_from(page.rows.len()).unwrap();
            assert!(size <= $limit);
            assert!(
                page.next.is_none() || size == $limit,
                "only the last page is short"
            );
            rows.extend(page.rows);
            after = page.next;
            if after.is_none() {
                break rows;
            }
        }
    }};
}

/// Flows of one session with another, or with itself; several share a moment.
async fn fill(bench: &Bench<'_, impl Backend>) -> Vec<NewFlow> {
    let mut flows = Vec::new();
    for number in 0..30 {
        let [from, to] = [[A, B], [B, A], [B, C], [B, B], [C, A]][number % 5];
        let new = bench.send(from, to, at(i64::try_from(number / 7).unwrap()));
        bench.accept(&new).await;
        flows.push(new);
    }
    // Newest first: by moment, then by identifier; later ones have later identifiers.
    flows.reverse();
    flows
}

pub(crate) async fn pages_of_runs_show_every_row_once(backend: &impl Backend) {
    let (bench, tenant) = (Bench::new(backend).await, tenant());
    let flows = fill(&bench).await;
    // An empty answer ends its flow, so that no further run comes of it.
    let ended = bench.run(B, 9, said("")).await.run.id;
    for limit in [1, 7, 30, 200] {
        for session in [None, Some(key(B)), Some(key("agent:nobody:main"))] {
            let rows = walk!(limit, |page| bench.store.runs(
                &tenant,
                session.as_ref(),
                &[],
                page
            ));
            let ids: Vec<_> = rows.into_iter().map(|row| row.run.id).collect();
            let wanted = flows.iter().filter(|new| {
                session
                    .as_ref()
                    .is_none_or(|session| new.flow.target == *session)
            });
            assert_eq!(
                ids,
                wanted.map(|new| new.run_id.clone()).collect::<Vec<_>>()
            );
        }
        let states = [RunState::Queued, RunState::Running];
        let rows = walk!(limit, |page| bench.store.runs(&tenant, None, &states, page));
        assert_eq!(rows.len(), 29);
        let states = [RunState::Succeeded];
        let rows = walk!(limit, |page| bench.store.runs(&tenant, None, &states, page));
        let ids: Vec<_> = rows.into_iter().map(|row| row.run.id).collect();
        assert_eq!(ids, std::slice::from_ref(&ended));
    }
}

pub(crate) async fn pages_of_flows_show_every_row_once(backend: &impl Backend) {
    let (bench, tenant) = (Bench::new(backend).await, tenant());
    let flows = fill(&bench).await;
    for limit in [1, 7, 30, 200] {
        for session in [
            None,
            Some(key(B)),
            Some(key(C)),
            Some(key("agent:nobody:main")),
        ] {
            let rows = walk!(limit, |page| bench.store.flows(
                &tenant,
                session.as_ref(),
                page
            ));
            let ids: Vec<_> = rows.into_iter().map(|row| row.flow.id).collect();
            let wanted = flows.iter().map(|new| &new.flow).filter(|flow| {
                session.as_ref().is_none_or(|session| {
                    flow.target == *session || flow.requester.as_ref() == Some(session)
                })
            });
            assert_eq!(ids, wanted.map(|flow| flow.id.clone()).collect::<Vec<_>>());
        }
    }
}

pub(crate) async fn pages_of_deliveries_show_every_row_once(backend: &impl Backend) {
    let (bench, tenant) = (Bench::new(backend).await, tenant());
    let mut wanted = Vec::new();
    for number in 0..9 {
        let mut new = bench.human(B, at(0));
        let even = number % 2 == 0;
        if let Some(route) = new.terms.route.as_mut() {
            route.channel = if even { "discord" } else { "slack" }.to_owned();
        }
        bench.accept(&new).await;
        bench.run(B, number / 3, said("x")).await;
        let detail = bench
            .store
            .flow_detail(&tenant, &new.flow.id)
            .await
            .unwrap()
            .unwrap();
        wanted.push(detail.deliveries[0].clone());
    }
    wanted.reverse();
    let state = DeliveryState::Delivered;
    bench
        .store
        .settle_delivery(&wanted[0].id, state, None, at(9))
        .await
        .unwrap();
    for limit in [1, 4, 9] {
        let filter = DeliveryFilter::default();
        let rows = walk!(limit, |page| bench.store.deliveries(&tenant, &filter, page));
        assert_eq!(rows[1..], wanted[1..]);
        assert_eq!(rows.len(), wanted.len());
        let filter = DeliveryFilter {
            states: vec![DeliveryState::Pending, DeliveryState::Sending],
            channel: Some("discord".to_owned()),
        };
        let rows = walk!(limit, |page| bench.store.deliveries(&tenant, &filter, page));
        assert_eq!(rows.len(), 4);
        assert!(rows.iter().all(|row| row.route.channel == "discord"));
    }
}

pub(crate) async fn records_of_another_tenant_are_not_there(backend: &impl Backend) {
    let bench = Bench::new(backend).await;
    let new = bench.human(B, at(0));
    let run = bench.accept(&new).await;
    bench.run(B, 1, said("x")).await;
    let other = TenantId::parse("other").unwrap();
    assert_eq!(bench.store.run(&other, &run).await.unwrap(), None);
    assert_eq!(bench.store.flow(&other, &new.flow.id).await.unwrap(), None);
    assert!(
        bench
            .store
            .flow_detail(&other, &new.flow.id)
            .await
            .unwrap()
            .is_none()
    );
    let page = PageRequest {
        limit: 10,
        after: None,
    };
    assert!(
        bench
            .store
            .runs(&other, None, &[], &page)
            .await
            .unwrap()
            .rows
            .is_empty()
    );
    assert!(
        bench
            .store
            .flows(&other, None, &page)
            .await
            .unwrap()
            .rows
            .is_empty()
    );
    let filter = DeliveryFilter::default();
    assert!(
        bench
            .store
            .deliveries(&other, &filter, &page)
            .await
            .unwrap()
            .rows
            .is_empty()
    );
}
