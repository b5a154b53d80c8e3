//! The sessions of a desk, by the caller's number.
//!
//! A number is taken from the moment at which a session is asked for, so whoever gives up waiting for one can
//! close it all the same.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use carboy_engine::{RequestError, RunError, SessionHandle, Sessions};
use carboy_protocol::{Opening, SessionAnswer, SessionAsk};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;

/// A session, or one that is being opened.
struct Slot<S> {
    session: OnceLock<Arc<S>>,
    /// Told when its number is given back before there is a session.
    closed: Notify,
}

type Slots<S> = HashMap<u64, Arc<Slot<S>>>;

/// The sessions that are open or being opened.
pub(super) struct Held<S>(Mutex<Slots<S>>);

impl<S: SessionHandle> Held<S> {
    pub fn new() -> Held<S> {
        Held(Mutex::new(HashMap::new()))
    }

    fn locked(&self) -> MutexGuard<'_, Slots<S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session with this number.
    pub fn get(&self, number: u64) -> Result<Arc<S>, RunError> {
        let found = self.locked().get(&number).and_then(|slot| slot.session.get().cloned());
        found.ok_or_else(|| none(number))
    }

    /// A session that was found elsewhere has this number from now on.
    pub fn put(&self, number: u64, session: S) {
        let slot = Slot { session: OnceLock::from(Arc::new(session)), closed: Notify::new() };
        self.locked().insert(number, Arc::new(slot));
    }

    /// Gives a number back. The session goes on, if others find it.
    pub fn forget(&self, number: u64) {
        self.locked().remove(&number);
    }

    /// An error if the session with this number is over or there is none.
    pub fn check(&self, number: u64) -> Result<(), RunError> {
        self.get(number)?.check()
    }

    /// Does what is asked. Numbers are taken and given back now, not when the answer is waited for.
    pub fn ask<R: Sessions<Session = S>>(
        self: &Arc<Held<S>>,
        runner: Arc<R>,
        tenant: &str,
        number: u64,
        ask: SessionAsk,
        cancel: oneshot::Receiver<()>,
    ) -> impl Future<Output = Result<SessionAnswer, RunError>> + Send + use<R, S> {
        let tenant = tenant.to_owned();
        let step = self.step(number, ask);
        async move {
            match step? {
                Step::Open(place, opening) => {
                    let opened = tokio::select! {
                        biased;
                        Ok(()) = cancel => Err(RunError::Cancelled),
                        () = place.slot.closed.notified() => Err(RunError::Cancelled),
                        opened = runner.session_with(*opening, &tenant) => opened,
                    };
                    place.fill(opened?).await?;
                }
                Step::Branch(place, session) => place.fill(session.branch().await?).await?,
                Step::Close(slot) => match slot.session.get() {
                    Some(session) => session.close().await,
                    None => slot.closed.notify_one(),
                },
                Step::Inside(session, ask) => return inside(&*session, ask).await,
            }
            Ok(SessionAnswer::Done {})
        }
    }

    /// What is to be done, with the session that it is done with.
    fn step(self: &Arc<Held<S>>, number: u64, ask: SessionAsk) -> Result<Step<S>, RunError> {
        Ok(match ask {
            SessionAsk::Open(opening) => Step::Open(self.place(number)?, opening),
            SessionAsk::Branch { session } => {
                let parent = self.get(number)?;
                Step::Branch(self.place(session)?, parent)
            }
            SessionAsk::Close {} => {
                Step::Close(self.locked().remove(&number).ok_or_else(|| none(number))?)
            }
            ask => Step::Inside(self.get(number)?, ask),
        })
    }

    /// Takes a number for a session that is about to be there.
    fn place(self: &Arc<Held<S>>, number: u64) -> Result<Place<S>, RunError> {
        match self.locked().entry(number) {
            Entry::Occupied(_) => {
                Err(refused(format!("a session with the number {number} is open")))
            }
            Entry::Vacant(entry) => {
                let slot = Slot { session: OnceLock::new(), closed: Notify::new() };
                let slot = entry.insert(Arc::new(slot)).clone();
                Ok(Place { held: self.clone(), number, slot })
            }
        }
    }

    /// Ends every session that no other door finds, and waits until nothing of them is left.
    pub async fn close(&self) {
        let slots: Vec<_> = self.locked().drain().map(|(_, slot)| slot).collect();
        // All at once: what runs in a branch ends with the session that it is a branch of.
        let mut closing = JoinSet::new();
        for slot in slots {
            match slot.session.get().cloned() {
                Some(session) => drop(closing.spawn(async move { session.leave().await })),
                None => slot.closed.notify_one(),
            }
        }
        closing.join_all().await;
    }
}

/// What is to be done.
enum Step<S: SessionHandle> {
    Open(Place<S>, Box<Opening>),
    Branch(Place<S>, Arc<S>),
    Close(Arc<Slot<S>>),
    Inside(Arc<S>, SessionAsk),
}

/// What concerns one session alone.
async fn inside<S: SessionHandle>(session: &S, ask: SessionAsk) -> Result<SessionAnswer, RunError> {
    match ask {
        SessionAsk::Variables {} => {
            return session.variables().await.map(SessionAnswer::Variables);
        }
        SessionAsk::Checkpoints {} => {
            let names = session.checkpoints().await?;
            return Ok(SessionAnswer::Checkpoints { names });
        }
        SessionAsk::Checkpoint { name } => session.checkpoint(&name).await?,
        SessionAsk::Rollback { name } => session.rollback(&name).await?,
        SessionAsk::Drop { name } => session.drop_checkpoint(&name).await?,
        SessionAsk::Open(_) | SessionAsk::Branch { .. } | SessionAsk::Close {} => {}
    }
    Ok(SessionAnswer::Done {})
}

/// A number whose session is on its way. It is given back if that does not come.
struct Place<S: SessionHandle> {
    held: Arc<Held<S>>,
    number: u64,
    slot: Arc<Slot<S>>,
}

impl<S: SessionHandle> Place<S> {
    /// The session is there. If its number was given back meanwhile, it ends.
    async fn fill(&self, session: S) -> Result<(), RunError> {
        let session = Arc::new(session);
        if self.set(session.clone()) {
            return Ok(());
        }
        session.close().await;
        Err(RunError::Cancelled)
    }

    fn set(&self, session: Arc<S>) -> bool {
        let sessions = self.held.locked();
        self.is_in(&sessions) && self.slot.session.set(session).is_ok()
    }

    fn is_in(&self, sessions: &Slots<S>) -> bool {
        sessions.get(&self.number).is_some_and(|slot| Arc::ptr_eq(slot, &self.slot))
    }
}

impl<S: SessionHandle> Drop for Place<S> {
    fn drop(&mut self) {
        let mut sessions = self.held.locked();
        if self.slot.session.get().is_none() && self.is_in(&sessions) {
            sessions.remove(&self.number);
        }
    }
}

fn none(number: u64) -> RunError {
    refused(format!("there is no session with the number {number}"))
}

fn refused(why: String) -> RunError {
    RunError::Request(RequestError::Session { why })
}
