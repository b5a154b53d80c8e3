//! Measuring: the parts of `carboy bench`, each in one run on one machine.

mod files;
pub mod fleet;
mod guard;
pub mod load;
mod peers;
mod samples;
mod serve;
mod sessions;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use carboy_engine::{Config, Engine, Installation, PoolConfig, RunError, Versions};
use carboy_protocol::{Job, Policy, Status};
use serde_json::{Map, Value, json};

pub use samples::{JOB, Samples};

use crate::failure::Failure;
use crate::paint::Paint;

const BARE: &str = include_str!("bare.py");
/// Between two runs of a paced measure: the shelf fills again meanwhile.
const PACE: Duration = Duration::from_millis(4);

/// A part of a bench.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum BenchPart {
    Bare,
    C1,
    C4,
    C16,
    Cold,
    Files,
    Guard,
    Jar,
    Numpy,
    Pandas,
    Peers,
}

/// What has a report of its own.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Subject {
    /// Runs by a gateway, a broker and workers, beside the same runs by one server; the exit code says whether targets are met
    Fleet,
    /// A server under three times what it can do; the exit code says whether it held
    Load,
    /// Runs over HTTP, beside the same runs by the engine alone
    Serve,
    /// Runs in a session, branches and rollbacks, beside bare forks with as much live data
    Sessions,
}

/// How much is measured.
#[derive(Clone, Copy)]
pub struct Size {
    /// Runs for a latency.
    pub paced: usize,
    /// Runs for a throughput.
    pub loaded: usize,
}

/// What a bench is about.
pub struct Bench {
    pub installation: Installation,
    pub python: PathBuf,
    pub versions: Versions,
    pub size: Size,
    /// Raw samples, by name.
    pub raw: Map<String, Value>,
}

impl Bench {
    fn engine(&self, preload: &[&str], ceiling: usize) -> Result<Arc<Engine>, Failure> {
        Ok(Arc::new(self.engine_with(preload, ceiling)?))
    }

    fn engine_with(&self, preload: &[&str], ceiling: usize) -> Result<Engine, Failure> {
        let config = Config {
            preload: preload.iter().map(|name| (*name).to_owned()).collect(),
            pool: PoolConfig { ceiling, ..PoolConfig::default() },
            versions: self.versions,
            ..Config::new(self.installation.clone(), &self.python)
        };
        Ok(Engine::new(config)?)
    }

    fn keep(&mut self, name: &str, samples: &Samples) {
        self.raw.insert(name.to_owned(), json!(samples.sorted()));
    }

    /// What a program says that times something in the interpreter itself.
    fn ask(
        &self,
        step: &'static str,
        code: &str,
        argument: &str,
    ) -> Result<(Samples, Value), Failure> {
        let output = Command::new(&self.python)
            .args(["-I", "-c", code, argument])
            .output()
            .map_err(Failure::os("start the interpreter"))?;
        let said: Value = serde_json::from_slice(&output.stdout)
            .map_err(|_| std::io::Error::other(String::from_utf8_lossy(&output.stderr)))
            .map_err(Failure::os(step))?;
        let samples = said["samples"].as_array().into_iter().flatten();
        Ok((Samples::new(samples.filter_map(Value::as_f64).collect()), said))
    }

    /// Fork and run without walls, one at a time and sixteen at once.
    pub fn bare(&mut self, preload: &[&str]) -> Result<Value, Failure> {
        let ask = |callers: usize, runs: usize| -> Result<(Samples, f64), Failure> {
            let asked = json!({
                "code": JOB, "runs": runs, "callers": callers, "preload": preload,
            });
            let (samples, said) = self.ask("time a bare fork", BARE, &asked.to_string())?;
            Ok((samples, said["runs_per_s"].as_f64().unwrap_or(0.0)))
        };
        let (one, _) = ask(1, self.size.paced)?;
        let (_, runs_per_s) = ask(16, self.size.loaded)?;
        self.keep(&format!("bare{}", preload.concat()), &one);
        let mut value = one.summary();
        value["runs_per_s"] = json!(runs_per_s);
        Ok(value)
    }

    /// One caller, paced so that jars stand.
    pub async fn paced(&mut self, name: &str, preload: &[&str]) -> Result<Value, Failure> {
        let engine = self.engine(preload, 32)?;
        let policy = Policy::default();
        engine.stand(&policy, 16).await?;
        let mut samples = Vec::with_capacity(self.size.paced);
        for _ in 0..self.size.paced {
            let started = Instant::now();
            run(&engine).await?;
            samples.push(started.elapsed().as_secs_f64() * 1e3);
            tokio::time::sleep(PACE).await;
        }
        engine.shutdown().await;
        let samples = Samples::new(samples);
        self.keep(name, &samples);
        Ok(samples.summary())
    }

    /// `callers` at once, each asking again as soon as it is answered.
    pub async fn loaded(&mut self, name: &str, callers: usize) -> Result<Value, Failure> {
        let engine = self.engine(&[], 32)?;
        engine.stand(&Policy::default(), callers.min(16)).await?;
        let each = self.size.loaded / callers;
        let started = Instant::now();
        let mut tasks = Vec::new();
        for _ in 0..callers {
            let engine = engine.clone();
            tasks.push(tokio::spawn(async move {
                let mut samples = Vec::with_capacity(each);
                for _ in 0..each {
                    let started = Instant::now();
                    run(&engine).await?;
                    samples.push(started.elapsed().as_secs_f64() * 1e3);
                }
                Ok::<_, Failure>(samples)
            }));
        }
        let mut samples = Vec::new();
        for task in tasks {
            let done = task.await.map_err(std::io::Error::other).map_err(Failure::os("measure"))?;
            samples.extend(done?);
        }
        let seconds = started.elapsed().as_secs_f64();
        engine.shutdown().await;
        let samples = Samples::new(samples);
        self.keep(name, &samples);
        let mut value = samples.summary();
        value["runs_per_s"] = json!((each * callers) as f64 / seconds);
        Ok(value)
    }

    /// From nothing to the first answer: helper, walls, interpreter, fork, run.
    pub async fn cold(&mut self) -> Result<Value, Failure> {
        let mut samples = Vec::new();
        for _ in 0..5 {
            let started = Instant::now();
            let engine = self.engine(&[], 0)?;
            run(&engine).await?;
            samples.push(started.elapsed().as_secs_f64() * 1e3);
            engine.shutdown().await;
        }
        let samples = Samples::new(samples);
        self.keep("cold", &samples);
        Ok(samples.summary())
    }

    /// A hundred jars that stand, all asked at once.
    pub async fn hundred(
        &mut self,
        preload: &[&str],
        code: &'static str,
    ) -> Result<Value, Failure> {
        let engine = self.engine(preload, 100)?;
        let policy = Policy::default();
        let refill = Instant::now();
        engine.stand(&policy, 100).await?;
        let refill_ms = refill.elapsed().as_secs_f64() * 1e3 / 100.0;
        let unique = unique_bytes(&engine.standing(&policy));
        let started = Instant::now();
        let tasks: Vec<_> = (0..100)
            .map(|_| {
                let engine = engine.clone();
                tokio::spawn(async move { engine.run(Job::new(code)).await })
            })
            .collect();
        for task in tasks {
            let done = task.await.map_err(std::io::Error::other).map_err(Failure::os("measure"))?;
            succeeded(done?.status)?;
        }
        let wall_ms = started.elapsed().as_secs_f64() * 1e3;
        engine.shutdown().await;
        Ok(json!({ "wall_ms": wall_ms, "refill_ms": refill_ms, "unique_bytes": unique }))
    }

    /// Whether the interpreter has a module.
    pub fn has(&self, module: &str) -> bool {
        let found =
            Command::new(&self.python).args(["-I", "-c", &format!("import {module}")]).output();
        found.is_ok_and(|output| output.status.success())
    }

    /// Others that run Python, where they are installed.
    pub fn peers(&mut self) -> Value {
        peers::measure(&self.python, self.size.paced.min(200))
    }
}

async fn run(engine: &Engine) -> Result<(), Failure> {
    succeeded(engine.run(Job::new(JOB)).await?.status)
}

fn succeeded(status: Status) -> Result<(), Failure> {
    match status {
        Status::Ok => Ok(()),
        Status::Error => Err(Failure::Run(RunError::Engine(carboy_engine::EngineError::Os {
            step: "measure",
            error: std::io::Error::other("a run did not end well"),
        }))),
    }
}

/// Memory that belongs to one process alone, the median of several.
fn unique_bytes(pids: &[u32]) -> Option<u64> {
    let of = |pid: &u32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let kilobytes = text
            .lines()
            .filter(|line| line.starts_with("Private_"))
            .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        Some(kilobytes.sum::<u64>() * 1024)
    };
    let mut all: Vec<u64> = pids.iter().filter_map(of).collect();
    all.sort_unstable();
    all.get(all.len() / 2).copied()
}

/// What the machine is, as far as a reader of the numbers wants to know.
pub fn machine(python: &Path) -> Value {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name"));
    let version =
        Command::new(python).args(["-I", "-c", "import sys; print(sys.version)"]).output();
    json!({
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "processor": model.map(|rest| rest.trim_start_matches([' ', '\t', ':'])),
        "processors": std::thread::available_parallelism().map_or(1, |count| count.get()),
        "python": version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).ok(),
        "carboy": env!("CARGO_PKG_VERSION"),
    })
}

/// The same for a person.
pub fn machine_lines(machine: &Value, paint: Paint) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("unknown").to_owned();
    format!(
        "{}\n  Linux {}, {} processors, {}\n  CPython {}\n\n",
        paint.bold("machine"),
        word(&machine["kernel"]),
        machine["processors"],
        word(&machine["processor"]),
        word(&machine["python"]).lines().next().unwrap_or_default(),
    )
}
