//! A thousand patches at once: none is lost, every version is one patch, and whoever follows ends
//! with the last state.
//!
//! Source: D54, B207; reg:M2.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use confab_proto::registry::v1 as registry;
use confab_proto::registry::v1::watch_sessions_response::Change;
use confab_proto::types::v1::Session;
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::grpc::{Caller, Grpc, REGISTRY, Services, reason, session};
use confab_tests::home::{Home, config, script};
use futures::StreamExt as _;
use prost_types::FieldMask;
use serde_json::json;
use tonic::{Code, Status, Streaming};

const PATCHES: usize = 1_000;
/// Calls that are under way at the same time.
const TASKS: usize = 64;
/// Sessions among which one test spreads them.
const SESSIONS: usize = 25;

fn start() -> anyhow::Result<(Home, Deployment)> {
    let home = Home::new(&config(&[script("main", &json!([]))]))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    Ok((home, deployment))
}

fn key(number: usize) -> String {
    format!("agent:main:number-{number}")
}

fn create(grpc: &Grpc, number: usize) -> anyhow::Result<Session> {
    let asked = registry::CreateSessionRequest {
        session_key: key(number),
        ..Default::default()
    };
    let made: registry::CreateSessionResponse =
        grpc.call(REGISTRY, "CreateSession", asked, &Caller::operator())?;
    made.session.context("the row")
}

fn get(grpc: &Grpc, number: usize) -> anyhow::Result<Session> {
    let asked = registry::GetSessionRequest {
        target: Some(session(&key(number))),
    };
    let got: registry::GetSessionResponse =
        grpc.call(REGISTRY, "GetSession", asked, &Caller::operator())?;
    got.session.context("the row")
}

/// Sets the category of a session, from this version of its row on where one is given.
async fn patch(
    services: &Services,
    number: usize,
    category: String,
    version: Option<i64>,
) -> Result<Session, Status> {
    let asked = registry::PatchSessionRequest {
        target: Some(session(&key(number))),
        patch: Some(registry::SessionPatch {
            category: Some(category),
            ..Default::default()
        }),
        update_mask: Some(FieldMask {
            paths: vec!["category".to_owned()],
        }),
        expected_row_version: version,
        ..Default::default()
    };
    let operator = Caller::operator();
    let patched = services.call(REGISTRY, "PatchSession", asked, &operator);
    let patched: registry::PatchSessionResponse = patched.await?;
    assert!(patched.changed);
    Ok(patched.session.unwrap_or_default())
}

fn follow(grpc: &Grpc) -> Result<Streaming<registry::WatchSessionsResponse>, Status> {
    let asked = registry::WatchSessionsRequest::default();
    let operator = Caller::operator();
    grpc.block_on(
        grpc.services
            .stream(REGISTRY, "WatchSessions", asked, &operator),
    )
}

/// Reads what a follower is told until every session has been told as it is now.
fn assert_followed(
    grpc: &Grpc,
    mut stream: Streaming<registry::WatchSessionsResponse>,
    last: &BTreeMap<String, Session>,
) -> anyhow::Result<()> {
    let mut told = BTreeMap::<String, Session>::new();
    while told
        .iter()
        .filter(|(key, row)| last.get(*key) == Some(row))
        .count()
        < last.len()
    {
        let next = grpc
            .block_on(stream.message())?
            .context("the stream ended")?;
        let Some(Change::Session(row)) = next.change else {
            anyhow::bail!("neither a deletion nor a gap can be here: {next:?}");
        };
        let before = told.get(&row.key).map_or(0, |row| row.row_version);
        assert!(
            row.row_version > before,
            "a follower is never taken back: {row:?}"
        );
        told.insert(row.key.clone(), row);
    }
    assert_eq!(told.len(), last.len());
    Ok(())
}

#[test]
fn of_a_thousand_patches_of_one_session_none_is_lost() -> anyhow::Result<()> {
    spread_over(1)
}

#[test]
fn of_a_thousand_patches_of_many_sessions_none_is_lost() -> anyhow::Result<()> {
    spread_over(SESSIONS)
}

/// Every patch sets another value, and answers with the row that it made: so the versions that the
/// answers name are one after the other without a hole, and the row ends as the last one says.
fn spread_over(sessions: usize) -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let grpc = Grpc::to(&deployment)?;
    let mut versions = BTreeMap::new();
    for number in 0..sessions {
        versions.insert(key(number), create(&grpc, number)?.row_version);
    }
    let stream = follow(&grpc)?;
    let services = &grpc.services;
    let work = futures::stream::iter(0..PATCHES).map(|patch_number| async move {
        let category = format!("category {patch_number}");
        patch(services, patch_number % sessions, category, None).await
    });
    let answers: Vec<_> = grpc.block_on(work.buffer_unordered(TASKS).collect());
    let mut made = BTreeMap::<String, BTreeMap<i64, Session>>::new();
    for answer in answers {
        let row = answer?;
        let before = made
            .entry(row.key.clone())
            .or_default()
            .insert(row.row_version, row);
        assert!(before.is_none(), "two patches made one version: {before:?}");
    }
    let mut last = BTreeMap::new();
    let each = i64::try_from(PATCHES / sessions)?;
    for number in 0..sessions {
        let row = get(&grpc, number)?;
        let first = versions
            .get(&row.key)
            .copied()
            .context("the first version")?;
        assert_eq!(row.row_version, first + each, "{row:?}");
        let of_session = made.get(&row.key).context("answers")?;
        let expected: BTreeSet<i64> = (first + 1..=first + each).collect();
        assert_eq!(
            of_session.keys().copied().collect::<BTreeSet<_>>(),
            expected
        );
        assert_eq!(of_session.get(&row.row_version), Some(&row));
        last.insert(row.key.clone(), row);
    }
    assert_followed(&grpc, stream, &last)?;
    deployment.stop()
}

/// B207: whoever builds on a version that is over is told so with ABORTED, and nothing else goes
/// wrong: of all that build on one version exactly one succeeds.
#[test]
fn of_patches_that_build_on_one_version_exactly_one_succeeds() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let grpc = Grpc::to(&deployment)?;
    let mut version = create(&grpc, 0)?.row_version;
    let services = &grpc.services;
    for round in 0..10 {
        let based_on = version;
        let work = futures::stream::iter(0..TASKS).map(|task| async move {
            let category = format!("category {round} {task}");
            patch(services, 0, category, Some(based_on)).await
        });
        let answers: Vec<_> = grpc.block_on(work.buffer_unordered(TASKS).collect());
        let mut winners = Vec::new();
        for answer in answers {
            match answer {
                Ok(row) => winners.push(row),
                Err(refused) => {
                    assert_eq!(refused.code(), Code::Aborted, "{refused}");
                    assert_eq!(reason(&refused), "STALE", "{refused}");
                },
            }
        }
        assert_eq!(winners.len(), 1, "{winners:?}");
        version += 1;
        assert_eq!(get(&grpc, 0)?.row_version, version);
        assert_eq!(winners.first(), Some(&get(&grpc, 0)?));
    }
    deployment.stop()
}

/// reg:M9: of many that want one label at the same time exactly one gets it.
#[test]
fn one_label_goes_to_one_session() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let grpc = Grpc::to(&deployment)?;
    for number in 0..SESSIONS {
        create(&grpc, number)?;
    }
    let services = &grpc.services;
    let work = futures::stream::iter(0..SESSIONS).map(|number| async move {
        let asked = registry::PatchSessionRequest {
            target: Some(session(&key(number))),
            patch: Some(registry::SessionPatch {
                label: Some("the one".to_owned()),
                ..Default::default()
            }),
            update_mask: Some(FieldMask {
                paths: vec!["label".to_owned()],
            }),
            ..Default::default()
        };
        let operator = Caller::operator();
        let patched = services.call(REGISTRY, "PatchSession", asked, &operator);
        patched
            .await
            .map(|answer: registry::PatchSessionResponse| answer.changed)
    });
    let answers: Vec<_> = grpc.block_on(work.buffer_unordered(TASKS).collect());
    let mut winners = 0;
    for answer in answers {
        match answer {
            Ok(changed) => winners += usize::from(changed),
            Err(refused) => {
                assert_eq!(reason(&refused), "LABEL_IN_USE", "{refused}");
                assert_eq!(refused.message(), "label already in use: the one");
            },
        }
    }
    assert_eq!(winners, 1);
    deployment.stop()
}
