//! What all tenants share, so that none can take what another is due.
//!
//! Half of the whole is due to the tenants, the same to each, and is there whenever one comes for it. The other
//! half is for whoever comes first. So a tenant that is alone has nearly everything, and one that takes all it can
//! get keeps nobody out.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

struct Taken {
    by_tenant: Vec<usize>,
    all: usize,
    /// What tenants are due and have not taken.
    owed: usize,
}

/// Something that there is so much of.
pub(super) struct Shares {
    whole: usize,
    due: usize,
    taken: Mutex<Taken>,
}

impl Shares {
    /// So much for so many tenants, of which each can get `most` when the others have nothing.
    pub fn new(whole: usize, tenants: usize, most: usize) -> Arc<Shares> {
        let others = tenants.saturating_sub(1).max(1);
        let due = (whole / (2 * tenants.max(1))).min(whole.saturating_sub(most) / others);
        let taken = Taken { by_tenant: vec![0; tenants], all: 0, owed: due * tenants };
        Arc::new(Shares { whole, due, taken: Mutex::new(taken) })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes so much for a tenant, if it is there.
    pub fn take(self: &Arc<Shares>, tenant: usize, amount: usize) -> Option<Share> {
        let mut taken = self.lock();
        let had = taken.by_tenant[tenant];
        let has = had + amount;
        let (all, owed) = (taken.all + amount, taken.owed - self.owed(had) + self.owed(has));
        if has > self.due && all + owed > self.whole {
            return None;
        }
        (taken.by_tenant[tenant], taken.all, taken.owed) = (has, all, owed);
        Some(Share { of: self.clone(), tenant, amount })
    }

    /// Takes so much for a tenant whether it is there or not: it gets no more until it gave that back.
    pub fn force(self: &Arc<Shares>, tenant: usize, amount: usize) -> Share {
        let mut taken = self.lock();
        let had = taken.by_tenant[tenant];
        taken.owed = taken.owed - self.owed(had) + self.owed(had + amount);
        taken.by_tenant[tenant] += amount;
        taken.all += amount;
        Share { of: self.clone(), tenant, amount }
    }

    fn owed(&self, has: usize) -> usize {
        self.due.saturating_sub(has)
    }
}

/// What was taken, until this is dropped.
pub(super) struct Share {
    of: Arc<Shares>,
    tenant: usize,
    amount: usize,
}

impl Share {
    /// Takes what another of the same tenant has.
    pub fn merge(&mut self, mut other: Share) {
        if Arc::ptr_eq(&self.of, &other.of) && self.tenant == other.tenant {
            self.amount += std::mem::take(&mut other.amount);
        }
    }

    /// Takes more, if it is there.
    pub fn grow(&mut self, more: usize) -> Option<()> {
        let mut share = self.of.take(self.tenant, more)?;
        self.amount += std::mem::take(&mut share.amount);
        Some(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.of.lock();
        let had = taken.by_tenant[self.tenant];
        let has = had - self.amount;
        taken.by_tenant[self.tenant] = has;
        taken.all -= self.amount;
        taken.owed = taken.owed - self.of.owed(had) + self.of.owed(has);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_all_it_can_get_keeps_nobody_out() {
        let shares = Shares::new(40, 4, 1);
        let greedy: Vec<_> = std::iter::from_fn(|| shares.take(0, 1)).collect();
        assert_eq!(greedy.len(), 25, "the others are due five each");
        let second: Vec<_> = std::iter::from_fn(|| shares.take(1, 1)).collect();
        assert_eq!(second.len(), 5);
        let mut all = shares.take(2, 5).expect("what it is due");
        assert!(all.grow(1).is_none() && shares.take(2, 1).is_none());
        drop(greedy);
        all.grow(5).expect("what nobody else has");
        drop((all, second));
        let taken = shares.lock();
        assert_eq!((taken.all, taken.owed), (0, 20));
    }

    #[test]
    fn what_was_forced_is_the_loss_of_who_forced_it() {
        let shares = Shares::new(40, 2, 1);
        let forced = shares.force(0, 100);
        assert!(shares.take(0, 1).is_none());
        let other = shares.take(1, 10).expect("what it is due");
        assert!(shares.take(1, 1).is_none());
        drop(forced);
        assert!(shares.take(0, 30).is_some());
        drop(other);
    }

    #[test]
    fn one_thing_that_is_as_large_as_allowed_fits() {
        for tenants in 1..20 {
            let shares = Shares::new(64, tenants, 64);
            assert!(shares.take(0, 64).is_some());
            let shares = Shares::new(64, tenants, 50);
            assert!(shares.take(0, 50).is_some());
        }
    }
}
