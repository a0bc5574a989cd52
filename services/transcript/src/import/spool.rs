//! The stream, laid aside.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use confab_rpc::error::RpcError;

use crate::limits::IMPORT_BYTES_MAX;

/// A file without a name in the data directory, readable by nobody else, that is gone with its last
/// handle.
#[derive(Debug)]
pub(super) struct Spool {
    file: Arc<File>,
    bytes: u64,
}

impl Spool {
    pub(super) fn create(directory: &Path) -> io::Result<Self> {
        Ok(Self {
            file: Arc::new(tempfile::tempfile_in(directory)?),
            bytes: 0,
        })
    }

    /// Lays the next piece aside.
    ///
    /// # Errors
    /// When the file cannot be written, or the stream is longer than an import may be.
    pub(super) fn with(mut self, piece: &[u8]) -> Result<Self, RpcError> {
        let bytes = u64::try_from(piece.len()).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > IMPORT_BYTES_MAX {
            return Err(RpcError::invalid_field(
                "lines",
                format!(
                    "lines have more than {IMPORT_BYTES_MAX} bytes, which are allowed: split the \
                     file and import its parts in order"
                ),
            ));
        }
        let mut file: &File = &self.file;
        file.write_all(piece).map_err(super::broken)?;
        Ok(self)
    }

    /// The bytes from `offset` on; readers do not disturb each other.
    pub(super) fn read_from(&self, offset: u64) -> Part {
        Part {
            file: Arc::clone(&self.file),
            offset,
        }
    }
}

/// A reader of a spool.
#[derive(Debug)]
pub(super) struct Part {
    file: Arc<File>,
    offset: u64,
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.offset)?;
        let bytes = u64::try_from(read).unwrap_or_default();
        self.offset = self.offset.saturating_add(bytes);
        Ok(read)
    }
}
