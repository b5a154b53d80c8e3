//! One run on a node, from the place that it takes to its last word.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use carboy_engine::{Artifacts, Call, Chunk, IN_FLIGHT, RunOptions, Runner, ToolHost};
use carboy_protocol::pipe::{FailureKind, RunFailure};
use carboy_protocol::{ArtifactWish, Job};
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::files;
use super::kept::Kept;
use super::node::Node;
use super::spool::{Left, Spool};
use crate::bus::Bus;
use crate::message::{RunAsk, What, pieces};
use crate::session::Doing;

/// Chunks of output that wait to be sent.
const CHUNKS: usize = 16;

/// How much longer than it may take by itself a run is kept that nobody says anything of: as long as its gateway waits.
const MORE: Duration = Duration::from_secs(60);

/// A place on a node, until it is dropped.
struct Place<R: Runner, B: Bus>(Arc<Node<R, B>>);

impl<R: Runner, B: Bus> Drop for Place<R, B> {
    fn drop(&mut self) {
        let mut running = self.0.running();
        running.places = running.places.saturating_sub(1);
    }
}

/// A run that has not said its last word, until it is dropped.
struct Unsaid<R: Runner, B: Bus>(Arc<Node<R, B>>);

impl<R: Runner, B: Bus> Drop for Unsaid<R, B> {
    fn drop(&mut self) {
        let mut running = self.0.running();
        running.unsaid = running.unsaid.saturating_sub(1);
        drop(running);
        self.0.left.notify_waiters();
    }
}

/// Ends a task when nobody waits for it any more.
struct Ends<T>(JoinHandle<T>);

impl<T> Drop for Ends<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs a job, in a place that was taken for it.
pub(super) async fn run<R: Runner, B: Bus>(
    node: Arc<Node<R, B>>,
    kept: Arc<Kept>,
    ask: RunAsk,
    body: Bytes,
) {
    let _unsaid = Unsaid(node.clone());
    let place = Place(node.clone());
    match serde_json::from_slice::<Job>(&body) {
        Ok(job) => {
            let wall = Duration::from_millis(job.policy.limits.wall_ms);
            kept.state().bound = Some(wall.saturating_add(MORE));
            let (options, mut heard) = options(&kept, &ask, node.config.files.as_ref());
            let left = heard.left.take();
            let runner = node.runner.clone();
            // A task of its own, so that a panic is a failure like another.
            let run = tokio::spawn(async move { runner.run_with(job, options).await });
            kept.state().abort = Some(run.abort_handle());
            let mut run = Ends(run);
            heard.pass_on(&node, &kept).await;
            let ran = (&mut run.0).await;
            // Its place is free for another before anybody is told, so the hint is true.
            drop(place);
            match ran {
                Ok(Ok(outcome)) => {
                    end(&node, &kept, &outcome).await;
                    bring_in_time(&node, left);
                }
                Ok(Err(error)) => fail(&node, &kept, &error.failure()).await,
                // Nobody waits for it.
                Err(ended) if ended.is_cancelled() => {}
                Err(panic) => {
                    let message = format!("a run panicked: {panic}");
                    fail(&node, &kept, &failure(FailureKind::Engine, message)).await;
                }
            }
        }
        Err(error) => {
            drop(place);
            let message = format!("the job cannot be read: {error}");
            fail(&node, &kept, &failure(FailureKind::Request, message)).await;
        }
    }
    leave(&node, kept);
}

/// What is asked of a session, and is done there in its turn.
pub(super) async fn of_session<R: Runner, B: Bus>(
    node: Arc<Node<R, B>>,
    kept: Arc<Kept>,
    mut heard: Heard,
    doing: Doing,
) {
    let left = heard.left.take();
    let run = tokio::spawn(doing);
    kept.state().abort = Some(run.abort_handle());
    let mut run = Ends(run);
    heard.pass_on(&node, &kept).await;
    match (&mut run.0).await {
        Ok(told) => {
            end(&node, &kept, &told).await;
            bring_in_time(&node, left);
        }
        // Nobody waits for it.
        Err(ended) if ended.is_cancelled() => {}
        Err(panic) => {
            let message = format!("a session panicked: {panic}");
            fail(&node, &kept, &failure(FailureKind::Engine, message)).await;
        }
    }
    leave(&node, kept);
}

/// Brings what a run left to the store. Nobody waits for that.
fn bring_in_time<R: Runner, B: Bus>(node: &Arc<Node<R, B>>, left: Option<Arc<Left>>) {
    if let Some(left) = left {
        tokio::spawn(files::bring(node.clone(), left));
    }
}

fn leave<R: Runner, B: Bus>(node: &Node<R, B>, kept: Arc<Kept>) {
    let mut state = kept.state();
    (state.answer, state.stop, state.abort) = (None, None, None);
    drop(state);
    node.over(kept);
}

fn failure(kind: FailureKind, message: String) -> RunFailure {
    RunFailure { kind, message, causes: vec![], hint: None }
}

/// What comes of a run before its end.
pub(super) struct Heard {
    begun: Option<oneshot::Receiver<()>>,
    chunks: Option<mpsc::Receiver<Chunk>>,
    calls: Option<mpsc::Receiver<Call>>,
    /// Where its files wait.
    left: Option<Arc<Left>>,
}

pub(super) fn options(
    kept: &Kept,
    ask: &RunAsk,
    spool: Option<&Arc<Spool>>,
) -> (RunOptions, Heard) {
    let (stop, cancel) = oneshot::channel();
    let left = spool.and_then(|spool| Left::of(spool, ask));
    let mut heard = Heard { begun: None, chunks: None, calls: None, left: left.clone() };
    let mut options = RunOptions {
        cancel: Some(cancel),
        id: Some(ask.run.clone()),
        tenant: ask.tenant.clone(),
        deadline: ask.ttl_ms.and_then(|ms| Instant::now().checked_add(Duration::from_millis(ms))),
        artifacts: match (ask.artifacts, left) {
            (ArtifactWish::None, _) => Artifacts::None,
            (ArtifactWish::Keep, Some(left)) => Artifacts::Keep(left),
            _ => Artifacts::List,
        },
        ..RunOptions::default()
    };
    if ask.stream {
        let (chunks, printed) = mpsc::channel(CHUNKS);
        (options.chunks, heard.chunks) = (Some(chunks), Some(printed));
    }
    if ask.begun {
        let (tell, begun) = oneshot::channel();
        (options.begun, heard.begun) = (Some(tell), Some(begun));
    }
    let mut state = kept.state();
    if ask.tools {
        let (calls, called) = mpsc::channel(1);
        let (answer, answers) = mpsc::channel(IN_FLIGHT);
        (options.tools, heard.calls) = (Some(ToolHost { calls, answers }), Some(called));
        state.answer = Some(answer);
    }
    state.stop = Some(stop);
    drop(state);
    (options, heard)
}

impl Heard {
    /// Passes on what comes until nothing more can.
    async fn pass_on<R: Runner, B: Bus>(mut self, node: &Node<R, B>, kept: &Kept) {
        if let Some(begun) = self.begun.take()
            && begun.await.is_ok()
        {
            say(node, kept, |number| What::Begun { number }, Bytes::new()).await;
        }
        while self.chunks.is_some() || self.calls.is_some() {
            tokio::select! {
                chunk = received(&mut self.chunks) => {
                    let Some(Chunk { stream, bytes }) = chunk else { continue };
                    for piece in pieces(bytes.into(), node.bus.max_payload()) {
                        say(node, kept, |number| What::Output { number, stream }, piece).await;
                    }
                }
                call = received(&mut self.calls) => {
                    let Some(call) = call else { continue };
                    // It was read from JSON, and has a form in it.
                    let Ok(text) = serde_json::to_vec(&call) else { continue };
                    in_pieces(node, kept, text.into(), |number| What::Call { number }).await;
                }
            }
        }
    }
}

/// The next message of a channel, which becomes `None` when there are no more. Waits for ever on one that is `None`
/// already.
async fn received<T>(channel: &mut Option<mpsc::Receiver<T>>) -> Option<T> {
    let Some(open) = channel else { return std::future::pending().await };
    let message = open.recv().await;
    if message.is_none() {
        *channel = None;
    }
    message
}

async fn end<R: Runner, B: Bus>(node: &Node<R, B>, kept: &Kept, outcome: &impl Serialize) {
    match serde_json::to_vec(outcome) {
        Ok(text) => in_pieces(node, kept, text.into(), |number| What::Outcome { number }).await,
        Err(error) => {
            let message = format!("the outcome cannot be written: {error}");
            fail(node, kept, &failure(FailureKind::Engine, message)).await;
        }
    }
}

async fn fail<R: Runner, B: Bus>(node: &Node<R, B>, kept: &Kept, failure: &RunFailure) {
    // Texts, which JSON always has a form for.
    let text = serde_json::to_vec(failure).unwrap_or_default();
    in_pieces(node, kept, text.into(), |number| What::Failed { number }).await;
}

/// Says something with a body that may be larger than a message.
async fn in_pieces<R: Runner, B: Bus>(
    node: &Node<R, B>,
    kept: &Kept,
    body: Bytes,
    last: impl Fn(u64) -> What,
) {
    let mut pieces = pieces(body, node.bus.max_payload());
    let end = pieces.pop().unwrap_or_default();
    for piece in pieces {
        say(node, kept, |number| What::Piece { number }, piece).await;
    }
    say(node, kept, last, end).await;
}

async fn say<R: Runner, B: Bus>(
    node: &Node<R, B>,
    kept: &Kept,
    what: impl Fn(u64) -> What,
    body: Bytes,
) {
    if let Some((reply, message)) = kept.say(what, body, || node.hint()).await {
        node.send(reply, message).await;
    }
}
