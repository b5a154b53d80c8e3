//! A session for a program: requests as JSON lines on standard input, answers on standard output.
//!
//! Requests are done one after another, and each answer has the number of its line. The messages are those of
//! `carboy pipe`.

use std::io::{self, BufRead, BufReader, Read, Write};

use carboy_engine::{Artifacts, RunError, RunOptions};
use carboy_protocol::pipe::{FailureKind, FromEngine, MAX_LINE, PIPE_VERSION, RunFailure};
use carboy_protocol::{Piece, Reply};
use carboy_server::pipe::append_line;
use tokio::sync::{mpsc, oneshot, watch};

use super::ask::Ask;
use super::branches::Branches;
use crate::failure::Failure;

/// How many requests are read ahead. An interrupt behind more than these is not seen yet.
const AHEAD: usize = 256;

/// A request with the number of its line, or what is wrong with it.
type Asked = (u64, Result<Ask, String>);

/// Serves whoever writes to standard input, until it ends or nobody reads the answers.
pub async fn serve(
    mut branches: Branches,
    artifacts: Artifacts,
    python: String,
) -> Result<(), Failure> {
    let (requests, mut asked) = mpsc::channel(AHEAD);
    // Every run up to the line of this number is to end.
    let (interrupt, interrupted) = watch::channel(0);
    // No task: a read that blocks would hold up the end of this program.
    std::thread::spawn(move || read(io::stdin().lock(), &requests, &interrupt));
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let mut is_heard = say(&FromEngine::Ready { pipe: PIPE_VERSION, version, python })?;
    while is_heard && let Some((id, ask)) = asked.recv().await {
        let done = match ask {
            Err(message) => FromEngine::Failed { id: Some(id), failure: unreadable(message) },
            Ok(Ask::Run(piece)) => {
                match run(&branches, *piece, artifacts.clone(), id, interrupted.clone()).await {
                    Ok(Reply { outcome, state, note }) => FromEngine::Outcome {
                        id,
                        outcome: Box::new(outcome),
                        state: Some(state),
                        note,
                    },
                    Err(error) => FromEngine::Failed { id: Some(id), failure: error.failure() },
                }
            }
            Ok(ask) => match branches.ask(ask).await {
                Ok(answer) => FromEngine::Session { id, answer },
                Err(error) => FromEngine::Failed { id: Some(id), failure: error.failure() },
            },
        };
        is_heard = say(&done)?;
    }
    branches.close().await;
    Ok(())
}

/// Runs a piece, until a later line interrupts it.
async fn run(
    branches: &Branches,
    piece: Piece,
    artifacts: Artifacts,
    id: u64,
    mut interrupted: watch::Receiver<u64>,
) -> Result<Reply, RunError> {
    let (stop, cancel) = oneshot::channel();
    let options = RunOptions { cancel: Some(cancel), artifacts, ..RunOptions::default() };
    let mut running = std::pin::pin!(branches.session()?.run_with(piece, options));
    tokio::select! {
        biased;
        Ok(_) = interrupted.wait_for(|line| *line > id) => {
            // It may have ended at this moment.
            stop.send(()).ok();
        }
        ran = &mut running => return ran,
    }
    running.await
}

/// Reads requests until there are no more, or nobody takes them.
fn read(input: impl Read, requests: &mpsc::Sender<Asked>, interrupt: &watch::Sender<u64>) {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    for id in 1.. {
        line.clear();
        let most = MAX_LINE as u64 + 1;
        match input.by_ref().take(most).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) if line.len() as u64 == most => {
                // Where the next one begins is not known.
                let why = format!("a line has at most {MAX_LINE} bytes");
                requests.blocking_send((id, Err(why))).ok();
                return;
            }
            Ok(_) => {}
        }
        let ask = serde_json::from_slice::<Ask>(&line).map_err(|error| error.to_string());
        if let Ok(Ask::Interrupt {}) = ask {
            interrupt.send_replace(id);
        } else if requests.blocking_send((id, ask)).is_err() {
            return;
        }
    }
}

fn unreadable(why: String) -> RunFailure {
    RunFailure {
        kind: FailureKind::Request,
        message: format!("the line is no request: {why}"),
        causes: vec![],
        hint: Some("docs/sessions.md lists the requests".into()),
    }
}

/// Writes an answer. Whether there is somebody to read it.
fn say(message: &FromEngine) -> Result<bool, Failure> {
    let mut line = Vec::new();
    append_line(&mut line, message).map_err(Failure::os("write JSON"))?;
    let mut to = io::stdout();
    match to.write_all(&line).and_then(|()| to.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::os("write to standard output")(error)),
    }
}
