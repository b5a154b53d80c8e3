//! Where jars come from: zygotes that stand behind walls, and jars that stand sealed and waiting.
//!
//! Jars of one shape (what the kernel was told when they were sealed) stand on one shelf. A run
//! takes one and the shelf is filled again off its path. A shelf grows when a run finds it empty
//! and shrinks when nobody comes. A jar is used once. A zygote is replaced when it dies, and
//! renewed after a number of forks or some minutes, without a moment in which there is none.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as SyncMutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use carboy_protocol::{Policy, Walls};
use tokio::sync::{Mutex, Notify, Semaphore};
use tokio::task::{JoinHandle, JoinSet};

use crate::error::{EngineError, While};
use crate::kernel::id::new_id;
use crate::plan::{self, Base, Shape};
use crate::tier::process::jar::Jar;
use crate::tier::process::scratch::Scratch;
use crate::tier::process::zygote::Zygote;

/// How many jars are made at once when nobody waits.
const FILLING: usize = 3;
/// How long nobody must have run before the keeper goes to work.
const QUIET: Duration = Duration::from_millis(1);
/// How long the keeper waits for that before it works beside runs.
const PATIENCE: Duration = Duration::from_millis(5);
/// How many jars that have done their work may stand until then.
const UNBURIED: usize = 16;
/// A shelf that nobody came to for this long is halved.
const IDLE: Duration = Duration::from_secs(30);

/// How many jars stand, and how long a zygote lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// The most jars that stand, over all shelves. 0 means that each is forked when asked for.
    pub ceiling: usize,
    /// A zygote is renewed after this many forks.
    pub renew_after_forks: u64,
    /// A zygote is renewed after this long.
    pub renew_after: Duration,
}

impl Default for PoolConfig {
    fn default() -> PoolConfig {
        PoolConfig { ceiling: 32, renew_after_forks: 10_000, renew_after: Duration::from_secs(600) }
    }
}

struct Shelf {
    policy: Policy,
    jars: VecDeque<Jar>,
    target: usize,
    /// Never shrinks below this.
    least: usize,
    filling: usize,
    visited: Instant,
}

impl Shelf {
    /// An empty one for jars of this policy's shape.
    fn new(policy: &Policy) -> Shelf {
        Shelf {
            policy: policy.clone(),
            jars: VecDeque::new(),
            target: 0,
            least: 0,
            filling: 0,
            visited: Instant::now(),
        }
    }

    /// Puts a jar up, unless there are enough by now.
    fn put(&mut self, jar: Jar) {
        if self.jars.len() < self.target {
            self.jars.push_back(jar);
        }
    }
}

pub(crate) struct Pool {
    base: Arc<Base>,
    scratch: PathBuf,
    config: PoolConfig,
    full: Mutex<Option<Arc<Zygote>>>,
    nested: Mutex<Option<Arc<Zygote>>>,
    shelves: SyncMutex<HashMap<Shape, Shelf>>,
    /// Runs that wait for a fork. While there are any, nothing is made for later.
    waiting: AtomicUsize,
    /// Runs that have their jar and have not ended.
    running: AtomicUsize,
    /// Jars that have done their work.
    done: SyncMutex<Vec<Jar>>,
    /// How often everything was ended.
    endings: AtomicUsize,
    wanted: Arc<Notify>,
    /// One for each jar that this process has descriptors for.
    slots: Arc<Semaphore>,
    keeper: SyncMutex<Option<JoinHandle<()>>>,
    /// Jars that are being made for later.
    fills: SyncMutex<JoinSet<()>>,
}

/// Counts a run for as long as it waits, or as it runs.
pub(crate) struct Counted<'a> {
    counter: &'a AtomicUsize,
    wanted: &'a Notify,
}

impl<'a> Counted<'a> {
    fn new(counter: &'a AtomicUsize, wanted: &'a Notify) -> Counted<'a> {
        counter.fetch_add(1, Ordering::Relaxed);
        Counted { counter, wanted }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.counter.fetch_sub(1, Ordering::Relaxed);
        self.wanted.notify_one();
    }
}

impl Pool {
    pub fn new(base: Arc<Base>, scratch: PathBuf, config: PoolConfig) -> Pool {
        Pool {
            base,
            scratch,
            config,
            full: Mutex::default(),
            nested: Mutex::default(),
            shelves: SyncMutex::default(),
            waiting: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            done: SyncMutex::default(),
            endings: AtomicUsize::new(0),
            wanted: Arc::default(),
            slots: Arc::new(Semaphore::new(slots())),
            keeper: SyncMutex::default(),
            fills: SyncMutex::default(),
        }
    }

    fn shelves(&self) -> MutexGuard<'_, HashMap<Shape, Shelf>> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn done(&self) -> MutexGuard<'_, Vec<Jar>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A sealed jar for this policy: one that stands, or else a new one.
    pub async fn take(self: &Arc<Self>, policy: &Policy) -> Result<Jar, EngineError> {
        if self.config.ceiling > 0 {
            self.start_keeper();
            if let Some(jar) = self.standing(policy) {
                self.wanted.notify_one();
                return Ok(jar);
            }
        }
        let waiting = Counted::new(&self.waiting, &self.wanted);
        let jar = self.make(policy).await;
        drop(waiting);
        jar
    }

    /// Notes that a jar is at work, until the answer is dropped.
    pub fn running(&self) -> Counted<'_> {
        Counted::new(&self.running, &self.wanted)
    }

    /// Destroys a jar that has done its work, soon. Killing a process and closing what leads to it
    /// takes longer than most runs, and takes a processor from whoever waits for the answer.
    pub fn bury(self: &Arc<Self>, jar: Jar) {
        let mut done = self.done();
        done.push(jar);
        if done.len() > UNBURIED {
            let pool = self.clone();
            tokio::spawn(async move { pool.bury_all() });
        }
        self.start_keeper();
    }

    fn bury_all(&self) {
        // Taken out first: killing them takes longer than the lock may be held.
        let done = std::mem::take(&mut *self.done());
        drop(done);
    }

    /// Whether some shelf is nearly empty.
    fn is_low(&self) -> bool {
        self.shelves().values().any(|shelf| (shelf.jars.len() + shelf.filling) * 4 < shelf.target)
    }

    /// Takes a standing jar that is still alive. Finding none makes the shelf larger.
    fn standing(&self, policy: &Policy) -> Option<Jar> {
        let mut shelves = self.shelves();
        let room = self.config.ceiling.saturating_sub(shelves.values().map(|s| s.target).sum());
        let shelf = shelves.entry(Shape::of(policy)).or_insert_with(|| Shelf::new(policy));
        shelf.visited = Instant::now();
        while let Some(jar) = shelf.jars.pop_back() {
            if jar.is_alive() {
                return Some(jar);
            }
        }
        shelf.target += shelf.target.max(2).min(room);
        None
    }

    /// Makes `count` jars for this policy stand, and waits until they do.
    pub async fn stand(self: &Arc<Self>, policy: &Policy, count: usize) -> Result<(), EngineError> {
        self.start_keeper();
        let shape = Shape::of(policy);
        self.zygote(policy.walls).await?;
        loop {
            let missing = {
                let mut shelves = self.shelves();
                let shelf = shelves.entry(shape).or_insert_with(|| Shelf::new(policy));
                shelf.least = count;
                shelf.target = shelf.target.max(count);
                count.saturating_sub(shelf.jars.len())
            };
            if missing == 0 {
                return Ok(());
            }
            let jar = self.make_warm(policy).await?;
            self.put(shape, jar);
        }
    }

    /// The jars that stand for this policy, by process.
    pub fn standing_processes(&self, policy: &Policy) -> Vec<u32> {
        let shelves = self.shelves();
        let shelf = shelves.get(&Shape::of(policy));
        shelf.map_or(vec![], |shelf| shelf.jars.iter().map(|jar| jar.pid).collect())
    }

    fn put(&self, shape: Shape, jar: Jar) {
        if let Some(shelf) = self.shelves().get_mut(&shape) {
            shelf.put(jar);
        }
    }

    /// Forks a jar and seals it. If the zygote dies meanwhile, another is asked: no guest code has
    /// run yet.
    async fn make(&self, policy: &Policy) -> Result<Jar, EngineError> {
        let endings = self.endings.load(Ordering::Relaxed);
        let meant_to_end = || self.endings.load(Ordering::Relaxed) != endings;
        let zygote = self.zygote(policy.walls).await?;
        match self.make_from(zygote.clone(), policy).await {
            Err(_) if zygote.has_gone().await && !meant_to_end() => {
                self.make_from(self.zygote(policy.walls).await?, policy).await
            }
            made => made,
        }
    }

    async fn make_from(&self, zygote: Arc<Zygote>, policy: &Policy) -> Result<Jar, EngineError> {
        let slot = self.slots.clone().acquire_owned().await;
        let slot = slot.map_err(std::io::Error::other).while_doing("wait for a slot")?;
        let identity = plan::identity(&self.base.host, policy.walls);
        let scratch = match &zygote.folder {
            None => None,
            Some(folder) => Some(
                Scratch::make(folder.join(new_id()?), &identity)
                    .while_doing("make a private directory")?,
            ),
        };
        let own = scratch.as_ref().map(Scratch::path);
        let plan = plan::jar(&self.base, policy, own, zygote.baseline);
        let forked = zygote.fork(plan).await?;
        let mut jar =
            Jar::sealed(forked, zygote, policy.walls, identity.outer_uid, scratch).await?;
        jar.slot = Some(slot);
        Ok(jar)
    }

    async fn make_warm(&self, policy: &Policy) -> Result<Jar, EngineError> {
        let mut jar = self.make(policy).await?;
        jar.warm().await?;
        Ok(jar)
    }

    /// The place of the zygote for these walls.
    fn place(&self, walls: Walls) -> &Mutex<Option<Arc<Zygote>>> {
        match walls {
            Walls::Full => &self.full,
            Walls::Nested => &self.nested,
        }
    }

    /// The zygote for these walls, started if there is none.
    pub async fn zygote(&self, walls: Walls) -> Result<Arc<Zygote>, EngineError> {
        let mut place = self.place(walls).lock().await;
        if let Some(zygote) = place.as_ref().filter(|zygote| zygote.is_alive()) {
            return Ok(zygote.clone());
        }
        let zygote = Arc::new(Zygote::start(&self.base, walls, &self.scratch).await?);
        *place = Some(zygote.clone());
        Ok(zygote)
    }

    /// Replaces zygotes that have served long enough. The old one ends with its last jar.
    async fn renew(&self) {
        for walls in [Walls::Full, Walls::Nested] {
            let old = self.place(walls).lock().await.as_ref().is_some_and(|zygote| {
                zygote.forks() >= self.config.renew_after_forks
                    || zygote.age() >= self.config.renew_after
            });
            if !old {
                continue;
            }
            // The old one goes on serving if a new one cannot be had.
            if let Ok(zygote) = Zygote::start(&self.base, walls, &self.scratch).await {
                *self.place(walls).lock().await = Some(Arc::new(zygote));
                for shelf in self.shelves().values_mut().filter(|s| s.policy.walls == walls) {
                    shelf.jars.clear();
                }
            }
        }
    }

    fn start_keeper(self: &Arc<Self>) {
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        if keeper.as_ref().is_none_or(JoinHandle::is_finished) {
            *keeper = Some(tokio::spawn(keep(Arc::downgrade(self), self.wanted.clone())));
        }
    }

    /// Starts making what is missing on the shelves, unless somebody waits.
    fn fill(self: &Arc<Self>) {
        let mut shelves = self.shelves();
        let mut fills = self.fills.lock().unwrap_or_else(PoisonError::into_inner);
        while fills.try_join_next().is_some() {}
        let mut busy: usize = shelves.values().map(|shelf| shelf.filling).sum();
        for (shape, shelf) in shelves.iter_mut() {
            while shelf.jars.len() + shelf.filling < shelf.target
                && busy < FILLING
                && self.waiting.load(Ordering::Relaxed) == 0
            {
                shelf.filling += 1;
                busy += 1;
                fills.spawn(fill_one(self.clone(), *shape, shelf.policy.clone()));
            }
        }
    }

    /// Takes down what nobody comes for.
    fn shrink(&self) {
        let now = Instant::now();
        self.shelves().retain(|_, shelf| {
            if now.duration_since(shelf.visited) >= IDLE {
                shelf.visited = now;
                shelf.target = (shelf.target / 2).max(shelf.least);
                shelf.jars.truncate(shelf.target);
            }
            shelf.target > 0 || shelf.filling > 0
        });
    }

    /// Ends every jar and zygote and waits for them.
    pub async fn shutdown(&self) {
        self.endings.fetch_add(1, Ordering::Relaxed);
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(keeper) = keeper {
            keeper.abort();
            // It must not make anything more; that it was aborted is no news.
            keeper.await.ok();
        }
        let mut fills = {
            let mut fills = self.fills.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *fills)
        };
        fills.shutdown().await;
        self.shelves().clear();
        self.bury_all();
        for walls in [Walls::Full, Walls::Nested] {
            if let Some(zygote) = self.place(walls).lock().await.take() {
                zygote.shutdown().await;
            }
        }
        // Once more: a run that came meanwhile may have asked a zygote that was about to end.
        self.endings.fetch_add(1, Ordering::Relaxed);
    }
}

/// How many jars can be held at once: each takes up to eleven descriptors.
pub(crate) fn slots() -> usize {
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let most = usize::try_from(most.unwrap_or(1 << 20)).unwrap_or(1 << 20);
    (most.saturating_sub(64) / 11).clamp(4, 10_000)
}

async fn fill_one(pool: Arc<Pool>, shape: Shape, policy: Policy) {
    let made = pool.make_warm(&policy).await;
    let failed = made.is_err();
    if let Some(shelf) = pool.shelves().get_mut(&shape) {
        shelf.filling = shelf.filling.saturating_sub(1);
        made.into_iter().for_each(|jar| shelf.put(jar));
        if failed {
            // A run that needs one will hear why. Making more for later makes no sense now.
            shelf.target = shelf.jars.len();
        }
    }
    pool.wanted.notify_one();
}

/// Waits until nobody has been at work for a moment: what is made or destroyed beside runs slows
/// them down, and whoever got an answer may come again at once.
async fn settle(pool: &Weak<Pool>, wanted: &Notify) {
    let busy = || pool.upgrade().is_some_and(|pool| pool.running.load(Ordering::Relaxed) > 0);
    let low = || pool.upgrade().is_some_and(|pool| pool.is_low());
    let quiet = async {
        loop {
            let came = tokio::time::timeout(QUIET, wanted.notified()).await.is_ok();
            if low() || !came && !busy() {
                return;
            }
        }
    };
    if low() {
        // The tasks that hand an answer to its caller still go first.
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
    } else {
        // Some take their time.
        tokio::time::timeout(PATIENCE, quiet).await.ok();
    }
}

/// Keeps the shelves for as long as the pool is there.
async fn keep(pool: Weak<Pool>, wanted: Arc<Notify>) {
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    loop {
        let ticked = tokio::select! {
            () = wanted.notified() => {
                settle(&pool, &wanted).await;
                false
            }
            _ = tick.tick() => true,
        };
        let Some(pool) = pool.upgrade() else { return };
        pool.bury_all();
        if ticked {
            pool.shrink();
            let mut renewing = std::pin::pin!(pool.renew());
            // Starting a zygote takes its time, and what has done its work does not wait for that.
            loop {
                tokio::select! {
                    () = &mut renewing => break,
                    () = wanted.notified() => pool.bury_all(),
                }
            }
        }
        pool.fill();
    }
}
