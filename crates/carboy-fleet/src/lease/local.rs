//! A ledger inside one process: for tests, and as the rule that the one on brokers keeps to.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Away, Leases, Ledger};

/// What is written, if a gateway wrote it, and its revision.
type Entry = (Option<Leases>, u64);

/// Leases in memory. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct LocalLedger {
    entries: Arc<Mutex<HashMap<String, Entry>>>,
    away: Arc<AtomicBool>,
}

impl LocalLedger {
    /// Lets it answer, or not.
    pub fn set_away(&self, is_away: bool) {
        self.away.store(is_away, Ordering::SeqCst);
    }

    /// Writes something over an entry that is none.
    pub fn spoil(&self, tenant: &str) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.entry(tenant.to_owned()).or_insert_with(missing);
        *entry = (None, entry.1 + 1);
    }

    fn check(&self) -> Result<(), Away> {
        if self.away.load(Ordering::SeqCst) { Err(Away("it was told so".into())) } else { Ok(()) }
    }
}

/// Nobody holds anything where nothing is written.
fn missing() -> Entry {
    (Some(Leases::default()), 0)
}

impl Ledger for LocalLedger {
    async fn read(&self, tenant: &str) -> Result<(Option<Leases>, u64), Away> {
        self.check()?;
        // Whoever else wants to read or write has a turn.
        tokio::task::yield_now().await;
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(entries.get(tenant).cloned().unwrap_or_else(missing))
    }

    async fn write(&self, tenant: &str, leases: &Leases, revision: u64) -> Result<bool, Away> {
        self.check()?;
        tokio::task::yield_now().await;
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.entry(tenant.to_owned()).or_insert_with(missing);
        let is_latest = entry.1 == revision;
        if is_latest {
            *entry = (Some(leases.clone()), revision + 1);
        }
        Ok(is_latest)
    }
}
