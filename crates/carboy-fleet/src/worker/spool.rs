//! Files that runs left on this node, until they are in the store.
//!
//! They are copied from the jar to a file without a name, so nothing is left of them when this process ends. How many bytes
//! and runs wait is bounded.

use std::fs::File;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use carboy_engine::Keeper;
use carboy_protocol::Artifact;
use carboy_store::{RunFiles, Uploader, copy_exactly, unnamed_file};
use tokio::sync::{Notify, Semaphore};

use crate::files::{LIST, Permit};
use crate::message::RunAsk;

/// Files that are on their way at once.
const AT_ONCE: usize = 4;

/// Runs whose files wait.
const RUNS: usize = 1024;

/// What a file takes in a list beside its path.
const ENTRY: usize = 256;

/// The files of all runs of a node.
#[derive(Debug)]
pub struct Spool {
    most: u64,
    held: Mutex<Held>,
    pub(super) uploader: Uploader,
    pub(super) places: Semaphore,
    /// Files of a run are gone: to the store, or given up.
    left: Notify,
}

#[derive(Debug, Default)]
struct Held {
    bytes: u64,
    runs: usize,
}

impl Spool {
    /// For so many bytes at once. What would be more is left out of a run's files.
    pub fn new(most: u64) -> Arc<Spool> {
        Arc::new(Spool {
            most,
            held: Mutex::default(),
            uploader: Uploader::new(),
            places: Semaphore::new(AT_ONCE),
            left: Notify::new(),
        })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nothing is on its way.
    pub(super) async fn emptied(&self) {
        loop {
            let left = self.left.notified();
            if self.held().runs == 0 {
                return;
            }
            left.await;
        }
    }
}

/// The files of one run, until they are in the store or given up.
#[derive(Debug)]
pub(super) struct Left {
    pub spool: Arc<Spool>,
    pub run: String,
    pub tenant: String,
    pub gateway: String,
    pub permit: Permit,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
pub(super) struct Kept {
    pub file: Option<Arc<File>>,
    bytes: u64,
    /// With the place of each in the file.
    pub files: Vec<(Artifact, u64)>,
    /// What their list takes as JSON, at most.
    list: usize,
}

impl Left {
    /// For the files of a run that are wanted, if there is room.
    pub fn of(spool: &Arc<Spool>, ask: &RunAsk) -> Option<Arc<Left>> {
        let permit = ask.files.clone()?;
        let mut held = spool.held();
        if held.runs >= RUNS {
            return None;
        }
        held.runs += 1;
        drop(held);
        Some(Arc::new(Left {
            spool: spool.clone(),
            run: ask.run.clone(),
            tenant: ask.tenant.clone(),
            gateway: ask.gateway.clone(),
            permit,
            kept: Mutex::default(),
        }))
    }

    pub fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for so many bytes.
    fn place(&self, bytes: u64) -> io::Result<(Arc<File>, u64)> {
        let mut kept = self.kept();
        let mut held = self.spool.held();
        let more = |has: u64| has.saturating_add(bytes);
        if more(kept.bytes) > self.permit.bytes || more(held.bytes) > self.spool.most {
            return Err(io::Error::other("there is no room for it before it is in the store"));
        }
        let file = match &kept.file {
            Some(file) => file.clone(),
            None => Arc::new(unnamed_file()?),
        };
        held.bytes += bytes;
        kept.file = Some(file.clone());
        kept.bytes += bytes;
        Ok((file, kept.bytes - bytes))
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        let bytes = self.kept().bytes;
        let mut held = self.spool.held();
        held.bytes -= bytes;
        held.runs -= 1;
        drop(held);
        self.spool.left.notify_waiters();
    }
}

impl Keeper for Left {
    fn keep(&self, run: &str, artifact: &Artifact, content: &mut dyn Read) -> io::Result<()> {
        let entry = 6 * artifact.path.len() + ENTRY;
        if run != self.run || !RunFiles::has_place(&self.tenant, run, &artifact.path) {
            return Err(io::Error::other("its path is too long for the store"));
        }
        if self.kept().list + entry > LIST {
            return Err(io::Error::other("the list of the files is too long for the store"));
        }
        let (file, at) = self.place(artifact.bytes)?;
        copy_exactly(content, &file, at, artifact.bytes)?;
        let mut kept = self.kept();
        kept.list += entry;
        kept.files.push((artifact.clone(), at));
        Ok(())
    }
}
