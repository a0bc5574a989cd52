//! Sessions of other systems.

use confab_model::id::TenantId;
use confab_model::session::Session;

use super::{by_key, put, session, tenant};
use crate::commands::{ImportSession, ImportedFields, ImportedTimes};
use crate::import::{ImportOutcome, Importing};
use crate::store::{Lookup, RegistryStore};
use crate::testing::START;

fn importing(fresh: Session) -> Importing {
    Importing {
        request: ImportSession {
            key: fresh.key.clone(),
            session_id: fresh.session_id.clone(),
            earlier: Vec::new(),
            times: ImportedTimes::default(),
            fields: ImportedFields::default(),
            left_out: Vec::new(),
            given: confab_proto::types::v1::Session::default(),
            replace: false,
            dry_run: false,
        },
        fresh,
        now: START,
    }
}

/// The key that a sessionId leads to.
async fn holder(store: &impl RegistryStore, tenant: &TenantId, id: &str) -> Option<String> {
    let lookup = Lookup {
        session_ids: vec![id.to_owned()],
        ..Lookup::default()
    };
    let mut found = store.look_up(tenant, &lookup).await.unwrap();
    let (_, session) = found.by_session_id.remove(id)?;
    Some(session.key.to_string())
}

pub(crate) async fn an_import_is_stored_whole_or_not_at_all(store: impl RegistryStore) {
    let other = put(&store, session("agent:a:1")).await;
    let mut first = importing(session("agent:a:2"));
    let old = session("agent:a:old").session_id;
    first.request.earlier = vec![old.clone()];

    let mut dry = first.clone();
    dry.request.dry_run = true;
    let told = store.import(&tenant(), dry).await.unwrap();
    assert_eq!(told.outcome, ImportOutcome::Created);
    assert_eq!(by_key(&store, "agent:a:2").await, None);
    assert_eq!(holder(&store, &tenant(), old.as_str()).await, None);

    let done = store.import(&tenant(), first.clone()).await.unwrap();
    assert_eq!(done, told);
    assert_eq!(by_key(&store, "agent:a:2").await, done.session);
    let found = holder(&store, &tenant(), old.as_str()).await;
    assert_eq!(found.as_deref(), Some("agent:a:2"));

    let elsewhere = TenantId::parse("elsewhere").unwrap();
    assert_eq!(holder(&store, &elsewhere, old.as_str()).await, None);
    let again = store.import(&elsewhere, first.clone()).await.unwrap();
    assert_eq!(again.outcome, ImportOutcome::Created);

    let mut thief = importing(session("agent:a:3"));
    thief.request.earlier = vec![old, other.session_id.clone()];
    let refused = store.import(&tenant(), thief).await.unwrap();
    assert_eq!(refused.outcome, ImportOutcome::Differs);
    assert_eq!(refused.differences.len(), 2);
    assert_eq!(by_key(&store, "agent:a:3").await, None);
}

pub(crate) async fn an_import_takes_the_place_of_what_is_stored(store: impl RegistryStore) {
    let before = put(&store, session("agent:a:1")).await;
    let mut next = importing(Session {
        session_id: session("agent:a:next").session_id,
        ..session("agent:a:1")
    });
    let left = store.import(&tenant(), next.clone()).await.unwrap();
    assert_eq!(left.outcome, ImportOutcome::Differs);
    assert_eq!(left.session, Some(before.clone()));

    next.request.replace = true;
    let done = store.import(&tenant(), next.clone()).await.unwrap();
    assert_eq!(done.outcome, ImportOutcome::Replaced);
    let after = by_key(&store, "agent:a:1").await.unwrap();
    assert_eq!(done.session.as_ref(), Some(&after));
    assert_eq!((after.row_version, after.work_epoch), (2, 1));
    for id in [&before.session_id, &after.session_id] {
        let found = holder(&store, &tenant(), id.as_str()).await;
        assert_eq!(found.as_deref(), Some("agent:a:1"));
    }
    let again = store.import(&tenant(), next).await.unwrap();
    assert_eq!(again.outcome, ImportOutcome::Unchanged);
}
