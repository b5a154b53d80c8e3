//! A rate that is kept in the long run, as quotas of a tenant are.

use std::time::{Duration, Instant};

/// So much in a second in the long run, and so much at once after a pause.
pub(super) struct Bucket {
    per_second: f64,
    most: f64,
    pub level: f64,
    at: Instant,
}

impl Bucket {
    pub fn new(per_second: f64, most: f64) -> Bucket {
        Bucket { per_second, most, level: most, at: Instant::now() }
    }

    /// Fills it with what came since, of which this server may give out a part.
    pub fn fill(&mut self, now: Instant, part: f64) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        // One must fit, or a small part would never let anything pass.
        let most = (self.most * part).max(self.most.min(1.0));
        self.level = (self.level + passed * self.per_second * part).min(most);
        self.at = now;
    }

    /// Gives back what was taken and not used.
    pub fn give_back(&mut self, amount: f64) {
        self.level = (self.level + amount).min(self.most);
    }

    /// How long it takes until there is so much.
    pub fn wait_for(&self, level: f64) -> Duration {
        let seconds = (level - self.level) / self.per_second;
        Duration::try_from_secs_f64(seconds.clamp(0.0, 3600.0)).unwrap_or(Duration::from_secs(1))
    }
}
