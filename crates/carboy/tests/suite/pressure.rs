//! More than the engine can take, and for long: nobody accepted is lost, nothing is left behind.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use carboy_engine::{Engine, GateConfig, RunError, RunOptions};
use carboy_protocol::{Job, Kind, LimitName, Outcome, Policy, Status};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::support::*;

/// How much of a long test is run: the size from the environment, or one that takes some seconds.
fn size(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

#[tokio::test]
async fn who_finds_no_place_is_told_when_to_come_again() {
    let gate = GateConfig { running: 1, waiting: 2, ..GateConfig::default() };
    let bench = Bench::with_gate(gate);
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let engine = bench.engine.clone();
        let job = Job::new("import time\ntime.sleep(0.3)\nresult = 1").with_policy(policy(|_| {}));
        tasks.spawn(async move { engine.run(job).await });
    }
    let (mut served, mut refused) = (0, 0);
    while let Some(ended) = tasks.join_next().await {
        match ended.unwrap() {
            Ok(outcome) => served += usize::from(result(&outcome) == "1"),
            Err(RunError::Busy(busy)) => {
                refused += 1;
                assert!(busy.retry_after >= Duration::from_millis(1));
            }
            Err(error) => panic!("{error}"),
        }
    }
    // One runs and one waits: a tenant alone gets half of the line.
    assert_eq!((served, refused), (2, 6));
    bench.close().await;
}

#[tokio::test]
async fn a_wait_can_be_cancelled_dropped_and_run_out() {
    let gate = GateConfig { running: 1, ..GateConfig::default() };
    let bench = Bench::with_gate(gate);
    // It has the only place until the test takes it away.
    let endless = policy(|limits| limits.wall_ms = 600_000);
    let first = Job::new("import time\nprint(1, flush=True)\ntime.sleep(600)").with_policy(endless);
    let (sender, mut chunks) = tokio::sync::mpsc::channel(1);
    let (stop, stopped) = oneshot::channel();
    let options =
        RunOptions { chunks: Some(sender), cancel: Some(stopped), ..RunOptions::default() };
    let engine = bench.engine.clone();
    let first = tokio::spawn(async move { engine.run_with(first, options).await });
    chunks.recv().await.expect("it ended before it said anything");
    let job = || Job::new("result = 2").with_policy(policy(|_| {}));
    let (cancel, cancelled) = oneshot::channel();
    cancel.send(()).unwrap();
    let options = RunOptions { cancel: Some(cancelled), ..RunOptions::default() };
    let refused = bench.engine.run_with(job(), options).await;
    assert!(matches!(refused, Err(RunError::Cancelled)));
    let deadline = Some(Instant::now() + Duration::from_millis(50));
    let options = RunOptions { deadline, ..RunOptions::default() };
    let refused = bench.engine.run_with(job(), options).await;
    assert!(matches!(refused, Err(RunError::Busy(_))));
    let dropped = tokio::time::timeout(Duration::from_millis(20), bench.engine.run(job())).await;
    assert!(dropped.is_err());
    stop.send(()).unwrap();
    assert_eq!(kind(&first.await.unwrap().unwrap()), Some(Kind::Cancelled));
    bench.close().await;
}

/// Polls once: what a refusal needs must be there without waiting for anything.
async fn at_once<F: Future>(future: &mut Pin<Box<F>>) -> Option<F::Output> {
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// What this thread has computed. The time for which others had the processor is not in it.
fn computed() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// What came of one job at twice the load.
enum Came {
    /// It was accepted: how long it took, and how many others were served in that time.
    Accepted(Duration, usize),
    /// It was refused, and that took so much of the processor.
    Refused(Duration),
}

#[tokio::test]
async fn twice_the_load_it_can_take() {
    // Sixteen places, each held for at least 50 ms: no machine takes more than 320 a second.
    let gate = GateConfig { running: 16, waiting: 128, ..GateConfig::default() };
    let (places, line) = (gate.running, gate.waiting);
    let bench = Bench::with_gate(gate);
    bench.ask("result = 1").await;
    let rate = 2.0 * 16.0 / 0.05;
    let seconds = size("CARBOY_TEST_OVERLOAD_SECONDS", 3);
    let all = (rate * seconds as f64) as usize;
    let started = Instant::now();
    let served = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    let mut asked = 0;
    while asked < all {
        let due = ((started.elapsed().as_secs_f64() * rate) as usize).min(all);
        for number in asked..due {
            let (engine, served) = (bench.engine.clone(), served.clone());
            tasks.spawn(async move {
                let code = format!("import time\ntime.sleep(0.05)\nresult = {number}");
                let job = Job::new(code).with_policy(policy(|_| {}));
                let options =
                    RunOptions { tenant: format!("t{}", number % 3), ..Default::default() };
                let (asked, before) = (Instant::now(), served.load(Ordering::Relaxed));
                let at = computed();
                let mut running = Box::pin(engine.run_with(job, options));
                let ended = match at_once(&mut running).await {
                    Some(Err(RunError::Busy(_))) => return Came::Refused(computed() - at),
                    Some(ended) => ended,
                    None => running.await,
                };
                let outcome =
                    ended.unwrap_or_else(|error| panic!("an accepted job was lost: {error}"));
                assert_eq!(result(&outcome), number.to_string());
                Came::Accepted(asked.elapsed(), served.fetch_add(1, Ordering::Relaxed) - before)
            });
        }
        asked = due;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let (mut accepted, mut refused, mut ahead) = (Vec::new(), Vec::new(), 0);
    while let Some(ended) = tasks.join_next().await {
        match ended.unwrap() {
            Came::Accepted(took, others) => {
                accepted.push(took);
                ahead = ahead.max(others);
            }
            Came::Refused(took) => refused.push(took),
        }
    }
    assert_eq!(accepted.len() + refused.len(), all);
    accepted.sort_unstable();
    refused.sort_unstable();
    let at = |list: &[Duration], part: f64| {
        list.get((list.len() as f64 * part) as usize).copied().unwrap_or_default()
    };
    println!(
        "{rate:.0} asked each second for {seconds} s: {} accepted, p50 {:?} p99 {:?}, at most {ahead} served before; {} refused, p99 {:?} max {:?}",
        accepted.len(),
        at(&accepted, 0.5),
        at(&accepted, 0.99),
        refused.len(),
        at(&refused, 0.99),
        refused.last(),
    );
    assert!(!refused.is_empty(), "it was not too much");
    assert!(accepted.len() >= places + line / 2, "too few were accepted");
    // Three tenants are served in turn: two others may each be served as often as the line is long.
    assert!(ahead <= 3 * line + places, "somebody waited longer than the line is long");
    assert!(at(&refused, 0.99) < Duration::from_millis(5), "a refusal took its time");
    bench.close().await;
}

/// One kind of job of the soak: how it is asked and what must come of it.
struct Sort {
    name: &'static str,
    code: &'static str,
    limits: fn(&mut carboy_protocol::Limits),
    cancel_after_ms: Option<u64>,
    expected: fn(&Outcome) -> bool,
}

fn ended_on(outcome: &Outcome, name: LimitName) -> bool {
    let limit = outcome.error.as_ref().and_then(|error| error.limit.as_ref());
    limit.is_some_and(|limit| limit.name == name)
}

fn kind(outcome: &Outcome) -> Option<Kind> {
    outcome.error.as_ref().map(|error| error.kind)
}

const SORTS: [Sort; 10] = [
    Sort {
        name: "answer",
        code: "result = sum(range(100))",
        limits: |_| {},
        cancel_after_ms: None,
        expected: |outcome| result(outcome) == "4950",
    },
    Sort {
        name: "file",
        code: "open('a', 'w').write('x' * 1000)\nresult = 1",
        limits: |_| {},
        cancel_after_ms: None,
        expected: |outcome| outcome.artifacts.len() == 1 && outcome.artifacts[0].bytes == 1000,
    },
    Sort {
        name: "exception",
        code: "raise ValueError('no')",
        limits: |_| {},
        cancel_after_ms: None,
        expected: |outcome| kind(outcome) == Some(Kind::Exception),
    },
    Sort {
        name: "timeout",
        code: "while True: pass",
        limits: |limits| limits.wall_ms = 30,
        cancel_after_ms: None,
        expected: |outcome| ended_on(outcome, LimitName::WallMs),
    },
    Sort {
        name: "crash",
        code: "import os\nos.abort()",
        limits: |_| {},
        cancel_after_ms: None,
        expected: |outcome| kind(outcome) == Some(Kind::Crash),
    },
    Sort {
        name: "exit",
        code: "import os\nos._exit(3)",
        limits: |_| {},
        cancel_after_ms: None,
        expected: |outcome| kind(outcome) == Some(Kind::Crash),
    },
    Sort {
        name: "flood",
        code: "while True: print('x' * 4096)",
        limits: |limits| limits.output_bytes = 200_000,
        cancel_after_ms: None,
        expected: |outcome| ended_on(outcome, LimitName::OutputBytes),
    },
    Sort {
        name: "memory",
        code: "x = bytearray(1 << 30)",
        limits: |_| {},
        cancel_after_ms: None,
        expected: |outcome| ended_on(outcome, LimitName::MemoryBytes),
    },
    Sort {
        name: "denied",
        code: "import socket\nsocket.socket()",
        limits: |_| {},
        cancel_after_ms: None,
        expected: |outcome| kind(outcome) == Some(Kind::Denied) && outcome.denials.len() == 1,
    },
    Sort {
        name: "cancelled",
        code: "import time\ntime.sleep(60)",
        limits: |_| {},
        cancel_after_ms: Some(10),
        expected: |outcome| kind(outcome) == Some(Kind::Cancelled),
    },
];

/// Mostly answers, as in life.
fn sort(number: usize) -> &'static Sort {
    match number % 32 {
        at @ 1..=9 => &SORTS[at],
        _ => &SORTS[0],
    }
}

async fn soak_one(engine: &Engine, number: usize) -> &'static str {
    let sort = sort(number);
    let policy: Policy = policy(sort.limits);
    let job = Job::new(sort.code).with_policy(policy);
    if number.is_multiple_of(97) {
        // A caller that goes away.
        tokio::time::timeout(Duration::from_micros(300), engine.run(job)).await.ok();
        return "dropped";
    }
    let (cancel, cancelled) = oneshot::channel();
    let options = RunOptions {
        cancel: sort.cancel_after_ms.map(|_| cancelled),
        tenant: format!("t{}", number % 5),
        ..RunOptions::default()
    };
    let cancelling = async {
        if let Some(after) = sort.cancel_after_ms {
            tokio::time::sleep(Duration::from_millis(after)).await;
            cancel.send(()).ok();
        }
        std::future::pending::<()>().await;
    };
    let ended = tokio::select! {
        ended = engine.run_with(job, options) => ended,
        () = cancelling => unreachable!(),
    };
    match ended {
        Ok(outcome) => {
            let fits = (sort.expected)(&outcome);
            let state = if outcome.status == Status::Ok { "well" } else { "badly" };
            assert!(fits, "{} ended {state}: {:#?}", sort.name, outcome.error);
            sort.name
        }
        // It had waited for a place all that time.
        Err(RunError::Cancelled) if sort.cancel_after_ms.is_some() => sort.name,
        Err(error) => panic!("{}: {error}", sort.name),
    }
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

async fn soak(bench: &Bench, jobs: usize) -> BTreeMap<&'static str, usize> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..16 {
        let (engine, next) = (bench.engine.clone(), next.clone());
        tasks.spawn(async move {
            let mut counts = BTreeMap::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= jobs {
                    return counts;
                }
                *counts.entry(soak_one(&engine, number).await).or_insert(0) += 1;
            }
        });
    }
    let mut all = BTreeMap::new();
    while let Some(counts) = tasks.join_next().await {
        for (name, count) in counts.unwrap() {
            *all.entry(name).or_insert(0) += count;
        }
    }
    all
}

#[tokio::test]
async fn a_long_mixed_day() {
    let jobs = size("CARBOY_TEST_SOAK_JOBS", 1500);
    let bench = Bench::with_gate(GateConfig { running: 16, ..GateConfig::default() });
    // What it takes to have every sort of jar standing is there from here on.
    soak(&bench, 320).await;
    let before = resident();
    let started = Instant::now();
    let counts = soak(&bench, jobs).await;
    let after = resident();
    println!("{jobs} jobs in {:?}: {counts:?}; resident {before} -> {after}", started.elapsed());
    assert_eq!(counts.values().sum::<usize>(), jobs, "a job without an outcome, or with two");
    assert!(after < before + (8 << 20), "the engine grew from {before} to {after} bytes");
    bench.close().await;
}
