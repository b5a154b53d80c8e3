//! What time it is, and who says so: the machine, or a test.
//!
//! Everything that the fleet decides by time, it decides in a `tick`. A task calls it some ten times a second, and a test
//! calls it by hand, so no test waits for time to pass.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A clock, which begins at 0.
#[derive(Clone, Debug)]
pub struct Clock(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Machine(Instant),
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// The machine's.
    pub fn new() -> Clock {
        Clock(Kind::Machine(Instant::now()))
    }

    /// One that stands still until it is moved.
    pub fn manual() -> Clock {
        Clock(Kind::Manual(Arc::default()))
    }

    /// How long ago it began.
    pub fn now(&self) -> Duration {
        match &self.0 {
            Kind::Machine(begun) => begun.elapsed(),
            Kind::Manual(millis) => Duration::from_millis(millis.load(Ordering::SeqCst)),
        }
    }

    /// Moves a clock that stands still. That of the machine goes on by itself.
    pub fn pass(&self, time: Duration) {
        if let Kind::Manual(millis) = &self.0 {
            millis.fetch_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
        }
    }

    /// Whether it stands still by itself.
    pub fn is_manual(&self) -> bool {
        matches!(self.0, Kind::Manual(_))
    }
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::new()
    }
}
