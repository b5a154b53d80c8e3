//! The engine, the helper and the zygote killed at every moment of a run: guest code never starts
//! half confined, nothing is left behind, and the next run works.
//!
//! A moment is something that the kernel shows of the processes, not a time after the start: how
//! long a start takes differs from machine to machine and with whatever else runs on it.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use carboy_engine::{RunError, RunOptions};
use carboy_protocol::{Job, Kind};
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::{mpsc, oneshot};

use crate::support::*;

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    /// Nothing is there yet.
    Asked,
    /// The helper is there.
    Helped,
    /// The helper has made the process that becomes the zygote.
    Cloned,
    /// The zygote executes its interpreter.
    Executed,
    /// The zygote has made the jar.
    Forked,
    /// The jar has its first filter.
    Filtered,
    /// The jar has its second filter, which is the last step of sealing.
    Sealed,
    /// Guest code has printed something.
    Speaking,
}

use Moment::*;

impl Moment {
    /// How far the run of this engine has come, all but `Speaking`.
    fn now(engine: u32) -> Moment {
        let only = |pid| children(pid).first().copied();
        // The engine also starts the interpreter, to ask what it is.
        let helper = children(engine).into_iter().find(|pid| is_helper(*pid));
        let Some(helper) = helper else { return Asked };
        let Some(zygote) = only(helper) else { return Helped };
        let Some(jar) = only(zygote) else {
            return if name(zygote) == name(helper) { Cloned } else { Executed };
        };
        match filters(jar) {
            0 => Forked,
            1 => Filtered,
            _ => Sealed,
        }
    }

    /// How many processes there are below the engine by then, at least.
    fn processes(self) -> usize {
        match self {
            Asked => 0,
            Helped => 1,
            Cloned | Executed => 2,
            Forked | Filtered | Sealed | Speaking => 3,
        }
    }
}

fn is_helper(pid: u32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).nth(1) == Some(b"helper")
}

fn name(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default()
}

fn filters(pid: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let count = status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:"));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

fn kill(pid: u32) {
    // It may have ended by itself a moment ago.
    kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).ok();
}

/// Prints, and then does not end by itself.
const SPEAK: &str = "import time\nprint('up', flush=True)\ntime.sleep(600)";

/// Kills what `victim` names at each moment of a run, and while a run answers.
async fn killed_at_any_moment(victim: impl Fn() -> Option<u32>) {
    let bench = Bench::without_pool();
    let ourselves = std::process::id();
    let (mut answered, mut failed, mut again) = (0, 0, 0);
    let lasting = [Forked, Filtered, Sealed, Speaking].map(|moment| (moment, true));
    let moments = lasting.into_iter().chain([(Asked, false), (Sealed, false)]);
    for (wanted, lasts) in moments.flat_map(|moment| [moment; 4]) {
        bench.ask("result = 1").await;
        let code = if lasts { SPEAK } else { "result = 2" };
        let long = policy(|limits| limits.wall_ms = 600_000);
        let (sender, mut chunks) = mpsc::channel(8);
        let (stop, cancel) = oneshot::channel();
        let options =
            RunOptions { chunks: Some(sender), cancel: Some(cancel), ..RunOptions::default() };
        let engine = bench.engine.clone();
        let job = Job::new(code).with_policy(long);
        let running = tokio::spawn(async move { engine.run_with(job, options).await });
        if wanted == Speaking {
            chunks.recv().await.expect("it ended before it said anything");
        }
        // A short run may have ended before that was seen.
        let shown = wanted.min(Sealed);
        while wanted != Asked && Moment::now(ourselves) < shown && !running.is_finished() {
            tokio::task::yield_now().await;
        }
        let pid = victim().expect("the zygote was ready before this run began");
        let mut fallen = descendants(pid);
        fallen.insert(pid);
        kill(pid);
        // Code that has not begun may be given to another jar. There it speaks, and is stopped.
        let cancelling = tokio::spawn(async move {
            if chunks.recv().await.is_some() {
                stop.send(()).ok();
            }
            chunks
        });
        let ended = tokio::time::timeout(LONG, running).await;
        match ended.expect("a run that never ends").unwrap() {
            Ok(outcome) => match outcome.error.as_ref().map(|error| error.kind) {
                None => {
                    assert!(!lasts, "{outcome:#?}");
                    assert_eq!(result(&outcome), "2");
                    answered += 1;
                }
                Some(Kind::Cancelled) => {
                    assert!(wanted != Speaking, "code that had begun was run again");
                    again += 1;
                }
                // The jar went with its zygote: that is how it ended.
                Some(_) => failed += 1,
            },
            Err(RunError::Engine(_)) => failed += 1,
            Err(error) => panic!("{error}"),
        }
        drop(cancelling.await.unwrap());
        // A run that comes while a zygote is dying may go with it.
        wait_until_gone(&fallen);
    }
    println!("{answered} runs had ended by then, {failed} had not, {again} began again");
    assert!(failed >= 4, "it was always too late");
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

/// The program, running something that does not end by itself.
fn engine(folder: &Folder) -> Child {
    Command::new(program())
        .env("TMPDIR", &folder.0)
        .args(["run", "--walls", walls().as_str(), "--python"])
        .arg(python())
        .args(["-c", SPEAK])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits until the run has come so far. Looks as often as it can: moments are short.
fn wait_for(engine: &mut Child, wanted: Moment) {
    if wanted == Speaking {
        return engine.stdout.as_mut().unwrap().read_exact(&mut [0; 3]).unwrap();
    }
    while Moment::now(engine.id()) < wanted {
        assert!(engine.try_wait().unwrap().is_none(), "it ended before it was {wanted:?}");
        std::thread::yield_now();
    }
}

#[test]
fn an_engine_killed_at_any_moment() {
    // In nested walls a directory stays if the engine is killed before its helper knows of it.
    let folder = Folder::new();
    let moments = [Asked, Helped, Cloned, Executed, Forked, Filtered, Sealed, Speaking];
    // How long each moment lasts on this machine, now: the second and third kill of each come a
    // part of that later.
    let mut whole = engine(&folder);
    let mut came = Vec::new();
    for wanted in moments {
        wait_for(&mut whole, wanted);
        came.push(Instant::now());
    }
    came.push(Instant::now());
    whole.kill().unwrap();
    whole.wait().unwrap();
    for (at, wanted) in moments.into_iter().enumerate() {
        let lasts: Duration = came[at + 1] - came[at];
        for part in 0..3 {
            let mut engine = engine(&folder);
            wait_for(&mut engine, wanted);
            std::thread::sleep(lasts * part / 3);
            let below = descendants(engine.id());
            engine.kill().unwrap();
            engine.wait().unwrap();
            assert!(below.len() >= wanted.processes(), "{wanted:?}: {below:?}");
            wait_until_gone(&below);
        }
    }
}
