//! Paths that stay inside the directory, wherever an index or a link points.

use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// The real path of something inside `root`, which is a real path itself; absent where nothing is.
///
/// # Errors
/// When it leads out of `root`, or cannot be looked at; the text says which.
pub(super) fn within(root: &Path, path: &Path) -> Result<Option<PathBuf>, String> {
    if !stays_inside(root, path) {
        return Err("it leads out of the directory and was not read".to_owned());
    }
    match fs::canonicalize(path) {
        Ok(real) if real.starts_with(root) => Ok(Some(real)),
        Ok(_) => Err("a link leads out of the directory and was not followed".to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("it cannot be looked at: {error}")),
    }
}

/// The same for a file; a device or a pipe, which might never end, is none.
///
/// # Errors
/// As [`within`], and when it is no regular file.
pub(super) fn file_within(root: &Path, path: &Path) -> Result<Option<PathBuf>, String> {
    let Some(real) = within(root, path)? else {
        return Ok(None);
    };
    if real.is_file() {
        Ok(Some(real))
    } else {
        Err("it is no regular file".to_owned())
    }
}

/// Whether the words of a path alone keep it inside `root`, or lead to where links decide.
fn stays_inside(root: &Path, path: &Path) -> bool {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            },
            Component::CurDir => {},
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    // A directory may be known by a name that is a link itself: then its real path decides.
    plain.starts_with(root) || fs::canonicalize(&plain).is_ok_and(|real| real.starts_with(root))
}

/// The transcript that an index entry names; absent where there is none. An absolute path of the
/// place where the directory once was means the file of that name here, and nothing where that is
/// gone: what lies at the old place is not what is imported.
///
/// # Errors
/// When it leads out of `root` or is no regular file.
pub(super) fn session_file(
    root: &Path,
    sessions: &Path,
    given: &str,
) -> Result<Option<PathBuf>, String> {
    let given = Path::new(given.trim());
    if given.as_os_str().is_empty() {
        return Ok(None);
    }
    if let Some(name) = name_in_sessions(given) {
        let here = file_within(root, &sessions.join(name))?;
        if here.is_some() || !stays_inside(root, given) {
            return Ok(here);
        }
    }
    file_within(root, &sessions.join(given))
}

/// The file's name where the path is absolute and the file lies directly in a `sessions` directory.
fn name_in_sessions(path: &Path) -> Option<&Path> {
    let directory = path.parent()?.file_name()?;
    (path.is_absolute() && directory == "sessions").then(|| path.file_name().map(Path::new))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_path_that_leaves_the_directory_is_refused_however_it_is_written() {
        let outside = tempfile::tempdir().unwrap();
        let secret = outside.path().join("secret.jsonl");
        fs::write(&secret, "{}").unwrap();
        let inside = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(inside.path()).unwrap();
        let sessions = root.join("sessions");
        fs::create_dir(&sessions).unwrap();
        fs::write(sessions.join("a.jsonl"), "{}").unwrap();
        std::os::unix::fs::symlink(&secret, sessions.join("link.jsonl")).unwrap();
        std::os::unix::fs::symlink(outside.path(), sessions.join("away")).unwrap();
        std::os::unix::fs::symlink("a.jsonl", sessions.join("same.jsonl")).unwrap();
        fs::create_dir(outside.path().join("sessions")).unwrap();
        let original = outside.path().join("sessions/b.jsonl");
        fs::write(&original, "{}").unwrap();

        let found = |given: &str| session_file(&root, &sessions, given);
        for refused in [
            "link.jsonl",
            "away/secret.jsonl",
            "../../../../../../../../etc/hostname",
            "../../nowhere.jsonl",
            "/etc/hostname",
            "/nowhere/at/all.jsonl",
            secret.to_str().unwrap(),
        ] {
            let told = found(refused).unwrap_err();
            assert!(told.contains("leads out"), "{refused}: {told}");
        }
        let a = Some(sessions.join("a.jsonl"));
        for given in [
            "a.jsonl",
            "./a.jsonl",
            "../sessions/a.jsonl",
            "same.jsonl",
            "/home/old/.openclaw/agents/main/sessions/a.jsonl",
            sessions.join("a.jsonl").to_str().unwrap(),
        ] {
            assert_eq!(found(given), Ok(a.clone()), "{given}");
        }
        for nothing in [
            "absent.jsonl",
            "  ",
            "/home/old/.openclaw/agents/main/sessions/absent.jsonl",
            sessions.join("absent.jsonl").to_str().unwrap(),
        ] {
            assert_eq!(found(nothing), Ok(None), "{nothing}");
        }
        let still_there = found(original.to_str().unwrap());
        assert_eq!(
            still_there,
            Ok(None),
            "a copy is imported, not what was copied"
        );
        assert!(found(".").unwrap_err().contains("regular file"));
    }
}
