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
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use carboy_engine::Keeper;
use carboy_protocol::Artifact;
use rustix::fs::{FlockOperation, flock};

use crate::digest::Digest;

/// How much is copied at once.
const PIECE: usize = 64 << 10;

/// The folder in a store's directory.
#[derive(Debug)]
pub(crate) struct Shelf {
    folder: PathBuf,
    /// The number of the next unfinished file.
    next: AtomicU64,
}

/// Whether the content was there already.
#[derive(PartialEq, Eq)]
enum Was {
    There,
    New,
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
        Shelf { folder: store.join("artifacts"), next: AtomicU64::new(0) }
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

    /// Keeps content, if it is what its digest says.
    fn put(&self, sha256: &str, content: &mut dyn Read) -> io::Result<Was> {
        let (folder, file) = self.place(sha256)?;
        if file.is_file() {
            return Ok(Was::There);
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let unfinished = folder.join(format!(".carboy-{}-{number}", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let written = options.open(&unfinished).and_then(|file| copy(content, file));
        let finished = written.and_then(|digest| {
            if digest != sha256 {
                let message = "the content is not what its digest says";
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            std::fs::rename(&unfinished, &file)
        });
        if finished.is_err() {
            // There is nothing to remove if it could not be made.
            std::fs::remove_file(&unfinished).ok();
        }
        finished.map(|()| Was::New)
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

impl Keeper for RunShelf {
    fn keep(&self, run: &str, artifact: &Artifact, content: &mut dyn Read) -> io::Result<()> {
        {
            let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            if lock.is_none() {
                *lock = Some(self.shelf.lock(FlockOperation::LockShared)?);
            }
        }
        let digest = artifact.sha256.as_deref().unwrap_or_default();
        match (self.shelf.put(digest, content)?, &self.then) {
            (_, None) => Ok(()),
            (Was::There, Some(then)) => then.keep(run, artifact, content),
            (Was::New, Some(then)) => {
                let (_, file) = self.shelf.place(digest)?;
                then.keep(run, artifact, &mut File::open(file)?)
            }
        }
    }
}
