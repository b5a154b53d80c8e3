//! What guest code runs in, as the rest of the engine sees it: a tier makes jars, and a jar takes one
//! job.
//!
//! Pools and runs are generic over these two traits and know nothing of walls, zygotes or
//! directories. There is one tier, `process`; another one implements both and changes nothing above.

mod inputs;
mod listener;
pub(crate) mod process;

use std::collections::BTreeMap;
use std::hash::Hash;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use carboy_jail::profile::Profile;
use carboy_protocol::{Artifact, Isolation, LeftOut, LimitName, Limits, Policy};
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;

use crate::error::EngineError;
use crate::facts::{Baseline, Exit};
use crate::plan::Plan;
use crate::runner::Artifacts;

pub(crate) use inputs::{Input, Inputs, Source};
pub(crate) use listener::{Announced, Listener, Ready, Routed};

/// Makes jars of one kind.
pub(crate) trait Tier: Send + Sync + 'static {
    /// What it makes.
    type Jar: Jar;
    /// What of a policy is settled when a jar is made. Jars of one shape are alike.
    type Shape: Copy + Eq + Hash + Send + 'static;

    /// What jars for this policy have in common.
    fn shape(&self, policy: &Policy) -> Self::Shape;

    /// What a jar for this policy would be sealed to.
    fn explain(&self, policy: &Policy) -> Result<Plan, EngineError>;

    /// Makes a jar, sealed and waiting for its job. What its run is given has to be known now if
    /// [`settles`](Tier::settles) says so.
    fn make(
        &self,
        policy: &Policy,
        inputs: Option<&Arc<Inputs>>,
    ) -> impl Future<Output = Result<Self::Jar, EngineError>> + Send;

    /// Whether what a run is given is settled when its jar is made. Otherwise it is handed into any.
    fn settles(&self, policy: &Policy) -> bool;

    /// The folders that jars have for what runs are given.
    fn folders(&self) -> &[&'static str];

    /// What a jar for this policy may copy of what it is forked from, beyond its own limits, and what all
    /// that jars are forked from hold; as far as that is known.
    fn holds(&self, policy: &Policy) -> Holds;

    /// Where the environment of a job under these limits differs from what the jar has anyway.
    fn environment(&self, limits: &Limits, jar: &Self::Jar) -> BTreeMap<String, String>;

    /// Replaces what has served long enough. Jars that came from it are not current any more.
    fn renew(&self) -> impl Future<Output = ()> + Send;

    /// Ends everything that jars come from, and waits until it is gone.
    fn shutdown(&self) -> impl Future<Output = ()> + Send;
}

/// Memory that no limit of a policy counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Holds {
    /// What one jar may copy.
    pub copied_bytes: u64,
    /// What jars are forked from.
    pub shared_bytes: u64,
}

/// One sealed place where guest code runs. Dropping it destroys it.
pub(crate) trait Jar: Send + Sync + 'static {
    /// What does not change while it is there.
    fn about(&self) -> &About;

    /// Everything of it that can be awaited.
    fn io(&mut self) -> &mut Io;

    /// Lets it run a throwaway job, so that the pages a first job touches are its own before it
    /// stands.
    fn warm(&mut self) -> impl Future<Output = Result<(), EngineError>> + Send;

    /// Hands in what its run is given, unless that was settled when it was made. Before its job comes.
    fn hand_in(
        &mut self,
        inputs: &Arc<Inputs>,
    ) -> impl Future<Output = Result<(), EngineError>> + Send;

    /// The modules that are to be imported in it before its job comes.
    fn late(&self) -> &[String];

    /// Counts limits from what it holds now, after these imports. False if its limits were set before
    /// it was known what they take; jars that are made from now on know.
    fn rebase(&mut self) -> Result<bool, EngineError>;

    /// Whether its process is still there.
    fn is_alive(&self) -> bool;

    /// Whether its process has begun to end and nothing in it runs any more.
    fn is_ending(&self) -> bool;

    /// Whether it may still be handed out: what it came from has not been replaced.
    fn is_current(&self) -> bool;

    /// The processor time that it has used.
    fn cpu_us(&self) -> io::Result<u64>;

    /// What the kernel shows of its memory now; nothing if it is gone.
    fn sample(&self) -> Option<Sample>;

    /// The private memory that it, of which this is a sample, and its children hold beyond what each
    /// of them began with.
    fn held_bytes(&self, sample: &Sample) -> u64;

    /// The private memory that it and its children hold, with pages that they share counted once.
    /// Not counted on the engine's thread, because counting takes long.
    fn held_together(&self) -> impl Future<Output = u64> + Send;

    /// The processor time of it and everything that ever ran in it, where somebody counts that.
    fn cpu_together_us(&self) -> Option<u64>;

    /// Whether the kernel ended it because all of it together had too much memory.
    fn ran_out_of_memory(&self) -> bool;

    /// How many descriptors it has open.
    fn open_descriptors(&self) -> Option<u64>;

    /// What it has written, against these limits. Where that has to be counted, it is not counted on
    /// the engine's thread.
    fn files(&self, limits: &Limits) -> impl Future<Output = Files> + Send;

    /// The plain files that the run with this id left, as they are wanted. To be asked after the jar was killed;
    /// waits until nothing in it runs any more, because only then nobody writes. They are not listed, read or
    /// kept on the engine's thread.
    fn artifacts(
        &self,
        run: &str,
        wanted: &Artifacts,
        limits: &Limits,
    ) -> impl Future<Output = Result<Left, EngineError>> + Send;

    /// Ends it. Nothing in it survives.
    fn kill(&self);

    /// Lets one that was stopped go on, after its job was written.
    fn wake(&mut self) {}

    /// Whether one that answered is kept, because it holds the state of a session.
    fn outlives_run(&self) -> bool {
        false
    }

    /// Sees to it that one that answered writes nothing more: it is of no use any more, or it is kept.
    fn hush(&self) {
        self.kill();
    }

    /// Whether all that shares a session with it holds too much memory together.
    fn is_crowded(&self, _sample: &Sample, _limits: &Limits) -> impl Future<Output = bool> + Send {
        async { false }
    }

    /// Waits until it has ended, and says how.
    fn exit(&mut self) -> impl Future<Output = Result<Exit, EngineError>> + Send;
}

/// What does not change about a jar.
pub(crate) struct About {
    /// Its process, in our pid namespace.
    pub pid: u32,
    pub isolation: Isolation,
    /// What it held before its job came.
    pub baseline: Baseline,
    /// By what the calls that it announces are judged.
    pub profile: Arc<Profile>,
}

/// The ways into a jar and out of it.
pub(crate) struct Io {
    pub stdout: pipe::Receiver,
    pub stderr: pipe::Receiver,
    pub job: pipe::Sender,
    pub frames: pipe::Receiver,
    /// Announces calls that its filter does not decide.
    pub listener: Listener,
    /// Readable when its process has ended.
    pub pidfd: AsyncFd<OwnedFd>,
}

/// What the kernel shows of a jar's memory at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Private memory, as the kernel counts it for its limit.
    pub data_bytes: u64,
    /// Memory that no file backs, resident, swapped out or in huge pages, and page tables.
    pub anonymous_bytes: u64,
    /// Pages of files that are mapped, and in memory.
    pub file_bytes: u64,
    /// The address space at its highest.
    pub peak_address_bytes: u64,
    /// Resident memory at its highest; not shown of a process that is ending.
    pub peak_resident_bytes: Option<u64>,
}

/// What a jar has written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Files {
    /// A limit that it has crossed. Where the kernel keeps the limits, it cannot cross one.
    pub over: Option<LimitName>,
    /// No more bytes can be written.
    pub space_full: bool,
    /// No more files can be made.
    pub files_full: bool,
    /// It is certain that it has left nothing.
    pub untouched: bool,
}

/// What a jar left in its directory.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// What came out.
    pub artifacts: Vec<Artifact>,
    /// What did not.
    pub left_out: Vec<LeftOut>,
}
