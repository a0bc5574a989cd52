//! One transcript as its lines of JSON, piece by piece, whatever its size.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use ruzstd::decoding::StreamingDecoder;
use serde_json::Value;

use super::database::Database;

/// Size of a piece, in bytes.
pub(crate) const PIECE_BYTES: usize = 256 * 1024;
/// How much is read at either end of a file to learn its times, in bytes.
const PEEK_BYTES: u64 = 64 * 1024;

/// One transcript.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The generation it is of.
    pub session_id: String,
    /// Its file, relative to the directory; `FILE#SESSION_ID` in a database.
    pub name: String,
    /// Its size as it lies there, in bytes.
    pub bytes: u64,
    /// Where it is.
    pub place: Place,
}

/// Where a transcript is.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// In a file, as it is.
    Plain(PathBuf),
    /// In a compressed file.
    Compressed(PathBuf),
    /// In a database.
    Database(Arc<Database>),
}

/// The pieces of a transcript, in order. After an error nothing follows.
pub(crate) type Pieces<'a> = BoxStream<'a, Result<Vec<u8>, String>>;

impl Source {
    /// Its lines of JSON.
    ///
    /// Files are read where the stream is polled: the command has nothing else to do meanwhile.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(crate) fn pieces(&self) -> Result<Pieces<'_>, String> {
        match &self.place {
            Place::Plain(path) => Ok(of_reader(open(path)?)),
            Place::Compressed(path) => Ok(of_reader(Frames::new(open(path)?))),
            Place::Database(database) => Ok(database.pieces(&self.session_id)),
        }
    }

    /// When it was begun and when it was last written, as far as its lines tell.
    pub(super) fn times(&self) -> Times {
        let read = match &self.place {
            Place::Plain(path) => peek(path),
            Place::Compressed(path) => open(path).map(|file| Ends {
                first: first_line(&mut Frames::new(file)),
                last: None,
            }),
            Place::Database(_) => Ok(Ends::default()),
        };
        let Ends { first, last } = read.unwrap_or_default();
        Times {
            first: first.and_then(|line| moment(&line)),
            last: last.and_then(|line| moment(&line)),
        }
    }
}

/// When a transcript was begun and last written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    /// The moment of its first line.
    pub first: Option<prost_types::Timestamp>,
    /// The moment of its last line.
    pub last: Option<prost_types::Timestamp>,
}

fn open(path: &Path) -> Result<File, String> {
    File::open(path).map_err(|error| format!("it cannot be opened: {error}"))
}

fn of_reader<'a>(reader: impl Read + Send + 'a) -> Pieces<'a> {
    let pieces = stream::unfold(Some(reader), |reader| async {
        let mut reader = reader?;
        match piece(&mut reader) {
            Ok(bytes) if bytes.is_empty() => None,
            Ok(bytes) => Some((Ok(bytes), Some(reader))),
            Err(error) => Some((Err(format!("it cannot be read to its end: {error}")), None)),
        }
    });
    pieces.boxed()
}

/// The next bytes; none at the end.
fn piece(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(PIECE_BYTES).unwrap_or(u64::MAX);
    reader.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A compressed file, which may hold several parts behind one another.
struct Frames {
    state: Option<Frame>,
}

/// Between two parts, or in one.
enum Frame {
    Between(BufReader<File>),
    In(Box<StreamingDecoder<BufReader<File>, ruzstd::decoding::FrameDecoder>>),
}

impl Frames {
    fn new(file: File) -> Self {
        Self {
            state: Some(Frame::Between(BufReader::new(file))),
        }
    }
}

impl Read for Frames {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.state.take() {
                None => return Ok(0),
                Some(Frame::Between(mut file)) => {
                    if file.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    let decoder = StreamingDecoder::new(file)
                        .map_err(|error| io::Error::other(error.to_string()))?;
                    self.state = Some(Frame::In(Box::new(decoder)));
                },
                Some(Frame::In(mut decoder)) => match decoder.read(into)? {
                    0 if !into.is_empty() => {
                        self.state = Some(Frame::Between(decoder.into_inner()));
                    },
                    read => {
                        self.state = Some(Frame::In(decoder));
                        return Ok(read);
                    },
                },
            }
        }
    }
}

/// The first line of a transcript, and the last one that tells a time.
#[derive(Debug, Default)]
struct Ends {
    first: Option<Vec<u8>>,
    last: Option<Vec<u8>>,
}

/// Both ends of a file.
fn peek(path: &Path) -> Result<Ends, String> {
    let told = |error: io::Error| error.to_string();
    let mut file = open(path)?;
    let first = first_line(&mut file);
    let length = file.metadata().map_err(told)?.len();
    let start = length.saturating_sub(PEEK_BYTES);
    file.seek(SeekFrom::Start(start)).map_err(told)?;
    let mut tail = Vec::new();
    file.take(PEEK_BYTES).read_to_end(&mut tail).map_err(told)?;
    // A line that is cut at the end tells no time, the one before it may.
    let mut lines = tail.rsplit(|byte| *byte == b'\n');
    let last = lines.find(|line| moment(line).is_some());
    let last = last.map(<[u8]>::to_vec);
    Ok(Ends { first, last })
}

fn first_line(reader: &mut impl Read) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    reader.take(PEEK_BYTES).read_to_end(&mut head).ok()?;
    head.split(|byte| *byte == b'\n').next().map(<[u8]>::to_vec)
}

/// The moment that a line tells.
fn moment(line: &[u8]) -> Option<prost_types::Timestamp> {
    let entry: Value = serde_json::from_slice(line).ok()?;
    entry.get("timestamp")?.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn source(path: &Path, compressed: bool) -> Source {
        let path = path.to_owned();
        Source {
            session_id: "s".to_owned(),
            name: "s.jsonl".to_owned(),
            bytes: 0,
            place: if compressed {
                Place::Compressed(path)
            } else {
                Place::Plain(path)
            },
        }
    }

    async fn whole(source: &Source) -> Result<Vec<u8>, String> {
        let mut pieces = source.pieces()?;
        let mut whole = Vec::new();
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            assert!(!piece.is_empty() && piece.len() <= PIECE_BYTES);
            whole.extend(piece);
        }
        Ok(whole)
    }

    #[tokio::test]
    async fn a_file_comes_in_pieces_byte_for_byte_compressed_or_not() {
        let directory = tempfile::tempdir().unwrap();
        let text: Vec<u8> = (0..200_000).flat_map(|n: u32| n.to_le_bytes()).collect();
        let plain = directory.path().join("a");
        std::fs::write(&plain, &text).unwrap();
        assert_eq!(whole(&source(&plain, false)).await.unwrap(), text);

        let packed = directory.path().join("b");
        let parts = [&text[..300_000], &text[300_000..]]
            .map(|part| compress_to_vec(part, CompressionLevel::Fastest));
        std::fs::write(&packed, parts.concat()).unwrap();
        assert_eq!(whole(&source(&packed, true)).await.unwrap(), text);
    }

    #[tokio::test]
    async fn what_cannot_be_read_to_its_end_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        let packed = compress_to_vec(&[7; 9_000][..], CompressionLevel::Fastest);
        std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
        let told = whole(&source(&path, true)).await.unwrap_err();
        assert!(told.contains("to its end"), "{told}");
        let absent = source(&directory.path().join("absent"), false);
        assert!(whole(&absent).await.unwrap_err().contains("opened"));
    }

    #[test]
    fn the_first_and_the_last_whole_line_tell_the_times() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        let text = "{\"timestamp\":\"1970-01-01T00:00:01Z\"}\n{}\n\
            {\"timestamp\":\"1970-01-01T00:00:09Z\"}\n{\"timest";
        std::fs::write(&path, text).unwrap();
        let times = source(&path, false).times();
        let seconds = |moment: Option<prost_types::Timestamp>| moment.unwrap().seconds;
        assert_eq!((seconds(times.first), seconds(times.last)), (1, 9));
        std::fs::write(&path, "garbage").unwrap();
        assert_eq!(source(&path, false).times(), Times::default());
    }
}
