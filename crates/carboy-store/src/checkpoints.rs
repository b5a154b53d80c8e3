//! Copying the log of a store into its file, and when a commit may wait for the disk because of that.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc as threads;
use std::thread::JoinHandle;

use rusqlite::Connection;

use crate::error::{StoreError, While};
use crate::schema;

/// What is known of the log between two commits. SQLite begins a log anew when all of it was copied, and the commit
/// that does so waits for the disk. Checkpoints of other processes are not known here.
pub(crate) struct Log {
    /// How many checkpoints were asked for and are not over. Only who has the book asks for one.
    pub copies: AtomicUsize,
    /// Whether the next commit may be one that waits for the disk.
    pub is_new: AtomicBool,
}

impl Log {
    pub fn is_quiet(&self) -> bool {
        self.copies.load(Ordering::Acquire) == 0
    }
}

/// Copies the log into the file, on a thread of its own: it waits for the disk, and records must not.
pub(crate) fn checkpointer(
    store: &Path,
    log: Arc<Log>,
) -> Result<(threads::SyncSender<()>, JoinHandle<()>), StoreError> {
    let connection = schema::open_or_make(store)?;
    let (word, heard) = threads::sync_channel(1);
    let thread = std::thread::Builder::new()
        .name("checkpoints".into())
        .spawn(move || {
            while let Ok(()) = heard.recv() {
                checkpoint(&connection, "PASSIVE");
                log.is_new.store(true, Ordering::Release);
                log.copies.fetch_sub(1, Ordering::Release);
            }
        })
        .while_doing("start the writer of", store)?;
    Ok((word, thread))
}

/// A checkpoint that fails is tried again later: the log holds everything until then.
pub(crate) fn checkpoint(connection: &Connection, mode: &str) {
    connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(())).ok();
}
