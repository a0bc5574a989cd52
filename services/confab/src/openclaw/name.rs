//! What a file in a directory of sessions is, by its name.
//!
//! Source: run:T1, run:T27.

/// Ends the name of a compressed archive.
const COMPRESSED: &str = ".zst";
/// Ends the name of a transcript.
const LINES: &str = ".jsonl";
/// Stands before the moment in the name of what a reset put aside.
const RESET: &str = ".jsonl.reset.";
/// Stands before the moment in the name of what was deleted.
const DELETED: &str = ".jsonl.deleted.";
/// Stands before the moment in the name of a backup.
const BACKUP: &str = ".jsonl.bak.";
/// Stands before the identifier in the name of a copy made before a compaction.
const CHECKPOINT: &str = ".checkpoint.";
/// Ends the name, without its ending, of what a run recorded of itself.
const TRAJECTORY: &str = ".trajectory";
/// Stands between a sessionId and a thread.
const TOPIC: &str = "-topic-";
/// Characters of a UUID.
const UUID_CHARS: usize = 36;

/// A transcript's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// What stands before the ending: a sessionId, or one with a thread.
    pub stem: String,
    /// Where it is in its life.
    pub stage: Stage,
    /// Whether it is compressed.
    pub compressed: bool,
}

/// Where a transcript is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// A copy made before a compaction.
    Checkpoint,
    /// A reset put it aside.
    Reset,
    /// Its session was deleted.
    Deleted,
    /// In use.
    Live,
}

/// What a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A transcript, and when it was put aside.
    Transcript(Name, Option<prost_types::Timestamp>),
    /// Near to a transcript and none: why it is passed over.
    PassedOver(&'static str),
    /// Nothing of ours.
    Other,
}

/// Tells what a file is.
pub(super) fn read(file: &str) -> Meaning {
    let (plain, compressed) = match file.strip_suffix(COMPRESSED) {
        Some(plain) => (plain, true),
        None => (file, false),
    };
    for (marker, stage) in [(RESET, Stage::Reset), (DELETED, Stage::Deleted)] {
        if let Some((stem, moment)) = plain.rsplit_once(marker) {
            return transcript(stem, stage, compressed, moment_of(moment));
        }
    }
    if plain.contains(BACKUP) {
        return Meaning::PassedOver("a backup of another file");
    }
    match plain.strip_suffix(LINES) {
        Some(stem) => transcript(stem, Stage::Live, compressed, None),
        None => Meaning::Other,
    }
}

fn transcript(
    stem: &str,
    stage: Stage,
    compressed: bool,
    moment: Option<prost_types::Timestamp>,
) -> Meaning {
    if stem.is_empty() {
        return Meaning::PassedOver("its name holds no sessionId");
    }
    if stem.ends_with(TRAJECTORY) {
        return Meaning::PassedOver("a record of runs, no transcript");
    }
    let (stem, stage) = match stem.rsplit_once(CHECKPOINT) {
        Some((parent, id)) if id.chars().count() == UUID_CHARS && !parent.is_empty() => {
            (parent, Stage::Checkpoint)
        },
        Some(_) | None => (stem, stage),
    };
    let name = Name {
        stem: stem.to_owned(),
        stage,
        compressed,
    };
    Meaning::Transcript(name, moment)
}

/// A sessionId and its thread, where the stem has both.
pub(super) fn topic(stem: &str) -> Option<(&str, &str)> {
    let (session_id, thread) = stem.rsplit_once(TOPIC)?;
    (!session_id.is_empty() && !thread.is_empty()).then_some((session_id, thread))
}

/// The moment in a name, whose time is written with dashes: `2026-01-02T03-04-05.678Z`.
fn moment_of(text: &str) -> Option<prost_types::Timestamp> {
    let (day, time) = text.split_once('T')?;
    format!("{day}T{}", time.replace('-', ":")).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_session_and_where_its_transcript_is_in_its_life() {
        let cases = [
            ("s1.jsonl", "s1", Stage::Live, false),
            ("s1-topic-17.jsonl", "s1-topic-17", Stage::Live, false),
            (
                "s1.jsonl.reset.2026-01-02T03-04-05.678Z",
                "s1",
                Stage::Reset,
                false,
            ),
            (
                "s1.jsonl.deleted.2026-01-02T03-04-05Z",
                "s1",
                Stage::Deleted,
                false,
            ),
            (
                "s1.jsonl.reset.2026-01-02T03-04-05.678Z.zst",
                "s1",
                Stage::Reset,
                true,
            ),
            ("s1.jsonl.reset.once", "s1", Stage::Reset, false),
            ("a.jsonl.b.jsonl", "a.jsonl.b", Stage::Live, false),
            (
                "s1.checkpoint.0198c1a2-7b3c-7000-8000-000000000001.jsonl",
                "s1",
                Stage::Checkpoint,
                false,
            ),
            (
                "s1.checkpoint.two.jsonl",
                "s1.checkpoint.two",
                Stage::Live,
                false,
            ),
        ];
        for (file, stem, stage, compressed) in cases {
            let Meaning::Transcript(name, _) = read(file) else {
                panic!("{file} is a transcript");
            };
            let stem = stem.to_owned();
            assert_eq!(
                name,
                Name {
                    stem,
                    stage,
                    compressed
                },
                "{file}"
            );
        }
    }

    #[test]
    fn what_is_near_to_a_transcript_is_passed_over_and_the_rest_is_nothing_of_ours() {
        for file in [
            "s1.trajectory.jsonl",
            ".jsonl",
            "s1.jsonl.bak.2026-01-02T03-04-05Z",
        ] {
            assert!(matches!(read(file), Meaning::PassedOver(_)), "{file}");
        }
        for file in ["sessions.json", "s1.json", "s1.jsonl.lock", "notes.txt", ""] {
            assert_eq!(read(file), Meaning::Other, "{file}");
        }
    }

    #[test]
    fn the_moment_of_an_archive_is_read_where_it_is_one() {
        let moment = |file: &str| match read(file) {
            Meaning::Transcript(_, moment) => moment.map(|moment| (moment.seconds, moment.nanos)),
            Meaning::PassedOver(_) | Meaning::Other => None,
        };
        assert_eq!(
            moment("s.jsonl.reset.1970-01-01T00-01-00.500Z"),
            Some((60, 500_000_000))
        );
        for file in [
            "s.jsonl.reset.once",
            "s.jsonl.deleted.2026-13-40T00-00-00Z",
            "s.jsonl",
        ] {
            assert_eq!(moment(file), None, "{file}");
        }
    }

    #[test]
    fn a_thread_stands_behind_its_session() {
        assert_eq!(topic("s1-topic-17"), Some(("s1", "17")));
        assert_eq!(topic("s1"), None);
        assert_eq!(topic("-topic-17"), None);
    }
}
