//! Who writes: a run that is alone commits its record itself; otherwise one thread does, and records that wait
//! together are committed together.
//!
//! A run is answered when its record is committed, so a commit is on its way to every answer. Handing a record to
//! another thread and back takes longer than writing it. Shared by all that came meanwhile, it costs each little.

use std::path::{Path, PathBuf};
use std::sync::mpsc as threads;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::{mpsc, oneshot};

use crate::checkpoints::{Log, checkpoint, checkpointer};
use crate::draft::{Asked, Bodies, Draft, Ended};
use crate::error::{StoreError, While};
use crate::ledger::Ledger;
use crate::packages::Packages;
use crate::record::VersionsOf;
use crate::schema;
use crate::shelf::RunShelf;

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

const STEP: &str = "write to";

/// Gives back what was recorded.
type Reply = oneshot::Sender<Result<Ended, StoreError>>;

/// What is told to the thread.
enum Word {
    Ended(Box<Pending>),
    Ready(Box<Ready>),
    /// Answered when everything before it is written.
    Flush(oneshot::Sender<()>),
}

/// What is known of a run before its end.
pub(crate) enum Begun {
    Asked(Box<Asked>),
    Draft(Result<Draft, StoreError>),
}

/// A run that is over, and is to be recorded. Nobody waits for the record of one that was abandoned.
struct Pending {
    begun: Begun,
    ended: Ended,
    kept: Option<Arc<RunShelf>>,
    reply: Option<Reply>,
}

/// A record that is put together, and who waits for it.
struct Ready {
    bodies: Bodies,
    ended: Ended,
    /// Nobody removes the content that it names before it is committed, also if whoever waits for it goes away.
    kept: Option<Arc<RunShelf>>,
    reply: Option<Reply>,
}

/// The way to the store. Dropping it waits until what was told is written.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    words: Option<mpsc::Sender<Word>>,
    thread: Option<JoinHandle<()>>,
    copying: Option<JoinHandle<()>>,
}

/// A place in the queue.
pub(crate) struct Place(mpsc::OwnedPermit<Word>);

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
            .while_doing(STEP, store)?;
        let ledger = Ledger::new(connection).while_doing(STEP, store)?;
        let log = Log::of(store)?;
        let (checkpoints, copying) = checkpointer(store)?;
        let checkpoints = Some(checkpoints);
        let book = Mutex::new(Book { ledger, checkpoints, log, uncopied: 0, in_log: 0 });
        let shared = Arc::new(Shared { store: store.into(), versions, packages, book });
        let (words, heard) = mpsc::channel(PLACES);
        let thread = std::thread::Builder::new()
            .name("records".into())
            .spawn({
                let shared = shared.clone();
                move || write(&shared, heard)
            })
            .while_doing("start the writer of", store)?;
        let (thread, copying) = (Some(thread), Some(copying));
        Ok(Writer { shared, words: Some(words), thread, copying })
    }

    fn gone(&self) -> StoreError {
        StoreError::found(STEP, &self.shared.store, "its writer has ended")
    }

    /// A place for the record of a run that is about to begin.
    pub async fn place(&self) -> Result<Place, StoreError> {
        let words = self.words.clone().ok_or_else(|| self.gone())?;
        words.reserve_owned().await.map(Place).map_err(|_closed| self.gone())
    }

    /// Puts together what is known before the end, unless that takes a while.
    pub fn draft(&self, begun: Begun) -> Begun {
        match begun {
            Begun::Asked(asked) if asked.is_short() && self.shared.packages.are_known() => {
                Begun::Draft(self.shared.draft(*asked))
            }
            begun => begun,
        }
    }

    /// Records how a run ended, and gives that back when it is committed. Until then `kept` stays.
    pub async fn end(
        &self,
        place: Place,
        begun: Begun,
        ended: Ended,
        kept: Option<Arc<RunShelf>>,
    ) -> Result<Ended, StoreError> {
        let (reply, committed) = oneshot::channel();
        let reply = Some(reply);
        let word = match begun {
            Begun::Draft(draft) if ended.is_short() && self.is_alone() => {
                let bodies = draft?.end(&ended).while_doing(STEP, &self.shared.store)?;
                match self.shared.commit_now(&bodies) {
                    Some(committed) => return committed.map(|()| ended),
                    None => Word::Ready(Box::new(Ready { bodies, ended, kept, reply })),
                }
            }
            begun => Word::Ended(Box::new(Pending { begun, ended, kept, reply })),
        };
        place.0.send(word);
        committed.await.unwrap_or_else(|_gone| Err(self.gone()))
    }

    /// Records that a run was abandoned.
    pub fn abandon(place: Place, begun: Begun) {
        place.0.send(Word::Ended(Box::new(Pending {
            begun,
            ended: Ended::Abandoned,
            kept: None,
            reply: None,
        })));
    }

    /// Whether only one run is under way or waits to be recorded: nobody waits while it is written.
    fn is_alone(&self) -> bool {
        self.words.as_ref().is_some_and(|words| words.max_capacity() - words.capacity() == 1)
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
        let join = |thread: &mut Option<JoinHandle<()>>| {
            // A panic of it was told, and there is nobody to tell again.
            thread.take().map(|thread| thread.join().ok());
        };
        join(&mut self.thread);
        // The last connection that is closed copies the log into the file.
        self.shared.book().checkpoints = None;
        join(&mut self.copying);
    }
}

/// What whoever writes works with.
struct Shared {
    store: PathBuf,
    /// What every record says alike.
    versions: VersionsOf,
    packages: Packages,
    book: Mutex<Book>,
}

/// Only one writes at a time.
struct Book {
    ledger: Ledger,
    checkpoints: Option<threads::SyncSender<()>>,
    log: Log,
    /// How much was written since the last checkpoint.
    uncopied: usize,
    in_log: usize,
}

/// Takes words until nobody can say one any more.
fn write(shared: &Shared, mut words: mpsc::Receiver<Word>) {
    shared.packages.look();
    while let Some(first) = words.blocking_recv() {
        let (mut ready, mut flushed, mut bytes) = (Vec::new(), Vec::new(), 0);
        let mut next = Some(first);
        while let Some(word) = next {
            let made = match word {
                Word::Flush(done) => {
                    flushed.push(done);
                    None
                }
                Word::Ended(pending) => shared.ready(*pending),
                Word::Ready(made) => Some(*made),
            };
            if let Some(made) = made {
                bytes += made.bodies.bytes();
                ready.push(made);
            }
            let full = ready.len() >= BATCH || bytes >= BATCH_BYTES;
            next = if full { None } else { words.try_recv().ok() };
        }
        shared.commit(ready, bytes);
        for done in flushed {
            done.send(()).ok(); // Whoever asked may be gone.
        }
    }
}

impl Shared {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draft(&self, asked: Asked) -> Result<Draft, StoreError> {
        let versions = self.packages.complete(self.versions.clone(), &asked.code);
        Draft::new(asked, versions).while_doing(STEP, &self.store)
    }

    fn ready(&self, pending: Pending) -> Option<Ready> {
        let Pending { begun, ended, kept, reply } = pending;
        let draft = match begun {
            Begun::Draft(draft) => draft,
            Begun::Asked(asked) => self.draft(*asked),
        };
        match draft.and_then(|draft| draft.end(&ended).while_doing(STEP, &self.store)) {
            Ok(bodies) => Some(Ready { bodies, ended, kept, reply }),
            Err(error) => {
                answer(reply, Err(error));
                None
            }
        }
    }

    /// Commits one record, if that is possible without waiting for anybody, and not for the disk either.
    fn commit_now(&self, bodies: &Bodies) -> Option<Result<(), StoreError>> {
        let mut book = self.book.try_lock().ok().filter(|book| book.in_log <= LOG_BYTES)?;
        let Book { ledger, log, .. } = &mut *book;
        let kept = ledger.transaction_now(log, |chain| chain.append(bodies)).transpose()?;
        book.wrote(bodies.bytes());
        Some(kept.while_doing(STEP, &self.store))
    }

    /// Commits records together. If that fails each is tried alone, so that one that cannot be kept does not
    /// take the others with it.
    fn commit(&self, ready: Vec<Ready>, bytes: usize) {
        if ready.is_empty() {
            return;
        }
        let mut book = self.book();
        let together = book.append(&self.store, ready.iter().map(|made| &made.bodies));
        let alone = together.is_err() && ready.len() > 1;
        for made in ready {
            let kept =
                if alone { book.append(&self.store, [&made.bodies]) } else { together.clone() };
            drop(made.kept);
            answer(made.reply, kept.map(|()| made.ended));
        }
        book.wrote(bytes);
        if book.in_log > LOG_BYTES {
            checkpoint(book.ledger.connection(), "RESTART");
            (book.uncopied, book.in_log) = (0, 0);
        }
    }
}

impl Book {
    fn append<'b>(
        &mut self,
        store: &Path,
        all: impl IntoIterator<Item = &'b Bodies>,
    ) -> Result<(), StoreError> {
        let mut all = all.into_iter();
        let kept = self.ledger.transaction(|chain| all.try_for_each(|bodies| chain.append(bodies)));
        kept.while_doing(STEP, store)
    }

    /// Counts what was written, and has it copied when it is enough.
    fn wrote(&mut self, bytes: usize) {
        self.uncopied += bytes;
        self.in_log += bytes;
        let Some(checkpoints) = &self.checkpoints else { return };
        // If it is still about the last one, it is asked again after the next record.
        if self.uncopied > CHECKPOINT_BYTES && checkpoints.try_send(()).is_ok() {
            self.uncopied = 0;
        }
    }
}

fn answer(reply: Option<Reply>, kept: Result<Ended, StoreError>) {
    if let Some(reply) = reply {
        reply.send(kept).ok(); // Whoever waited may be gone; the record is there.
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;
    use crate::record::{About, PruneFacts};

    fn bodies() -> Bodies {
        let removed = PruneFacts { through_seq: 0, through_hash: String::new(), removed: 0 };
        let (about, time) = (About::Prune(removed), String::new());
        Bodies { about, time, code: "1".into(), job: "{}".into(), outcome: None, inputs: None }
    }

    #[test]
    fn a_commit_that_would_wait_for_the_disk_is_left_to_the_thread() {
        let id = carboy_engine::new_id().unwrap();
        let store = std::env::temp_dir().join(format!("carboy-writer-{id}"));
        let writer = Writer::open(&store, VersionsOf::default(), Packages::new(vec![])).unwrap();
        // Of a log that is begun anew the header is written, and flushed.
        let header = || std::fs::read(store.join("runs.sqlite-wal")).unwrap()[..32].to_owned();
        let is_quick = || writer.shared.commit_now(&bodies()).map(Result::unwrap).is_some();
        let commit = || writer.shared.book().append(&store, [&bodies()]).unwrap();
        // Another process does not tell when it copies the log.
        let other = schema::open_or_make(&store).unwrap();
        for mode in ["PASSIVE", "RESTART", "TRUNCATE"] {
            checkpoint(&other, mode);
            assert!(!is_quick(), "after {mode}");
            commit();
            let begun = header();
            assert!(is_quick() && is_quick(), "behind {mode}");
            assert_eq!(header(), begun, "it began the log anew");
        }
        // A part that was not copied, because somebody still reads what was there before, is appended to.
        let reader = schema::open_or_make(&store).unwrap();
        reader.execute_batch("BEGIN; SELECT * FROM head").unwrap();
        commit();
        checkpoint(&other, "PASSIVE");
        assert!(is_quick());
        drop(writer);
        std::fs::remove_dir_all(&store).unwrap();
    }
}
