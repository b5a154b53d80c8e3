//! The directory that uploaded files are in while a server runs.
//!
//! Its files have names, because whoever hands them into a jar finds them by their paths. So a server that was killed
//! leaves them behind: the directory is locked while its server lives, and the next server removes those that nobody
//! has locked.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use carboy_engine::new_id;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::process::geteuid;

const PREFIX: &str = "carboy-uploads-";

/// How often another name is tried, if a server that starts at the same moment takes a new directory for an old one.
const TRIES: usize = 8;

/// A directory of this host for uploaded files. It is removed when this is dropped.
#[derive(Debug)]
pub struct UploadFolder {
    path: PathBuf,
    /// Locked.
    _lock: File,
}

impl UploadFolder {
    /// Makes one in the temporary directory, and removes those of servers that were killed.
    pub fn make() -> io::Result<UploadFolder> {
        UploadFolder::make_in(&std::env::temp_dir())
    }

    fn make_in(parent: &Path) -> io::Result<UploadFolder> {
        remove_left(parent);
        // The path goes to whoever hands files in, and must be the real one.
        let parent = parent.canonicalize()?;
        for _ in 0..TRIES {
            let path = parent.join(format!("{PREFIX}{}", id()?));
            DirBuilder::new().mode(if is_root() { 0o711 } else { 0o700 }).create(&path)?;
            if let Some(lock) = locked(&path) {
                return Ok(UploadFolder { path, _lock: lock });
            }
        }
        Err(io::Error::other("no directory for uploaded files could be locked"))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A new file in it, which nobody else can guess the name of.
    pub(super) fn file(&self) -> io::Result<(PathBuf, File)> {
        let path = self.path.join(id()?);
        // Where the server is root, jars have another user, who must be able to read what is handed in.
        let mode = if is_root() { 0o644 } else { 0o600 };
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?;
        Ok((path, file))
    }
}

impl Drop for UploadFolder {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next server.
        std::fs::remove_dir_all(&self.path).ok();
    }
}

fn id() -> io::Result<String> {
    new_id().map_err(io::Error::other)
}

fn is_root() -> bool {
    geteuid().is_root()
}

/// The directory at this path, locked, if it is there and nobody else has it.
fn locked(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = File::from(open(path, flags, Mode::empty()).ok()?);
    flock(&folder, FlockOperation::NonBlockingLockExclusive).ok()?;
    let (held, found) = (folder.metadata().ok()?, std::fs::symlink_metadata(path).ok()?);
    // Another server may have removed it before it was locked here.
    let is_same = (held.dev(), held.ino()) == (found.dev(), found.ino());
    (is_same && held.uid() == geteuid().as_raw()).then_some(folder)
}

/// Removes directories of servers of this user that are gone.
fn remove_left(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    let is_ours = |name: &OsStr| name.as_encoded_bytes().starts_with(PREFIX.as_bytes());
    for entry in entries.flatten().filter(|entry| is_ours(&entry.file_name())) {
        if let Some(_lock) = locked(&entry.path()) {
            std::fs::remove_dir_all(entry.path()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_there_as_long_as_its_server_and_no_longer() {
        let parent = std::env::temp_dir().join(format!("carboy-test-{}", id().expect("an id")));
        std::fs::create_dir(&parent).expect("a directory");
        let first = UploadFolder::make_in(&parent).expect("a folder");
        let (path, _file) = first.file().expect("a file");
        // One of a server that was killed, and what only has such a name.
        let left = parent.join(format!("{PREFIX}left"));
        std::fs::create_dir(&left).expect("a directory");
        std::fs::write(left.join("x"), "x").expect("a file");
        let plain = parent.join(format!("{PREFIX}plain"));
        std::fs::write(&plain, "x").expect("a file");
        let link = parent.join(format!("{PREFIX}link"));
        let elsewhere = parent.join("elsewhere");
        std::fs::create_dir(&elsewhere).expect("a directory");
        std::os::unix::fs::symlink(&elsewhere, &link).expect("a link");
        let second = UploadFolder::make_in(&parent).expect("a folder");
        assert!(path.exists() && !left.exists() && plain.exists() && elsewhere.exists());
        let gone = first.path().to_owned();
        drop(first);
        assert!(!gone.exists() && second.path().exists());
        drop(second);
        std::fs::remove_dir_all(&parent).expect("it is ours");
    }
}
