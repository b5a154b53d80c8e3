//! The files that runs left, kept in memory until a model has read them.
//!
//! A run is known by its id. What is kept is bounded: the oldest runs make place for new ones.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use carboy_engine::Keeper;
use carboy_protocol::Artifact;

/// The most bytes of all files, and the most runs.
const MOST_BYTES: usize = 64 << 20;
const MOST_RUNS: usize = 256;

/// One file.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub artifact: Artifact,
    pub content: Arc<[u8]>,
}

#[derive(Debug, Default)]
struct Run {
    id: String,
    bytes: usize,
    files: BTreeMap<String, Kept>,
}

/// The files of the last runs.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    runs: Mutex<VecDeque<Run>>,
}

impl Shelf {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Run>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files of a run, by their paths. `None` if nothing is kept of it.
    pub fn list(&self, run: &str) -> Option<Vec<Artifact>> {
        let runs = self.lock();
        let run = runs.iter().find(|kept| kept.id == run)?;
        Some(run.files.values().map(|kept| kept.artifact.clone()).collect())
    }

    /// One file of a run.
    pub fn get(&self, run: &str, path: &str) -> Option<Kept> {
        self.lock().iter().find(|kept| kept.id == run)?.files.get(path).cloned()
    }

    fn put(&self, id: &str, kept: Kept) -> io::Result<()> {
        let mut runs = self.lock();
        if !runs.iter().any(|run| run.id == id) {
            runs.push_back(Run { id: id.into(), ..Run::default() });
        }
        let new = kept.content.len();
        let held = |runs: &VecDeque<Run>| runs.iter().map(|run| run.bytes).sum::<usize>();
        while runs.len() > MOST_RUNS || held(&runs) + new > MOST_BYTES {
            let Some(oldest) = runs.iter().position(|run| run.id != id) else {
                return Err(io::Error::other(format!("no more than {MOST_BYTES} bytes are kept")));
            };
            runs.remove(oldest);
        }
        if let Some(run) = runs.iter_mut().find(|run| run.id == id) {
            run.bytes += new;
            run.files.insert(kept.artifact.path.clone(), kept);
        }
        Ok(())
    }
}

impl Keeper for Shelf {
    fn keep(&self, run: &str, artifact: &Artifact, content: &mut dyn Read) -> io::Result<()> {
        if artifact.bytes > MOST_BYTES as u64 {
            return Err(io::Error::other(format!("no more than {MOST_BYTES} bytes are kept")));
        }
        let mut bytes = Vec::new();
        // As many as it is said to have, whatever comes.
        content.take(artifact.bytes).read_to_end(&mut bytes)?;
        self.put(run, Kept { artifact: artifact.clone(), content: bytes.into() })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn artifact(path: &str, bytes: usize) -> Artifact {
        Artifact { path: path.into(), bytes: bytes as u64, sha256: None, media_type: None }
    }

    #[test]
    fn files_are_found_by_run_and_path() {
        let shelf = Shelf::default();
        shelf.keep("1", &artifact("b", 2), &mut &b"bb"[..]).unwrap();
        shelf.keep("1", &artifact("a", 1), &mut &b"aa"[..]).unwrap();
        let paths: Vec<_> = shelf.list("1").unwrap().into_iter().map(|file| file.path).collect();
        assert_eq!(paths, ["a", "b"]);
        assert_eq!(&shelf.get("1", "a").unwrap().content[..], b"a");
        assert!(
            shelf.get("1", "c").is_none()
                && shelf.get("2", "a").is_none()
                && shelf.list("2").is_none()
        );
    }

    #[test]
    fn old_runs_make_place_and_one_run_has_a_bound() {
        let shelf = Shelf::default();
        let half = vec![0; MOST_BYTES / 2];
        let keep = |run, path| shelf.keep(run, &artifact(path, half.len()), &mut &half[..]);
        keep("1", "a").unwrap();
        keep("2", "a").unwrap();
        keep("2", "b").unwrap();
        assert!(shelf.list("1").is_none());
        assert_eq!(shelf.list("2").unwrap().len(), 2);
        assert!(keep("2", "c").is_err());
        assert!(shelf.keep("3", &artifact("d", MOST_BYTES + 1), &mut io::empty()).is_err());
        for run in 10..10 + MOST_RUNS {
            shelf.keep(&run.to_string(), &artifact("a", 1), &mut &b"a"[..]).unwrap();
        }
        assert!(shelf.list("2").is_none() && shelf.list("10").is_some());
    }
}
