//! What all heads of a session have in common: the jar, whose calls are whose, and when it is over.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use carboy_protocol::{FromJar, LimitName, Policy, ToJar};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::admit::gate::{Gate, Held};
use crate::error::{RequestError, RunError};
use crate::kernel::proc;
use crate::session::fork::{ForkFault, Original, ask, fork};
use crate::session::router::route;
use crate::tier::Jar;
use crate::tier::process::{Head, ProcessJar, Purpose, Routes};

/// How long the first process may take to answer.
const REAP: Duration = Duration::from_secs(20);
/// How many of its children may have ended before somebody waits until it has waited for them.
const ORPHANS: usize = 8;

/// What a session is made of.
pub(crate) struct Core {
    /// The jar, until nothing of it is left.
    jar: Arc<Mutex<Option<Arc<ProcessJar>>>>,
    /// The first process of the jar.
    first: u32,
    pub(super) routes: Arc<Routes>,
    router: AbortHandle,
    /// Who ends it by the clock.
    clock: OnceLock<AbortHandle>,
    runtime: Handle,
    pub policy: Policy,
    pub environment: BTreeMap<String, String>,
    pub gate: Arc<Gate>,
    /// Whether it was handed files, whose pages are nobody's memory.
    pub is_given_files: bool,
    /// Its part of the memory budget, until nothing of it is left.
    held: Arc<Mutex<Option<Held>>>,
    /// What has heads of it, which go when it is over, whoever may still hold the session.
    lines: Mutex<Vec<Weak<dyn Ends>>>,
    /// Whoever has this may fork, or talk to the first process.
    pub(super) forks: tokio::sync::Mutex<()>,
    /// The last number under which files were kept.
    pub(super) files: AtomicU64,
    heads: Arc<AtomicU64>,
    /// Why it is over, once it is.
    over: Mutex<Option<String>>,
    born: Instant,
    used: Mutex<Instant>,
    busy: AtomicUsize,
}

/// What has heads of a session.
pub(super) trait Ends: Send + Sync {
    /// Ends them, once nobody does anything with them.
    fn end(self: Arc<Self>) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// One of the heads that a policy counts, until it is dropped.
pub(super) struct Counted(Arc<AtomicU64>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Something is done with a session, until this is dropped.
pub(super) struct Using(Arc<Core>);

impl Drop for Using {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
        *self.0.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// A fork that is under way. If nobody sees it to its end, the session ends.
struct Unfinished<'a>(Option<&'a Core>);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(core) = self.0 {
            core.end("its state could not be copied: nobody waited for it");
        }
    }
}

impl Core {
    pub fn new(
        jar: ProcessJar,
        policy: Policy,
        environment: BTreeMap<String, String>,
        gate: Arc<Gate>,
        held: Held,
        is_given_files: bool,
    ) -> Arc<Core> {
        let (jar, routes) = (Arc::new(jar), Arc::new(Routes::default()));
        let router = tokio::spawn(route(jar.clone(), routes.clone())).abort_handle();
        let first = jar.about().pid;
        let core = Arc::new(Core {
            jar: Arc::new(Mutex::new(Some(jar))),
            first,
            routes,
            router,
            clock: OnceLock::new(),
            runtime: Handle::current(),
            policy,
            environment,
            gate,
            is_given_files,
            held: Arc::new(Mutex::new(Some(held))),
            lines: Mutex::default(),
            forks: tokio::sync::Mutex::default(),
            files: AtomicU64::new(0),
            heads: Arc::default(),
            over: Mutex::default(),
            born: Instant::now(),
            used: Mutex::new(Instant::now()),
            busy: AtomicUsize::new(0),
        });
        let clock = tokio::spawn(keep_time(Arc::downgrade(&core)));
        core.clock.get_or_init(|| clock.abort_handle());
        core
    }

    /// Does something that nobody waits for. Unlike `tokio::spawn` this can be called when a future is
    /// dropped, wherever that is.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(work);
    }

    /// The first process of the jar.
    pub fn process(&self) -> u32 {
        self.first
    }

    /// The jar, or why there is none any more.
    pub(super) fn jar(&self) -> Result<Arc<ProcessJar>, RunError> {
        there(&self.jar).ok_or_else(|| self.ended())
    }

    /// Copies a process of this session. If nobody knows what came of it, the session is over.
    pub(super) async fn fork(
        &self,
        original: Original<'_>,
        purpose: Purpose,
    ) -> Result<Head, RunError> {
        let _alone = self.forks.lock().await;
        self.check()?;
        let jar = self.jar()?;
        // Whoever goes away in the middle leaves a process that nobody knows.
        let mut unfinished = Unfinished(Some(self));
        let ended = self.reap(&jar, purpose).await;
        let made = fork(&jar, &self.routes, original, purpose, ended).await;
        unfinished.0 = None;
        match made {
            Ok(head) => Ok(head),
            Err(ForkFault::Refused(why)) => {
                self.check()?;
                Err(refused(format!("a copy cannot be made: {why}")))
            }
            Err(ForkFault::Broken(why)) => {
                self.end(&format!("its state could not be copied: {why}"));
                Err(self.ended())
            }
        }
    }

    /// Lets the first process wait for those that were ended: children of heads that are gone are its own. If
    /// somebody waits for the fork that comes now, only when there are several. The numbers of all that are still
    /// there.
    async fn reap(&self, jar: &ProcessJar, purpose: Purpose) -> Vec<u32> {
        let first = self.process();
        let unreaped = self.routes.unreaped(proc::parent);
        let inner = |all: &[(u32, u32)]| all.iter().map(|(inner, _)| *inner).collect();
        let is_orphan = |ended: &&(u32, u32)| ended.1 == first;
        let orphans: Vec<_> = unreaped.iter().filter(is_orphan).copied().collect();
        let may_stay = if purpose == Purpose::Backup { 0 } else { ORPHANS };
        if orphans.len() <= may_stay {
            return inner(&unreaped);
        }
        let message = ToJar::Reap { ended: inner(&orphans) };
        let reaped = ask(jar.talk(), vec![], &message);
        if !matches!(tokio::time::timeout(REAP, reaped).await, Ok(Ok(FromJar::Ready {}))) {
            self.end("its first process does not answer");
        }
        inner(&self.routes.unreaped(proc::parent))
    }

    /// Ends this with the session.
    pub(super) fn ends(&self, line: Weak<dyn Ends>) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.retain(|line| line.strong_count() > 0);
        lines.push(line);
    }

    /// Counts another head, if the policy allows one.
    pub(super) fn count(&self) -> Result<Counted, RunError> {
        let most = self.policy.limits.heads;
        let counted = self.heads.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |heads| {
            (heads < most).then_some(heads + 1)
        });
        match counted {
            Ok(_) => Ok(Counted(self.heads.clone())),
            Err(_) => Err(refused(LimitName::Heads.row().crossed(most))),
        }
    }

    /// Notes that something is done with it, if it is not over and its lifetime has not passed.
    pub(super) fn begin_use(self: &Arc<Core>) -> Result<Using, RunError> {
        self.check()?;
        // What is under way may go on to its end, and it is over then.
        let lifetime_ms = self.policy.limits.lifetime_ms;
        if self.born.elapsed() >= Duration::from_millis(lifetime_ms) {
            return Err(words(Some(&LimitName::LifetimeMs.row().crossed(lifetime_ms))));
        }
        self.busy.fetch_add(1, Ordering::Relaxed);
        Ok(Using(self.clone()))
    }

    /// An error if it is over.
    pub fn check(&self) -> Result<(), RunError> {
        if there(&self.jar).is_some_and(|jar| !jar.is_alive()) {
            self.end("its jar has ended");
        }
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        if over.is_none() { Ok(()) } else { Err(words(over.as_deref())) }
    }

    /// What is said to whoever comes when it is over.
    pub(super) fn ended(&self) -> RunError {
        words(self.over.lock().unwrap_or_else(PoisonError::into_inner).as_deref())
    }

    /// Ends it with all its heads. The first reason counts.
    pub fn end(&self, why: &str) {
        {
            let mut over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
            if over.is_some() {
                return;
            }
            *over = Some(why.to_owned());
        }
        if let Some(jar) = there(&self.jar) {
            jar.kill();
        }
        self.router.abort();
        self.routes.close();
        if let Some(clock) = self.clock.get() {
            clock.abort();
        }
        let lines = std::mem::take(&mut *self.lines.lock().unwrap_or_else(PoisonError::into_inner));
        let (jar, held) = (self.jar.clone(), self.held.clone());
        self.spawn(async move {
            for line in lines.iter().filter_map(Weak::upgrade) {
                line.end().await;
            }
            give_back(&jar, &held).await;
        });
    }

    /// Waits until nothing of it is left.
    pub async fn gone(&self) {
        give_back(&self.jar, &self.held).await;
    }

    /// Why it has to end by the clock, or until when it need not be looked at.
    fn due(&self) -> Result<Instant, String> {
        let limits = &self.policy.limits;
        let now = Instant::now();
        if self.busy.load(Ordering::Relaxed) > 0 {
            return Ok(now + Duration::from_millis(limits.idle_ms.min(1_000)));
        }
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let at = |since: Instant, name: LimitName| {
            let due = since + Duration::from_millis(limits.get(name));
            if due <= now { Err(name.row().crossed(limits.get(name))) } else { Ok(due) }
        };
        Ok(at(self.born, LimitName::LifetimeMs)?.min(at(used, LimitName::IdleMs)?))
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.end("it was dropped");
    }
}

fn there(jar: &Mutex<Option<Arc<ProcessJar>>>) -> Option<Arc<ProcessJar>> {
    jar.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Gives memory and descriptors back when the kernel has taken all of the session down, and not when that begins.
async fn give_back(jar: &Mutex<Option<Arc<ProcessJar>>>, held: &Mutex<Option<Held>>) {
    if let Some(jar) = there(jar) {
        jar.gone().await;
    }
    drop(jar.lock().unwrap_or_else(PoisonError::into_inner).take());
    drop(held.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// Ends a session when its time has come.
async fn keep_time(core: Weak<Core>) {
    loop {
        let due = match core.upgrade() {
            Some(core) if core.check().is_ok() => match core.due() {
                Ok(due) => due,
                Err(why) => return core.end(&why),
            },
            _ => return,
        };
        tokio::time::sleep_until(due.into()).await;
    }
}

/// What is said of a session that is over, for this reason.
pub(super) fn words(why: Option<&str>) -> RunError {
    let why = why.unwrap_or("it was closed").to_owned();
    RunError::Request(RequestError::SessionOver { why })
}

/// What is said of a checkpoint that is not there.
pub(super) fn no_checkpoint(name: &str) -> RunError {
    RunError::Request(RequestError::NoCheckpoint { name: name.to_owned() })
}

/// What a session does not do.
pub(super) fn refused(why: String) -> RunError {
    RunError::Request(RequestError::Session { why })
}
