//! Where calls are carried out: the desk of this process, for its one client.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use carboy_engine::{EngineError, RequestError, RunError, Sessions};
use carboy_protocol::{ArtifactWish, Job, Outcome, Piece, Reply, SessionAsk};
use tokio_util::sync::CancellationToken;

use super::about::About;
use super::shelf::Shelf;
use crate::desk::{Desk, End, Event, Order, Taken, UnderWay, Work};

pub(super) struct Own<R> {
    desk: Arc<Desk<R>>,
    about: About,
    shelf: Arc<Shelf>,
    /// The number of the next request, and of the next session.
    next: AtomicU64,
    next_session: AtomicU64,
}

impl<R: Sessions> Own<R> {
    pub fn new(desk: Arc<Desk<R>>, about: About, shelf: Arc<Shelf>) -> Own<R> {
        Own { desk, about, shelf, next: AtomicU64::new(0), next_session: AtomicU64::new(1) }
    }

    pub fn about(&self) -> &About {
        &self.about
    }

    pub fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// Runs a job, until it is over or is to be stopped.
    pub async fn run(&self, job: Job, stop: &CancellationToken) -> Result<Outcome, RunError> {
        match self.start(Work::Job(Box::new(job)), stop).await? {
            End::Outcome(outcome) => Ok(*outcome),
            _ => Err(unexpected()),
        }
    }

    /// Runs a piece of a session's code.
    pub async fn run_in(
        &self,
        session: &str,
        piece: Piece,
        stop: &CancellationToken,
    ) -> Result<Reply, RunError> {
        match self.start(Work::Piece(number(session)?, Box::new(piece)), stop).await? {
            End::Reply(reply) => Ok(*reply),
            _ => Err(unexpected()),
        }
    }

    /// Opens a session, and gives its name.
    pub async fn open(
        &self,
        ask: SessionAsk,
        stop: &CancellationToken,
    ) -> Result<String, RunError> {
        let session = self.next_session.fetch_add(1, Ordering::Relaxed);
        self.ask_about(session, ask, stop).await?;
        Ok(name(session))
    }

    /// Opens a session that goes on from another's state, and gives its name.
    pub async fn branch(&self, of: &str, stop: &CancellationToken) -> Result<String, RunError> {
        let of = number(of)?;
        let session = self.next_session.fetch_add(1, Ordering::Relaxed);
        self.ask_about(of, SessionAsk::Branch { session }, stop).await?;
        Ok(name(session))
    }

    /// Does something with a session.
    pub async fn ask(
        &self,
        session: &str,
        ask: SessionAsk,
        stop: &CancellationToken,
    ) -> Result<(), RunError> {
        self.ask_about(number(session)?, ask, stop).await
    }

    async fn ask_about(
        &self,
        session: u64,
        ask: SessionAsk,
        stop: &CancellationToken,
    ) -> Result<(), RunError> {
        let key = self.key();
        self.follow(key, self.desk.ask(key, session, ask), stop).await.map(drop)
    }

    async fn start(&self, work: Work, stop: &CancellationToken) -> Result<End, RunError> {
        let key = self.key();
        let order = Order {
            work,
            id: None,
            stream: false,
            begun: None,
            tenant: String::new(),
            deadline: None,
            artifacts: ArtifactWish::Keep,
        };
        self.follow(key, self.desk.start(key, order), stop).await
    }

    fn key(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    async fn follow(
        &self,
        key: u64,
        run: Result<UnderWay, Taken>,
        stop: &CancellationToken,
    ) -> Result<End, RunError> {
        let mut run = run.map_err(|Taken| unexpected())?;
        let mut is_stopped = false;
        loop {
            tokio::select! {
                () = stop.cancelled(), if !is_stopped => {
                    is_stopped = true;
                    self.desk.cancel(&key);
                }
                event = run.next() => match event {
                    Some(Event::Ended(ended)) => return ended,
                    Some(_) => {}
                    None => return Err(unexpected()),
                },
            }
        }
    }
}

fn name(session: u64) -> String {
    format!("s{session}")
}

fn number(name: &str) -> Result<u64, RunError> {
    name.strip_prefix('s').and_then(|number| number.parse().ok()).ok_or_else(|| {
        let why =
            format!("there is no session `{name}`; `session_open` opens one and gives its name");
        RunError::Request(RequestError::Session { why })
    })
}

fn unexpected() -> RunError {
    let error = std::io::Error::other("the desk answered something else");
    EngineError::Os { step: "run a job", error }.into()
}
