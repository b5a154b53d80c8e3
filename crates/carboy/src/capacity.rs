//! `carboy doctor --measure`: how much this machine does by itself, so that nobody builds a fleet for less.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use carboy_engine::{Config, Engine, GateConfig, RunError, RunOptions};
use carboy_protocol::{Job, Policy, Walls};
use serde::Serialize;

use crate::failure::Failure;

/// Long enough for a figure, and short enough to wait for.
const TIME: Duration = Duration::from_secs(3);

/// Callers that ask again at once. More would only wait.
const CALLERS_EACH: usize = 8;

/// What an ordinary run of an agent's is taken to compute.
const ORDINARY_MS: f64 = 50.0;

/// The part of a machine that can be in use before short runs wait.
const USE: f64 = 0.7;

/// What was measured, and what follows from it.
#[derive(Serialize)]
pub struct Capacity {
    /// Processors that this process may use.
    pub processors: usize,
    /// Trivial runs that ended, each second; measured.
    pub trivial_runs_per_second: f64,
    /// Runs that compute 50 ms each, a second, with 70 % of the processors in use; reckoned from that.
    pub ordinary_runs_per_second: f64,
}

impl Capacity {
    fn new(processors: usize, trivial: f64) -> Capacity {
        let most = processors as f64 * 1000.0;
        let own = most / trivial.max(1e-9);
        let ordinary = USE * most / (ORDINARY_MS + own);
        Capacity {
            processors,
            trivial_runs_per_second: trivial,
            ordinary_runs_per_second: ordinary,
        }
    }

    /// For a person.
    pub fn text(&self) -> String {
        let millions = self.ordinary_runs_per_second * 86_400.0 / 1e6;
        format!(
            "Fleet not needed below {:.0} runs a second of 50 ms each ({millions:.1} million a day, at 70 % use of \
             {} processors).\n{:.0} trivial runs a second were measured here. docs/fleet.md says what else a fleet is for.\n",
            self.ordinary_runs_per_second, self.processors, self.trivial_runs_per_second,
        )
    }
}

/// Runs as many trivial jobs as it can for a few seconds.
pub async fn measure(config: Config, walls: Walls) -> Result<Capacity, Failure> {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let callers = processors * CALLERS_EACH;
    let gate = GateConfig { waiting: callers.max(config.gate.waiting), ..config.gate };
    let engine = Arc::new(Engine::new(Config { gate, ..config })?);
    let policy = Policy { walls, ..Policy::default() };
    let job = Job::new("result = 6 * 7").with_policy(policy);
    // The first has a zygote started, which is not what is measured.
    engine.run_with(job.clone(), RunOptions::default()).await?;
    let (over, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let started = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let (engine, job, over, ended) =
                (engine.clone(), job.clone(), over.clone(), ended.clone());
            tokio::spawn(async move {
                while !over.load(Ordering::Relaxed) {
                    engine.run_with(job.clone(), RunOptions::default()).await?;
                    ended.fetch_add(1, Ordering::Relaxed);
                }
                Ok::<(), RunError>(())
            })
        })
        .collect();
    tokio::time::sleep(TIME).await;
    let (runs, took) = (ended.load(Ordering::Relaxed), started.elapsed());
    over.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.map_err(|_panicked| Failure::Panic)??;
    }
    engine.shutdown().await;
    Ok(Capacity::new(processors, runs as f64 / took.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_runs_are_bounded_by_the_processors() {
        let capacity = Capacity::new(2, 769.0);
        assert!((26.0..27.0).contains(&capacity.ordinary_runs_per_second));
        assert!(capacity.text().starts_with("Fleet not needed below 27 runs a second"));
    }
}
