//! Files that runs left, kept for their tenant for a while.
//!
//! All files of a run are one behind the other in one file of this host, which has no name: what a guest called them
//! is only ever compared, nothing is left when this process ends, and a run takes one descriptor. A tenant that leaves
//! much pushes out only what is its own.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use carboy_engine::Keeper;
use carboy_protocol::Artifact;
use carboy_store::{copy_exactly, unnamed_file};

use super::shares::{Share, Shares};
use super::uploads::Uploaded;

/// Of how many runs files are kept, of one tenant and of all, and for how long.
const RUNS: usize = 64;
const RUNS_OF_ALL: usize = 256;
const TIME: Duration = Duration::from_secs(600);

/// The shelves of all tenants.
pub(super) struct Shelves(Vec<Arc<Shelf>>);

impl Shelves {
    /// A shelf for each tenant, which has so many bytes, and of all together so many.
    pub fn new(of_all: u64, bytes: impl Iterator<Item = u64>) -> Shelves {
        let bytes: Vec<_> = bytes.collect();
        let count = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let places = Shares::new(RUNS_OF_ALL.max(2 * bytes.len()), bytes.len(), RUNS);
        let most = bytes.iter().copied().max().unwrap_or(0).min(of_all);
        let room = Shares::new(count(of_all), bytes.len(), count(most));
        let shelf = |(tenant, most_bytes)| {
            let (places, room) = (places.clone(), room.clone());
            let (bytes, runs) = (Arc::default(), Mutex::default());
            Arc::new(Shelf { tenant, most_bytes, bytes, places, room, runs })
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
            let gone = expired(&mut shelf.lock());
            // Without the lock: closing a file may take its time.
            drop(gone);
        }
    }
}

/// A file of this host and what it takes, until nobody keeps or reads it any more.
struct Stored {
    file: File,
    /// Its own, and the tenant's.
    bytes: AtomicU64,
    of_tenant: Arc<AtomicU64>,
    room: Mutex<Share>,
    _place: Share,
}

impl Drop for Stored {
    fn drop(&mut self) {
        self.of_tenant.fetch_sub(*self.bytes.get_mut(), Ordering::Relaxed);
    }
}

struct Kept {
    id: String,
    since: Instant,
    content: Arc<Stored>,
    files: Vec<Placed>,
}

#[derive(Clone)]
struct Placed {
    artifact: Artifact,
    at: u64,
}

/// One file, as it is read.
pub(super) struct Found {
    pub artifact: Artifact,
    content: Content,
    at: u64,
}

/// Where it is, kept until it was read.
enum Content {
    Left(Arc<Stored>),
    Uploaded(File, #[expect(dead_code, reason = "it is removed when nobody has it")] Arc<Uploaded>),
}

impl Found {
    /// A file that was uploaded.
    pub fn uploaded(artifact: Artifact, kept: Arc<Uploaded>, opened: File) -> Found {
        Found { artifact, content: Content::Uploaded(opened, kept), at: 0 }
    }

    /// Some of its bytes, which must be there. Reads the disk.
    pub fn read(&self, from: u64, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        let file = match &self.content {
            Content::Left(stored) => &stored.file,
            Content::Uploaded(file, _) => file,
        };
        file.read_exact_at(&mut bytes, self.at + from)?;
        Ok(bytes)
    }
}

/// What is kept for one tenant.
pub(super) struct Shelf {
    tenant: usize,
    most_bytes: u64,
    /// What it has, with what is not kept any more and still read.
    bytes: Arc<AtomicU64>,
    places: Arc<Shares>,
    room: Arc<Shares>,
    /// The oldest first.
    runs: Mutex<VecDeque<Kept>>,
}

impl std::fmt::Debug for Shelf {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Shelf").field("tenant", &self.tenant).finish_non_exhaustive()
    }
}

impl Shelf {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files of a run, if any are kept.
    pub fn list(&self, run: &str) -> Option<Vec<Artifact>> {
        let runs = self.lock();
        let kept = runs.iter().find(|kept| kept.id == run && kept.since.elapsed() <= TIME)?;
        Some(kept.files.iter().map(|file| file.artifact.clone()).collect())
    }

    /// The file of a run that has this path.
    pub fn find(&self, run: &str, path: &str) -> Option<Found> {
        let runs = self.lock();
        let kept = runs.iter().find(|kept| kept.id == run && kept.since.elapsed() <= TIME)?;
        let Placed { artifact, at } =
            kept.files.iter().find(|file| file.artifact.path == path)?.clone();
        Some(Found { artifact, content: Content::Left(kept.content.clone()), at })
    }

    /// The file for a run, which may be new.
    fn stored(&self, run: &str) -> io::Result<Arc<Stored>> {
        if let Some(kept) = self.lock().iter().find(|kept| kept.id == run) {
            return Ok(kept.content.clone());
        }
        let file = unnamed_file()?;
        let mut gone = vec![];
        let mut runs = self.lock();
        while runs.len() >= RUNS {
            gone.extend(runs.pop_front());
        }
        let place = loop {
            match self.places.take(self.tenant, 1) {
                Some(place) => break place,
                // What another tenant has is not ours to remove. Its place is free when nobody reads it.
                None => drop(runs.pop_front().ok_or_else(full)?),
            }
        };
        let room = Mutex::new(self.room.take(self.tenant, 0).ok_or_else(full)?);
        let (bytes, of_tenant) = (AtomicU64::new(0), self.bytes.clone());
        let content = Arc::new(Stored { file, bytes, of_tenant, room, _place: place });
        let (id, since) = (run.to_owned(), Instant::now());
        runs.push_back(Kept { id, since, content: content.clone(), files: vec![] });
        Ok(content)
    }

    /// A place for so many bytes of a run's files.
    fn place(&self, run: &str, bytes: u64) -> io::Result<(Arc<Stored>, u64)> {
        let content = self.stored(run)?;
        let amount = usize::try_from(bytes).map_err(|_large| full())?;
        let mut runs = self.lock();
        let mut room = content.room.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let has = self.bytes.load(Ordering::Relaxed);
            if has.saturating_add(bytes) <= self.most_bytes && room.grow(amount).is_some() {
                break;
            }
            if runs.front().is_none_or(|oldest| oldest.id == run) {
                return Err(full());
            }
            drop(runs.pop_front());
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let at = content.bytes.fetch_add(bytes, Ordering::Relaxed);
        drop(room);
        Ok((content, at))
    }

    /// Notes a file that is whole.
    fn add(&self, run: &str, artifact: &Artifact, at: u64) -> io::Result<()> {
        let mut runs = self.lock();
        let kept = runs.iter_mut().find(|kept| kept.id == run).ok_or_else(full)?;
        kept.files.push(Placed { artifact: artifact.clone(), at });
        Ok(())
    }

    /// Where a run has the same content already.
    fn same(&self, run: &str, artifact: &Artifact) -> Option<u64> {
        artifact.sha256.as_ref()?;
        let runs = self.lock();
        let kept = runs.iter().find(|kept| kept.id == run)?;
        let same = |file: &&Placed| file.artifact.sha256 == artifact.sha256;
        kept.files.iter().find(same).map(|file| file.at)
    }
}

fn expired(runs: &mut VecDeque<Kept>) -> Vec<Kept> {
    let mut gone = vec![];
    while runs.front().is_some_and(|oldest| oldest.since.elapsed() > TIME) {
        gone.extend(runs.pop_front());
    }
    gone
}

impl Keeper for Shelf {
    fn keep(&self, run: &str, artifact: &Artifact, content: &mut dyn Read) -> io::Result<()> {
        let at = match self.same(run, artifact) {
            Some(at) => at,
            None => {
                let (file, at) = self.place(run, artifact.bytes)?;
                copy_exactly(content, &file.file, at, artifact.bytes)?;
                at
            }
        };
        self.add(run, artifact, at)
    }
}

fn full() -> io::Error {
    io::Error::other("the place for files of this tenant is full")
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
        let shelves = Shelves::new(1000, [100, 100].into_iter());
        let (mine, others) = (shelves.of(0), shelves.of(1));
        for (path, text) in [("a.txt", "one"), ("../../etc/x", "two"), ("b", "one"), ("empty", "")]
        {
            assert!(keep(mine, "1", path, text));
            assert_eq!(content(mine, "1", path).as_deref(), Some(text), "{path}");
        }
        // Equal content is there once.
        assert_eq!(mine.bytes.load(Ordering::Relaxed), 6);
        assert_eq!(mine.list("1").map(|files| files.len()), Some(4));
        assert_eq!((mine.list("2"), others.list("1")), (None, None));
        assert!(mine.find("1", "a").is_none() && others.find("1", "a.txt").is_none());
        assert!(mine.keep("1", &artifact("short", "xyz"), &mut "x".as_bytes()).is_err());
        assert!(mine.find("1", "short").is_none());
    }

    #[test]
    fn the_oldest_make_room_and_a_run_has_at_most_all() {
        let shelves = Shelves::new(1000, [10].into_iter());
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
        // Whoever reads has what was there, and it counts until then.
        assert!(keep(shelf, "read", "a", "12345678"));
        let found = shelf.find("read", "a").expect("a file");
        shelf.lock().clear();
        assert!(!keep(shelf, "next", "a", "123") && found.read(6, 2).expect("bytes") == b"78");
        drop(found);
        assert!(keep(shelf, "next", "a", "123"));
    }

    #[test]
    fn all_tenants_together_have_so_many_bytes() {
        let shelves = Shelves::new(20, [100, 100].into_iter());
        let (mine, others) = (shelves.of(0), shelves.of(1));
        for number in 0..5 {
            keep(mine, &number.to_string(), "a", "12345");
        }
        assert!(mine.bytes.load(Ordering::Relaxed) <= 20);
        assert!(!keep(mine, "large", "a", "123456789012345678901"));
        let all =
            || [mine, others].iter().map(|one| one.bytes.load(Ordering::Relaxed)).sum::<u64>();
        keep(others, "1", "a", "1234567890");
        assert!(all() <= 20, "{}", all());
    }

    #[test]
    fn many_tenants_have_a_place_each() {
        let shelves = Shelves::new(1000, (0..RUNS_OF_ALL).map(|_| 10));
        for number in 0..RUNS {
            keep(shelves.of(0), &number.to_string(), "a", "");
        }
        for tenant in 1..RUNS_OF_ALL {
            assert!(keep(shelves.of(tenant), "1", "a", ""), "{tenant}");
        }
        assert!(shelves.of(0).list(&(RUNS - 1).to_string()).is_some());
    }
}
