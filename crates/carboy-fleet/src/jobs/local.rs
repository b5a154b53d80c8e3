//! Durable jobs in the memory of one process: the same promises as long as the process lives.
//!
//! `carboy serve` without a fleet offers jobs with it, and tests of everything that uses a queue need no broker.

mod state;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use carboy_protocol::Job;
use tokio::sync::Notify;
use tokio::time::timeout;

pub use self::state::LocalBounds;
use self::state::{Kept, State, Waits, What};
use super::waiting::Waiting;
use super::{
    Claim, Class, Ended, Ending, JobQueue, Listed, Notice, Order, Published, QueueError, Stored,
    Ticket,
};

/// How long a claim waits for an order.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a webhook may take to be told before somebody else tries.
const NOTICE_LEASE: Duration = Duration::from_secs(60);

/// How many dead letters are kept.
const DEAD: usize = 100;

/// A queue in this process.
#[derive(Debug, Default)]
pub struct LocalJobs {
    bounds: LocalBounds,
    state: Mutex<State>,
    changed: Notify,
    noticed: Notify,
    ends: Waiting,
    cancels: Waiting,
}

impl LocalJobs {
    /// An empty queue.
    pub fn new(bounds: LocalBounds) -> LocalJobs {
        LocalJobs { bounds, ..LocalJobs::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As if the time of every lease had passed: what whoever died had is given to others.
    pub fn end_leases(&self) {
        let now = Instant::now();
        {
            let mut state = self.lock();
            for (until, _) in state.leased.values_mut() {
                *until = now;
            }
            state.turn_over(now);
        }
        self.tell(&[]);
    }

    /// What was given up, the latest first.
    pub fn dead_letters(&self) -> Vec<Order> {
        self.lock().dead.iter().cloned().collect()
    }

    /// How many orders are not done.
    pub fn left(&self) -> usize {
        let state = self.lock();
        let is_order = |waits: &Waits| matches!(waits.what, What::Order(_));
        state.tenants.values().map(|tenant| tenant.ready.len()).sum::<usize>()
            + state.leased.values().filter(|(_, waits)| is_order(waits)).count()
            + state.later.iter().filter(|(_, waits)| is_order(waits)).count()
    }

    fn tell(&self, ended: &[String]) {
        self.changed.notify_one();
        self.noticed.notify_one();
        for id in ended {
            self.ends.wake(id);
        }
    }

    fn stored(&self, ended: &Ended, notify: bool) -> Stored {
        let stored = self.lock().store(ended, notify, self.bounds, Instant::now());
        if stored == Stored::First {
            self.tell(std::slice::from_ref(&ended.id));
        }
        stored
    }
}

impl JobQueue for LocalJobs {
    type Lease = u64;

    async fn publish(&self, ticket: Ticket, job: Job) -> Result<Published, QueueError> {
        let order = ticket.order(String::new(), job);
        let unwritten = |error: serde_json::Error| QueueError::Unavailable(error.to_string());
        let bytes = serde_json::to_vec(&order).map_err(unwritten)?.len();
        if bytes > self.bounds.job_bytes {
            return Err(QueueError::TooLong { bytes, most: self.bounds.job_bytes });
        }
        {
            let mut state = self.lock();
            let tenant = state.tenants.entry(ticket.tenant.clone()).or_default();
            if let Some(kept) = tenant.jobs.get(&ticket.id) {
                let is_same = kept.ticket.digest == ticket.digest;
                return is_same.then_some(Published::Again).ok_or(QueueError::Taken);
            }
            tenant.forget(self.bounds, bytes, Instant::now());
            let left = tenant.jobs.len() - tenant.ended.len();
            if left >= self.bounds.jobs || tenant.bytes + bytes > self.bounds.bytes {
                return Err(QueueError::Full);
            }
            tenant.bytes += bytes;
            tenant.jobs.insert(ticket.id.clone(), Kept { ticket, bytes, ended: None });
            tenant.ready.push_back(Waits { what: What::Order(order.into()), deliveries: 0 });
        }
        self.changed.notify_one();
        Ok(Published::New)
    }

    async fn claim(&self, most: usize) -> Result<Vec<Claim<u64>>, QueueError> {
        let until = Instant::now() + PATIENCE;
        loop {
            let changed = self.changed.notified();
            let now = Instant::now();
            let taken = {
                let mut state = self.lock();
                state.turn_over(now);
                state.take(most, now)
            };
            if !taken.is_empty() {
                // Somebody else may have a place for what is left.
                self.changed.notify_one();
                let claim = |(lease, order, delivery): (u64, Order, u32)| {
                    let lease_time = Class::of(&order.job).lease();
                    Claim { order, delivery, lease_time, lease }
                };
                return Ok(taken.into_iter().map(claim).collect());
            }
            if timeout(until.saturating_duration_since(now), changed).await.is_err() {
                return Ok(vec![]);
            }
        }
    }

    async fn extend(&self, lease: &u64) -> Result<(), QueueError> {
        if let Some((until, waits)) = self.lock().leased.get_mut(lease) {
            let time = match &waits.what {
                What::Order(order) => Class::of(&order.job).lease(),
                What::Notice { .. } => NOTICE_LEASE,
            };
            *until = Instant::now() + time;
        }
        Ok(())
    }

    async fn store(&self, order: &Order, ended: &Ended) -> Result<Stored, QueueError> {
        Ok(self.stored(ended, order.notify))
    }

    async fn bury(&self, order: &Order) -> Result<(), QueueError> {
        let mut state = self.lock();
        state.dead.truncate(DEAD - 1);
        state.dead.push_front(order.clone());
        Ok(())
    }

    async fn done(&self, lease: u64) -> Result<(), QueueError> {
        self.lock().leased.remove(&lease);
        Ok(())
    }

    async fn release(&self, lease: u64, after: Duration) -> Result<(), QueueError> {
        let from = Instant::now() + after;
        {
            let mut state = self.lock();
            if let Some((_, waits)) = state.leased.remove(&lease) {
                state.later.push((from, waits));
            }
        }
        self.tell(&[]);
        Ok(())
    }

    async fn is_cancelled(&self, order: &Order) -> Result<bool, QueueError> {
        let state = self.lock();
        let tenant = state.tenants.get(&order.tenant);
        let kept = tenant.and_then(|tenant| tenant.jobs.get(&order.id));
        let ended = kept.and_then(|kept| kept.ended.as_ref());
        Ok(ended.is_some_and(|(_, ended)| matches!(ended.ending, Ending::Cancelled)))
    }

    async fn cancelling(&self, order: &Order) {
        self.cancels.enter(&order.id).woken().await;
    }

    async fn ticket(&self, tenant: &str, id: &str) -> Result<Option<Ticket>, QueueError> {
        let state = self.lock();
        let kept = state.tenants.get(tenant).and_then(|tenant| tenant.jobs.get(id));
        Ok(kept.map(|kept| kept.ticket.clone()))
    }

    async fn result(&self, ticket: &Ticket) -> Result<Option<Ended>, QueueError> {
        let state = self.lock();
        let tenant = state.tenants.get(&ticket.tenant);
        let kept = tenant.and_then(|tenant| tenant.jobs.get(&ticket.id));
        Ok(kept.and_then(|kept| kept.ended.as_ref()).map(|(_, ended)| ended.clone()))
    }

    async fn ending(&self, ticket: &Ticket) {
        let waiter = self.ends.enter(&ticket.id);
        // Waking it is no error, and neither is a second without news.
        timeout(PATIENCE, waiter.woken()).await.ok();
    }

    async fn cancel(&self, ticket: &Ticket) -> Result<Stored, QueueError> {
        let stored = self.stored(&ticket.ended(Ending::Cancelled), ticket.webhook.is_some());
        {
            // What waits is not run; what runs hears of it.
            let mut state = self.lock();
            if let Some(tenant) = state.tenants.get_mut(&ticket.tenant) {
                let is_it =
                    |waits: &Waits| matches!(&waits.what, What::Order(it) if it.id == ticket.id);
                tenant.ready.retain(|waits| !is_it(waits));
            }
        }
        self.cancels.wake(&ticket.id);
        Ok(stored)
    }

    async fn list(&self, tenant: &str, most: usize) -> Result<Vec<Listed>, QueueError> {
        let state = self.lock();
        let jobs = state.tenants.get(tenant).into_iter().flat_map(|tenant| tenant.jobs.values());
        let mut listed: Vec<_> = jobs
            .map(|kept| Listed { ticket: kept.ticket.clone(), has_ended: kept.ended.is_some() })
            .collect();
        listed.sort_by_key(|listed| std::cmp::Reverse(listed.ticket.accepted_ms));
        listed.truncate(most);
        Ok(listed)
    }

    async fn notices(&self, most: usize) -> Result<Vec<Notice<u64>>, QueueError> {
        let until = Instant::now() + PATIENCE;
        loop {
            let noticed = self.noticed.notified();
            let now = Instant::now();
            let mut taken = vec![];
            {
                let mut state = self.lock();
                state.turn_over(now);
                while taken.len() < most
                    && let Some(mut waits) = state.notices.pop_front()
                {
                    waits.deliveries += 1;
                    let What::Notice { tenant, id } = waits.what.clone() else { continue };
                    let attempt = waits.deliveries;
                    let lease = state.lease(now + NOTICE_LEASE, waits);
                    taken.push(Notice { id, tenant, attempt, lease });
                }
            }
            let left = until.saturating_duration_since(now);
            if !taken.is_empty() || timeout(left, noticed).await.is_err() {
                return Ok(taken);
            }
        }
    }
}
