//! The floor of appends: the same messages as rows of one plain table, written by one connection to a
//! SQLite file that is as durable as the transcript's; each transaction is on the disk before the next
//! one begins.

use std::path::Path;
use std::time::Duration;

use confab_rpc::wire::message::new_to_proto;
use prost::Message as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::time::Instant;

use crate::speech;

/// Bodies that are written again and again, made beforehand.
const BODIES: u32 = 1_000;

/// Rows in a second, for as long as `time`, with this many in each transaction.
pub(crate) async fn rows_per_second(directory: &Path, rows: usize, time: Duration) -> f64 {
    let path = directory.join(format!("floor-{rows}.db"));
    let mut connection = open(&path).await;
    let bodies: Vec<Vec<u8>> = (0..BODIES)
        .map(|number| new_to_proto(&speech::message(number)).encode_to_vec())
        .collect();
    let mut bodies = bodies.iter().cycle();
    let mut written = 0.0;
    let begun = Instant::now();
    while begun.elapsed() < time {
        let some: Vec<&[u8]> = bodies.by_ref().take(rows).map(Vec::as_slice).collect();
        written += f64::from(u32::try_from(some.len()).unwrap());
        write(&mut connection, &some).await;
    }
    let elapsed = begun.elapsed().as_secs_f64();
    connection.close().await.unwrap();
    written / elapsed
}

async fn open(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    let mut connection = options.connect().await.unwrap();
    sqlx::query("CREATE TABLE messages (seq INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT")
        .execute(&mut connection)
        .await
        .unwrap();
    connection
}

async fn write(connection: &mut SqliteConnection, bodies: &[&[u8]]) {
    let mut transaction = connection.begin().await.unwrap();
    for body in bodies {
        sqlx::query("INSERT INTO messages (body) VALUES (?)")
            .bind(*body)
            .execute(&mut *transaction)
            .await
            .unwrap();
    }
    transaction.commit().await.unwrap();
}
