//! The sessions that a node holds, by id.
//!
//! What is asked of one session is done in the order in which it came. When a session is idle for as long as its policy
//! says, it ends by itself: its gateway may be gone, and with it whoever knew its id.

use std::collections::{HashMap, VecDeque};
use std::fmt::{self, Debug};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use carboy_engine::{RunOptions, SessionHandle, Sessions};
use carboy_protocol::{Opening, Piece};
use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::message::{Fault, SessionOf, Told, Wanted, unread};

/// How much may be under way in one session, what waits for its turn among it.
const UNDER_WAY: usize = 16;

/// How many sessions that are over are remembered.
const OVER: usize = 4096;

/// How many sessions a node holds if nobody says otherwise, branches among them. Their memory is the runner's to refuse.
pub const MOST_SESSIONS: usize = 512;

/// Whoever holds the sessions of a node.
pub trait HoldsSessions: Debug + Send + Sync {
    /// Does what a gateway asks. Its place in the order is taken now, not when the answer is waited for.
    fn ask(
        self: Arc<Self>,
        tenant: &str,
        asked: SessionOf,
        body: Bytes,
        options: RunOptions,
    ) -> Doing;

    /// How many there are.
    fn count(&self) -> usize;

    /// Opens no more. What is open goes on.
    fn drain(&self);

    /// Lets go of sessions that are over.
    fn sweep(&self);

    /// Ends all of them.
    fn close_all(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The sessions of a runner that a node holds.
pub struct HeldSessions<R: Sessions> {
    runner: Arc<R>,
    most: usize,
    is_draining: AtomicBool,
    book: Mutex<Book<R::Session>>,
}

struct Book<S> {
    /// None while it is being opened.
    held: HashMap<String, Option<Arc<Entry<S>>>>,
    over: VecDeque<(String, String, String)>,
}

struct Entry<S> {
    id: String,
    tenant: String,
    session: S,
    /// Whoever has it does something with the session. The next in order gets it.
    turn: Arc<tokio::sync::Mutex<()>>,
    waiting: AtomicUsize,
}

/// What is asked of a session is answered by this.
pub type Doing = Pin<Box<dyn Future<Output = Told> + Send>>;

type Turn = Pin<Box<dyn Future<Output = tokio::sync::OwnedMutexGuard<()>> + Send>>;

impl<R: Sessions> HeldSessions<R> {
    /// No session of this runner's.
    pub fn new(runner: Arc<R>, most: usize) -> Arc<HeldSessions<R>> {
        let book = Mutex::new(Book { held: HashMap::new(), over: VecDeque::new() });
        Arc::new(HeldSessions { runner, most, is_draining: AtomicBool::new(false), book })
    }

    fn book(&self) -> MutexGuard<'_, Book<R::Session>> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, tenant: &str, id: &str) -> Result<Arc<Entry<R::Session>>, Fault> {
        let book = self.book();
        if let Some(Some(entry)) = book.held.get(id)
            && entry.tenant == tenant
        {
            return Ok(entry.clone());
        }
        let over = book.over.iter().find(|(over, of, _)| over == id && of == tenant);
        Err(over.map_or(Fault::Unknown {}, |(_, _, why)| Fault::Over { why: why.clone() }))
    }

    fn open(
        self: &Arc<Self>,
        tenant: &str,
        id: String,
        body: &Bytes,
        options: RunOptions,
    ) -> Result<Doing, Fault> {
        let opening: Opening = serde_json::from_slice(body)
            .map_err(|error| unread("what a session is opened with", &error))?;
        let place = self.place(tenant, id)?;
        let held = self.clone();
        Ok(Box::pin(async move {
            let opened = tokio::select! {
                opened = held.runner.session_with(opening, &place.tenant) => opened,
                () = cancelled(options.cancel) => return Told::Not(Fault::Cancelled {}),
            };
            match opened {
                Ok(session) => place.fill(session).await,
                Err(error) => Told::Not(Fault::of(&error)),
            }
        }))
    }

    /// Takes a place for a session that is about to be there.
    fn place(self: &Arc<Self>, tenant: &str, id: String) -> Result<Place<R>, Fault> {
        if self.is_draining.load(Ordering::Acquire) {
            return Err(Fault::Drained {});
        }
        let mut book = self.book();
        if book.held.len() >= self.most {
            return Err(Fault::full());
        }
        if book.held.contains_key(&id) {
            return Err(Fault::Refused { why: "there is a session with this id".into() });
        }
        book.held.insert(id.clone(), None);
        Ok(Place { held: self.clone(), id, tenant: tenant.into() })
    }

    /// Something that is done in the session's turn.
    fn inside(
        self: &Arc<Self>,
        tenant: &str,
        id: &str,
        what: Wanted,
        body: &Bytes,
        mut options: RunOptions,
    ) -> Result<Doing, Fault> {
        let entry = self.find(tenant, id)?;
        let place = match &what {
            Wanted::Branch { to } => Some(self.place(tenant, to.clone())?),
            _ => None,
        };
        let piece = match &what {
            Wanted::Run {} => {
                let piece: Piece = serde_json::from_slice(body)
                    .map_err(|error| unread("a piece of code", &error))?;
                Some(piece)
            }
            _ => None,
        };
        let waits = Waits::new(&entry)?;
        // Its place in the order is that of the first poll.
        let lock = entry.turn.clone().lock_owned();
        let mut turn: Turn = Box::pin(tokio::task::unconstrained(lock));
        let first = (&mut turn).now_or_never();
        let held = self.clone();
        Ok(Box::pin(async move {
            let (deadline, mut cancel) = (options.deadline, options.cancel.take());
            let _turn = match first {
                Some(turn) => turn,
                None => tokio::select! {
                    turn = turn => turn,
                    () = until(deadline) => return Told::Not(Fault::full()),
                    () = heard(&mut cancel) => return Told::Not(Fault::Cancelled {}),
                },
            };
            options.cancel = cancel;
            let session = &entry.session;
            let done = match (what, piece, place) {
                (_, Some(piece), _) => {
                    session.run_with(piece, options).await.map(|reply| Told::Reply(Box::new(reply)))
                }
                (_, _, Some(place)) => match session.branch().await {
                    Ok(branch) => return place.fill(branch).await,
                    Err(error) => Err(error),
                },
                (Wanted::Variables {}, ..) => session.variables().await.map(Told::Variables),
                (Wanted::Checkpoints {}, ..) => {
                    session.checkpoints().await.map(|names| Told::Checkpoints { names })
                }
                (Wanted::Checkpoint { name }, ..) => session.checkpoint(&name).await.map(done),
                (Wanted::Rollback { name }, ..) => session.rollback(&name).await.map(done),
                (Wanted::Drop { name }, ..) => session.drop_checkpoint(&name).await.map(done),
                _ => Ok(Told::Done {}),
            };
            held.look(&entry);
            drop(waits);
            done.unwrap_or_else(|error| Told::Not(Fault::of(&error)))
        }))
    }

    fn close(self: &Arc<Self>, tenant: &str, id: &str) -> Doing {
        let entry = match self.find(tenant, id) {
            Ok(entry) => entry,
            Err(Fault::Unknown {}) => {
                // It may be on its way: then it ends when it is there.
                let mut book = self.book();
                if matches!(book.held.get(id), Some(None)) {
                    book.held.remove(id);
                }
                return now(Told::Done {});
            }
            Err(fault) => return now(Told::Not(fault)),
        };
        self.end(&entry, "it was closed");
        let held = self.clone();
        Box::pin(async move {
            entry.session.close().await;
            held.sweep();
            Told::Done {}
        })
    }

    /// Forgets a session that is over, and remembers why.
    fn end(&self, entry: &Entry<R::Session>, why: &str) {
        let mut book = self.book();
        if book.held.remove(&entry.id).is_some() {
            book.over.push_back((entry.id.clone(), entry.tenant.clone(), why.into()));
            if book.over.len() > OVER {
                book.over.pop_front();
            }
        }
    }

    fn look(&self, entry: &Entry<R::Session>) {
        if let Err(error) = entry.session.check() {
            let why = match Fault::of(&error) {
                Fault::Over { why } => why,
                _ => error.to_string(),
            };
            self.end(entry, &why);
        }
    }

    fn all(&self) -> Vec<Arc<Entry<R::Session>>> {
        self.book().held.values().flatten().cloned().collect()
    }
}

impl<R: Sessions> HoldsSessions for HeldSessions<R> {
    fn ask(
        self: Arc<Self>,
        tenant: &str,
        asked: SessionOf,
        body: Bytes,
        options: RunOptions,
    ) -> Doing {
        let SessionOf { id, what } = asked;
        let begun = match what {
            Wanted::Open {} => self.open(tenant, id, &body, options),
            Wanted::Close {} => Ok(self.close(tenant, &id)),
            Wanted::Attach {} => self.find(tenant, &id).map(|_entry| now(Told::Done {})),
            what => self.inside(tenant, &id, what, &body, options),
        };
        begun.unwrap_or_else(|fault| now(Told::Not(fault)))
    }

    fn count(&self) -> usize {
        self.book().held.len()
    }

    fn drain(&self) {
        self.is_draining.store(true, Ordering::Release);
    }

    fn sweep(&self) {
        for entry in self.all() {
            self.look(&entry);
        }
    }

    fn close_all(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            let mut closing = JoinSet::new();
            for entry in self.all() {
                self.end(&entry, "its node was stopped");
                closing.spawn(async move { entry.session.close().await });
            }
            closing.join_all().await;
        })
    }
}

impl<R: Sessions> Debug for HeldSessions<R> {
    fn fmt(&self, form: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(form, "HeldSessions({})", self.count())
    }
}

fn now(told: Told) -> Doing {
    Box::pin(std::future::ready(told))
}

fn done((): ()) -> Told {
    Told::Done {}
}

/// Waits until it is cancelled; for ever if nobody can do that any more.
async fn cancelled(mut cancel: Option<oneshot::Receiver<()>>) {
    heard(&mut cancel).await;
}

async fn heard(cancel: &mut Option<oneshot::Receiver<()>>) {
    if let Some(receiver) = cancel
        && receiver.await.is_ok()
    {
        return;
    }
    *cancel = None;
    std::future::pending().await
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

/// What is under way in a session, or waits for its turn.
struct Waits<S>(Arc<Entry<S>>);

impl<S> Waits<S> {
    fn new(entry: &Arc<Entry<S>>) -> Result<Waits<S>, Fault> {
        if entry.waiting.fetch_add(1, Ordering::AcqRel) >= UNDER_WAY {
            entry.waiting.fetch_sub(1, Ordering::AcqRel);
            return Err(Fault::full());
        }
        Ok(Waits(entry.clone()))
    }
}

impl<S> Drop for Waits<S> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A session on its way. Its place is given back if it does not come.
struct Place<R: Sessions> {
    held: Arc<HeldSessions<R>>,
    id: String,
    tenant: String,
}

impl<R: Sessions> Place<R> {
    /// It is there. If it was closed meanwhile, it ends.
    async fn fill(self, session: R::Session) -> Told {
        let entry = Arc::new(Entry {
            id: self.id.clone(),
            tenant: self.tenant.clone(),
            session,
            turn: Arc::default(),
            waiting: AtomicUsize::new(0),
        });
        let is_wanted = match self.held.book().held.get_mut(&self.id) {
            Some(slot @ None) => {
                *slot = Some(entry.clone());
                true
            }
            _ => false,
        };
        if is_wanted {
            return Told::Done {};
        }
        entry.session.close().await;
        Told::Not(Fault::Cancelled {})
    }
}

impl<R: Sessions> Drop for Place<R> {
    fn drop(&mut self) {
        let mut book = self.held.book();
        if matches!(book.held.get(&self.id), Some(None)) {
            book.held.remove(&self.id);
        }
    }
}
