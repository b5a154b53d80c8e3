//! `carboy pipe`: the engine as a child process that speaks JSON lines.
//!
//! It ends with its caller. When the input ends, no more requests can come, and what is under way is
//! still answered, as long as somebody is there to read it: with the caller goes the other end of the
//! output too, and then every run is ended and nothing is left.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use carboy_engine::{
    Answer, Call, Chunk, Config, Engine, IN_FLIGHT, RunError, RunOptions, Stream, ToolHost,
};
use carboy_protocol::pipe::{
    FailureKind, FromEngine, MAX_LINE, PIPE_VERSION, RunFailure, ToEngine,
};
use carboy_protocol::{ExitCode, Outcome};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{UnixStream, unix};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};

use crate::arguments::{Pipe, installation};
use crate::failure::Failure;
use crate::guest_text::Whole;

/// How many messages wait for a caller that does not read. Runs wait with them; their deadlines do
/// not.
const UNREAD: usize = 256;

/// How many runs are under way at most, those that wait at the gate and those whose answers wait
/// among them.
const UNDER_WAY: usize = 10_000;

/// How often it is looked whether the caller is still there, once no more requests can come.
const LOOK: Duration = Duration::from_millis(100);

/// The ways to a run under way.
struct Ways {
    cancel: Option<oneshot::Sender<()>>,
    /// None when no more answers can come.
    answers: Option<mpsc::Sender<Answer>>,
}

/// The runs under way, by the caller's number.
#[derive(Clone, Default)]
struct Runs(Arc<Mutex<HashMap<u64, Ways>>>);

impl Runs {
    fn all(&self) -> MutexGuard<'_, HashMap<u64, Ways>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The socket that the arguments name. Taken before anything of ours could have its number.
pub fn inherited(arguments: &Pipe) -> Result<Option<OwnedFd>, Failure> {
    let Some(number) = arguments.descriptor else { return Ok(None) };
    carboy_jail::inherited_socket(number).map(Some).map_err(|error| {
        Failure::usage(
            format!("descriptor {number} cannot be used: {error}"),
            "pass the number of a connected Unix stream socket that this program inherits",
        )
    })
}

pub async fn pipe(
    arguments: Pipe,
    socket: Option<OwnedFd>,
) -> Result<std::process::ExitCode, Failure> {
    let ends = socket.map_or_else(Ends::standard, Ends::socket);
    let Ends { input, output, reader } = ends.map_err(Failure::os("watch the caller's ends"))?;
    let config =
        Config { preload: arguments.preload, ..Config::new(installation()?, arguments.python) };
    let engine = Arc::new(Engine::new(config)?);
    let (sender, receiver) = mpsc::channel(UNREAD);
    let ready = FromEngine::Ready {
        pipe: PIPE_VERSION,
        version: env!("CARGO_PKG_VERSION").into(),
        python: engine.python().version.clone(),
    };
    sender.send(ready).await.ok(); // The receiver is right there.
    let mut writer = tokio::spawn(write(receiver, output));
    let caller = Caller { engine: engine.clone(), answers: sender, runs: Runs::default() };
    let listened = tokio::select! {
        listened = caller.listen(input, reader) => listened,
        // Whoever does not read gets nothing run.
        _gone = &mut writer => {
            engine.shutdown().await;
            return Ok((ExitCode::Ok as u8).into());
        }
    };
    engine.shutdown().await;
    listened?;
    // The last answers go out as long as somebody is there to read them.
    writer.await.ok();
    Ok((ExitCode::Ok as u8).into())
}

/// The two ends that belong to the caller. Pipes and sockets are read and written without a thread.
struct Ends {
    input: Box<dyn AsyncRead + Unpin>,
    output: Box<dyn AsyncWrite + Unpin + Send>,
    /// The output once more, to see whether anybody is at its other end.
    reader: OwnedFd,
}

impl Ends {
    fn standard() -> std::io::Result<Ends> {
        let own_input = std::io::stdin().as_fd().try_clone_to_owned()?;
        let own_output = std::io::stdout().as_fd().try_clone_to_owned()?;
        let reader = own_output.try_clone()?;
        Ok(Ends {
            input: match unix::pipe::Receiver::from_owned_fd(own_input) {
                Ok(pipe) => Box::new(pipe),
                Err(_no_pipe) => Box::new(tokio::io::stdin()),
            },
            output: match unix::pipe::Sender::from_owned_fd(own_output) {
                Ok(pipe) => Box::new(pipe),
                Err(_no_pipe) => Box::new(tokio::io::stdout()),
            },
            reader,
        })
    }

    fn socket(own: OwnedFd) -> std::io::Result<Ends> {
        let reader = own.try_clone()?;
        let stream = std::os::unix::net::UnixStream::from(own);
        stream.set_nonblocking(true)?;
        let (input, output) = UnixStream::from_std(stream)?.into_split();
        Ok(Ends { input: Box::new(input), output: Box::new(output), reader })
    }
}

/// Waits until nobody can read our answers any more.
async fn nobody_reads(reader: OwnedFd) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    loop {
        let mut watched = [PollFd::new(&reader, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        if poll(&mut watched, Some(&now)).is_ok_and(|gone| gone > 0) {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Writes answers until nobody is left to send one, or to read them.
async fn write(
    mut answers: mpsc::Receiver<FromEngine>,
    mut out: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    let mut lines = Vec::new();
    while let Some(first) = answers.recv().await {
        lines.clear();
        append(&mut lines, &first)?;
        // What has come meanwhile goes with it.
        while let Ok(next) = answers.try_recv() {
            append(&mut lines, &next)?;
        }
        out.write_all(&lines).await?;
        out.flush().await?;
    }
    Ok(())
}

fn append(lines: &mut Vec<u8>, message: &FromEngine) -> std::io::Result<()> {
    let start = lines.len();
    serde_json::to_writer(&mut *lines, message)?;
    // A result is the jar's own JSON, with whatever stands between its values. A line end in there
    // would begin a message that the jar wrote.
    for byte in &mut lines[start..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    lines.push(b'\n');
    Ok(())
}

/// The number of a request that cannot be read otherwise.
#[derive(Deserialize)]
struct OnlyId {
    id: u64,
}

struct Caller {
    engine: Arc<Engine>,
    answers: mpsc::Sender<FromEngine>,
    runs: Runs,
}

impl Caller {
    /// Takes requests until the caller is gone, and ends what is still running then.
    async fn listen(self, input: impl AsyncRead + Unpin, reader: OwnedFd) -> Result<(), Failure> {
        let mut input = BufReader::new(input);
        let mut tasks = JoinSet::new();
        let mut line = Vec::new();
        loop {
            line.clear();
            let most = MAX_LINE as u64 + 1;
            let read = (&mut input).take(most).read_until(b'\n', &mut line).await;
            match read {
                // A socket whose other end was closed with something unread ends like this.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
                Ok(0) => break,
                other => other.map_err(Failure::os("read a request"))?,
            };
            if line.len() > MAX_LINE {
                let message = format!("a line has more than {MAX_LINE} bytes");
                self.answer(None, bad_request(message)).await;
                break;
            }
            match serde_json::from_slice::<ToEngine>(&line) {
                Ok(request) => self.take(request, &mut tasks).await,
                Err(error) => {
                    let body = serde_json::from_slice::<HashMap<String, OnlyId>>(&line);
                    let id =
                        body.ok().and_then(|body| body.into_values().next()).map(|body| body.id);
                    // The number of another run would end that for its caller.
                    let id = id.filter(|id| !self.runs.all().contains_key(id));
                    self.answer(id, bad_request(format!("this is no request: {error}"))).await;
                }
            }
            while tasks.try_join_next().is_some() {}
            // Whoever does not read what comes of its runs is not listened to.
            while tasks.len() >= UNDER_WAY {
                tasks.join_next().await;
            }
        }
        // Nor can answers come any more. Calls that wait for one are told.
        self.runs.all().values_mut().for_each(|ways| ways.answers = None);
        tokio::select! {
            () = async { while tasks.join_next().await.is_some() {} } => {}
            () = nobody_reads(reader) => {}
        }
        // Dropping a run destroys its jar.
        tasks.shutdown().await;
        Ok(())
    }

    async fn answer(&self, id: Option<u64>, failure: RunFailure) {
        // If nobody reads any more, there is nobody to tell.
        self.answers.send(FromEngine::Failed { id, failure }).await.ok();
    }

    async fn take(&self, request: ToEngine, tasks: &mut JoinSet<()>) {
        match request {
            ToEngine::Cancel { id } => {
                let cancel = self.runs.all().get_mut(&id).and_then(|ways| ways.cancel.take());
                if let Some(cancel) = cancel {
                    cancel.send(()).ok(); // It may be over already.
                }
            }
            ToEngine::Answer { id, call, result, error } => {
                let result = error.map_or(Ok(result), Err);
                if let Some(answers) =
                    self.runs.all().get(&id).and_then(|ways| ways.answers.as_ref())
                {
                    // There is room for every call that waits; what does not fit answers none.
                    answers.try_send(Answer { call, result }).ok();
                }
            }
            ToEngine::Run { id, job, stream, tenant, deadline_ms } => {
                if self.runs.all().contains_key(&id) {
                    let message = format!("a run with the number {id} is under way");
                    self.answer(None, bad_request(message)).await;
                    return;
                }
                let (stop, cancel) = oneshot::channel();
                let (replies, replied) = mpsc::channel(IN_FLIGHT);
                self.runs.all().insert(id, Ways { cancel: Some(stop), answers: Some(replies) });
                let (calls, called) = mpsc::channel(1);
                let (chunks, printed) = mpsc::channel(16);
                let options = RunOptions {
                    chunks: stream.then_some(chunks),
                    cancel: Some(cancel),
                    tenant,
                    deadline: deadline_ms.map(|ms| Instant::now() + Duration::from_millis(ms)),
                    tools: Some(ToolHost { calls, answers: replied }),
                };
                let (engine, answers) = (self.engine.clone(), self.answers.clone());
                let run = tokio::spawn(async move { engine.run_with(*job, options).await });
                let run = Running(run);
                let runs = self.runs.clone();
                tasks.spawn(async move {
                    // Both end when the run drops its side of them.
                    let (ran, (), ()) = tokio::join!(
                        run.end(),
                        hand_on(id, printed, &answers),
                        hand_on_calls(id, called, &answers)
                    );
                    runs.all().remove(&id);
                    let answer = match ran {
                        Ok(outcome) => FromEngine::Outcome { id, outcome: Box::new(outcome) },
                        Err(failure) => failed(id, &failure),
                    };
                    answers.send(answer).await.ok(); // The caller may be gone.
                });
            }
        }
    }
}

fn bad_request(message: String) -> RunFailure {
    let hint = "write one JSON object to a line, such as {\"run\": {\"id\": 1, \"job\": {\"code\": \"result = 1\"}}}";
    RunFailure { kind: FailureKind::Request, message, causes: vec![], hint: Some(hint.into()) }
}

fn failed(id: u64, failure: &Failure) -> FromEngine {
    FromEngine::Failed { id: Some(id), failure: failure.for_pipe() }
}

/// A run in a task of its own, so that the caller is told even if it panics. Dropping it ends it.
struct Running(JoinHandle<Result<Outcome, RunError>>);

impl Running {
    async fn end(mut self) -> Result<Outcome, Failure> {
        match (&mut self.0).await {
            Ok(ran) => ran.map_err(Failure::from),
            Err(panic) => Err(Failure::os("run a job")(std::io::Error::other(panic))),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Passes calls on.
async fn hand_on_calls(
    id: u64,
    mut calls: mpsc::Receiver<Call>,
    answers: &mpsc::Sender<FromEngine>,
) {
    while let Some(Call { call, tool, args, kwargs }) = calls.recv().await {
        answers.send(FromEngine::Call { id, call, tool, args, kwargs }).await.ok();
    }
}

/// Passes output on as text.
async fn hand_on(id: u64, mut chunks: mpsc::Receiver<Chunk>, answers: &mpsc::Sender<FromEngine>) {
    let (mut out, mut err) = (Whole::default(), Whole::default());
    while let Some(chunk) = chunks.recv().await {
        let text = match chunk.stream {
            Stream::Stdout => out.take(&chunk.bytes),
            Stream::Stderr => err.take(&chunk.bytes),
        };
        if !text.is_empty() {
            answers.send(FromEngine::Output { id, stream: chunk.stream, text }).await.ok();
        }
    }
}
