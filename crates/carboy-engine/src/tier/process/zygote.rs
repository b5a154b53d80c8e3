//! A zygote as the engine holds it: started through a helper, asked for forks, gone when dropped.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use carboy_jail::profile::Profile;
use carboy_jail::{Identity, JarPlan, JarWalls};
use carboy_protocol::{FromZygote, SetupFault, ToZygote, Walls};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::unix::AsyncFd;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::error::{EngineError, While};
use crate::facts::{Baseline, Exit};
use crate::kernel::async_fd::watched;
use crate::kernel::id::new_id;
use crate::kernel::proc::{self, Status};
use crate::plan::{self, Base};
use crate::tier::process::preload::Preloads;
use crate::tier::process::scratch::make_private;
use crate::tier::process::seal::expect;
use crate::tier::process::talk::{Greeted, greet, hear, keep_last, shared_memory, tell};

/// How long a zygote may take to fork.
const FORK: Duration = Duration::from_secs(30);

/// A jar that was forked and is sealing itself.
pub(super) struct ForkedJar {
    /// pidfd, stdout, stderr, job, frames, last word.
    pub descriptors: [OwnedFd; 6],
    pub ended: oneshot::Receiver<Exit>,
}

type Forks = HashMap<u64, oneshot::Sender<Result<ForkedJar, SetupFault>>>;

#[derive(Default)]
struct Waiting {
    forks: Forks,
    ends: HashMap<u64, oneshot::Sender<Exit>>,
    gone: bool,
}

type Shared = Arc<Mutex<Waiting>>;

fn locked(shared: &Shared) -> std::sync::MutexGuard<'_, Waiting> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running zygote.
pub(super) struct Zygote {
    control: Arc<AsyncFd<OwnedFd>>,
    waiting: Shared,
    next: AtomicU64,
    born: Instant,
    reader: JoinHandle<()>,
    helper: tokio::sync::Mutex<Child>,
    /// Closed when this process ends or lets go of it; then the helper ends everything. Requests to hand
    /// files into jars go through it.
    lifeline: Mutex<Option<Arc<AsyncFd<OwnedFd>>>>,
    /// Another one serves in its place.
    retired: AtomicBool,
    /// What it stands behind.
    pub walls: Walls,
    /// Who its jars run as.
    pub identity: Identity,
    /// The system-call filters that were loaded around the engine: its jars inherit them. `None` where the
    /// kernel does not count.
    pub outer_filters: Option<u32>,
    /// What it held when it became ready.
    pub baseline: Baseline,
    /// What was to be preloaded and cannot be in a zygote: it is imported in each jar.
    pub late: Vec<String>,
    /// What the late imports take, once one jar has made them.
    cost: OnceLock<Baseline>,
    /// The profile that its jars are sealed with.
    pub profile: Arc<Profile>,
    /// Where its jars write on the host, in nested walls. The helper removes it at the end.
    pub folder: Option<PathBuf>,
}

impl Zygote {
    /// Starts a helper, which becomes a zygote, and waits until it is ready. It imports what is to be
    /// preloaded, but for what turned out to be late.
    pub async fn start(
        base: &Base,
        walls: Walls,
        scratch: &Path,
        preloads: &Preloads,
    ) -> Result<Zygote, EngineError> {
        let late = preloads.late();
        let is_early = |module: &&String| !late.contains(module);
        let early: Vec<String> = base.preload.iter().filter(is_early).cloned().collect();
        let profile = plan::profile(&base.host, walls)?;
        let jar_walls = plan::walls(base, walls, &profile)?;
        let folder = if plan::writes_to_host(walls) {
            let made = folder(base, walls, scratch);
            Some(made.map_err(|error| EngineError::Scratch { folder: scratch.into(), error })?)
        } else {
            None
        };
        let unused = Unused(folder.clone());
        let plan = plan::zygote(base, walls, folder.clone(), &early);
        let identity = plan.identity.clone();
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .while_doing("make a socket pair")?;
        let (lifeline, lifeline_theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .while_doing("make a socket pair")?;
        let (stderr_read, stderr_write) =
            pipe_with(PipeFlags::CLOEXEC).while_doing("make a pipe")?;
        let helper = Command::new(&base.installation.program)
            .arg("helper")
            .env_clear()
            .current_dir("/")
            // What a terminal sends to our group is for us; the helper ends when we do.
            .process_group(0)
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::from(lifeline_theirs))
            .stderr(Stdio::from(stderr_write))
            .spawn()
            .while_doing("start the helper")?;
        let stderr = tokio::spawn(keep_last(stderr_read));
        rustix::io::ioctl_fionbio(&ours, true).while_doing("prepare the control socket")?;
        let control = Arc::new(watched(ours).while_doing("watch the control socket")?);
        rustix::io::ioctl_fionbio(&lifeline, true).while_doing("prepare the lifeline")?;
        let lifeline = Arc::new(watched(lifeline).while_doing("watch the lifeline")?);
        let Greeted { pidfd, python } =
            match greet(&control, &plan, jar_walls, &early, preloads).await {
                Ok(Some(greeted)) => greeted,
                Ok(None) => {
                    // Close our side, so that whatever is left of it ends too.
                    drop((control, lifeline));
                    let stderr = stderr.await.unwrap_or_default();
                    return Err(EngineError::ZygoteEnded { stderr });
                }
                Err(error) => return Err(error),
            };
        let pid = proc::pid_of(&pidfd).while_doing("find the zygote")?;
        let status = Status::of(pid).while_doing("look at the zygote")?;
        if status.first("Threads:") != Some("1") {
            return Err(EngineError::Threads);
        }
        if let Some(mapping) =
            shared_memory(pid, walls).while_doing("look at the zygote's memory")?
        {
            return Err(EngineError::SharedMemory { mapping, preload: early.join(", ") });
        }
        expect("version of the zygote", Some(&python), &base.python.version)?;
        let baseline = baseline(pid).while_doing("measure the zygote")?;
        let outer_filters = status.number("Seccomp_filters:").map(|count| count as u32);
        unused.keep();
        let waiting = Shared::default();
        let reader = tokio::spawn(read(control.clone(), waiting.clone()));
        Ok(Zygote {
            control,
            waiting,
            next: AtomicU64::new(1),
            born: Instant::now(),
            reader,
            helper: tokio::sync::Mutex::new(helper),
            lifeline: Mutex::new(Some(lifeline)),
            retired: AtomicBool::new(false),
            walls,
            identity,
            outer_filters,
            baseline,
            late,
            cost: OnceLock::new(),
            profile: Arc::new(profile),
            folder,
        })
    }

    /// What a jar holds before its job comes, and whether that is known with what is imported in it.
    pub fn expected(&self) -> (Baseline, bool) {
        match self.cost.get() {
            Some(cost) => (self.baseline.plus(*cost), true),
            None => (self.baseline, self.late.is_empty()),
        }
    }

    /// Remembers what the imports in a jar took, if nobody has.
    pub fn learn(&self, holds: Baseline) {
        self.cost.get_or_init(|| holds.beyond(self.baseline));
    }

    /// Whether it is still there to be asked.
    pub fn is_alive(&self) -> bool {
        !locked(&self.waiting).gone
    }

    /// Whether it is gone, after something failed: that shows a moment later.
    pub async fn has_gone(&self) -> bool {
        for _ in 0..20 {
            if !self.is_alive() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        false
    }

    /// How many forks it was asked for.
    pub fn forks(&self) -> u64 {
        self.next.load(Ordering::Relaxed) - 1
    }

    /// How long it has served.
    pub fn age(&self) -> Duration {
        self.born.elapsed()
    }

    /// Another one serves in its place. What came from it is not handed out any more.
    pub fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
    }

    /// Whether another one serves in its place.
    pub fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }

    /// Asks for a fork and waits for its descriptors.
    pub async fn fork(&self, plan: JarPlan) -> Result<ForkedJar, EngineError> {
        let jar = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        {
            let mut waiting = locked(&self.waiting);
            if waiting.gone {
                return Err(EngineError::ZygoteGone);
            }
            waiting.forks.insert(jar, answer);
        }
        // Whatever happens below, nobody waits for this any more when it is over.
        let _asked = Asked { waiting: &self.waiting, jar };
        let request = ToZygote::<JarWalls, JarPlan>::Fork { jar, plan };
        tell(&self.control, &request).await.while_doing("ask the zygote for a fork")?;
        let slow = EngineError::TooSlow { what: "forking a jar", seconds: FORK.as_secs() };
        match timeout(FORK, answered).await.map_err(|_| slow)? {
            Ok(Ok(forked)) => Ok(forked),
            Ok(Err(fault)) => Err(EngineError::Walls(fault)),
            Err(_) => Err(EngineError::ZygoteGone),
        }
    }

    /// The way to its helper, unless it was shut down.
    pub fn lifeline(&self) -> Option<Arc<AsyncFd<OwnedFd>>> {
        self.lifeline.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the zygote with all its jars and waits until nothing of it is left.
    pub async fn shutdown(&self) {
        self.reader.abort();
        forget_all(&self.waiting);
        drop(self.lifeline.lock().unwrap_or_else(PoisonError::into_inner).take());
        // An error here means that it was reaped already.
        self.helper.lock().await.wait().await.ok();
    }
}

/// Makes a private directory on the host for the jars of one zygote.
fn folder(base: &Base, walls: Walls, scratch: &Path) -> io::Result<PathBuf> {
    let id = new_id().map_err(io::Error::other)?;
    let path = scratch.canonicalize()?.join(format!("carboy-{id}"));
    let unused = Unused(Some(path.clone()));
    make_private(&path, &plan::identity(&base.host, walls))?;
    unused.keep();
    Ok(path)
}

/// What a zygote, or a jar, holds now.
pub(super) fn baseline(pid: u32) -> io::Result<Baseline> {
    let (address_bytes, data_bytes) = proc::memory(pid)?;
    let status = Status::of(pid)?;
    let threads = status.number("Threads:").unwrap_or(1).saturating_sub(1);
    let anonymous_bytes = status.held_bytes();
    Ok(Baseline { data_bytes, address_bytes, anonymous_bytes, import_us: 0, threads })
}

/// Removes the folder of a zygote that did not start.
struct Unused(Option<PathBuf>);

impl Unused {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Unused {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            // A helper that got further removes it too.
            carboy_jail::remove_tree(folder).ok();
        }
    }
}

impl Drop for Zygote {
    fn drop(&mut self) {
        // The lifeline goes with us, the helper sees it and ends; tokio reaps it.
        self.reader.abort();
        if let Some(folder) = &self.folder {
            // The helper removes it, unless it was killed; what is gone already is no error.
            carboy_jail::remove_tree(folder).ok();
        }
    }
}

/// Passes on what the zygote says until it is gone.
async fn read(control: Arc<AsyncFd<OwnedFd>>, waiting: Shared) {
    while let Ok(Some((message, descriptors))) = hear(&control).await {
        let mut waiting = locked(&waiting);
        match message {
            FromZygote::Forked { jar } => {
                let (end, ended) = oneshot::channel();
                // If the caller is gone, dropping the jar's descriptors ends it: its pipes close, and
                // it finds nobody to tell that it is sealed.
                if let Some(answer) = waiting.forks.remove(&jar) {
                    let forked = descriptors
                        .try_into()
                        .map(|descriptors| ForkedJar { descriptors, ended })
                        .map_err(|_| too_few_descriptors());
                    if answer.send(forked).is_ok() {
                        waiting.ends.insert(jar, end);
                    }
                }
            }
            FromZygote::NotForked { jar, fault } => {
                if let Some(answer) = waiting.forks.remove(&jar) {
                    answer.send(Err(fault)).ok(); // The caller may be gone.
                }
            }
            FromZygote::Ended { jar, code, signal, cpu_us, peak_memory_bytes } => {
                if let Some(end) = waiting.ends.remove(&jar) {
                    let ended = Exit { code, signal, cpu_us, peak_memory_bytes };
                    end.send(ended).ok(); // The run may have been dropped.
                }
            }
            FromZygote::Started {}
            | FromZygote::Ready { .. }
            | FromZygote::Failed(_)
            | FromZygote::Imported { .. }
            | FromZygote::NotPreloaded { .. }
            | FromZygote::Shared { .. } => {}
        }
    }
    forget_all(&waiting);
}

/// The zygote is gone: whoever waits for it hears so.
fn forget_all(waiting: &Shared) {
    let mut waiting = locked(waiting);
    waiting.gone = true;
    waiting.forks.clear();
    waiting.ends.clear();
}

/// A fork that was asked for.
struct Asked<'a> {
    waiting: &'a Shared,
    jar: u64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        locked(self.waiting).forks.remove(&self.jar);
    }
}

/// The kernel drops descriptors that the receiver has no room for.
fn too_few_descriptors() -> SetupFault {
    SetupFault {
        layer: "fork".into(),
        step: "recvmsg".into(),
        object: "the descriptors of a jar".into(),
        answer: "not all arrived; this process may have too many open files (ulimit -n)".into(),
    }
}
