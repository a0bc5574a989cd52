//! Files that go in and come out.

use confab_model::message::{Blob, Role};

use super::{draft, id, plain, put, tenant};
use crate::limits::EXPORT_ROWS;
use crate::store::imports::{
    ExportEnd, ImportBatch, ImportContent, ImportEntry, ImportMessage, ImportOutcome, ImportStore,
    Imported, ImportedLines, Original, OriginalPlace,
};
use crate::store::{Row, TranscriptStore};
use crate::testing::{marker, said};

/// Runs every case on a store of its own, like the suite of the whole store.
macro_rules! suite {
    ($open:path: $($case:ident),+ $(,)?) => {
        $(#[tokio::test]
        async fn $case() {
            let (store, _alive) = $open().await;
            crate::store::conformance::imports::$case(store).await;
        })+
    };
    ($open:path) => {
        crate::store::conformance::imports::suite!($open:
            lines_stand_where_they_stood,
            a_name_is_stored_once,
            other_content_of_a_name_changes_nothing,
            an_import_that_stopped_goes_on,
            a_rehearsal_tells_the_same_and_writes_nothing,
            a_transcript_that_began_here_takes_none,
            a_line_that_becomes_a_message_changes_its_place,
            a_compaction_keeps_what_lies_before_it,
            pictures_come_with_new_lines_only,
            files_of_two_sessions_do_not_mix,
            an_end_holds_while_more_is_stored,
            rows_are_read_a_chunk_at_a_time,
        );
    };
}

pub(crate) use suite;

fn aside(name: &str) -> ImportEntry {
    ImportEntry {
        name: name.to_owned(),
        line: format!("line of {name}"),
        on_branch: true,
        blobs: Vec::new(),
        content: ImportContent::Aside,
    }
}

fn message(name: &str, reproducible: bool) -> ImportEntry {
    ImportEntry {
        content: ImportContent::Message(Box::new(ImportMessage {
            draft: plain(name),
            first_kept: None,
            reproducible,
        })),
        ..aside(name)
    }
}

fn usual(name: &str) -> ImportEntry {
    message(name, true)
}

fn batch(after: u64, entries: Vec<ImportEntry>) -> ImportBatch {
    ImportBatch {
        after,
        entries,
        ..ImportBatch::default()
    }
}

async fn import_into(store: &impl ImportStore, session: &str, batch: ImportBatch) -> Imported {
    store.import(&tenant(), &id(session), batch).await.unwrap()
}

async fn import(store: &impl ImportStore, batch: ImportBatch) -> ImportedLines {
    match import_into(store, "s", batch).await {
        Imported::Stored(lines) => lines,
        Imported::NotEmpty => panic!("not empty"),
    }
}

async fn end(store: &impl ImportStore, session: &str) -> ExportEnd {
    store.export_end(&tenant(), &id(session)).await.unwrap()
}

async fn messages(store: &impl ImportStore, session: &str, after: u64, end: ExportEnd) -> Vec<Row> {
    let (tenant, session) = (tenant(), id(session));
    let read = store.export_messages(&tenant, &session, after, end);
    read.await.unwrap()
}

async fn originals(
    store: &impl ImportStore,
    session: &str,
    after: OriginalPlace,
    end: ExportEnd,
) -> Vec<Original> {
    let (tenant, session) = (tenant(), id(session));
    let read = store.export_originals(&tenant, &session, after, end);
    read.await.unwrap()
}

/// Where each line that was kept stands, as `name@message.place`.
async fn kept(store: &impl ImportStore, session: &str) -> Vec<String> {
    let end = end(store, session).await;
    let mut after = OriginalPlace::default();
    let mut kept = Vec::new();
    loop {
        let read = originals(store, session, after, end).await;
        let Some(last) = read.last() else { return kept };
        after = last.at;
        kept.extend(read.iter().map(|Original { at, line, .. }| {
            let name = line.trim_start_matches("line of ");
            format!("{name}@{}.{}", at.after_seq, at.place)
        }));
    }
}

async fn keys(store: &impl ImportStore, session: &str) -> Vec<String> {
    let end = end(store, session).await;
    let mut after = 0;
    let mut keys = Vec::new();
    loop {
        let read = messages(store, session, after, end).await;
        let Some(last) = read.last() else { return keys };
        after = last.seq;
        keys.extend(read.into_iter().map(|row| row.body.unwrap().key));
    }
}

/// A file with lines before, between and behind its messages.
fn file() -> Vec<ImportEntry> {
    vec![
        aside("header:s"),
        aside("import:x"),
        usual("import:a"),
        message("import:b", false),
        aside("import:y"),
        aside("import:z"),
        usual("import:c"),
        aside("import:end"),
    ]
}

const FILE: [&str; 6] = [
    "header:s@0.1",
    "import:x@0.2",
    "import:b@2.0",
    "import:y@2.1",
    "import:z@2.2",
    "import:end@3.1",
];

pub(crate) async fn lines_stand_where_they_stood(store: impl ImportStore) {
    let stored = import(&store, batch(0, file())).await;
    assert_eq!(stored.after, 3);
    assert_eq!(
        keys(&store, "s").await,
        ["import:a", "import:b", "import:c"]
    );
    assert_eq!(kept(&store, "s").await, FILE, "B147");
    let end = end(&store, "s").await;
    assert!(end.has_header);
    assert_eq!((end.last_seq, end.last_original), (3, 6));
}

pub(crate) async fn a_name_is_stored_once(store: impl ImportStore) {
    let first = import(&store, batch(0, file())).await;
    let again = import(&store, batch(0, file())).await;
    assert_eq!(again.after, first.after, "D36");
    for (first, again) in first.outcomes.iter().zip(&again.outcomes) {
        let expected = match first {
            ImportOutcome::Stored => ImportOutcome::Repeated,
            ImportOutcome::Kept => ImportOutcome::Kept,
            other @ (ImportOutcome::Repeated | ImportOutcome::Differs) => panic!("{other:?}"),
        };
        assert_eq!(*again, expected, "D36");
    }
    assert_eq!(kept(&store, "s").await, FILE);
    assert_eq!(keys(&store, "s").await.len(), 3);
}

pub(crate) async fn other_content_of_a_name_changes_nothing(store: impl ImportStore) {
    import(&store, batch(0, vec![usual("import:a")])).await;
    let other = ImportEntry {
        content: ImportContent::Message(Box::new(ImportMessage {
            draft: draft(said("import:a", Role::User, "other")),
            first_kept: None,
            reproducible: false,
        })),
        ..usual("import:a")
    };
    let told = import(&store, batch(0, vec![other, usual("import:b")])).await;
    assert_eq!(
        told.outcomes,
        [ImportOutcome::Differs, ImportOutcome::Stored],
        "D36"
    );
    assert_eq!(kept(&store, "s").await, Vec::<String>::new());
    assert_eq!(keys(&store, "s").await, ["import:a", "import:b"]);
}

pub(crate) async fn an_import_that_stopped_goes_on(store: impl ImportStore) {
    for stop in 0..file().len() {
        let session = format!("stopped at {stop}");
        let first = batch(0, file().into_iter().take(stop).collect());
        import_into(&store, &session, first).await;
        // The whole file again, in two batches that end elsewhere.
        let mut after = 0;
        for entries in [&file()[..3], &file()[3..]] {
            let told = import_into(&store, &session, batch(after, entries.to_vec())).await;
            let Imported::Stored(told) = told else {
                panic!("D36 stopped at {stop}")
            };
            after = told.after;
        }
        assert_eq!(kept(&store, &session).await, FILE, "D36 D47 {stop}");
        assert_eq!(keys(&store, &session).await.len(), 3, "D36 D47 {stop}");
    }
}

pub(crate) async fn a_rehearsal_tells_the_same_and_writes_nothing(store: impl ImportStore) {
    let rehearsal = ImportBatch {
        dry_run: true,
        ..batch(0, file())
    };
    let told = import(&store, rehearsal).await;
    assert_eq!(end(&store, "s").await, ExportEnd::default());
    assert_eq!(import(&store, batch(0, file())).await, told);
}

pub(crate) async fn a_transcript_that_began_here_takes_none(
    store: impl ImportStore + TranscriptStore,
) {
    put(&store, "s", vec![plain("own")]).await;
    for dry_run in [true, false] {
        let refused = ImportBatch {
            dry_run,
            ..batch(0, file())
        };
        assert_eq!(import_into(&store, "s", refused).await, Imported::NotEmpty);
    }
    assert_eq!(keys(&store, "s").await, ["own"]);
    assert_eq!(kept(&store, "s").await, Vec::<String>::new());
    // Where an import came first, the same one goes on behind what was said since.
    for (session, entries) in [("t", file()[..3].to_vec()), ("t", file())] {
        let told = import_into(&store, session, batch(0, entries)).await;
        assert!(matches!(told, Imported::Stored(_)), "D36");
        put(&store, session, vec![plain("own")]).await;
    }
    assert_eq!(
        keys(&store, "t").await,
        ["import:a", "own", "import:b", "import:c"]
    );
}

pub(crate) async fn a_line_that_becomes_a_message_changes_its_place(store: impl ImportStore) {
    import(&store, batch(0, vec![usual("import:a"), aside("import:b")])).await;
    assert_eq!(kept(&store, "s").await, ["import:b@1.1"]);
    let told = import(&store, batch(0, vec![usual("import:a"), usual("import:b")])).await;
    assert_eq!(
        told.outcomes,
        [ImportOutcome::Repeated, ImportOutcome::Stored],
        "run:T14"
    );
    assert_eq!(kept(&store, "s").await, ["import:b@2.0"]);
    assert_eq!(keys(&store, "s").await, ["import:a", "import:b"]);
    // And a message that is none in a later file stays one.
    let told = import(&store, batch(0, vec![aside("import:a"), usual("import:b")])).await;
    assert_eq!(
        told.outcomes,
        [ImportOutcome::Kept, ImportOutcome::Repeated],
        "run:T14"
    );
    assert_eq!(kept(&store, "s").await, ["import:b@2.0"]);
}

pub(crate) async fn a_compaction_keeps_what_lies_before_it(
    store: impl ImportStore + TranscriptStore,
) {
    let compaction = |name: &str, first_kept: Option<&str>| ImportEntry {
        content: ImportContent::Message(Box::new(ImportMessage {
            draft: draft(marker(name, None)),
            first_kept: first_kept.map(str::to_owned),
            reproducible: true,
        })),
        ..aside(name)
    };
    let entries = vec![
        usual("import:a"),
        usual("import:b"),
        compaction("import:k", Some("import:b")),
        compaction("import:l", Some("import:nowhere")),
        compaction("import:m", None),
    ];
    import(&store, batch(0, entries.clone())).await;
    for (seq, expected) in [(3, Some(2)), (4, None), (5, None)] {
        let row = store.row(&tenant(), &id("s"), seq).await.unwrap().unwrap();
        let compaction = row.body.unwrap().compaction.unwrap();
        assert_eq!(compaction.first_kept_seq, expected, "run:T15 {seq}");
    }
    let again = import(&store, batch(0, entries)).await;
    assert_eq!(again.outcomes, [ImportOutcome::Repeated; 5], "D36");
}

pub(crate) async fn pictures_come_with_new_lines_only(store: impl ImportStore + TranscriptStore) {
    let with = |entry: ImportEntry, reference: &str| ImportEntry {
        blobs: vec![Blob {
            reference: reference.to_owned(),
            bytes: vec![1],
        }],
        ..entry
    };
    import(
        &store,
        batch(
            0,
            vec![with(usual("import:a"), "x"), with(aside("import:b"), "y")],
        ),
    )
    .await;
    import(&store, batch(0, vec![with(usual("import:a"), "z")])).await;
    for (reference, expected) in [("x", Some(vec![1])), ("y", Some(vec![1])), ("z", None)] {
        let blob = store.blob(&tenant(), reference).await.unwrap();
        assert_eq!(blob, expected, "{reference}");
    }
}

pub(crate) async fn files_of_two_sessions_do_not_mix(store: impl ImportStore) {
    import(&store, batch(0, file())).await;
    let other = batch(0, vec![aside("import:x"), usual("import:a")]);
    import_into(&store, "t", other).await;
    assert_eq!(kept(&store, "s").await, FILE);
    assert_eq!(kept(&store, "t").await, ["import:x@0.1"]);
    assert_eq!(keys(&store, "t").await, ["import:a"]);
    assert!(!end(&store, "t").await.has_header);
}

pub(crate) async fn an_end_holds_while_more_is_stored(store: impl ImportStore) {
    let (first, rest) = (file()[..4].to_vec(), file()[4..].to_vec());
    import(&store, batch(0, first)).await;
    let end = end(&store, "s").await;
    import(&store, batch(2, rest)).await;
    let originals = originals(&store, "s", OriginalPlace::default(), end).await;
    assert_eq!(originals.len(), 3);
    assert_eq!(messages(&store, "s", 0, end).await.len(), 2);
}

pub(crate) async fn rows_are_read_a_chunk_at_a_time(store: impl ImportStore) {
    let names: Vec<String> = (0..900).map(|number| format!("import:{number}")).collect();
    let asides = (0..900).map(|number| aside(&format!("import:aside {number}")));
    let usual = names.iter().map(|name| usual(name));
    import(&store, batch(0, usual.chain(asides).collect())).await;
    let end = end(&store, "s").await;
    let read = messages(&store, "s", 0, end).await;
    assert_eq!(read.len(), EXPORT_ROWS, "B145");
    let read = originals(&store, "s", OriginalPlace::default(), end).await;
    assert_eq!(read.len(), EXPORT_ROWS, "B145");
    assert_eq!(keys(&store, "s").await, names);
    assert_eq!(kept(&store, "s").await.len(), 900);
}
