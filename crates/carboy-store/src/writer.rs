//! The one thread that writes: records that wait together are committed together.
//!
//! A run is answered when its record is committed, so a commit is on its way to every answer. Shared by all
//! that came meanwhile, it costs each little.

use std::path::{Path, PathBuf};
use std::sync::mpsc as threads;
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::error::{StoreError, While};
use crate::ledger::Ledger;
use crate::packages::Packages;
use crate::record::{Asked, Bodies, Ended, VersionsOf};
use crate::schema;

/// How many runs may be under way: each has a place in the queue before it begins, so that none waits for one
/// when it is over. More than a door lets in.
const PLACES: usize = 1 << 14;
/// How many records, and about how many bytes of them, one commit has at most.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 16 << 20;
/// How much is written between two checkpoints, which copy the log into the file.
const CHECKPOINT_BYTES: usize = 4 << 20;
/// How long the log may become before the next record waits for a checkpoint.
const LOG_BYTES: usize = 64 << 20;

/// Gives back what was recorded.
pub(crate) type Reply = oneshot::Sender<Result<Ended, StoreError>>;

/// What is told to the thread.
enum Word {
    Record(Box<Pending>),
    /// Answered when everything before it is written.
    Flush(oneshot::Sender<()>),
}

/// A record that is to be written.
pub(crate) struct Pending {
    pub asked: Asked,
    pub ended: Ended,
    /// For a run without an outcome.
    pub id: String,
    /// Nobody waits for the record of a run that was abandoned.
    pub reply: Option<Reply>,
}

/// The way to the thread. Dropping it waits until what was told is written.
pub(crate) struct Writer {
    store: PathBuf,
    words: Option<mpsc::Sender<Word>>,
    thread: Option<JoinHandle<()>>,
}

/// A place in the queue.
pub(crate) struct Place(mpsc::OwnedPermit<Word>);

impl Place {
    pub fn fill(self, pending: Pending) {
        self.0.send(Word::Record(Box::new(pending)));
    }
}

impl Writer {
    /// Opens or makes a store, and shows that it can be written.
    pub fn open(
        store: &Path,
        versions: VersionsOf,
        packages: Packages,
    ) -> Result<Writer, StoreError> {
        let connection = schema::open_or_make(store)?;
        connection
            .execute_batch("BEGIN IMMEDIATE; UPDATE head SET seq = seq; ROLLBACK")
            .while_doing("write to", store)?;
        let (words, heard) = mpsc::channel(PLACES);
        let place = store.to_path_buf();
        let (checkpoints, copying) = checkpointer(store)?;
        let thread = std::thread::Builder::new()
            .name("records".into())
            .spawn(move || {
                write(&place, &connection, Known { versions, packages }, heard, &checkpoints);
                // The last connection that is closed copies the log into the file.
                drop(checkpoints);
                copying.join().ok(); // A panic of it was told.
            })
            .while_doing("start the writer of", store)?;
        Ok(Writer { store: store.into(), words: Some(words), thread: Some(thread) })
    }

    pub fn store(&self) -> &Path {
        &self.store
    }

    fn gone(&self) -> StoreError {
        StoreError::found("write to", &self.store, "its writer has ended")
    }

    /// A place for the record of a run that is about to begin.
    pub async fn place(&self) -> Result<Place, StoreError> {
        let words = self.words.clone().ok_or_else(|| self.gone())?;
        words.reserve_owned().await.map(Place).map_err(|_closed| self.gone())
    }

    /// Waits until everything told so far is written.
    pub async fn flush(&self) {
        let (done, written) = oneshot::channel();
        if let Some(words) = &self.words
            && words.send(Word::Flush(done)).await.is_ok()
        {
            written.await.ok(); // A writer that ended has nothing more to write.
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.words = None;
        if let Some(thread) = self.thread.take() {
            thread.join().ok(); // A panic of it was told, and there is nobody to tell again.
        }
    }
}

/// Copies the log into the file, on a thread of its own: it waits for the disk, and records must not.
fn checkpointer(store: &Path) -> Result<(threads::SyncSender<()>, JoinHandle<()>), StoreError> {
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
fn checkpoint(connection: &Connection, mode: &str) {
    connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(())).ok();
}

/// What every record says alike.
struct Known {
    versions: VersionsOf,
    packages: Packages,
}

/// What the thread works with.
struct Desk<'a> {
    store: &'a Path,
    ledger: Ledger<'a>,
    known: Known,
}

/// A record that is put together, and who waits for it.
struct Ready {
    bodies: Bodies,
    ended: Ended,
    reply: Option<Reply>,
}

/// Takes words until nobody can say one any more.
fn write(
    store: &Path,
    connection: &Connection,
    known: Known,
    mut words: mpsc::Receiver<Word>,
    checkpoints: &threads::SyncSender<()>,
) {
    let ledger = Ledger::new(connection).while_doing("write to", store);
    // Without its statements it hears nobody, and whoever asks is told that it has ended.
    let Ok(ledger) = ledger else { return };
    let mut desk = Desk { store, ledger, known };
    let (mut since_checkpoint, mut in_log) = (0, 0);
    while let Some(first) = words.blocking_recv() {
        let (mut ready, mut flushed, mut bytes) = (Vec::new(), Vec::new(), 0);
        let mut next = Some(first);
        while let Some(word) = next {
            match word {
                Word::Flush(done) => flushed.push(done),
                Word::Record(pending) => {
                    if let Some(made) = desk.ready(*pending) {
                        bytes += made.bodies.bytes();
                        ready.push(made);
                    }
                }
            }
            let full = ready.len() >= BATCH || bytes >= BATCH_BYTES;
            next = if full { None } else { words.try_recv().ok() };
        }
        desk.commit(ready);
        for done in flushed {
            done.send(()).ok(); // Whoever asked may be gone.
        }
        since_checkpoint += bytes;
        in_log += bytes;
        if in_log > LOG_BYTES {
            checkpoint(connection, "RESTART");
            (since_checkpoint, in_log) = (0, 0);
        } else if since_checkpoint > CHECKPOINT_BYTES && checkpoints.try_send(()).is_ok() {
            since_checkpoint = 0;
        }
    }
}

impl Desk<'_> {
    fn ready(&self, pending: Pending) -> Option<Ready> {
        let Pending { asked, ended, id, reply } = pending;
        let versions = self.known.packages.complete(self.known.versions.clone(), &asked.code);
        match Bodies::new(asked, &ended, id, versions).while_doing("write to", self.store) {
            Ok(bodies) => Some(Ready { bodies, ended, reply }),
            Err(error) => {
                answer(reply, Err(error));
                None
            }
        }
    }

    /// Commits records together. If that fails each is tried alone, so that one that cannot be kept does not
    /// take the others with it.
    fn commit(&mut self, ready: Vec<Ready>) {
        if ready.is_empty() {
            return;
        }
        let together = self.append(ready.iter().map(|made| &made.bodies));
        let alone = together.is_err() && ready.len() > 1;
        for made in ready {
            let kept = if alone { self.append([&made.bodies]) } else { together.clone() };
            answer(made.reply, kept.map(|()| made.ended));
        }
    }

    fn append<'b>(&mut self, all: impl IntoIterator<Item = &'b Bodies>) -> Result<(), StoreError> {
        let kept = self
            .ledger
            .transaction(|chain| all.into_iter().try_for_each(|bodies| chain.append(bodies)));
        kept.while_doing("write to", self.store)
    }
}

fn answer(reply: Option<Reply>, kept: Result<Ended, StoreError>) {
    if let Some(reply) = reply {
        reply.send(kept).ok(); // Whoever waited may be gone; the record is there.
    }
}
