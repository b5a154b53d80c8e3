//! What a queue in one process remembers.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::time::Instant;

use super::super::{Class, Ended, Ending, KEPT, Order, Stored, Ticket};

/// How much a tenant may have in it.
#[derive(Clone, Copy, Debug)]
pub struct LocalBounds {
    /// Jobs that wait or run.
    pub jobs: usize,
    /// Bytes of one job as JSON.
    pub job_bytes: usize,
    /// Bytes of jobs and results together. The oldest results are forgotten first.
    pub bytes: usize,
}

impl Default for LocalBounds {
    fn default() -> LocalBounds {
        LocalBounds { jobs: 1_000, job_bytes: 1 << 20, bytes: 64 << 20 }
    }
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) tenants: BTreeMap<String, Tenant>,
    /// Who was served last.
    turn: String,
    pub(super) notices: VecDeque<Waits>,
    /// What somebody has, by the number of the lease.
    pub(super) leased: HashMap<u64, (Instant, Waits)>,
    /// What nobody gets before a time.
    pub(super) later: Vec<(Instant, Waits)>,
    leases: u64,
    pub(super) dead: VecDeque<Order>,
}

#[derive(Debug, Default)]
pub(super) struct Tenant {
    pub(super) jobs: HashMap<String, Kept>,
    pub(super) ready: VecDeque<Waits>,
    /// Those that ended, the oldest first.
    pub(super) ended: VecDeque<String>,
    pub(super) bytes: usize,
}

#[derive(Debug)]
pub(super) struct Kept {
    pub(super) ticket: Ticket,
    pub(super) bytes: usize,
    pub(super) ended: Option<(Instant, Ended)>,
}

#[derive(Clone, Debug)]
pub(super) struct Waits {
    pub(super) what: What,
    pub(super) deliveries: u32,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Order(Box<Order>),
    Notice { tenant: String, id: String },
}

impl State {
    /// Makes ready what is due.
    pub(super) fn turn_over(&mut self, now: Instant) {
        let mut due: Vec<Waits> = vec![];
        let over: Vec<u64> =
            self.leased.iter().filter(|(_, (until, _))| *until <= now).map(|(id, _)| *id).collect();
        due.extend(over.iter().filter_map(|id| self.leased.remove(id)).map(|(_, waits)| waits));
        due.extend(self.later.extract_if(.., |(from, _)| *from <= now).map(|(_, waits)| waits));
        for waits in due {
            match &waits.what {
                What::Notice { .. } => self.notices.push_back(waits),
                What::Order(order) => {
                    let tenant = self.tenants.entry(order.tenant.clone()).or_default();
                    tenant.ready.push_back(waits);
                }
            }
        }
    }

    pub(super) fn store(
        &mut self,
        ended: &Ended,
        notify: bool,
        bounds: LocalBounds,
        now: Instant,
    ) -> Stored {
        let Some(tenant) = self.tenants.get_mut(&ended.tenant) else { return Stored::Late };
        let Some(kept) = tenant.jobs.get_mut(&ended.id) else { return Stored::Late };
        if kept.ended.is_some() || !kept.ticket.takes(ended) {
            return Stored::Late;
        }
        let bytes = match &ended.ending {
            Ending::Outcome(outcome) => outcome.get().len(),
            Ending::Failed(_) | Ending::Cancelled => 512,
        };
        tenant.bytes = tenant.bytes + bytes - kept.bytes;
        kept.bytes = bytes;
        kept.ended = Some((now, ended.clone()));
        // Older results make room for it. It is not among them yet.
        tenant.forget(bounds, 0, now);
        tenant.ended.push_back(ended.id.clone());
        if notify {
            let what = What::Notice { tenant: ended.tenant.clone(), id: ended.id.clone() };
            self.notices.push_back(Waits { what, deliveries: 0 });
        }
        Stored::First
    }

    /// Orders that may be run now, of each tenant in turn.
    pub(super) fn take(&mut self, most: usize, now: Instant) -> Vec<(u64, Order, u32)> {
        let mut taken = vec![];
        while taken.len() < most {
            let after = (Bound::Excluded(self.turn.clone()), Bound::Unbounded);
            let has_some = |(_, tenant): &(&String, &Tenant)| !tenant.ready.is_empty();
            let next = self.tenants.range(after).find(has_some);
            let Some((name, _)) = next.or_else(|| self.tenants.iter().find(has_some)) else {
                break;
            };
            self.turn = name.clone();
            let ready = self.tenants.get_mut(&self.turn).and_then(|next| next.ready.pop_front());
            let Some(mut waits) = ready else { break };
            waits.deliveries += 1;
            let What::Order(order) = waits.what.clone() else { continue };
            let (deliveries, until) = (waits.deliveries, now + Class::of(&order.job).lease());
            taken.push((self.lease(until, waits), *order, deliveries));
        }
        taken
    }

    pub(super) fn lease(&mut self, until: Instant, waits: Waits) -> u64 {
        self.leases += 1;
        self.leased.insert(self.leases, (until, waits));
        self.leases
    }
}

impl Tenant {
    /// Forgets results that are old, and the oldest of what is too much.
    pub(super) fn forget(&mut self, bounds: LocalBounds, more: usize, now: Instant) {
        while let Some(id) = self.ended.front() {
            let old = self.jobs.get(id).is_none_or(|kept| {
                kept.ended.as_ref().is_none_or(|(since, _)| now.duration_since(*since) > KEPT)
            });
            if !old && self.ended.len() <= bounds.jobs && self.bytes + more <= bounds.bytes {
                return;
            }
            if let Some(kept) = self.ended.pop_front().and_then(|id| self.jobs.remove(&id)) {
                self.bytes -= kept.bytes;
            }
        }
    }
}
