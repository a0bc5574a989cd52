use std::fs;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use futures::future::join_all;
use futures::{FutureExt, poll};
use sqlx::Connection;
use tokio::task::unconstrained;

use super::*;

mod opening;

const NOTES: Migration = Migration {
    version: 1,
    description: "notes",
    sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT",
};

async fn notes() -> TemporaryDatabase {
    Database::temporary(&[NOTES]).await.unwrap()
}

async fn reopen(path: &Path, migrations: &[Migration]) -> Result<Database, OpenError> {
    Database::open(
        path,
        migrations,
        &TaskTracker::new(),
        &CancellationToken::new(),
    )
    .await
}

async fn insert(connection: &mut SqliteConnection, id: i64) -> Result<i64, StoreError> {
    let insert = sqlx::query("INSERT INTO note (id, text) VALUES ($1, 'x')").bind(id);
    insert.execute(connection).await?;
    Ok(id)
}

async fn write_note(database: &Database, id: i64) -> Result<i64, StoreError> {
    database
        .write(move |connection| Box::pin(insert(connection, id)))
        .await
}

async fn stored(database: &Database) -> Vec<i64> {
    let select = sqlx::query_scalar("SELECT id FROM note ORDER BY id");
    select.fetch_all(database.reader()).await.unwrap()
}

fn commits(database: &Database) -> u64 {
    *database.commits().borrow()
}

/// Keeps the writer busy until the answer is sent, and returns when it is.
async fn hold_writer(
    database: &Database,
) -> (
    oneshot::Sender<()>,
    BoxFuture<'static, Result<(), StoreError>>,
) {
    let (release, released) = oneshot::channel::<()>();
    let (begun, has_begun) = oneshot::channel();
    let database = database.clone();
    let mut held = async move {
        database
            .write(|_| {
                Box::pin(async move {
                    begun.send(()).unwrap();
                    released.await.unwrap();
                    Ok(())
                })
            })
            .await
    }
    .boxed();
    assert!(poll!(&mut held).is_pending());
    has_begun.await.unwrap();
    (release, held)
}

/// Brings a future to its first wait: a write is in the queue then.
macro_rules! queue {
    ($future:expr) => {
        assert!(
            unconstrained(async { poll!(&mut $future) })
                .await
                .is_pending()
        )
    };
}

#[tokio::test]
async fn jobs_that_wait_together_share_one_commit() {
    let database = notes().await;
    let (release, held) = hold_writer(&database).await;
    let mut writes = pin!(join_all((1..=100).map(|id| write_note(&database, id))));
    queue!(writes);
    let before = commits(&database);

    release.send(()).unwrap();
    held.await.unwrap();
    let answers: Vec<i64> = writes.await.into_iter().map(Result::unwrap).collect();

    let expected: Vec<i64> = (1..=100).collect();
    assert_eq!(answers, expected);
    assert_eq!(stored(&database).await, expected);
    // The job that held the writer, and the hundred.
    assert_eq!(commits(&database) - before, 2);
}

#[tokio::test]
async fn a_lone_job_is_committed_by_itself() {
    let database = notes().await;
    for id in 1..=3 {
        write_note(&database, id).await.unwrap();
    }
    assert_eq!(commits(&database), 3);
    assert_eq!(stored(&database).await, [1, 2, 3]);
}

#[tokio::test]
async fn a_failed_job_leaves_its_neighbours_alone() {
    let database = notes().await;
    write_note(&database, 1).await.unwrap();
    let (release, held) = hold_writer(&database).await;
    let twice_the_same = database.write(|connection| {
        Box::pin(async move {
            insert(connection, 50).await?;
            insert(connection, 1).await
        })
    });
    let mut writes = pin!(async {
        futures::join!(
            write_note(&database, 2),
            twice_the_same,
            write_note(&database, 3)
        )
    });
    queue!(writes);
    release.send(()).unwrap();
    held.await.unwrap();

    let (before, failed, after) = writes.await;
    let failed: StoreError = failed.unwrap_err();
    assert!(failed.is_unique_violation(), "{failed:?}");
    assert!(!failed.is_transient());
    assert_eq!((before.unwrap(), after.unwrap()), (2, 3));
    assert_eq!(stored(&database).await, [1, 2, 3]);
}

#[tokio::test]
async fn a_failed_lone_job_keeps_nothing_and_counts_as_no_commit() {
    let database = notes().await;
    let failed: Result<(), StoreError> = database
        .write(|connection| {
            Box::pin(async move {
                insert(connection, 1).await?;
                Err(StoreError::corrupt("on purpose"))
            })
        })
        .await;
    assert!(
        matches!(failed, Err(StoreError::Corrupt { .. })),
        "{failed:?}"
    );
    assert_eq!((stored(&database).await, commits(&database)), (vec![], 0));
}

#[tokio::test]
async fn nobody_is_answered_before_the_commit() {
    let database = notes().await;
    let (release_first, held_first) = hold_writer(&database).await;
    let mut first = pin!(write_note(&database, 1));
    queue!(first);
    let (begun, has_begun) = oneshot::channel();
    let (release_second, released) = oneshot::channel::<()>();
    let mut second = pin!(database.write(
        move |connection: &mut SqliteConnection| -> BoxFuture<'_, Result<i64, StoreError>> {
            Box::pin(async move {
                begun.send(()).unwrap();
                released.await.unwrap();
                insert(connection, 2).await
            })
        }
    ));
    queue!(second);
    release_first.send(()).unwrap();
    held_first.await.unwrap();
    has_begun.await.unwrap();

    // The first job has run, and waits for the commit that it shares with the second.
    assert!(poll!(&mut first).is_pending());
    assert_eq!(stored(&database).await, Vec::<i64>::new());

    release_second.send(()).unwrap();
    assert_eq!(first.await.unwrap(), 1);
    assert_eq!(stored(&database).await, [1, 2]);
    assert_eq!(second.await.unwrap(), 2);
}

#[tokio::test]
async fn a_panic_ends_its_own_job_only() {
    let database = notes().await;
    let (release, held) = hold_writer(&database).await;
    let panicking = database.write(|connection| {
        Box::pin(async move {
            insert(connection, 50).await?;
            panic!("on purpose")
        })
    });
    let panics_early = database.write::<(), StoreError, _>(|_| panic!("on purpose"));
    let mut writes = pin!(async {
        futures::join!(
            write_note(&database, 1),
            panicking,
            panics_early,
            write_note(&database, 2)
        )
    });
    queue!(writes);
    release.send(()).unwrap();
    held.await.unwrap();

    let (before, panicked, panicked_early, after) = writes.await;
    let panicked: Result<(), StoreError> = panicked;
    assert!(
        matches!(panicked, Err(StoreError::Panicked)),
        "{panicked:?}"
    );
    assert!(
        matches!(panicked_early, Err(StoreError::Panicked)),
        "{panicked_early:?}"
    );
    assert_eq!((before.unwrap(), after.unwrap()), (1, 2));
    assert_eq!(write_note(&database, 3).await.unwrap(), 3);
    assert_eq!(stored(&database).await, [1, 2, 3]);
}

#[tokio::test]
async fn a_panic_in_the_middle_of_a_query_leaves_the_writer_usable() {
    use futures::TryStreamExt;
    let database = notes().await;
    for id in 1..=200 {
        write_note(&database, id).await.unwrap();
    }
    let panicked: Result<(), StoreError> = database
        .write(|connection| {
            Box::pin(async move {
                insert(connection, 900).await?;
                let mut inner = connection.begin().await?;
                insert(&mut inner, 901).await?;
                let mut rows = sqlx::query("SELECT id FROM note").fetch(&mut *inner);
                let row = rows.try_next().await?;
                panic!("on purpose, having read {}", row.is_some())
            })
        })
        .await;
    assert!(
        matches!(panicked, Err(StoreError::Panicked)),
        "{panicked:?}"
    );
    write_note(&database, 201).await.unwrap();
    assert_eq!(stored(&database).await, (1..=201).collect::<Vec<_>>());
}

/// A full disk makes the engine drop the whole transaction by itself; here a job does it.
#[tokio::test]
async fn a_lost_transaction_is_told_to_everybody_in_it_and_the_writer_recovers() {
    let database = notes().await;
    let (release, held) = hold_writer(&database).await;
    let loses = || {
        database.write(|connection| {
            Box::pin(async move {
                sqlx::query("ROLLBACK").execute(connection).await?;
                Ok(())
            })
        })
    };
    let mut writes =
        pin!(async { futures::join!(write_note(&database, 1), loses(), write_note(&database, 2)) });
    queue!(writes);
    release.send(()).unwrap();
    held.await.unwrap();

    let (before, lost, after) = writes.await;
    let lost: Result<(), StoreError> = lost;
    assert!(
        before.is_err() && lost.is_err() && after.is_err(),
        "{before:?} {lost:?} {after:?}"
    );
    let lost_alone: Result<(), StoreError> = loses().await;
    assert!(lost_alone.is_err());
    assert_eq!(write_note(&database, 3).await.unwrap(), 3);
    assert_eq!(stored(&database).await, [3]);
}

#[tokio::test]
async fn a_job_whose_caller_went_away_runs_whole_and_wakes_the_waiters() {
    let database = notes().await;
    let woken = Arc::new(AtomicU64::new(0));
    let (release, held) = hold_writer(&database).await;
    {
        let woken = Arc::clone(&woken);
        let mut abandoned = pin!(database.write_then(
            |connection| {
                Box::pin(async move {
                    insert(connection, 1).await?;
                    insert(connection, 2).await
                })
            },
            move |_: &i64| {
                woken.fetch_add(1, Ordering::SeqCst);
            },
        ));
        queue!(abandoned);
    }
    release.send(()).unwrap();
    held.await.unwrap();
    write_note(&database, 3).await.unwrap();
    assert_eq!(stored(&database).await, [1, 2, 3]);
    assert_eq!(woken.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_commit_listener_runs_after_the_commit_and_its_panic_spoils_nothing() {
    let database = notes().await;
    let commits_seen = Arc::new(AtomicU64::new(0));
    let (seen, commits) = (Arc::clone(&commits_seen), database.commits());
    let written: Result<i64, StoreError> = database
        .write_then(
            |connection| Box::pin(insert(connection, 1)),
            move |_| {
                seen.fetch_add(*commits.borrow(), Ordering::SeqCst);
                panic!("on purpose")
            },
        )
        .await;
    assert_eq!(written.unwrap(), 1);
    assert_eq!(commits_seen.load(Ordering::SeqCst), 1);
    assert_eq!(write_note(&database, 2).await.unwrap(), 2);
}

#[tokio::test]
async fn a_commit_listener_is_not_called_for_a_failed_job() {
    let database = notes().await;
    write_note(&database, 1).await.unwrap();
    let called = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&called);
    let written: Result<i64, StoreError> = database
        .write_then(
            |connection| Box::pin(insert(connection, 1)),
            move |_| {
                seen.fetch_add(1, Ordering::SeqCst);
            },
        )
        .await;
    assert!(written.unwrap_err().is_unique_violation());
    assert_eq!(called.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_commit_wakes_whoever_watches_the_count() {
    let database = notes().await;
    let mut commits = database.commits();
    commits.mark_unchanged();
    let mut woken = pin!(commits.changed());
    assert!(poll!(&mut woken).is_pending());
    write_note(&database, 1).await.unwrap();
    assert!(matches!(poll!(&mut woken), Poll::Ready(Ok(()))));
}

#[tokio::test]
async fn closing_finishes_what_waits_and_refuses_what_comes() {
    let database = notes().await;
    let (release, held) = hold_writer(&database).await;
    let mut waiting = pin!(write_note(&database, 1));
    queue!(waiting);
    let mut closing = pin!(database.close());
    queue!(closing);
    release.send(()).unwrap();
    let ((), held, written) = futures::join!(closing, held, waiting);
    held.unwrap();
    assert_eq!(written.unwrap(), 1);

    let refused = write_note(&database, 2).await.unwrap_err();
    assert!(matches!(refused, StoreError::Closed), "{refused:?}");
    assert!(refused.is_transient());
    database.close().await;

    let names = fs::read_dir(database.directory()).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["test.db"], "the log is folded into the file");
    let reopened = reopen(database.path(), &[NOTES]).await.unwrap();
    assert_eq!(stored(&reopened).await, [1]);
}

#[tokio::test]
async fn the_stop_token_ends_the_writer_and_the_tracker_waits_for_it() {
    let home = tempfile::tempdir().unwrap();
    let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
    let path = home.path().join("runner.db");
    let database = Database::open(&path, &[NOTES], &tracker, &stop)
        .await
        .unwrap();
    tracker.close();
    stop.cancel();
    tracker.wait().await;
    let refused = write_note(&database, 1).await.unwrap_err();
    assert!(matches!(refused, StoreError::Closed), "{refused:?}");
}
