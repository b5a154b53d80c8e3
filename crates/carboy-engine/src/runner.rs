//! What a front door needs of whoever runs jobs, and the words that both use.
//!
//! A door (the pipe, later HTTP and MCP) takes requests, and hands each to a [`Runner`]. It does not
//! know whether that is the [`Engine`](crate::Engine) of this process or a gateway to others.

use std::fmt::Debug;
use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Instant;

use carboy_protocol::{Artifact, Job, Outcome, ToolFault};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use crate::error::RunError;

pub use carboy_protocol::{Call, Stream};

/// How many calls of one run may wait for an answer, or have one that the jar has not read. No more
/// are taken from it until then. A jar keeps one below that by itself, so that its last word is heard.
pub const IN_FLIGHT: usize = 64;

/// Runs jobs.
///
/// Dropping the future of a run ends the run and destroys what it ran in. A door is generic over its
/// runner, so a call costs nothing and the futures need no box.
pub trait Runner: Send + Sync + 'static {
    /// Runs a job to its end, with output as it comes, tools, or a way to cancel it.
    fn run_with(
        &self,
        job: Job,
        options: RunOptions,
    ) -> impl Future<Output = Result<Outcome, RunError>> + Send;

    /// Ends everything that is under way and waits until nothing of it is left.
    fn shutdown(&self) -> impl Future<Output = ()> + Send;

    /// How much is going on, if it is known here.
    fn load(&self) -> Option<Load> {
        None
    }

    /// Why nothing can be run now, if that is known and may change by itself: the nodes are elsewhere, and none is reached.
    fn unready(&self) -> Option<&'static str> {
        None
    }
}

/// How much is going on, for whoever watches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Runs that have a place.
    pub running: usize,
    /// Runs that wait for one.
    pub waiting: usize,
    /// Jars that stand ready.
    pub standing: usize,
    /// What runs and sessions may come to use, with what is held for all of them.
    pub memory_bytes: u64,
    /// What they may come to use together.
    pub memory_budget_bytes: u64,
}

/// What a caller may want beside the outcome.
#[derive(Debug, Default)]
pub struct RunOptions {
    /// Gets output as it comes. A slow receiver slows the guest, not its deadline.
    pub chunks: Option<mpsc::Sender<Chunk>>,
    /// Ends the run when something is sent.
    pub cancel: Option<oneshot::Receiver<()>>,
    /// Hears that the code is about to run: what could refuse it has not. Dropped if it never does.
    pub begun: Option<oneshot::Sender<()>>,
    /// The id of its outcome: 128 random bits in hexadecimal, never used before. `None` draws one.
    pub id: Option<String>,
    /// For whom it is. Tenants are served in turn.
    pub tenant: String,
    /// When the answer is of no use any more. A job that would still wait then is refused.
    pub deadline: Option<Instant>,
    /// Answers the calls of the job's tools.
    pub tools: Option<ToolHost>,
    /// What is wanted of the files that the run leaves.
    pub artifacts: Artifacts,
    /// Sees the files of the host that the run is given.
    pub witness: Option<Arc<dyn Witness>>,
}

/// Sees the files of the host that a run is given, before it begins.
///
/// It is called on a thread on which it may block. The run waits for it, and other runs do not.
pub trait Witness: Debug + Send + Sync {
    /// A plain file that the code is to find under this name. `file` was opened with `O_PATH`, and the very file that
    /// it stands for is handed in, whatever its path leads to meanwhile.
    fn given(&self, name: &str, file: BorrowedFd<'_>);
}

/// What is wanted of the files that a run leaves. A run that leaves none costs the same with each.
#[derive(Clone, Debug, Default)]
pub enum Artifacts {
    /// Nothing: they are not even listed.
    None,
    /// Their paths and sizes.
    #[default]
    List,
    /// Their content too, which goes to this keeper.
    Keep(Arc<dyn Keeper>),
}

/// Takes the content of artifacts.
///
/// It is called on a thread on which it may block. The outcome waits for it, the run's deadline and other runs
/// do not.
pub trait Keeper: Debug + Send + Sync {
    /// Takes one artifact of a run. `artifact` has its digest and type, and `content` is as long as it says;
    /// memory need not hold it. An error leaves the artifact out, and the outcome says so.
    fn keep(&self, run: &str, artifact: &Artifact, content: &mut dyn Read) -> io::Result<()>;
}

/// A piece of output, as it came. The bytes are the guest's.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Where it was written.
    pub stream: Stream,
    /// What was written.
    pub bytes: Vec<u8>,
}

/// The caller's side of a job's tools.
#[derive(Debug)]
pub struct ToolHost {
    /// Gets the calls. A slow receiver slows the guest, not its deadline.
    pub calls: mpsc::Sender<Call>,
    /// Gives the answers, in any order.
    pub answers: mpsc::Receiver<Answer>,
}

/// What came of a call.
#[derive(Debug)]
pub struct Answer {
    /// The number of the call. An answer to a call that does not wait is dropped.
    pub call: u64,
    /// What the tool returned, or why it did not.
    pub result: Result<Option<Box<RawValue>>, ToolFault>,
}
