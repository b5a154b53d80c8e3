//! How many runs there may be at once, and how many wait: what the operator of an engine sets.

use std::time::Duration;

/// How many runs there may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateConfig {
    /// Runs at once.
    pub running: usize,
    /// Runs of one tenant at once. None means that only the bound for all holds.
    pub running_per_tenant: Option<usize>,
    /// Runs that wait. One tenant alone can take half of these places, two a third each, and so
    /// on: there is always room for somebody new.
    pub waiting: usize,
    /// A job that would wait longer than this is refused.
    pub patience: Duration,
    /// The memory that all runs together may come to use, with what the engine needs for them. None
    /// means what [`Memory`](crate::Memory) says of the host.
    pub memory_bytes: Option<u64>,
}

impl Default for GateConfig {
    fn default() -> GateConfig {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        GateConfig {
            running: (8 * processors).max(16),
            running_per_tenant: None,
            waiting: 256,
            patience: Duration::from_secs(10),
            memory_bytes: None,
        }
    }
}
