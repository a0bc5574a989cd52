//! `confab sessions export`: a transcript as lines of JSON, as they come.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use confab_proto::transcript::v1::{ExportTranscriptRequest, ExportTranscriptResponse};
use confab_rpc::error::Reason;
use futures::{Stream, StreamExt as _};
use tempfile::NamedTempFile;
use tonic::Status;

use crate::cli::sessions::ExportSession;
use crate::commands::target;
use crate::connect::{Services, answer};
use crate::exit::{Exit, Failure};
use crate::render::json::Fields;
use crate::render::screen::{Reader, Screen};
use crate::render::text;

/// Writes a transcript to standard output or into a file.
///
/// # Errors
/// When the service refuses or cannot be reached, or the file cannot be written.
pub(super) async fn run(
    services: &Services,
    args: ExportSession,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    // Before anything is asked for: a name that cannot be used is no reason to read a transcript.
    let output = args.output.as_deref();
    let mut output = output
        .map(|path| Output::new(path, args.force))
        .transpose()?;
    let request = ExportTranscriptRequest {
        target: Some(target(&args.key)),
        raw: args.raw,
    };
    let mut transcript = services.transcript().lasting();
    let pieces = answer(transcript.export_transcript(request).await)
        .map_err(|failure| failure.hint_on(Reason::Role, "only an operator exports with --raw"))?;
    match &mut output {
        None => to_screen(pieces, screen).await?,
        Some(output) => output.fill(pieces).await?,
    }
    if let Some(output) = output {
        let written = output.keep()?;
        screen.show(|| written.record(), |_, _| written.tell())?;
    }
    Ok(Exit::Done)
}

/// A reader that is gone, as `head` is, wants no more.
async fn to_screen(
    mut pieces: impl Stream<Item = Result<ExportTranscriptResponse, Status>> + Unpin,
    screen: &mut Screen,
) -> Result<(), Failure> {
    while let Some(piece) = pieces.next().await {
        let piece = answer(piece.map(tonic::Response::new))?;
        if screen.bytes(&piece.lines)? == Reader::Gone {
            break;
        }
    }
    Ok(())
}

/// A file in the making: it gets its name when it is whole.
struct Output {
    path: PathBuf,
    force: bool,
    file: NamedTempFile,
    bytes: u64,
    lines: u64,
}

impl Output {
    fn new(path: &Path, force: bool) -> Result<Self, Failure> {
        match path.symlink_metadata() {
            Ok(_) if !force => return Err(exists(path)),
            // A device or a link would be replaced, and not written to.
            Ok(found) if !found.is_file() => return Err(no_file(path)),
            Ok(_) | Err(_) => {},
        }
        let directory = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let directory = directory.unwrap_or_else(|| Path::new("."));
        let file = NamedTempFile::new_in(directory).map_err(|error| unwritable(path, &error))?;
        Ok(Self {
            path: path.to_owned(),
            force,
            file,
            bytes: 0,
            lines: 0,
        })
    }

    async fn fill(
        &mut self,
        mut pieces: impl Stream<Item = Result<ExportTranscriptResponse, Status>> + Unpin,
    ) -> Result<(), Failure> {
        while let Some(piece) = pieces.next().await {
            let piece = answer(piece.map(tonic::Response::new))?;
            let written = self.file.write_all(&piece.lines);
            written.map_err(|error| unwritable(&self.path, &error))?;
            self.bytes += count(piece.lines.len());
            self.lines += count(piece.lines.split(|byte| *byte == b'\n').skip(1).count());
        }
        Ok(())
    }

    fn keep(self) -> Result<Written, Failure> {
        let Self {
            path,
            force,
            file,
            bytes,
            lines,
        } = self;
        file.as_file()
            .sync_all()
            .map_err(|error| unwritable(&path, &error))?;
        let kept = if force {
            file.persist(&path)
        } else {
            file.persist_noclobber(&path)
        };
        match kept {
            Ok(_) => Ok(Written { path, bytes, lines }),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(exists(&path)),
            Err(error) => Err(unwritable(&path, &error.error)),
        }
    }
}

/// What was written.
struct Written {
    path: PathBuf,
    bytes: u64,
    lines: u64,
}

impl Written {
    fn record(&self) -> serde_json::Value {
        Fields::new()
            .put("file", self.path.display().to_string())
            .put("lines", self.lines)
            .put("bytes", self.bytes)
            .into()
    }

    fn tell(&self) -> String {
        let path = text::line(&self.path.display().to_string());
        format!("{} lines, {} bytes in {path}", self.lines, self.bytes)
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn exists(path: &Path) -> Failure {
    Failure::usage(format!("--output: {} exists", path.display()))
        .hint("name another file, or let it be overwritten with --force")
}

fn no_file(path: &Path) -> Failure {
    Failure::usage(format!("--output: {} is no regular file", path.display()))
        .hint("name a file, or leave --output out and redirect what is printed")
}

fn unwritable(path: &Path, error: &impl Display) -> Failure {
    let message = format!("{} cannot be written: {error}", path.display());
    Failure::new(Exit::Failed, message)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use futures::stream;

    use super::*;

    fn pieces(
        given: Vec<Result<&'static str, Status>>,
    ) -> impl Stream<Item = Result<ExportTranscriptResponse, Status>> + Unpin {
        stream::iter(given.into_iter().map(|piece| {
            piece.map(|lines| ExportTranscriptResponse {
                lines: lines.as_bytes().to_vec().into(),
            })
        }))
    }

    #[tokio::test]
    async fn a_file_is_whole_or_is_not_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.jsonl");
        let mut output = Output::new(&path, false).unwrap();
        output
            .fill(pieces(vec![Ok("{\"a\""), Ok(":1}\n{}\n")]))
            .await
            .unwrap();
        assert!(!path.exists(), "it is not whole yet");
        let written = output.keep().unwrap();
        assert_eq!((written.lines, written.bytes), (2, 11));
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"a\":1}\n{}\n");

        let cut = directory.path().join("cut.jsonl");
        let mut output = Output::new(&cut, false).unwrap();
        let gone = vec![Ok("{}\n"), Err(Status::unavailable("gone"))];
        let failure = output.fill(pieces(gone)).await.unwrap_err();
        assert_eq!(failure.exit, Exit::Failed);
        drop(output);
        assert_eq!(
            fs::read_dir(directory.path()).unwrap().count(),
            1,
            "nothing is left behind"
        );
    }

    #[tokio::test]
    async fn a_file_that_exists_is_overwritten_only_by_force() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.jsonl");
        fs::write(&path, "mine").unwrap();
        let refused = Output::new(&path, false).err().unwrap();
        assert_eq!(refused.exit, Exit::Usage);
        assert!(refused.hint.is_some_and(|hint| hint.contains("--force")));
        let late = directory.path().join("late.jsonl");
        let output = Output::new(&late, false).unwrap();
        fs::write(&late, "mine").unwrap();
        assert_eq!(
            output.keep().err().unwrap().exit,
            Exit::Usage,
            "it came meanwhile"
        );
        assert_eq!(fs::read_to_string(&late).unwrap(), "mine");
        Output::new(&path, true).unwrap().keep().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
    }

    #[test]
    fn what_is_no_file_is_not_replaced_by_one() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("link.jsonl");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        for path in [&link, directory.path()] {
            let refused = Output::new(path, true).err().unwrap();
            assert_eq!(refused.exit, Exit::Usage);
            assert!(refused.hint.is_some_and(|hint| hint.contains("redirect")));
        }
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[tokio::test]
    async fn a_reader_that_is_gone_ends_the_export_quietly() {
        struct Closed;
        impl io::Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut screen = Screen::on(Closed, false);
        let unread = vec![Ok("{}\n"), Err(Status::internal("nobody asks for this"))];
        to_screen(pieces(unread), &mut screen).await.unwrap();
    }
}
