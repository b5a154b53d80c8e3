//! When a run is over, and how calls of tools put that off.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant as Moment;

/// The end of a run.
///
/// A call that has a budget stops the clock until it is answered or the budget is used up. Calls
/// that wait at the same time stop it together, not one after the other.
#[derive(Debug)]
pub(super) struct Deadline {
    at: Moment,
    /// Until when each waiting call may stop the clock.
    stopping: HashMap<u64, Moment>,
    stopped: Option<Moment>,
}

impl Deadline {
    pub fn new(at: Moment) -> Deadline {
        Deadline { at, stopping: HashMap::new(), stopped: None }
    }

    /// When it is over, unless a call is answered or made before.
    pub fn at(&self) -> Moment {
        match (self.stopped, self.stopping.values().max()) {
            (Some(since), Some(until)) => self.at + until.saturating_duration_since(since),
            _ => self.at,
        }
    }

    /// A call begins.
    pub fn call(&mut self, call: u64, budget: Duration, now: Moment) {
        self.settle(now);
        if !budget.is_zero() {
            self.stopping.insert(call, now + budget);
            self.stopped = Some(now);
        }
    }

    /// A call has its answer.
    pub fn answered(&mut self, call: u64, now: Moment) {
        self.settle(now);
        self.stopping.remove(&call);
        if self.stopping.values().all(|until| *until <= now) {
            self.stopped = None;
        }
    }

    /// Puts the end off by how long the clock has stood still.
    fn settle(&mut self, now: Moment) {
        let Some(since) = self.stopped else { return };
        let until = self.stopping.values().max().copied().unwrap_or(since);
        self.at += until.min(now).saturating_duration_since(since);
        self.stopped = (now < until).then_some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_puts_the_end_off_by_its_own_time_and_never_by_more_than_its_budget() {
        let start = Moment::now();
        let ms = Duration::from_millis;
        let after = |deadline: &Deadline| (deadline.at() - start).as_millis();
        let mut deadline = Deadline::new(start + ms(100));
        // Without a budget nothing is put off.
        deadline.call(1, ms(0), start);
        assert_eq!(after(&deadline), 100);
        deadline.answered(1, start + ms(10));
        assert_eq!(after(&deadline), 100);
        // While it waits, all of its budget may come; what it took is what counts.
        deadline.call(2, ms(50), start + ms(20));
        assert_eq!(after(&deadline), 150);
        deadline.answered(2, start + ms(50));
        assert_eq!(after(&deadline), 130);
        // Two at once stop the clock together.
        deadline.call(3, ms(40), start + ms(60));
        deadline.call(4, ms(40), start + ms(70));
        assert_eq!(after(&deadline), 180);
        deadline.answered(3, start + ms(80));
        deadline.answered(4, start + ms(90));
        assert_eq!(after(&deadline), 160);
        // One that takes longer than its budget runs on the run's time from then on.
        deadline.call(5, ms(10), start + ms(100));
        assert_eq!(after(&deadline), 170);
        deadline.answered(5, start + ms(150));
        assert_eq!(after(&deadline), 170);
        // A budget that is used up stops nothing for the next call.
        deadline.call(6, ms(10), start + ms(155));
        deadline.call(7, ms(0), start + ms(169));
        assert_eq!(after(&deadline), 180);
    }
}
