//! How many runs may be tried a second time.
//!
//! When a node dies, its runs are tried elsewhere. If many die because of what they are sent, trying again makes it
//! worse. So every run that ended puts a tenth of a retry into the budget, and a retry takes a whole one: in the long run at
//! most one in ten is a retry. A refusal is none: nothing ran.

/// What a retry costs, in the parts that are counted.
const RETRY: u32 = 10;

/// Retries that can be saved up, so that a node's death after a quiet time is no error for its runs.
const MOST: u32 = 100 * RETRY;

/// The budget of one gateway.
#[derive(Clone, Debug)]
pub struct Budget(u32);

impl Budget {
    /// Full.
    pub fn new() -> Budget {
        Budget(MOST)
    }

    /// A run came to its end.
    pub fn ended(&mut self) {
        self.0 = MOST.min(self.0 + 1);
    }

    /// Whether one more run may be tried again; then it is paid for.
    pub fn retry(&mut self) -> bool {
        match self.0.checked_sub(RETRY) {
            Some(left) => {
                self.0 = left;
                true
            }
            None => false,
        }
    }
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_the_long_run_one_in_ten_is_tried_again() {
        let mut budget = Budget::new();
        while budget.retry() {}
        let again = (0..1000)
            .filter(|_| {
                budget.ended();
                budget.retry()
            })
            .count();
        assert_eq!(again, 100);
    }

    #[test]
    fn a_quiet_time_saves_up_a_hundred() {
        let mut budget = Budget::new();
        (0..100_000).for_each(|_| budget.ended());
        assert_eq!((0..1000).filter(|_| budget.retry()).count(), 100);
    }
}
