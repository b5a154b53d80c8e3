//! `belljar pipe`: the engine as a child process that speaks JSON lines.
//!
//! It ends with its caller. When standard input ends, no more requests can come, and what is under
//! way is still answered, as long as somebody is there to read it: with the caller goes the other end
//! of standard output too, and then every run is ended and nothing is left.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use belljar_engine::{Chunk, Config, Engine, PoolConfig, RunOptions, Stream};
use belljar_protocol::pipe::{
    FailureKind, FromEngine, MAX_LINE, OutputStream, PIPE_VERSION, RunFailure, ToEngine,
};
use belljar_protocol::{ExitCode, Job};
use serde::Deserialize;
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, Interest,
};
use tokio::net::unix;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::arguments::{Pipe, installation};
use crate::failure::Failure;
use crate::guest_text::Whole;

/// How many messages wait for a caller that does not read. Runs wait with them; their deadlines do
/// not.
const UNREAD: usize = 256;

/// How many runs are under way at most, those that wait at the gate and those whose answers wait
/// among them.
const UNDER_WAY: usize = 10_000;

/// The runs under way, by the caller's number, with what cancels each.
#[derive(Clone, Default)]
struct Runs(Arc<Mutex<HashMap<u64, Option<oneshot::Sender<()>>>>>);

impl Runs {
    fn all(&self) -> MutexGuard<'_, HashMap<u64, Option<oneshot::Sender<()>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub async fn pipe(arguments: Pipe) -> Result<std::process::ExitCode, Failure> {
    let config = Config {
        preload: arguments.preload,
        pool: PoolConfig::default(),
        ..Config::new(installation()?, arguments.python)
    };
    let engine = Arc::new(Engine::new(config)?);
    let (sender, receiver) = mpsc::channel(UNREAD);
    let ready = FromEngine::Ready {
        pipe: PIPE_VERSION,
        version: env!("CARGO_PKG_VERSION").into(),
        python: engine.python().version.clone(),
    };
    sender.send(ready).await.ok(); // The receiver is right there.
    let writer = tokio::spawn(write(receiver, output()?));
    let caller = Caller { engine: engine.clone(), answers: sender, runs: Runs::default() };
    let listened = caller.listen(input()?).await;
    engine.shutdown().await;
    listened?;
    // The last answers go out as long as somebody is there to read them.
    writer.await.ok();
    Ok((ExitCode::Ok as u8).into())
}

/// Standard input, read without a thread where it is a pipe.
fn input() -> Result<Box<dyn AsyncRead + Unpin>, Failure> {
    let own = std::io::stdin().as_fd().try_clone_to_owned();
    let own = own.map_err(Failure::os("take standard input"))?;
    Ok(match unix::pipe::Receiver::from_owned_fd(own) {
        Ok(pipe) => Box::new(pipe),
        Err(_no_pipe) => Box::new(tokio::io::stdin()),
    })
}

/// Standard output, written without a thread where it is a pipe.
fn output() -> Result<Box<dyn AsyncWrite + Unpin + Send>, Failure> {
    let own = std::io::stdout().as_fd().try_clone_to_owned();
    let own = own.map_err(Failure::os("take standard output"))?;
    Ok(match unix::pipe::Sender::from_owned_fd(own) {
        Ok(pipe) => Box::new(pipe),
        Err(_no_pipe) => Box::new(tokio::io::stdout()),
    })
}

/// Waits until nobody can read standard output any more. What is no pipe never tells.
async fn nobody_reads() {
    let own = std::io::stdout().as_fd().try_clone_to_owned();
    match own.map(unix::pipe::Sender::from_owned_fd) {
        // An error of the pipe is that its other end is closed.
        Ok(Ok(pipe)) => drop(pipe.ready(Interest::ERROR).await),
        _ => std::future::pending().await,
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
    async fn listen(self, input: impl AsyncRead + Unpin) -> Result<(), Failure> {
        let mut input = BufReader::new(input);
        let mut tasks = JoinSet::new();
        let mut line = Vec::new();
        loop {
            line.clear();
            let most = MAX_LINE as u64 + 1;
            let read = (&mut input).take(most).read_until(b'\n', &mut line).await;
            if read.map_err(Failure::os("read a request"))? == 0 {
                break;
            }
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
        tokio::select! {
            () = async { while tasks.join_next().await.is_some() {} } => {}
            () = nobody_reads() => {}
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
                let stop = self.runs.all().get_mut(&id).and_then(Option::take);
                if let Some(stop) = stop {
                    stop.send(()).ok(); // It may be over already.
                }
            }
            ToEngine::Run { id, job, stream, tenant, deadline_ms } => {
                let (stop, cancel) = oneshot::channel();
                if self.runs.all().contains_key(&id) {
                    let message = format!("a run with the number {id} is under way");
                    self.answer(None, bad_request(message)).await;
                    return;
                }
                self.runs.all().insert(id, Some(stop));
                let options = RunOptions {
                    chunks: None,
                    cancel: Some(cancel),
                    tenant,
                    deadline: deadline_ms.map(|ms| Instant::now() + Duration::from_millis(ms)),
                };
                let (engine, answers) = (self.engine.clone(), self.answers.clone());
                let runs = self.runs.clone();
                tasks.spawn(async move {
                    let answer = run(&engine, id, *job, stream, options, &answers).await;
                    runs.all().remove(&id);
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

async fn run(
    engine: &Engine,
    id: u64,
    job: Job,
    stream: bool,
    mut options: RunOptions,
    answers: &mpsc::Sender<FromEngine>,
) -> FromEngine {
    let (chunks, received) = mpsc::channel(16);
    let streaming = async {
        if stream {
            hand_on(id, received, answers).await;
        }
    };
    if stream {
        options.chunks = Some(chunks);
    }
    // The stream ends when the run drops its end of it.
    let (ran, ()) = tokio::join!(engine.run_with(job, options), streaming);
    match ran {
        Ok(outcome) => FromEngine::Outcome { id, outcome: Box::new(outcome) },
        Err(error) => FromEngine::Failed { id: Some(id), failure: Failure::from(error).for_pipe() },
    }
}

/// Passes output on as text.
async fn hand_on(id: u64, mut chunks: mpsc::Receiver<Chunk>, answers: &mpsc::Sender<FromEngine>) {
    let (mut out, mut err) = (Whole::default(), Whole::default());
    while let Some(chunk) = chunks.recv().await {
        let (stream, text) = match chunk.stream {
            Stream::Stdout => (OutputStream::Stdout, out.take(&chunk.bytes)),
            Stream::Stderr => (OutputStream::Stderr, err.take(&chunk.bytes)),
        };
        if !text.is_empty() {
            answers.send(FromEngine::Output { id, stream, text }).await.ok();
        }
    }
}
