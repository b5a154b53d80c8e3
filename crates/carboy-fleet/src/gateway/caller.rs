//! Whoever wants a run: what it gets of it, and what it can say to it.

use std::time::Duration;

use carboy_engine::{Answer, Chunk, RunOptions, ToolHost};
use carboy_protocol::{Call, Job, Tool};
use tokio::sync::{mpsc, oneshot};

/// How much longer than it may take by itself a run is waited for.
const MORE: Duration = Duration::from_secs(60);

/// The caller of one run, through all attempts.
pub(super) struct Caller {
    pub chunks: Option<mpsc::Sender<Chunk>>,
    pub calls: Option<mpsc::Sender<Call>>,
    /// `None` when no more can come.
    pub answers: Option<mpsc::Receiver<Answer>>,
    pub begun: Option<oneshot::Sender<()>>,
    pub cancel: Option<oneshot::Receiver<()>>,
    /// It has heard something of the run that another run would say again.
    pub has_heard: bool,
    /// It wants the run to end.
    pub is_stopped: bool,
    /// How long a node may have the run without a word to or from the caller.
    pub bound: Duration,
    tools: Vec<String>,
}

impl Caller {
    pub fn new(options: RunOptions, job: &Job) -> Caller {
        let bound = Duration::from_millis(job.policy.limits.wall_ms).saturating_add(MORE);
        Caller::of(options, &job.tools, bound)
    }

    /// The same for something else than a job.
    pub fn of(options: RunOptions, tools: &[Tool], bound: Duration) -> Caller {
        let (calls, answers) = match options.tools {
            Some(ToolHost { calls, answers }) if !tools.is_empty() => (Some(calls), Some(answers)),
            _ => (None, None),
        };
        Caller {
            chunks: options.chunks,
            calls,
            answers,
            begun: options.begun,
            cancel: options.cancel,
            has_heard: false,
            is_stopped: false,
            bound,
            tools: tools.iter().map(|tool| tool.name.clone()).collect(),
        }
    }

    /// Whether the run may call this.
    pub fn offers(&self, tool: &str) -> bool {
        self.tools.iter().any(|name| name == tool)
    }

    /// Waits until it wants the run to end.
    pub async fn cancelled(&mut self) {
        cancelled(&mut self.cancel).await;
        self.is_stopped = true;
    }
}

/// Waits until the caller wants the run to end, which it says at most once.
pub(super) async fn cancelled(cancel: &mut Option<oneshot::Receiver<()>>) {
    if let Some(wish) = cancel {
        let is_wished = wish.await.is_ok();
        *cancel = None;
        if is_wished {
            return;
        }
    }
    std::future::pending().await
}

/// The next answer; `None` once when there are no more, and never again.
pub(super) async fn next_answer(answers: &mut Option<mpsc::Receiver<Answer>>) -> Option<Answer> {
    let Some(open) = answers else { return std::future::pending().await };
    let answer = open.recv().await;
    if answer.is_none() {
        *answers = None;
    }
    answer
}
