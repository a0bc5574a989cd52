//! The first start of a database: the one time at which an empty file is no loss.
//!
//! A file beside the database says that it is being made, from before the database file is there
//! until its schema is. An empty database without that file was emptied by somebody, and what it held
//! must not be taken for never written.
//!
//! Source: B205.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::migration::OpenError;
use crate::private_files;

/// A database that is opened, and perhaps made.
pub(super) struct Creation {
    path: PathBuf,
    sign: PathBuf,
}

impl Creation {
    /// Looks at what is there before the engine does, and makes the database file where there is
    /// none.
    ///
    /// # Errors
    /// When the file was emptied, or cannot be made.
    pub(super) fn begin(path: &Path) -> Result<Self, OpenError> {
        let mut sign = path.as_os_str().to_owned();
        sign.push(".new");
        let creation = Self {
            path: path.to_owned(),
            sign: PathBuf::from(sign),
        };
        if creation.was_emptied() {
            return Err(OpenError::Emptied {
                path: path.to_owned(),
            });
        }
        creation
            .prepare()
            .map_err(|source| creation.failed(source))?;
        Ok(creation)
    }

    /// The schema is there: from here on an empty file is a loss.
    ///
    /// # Errors
    /// When the sign cannot be removed.
    pub(super) fn end(self) -> Result<(), OpenError> {
        match fs::remove_file(&self.sign) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.failed(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn was_emptied(&self) -> bool {
        let empty = fs::metadata(&self.path).is_ok_and(|file| file.len() == 0);
        empty && !self.sign.exists()
    }

    fn prepare(&self) -> io::Result<()> {
        if let Some(directory) = self.path.parent() {
            private_files::create_directory(directory)?;
        }
        if !self.path.exists() {
            private_files::open_file(&self.sign)?.sync_all()?;
            // The sign must be there before the file that it speaks of.
            sync_directory(&self.path)?;
        }
        private_files::open_file(&self.path)?;
        Ok(())
    }

    fn failed(&self, source: io::Error) -> OpenError {
        OpenError::File {
            path: self.path.clone(),
            source,
        }
    }
}

fn sync_directory(path: &Path) -> io::Result<()> {
    match path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        Some(directory) => File::open(directory)?.sync_all(),
        None => File::open(".")?.sync_all(),
    }
}
