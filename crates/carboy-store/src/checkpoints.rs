//! Copying the log of a store into its file, and when a commit would wait for the disk because of that.

use std::path::Path;
use std::sync::mpsc as threads;
use std::thread::JoinHandle;

use rusqlite::Connection;

use crate::error::{StoreError, While};
use crate::schema;

/// How much of the log was copied. Nothing is done.
const LOOK: &str = "PRAGMA wal_checkpoint(NOOP)";

/// The log of a store, as a connection of its own sees it: one that is in a transaction is not told.
pub(crate) struct Log(Connection);

impl Log {
    pub fn of(store: &Path) -> Result<Log, StoreError> {
        schema::open_or_make(store).map(Log)
    }

    /// Whether a transaction of a writer, which another connection is in, appends to the log.
    ///
    /// SQLite begins a log anew if all of it had been copied when the transaction began, and that commit waits for the
    /// disk. Whoever copied it may be any process. While there is a writer, the part that is copied only grows, so if
    /// some of the log is not copied now, that was so at the beginning.
    pub fn is_appended_to(&self) -> bool {
        let look = |row: &rusqlite::Row<'_>| Ok((row.get(1)?, row.get(2)?));
        let found = self.0.prepare_cached(LOOK).and_then(|mut look_at| look_at.query_row([], look));
        found.is_ok_and(|(frames, copied): (i64, i64)| copied < frames)
    }
}

/// Copies the log into the file, on a thread of its own: it waits for the disk, and records must not.
pub(crate) fn checkpointer(
    store: &Path,
) -> Result<(threads::SyncSender<()>, JoinHandle<()>), StoreError> {
    let connection = schema::open_or_make(store)?;
    let (word, heard) = threads::sync_channel(1);
    let thread = std::thread::Builder::new()
        .name("checkpoints".into())
        .spawn(move || {
            while let Ok(()) = heard.recv() {
                checkpoint(&connection, "PASSIVE");
            }
        })
        .while_doing("start the writer of", store)?;
    Ok((word, thread))
}

/// A checkpoint that fails is tried again later: the log holds everything until then.
pub(crate) fn checkpoint(connection: &Connection, mode: &str) {
    connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(())).ok();
}
