//! Which runs have been silent for how long: one heap for all of them, so that a run costs no timer.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// After how much silence a node is asked how a run stands. Twice as long the next time, and so on.
pub(super) const SILENT: Duration = Duration::from_millis(200);

/// When to look at which run.
#[derive(Default)]
pub(super) struct Wheel(BinaryHeap<Reverse<(Duration, u64)>>);

impl Wheel {
    pub fn add(&mut self, at: Duration, token: u64) {
        self.0.push(Reverse((at, token)));
    }

    pub fn due(&mut self, now: Duration) -> Option<u64> {
        let &Reverse((at, token)) = self.0.peek()?;
        if at > now {
            return None;
        }
        self.0.pop();
        Some(token)
    }
}
