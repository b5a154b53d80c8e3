//! What this server has leased of a tenant's exact quota, where several servers share it.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};

/// Runs and sessions at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// Runs.
    pub runs: usize,
    /// Sessions.
    pub sessions: usize,
}

/// Who leases parts of tenants' quotas.
pub trait Lessor: Send + Sync {
    /// What may be given out of a tenant's quota now.
    fn held(&self, tenant: &str) -> Quota;

    /// Tries to have at least this to give out. It is given back in time.
    fn more<'a>(
        &'a self,
        tenant: &'a str,
        wanted: Quota,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
}

/// What is leased of one tenant's quota; all of it where nobody leases.
#[derive(Default)]
pub(super) struct Leased(OnceLock<(Arc<dyn Lessor>, String)>);

impl Leased {
    /// Everything is leased from now on, under the tenant's name.
    pub fn set(&self, lessor: Arc<dyn Lessor>, tenant: &str) {
        // Who was told first is asked.
        self.0.set((lessor, tenant.to_owned())).ok();
    }

    /// What may be given out, if that is leased.
    pub fn quota(&self) -> Option<Quota> {
        self.0.get().map(|(lessor, tenant)| lessor.held(tenant))
    }

    /// Tries to have this. Whether there is more than before.
    pub async fn more(&self, wanted: Quota) -> bool {
        let Some((lessor, tenant)) = self.0.get() else { return false };
        let before = lessor.held(tenant);
        lessor.more(tenant, wanted).await;
        let now = lessor.held(tenant);
        now.runs > before.runs || now.sessions > before.sessions
    }
}
