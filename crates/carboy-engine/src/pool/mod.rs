//! Jars that stand sealed and waiting. A run takes one and the shelf is filled again off its path. A
//! jar is used once.
//!
//! The pool keeps the jars of one tier and knows nothing of walls or of what jars come from.

mod keeper;
mod shelf;
mod stock;

use std::sync::Arc;
use std::time::Duration;

use carboy_protocol::Policy;

use crate::error::EngineError;
use crate::pool::keeper::Keeper;
use crate::pool::stock::{Counted, Stock};
use crate::tier::{Inputs, Jar, Tier};

/// How many jars that have done their work may stand until the keeper finds time to destroy them.
const UNBURIED: usize = 16;

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

pub(crate) struct Pool<T: Tier> {
    /// Whether any jar is to stand.
    stands: bool,
    stock: Arc<Stock<T>>,
    keeper: Keeper,
}

impl<T: Tier> Pool<T> {
    /// A pool in which at most `ceiling` jars of this tier stand.
    pub fn new(tier: T, ceiling: usize) -> Pool<T> {
        let stock = Arc::new(Stock::new(tier, ceiling));
        Pool { stands: ceiling > 0, stock, keeper: Keeper::default() }
    }

    /// Where its jars come from.
    pub fn tier(&self) -> &T {
        &self.stock.tier
    }

    /// A sealed jar for this policy: one that stands, or else a new one. What its run is given is still to
    /// be handed in.
    pub async fn take(
        &self,
        policy: &Policy,
        inputs: Option<&Arc<Inputs>>,
    ) -> Result<T::Jar, EngineError> {
        let stock = &self.stock;
        let settled = inputs.filter(|_| stock.tier.settles(policy));
        if self.stands && settled.is_none() {
            self.keeper.start(stock);
            let is_usable = |jar: &T::Jar| jar.is_current() && jar.is_alive();
            if let Some(jar) = stock.shelves.take(stock.tier.shape(policy), policy, is_usable) {
                stock.wanted.notify_one();
                return Ok(jar);
            }
        }
        let _waiting = Counted::new(&stock.waiting, &stock.wanted);
        stock.make(policy, settled).await
    }

    /// Notes that a jar is at work, until the answer is dropped.
    pub fn running(&self) -> Counted<'_> {
        Counted::new(&self.stock.running, &self.stock.wanted)
    }

    /// Destroys a jar that has done its work, soon. Killing a process and closing what leads to it
    /// takes longer than most runs, and takes a processor from whoever waits for the answer.
    pub fn bury(&self, jar: T::Jar) {
        if self.stock.lay_down(jar) > UNBURIED {
            let stock = self.stock.clone();
            tokio::spawn(async move { stock.bury_all() });
        }
        self.keeper.start(&self.stock);
    }

    /// Destroys a jar that holds much and has not ended, at once. `place` is dropped when it is gone.
    pub fn bury_now(&self, mut jar: T::Jar, place: impl Send + 'static) {
        jar.kill();
        tokio::spawn(async move {
            // If its zygote is gone, so is the jar.
            jar.exit().await.ok();
            drop((jar, place));
        });
    }

    /// Makes `count` jars for this policy stand, and waits until they do.
    pub async fn stand(&self, policy: &Policy, count: usize) -> Result<(), EngineError> {
        self.keeper.start(&self.stock);
        let shape = self.stock.tier.shape(policy);
        while self.stock.shelves.want(shape, policy, count) > 0 {
            let jar = self.stock.make_warm(policy).await?;
            self.stock.shelves.put(shape, jar);
        }
        Ok(())
    }

    /// The processes of the jars that stand for this policy.
    pub fn standing(&self, policy: &Policy) -> Vec<u32> {
        self.stock.shelves.each(self.stock.tier.shape(policy), |jar| jar.about().pid)
    }

    /// How many jars stand, whatever their policy.
    pub fn standing_in_all(&self) -> usize {
        self.stock.shelves.count()
    }

    /// Ends every jar and what jars come from, and waits until it is gone.
    pub async fn shutdown(&self) {
        self.keeper.stop().await;
        self.stock.clear().await;
        self.stock.tier.shutdown().await;
    }
}
