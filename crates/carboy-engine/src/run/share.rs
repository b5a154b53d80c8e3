//! How much of the engine's time the calls of one run may take.
//!
//! A guest decides how often it makes a call that its filter announces. What answering costs is
//! added up and melts away with time; whoever is ahead of its share is not heard until it has melted.
//! Its thread waits in the kernel meanwhile, and the engine is there for the others.

use std::time::Duration;

use tokio::time::Instant as Moment;

/// One part in so many of the time on the clock.
const PART: u32 = 10;
/// How far ahead of its share a run may be: what an honest program needs to start its threads.
const AHEAD: Duration = Duration::from_millis(4);

/// What one run has taken beyond its share.
#[derive(Debug)]
pub(crate) struct Share {
    taken: Duration,
    as_of: Moment,
}

impl Share {
    pub fn new(now: Moment) -> Share {
        Share { taken: Duration::ZERO, as_of: now }
    }

    /// So much was taken, up to now.
    pub fn take(&mut self, took: Duration, now: Moment) {
        let melted = now.saturating_duration_since(self.as_of) / PART;
        self.taken = self.taken.saturating_sub(melted) + took;
        self.as_of = now;
    }

    /// Until when nothing more is done for it; nothing if it may go on.
    pub fn rests_until(&self) -> Option<Moment> {
        let ahead = self.taken.checked_sub(AHEAD).filter(|ahead| !ahead.is_zero())?;
        Some(self.as_of + ahead * PART)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn whoever_takes_more_than_a_tenth_rests() {
        let start = Moment::now();
        let mut share = Share::new(start);
        share.take(4 * MS, start);
        assert_eq!(share.rests_until(), None);
        share.take(2 * MS, start);
        assert_eq!(share.rests_until(), Some(start + 20 * MS));
        // A tenth is always there.
        share.take(2 * MS, start + 20 * MS);
        assert_eq!(share.rests_until(), Some(start + 40 * MS));
    }

    #[test]
    fn idling_saves_nothing_up() {
        let start = Moment::now();
        let mut share = Share::new(start);
        let later = start + Duration::from_secs(3600);
        share.take(5 * MS, later);
        assert_eq!(share.rests_until(), Some(later + 10 * MS));
    }
}
