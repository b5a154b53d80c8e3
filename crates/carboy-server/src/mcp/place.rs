//! Where calls are carried out, for one caller: at the desk of this process, or at that of an HTTP door.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use carboy_engine::{EngineError, RequestError, RunError, Sessions};
use carboy_protocol::pipe::RunFailure;
use carboy_protocol::{Artifact, ArtifactWish, Job, Opening, Outcome, Piece, Reply, SessionAsk};
use tokio_util::sync::CancellationToken;

use super::about::About;
use super::shelf::{Kept, Shelf};
use crate::desk::{Desk, End, Event, Order, Taken, UnderWay, Work};

/// Where the calls of one caller are carried out. Where files or sessions are not offered, nobody asks for them.
pub(crate) trait Place: Send + Sync + 'static {
    /// What holds for every run of the caller.
    fn about(&self) -> &About;

    /// Runs a job, until it is over or is to be stopped.
    fn run(
        &self,
        job: Job,
        stop: &CancellationToken,
    ) -> impl Future<Output = Result<Outcome, RunFailure>> + Send;

    /// The files that a run left, if any are kept.
    fn files(&self, run: &str) -> Option<Vec<Artifact>>;

    /// One of them.
    fn file(
        &self,
        run: &str,
        path: &str,
    ) -> impl Future<Output = Result<Option<Kept>, RunFailure>> + Send;

    /// Runs a piece of a session's code.
    fn run_in(
        &self,
        session: &str,
        piece: Piece,
        stop: &CancellationToken,
    ) -> impl Future<Output = Result<Reply, RunFailure>> + Send;

    /// Opens a session, and gives its name.
    fn open(
        &self,
        opening: Opening,
        stop: &CancellationToken,
    ) -> impl Future<Output = Result<String, RunFailure>> + Send;

    /// Opens a session that goes on from another's state, and gives its name.
    fn branch(
        &self,
        of: &str,
        stop: &CancellationToken,
    ) -> impl Future<Output = Result<String, RunFailure>> + Send;

    /// Does something with a session.
    fn ask(
        &self,
        session: &str,
        ask: SessionAsk,
        stop: &CancellationToken,
    ) -> impl Future<Output = Result<(), RunFailure>> + Send;
}

/// The desk of this process, for its one client.
pub(super) struct Own<R: Sessions> {
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

    async fn ask_about(
        &self,
        session: u64,
        ask: SessionAsk,
        stop: &CancellationToken,
    ) -> Result<(), RunFailure> {
        let key = self.key();
        self.follow(key, self.desk.ask(key, session, ask), stop).await.map(drop)
    }

    async fn start(&self, work: Work, stop: &CancellationToken) -> Result<End, RunFailure> {
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
    ) -> Result<End, RunFailure> {
        let mut run = run.map_err(|Taken| unexpected())?;
        let mut is_stopped = false;
        loop {
            tokio::select! {
                () = stop.cancelled(), if !is_stopped => {
                    is_stopped = true;
                    self.desk.cancel(&key);
                }
                event = run.next() => match event {
                    Some(Event::Ended(ended)) => return ended.map_err(|error| error.failure()),
                    Some(_) => {}
                    None => return Err(unexpected()),
                },
            }
        }
    }
}

impl<R: Sessions> Place for Own<R> {
    fn about(&self) -> &About {
        &self.about
    }

    fn files(&self, run: &str) -> Option<Vec<Artifact>> {
        self.shelf.list(run)
    }

    async fn file(&self, run: &str, path: &str) -> Result<Option<Kept>, RunFailure> {
        Ok(self.shelf.get(run, path))
    }

    async fn run(&self, job: Job, stop: &CancellationToken) -> Result<Outcome, RunFailure> {
        match self.start(Work::Job(Box::new(job)), stop).await? {
            End::Outcome(outcome) => Ok(*outcome),
            _ => Err(unexpected()),
        }
    }

    async fn run_in(
        &self,
        session: &str,
        piece: Piece,
        stop: &CancellationToken,
    ) -> Result<Reply, RunFailure> {
        match self.start(Work::Piece(number(session)?, Box::new(piece)), stop).await? {
            End::Reply(reply) => Ok(*reply),
            _ => Err(unexpected()),
        }
    }

    async fn open(&self, opening: Opening, stop: &CancellationToken) -> Result<String, RunFailure> {
        let session = self.next_session.fetch_add(1, Ordering::Relaxed);
        self.ask_about(session, SessionAsk::Open(Box::new(opening)), stop).await?;
        Ok(name(session))
    }

    async fn branch(&self, of: &str, stop: &CancellationToken) -> Result<String, RunFailure> {
        let of = number(of)?;
        let session = self.next_session.fetch_add(1, Ordering::Relaxed);
        self.ask_about(of, SessionAsk::Branch { session }, stop).await?;
        Ok(name(session))
    }

    async fn ask(
        &self,
        session: &str,
        ask: SessionAsk,
        stop: &CancellationToken,
    ) -> Result<(), RunFailure> {
        self.ask_about(number(session)?, ask, stop).await
    }
}

fn name(session: u64) -> String {
    format!("s{session}")
}

fn number(name: &str) -> Result<u64, RunFailure> {
    let number = name.strip_prefix('s').and_then(|number| number.parse().ok());
    number.ok_or_else(|| none(name).failure())
}

fn none(name: &str) -> RunError {
    let why = format!("there is no session `{name}`; `session_open` opens one and gives its name");
    RunError::Request(RequestError::Session { why })
}

fn unexpected() -> RunFailure {
    let error = std::io::Error::other("the desk answered something else");
    RunError::from(EngineError::Os { step: "run a job", error }).failure()
}
