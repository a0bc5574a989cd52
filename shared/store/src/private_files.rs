//! Directories and files that only their owner can read.
//!
//! Source: B069.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Makes `directory` and its missing parents with mode 0700, whatever the umask. A directory that
/// exists keeps its mode: it may be a mount point that its operator has set up.
pub(crate) fn create_directory(directory: &Path) -> io::Result<()> {
    let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.is_dir();
    let missing: Vec<&Path> = directory.ancestors().take_while(is_missing).collect();
    for path in missing.into_iter().rev() {
        create_one_directory(path)?;
    }
    Ok(())
}

fn create_one_directory(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(DIRECTORY_MODE).create(path) {
        // A umask may have taken the owner's own rights away.
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(DIRECTORY_MODE)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Opens `path` for reading and writing, made when absent, with mode 0600 whatever the umask. A
/// file that exists keeps its content and is tightened to that mode.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(FILE_MODE)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    Ok(file)
}

/// Tightens `path` to mode 0600 where it exists.
pub(crate) fn tighten_file(path: &Path) -> io::Result<()> {
    match fs::set_permissions(path, Permissions::from_mode(FILE_MODE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
