//! What a pool has: its shelves, the jars that have done their work, and who comes and goes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use carboy_protocol::Policy;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::error::EngineError;
use crate::pool::shelf::Shelves;
use crate::run;
use crate::tier::{Inputs, Jar, Tier};

/// Shared by the runs that take from it and the keeper that looks after it.
pub(super) struct Stock<T: Tier> {
    pub tier: T,
    pub shelves: Shelves<T::Shape, T::Jar>,
    /// Runs that wait for a jar to be made. While there are any, nothing is made for later.
    pub waiting: AtomicUsize,
    /// Runs that have their jar and have not ended.
    pub running: AtomicUsize,
    /// Tells the keeper that there may be something to do.
    pub wanted: Arc<Notify>,
    /// Jars that have done their work.
    done: Mutex<Vec<T::Jar>>,
    /// Jars that are being made for later.
    fills: Mutex<JoinSet<()>>,
}

impl<T: Tier> Stock<T> {
    pub fn new(tier: T, ceiling: usize) -> Stock<T> {
        Stock {
            tier,
            shelves: Shelves::new(ceiling),
            waiting: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            wanted: Arc::default(),
            done: Mutex::default(),
            fills: Mutex::default(),
        }
    }

    /// Makes a jar, and imports in it what is to be preloaded and cannot be in what jars come from.
    pub async fn make(
        &self,
        policy: &Policy,
        inputs: Option<&Arc<Inputs>>,
    ) -> Result<T::Jar, EngineError> {
        loop {
            let mut jar = self.tier.make(policy, inputs).await?;
            if jar.late().is_empty() {
                return Ok(jar);
            }
            if !run::import(&mut jar, &policy.limits).await? {
                // Too much for these limits. Code that does without gets a jar without.
                return self.tier.make(policy, inputs).await;
            }
            if jar.rebase()? {
                return Ok(jar);
            }
            // The first one has shown what the imports take, and has less left than was promised.
        }
    }

    /// Makes a jar and warms it.
    pub async fn make_warm(&self, policy: &Policy) -> Result<T::Jar, EngineError> {
        let mut jar = self.make(policy, None).await?;
        jar.warm().await?;
        Ok(jar)
    }

    fn done(&self) -> MutexGuard<'_, Vec<T::Jar>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a jar that has done its work until it is buried; how many there are.
    pub fn lay_down(&self, jar: T::Jar) -> usize {
        let mut done = self.done();
        done.push(jar);
        done.len()
    }

    /// Destroys the jars that have done their work.
    pub fn bury_all(&self) {
        // Taken out first: killing them takes longer than the lock may be held.
        let done = std::mem::take(&mut *self.done());
        drop(done);
    }

    /// Whether anybody is at work.
    pub fn is_busy(&self) -> bool {
        self.running.load(Ordering::Relaxed) > 0
    }

    fn fills(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.fills.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts making what is missing on the shelves, at most so many at once, unless somebody waits.
    pub fn fill(self: &Arc<Self>, most: usize) {
        let mut fills = self.fills();
        while fills.try_join_next().is_some() {}
        if self.waiting.load(Ordering::Relaxed) > 0 {
            return;
        }
        for (shape, policy) in self.shelves.start_filling(most) {
            let stock = self.clone();
            fills.spawn(async move {
                let made = stock.make_warm(&policy).await;
                stock.shelves.filled(shape, made.ok());
                stock.wanted.notify_one();
            });
        }
    }

    /// Ends every jar that stands, is being made or has done its work.
    pub async fn clear(&self) {
        let mut fills = std::mem::take(&mut *self.fills());
        fills.shutdown().await;
        self.shelves.clear();
        self.bury_all();
    }
}

/// Counts a run for as long as it waits, or as it runs.
pub(crate) struct Counted<'a> {
    counter: &'a AtomicUsize,
    wanted: &'a Notify,
}

impl<'a> Counted<'a> {
    pub fn new(counter: &'a AtomicUsize, wanted: &'a Notify) -> Counted<'a> {
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
