//! The desk: runs under way by key, what they say, and how they end.
//!
//! Every door needs the same of a run: its output as text, its calls, a way to answer and to cancel
//! them, and exactly one end, also when the run panicked. That is kept here once.

mod sessions;

use std::collections::HashMap;
use std::hash::Hash;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use carboy_engine::{
    Answer, Artifacts, Call, Chunk, EngineError, IN_FLIGHT, Keeper, RunError, RunOptions,
    SessionHandle, Sessions, Stream, ToolHost,
};
use carboy_protocol::{
    ArtifactWish, Job, Outcome, OutputText, Piece, Reply, SessionAnswer, SessionAsk,
};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use sessions::Held;

/// How many chunks of output wait for a caller that does not read them.
const CHUNKS: usize = 16;

/// What a caller asks for.
#[derive(Debug)]
pub struct Order {
    /// What to run.
    pub work: Work,
    /// The id of its outcome, if the door chose one.
    pub id: Option<String>,
    /// Whether output is wanted as it comes. The outcome has it anyway.
    pub stream: bool,
    /// Hears that the run has begun, and is dropped if it never does.
    pub begun: Option<oneshot::Sender<()>>,
    /// For whom it is.
    pub tenant: String,
    /// When the answer is of no use any more.
    pub deadline: Option<Instant>,
    /// What is wanted of the files that it leaves. They are kept if the desk has a keeper, and listed if it
    /// has none.
    pub artifacts: ArtifactWish,
}

/// What is run.
#[derive(Debug)]
pub enum Work {
    /// A job, in a jar of its own.
    Job(Box<Job>),
    /// A piece of code, in the session with this number.
    Piece(u64, Box<Piece>),
}

/// What came of something.
#[derive(Debug)]
pub enum End {
    /// Of a job.
    Outcome(Box<Outcome>),
    /// Of a piece of a session's code.
    Reply(Box<Reply>),
    /// Of something else about a session.
    Session(SessionAnswer),
}

impl End {
    /// The outcome, if something was run.
    pub fn outcome(self) -> Option<Box<Outcome>> {
        match self {
            End::Outcome(outcome) => Some(outcome),
            End::Reply(reply) => Some(Box::new(reply.outcome)),
            End::Session(_) => None,
        }
    }
}

/// What a run has to say.
#[derive(Debug)]
pub enum Event {
    /// It printed something.
    Output(Stream, String),
    /// It calls a tool, and waits for [`Desk::answer`].
    Call(Call),
    /// It is over. Nothing follows.
    Ended(Result<End, RunError>),
}

/// The key belongs to a run that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken;

/// The ways to a run under way.
struct Ways {
    cancel: Option<oneshot::Sender<()>>,
    /// None when no more answers can come.
    answers: Option<mpsc::Sender<Answer>>,
}

/// The runs under way, shared by the desk and by each of them.
type Runs<K> = Arc<Mutex<HashMap<K, Ways>>>;

fn locked<K>(runs: &Runs<K>) -> MutexGuard<'_, HashMap<K, Ways>> {
    runs.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs by the caller's key.
pub struct Desk<R: Sessions, K = u64> {
    runner: Arc<R>,
    runs: Runs<K>,
    sessions: Arc<Held<R::Session>>,
    keeper: Option<Arc<dyn Keeper>>,
}

impl<R: Sessions, K: Clone + Eq + Hash> Desk<R, K> {
    /// A desk on which nothing is under way.
    pub fn new(runner: R) -> Desk<R, K> {
        Desk {
            runner: Arc::new(runner),
            runs: Arc::default(),
            sessions: Arc::new(Held::new()),
            keeper: None,
        }
    }

    /// The same desk, where artifacts are kept by `keeper` for those who want that.
    #[must_use]
    pub fn keeping(mut self, keeper: Arc<dyn Keeper>) -> Desk<R, K> {
        self.keeper = Some(keeper);
        self
    }

    /// Who runs the jobs.
    pub fn runner(&self) -> &R {
        &self.runner
    }

    /// Whether artifacts can be kept.
    pub fn keeps(&self) -> bool {
        self.keeper.is_some()
    }

    /// Starts a run under a key that is free.
    pub fn start(&self, key: K, order: Order) -> Result<UnderWay<K>, Taken> {
        self.start_keeping(key, order, self.keeper.clone())
    }

    /// The same, where this keeper has the files that it leaves, if they are to be kept.
    pub fn start_keeping(
        &self,
        key: K,
        order: Order,
        keeper: Option<Arc<dyn Keeper>>,
    ) -> Result<UnderWay<K>, Taken> {
        // Room for every call that may wait for an answer.
        let (answers, answered) = mpsc::channel(IN_FLIGHT);
        let (calls, called) = mpsc::channel(1);
        let (chunks, printed) = mpsc::channel(CHUNKS);
        let (place, cancel) = self.place(key, Some(answers))?;
        let options = RunOptions {
            chunks: order.stream.then_some(chunks),
            cancel: Some(cancel),
            begun: order.begun,
            id: order.id,
            tenant: order.tenant,
            deadline: order.deadline,
            tools: Some(ToolHost { calls, answers: answered }),
            witness: None,
            artifacts: match (order.artifacts, keeper) {
                (ArtifactWish::None, _) => Artifacts::None,
                (ArtifactWish::Keep, Some(keeper)) => Artifacts::Keep(keeper),
                _ => Artifacts::List,
            },
        };
        // A task of its own, so that the caller is told even if it panics.
        let run = match order.work {
            Work::Job(job) => {
                let runner = self.runner.clone();
                tokio::spawn(async move {
                    let outcome = runner.run_with(*job, options).await?;
                    Ok(End::Outcome(Box::new(outcome)))
                })
            }
            Work::Piece(number, piece) => {
                // Looked up now: a request that comes next may close the session.
                let session = self.sessions.get(number);
                tokio::spawn(async move {
                    let reply = session?.run_with(*piece, options).await?;
                    Ok(End::Reply(Box::new(reply)))
                })
            }
        };
        let mut under_way = UnderWay::new(place, run);
        (under_way.printed, under_way.called) = (Some(printed), Some(called));
        Ok(under_way)
    }

    /// Takes a key, and gives the way to hear that it is cancelled.
    fn place(
        &self,
        key: K,
        answers: Option<mpsc::Sender<Answer>>,
    ) -> Result<(Place<K>, oneshot::Receiver<()>), Taken> {
        let (stop, cancel) = oneshot::channel();
        let mut runs = locked(&self.runs);
        if runs.contains_key(&key) {
            return Err(Taken);
        }
        runs.insert(key.clone(), Ways { cancel: Some(stop), answers });
        Ok((Place { key, runs: self.runs.clone() }, cancel))
    }

    /// Whether a run with this key is under way.
    pub fn has(&self, key: &K) -> bool {
        locked(&self.runs).contains_key(key)
    }

    /// Ends a run. It still says how it ended. One that is over already stays over.
    pub fn cancel(&self, key: &K) {
        let cancel = locked(&self.runs).get_mut(key).and_then(|ways| ways.cancel.take());
        if let Some(cancel) = cancel {
            cancel.send(()).ok();
        }
    }

    /// Answers a call of a run. What nobody waits for is dropped.
    pub fn answer(&self, key: &K, answer: Answer) {
        if let Some(answers) = locked(&self.runs).get(key).and_then(|ways| ways.answers.as_ref()) {
            // There is room for every call that waits; what does not fit answers none.
            answers.try_send(answer).ok();
        }
    }

    /// The caller can answer nothing any more, and calls that wait for it are told.
    pub fn close_answers(&self) {
        locked(&self.runs).values_mut().for_each(|ways| ways.answers = None);
    }

    /// Ends everything and waits until nothing is left.
    pub async fn shutdown(&self) {
        self.sessions.close().await;
        self.runner.shutdown().await;
    }

    /// An error if the session of this number is over or there is none.
    pub fn check_session(&self, session: u64) -> Result<(), RunError> {
        self.sessions.check(session)
    }

    /// Under which id other doors find the session of this number, if they can.
    pub fn session_id(&self, session: u64) -> Option<String> {
        self.sessions.get(session).ok()?.id().map(Into::into)
    }

    /// Gives a session of this tenant that another door may have opened a number here, which is free. `false` if the
    /// runner knows of none with this id.
    pub async fn attach(&self, tenant: &str, session: u64, id: &str) -> Result<bool, RunError> {
        let found = self.runner.attach(tenant, id).await?;
        Ok(found.map(|found| self.sessions.put(session, found)).is_some())
    }

    /// Gives the number of a session back that other doors find, without ending it.
    pub fn forget_session(&self, session: u64) {
        self.sessions.forget(session);
    }

    /// Asks whether a session that other doors find is still there.
    pub async fn refresh_session(&self, session: u64) {
        if let Ok(session) = self.sessions.get(session) {
            session.refresh().await;
        }
    }

    /// Does something with the session of this number, under a key that is free. Only the opening of one can
    /// be cancelled.
    pub fn ask(&self, key: K, session: u64, ask: SessionAsk) -> Result<UnderWay<K>, Taken> {
        self.ask_for("", key, session, ask)
    }

    /// The same for a tenant.
    pub fn ask_for(
        &self,
        tenant: &str,
        key: K,
        session: u64,
        ask: SessionAsk,
    ) -> Result<UnderWay<K>, Taken> {
        let (place, cancel) = self.place(key, None)?;
        let asked = self.sessions.ask(self.runner.clone(), tenant, session, ask, cancel);
        let run = tokio::spawn(async move { asked.await.map(End::Session) });
        Ok(UnderWay::new(place, run))
    }
}

/// A key that is taken until this is dropped.
struct Place<K: Eq + Hash> {
    key: K,
    runs: Runs<K>,
}

impl<K: Eq + Hash> Drop for Place<K> {
    fn drop(&mut self) {
        locked(&self.runs).remove(&self.key);
    }
}

/// A run under way, for whoever passes on what it says. Dropping it ends the run.
pub struct UnderWay<K: Eq + Hash = u64> {
    /// None when its end was told: whoever heard of that may use the key again.
    place: Option<Place<K>>,
    run: JoinHandle<Result<End, RunError>>,
    /// None when nothing more can come.
    printed: Option<mpsc::Receiver<Chunk>>,
    called: Option<mpsc::Receiver<Call>>,
    stdout: OutputText,
    stderr: OutputText,
}

impl<K: Eq + Hash> UnderWay<K> {
    /// Something that says nothing but its end.
    fn new(place: Place<K>, run: JoinHandle<Result<End, RunError>>) -> UnderWay<K> {
        UnderWay {
            place: Some(place),
            run,
            printed: None,
            called: None,
            stdout: OutputText::default(),
            stderr: OutputText::default(),
        }
    }

    /// What it says next; `None` after its end. Everything that it printed and called comes before
    /// that. Nothing is lost if the wait is given up.
    pub async fn next(&mut self) -> Option<Event> {
        while self.printed.is_some() || self.called.is_some() {
            tokio::select! {
                chunk = received(&mut self.printed) => {
                    if let Some(event) = chunk.and_then(|chunk| self.text(&chunk)) {
                        return Some(event);
                    }
                }
                call = received(&mut self.called) => {
                    if let Some(call) = call {
                        return Some(Event::Call(call));
                    }
                }
            }
        }
        self.place.as_ref()?;
        let ran = match (&mut self.run).await {
            Ok(ran) => ran,
            Err(panic) => Err(RunError::Engine(EngineError::Os {
                step: "run a job",
                error: io::Error::other(panic),
            })),
        };
        self.place = None;
        Some(Event::Ended(ran))
    }

    /// The whole characters that have come.
    fn text(&mut self, chunk: &Chunk) -> Option<Event> {
        let text = match chunk.stream {
            Stream::Stdout => self.stdout.take(&chunk.bytes),
            Stream::Stderr => self.stderr.take(&chunk.bytes),
        };
        (!text.is_empty()).then_some(Event::Output(chunk.stream, text))
    }
}

impl<K: Eq + Hash> Drop for UnderWay<K> {
    fn drop(&mut self) {
        self.run.abort();
    }
}

/// The next message of a channel, which becomes `None` when there are no more. Waits for ever on one
/// that is `None` already.
async fn received<T>(channel: &mut Option<mpsc::Receiver<T>>) -> Option<T> {
    let Some(open) = channel else { return std::future::pending().await };
    let message = open.recv().await;
    if message.is_none() {
        *channel = None;
    }
    message
}

#[cfg(test)]
mod tests {
    use carboy_engine::{Runner, Session};
    use carboy_protocol::Opening;

    use super::*;

    /// Does what the code of its job says; a desk cares for nothing else of a runner.
    struct Scripted;

    impl Runner for Scripted {
        async fn run_with(&self, job: Job, mut options: RunOptions) -> Result<Outcome, RunError> {
            match job.code.as_str() {
                "panic" => panic!("as the script says"),
                "talk" => {
                    let chunks = options.chunks.take().expect("output is wanted");
                    let euro = "\u{20ac}".as_bytes();
                    for bytes in [&euro[..1], &euro[1..]] {
                        let chunk = Chunk { stream: Stream::Stdout, bytes: bytes.to_vec() };
                        chunks.send(chunk).await.expect("a listener");
                    }
                    Err(RunError::Cancelled)
                }
                _ => {
                    options.cancel.take().expect("a way to cancel").await.expect("a word");
                    Err(RunError::Cancelled)
                }
            }
        }

        async fn shutdown(&self) {}
    }

    impl Sessions for Scripted {
        type Session = Session;

        async fn session_with(&self, _opening: Opening, _: &str) -> Result<Session, RunError> {
            std::future::pending().await
        }
    }

    fn order(code: &str) -> Order {
        Order {
            work: Work::Job(Box::new(Job::new(code))),
            id: None,
            stream: true,
            begun: None,
            tenant: String::new(),
            deadline: None,
            artifacts: ArtifactWish::List,
        }
    }

    #[tokio::test]
    async fn output_comes_in_whole_characters_and_before_the_end() {
        let desk: Desk<_> = Desk::new(Scripted);
        let mut run = desk.start(1, order("talk")).expect("a free key");
        assert!(
            matches!(run.next().await, Some(Event::Output(Stream::Stdout, text)) if text == "\u{20ac}")
        );
        assert!(matches!(run.next().await, Some(Event::Ended(Err(RunError::Cancelled)))));
        assert!(run.next().await.is_none());
    }

    #[tokio::test]
    async fn a_panic_is_an_end_like_another() {
        let desk: Desk<_> = Desk::new(Scripted);
        let mut run = desk.start(1, order("panic")).expect("a free key");
        assert!(matches!(run.next().await, Some(Event::Ended(Err(RunError::Engine(_))))));
    }

    #[tokio::test]
    async fn a_key_is_taken_until_the_end_and_belongs_to_one_run() {
        let desk: Desk<_> = Desk::new(Scripted);
        let mut first = desk.start(1, order("wait")).expect("a free key");
        assert_eq!(desk.start(1, order("wait")).err(), Some(Taken));
        desk.cancel(&1);
        assert!(matches!(first.next().await, Some(Event::Ended(_))));
        let _second = desk.start(1, order("wait")).expect("the key is free again");
        drop(first);
        assert!(desk.has(&1), "the end of the first run must not take the key of the second");
    }

    #[tokio::test]
    async fn a_session_that_is_being_opened_can_be_cancelled_or_closed() {
        let desk: Desk<_> = Desk::new(Scripted);
        let open = || SessionAsk::Open(Box::default());
        let mut first = desk.ask(1, 7, open()).expect("a free key");
        let mut taken = desk.ask(2, 7, open()).expect("a free key");
        assert!(matches!(taken.next().await, Some(Event::Ended(Err(RunError::Request(_))))));
        desk.cancel(&1);
        assert!(matches!(first.next().await, Some(Event::Ended(Err(RunError::Cancelled)))));
        // Its number is free again.
        let mut second = desk.ask(1, 7, open()).expect("a free key");
        let mut close = desk.ask(2, 7, SessionAsk::Close {}).expect("a free key");
        assert!(matches!(close.next().await, Some(Event::Ended(Ok(End::Session(_))))));
        assert!(matches!(second.next().await, Some(Event::Ended(Err(RunError::Cancelled)))));
        let mut none = desk.ask(3, 7, SessionAsk::Variables {}).expect("a free key");
        assert!(matches!(none.next().await, Some(Event::Ended(Err(RunError::Request(_))))));
    }

    #[tokio::test]
    async fn dropping_a_run_frees_its_key() {
        let desk: Desk<_> = Desk::new(Scripted);
        drop(desk.start(1, order("wait")).expect("a free key"));
        assert!(!desk.has(&1));
    }
}
