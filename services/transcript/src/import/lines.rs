//! Bytes cut into lines.

use std::io::{self, BufRead, BufReader, Read};

use crate::entry::Fault;
use crate::limits::IMPORT_LINE_BYTES_MAX;

/// What some editors put before the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// Bytes that are read at a time.
const BUFFER_BYTES: usize = 64 * 1024;

/// Cuts what a reader gives into lines; a line that is too long takes no more memory than one that
/// is not.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    offset: u64,
    number: u64,
    line: Vec<u8>,
}

/// A line as it was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Where it begins.
    pub(super) offset: u64,
    /// Its number, from 1.
    pub(super) number: u64,
    /// Its bytes, those left out counted.
    pub(super) bytes: u64,
    /// Whether a line break ends it.
    pub(super) ended: bool,
}

impl<R: Read> Lines<R> {
    pub(super) fn of(reader: R) -> Self {
        Self {
            reader: BufReader::with_capacity(BUFFER_BYTES, reader),
            offset: 0,
            number: 0,
            line: Vec::new(),
        }
    }

    /// The next line that is not blank.
    pub(super) fn next(&mut self) -> io::Result<Option<Cut>> {
        loop {
            match self.cut()? {
                Some(cut) if cut.bytes == 0 || self.is_blank() => {},
                other => return Ok(other),
            }
        }
    }

    fn is_blank(&self) -> bool {
        self.line.iter().all(u8::is_ascii_whitespace)
    }

    fn cut(&mut self) -> io::Result<Option<Cut>> {
        self.line.clear();
        let offset = self.offset;
        let mut ended = false;
        while !ended {
            let read = self.reader.fill_buf()?;
            if read.is_empty() {
                break;
            }
            let end = memchr::memchr(b'\n', read);
            ended = end.is_some();
            let part = read.get(..end.unwrap_or(read.len())).unwrap_or_default();
            // One byte more than allowed is kept, which tells that the line is too long.
            let room = IMPORT_LINE_BYTES_MAX.saturating_add(2) - self.line.len();
            self.line
                .extend_from_slice(part.get(..room).unwrap_or(part));
            let taken = part.len().saturating_add(usize::from(ended));
            self.reader.consume(taken);
            self.offset = self.offset.saturating_add(wide(taken));
        }
        let bytes = self.offset.saturating_sub(offset);
        if bytes == 0 {
            return Ok(None);
        }
        self.number = self.number.saturating_add(1);
        self.trim();
        Ok(Some(Cut {
            offset,
            number: self.number,
            bytes: bytes.saturating_sub(u64::from(ended)),
            ended,
        }))
    }

    /// Takes off what belongs to the file and not to the line.
    fn trim(&mut self) {
        if self.number == 1 && self.line.starts_with(BYTE_ORDER_MARK) {
            self.line.drain(..BYTE_ORDER_MARK.len());
        }
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
    }

    /// The text of the line that was cut last.
    ///
    /// # Errors
    /// When it is too long, damaged or not UTF-8.
    pub(super) fn text(&self, cut: &Cut) -> Result<&str, Fault> {
        if self.line.len() > IMPORT_LINE_BYTES_MAX {
            return Err(Fault::TooLong {
                given: cut.bytes,
                allowed: IMPORT_LINE_BYTES_MAX,
            });
        }
        if memchr::memchr(0, &self.line).is_some() {
            return Err(Fault::Nul);
        }
        std::str::from_utf8(&self.line)
            .map_err(|error| Fault::Encoding(error.valid_up_to().saturating_add(1)))
    }
}

fn wide(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
