//! More than the engine can take: whoever is accepted is served, and the others are told at once.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use carboy_engine::{GateConfig, RunError, RunOptions};
use carboy_protocol::{Job, Kind};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::support::*;

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
    let first = first.await.unwrap().unwrap();
    assert_eq!(first.error.unwrap().kind, Kind::Cancelled);
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
