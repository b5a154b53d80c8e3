//! How many runs and sessions of a tenant this server may have: a part of its quota, or what is leased of it.

use super::leased::Quota;
use super::tenant::Tenant;

/// How often more is leased for one run: others take what is leased at the same time.
const LEASES: usize = 3;

impl Tenant {
    /// Runs that this server may have under way.
    pub fn most_runs(&self) -> usize {
        match self.leased.quota() {
            Some(leased) => leased.runs.min(self.runs_at_once),
            None => self.part.of(self.runs_at_once),
        }
    }

    /// Sessions that this server may have open.
    pub fn most_sessions(&self) -> usize {
        match self.leased.quota() {
            Some(leased) => leased.sessions.min(self.sessions_at_once),
            None => self.part.of(self.sessions_at_once),
        }
    }

    /// Leases more of its quota, if all that is leased is in use and there is more to have.
    pub async fn lease_run(&self) {
        if self.leased.quota().is_some() {
            for _ in 0..LEASES {
                let (runs, most) = (self.under_way(), self.most_runs());
                let wanted = Quota { runs: runs + 1, sessions: 0 };
                if runs < most || runs >= self.runs_at_once {
                    break;
                }
                if !self.leased.more(wanted).await {
                    break;
                }
            }
        }
    }

    /// The same for one more session than so many.
    pub async fn lease_session(&self, open: usize) {
        let most = self.most_sessions();
        if self.leased.quota().is_some() && open >= most && open < self.sessions_at_once {
            self.leased.more(Quota { runs: 0, sessions: open + 1 }).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Instant;

    use super::super::config::TenantConfig;
    use super::super::leased::Lessor;
    use super::*;

    /// One that gives as many runs as it was told, when it is asked.
    struct Given(AtomicUsize, usize);

    impl Lessor for Given {
        fn held(&self, _tenant: &str) -> Quota {
            Quota { runs: self.0.load(Ordering::SeqCst), sessions: 0 }
        }

        fn more<'a>(
            &'a self,
            _tenant: &'a str,
            wanted: Quota,
        ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
            self.0.store(wanted.runs.min(self.1), Ordering::SeqCst);
            Box::pin(std::future::ready(()))
        }
    }

    #[tokio::test]
    async fn of_an_exact_quota_only_what_is_leased_is_given_out() {
        let config = TenantConfig { runs_at_once: 4, ..TenantConfig::default() };
        let tenant = Arc::new(Tenant::new(0, "a".into(), &config));
        tenant.leased.set(Arc::new(Given(0.into(), 2)), "a");
        let now = Instant::now();
        assert!(tenant.admit("a".into(), now).is_err(), "nothing is leased");
        let mut held = vec![];
        for id in ["a", "b"] {
            tenant.lease_run().await;
            held.push(tenant.admit(id.into(), now).expect("a place"));
        }
        tenant.lease_run().await;
        assert!(tenant.admit("c".into(), now).is_err(), "others have the rest");
        held.pop();
        tenant.lease_run().await;
        assert!(tenant.admit("c".into(), now).is_ok());
        assert_eq!(tenant.most_sessions(), 0);
    }
}
