//! Files that runs left, kept for their tenant for a while.
//!
//! All files of a run are one behind the other in one file of this host, which has no name: what a guest called them
//! is only ever compared, nothing is left when this process ends, and a run takes one descriptor. A tenant that leaves
//! much pushes out only what is its own.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use carboy_engine::{Keeper, new_id};
use carboy_protocol::Artifact;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use super::shares::{Share, Shares};

/// Of how many runs files are kept, of one tenant and of all, and for how long.
const RUNS: usize = 64;
const RUNS_OF_ALL: usize = 256;
const TIME: Duration = Duration::from_secs(600);

/// How much is copied at once.
const PIECE: usize = 64 << 10;

/// The shelves of all tenants.
pub(super) struct Shelves(Vec<Arc<Shelf>>);

impl Shelves {
    /// A shelf for each tenant, which has so many bytes.
    pub fn new(bytes: impl Iterator<Item = u64>) -> Shelves {
        let bytes: Vec<_> = bytes.collect();
        let places = Shares::new(RUNS_OF_ALL.max(2 * bytes.len()), bytes.len(), RUNS);
        let shelf = |(tenant, bytes)| {
            let (places, state) = (places.clone(), Mutex::default());
            Arc::new(Shelf { tenant, most_bytes: bytes, places, state })
        };
        Shelves(bytes.into_iter().enumerate().map(shelf).collect())
    }

    /// The shelf of the tenant with this number.
    pub fn of(&self, tenant: usize) -> &Arc<Shelf> {
        &self.0[tenant]
    }

    /// Removes what is there for too long. It may take its time.
    pub fn forget(&self) {
        for shelf in &self.0 {
            let gone = shelf.lock().expired(Instant::now());
            // Without the lock: closing a file may take its time.
            drop(gone);
        }
    }
}

#[derive(Default)]
struct State {
    /// The oldest first.
    runs: VecDeque<Kept>,
    bytes: u64,
}

struct Kept {
    id: String,
    since: Instant,
    content: Arc<File>,
    bytes: u64,
    files: Vec<Placed>,
    _place: Share,
}

#[derive(Clone)]
struct Placed {
    artifact: Artifact,
    at: u64,
}

/// One file of a run.
pub(super) struct Found {
    pub artifact: Artifact,
    content: Arc<File>,
    at: u64,
}

impl Found {
    /// Some of its bytes, which must be there. Reads the disk.
    pub fn read(&self, from: u64, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.content.read_exact_at(&mut bytes, self.at + from)?;
        Ok(bytes)
    }
}

/// What is kept for one tenant.
pub(super) struct Shelf {
    tenant: usize,
    most_bytes: u64,
    places: Arc<Shares>,
    state: Mutex<State>,
}

impl std::fmt::Debug for Shelf {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Shelf").field("tenant", &self.tenant).finish_non_exhaustive()
    }
}

impl Shelf {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files of a run, if any are kept.
    pub fn list(&self, run: &str) -> Option<Vec<Artifact>> {
        let mut state = self.lock();
        let gone = state.expired(Instant::now());
        let kept = state.runs.iter().find(|kept| kept.id == run);
        let files = kept.map(|kept| kept.files.iter().map(|file| file.artifact.clone()).collect());
        drop(state);
        drop(gone);
        files
    }

    /// The file of a run that has this path.
    pub fn find(&self, run: &str, path: &str) -> Option<Found> {
        let state = self.lock();
        let kept = state.runs.iter().find(|kept| kept.id == run)?;
        if kept.since.elapsed() > TIME {
            return None;
        }
        let Placed { artifact, at } =
            kept.files.iter().find(|file| file.artifact.path == path)?.clone();
        Some(Found { artifact, content: kept.content.clone(), at })
    }

    /// A place for so many bytes of a run's files.
    fn place(&self, run: &str, bytes: u64) -> io::Result<(Arc<File>, u64)> {
        if !self.lock().runs.iter().any(|kept| kept.id == run) {
            let content = Arc::new(unnamed()?);
            let mut state = self.lock();
            while state.runs.len() >= RUNS {
                drop(state.pop());
            }
            let place = loop {
                match self.places.take(self.tenant, 1) {
                    Some(place) => break place,
                    // What another tenant has is not ours to remove.
                    None => drop(state.pop().ok_or_else(full)?),
                }
            };
            let (id, since) = (run.to_owned(), Instant::now());
            state.runs.push_back(Kept {
                id,
                since,
                content,
                bytes: 0,
                files: vec![],
                _place: place,
            });
        }
        let mut state = self.lock();
        while state.bytes.saturating_add(bytes) > self.most_bytes {
            let is_own = state.runs.front().is_none_or(|oldest| oldest.id == run);
            if is_own {
                return Err(full());
            }
            drop(state.pop());
        }
        let kept = state.runs.iter_mut().find(|kept| kept.id == run).ok_or_else(full)?;
        let at = kept.bytes;
        kept.bytes += bytes;
        let content = kept.content.clone();
        state.bytes += bytes;
        Ok((content, at))
    }

    /// Notes a file that is whole.
    fn add(&self, run: &str, artifact: &Artifact, at: u64) -> io::Result<()> {
        let mut state = self.lock();
        let kept = state.runs.iter_mut().find(|kept| kept.id == run).ok_or_else(full)?;
        kept.files.push(Placed { artifact: artifact.clone(), at });
        Ok(())
    }

    /// Where a run has the same content already.
    fn same(&self, run: &str, artifact: &Artifact) -> Option<u64> {
        artifact.sha256.as_ref()?;
        let state = self.lock();
        let kept = state.runs.iter().find(|kept| kept.id == run)?;
        let same = |file: &&Placed| file.artifact.sha256 == artifact.sha256;
        kept.files.iter().find(same).map(|file| file.at)
    }
}

impl State {
    /// Takes the oldest out.
    fn pop(&mut self) -> Option<Kept> {
        let oldest = self.runs.pop_front()?;
        self.bytes -= oldest.bytes;
        Some(oldest)
    }

    fn expired(&mut self, now: Instant) -> Vec<Kept> {
        let mut gone = vec![];
        while self
            .runs
            .front()
            .is_some_and(|oldest| now.saturating_duration_since(oldest.since) > TIME)
        {
            gone.extend(self.pop());
        }
        gone
    }
}

impl Keeper for Shelf {
    fn keep(&self, run: &str, artifact: &Artifact, content: &mut dyn Read) -> io::Result<()> {
        let at = match self.same(run, artifact) {
            Some(at) => at,
            None => {
                let (file, at) = self.place(run, artifact.bytes)?;
                copy(content, &file, at, artifact.bytes)?;
                at
            }
        };
        self.add(run, artifact, at)
    }
}

fn full() -> io::Error {
    io::Error::other("the place for files of this tenant is full")
}

/// Writes exactly so many bytes.
fn copy(content: &mut dyn Read, to: &File, mut at: u64, bytes: u64) -> io::Result<()> {
    let end = at + bytes;
    let mut piece = vec![0; PIECE.min(usize::try_from(bytes).unwrap_or(PIECE))];
    while at < end {
        let most = piece.len().min(usize::try_from(end - at).unwrap_or(PIECE));
        match content.read(&mut piece[..most]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                to.write_all_at(&piece[..count], at)?;
                at += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A file that has no name, in the temporary directory.
fn unnamed() -> io::Result<File> {
    let folder = std::env::temp_dir();
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    match open(&folder, flags | OFlags::TMPFILE, mode) {
        Ok(file) => Ok(file.into()),
        // Some file systems cannot do that.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
            let name = new_id().map_err(io::Error::other)?;
            let path = folder.join(format!("carboy-files-{name}"));
            let file = open(&path, flags | OFlags::CREATE | OFlags::EXCL, mode)?;
            std::fs::remove_file(&path)?;
            Ok(file.into())
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(path: &str, content: &str) -> Artifact {
        Artifact {
            path: path.into(),
            bytes: content.len() as u64,
            sha256: Some(format!("{content:?}")),
            media_type: None,
        }
    }

    fn keep(shelf: &Shelf, run: &str, path: &str, content: &str) -> bool {
        shelf.keep(run, &artifact(path, content), &mut content.as_bytes()).is_ok()
    }

    fn content(shelf: &Shelf, run: &str, path: &str) -> Option<String> {
        let found = shelf.find(run, path)?;
        let bytes = found.read(0, found.artifact.bytes as usize).expect("bytes");
        Some(String::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn files_of_a_run_are_found_by_their_paths() {
        let shelves = Shelves::new([100, 100].into_iter());
        let (mine, others) = (shelves.of(0), shelves.of(1));
        for (path, text) in [("a.txt", "one"), ("../../etc/x", "two"), ("b", "one"), ("empty", "")]
        {
            assert!(keep(mine, "1", path, text));
            assert_eq!(content(mine, "1", path).as_deref(), Some(text), "{path}");
        }
        // Equal content is there once.
        assert_eq!(mine.lock().bytes, 6);
        assert_eq!(mine.list("1").map(|files| files.len()), Some(4));
        assert_eq!((mine.list("2"), others.list("1")), (None, None));
        assert!(mine.find("1", "a").is_none() && others.find("1", "a.txt").is_none());
        assert!(mine.keep("1", &artifact("short", "xyz"), &mut "x".as_bytes()).is_err());
        assert!(mine.find("1", "short").is_none());
    }

    #[test]
    fn the_oldest_make_room_and_a_run_has_at_most_all() {
        let shelves = Shelves::new([10].into_iter());
        let shelf = shelves.of(0);
        assert!(keep(shelf, "1", "a", "aaaa") && keep(shelf, "2", "a", "bbbb"));
        assert!(keep(shelf, "3", "a", "cccc"));
        assert!(shelf.list("1").is_none() && shelf.list("2").is_some());
        assert!(!keep(shelf, "3", "b", "1234567") && shelf.list("2").is_none());
        assert_eq!(content(shelf, "3", "a").as_deref(), Some("cccc"));
        for number in 0..RUNS {
            assert!(keep(shelf, &format!("n{number}"), "e", ""));
        }
        assert!(shelf.list("3").is_none() && shelf.list("n0").is_some());
        // Whoever reads has what was there.
        let found = shelf.find("n0", "e").expect("a file");
        shelf.lock().runs.clear();
        assert_eq!(found.read(0, 0).expect("bytes"), b"");
    }

    #[test]
    fn many_tenants_have_a_place_each() {
        let shelves = Shelves::new((0..RUNS_OF_ALL).map(|_| 10));
        for number in 0..RUNS {
            keep(shelves.of(0), &number.to_string(), "a", "");
        }
        for tenant in 1..RUNS_OF_ALL {
            assert!(keep(shelves.of(tenant), "1", "a", ""), "{tenant}");
        }
        assert!(shelves.of(0).list(&(RUNS - 1).to_string()).is_some());
    }
}
