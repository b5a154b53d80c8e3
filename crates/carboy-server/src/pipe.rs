//! The pipe: a door for one caller that started this process, in JSON lines.
//!
//! It ends with its caller. When the input ends, no more requests can come, and what is under way is
//! still answered, as long as somebody is there to read it: with the caller goes the other end of the
//! output too, and then every run is ended and nothing is left. Sessions end when what was under way has been
//! answered.

mod ends;
mod lines;

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use carboy_engine::{Answer, EngineError, Preloading, RunError, Sessions};
use carboy_protocol::pipe::{
    FailureKind, FromEngine, MAX_LINE, PIPE_VERSION, RunFailure, ToEngine,
};
use carboy_protocol::{ArtifactWish, Reply};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::desk::{Desk, End, Event, Order, Taken, UnderWay, Work};

pub use ends::Ends;
pub use lines::append_line;

/// How many messages wait for a caller that does not read. Runs wait with them; their deadlines do
/// not.
const UNREAD: usize = 256;

/// How many runs are under way at most, those that wait at the gate and those whose answers wait
/// among them.
const UNDER_WAY: usize = 10_000;

/// Serves one caller until it is gone, and ends what is still running then. `python` is the version of
/// the interpreter that jobs run on; what comes of `preloads` is passed on.
pub async fn serve<R: Sessions>(
    desk: Desk<R>,
    python: String,
    preloads: mpsc::Receiver<Preloading>,
    ends: Ends,
) -> Result<(), RunError> {
    let Ends { input, output, reader } = ends;
    let (answers, receiver) = mpsc::channel(UNREAD);
    let version = env!("CARGO_PKG_VERSION").into();
    let ready = FromEngine::Ready { pipe: PIPE_VERSION, version, python };
    answers.send(ready).await.ok(); // The receiver is right there.
    let mut writer = tokio::spawn(lines::write(receiver, output));
    let teller = tokio::spawn(tell_of(preloads, answers.clone()));
    let caller = Caller { desk: &desk, answers };
    let listened = tokio::select! {
        listened = caller.listen(input, reader) => listened,
        // Whoever does not read gets nothing run.
        _gone = &mut writer => {
            teller.abort();
            desk.shutdown().await;
            return Ok(());
        }
    };
    // The writer waits for everybody who may have something to say.
    teller.abort();
    desk.shutdown().await;
    listened.map_err(|error| EngineError::Os { step: "read a request", error })?;
    // The last answers go out as long as somebody is there to read them.
    writer.await.ok();
    Ok(())
}

/// The number of a request that cannot be read otherwise.
#[derive(Deserialize)]
struct OnlyId {
    id: u64,
}

struct Caller<'a, R: Sessions> {
    desk: &'a Desk<R>,
    answers: mpsc::Sender<FromEngine>,
}

impl<R: Sessions> Caller<'_, R> {
    /// Takes requests until the caller is gone, and ends what is still running then.
    async fn listen(self, input: impl AsyncRead + Unpin, reader: OwnedFd) -> io::Result<()> {
        let mut input = BufReader::new(input);
        let mut tasks = JoinSet::new();
        let mut line = Vec::new();
        loop {
            line.clear();
            let most = MAX_LINE as u64 + 1;
            let read = (&mut input).take(most).read_until(b'\n', &mut line).await;
            match read {
                // A socket whose other end was closed with something unread ends like this.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break,
                Ok(0) => break,
                other => other?,
            };
            if line.len() > MAX_LINE {
                self.refuse(None, format!("a line has more than {MAX_LINE} bytes")).await;
                break;
            }
            match serde_json::from_slice::<ToEngine>(&line) {
                Ok(request) => self.take(request, &mut tasks).await,
                Err(error) => {
                    let body = serde_json::from_slice::<HashMap<String, OnlyId>>(&line);
                    let id =
                        body.ok().and_then(|body| body.into_values().next()).map(|body| body.id);
                    // The number of another run would end that for its caller.
                    let id = id.filter(|id| !self.desk.has(id));
                    self.refuse(id, format!("this is not a request: {error}")).await;
                }
            }
            while tasks.try_join_next().is_some() {}
            // Whoever does not read what comes of its runs is not listened to.
            while tasks.len() >= UNDER_WAY {
                tasks.join_next().await;
            }
        }
        self.desk.close_answers();
        tokio::select! {
            () = async { while tasks.join_next().await.is_some() {} } => {}
            () = ends::nobody_reads(reader) => {}
        }
        // Dropping a run destroys its jar.
        tasks.shutdown().await;
        Ok(())
    }

    async fn refuse(&self, id: Option<u64>, message: String) {
        let failure = bad_request(message);
        // If nobody reads any more, there is nobody to tell.
        self.answers.send(FromEngine::Failed { id, failure }).await.ok();
    }

    async fn take(&self, request: ToEngine, tasks: &mut JoinSet<()>) {
        match request {
            ToEngine::Cancel { id } => self.desk.cancel(&id),
            ToEngine::Answer { id, call, result, error } => {
                let result = error.map_or(Ok(result), Err);
                self.desk.answer(&id, Answer { call, result });
            }
            ToEngine::Session { id, session, ask } => {
                self.follow(id, self.desk.ask(id, session, ask), tasks).await;
            }
            ToEngine::Run { id, artifacts: ArtifactWish::Keep, .. }
            | ToEngine::Piece { id, artifacts: ArtifactWish::Keep, .. }
                if !self.desk.keeps() && !self.desk.has(&id) =>
            {
                let message =
                    "artifacts cannot be kept: the engine has no directory for them".into();
                let hint = Some("start it with `carboy pipe --artifacts DIR`".into());
                let failure = RunFailure { hint, ..bad_request(message) };
                self.answers.send(FromEngine::Failed { id: Some(id), failure }).await.ok();
            }
            ToEngine::Run { id, job, stream, tenant, deadline_ms, artifacts } => {
                let (work, deadline) = (Work::Job(job), deadline_ms.map(from_now));
                let order =
                    Order { work, id: None, stream, begun: None, tenant, deadline, artifacts };
                self.follow(id, self.desk.start(id, order), tasks).await;
            }
            ToEngine::Piece { id, session, piece, stream, tenant, deadline_ms, artifacts } => {
                let (work, deadline) = (Work::Piece(session, piece), deadline_ms.map(from_now));
                let order =
                    Order { work, id: None, stream, begun: None, tenant, deadline, artifacts };
                self.follow(id, self.desk.start(id, order), tasks).await;
            }
        }
    }

    /// Passes on what comes of a request, if its number was free.
    async fn follow(&self, id: u64, run: Result<UnderWay, Taken>, tasks: &mut JoinSet<()>) {
        match run {
            Ok(run) => drop(tasks.spawn(pass_on(id, run, self.answers.clone()))),
            Err(Taken) => {
                self.refuse(None, format!("a run with the number {id} is under way")).await;
            }
        }
    }
}

fn from_now(ms: u64) -> Instant {
    Instant::now() + Duration::from_millis(ms)
}

/// Passes on which modules are preloaded.
async fn tell_of(mut preloads: mpsc::Receiver<Preloading>, answers: mpsc::Sender<FromEngine>) {
    while let Some(Preloading { preload, done, count }) = preloads.recv().await {
        let took = preload.took.filter(|_| preload.late.is_none());
        let message = FromEngine::Preloaded {
            module: preload.module,
            done: done as u64,
            count: count as u64,
            took_ms: took.map(|took| took.as_secs_f64() * 1000.0),
            late: preload.late.map(str::to_owned),
        };
        answers.send(message).await.ok(); // The caller may be gone.
    }
}

fn bad_request(message: String) -> RunFailure {
    let hint = "write one JSON object to a line, such as {\"run\": {\"id\": 1, \"job\": {\"code\": \"result = 1\"}}}";
    RunFailure { kind: FailureKind::Request, message, causes: vec![], hint: Some(hint.into()) }
}

/// Passes on what a run says, until its end.
async fn pass_on(id: u64, mut run: UnderWay, answers: mpsc::Sender<FromEngine>) {
    while let Some(event) = run.next().await {
        let message = match event {
            Event::Output(stream, text) => FromEngine::Output { id, stream, text },
            Event::Call(call) => FromEngine::Call {
                id,
                call: call.call,
                tool: call.tool,
                args: call.args,
                kwargs: call.kwargs,
            },
            Event::Ended(Ok(End::Outcome(outcome))) => {
                FromEngine::Outcome { id, outcome, state: None, note: None }
            }
            Event::Ended(Ok(End::Reply(reply))) => {
                let Reply { outcome, state, note } = *reply;
                FromEngine::Outcome { id, outcome: Box::new(outcome), state: Some(state), note }
            }
            Event::Ended(Ok(End::Session(answer))) => FromEngine::Session { id, answer },
            Event::Ended(Err(error)) => {
                FromEngine::Failed { id: Some(id), failure: error.failure() }
            }
        };
        answers.send(message).await.ok(); // The caller may be gone.
    }
}
