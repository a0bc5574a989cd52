//! One owner per database file.
//!
//! Source: D70.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::private_files;

/// The right to be the one process that works on a service's data. It ends when it is dropped, and
/// with the process however that dies, because the operating system holds the lock.
#[derive(Debug)]
pub struct OwnerLock {
    path: PathBuf,
    /// Never read: the lock lives as long as this open file.
    _file: File,
}

/// The process that holds a lock, as far as its lock file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder(Option<u32>);

/// Why a process may not work on a service's data.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process is at work there.
    #[error(
        "the data of service {service} is in use by {holder}, which holds {path}: stop that \
         process, or choose another data directory with --data"
    )]
    Held {
        /// The service whose data it is.
        service: String,
        /// The lock file.
        path: PathBuf,
        /// Who holds it.
        holder: Holder,
    },

    /// The lock file cannot be made, read or written.
    #[error("cannot lock {path}: check that the directory exists and may be written")]
    Io {
        /// The lock file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

impl OwnerLock {
    /// Takes `<data_dir>/<service>.lock`, at once or not at all. The directory is made when absent
    /// (0700), and the lock file (0600) says which process holds it. The file stays when the lock
    /// ends: removing it would let two processes hold two different files of the same name.
    ///
    /// # Errors
    /// [`LockError::Held`] names the holder; [`LockError::Io`] when the file cannot be used.
    pub fn acquire(data_dir: &Path, service: &str) -> Result<Self, LockError> {
        let path = data_dir.join(format!("{service}.lock"));
        let failed = |source| LockError::Io {
            path: path.clone(),
            source,
        };

        private_files::create_directory(data_dir).map_err(failed)?;
        let mut file = private_files::open_file(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {},
            Err(TryLockError::Error(source)) => return Err(failed(source)),
            Err(TryLockError::WouldBlock) => {
                let holder = Holder::read(&mut file);
                return Err(LockError::Held {
                    service: service.to_owned(),
                    path,
                    holder,
                });
            },
        }
        Holder::write_own(&mut file).map_err(failed)?;
        Ok(Self { path, _file: file })
    }

    /// The lock file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Holder {
    /// The number of the process; `None` when its lock file does not say.
    pub const fn process_id(self) -> Option<u32> {
        self.0
    }

    /// An unreadable file is no reason to hide that the lock is held, so it only costs the number.
    fn read(file: &mut File) -> Self {
        let mut text = String::new();
        let read = file.read_to_string(&mut text);
        Self(read.ok().and_then(|_| text.trim().parse().ok()))
    }

    fn write_own(file: &mut File) -> io::Result<()> {
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(process_id) => write!(formatter, "process {process_id}"),
            None => formatter.write_str("another process"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_second_owner_is_refused_and_told_who_holds_what() {
        let home = tempfile::tempdir().unwrap();
        let first = OwnerLock::acquire(home.path(), "runner").unwrap();

        let refused = OwnerLock::acquire(home.path(), "runner").unwrap_err();
        let LockError::Held { holder, .. } = &refused else {
            panic!("not held: {refused:?}");
        };
        assert_eq!(holder.process_id(), Some(std::process::id()));
        let message = refused.to_string();
        for part in [
            "service runner",
            &format!("process {}", std::process::id()),
            "--data",
        ] {
            assert!(message.contains(part), "{part} is missing in {message}");
        }
        assert!(
            message.contains(&first.path().display().to_string()),
            "{message}"
        );
    }

    #[test]
    fn services_in_one_directory_do_not_lock_each_other_out() {
        let home = tempfile::tempdir().unwrap();
        let _runner = OwnerLock::acquire(home.path(), "runner").unwrap();
        OwnerLock::acquire(home.path(), "registry").unwrap();
    }

    #[test]
    fn the_end_of_the_owner_frees_the_lock() {
        let home = tempfile::tempdir().unwrap();
        drop(OwnerLock::acquire(home.path(), "runner").unwrap());
        OwnerLock::acquire(home.path(), "runner").unwrap();
    }

    #[test]
    fn the_lock_makes_a_private_directory_and_a_private_file() {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join("deep/data");
        let lock = OwnerLock::acquire(&data, "runner").unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&data), mode(lock.path())), (0o700, 0o600));
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        std::fs::write(&file, "").unwrap();
        let refused = OwnerLock::acquire(&file, "runner").unwrap_err();
        assert!(matches!(refused, LockError::Io { .. }), "{refused:?}");
        assert!(refused.to_string().contains("runner.lock"), "{refused}");
    }
}
