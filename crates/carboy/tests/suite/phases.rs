//! The engine, the helper and the zygote killed at every moment of a run: guest code never starts
//! half confined, nothing is left behind, and the next run works.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use carboy_engine::RunError;
use carboy_protocol::Job;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::*;

fn kill(pid: u32) {
    // It may have ended by itself a moment ago.
    kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).ok();
}

/// Kills what `victim` names a while after a run began, over and over with a longer while.
async fn killed_at_any_moment(victim: impl Fn() -> Option<u32>) {
    let bench = Bench::without_pool();
    let (mut answered, mut failed) = (0, 0);
    for step in 0..24 {
        bench.ask("result = 1").await;
        let job =
            Job::new("import time\ntime.sleep(0.003)\nresult = 2").with_policy(policy(|_| {}));
        let engine = bench.engine.clone();
        let running = tokio::spawn(async move { engine.run(job).await });
        tokio::time::sleep(Duration::from_micros(300 * step)).await;
        let mut fallen = BTreeSet::new();
        if let Some(pid) = victim() {
            fallen = descendants(pid);
            fallen.insert(pid);
            kill(pid);
        }
        let ended = tokio::time::timeout(Duration::from_secs(30), running).await;
        match ended.expect("a run that never ends").unwrap() {
            Ok(outcome) if outcome.error.is_none() => {
                assert_eq!(result(&outcome), "2");
                answered += 1;
            }
            // The jar went with its zygote: that is how it ended.
            Ok(_) | Err(RunError::Engine(_)) => failed += 1,
            Err(error) => panic!("{error}"),
        }
        // A run that comes while a zygote is dying may go with it.
        wait_until_gone(&fallen);
    }
    println!("{answered} runs had ended by then, {failed} had not");
    assert!(failed > 0, "it was always too late");
    bench.close().await;
}

fn helper() -> Option<u32> {
    children(std::process::id()).first().copied()
}

#[tokio::test]
async fn a_zygote_killed_at_any_moment() {
    killed_at_any_moment(|| children(helper()?).first().copied()).await;
}

#[tokio::test]
async fn a_helper_killed_at_any_moment() {
    killed_at_any_moment(helper).await;
}

#[test]
fn an_engine_killed_at_any_moment() {
    // In nested walls a directory stays if the engine is killed before its helper knows of it.
    let folder = Folder::new();
    let mut most = 0;
    for step in 0..16 {
        let mut engine = Command::new(program())
            .env("TMPDIR", &folder.0)
            .args(["run", "--walls", walls().as_str(), "--python"])
            .arg(python())
            .args(["-c", "import time\ntime.sleep(20)"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(6 * step));
        let below = descendants(engine.id());
        engine.kill().unwrap();
        engine.wait().unwrap();
        most = most.max(below.len());
        wait_until_gone(&below);
    }
    assert!(most >= 2, "it was always killed before it had a helper and a zygote");
}
