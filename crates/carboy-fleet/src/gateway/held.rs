//! What a gateway holds in memory of what nodes sent: bounded for each run, and for all of them together.
//!
//! This is the account of one run. Who is given up when the sum is too large is in `greed.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// What is held of one run.
pub(super) struct Held {
    /// Came, and was not looked at.
    waiting: AtomicUsize,
    /// Was looked at, and is needed: the begin of an answer, output that nobody took yet, answers that its node may not have.
    kept: AtomicUsize,
    /// The same of all runs.
    all: Arc<AtomicUsize>,
    is_given_up: AtomicBool,
    given_up: Notify,
}

impl Held {
    pub fn new(all: Arc<AtomicUsize>) -> Held {
        Held {
            waiting: AtomicUsize::new(0),
            kept: AtomicUsize::new(0),
            all,
            is_given_up: AtomicBool::new(false),
            given_up: Notify::new(),
        }
    }

    /// So much came.
    pub fn came(&self, bytes: usize) {
        self.waiting.fetch_add(bytes, Ordering::Relaxed);
        self.all.fetch_add(bytes, Ordering::Relaxed);
    }

    /// So much of it was looked at.
    pub fn looked_at(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Ordering::Relaxed);
        self.all.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// So much is kept from now on, instead of what was kept before.
    pub fn keep(&self, bytes: usize) {
        let before = self.kept.swap(bytes, Ordering::Relaxed);
        // A sum that wraps around twice is right.
        self.all.fetch_add(bytes.wrapping_sub(before), Ordering::Relaxed);
    }

    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    pub fn bytes(&self) -> usize {
        self.waiting() + self.kept.load(Ordering::Relaxed)
    }

    /// Its memory is needed.
    pub fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Relaxed);
        self.given_up.notify_one();
    }

    pub fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Relaxed)
    }

    /// Waits until its memory is needed.
    pub async fn given_up(&self) {
        while !self.is_given_up() {
            self.given_up.notified().await;
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_of_what_is_held_and_nothing_stays_of_a_run_that_is_over() {
        let all = Arc::new(AtomicUsize::new(0));
        let (one, two) = (Held::new(all.clone()), Held::new(all.clone()));
        one.came(100);
        two.came(10);
        one.keep(60);
        one.looked_at(100);
        assert_eq!((all.load(Ordering::Relaxed), one.bytes(), one.waiting()), (70, 60, 0));
        one.keep(5);
        assert_eq!(all.load(Ordering::Relaxed), 15);
        drop(one);
        assert_eq!(all.load(Ordering::Relaxed), 10);
        drop(two);
        assert_eq!(all.load(Ordering::Relaxed), 0);
    }
}
