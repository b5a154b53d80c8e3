//! What is timed, and a set of timings and what is said of it.

use serde_json::{Value, json};

/// The job that is timed.
pub const JOB: &str = "result = sum(range(100))";

/// Timings in milliseconds.
pub struct Samples(Vec<f64>);

impl Samples {
    /// Takes timings in any order.
    pub fn new(mut samples: Vec<f64>) -> Samples {
        samples.sort_by(f64::total_cmp);
        Samples(samples)
    }

    /// All of them, in order.
    pub fn sorted(&self) -> &[f64] {
        &self.0
    }

    /// The value below which a part of them lies.
    pub fn quantile(&self, part: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        self.0.get((last as f64 * part).round() as usize).copied().unwrap_or(0.0)
    }

    /// The numbers that are reported.
    pub fn summary(&self) -> Value {
        json!({
            "runs": self.0.len(),
            "p50_ms": self.quantile(0.5),
            "p90_ms": self.quantile(0.9),
            "p99_ms": self.quantile(0.99),
            "max_ms": self.quantile(1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_the_sorted_values() {
        let samples = Samples::new((1..=101).rev().map(f64::from).collect());
        assert_eq!((samples.quantile(0.5), samples.quantile(0.99)), (51.0, 100.0));
        assert_eq!(Samples::new(vec![]).quantile(0.5), 0.0);
    }
}
