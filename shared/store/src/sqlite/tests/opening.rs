//! What opening a database makes, accepts and refuses.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::*;
use crate::error::ConstraintKind;

#[tokio::test]
async fn connections_have_the_settings_that_durability_needs() {
    let database = notes().await;
    let settings: Result<(String, i64, i64, i64, i64), sqlx::Error> = sqlx::query_as(
        "SELECT (SELECT journal_mode FROM pragma_journal_mode), \
                (SELECT synchronous FROM pragma_synchronous), \
                (SELECT foreign_keys FROM pragma_foreign_keys), \
                (SELECT timeout FROM pragma_busy_timeout), \
                (SELECT temp_store FROM pragma_temp_store)",
    )
    .fetch_one(&database.shared.writers)
    .await;
    let full = 2;
    let in_memory = 2;
    assert_eq!(
        settings.unwrap(),
        ("wal".to_owned(), full, 1, 5_000, in_memory)
    );
}

#[tokio::test]
async fn a_reader_cannot_write() {
    let database = notes().await;
    let insert = sqlx::query("INSERT INTO note (id, text) VALUES (1, 'x')");
    let refused: StoreError = insert.execute(database.reader()).await.unwrap_err().into();
    assert!(
        matches!(refused, StoreError::Unavailable { .. }),
        "{refused:?}"
    );
}

#[tokio::test]
async fn driver_errors_are_told_apart() {
    let database = Database::temporary(&[
        NOTES,
        Migration {
            version: 2,
            description: "one of everything",
            sql: "CREATE TABLE child (parent INTEGER NOT NULL REFERENCES note (id), \
                  age INTEGER CHECK (age > 0)) STRICT",
        },
    ])
    .await
    .unwrap();
    let cases = [
        (
            "INSERT INTO child (parent) VALUES (9)",
            Some(ConstraintKind::ForeignKey),
        ),
        (
            "INSERT INTO child (parent) VALUES (NULL)",
            Some(ConstraintKind::NotNull),
        ),
        (
            "INSERT INTO child (parent, age) VALUES (9, -1)",
            Some(ConstraintKind::Check),
        ),
        (
            "INSERT INTO note (id, text) VALUES (1, 'a'), (1, 'b')",
            Some(ConstraintKind::Unique),
        ),
        ("INSERT INTO nowhere VALUES (1)", None),
    ];
    for (statement, expected) in cases {
        let refused: Result<(), StoreError> = database
            .write(move |connection| {
                Box::pin(async move {
                    sqlx::query(statement).execute(connection).await?;
                    Ok(())
                })
            })
            .await;
        let refused = refused.unwrap_err();
        let found = if let StoreError::Constraint { kind, .. } = refused {
            Some(kind)
        } else {
            None
        };
        assert_eq!(
            found.is_none(),
            matches!(refused, StoreError::Other { .. }),
            "{statement}"
        );
        assert_eq!(found, expected, "{statement}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("runner.db");
    fs::write(&path, "no database ".repeat(1_000)).unwrap();
    let refused = reopen(&path, &[NOTES]).await.unwrap_err();
    assert!(
        matches!(
            &refused,
            OpenError::Open {
                source: StoreError::Corrupt { .. },
                ..
            }
        ),
        "{refused:?}"
    );
    assert!(refused.to_string().contains("runner.db"), "{refused}");
}

#[tokio::test]
async fn steps_of_the_schema_are_only_ever_added() {
    let database = notes().await;
    write_note(&database, 1).await.unwrap();
    database.close().await;

    let second = Migration {
        version: 2,
        description: "who wrote it",
        sql: "ALTER TABLE note ADD COLUMN author TEXT",
    };
    let reopened = reopen(database.path(), &[NOTES, second]).await.unwrap();
    assert_eq!(stored(&reopened).await, [1]);
    reopened.close().await;

    let changed = Migration {
        sql: "CREATE TABLE note (id INTEGER) STRICT",
        ..NOTES
    };
    let refused = reopen(database.path(), &[changed, second])
        .await
        .unwrap_err();
    assert!(
        matches!(refused, OpenError::MigrationChanged { version: 1, .. }),
        "{refused:?}"
    );

    let refused = reopen(database.path(), &[NOTES]).await.unwrap_err();
    assert!(
        matches!(refused, OpenError::WrittenByLaterVersion { version: 2, .. }),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_step_that_fails_leaves_the_database_as_it_was() {
    let database = notes().await;
    database.close().await;
    let broken = Migration {
        version: 2,
        description: "half",
        sql: "CREATE TABLE half (id INTEGER) STRICT; INSERT INTO nowhere VALUES (1)",
    };
    let refused = reopen(database.path(), &[NOTES, broken]).await.unwrap_err();
    assert!(matches!(refused, OpenError::Migrate { .. }), "{refused:?}");

    let reopened = reopen(database.path(), &[NOTES]).await.unwrap();
    let tables = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema WHERE name = 'half'");
    let half: i64 = tables.fetch_one(reopened.reader()).await.unwrap();
    assert_eq!(half, 0);
}

#[tokio::test]
async fn directories_and_files_are_private() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("deep/data");
    let path = data.join("runner.db");
    let database = reopen(&path, &[NOTES]).await.unwrap();
    write_note(&database, 1).await.unwrap();

    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    assert_eq!(mode(&home.path().join("deep")), 0o700);
    for name in ["runner.db", "runner.db-wal", "runner.db-shm"] {
        assert_eq!(mode(&data.join(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn files_that_were_readable_by_others_are_tightened() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("runner.db");
    drop(reopen(&path, &[NOTES]).await.unwrap());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let _database = reopen(&path, &[NOTES]).await.unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn a_database_that_was_emptied_is_no_new_one_b205() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("runner.db");
    reopen(&path, &[NOTES]).await.unwrap().close().await;
    let whole = fs::read(&path).unwrap();
    fs::write(&path, "").unwrap();
    let refused = reopen(&path, &[NOTES]).await.unwrap_err();
    assert!(matches!(refused, OpenError::Emptied { .. }), "{refused}");
    assert!(refused.to_string().contains("runner.db"), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), b"", "nothing was written");
    fs::write(&path, whole).unwrap();
    reopen(&path, &[NOTES]).await.unwrap();
}

#[tokio::test]
async fn a_first_start_that_died_is_gone_on_with_b205() {
    let home = tempfile::tempdir().unwrap();
    let (path, sign) = (
        home.path().join("runner.db"),
        home.path().join("runner.db.new"),
    );
    fs::write(&sign, "").unwrap();
    fs::write(&path, "").unwrap();
    let database = reopen(&path, &[NOTES]).await.unwrap();
    write_note(&database, 1).await.unwrap();
    assert!(!sign.exists());
}

/// The umask belongs to the whole process, so the test above runs once more in a child of its own.
#[test]
fn directories_and_files_are_private_under_any_umask() {
    let test = "sqlite::tests::opening::directories_and_files_are_private";
    for umask in ["000", "022", "077"] {
        let output = Command::new("sh")
            .args(["-c", &format!("umask {umask}; exec \"$0\" --exact {test}")])
            .arg(std::env::current_exe().unwrap())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "umask {umask}: {said}");
        assert!(said.contains("1 passed"), "umask {umask}: {said}");
    }
}
