//! The part of a tenant's quota that this server may give out, where several share it, and what it was asked for.

use std::sync::atomic::{AtomicU64, Ordering};

/// All of it, until somebody says otherwise.
pub(super) struct Part {
    /// The bits of a number from 0 to 1.
    share: AtomicU64,
    /// Runs that were asked for since somebody looked, refused ones too.
    asked: AtomicU64,
}

impl Default for Part {
    fn default() -> Part {
        Part { share: AtomicU64::new(1.0_f64.to_bits()), asked: AtomicU64::new(0) }
    }
}

impl Part {
    pub fn share(&self) -> f64 {
        f64::from_bits(self.share.load(Ordering::Relaxed))
    }

    pub fn set(&self, share: f64) {
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 1.0 };
        self.share.store(share.to_bits(), Ordering::Relaxed);
    }

    /// This part of a number of things, rounded up: with few of them, each server may have one.
    pub fn of(&self, most: usize) -> usize {
        #[allow(clippy::cast_precision_loss, reason = "quotas are far below 2^52")]
        #[allow(clippy::cast_possible_truncation, reason = "it is at most `most`")]
        #[allow(clippy::cast_sign_loss, reason = "neither is negative")]
        let part = (most as f64 * self.share()).ceil() as usize;
        part.clamp(1.min(most), most)
    }

    /// A run is asked for.
    pub fn ask(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    /// How many were asked for since the last time.
    pub fn asked(&self) -> u64 {
        self.asked.swap(0, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_rounded_up_and_never_more_than_all() {
        let part = Part::default();
        assert_eq!((part.of(10), part.of(0)), (10, 0));
        part.set(0.25);
        assert_eq!((part.of(10), part.of(1), part.of(0)), (3, 1, 0));
        part.set(0.0);
        assert_eq!(part.of(10), 1);
        for wrong in [f64::NAN, f64::INFINITY, 7.0] {
            part.set(wrong);
            assert_eq!(part.of(10), 10);
        }
        part.ask();
        assert_eq!((part.asked(), part.asked()), (1, 0));
    }
}
