//! The content of files that runs left, beside their records: each once, in a file that is named by its SHA-256.
//!
//! The files lie as those of an artifact store in a directory do, so that one can read them. What is kept for a run
//! that is not recorded yet must not be removed: whoever keeps shares a lock until then, and whoever removes has it
//! alone.

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use carboy_engine::{Keeper, new_id};
use carboy_protocol::Artifact;
use rustix::fs::{FlockOperation, flock};

use crate::digest::Digest;

/// How much is copied at once.
const PIECE: usize = 64 << 10;

/// The folder in a store's directory.
#[derive(Debug)]
pub(crate) struct Shelf {
    folder: PathBuf,
}

/// What became of content that was kept.
pub(crate) enum Kept {
    Whole,
    Missing,
    Altered,
}

impl Shelf {
    /// That of a store.
    pub fn of(store: &Path) -> Shelf {
        Shelf { folder: store.join("artifacts") }
    }

    /// Makes the folder if it is not there. Only this user can read it.
    pub fn make(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)
    }

    fn lock(&self, how: FlockOperation) -> io::Result<File> {
        let folder = File::open(&self.folder)?;
        loop {
            match flock(&folder, how) {
                Ok(()) => return Ok(folder),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits until nothing is kept that is not recorded. Nothing more is until what is returned is dropped. Without
    /// the folder there is nothing to wait for.
    pub fn alone(&self) -> io::Result<Option<File>> {
        match self.lock(FlockOperation::LockExclusive) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map(Some),
        }
    }

    /// Where content is: in a folder for the first byte of its digest, so that none has too many entries.
    fn place(&self, sha256: &str) -> io::Result<(PathBuf, PathBuf)> {
        if !is_digest(sha256) {
            let message = "a SHA-256 has 64 hexadecimal digits";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let (first, name) = sha256.split_at(2);
        let folder = self.folder.join("sha256").join(first);
        let file = folder.join(name);
        Ok((folder, file))
    }

    /// Begins to keep what has this digest and so many bytes, unless it is there. A file of another length is not it.
    fn begin(&self, sha256: &str, bytes: u64) -> io::Result<Option<Unfinished>> {
        let (folder, file) = self.place(sha256)?;
        if file.metadata().is_ok_and(|found| found.is_file() && found.len() == bytes) {
            return Ok(None);
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        // Processes of several PID namespaces may share a store: a process id does not tell them apart.
        let unfinished = folder.join(format!(".carboy-{}", new_id().map_err(io::Error::other)?));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let to = options.open(&unfinished)?;
        let (from, digest) = (Some(unfinished), Digest::default());
        Ok(Some(Unfinished { from, file, to, digest }))
    }

    /// The content with this digest, if it is there, whole, and not longer than this.
    pub fn read(&self, sha256: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let (_, file) = self.place(sha256)?;
        let file = match File::open(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes)?;
        let is_whole = bytes.len() as u64 <= most && crate::digest::sha256(&bytes) == sha256;
        Ok(is_whole.then_some(bytes))
    }

    /// Whether the content is as it was.
    pub fn check(&self, sha256: &str) -> io::Result<Kept> {
        let (_, file) = self.place(sha256)?;
        let mut file = match File::open(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kept::Missing),
            other => other?,
        };
        let is_whole = copy(&mut file, io::sink())? == sha256;
        Ok(if is_whole { Kept::Whole } else { Kept::Altered })
    }

    /// Removes everything but these, and says how many files that were. Whoever asks is [`alone`](Shelf::alone).
    pub fn keep_only(&self, wanted: &BTreeSet<String>) -> io::Result<u64> {
        let mut removed = 0;
        for folder in entries(&self.folder.join("sha256"))? {
            let first = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            for file in entries(&folder)? {
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if !wanted.contains(&format!("{first}{name}")) {
                    std::fs::remove_file(file)?;
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }
}

/// What is in a folder, if there is one.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![]),
        Err(error) => Err(error),
        Ok(found) => found.map(|entry| entry.map(|entry| entry.path())).collect(),
    }
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Copies all of it, and returns its digest.
fn copy(content: &mut dyn Read, mut to: impl Write) -> io::Result<String> {
    let (mut piece, mut digest) = (vec![0; PIECE], Digest::default());
    loop {
        match content.read(&mut piece) {
            Ok(0) => return Ok(digest.finish()),
            Ok(count) => {
                digest.update(&piece[..count]);
                to.write_all(&piece[..count])?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Keeps what one run leaves, beside whoever else wants it. Nothing of it is removed until this is dropped, which is
/// when the run is recorded.
#[derive(Debug)]
pub(crate) struct RunShelf {
    shelf: Arc<Shelf>,
    then: Option<Arc<dyn Keeper>>,
    lock: Mutex<Option<File>>,
}

impl RunShelf {
    pub fn new(shelf: Arc<Shelf>, then: Option<Arc<dyn Keeper>>) -> RunShelf {
        RunShelf { shelf, then, lock: Mutex::new(None) }
    }
}

impl RunShelf {
    /// Begins to keep content. Nothing that is kept is removed from now on.
    fn begin(&self, artifact: &Artifact) -> io::Result<Option<Unfinished>> {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if lock.is_none() {
            *lock = Some(self.shelf.lock(FlockOperation::LockShared)?);
        }
        self.shelf.begin(artifact.sha256.as_deref().unwrap_or_default(), artifact.bytes)
    }
}

impl Keeper for RunShelf {
    fn keep(&self, run: &str, artifact: &Artifact, content: &mut dyn Read) -> io::Result<()> {
        // Content can be read once. Whoever else wants it reads it here, and gets it also if the store cannot keep
        // it.
        let mut copied = Copied { content, to: self.begin(artifact) };
        let then = match &self.then {
            Some(then) => then.keep(run, artifact, &mut copied),
            None => Ok(()),
        };
        // The store keeps it also if the other did not read all of it.
        let kept = copied.finish(artifact.sha256.as_deref().unwrap_or_default());
        then.and(kept)
    }
}

/// Content that has no name yet. Dropping it removes it.
struct Unfinished {
    from: Option<PathBuf>,
    file: PathBuf,
    to: File,
    digest: Digest,
}

impl Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.to.write(bytes)?;
        self.digest.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Unfinished {
    /// Gives it its name, if it is what its digest says.
    fn finish(mut self, sha256: &str) -> io::Result<()> {
        if std::mem::take(&mut self.digest).finish() != sha256 {
            let message = "the content is not what its digest says";
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        if let Some(from) = &self.from {
            std::fs::rename(from, &self.file)?;
        }
        self.from = None;
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(from) = &self.from {
            // What cannot be removed goes when old records do.
            std::fs::remove_file(from).ok();
        }
    }
}

/// Content that is written to the store while it is read. That the store cannot keep it does not end reading.
struct Copied<'a> {
    content: &'a mut dyn Read,
    to: io::Result<Option<Unfinished>>,
}

impl Read for Copied<'_> {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(piece)?;
        if let Ok(Some(to)) = &mut self.to
            && let Err(error) = to.write_all(&piece[..count])
        {
            self.to = Err(error);
        }
        Ok(count)
    }
}

impl Copied<'_> {
    /// Reads what is left, and keeps all of it.
    fn finish(mut self, sha256: &str) -> io::Result<()> {
        let mut piece = vec![0; if matches!(self.to, Ok(Some(_))) { PIECE } else { 0 }];
        while let Ok(Some(_)) = &self.to {
            match self.read(&mut piece) {
                Ok(0) => break,
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
        self.to?.map_or(Ok(()), |to| to.finish(sha256))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;
    use crate::digest::sha256;

    /// Keeps "one" while somebody else does, whose process has the same number.
    struct Meanwhile<'a> {
        other: &'a RunShelf,
        reads: usize,
    }

    fn one() -> Artifact {
        let (path, sha256) = ("one.txt".into(), Some(sha256("one")));
        Artifact { path, bytes: 3, sha256, media_type: None }
    }

    impl Read for Meanwhile<'_> {
        fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
            self.reads += 1;
            let part = match self.reads {
                1 => "on",
                2 => {
                    self.other.keep("r", &one(), &mut "one".as_bytes())?;
                    "e"
                }
                _ => "",
            };
            piece[..part.len()].copy_from_slice(part.as_bytes());
            Ok(part.len())
        }
    }

    #[test]
    fn two_that_keep_the_same_content_do_not_write_into_one_file() {
        let store = std::env::temp_dir().join(format!("carboy-shelf-{}", new_id().unwrap()));
        let shelf = || Arc::new(Shelf::of(&store));
        shelf().make().unwrap();
        let (mine, other) = (RunShelf::new(shelf(), None), RunShelf::new(shelf(), None));
        mine.keep("r", &one(), &mut Meanwhile { other: &other, reads: 0 }).unwrap();
        assert!(matches!(shelf().check(&sha256("one")).unwrap(), Kept::Whole));
        let (folder, _) = shelf().place(&sha256("one")).unwrap();
        assert_eq!(entries(&folder).unwrap().len(), 1, "an unfinished file is left");
        std::fs::remove_dir_all(&store).unwrap();
    }
}
