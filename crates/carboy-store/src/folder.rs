//! Directories of the caller's into which artifacts are written.
//!
//! The paths of artifacts are the guest's choice, and a directory may hold links that somebody else put there. So
//! every step goes from a directory descriptor to one name in it, nothing is written through a link, and a file
//! appears under its name only when it is whole.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use carboy_engine::Keeper;
use carboy_protocol::Artifact;
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, RenameFlags, ResolveFlags, linkat, mkdirat, open, openat, openat2,
    renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;

/// How much is copied at once.
const PIECE: usize = 64 << 10;

/// A directory in which artifacts get the paths that the code gave them.
#[derive(Debug)]
pub struct OutFolder {
    handle: OwnedFd,
    existing: Existing,
    /// The number of the next unfinished file.
    next: AtomicU64,
}

/// What is done about a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the artifact is left out.
    Keep,
    /// The artifact takes its place. If it is a link, what that points to stays as it is.
    Replace,
}

impl OutFolder {
    /// Opens a directory, which is made if it is not there; the one above it must be.
    pub fn open(path: &Path, existing: Existing) -> io::Result<OutFolder> {
        match mkdirat(CWD, path, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let handle =
            open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(OutFolder { handle, existing, next: AtomicU64::new(0) })
    }

    /// Opens the directory for a file, and makes those that are not there.
    fn directory<'a>(&self, names: impl Iterator<Item = &'a str>) -> io::Result<OwnedFd> {
        let mut folder = self.handle.try_clone()?;
        for name in names {
            match mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            folder = beneath(&folder, name, OFlags::RDONLY | OFlags::DIRECTORY)?;
        }
        Ok(folder)
    }

    /// Gives a finished file its name.
    fn finish(&self, folder: &OwnedFd, unfinished: &str, name: &str) -> io::Result<()> {
        if self.existing == Existing::Replace {
            return Ok(renameat(folder, unfinished, folder, name)?);
        }
        let renamed = match renameat_with(folder, unfinished, folder, name, RenameFlags::NOREPLACE)
        {
            // Some file systems cannot do that, but all others can link.
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(folder, unfinished, folder, name, AtFlags::empty())
                    .and_then(|()| unlinkat(folder, unfinished, AtFlags::empty()))
            }
            other => other,
        };
        renamed.map_err(|error| match error {
            Errno::EXIST => {
                io::Error::new(io::ErrorKind::AlreadyExists, "a file of that name exists")
            }
            error => error.into(),
        })
    }
}

impl Keeper for OutFolder {
    fn keep(&self, _run: &str, artifact: &Artifact, content: &mut dyn Read) -> io::Result<()> {
        let mut names: Vec<&str> = artifact.path.split('/').collect();
        if names.iter().any(|name| matches!(*name, "" | "." | "..")) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "that is no path of a file"));
        }
        let name = names.pop().unwrap_or_default();
        let folder = self.directory(names.into_iter())?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let unfinished = format!(".carboy-{}-{number}", std::process::id());
        let written = create(folder.as_fd(), &unfinished, Mode::from_raw_mode(0o666))
            .and_then(|file| copy(content, file, artifact.bytes))
            .and_then(|()| self.finish(&folder, &unfinished, name));
        if written.is_err() {
            // There is nothing to remove if it could not be made.
            unlinkat(&folder, &unfinished, AtFlags::empty()).ok();
        }
        written
    }
}

/// A private directory in which each run has one of its own, and its artifacts are files named by their SHA-256.
///
/// For a caller that shares the directory with the engine and removes what it has read.
#[derive(Debug)]
pub struct RunFolders {
    handle: OwnedFd,
}

impl RunFolders {
    /// Makes a directory, which must not be there; the one above it must be.
    pub fn make(path: &Path) -> io::Result<RunFolders> {
        mkdirat(CWD, path, Mode::RWXU)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(RunFolders { handle: open(path, flags, Mode::empty())? })
    }
}

impl Keeper for RunFolders {
    fn keep(&self, run: &str, artifact: &Artifact, content: &mut dyn Read) -> io::Result<()> {
        let plain =
            |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric());
        let name = artifact.sha256.as_deref().unwrap_or_default();
        if !plain(run) || !plain(name) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "an id or a digest is missing",
            ));
        }
        match mkdirat(&self.handle, run, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let folder = beneath(&self.handle, run, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let file = match create(folder.as_fd(), name, Mode::RUSR | Mode::WUSR) {
            // Another artifact of the run has the same content.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            other => other?,
        };
        let written = copy(content, file, artifact.bytes);
        if written.is_err() {
            unlinkat(&folder, name, AtFlags::empty())?;
        }
        written
    }
}

/// Opens one name in a directory, which is no link and no mount.
fn beneath(folder: &OwnedFd, name: &str, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(folder, name, flags, Mode::empty(), resolve).map_err(|error| match error {
        Errno::LOOP | Errno::NOTDIR => io::Error::new(
            io::ErrorKind::NotADirectory,
            format!("{name} is there and is no directory"),
        ),
        error => error.into(),
    })
}

/// A file that was not there.
fn create(folder: BorrowedFd<'_>, name: &str, mode: Mode) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, mode)?.into())
}

/// Copies everything, for which no more memory is used than `bytes` and one.
fn copy(content: &mut dyn Read, mut to: File, bytes: u64) -> io::Result<()> {
    let mut piece = vec![0; (bytes as usize).saturating_add(1).min(PIECE)];
    loop {
        match content.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => to.write_all(&piece[..count])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    /// A directory that is removed with the test.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Place {
            let path =
                std::env::temp_dir().join(format!("carboy-store-{}-{name}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Place(path)
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    fn artifact(path: &str) -> Artifact {
        Artifact { path: path.into(), bytes: 1, sha256: Some("ab12".into()), media_type: None }
    }

    #[test]
    fn artifacts_are_written_below_the_directory_and_nowhere_else() {
        let place = Place::new("below");
        let outside = place.0.join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("mine"), "mine").unwrap();
        let folder = OutFolder::open(&place.0.join("out"), Existing::Replace).unwrap();
        let keep = |path: &str| folder.keep("r", &artifact(path), &mut "new".as_bytes());
        std::os::unix::fs::symlink(&outside, place.0.join("out/folder-link")).unwrap();
        std::os::unix::fs::symlink(outside.join("mine"), place.0.join("out/file-link")).unwrap();
        keep("a/b/c.txt").unwrap();
        keep("file-link").unwrap();
        for refused in ["folder-link/mine", "../mine", "a/../../x", "/etc/x", "a//x", "", "."] {
            assert!(keep(refused).is_err(), "{refused}");
        }
        assert_eq!(fs::read_to_string(place.0.join("out/a/b/c.txt")).unwrap(), "new");
        // A link is replaced, and what it points to is not.
        assert_eq!(fs::read_to_string(outside.join("mine")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(place.0.join("out/file-link")).unwrap(), "new");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        assert_eq!(fs::read_dir(place.0.join("out")).unwrap().count(), 3);
    }

    #[test]
    fn what_is_there_stays_unless_it_is_to_be_replaced() {
        let place = Place::new("existing");
        fs::write(place.0.join("a"), "old").unwrap();
        std::os::unix::fs::symlink("nowhere", place.0.join("dangling")).unwrap();
        let folder = OutFolder::open(&place.0, Existing::Keep).unwrap();
        for name in ["a", "dangling"] {
            let kept = folder.keep("r", &artifact(name), &mut "new".as_bytes());
            assert_eq!(kept.unwrap_err().kind(), io::ErrorKind::AlreadyExists, "{name}");
        }
        assert_eq!(fs::read_to_string(place.0.join("a")).unwrap(), "old");
        assert_eq!(fs::read_dir(&place.0).unwrap().count(), 2, "an unfinished file is left");
        let folder = OutFolder::open(&place.0, Existing::Replace).unwrap();
        folder.keep("r", &artifact("a"), &mut "new".as_bytes()).unwrap();
        assert_eq!(fs::read_to_string(place.0.join("a")).unwrap(), "new");
    }

    #[test]
    fn a_run_has_a_directory_of_its_own_and_equal_content_one_file() {
        let outer = Place::new("runs");
        let place = &outer;
        assert!(RunFolders::make(&place.0).is_err(), "it was there");
        let place = Place(place.0.join("made"));
        let folders = RunFolders::make(&place.0).unwrap();
        for path in ["a", "b/c"] {
            folders.keep("0f", &artifact(path), &mut "x".as_bytes()).unwrap();
        }
        assert_eq!(fs::read_to_string(place.0.join("0f/ab12")).unwrap(), "x");
        assert_eq!(fs::read_dir(place.0.join("0f")).unwrap().count(), 1);
        for run in ["", "..", "a/b"] {
            assert!(folders.keep(run, &artifact("a"), &mut "x".as_bytes()).is_err());
        }
        let none = Artifact { sha256: None, ..artifact("a") };
        assert!(folders.keep("0f", &none, &mut "x".as_bytes()).is_err());
    }
}
