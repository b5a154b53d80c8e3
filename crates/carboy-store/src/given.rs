//! What is known of the files that a run was given, whose bytes are not kept.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use carboy_engine::Witness;
use carboy_protocol::FileSource;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::digest::{Digest, sha256};
use crate::time::iso8601;

/// A file of the host is hashed up to this size. A longer one is known by its size and the time of its last change:
/// its run would be answered seconds after its end.
const HASHED: u64 = 1 << 30;
/// One of at most so many bytes is hashed before its run begins, a longer one meanwhile.
const SHORT: u64 = 1 << 20;
/// How much of a long one is read at once.
const PIECE: usize = 256 << 10;

/// A file that code found under a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenFile {
    /// Its name.
    pub name: String,
    /// Where it lay on the host, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its size, if it could be found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Of its content, if it was not too long, and did not change while it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// When it was last changed, if it lay on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
}

/// What is known of the files of a run: at once of those that came with its job, and of those of the host when the
/// engine has opened them. Long ones are hashed on another thread, while the code runs. Dropping it ends that.
#[derive(Debug)]
pub struct GivenFiles(Arc<Mutex<Files>>);

#[derive(Debug, Default)]
struct Files {
    known: Vec<GivenFile>,
    /// Opened, and to be hashed.
    long: VecDeque<Long>,
    /// Who hashes them, one after the other, as long as there are some.
    hashing: Option<JoinHandle<()>>,
    /// Whether nobody wants to know any more.
    is_over: bool,
}

/// A long file.
#[derive(Debug)]
struct Long {
    name: String,
    file: File,
    about: Metadata,
}

impl GivenFiles {
    /// The files of a job. It reads those that came with it.
    pub fn of(files: &BTreeMap<String, FileSource>) -> GivenFiles {
        let look = |(name, source): (&String, &FileSource)| {
            let name = name.clone();
            let unknown = GivenFile { name, path: None, bytes: None, sha256: None, modified: None };
            let content = |bytes: &[u8]| GivenFile {
                bytes: Some(bytes.len() as u64),
                sha256: Some(sha256(bytes)),
                ..unknown.clone()
            };
            match source {
                FileSource::Text(text) => content(text.as_bytes()),
                FileSource::Base64(bytes) => content(bytes),
                FileSource::Sha256(digest) => {
                    GivenFile { sha256: Some(digest.clone()), ..unknown.clone() }
                }
                FileSource::Path(path) => GivenFile { path: Some(path.clone()), ..unknown.clone() },
            }
        };
        let known = files.iter().map(look).collect();
        GivenFiles(Arc::new(Mutex::new(Files { known, ..Files::default() })))
    }

    /// What is known by now. Of a file of the host that the engine did not open only its path is.
    pub fn known(&self) -> Vec<GivenFile> {
        lock(&self.0).known.clone()
    }

    /// What is known when all that the engine opened has been hashed.
    pub async fn hashed(&self) -> Vec<GivenFile> {
        loop {
            let hashing = lock(&self.0).hashing.take();
            match hashing {
                // If it panicked, what it did not find out is not known.
                Some(hashing) => hashing.await.unwrap_or_default(),
                None => return self.known(),
            }
        }
    }

    /// Has a file hashed by somebody who may take long.
    fn hash(&self, long: Long) {
        let mut files = lock(&self.0);
        files.long.push_back(long);
        if files.hashing.is_none()
            && let Ok(runtime) = Handle::try_current()
        {
            let all = self.0.clone();
            files.hashing = Some(runtime.spawn_blocking(move || hash_all(&all)));
        }
    }
}

impl Drop for GivenFiles {
    fn drop(&mut self) {
        lock(&self.0).is_over = true;
    }
}

impl Witness for GivenFiles {
    fn given(&self, name: &str, file: BorrowedFd<'_>) {
        let Some((mut file, about)) = opened(file) else { return };
        {
            let mut files = lock(&self.0);
            let Some(found) = files.known.iter_mut().find(|given| given.name == name) else {
                return;
            };
            found.bytes = Some(about.len());
            found.modified = about.modified().ok().map(|time| iso8601(time.max(UNIX_EPOCH)));
        }
        // The kernel's own files claim to be empty and are not: reading one can take what it has from somebody else.
        let digest = match about.len() {
            0 => Some(sha256("")),
            1..=SHORT => digest_of(&mut file, &about, || true),
            _ => None,
        };
        if let Some(digest) = digest {
            lock(&self.0).tell(name, digest);
        } else if (SHORT + 1..=HASHED).contains(&about.len()) {
            self.hash(Long { name: name.to_owned(), file, about });
        }
    }
}

impl Files {
    fn tell(&mut self, name: &str, digest: String) {
        if let Some(found) = self.known.iter_mut().find(|given| given.name == name) {
            found.sha256 = Some(digest);
        }
    }
}

fn lock(files: &Mutex<Files>) -> MutexGuard<'_, Files> {
    files.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hashes long files until there are none.
fn hash_all(all: &Mutex<Files>) {
    loop {
        let next = {
            let mut files = lock(all);
            let next = files.long.pop_front();
            if next.is_none() {
                // Under the same lock: whoever adds one now finds that somebody has to be asked.
                files.hashing = None;
            }
            next
        };
        let Some(Long { name, mut file, about }) = next else { return };
        let digest = digest_of(&mut file, &about, || !lock(all).is_over);
        if let Some(digest) = digest {
            lock(all).tell(&name, digest);
        }
    }
}

/// Opens a plain file of the host, which was opened without the right to read it: what its path leads to by now may be
/// another. One that cannot be read here is the engine's to refuse.
fn opened(held: BorrowedFd<'_>) -> Option<(File, Metadata)> {
    let again = format!("/proc/self/fd/{}", held.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(again, flags, Mode::empty()).ok()?);
    let about = file.metadata().ok().filter(Metadata::is_file)?;
    Some((file, about))
}

/// The digest of a file, unless it changes meanwhile or nobody wants it any more.
fn digest_of(file: &mut File, about: &Metadata, is_wanted: impl Fn() -> bool) -> Option<String> {
    let mut digest = Digest::default();
    let mut piece = vec![0; PIECE.min(usize::try_from(about.len()).ok()?)];
    let mut left = about.len();
    while is_wanted() {
        match file.read(&mut piece) {
            Ok(0) => {
                let now = file.metadata().ok()?;
                let times = |about: &Metadata| {
                    (about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec())
                };
                return (left == 0 && times(&now) == times(about)).then(|| digest.finish());
            }
            Ok(count) => {
                left = left.checked_sub(count as u64)?;
                digest.update(&piece[..count]);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use carboy_engine::new_id;

    use super::*;

    /// Files with this content in a folder that goes with it.
    struct Folder(std::path::PathBuf);

    impl Folder {
        fn new() -> Folder {
            let folder = std::env::temp_dir().join(format!("carboy-given-{}", new_id().unwrap()));
            std::fs::create_dir(&folder).unwrap();
            Folder(folder)
        }

        fn file(&self, name: &str, content: &[u8]) -> (FileSource, File) {
            let path = self.0.join(name);
            std::fs::write(&path, content).unwrap();
            let file = File::open(&path).unwrap();
            (FileSource::Path(path.to_str().unwrap().into()), file)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).ok();
        }
    }

    #[tokio::test]
    async fn files_of_every_length_are_hashed() {
        let folder = Folder::new();
        let contents = [
            ("empty", vec![]),
            ("short", vec![1; 1000]),
            ("long", (0..SHORT + 3).map(|at| (at % 251) as u8).collect()),
            ("longer", vec![3; 3 * PIECE + SHORT as usize]),
        ];
        let made = contents.iter().map(|(name, content)| (*name, folder.file(name, content)));
        let made: BTreeMap<_, _> = made.collect();
        let sources = made.iter().map(|(name, (source, _))| ((*name).to_owned(), source.clone()));
        let files = GivenFiles::of(&sources.collect());
        for (name, (_, file)) in &made {
            files.given(name, file.as_fd());
        }
        let found = files.hashed().await;
        for (name, content) in &contents {
            let given = found.iter().find(|given| given.name == *name).unwrap();
            assert_eq!(given.bytes, Some(content.len() as u64));
            assert_eq!(given.sha256, Some(sha256(content)), "{name}");
        }
    }

    #[test]
    fn a_file_that_changes_while_it_is_read_has_no_digest() {
        let folder = Folder::new();
        let (source, mut file) = folder.file("long", &vec![1; 4 * PIECE]);
        let FileSource::Path(path) = source else { panic!("{source:?}") };
        let about = file.metadata().unwrap();
        // It grows when the first piece was read.
        let is_wanted = || {
            let more = File::options().append(true).open(&path);
            more.and_then(|mut file| file.write_all(b"more")).is_ok()
        };
        assert_eq!(digest_of(&mut file, &about, is_wanted), None);
        let (_, mut file) = folder.file("other", &vec![1; 4 * PIECE]);
        let about = file.metadata().unwrap();
        assert_eq!(digest_of(&mut file, &about, || false), None, "nobody wants it");
    }
}
