//! The process tier: jars that are forks of a warm CPython behind walls.

mod collect;
mod hand_in;
mod head;
mod jar;
mod layout;
mod media;
mod preload;
mod routes;
mod scratch;
mod seal;
mod talk;
mod tree;
mod zygote;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use carboy_jail::JarDirectory;
use carboy_protocol::{Limits, Policy, Walls};
use tokio::sync::{Mutex, Semaphore, mpsc};

use crate::error::{EngineError, While};
use crate::facts::{Baseline, kept_together, may_use, may_use_together};
use crate::kernel::blocking::elsewhere;
use crate::kernel::cgroup::{Bounds, Tree};
use crate::kernel::id::new_id;
use crate::plan::{self, Base, Plan, Shape};
use crate::tier::{Holds, Inputs, Tier};
pub(crate) use head::{Ends, Head};
use jar::Made;
pub(crate) use jar::ProcessJar;
use preload::Preloads;
pub(crate) use routes::{Birth, Born, Caller, Purpose, Routes, Unfit, Way};
use scratch::Scratch;
use zygote::Zygote;

pub use preload::{Preload, Preloading};

/// The processor time that a process of a session may use in all: more than it lives.
const SESSION_CPU_MS: u64 = 30 * 24 * 3_600_000;

/// Tasks of a session that have ended and that nobody has waited for yet.
const UNREAPED: u64 = 16;

/// How long a zygote serves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Renewal {
    pub after_forks: u64,
    pub after: Duration,
}

/// One zygote for each kind of walls, started when it is first needed, replaced when it dies, and
/// renewed without a moment in which there is none.
pub(crate) struct Process {
    base: Base,
    /// Where jars that write to the host have their directories.
    scratch: PathBuf,
    renewal: Renewal,
    /// The control groups that jars are put into, if there are any.
    groups: Option<Arc<Tree>>,
    zygotes: [(Walls, Mutex<Option<Arc<Zygote>>>); 2],
    preloads: Preloads,
    /// What a jar behind each walls began with.
    began_with: [AtomicU64; 2],
    /// How often everything was ended.
    endings: AtomicUsize,
    /// One for each jar that this process has descriptors for.
    slots: Arc<Semaphore>,
    /// Whether jars stand before they are asked for, and so does who hands files into them.
    jars_stand: bool,
}

impl Process {
    pub fn new(
        base: Base,
        scratch: PathBuf,
        renewal: Renewal,
        groups: Option<Arc<Tree>>,
        progress: Option<mpsc::Sender<Preloading>>,
    ) -> Process {
        let preloads = Preloads::new(base.preload.clone(), progress);
        Process {
            base,
            scratch,
            renewal,
            groups,
            zygotes: [Walls::Full, Walls::Nested].map(|walls| (walls, Mutex::default())),
            preloads,
            began_with: Default::default(),
            endings: AtomicUsize::new(0),
            slots: Arc::new(Semaphore::new(Process::slots())),
            jars_stand: true,
        }
    }

    /// The same, of which no jar stands before it is asked for if `ceiling` is 0.
    pub fn up_to(self, ceiling: usize) -> Process {
        Process { jars_stand: ceiling > 0, ..self }
    }

    /// What is to run, and on what.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// How many jars can be held at once: each takes up to eleven descriptors.
    pub fn slots() -> usize {
        let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let most = usize::try_from(most.unwrap_or(1 << 20)).unwrap_or(1 << 20);
        (most.saturating_sub(64) / 11).clamp(4, 10_000)
    }

    /// The place of the zygote for these walls.
    fn place(&self, walls: Walls) -> &Mutex<Option<Arc<Zygote>>> {
        let [full, nested] = &self.zygotes;
        if full.0 == walls { &full.1 } else { &nested.1 }
    }

    /// The zygote for these walls, started if there is none.
    async fn zygote(&self, walls: Walls) -> Result<Arc<Zygote>, EngineError> {
        let mut place = self.place(walls).lock().await;
        if let Some(zygote) = place.as_ref().filter(|zygote| zygote.is_alive()) {
            return Ok(zygote.clone());
        }
        let zygote = Arc::new(self.start(walls).await?);
        let gone = place.replace(zygote.clone());
        // What a zygote leaves on the host is removed with it, and others need not wait for that.
        drop(place);
        drop(gone);
        Ok(zygote)
    }

    /// Starts a zygote. A module that cannot be in one is left out from then on, and imported in jars.
    async fn start(&self, walls: Walls) -> Result<Zygote, EngineError> {
        loop {
            match Zygote::start(&self.base, walls, &self.scratch, &self.preloads).await {
                Err(EngineError::Untamed { module, why })
                    if self.preloads.is_late(&module, why) => {}
                other => return other,
            }
        }
    }

    /// What is to be preloaded, and what of it is imported in each jar.
    pub fn preloads(&self) -> Vec<Preload> {
        self.preloads.list()
    }

    async fn make_from(
        &self,
        zygote: Arc<Zygote>,
        policy: &Policy,
        inputs: Option<&Arc<Inputs>>,
        bounds: impl FnOnce(&Limits, Baseline) -> Bounds,
    ) -> Result<ProcessJar, EngineError> {
        let slot = self.slots.clone().acquire_owned().await;
        let slot = slot.map_err(std::io::Error::other).while_doing("wait for a slot")?;
        let scratch = match &zygote.folder {
            None => None,
            Some(folder) => Some(
                Scratch::make(folder.join(new_id()?), &zygote.identity)
                    .map_err(|error| EngineError::Scratch { folder: folder.clone(), error })?,
            ),
        };
        let (scratch, given) = match (scratch, inputs) {
            (Some(mut scratch), Some(inputs)) => {
                let inputs = inputs.clone();
                let (scratch, given) = elsewhere(move || {
                    let given = scratch.give(&inputs);
                    (scratch, given)
                })
                .await
                .ok_or(EngineError::ZygoteGone)?;
                (Some(scratch), given.while_doing("lay out what a run is given")?)
            }
            (scratch, _) => (scratch, vec![]),
        };
        let own = scratch.as_ref().map(Scratch::path);
        let (expected, has_room) = zygote.expected();
        let began_with = &self.began_with[usize::from(policy.walls == Walls::Nested)];
        began_with.store(expected.anonymous_bytes, Ordering::Relaxed);
        let plan = plan::jar(&self.base, policy, own, given, expected);
        let (own_inodes, inodes) = match &plan.directory {
            JarDirectory::Memory { about, inodes, .. } => {
                let own = carboy_jail::own_inodes(about);
                (own, inodes + own)
            }
            JarDirectory::Host { .. } => (0, 0),
        };
        let forked = zygote.fork(plan).await?;
        let others_stand = self.jars_stand;
        let made = Made { own_inodes, inodes, has_room, others_stand };
        let jar = ProcessJar::sealed(forked, zygote, scratch, made, slot).await?;
        let Some(groups) = &self.groups else { return Ok(jar) };
        jar.held_by(groups.clone(), bounds(&policy.limits, expected)).await
    }

    /// Makes a jar for a session: all its heads together have the processor time, the memory and the tasks
    /// that a session may use, and each run is measured by itself.
    pub async fn make_for_session(&self, policy: &Policy) -> Result<ProcessJar, EngineError> {
        let mut policy = policy.clone();
        policy.limits.cpu_ms = SESSION_CPU_MS;
        let zygote = self.zygote(policy.walls).await?;
        let kept = kept_together(&policy);
        self.make_from(zygote, &policy, None, move |limits, expected| {
            let heads = 2 * limits.heads + 2;
            Bounds {
                memory_bytes: may_use_together(limits, expected.anonymous_bytes) + kept,
                tasks: heads * (1 + expected.threads + limits.threads) + UNREAPED,
            }
        })
        .await
    }
}

/// What the control group of a jar for one run is bounded to.
fn bounds(limits: &Limits, expected: Baseline) -> Bounds {
    Bounds {
        memory_bytes: may_use(limits, expected.anonymous_bytes),
        tasks: 1 + expected.threads + limits.threads + limits.processes,
    }
}

impl Tier for Process {
    type Jar = ProcessJar;
    type Shape = Shape;

    fn shape(&self, policy: &Policy) -> Shape {
        Shape::of(&self.base, policy)
    }

    fn explain(&self, policy: &Policy) -> Result<Plan, EngineError> {
        Plan::new(&self.base, policy)
    }

    /// Forks a jar and seals it. If the zygote dies meanwhile, another is asked: no guest code has
    /// run yet.
    async fn make(
        &self,
        policy: &Policy,
        inputs: Option<&Arc<Inputs>>,
    ) -> Result<ProcessJar, EngineError> {
        let endings = self.endings.load(Ordering::Relaxed);
        let meant_to_end = || self.endings.load(Ordering::Relaxed) != endings;
        let zygote = self.zygote(policy.walls).await?;
        match self.make_from(zygote.clone(), policy, inputs, bounds).await {
            Err(_) if zygote.has_gone().await && !meant_to_end() => {
                self.make_from(self.zygote(policy.walls).await?, policy, inputs, bounds).await
            }
            made => made,
        }
    }

    fn settles(&self, policy: &Policy) -> bool {
        plan::writes_to_host(policy.walls)
    }

    fn folders(&self) -> &[&'static str] {
        &self.base.folders
    }

    fn holds(&self, policy: &Policy) -> Holds {
        let [full, nested] = self.began_with.each_ref().map(|bytes| bytes.load(Ordering::Relaxed));
        let copied_bytes = if policy.walls == Walls::Full { full } else { nested };
        Holds { copied_bytes, shared_bytes: full + nested }
    }

    fn environment(&self, limits: &Limits, jar: &ProcessJar) -> BTreeMap<String, String> {
        plan::own_environment(&self.base, limits, jar.own_temporary())
    }

    /// The old zygote ends with its last jar.
    async fn renew(&self) {
        for (walls, place) in &self.zygotes {
            let is_old = |zygote: &Arc<Zygote>| {
                zygote.forks() >= self.renewal.after_forks || zygote.age() >= self.renewal.after
            };
            if !place.lock().await.as_ref().is_some_and(is_old) {
                continue;
            }
            // The old one goes on serving if a new one cannot be had.
            let Ok(zygote) = self.start(*walls).await else {
                continue;
            };
            let old = place.lock().await.replace(Arc::new(zygote));
            if let Some(old) = old {
                old.retire();
            }
        }
    }

    async fn shutdown(&self) {
        self.endings.fetch_add(1, Ordering::Relaxed);
        for (_, place) in &self.zygotes {
            if let Some(zygote) = place.lock().await.take() {
                zygote.shutdown().await;
            }
        }
        if let Some(groups) = &self.groups {
            groups.sweep();
        }
        // Once more: a run that came meanwhile may have asked a zygote that was about to end.
        self.endings.fetch_add(1, Ordering::Relaxed);
    }
}
