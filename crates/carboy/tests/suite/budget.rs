//! The memory budget: the sum of what runs stays below what there is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use carboy_engine::{GateConfig, RequestError, RunError};
use carboy_protocol::pipe::FromEngine;
use carboy_protocol::{Job, Kind, LimitName, Status};
use serde_json::json;
use tokio::task::JoinSet;

use crate::pipe::Pipe;
use crate::support::*;

const MIB: u64 = 1 << 20;

fn with_budget(mebibytes: u64) -> Bench {
    Bench::with_gate(GateConfig { memory_bytes: Some(mebibytes * MIB), ..GateConfig::default() })
}

#[tokio::test]
async fn a_run_that_can_never_fit_is_refused_with_a_sentence() {
    let bench = with_budget(400);
    let large = policy(|limits| limits.memory_bytes = 400 * MIB);
    match bench.engine.run(Job::new("result = 1").with_policy(large)).await {
        Err(RunError::Request(error @ RequestError::NoMemory { budget, .. })) => {
            assert_eq!(budget, 400 * MIB);
            let words = "there are 400 MiB for runs here (as configured)";
            assert!(error.to_string().ends_with(words), "{error}");
            assert!(error.hint().unwrap().contains("memory_bytes"));
        }
        other => panic!("{other:?}"),
    }
    bench.close().await;
}

#[tokio::test]
async fn runs_that_do_not_fit_beside_each_other_run_one_after_the_other() {
    // Enough for one of them, not for two, though there are places for many.
    let bench = with_budget(400);
    let code = "import time\nbegan = time.monotonic()\nblock = bytearray(50 << 20)\n\
                time.sleep(0.05)\nresult = [began, time.monotonic()]";
    let mut tasks = JoinSet::new();
    for _ in 0..6 {
        let engine = bench.engine.clone();
        let job = Job::new(code).with_policy(policy(|_| {}));
        tasks.spawn(async move { engine.run(job).await });
    }
    let mut times: Vec<[f64; 2]> = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        times.push(serde_json::from_str(&result(&ended.unwrap().unwrap())).unwrap());
    }
    times.sort_by(|one, other| one[0].total_cmp(&other[0]));
    assert!(times.windows(2).all(|pair| pair[0][1] <= pair[1][0]), "two at once: {times:?}");
    bench.close().await;
}

/// A control group that bounds memory, made for a test and removed after it.
struct Group(PathBuf);

impl Group {
    /// One of so many bytes, where this process may make one.
    fn new(bytes: u64) -> Option<Group> {
        let folder = format!("carboy-test-{}", std::process::id());
        let places =
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        places.into_iter().find_map(|(parent, bound)| {
            let path = Path::new(parent).join(&folder);
            fs::create_dir(&path).ok()?;
            let group = Group(path);
            fs::write(group.0.join(bound), bytes.to_string()).ok()?;
            Some(group)
        })
    }

    /// How many processes the kernel has killed in it.
    fn killed(&self) -> u64 {
        let read = |name| fs::read_to_string(self.0.join(name)).ok();
        let text = read("memory.oom_control").or_else(|| read("memory.events")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        line.unwrap().trim().parse().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // After a failed test its processes are still there.
        for pid in fs::read_to_string(self.0.join("cgroup.procs")).unwrap().lines() {
            Command::new("kill").args(["-9", pid]).status().unwrap();
        }
        let tried = Instant::now();
        while fs::remove_dir(&self.0).is_err() {
            assert!(tried.elapsed() < LONG, "{} cannot be removed", self.0.display());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_pod_of_512_mib_is_never_out_of_memory_for_its_jars() {
    let Some(group) = Group::new(512 * MIB) else {
        return skip("no control group with a memory limit can be made here");
    };
    let mut command = Command::new("sh");
    let enter = "echo $$ > \"$0\" && exec \"$@\"";
    command.args(["-c", enter]).arg(group.0.join("cgroup.procs")).arg(program());
    let folder = Folder::new();
    let said = folder.0.join("stderr");
    command.stderr(fs::File::create(&said).unwrap());
    let mut pipe = Pipe::with(command);
    // Some take all they can get, some much of it, some more than there is.
    let greedy = "blocks = []\nwhile True: blocks.append(bytearray(1 << 20))";
    let much = "block = bytearray(200 << 20)\nresult = len(block)";
    let small = "result = len(bytearray(30 << 20))";
    let runs = [(greedy, 256), (much, 256), (greedy, 64), (small, 64), (greedy, 400)];
    let count = 40;
    for id in 0..count {
        let (code, mebibytes) = runs[id as usize % runs.len()];
        let limits = json!({ "memory_bytes": mebibytes * MIB, "wall_ms": 300_000 });
        let policy = json!({ "walls": walls().as_str(), "limits": limits });
        pipe.say(&json!({ "run": { "id": id, "job": { "code": code, "policy": policy } } }));
    }
    let (mut ok, mut limited, mut refused, mut busy) = (0, 0, 0, 0);
    for _ in 0..count {
        match pipe.hear() {
            FromEngine::Outcome { outcome, .. } if outcome.status == Status::Ok => ok += 1,
            FromEngine::Outcome { outcome, .. } => {
                let error = outcome.error.unwrap();
                assert_eq!(error.kind, Kind::Limit, "{error:?}");
                assert_eq!(error.limit.unwrap().name, LimitName::MemoryBytes);
                limited += 1;
            }
            FromEngine::Failed { failure, .. } => match failure.message.as_str() {
                words if words.contains("MiB for runs here") => refused += 1,
                words if words.contains("too many runs") => busy += 1,
                other => panic!("{other}"),
            },
            other => panic!("{other:?}"),
        }
    }
    println!(
        "{ok} ended well, {limited} at their limit, {refused} never fit, {busy} came too soon"
    );
    assert_eq!(group.killed(), 0, "the kernel ran out of memory");
    assert_eq!(refused, count / runs.len() as u64);
    assert!(ok > 0 && limited > 0);
    pipe.close();
    assert_eq!(fs::read_to_string(said).unwrap(), "", "the engine complained");
}

#[test]
fn the_command_takes_a_budget_and_shows_it() {
    let call = |command: &str, options: &[&str]| {
        let mut carboy = Command::new(program());
        carboy.args([command, "--walls", walls().as_str(), "--python"]).arg(python());
        carboy.args(options).output().unwrap()
    };
    // The default policy may use 317 MiB.
    let refused = call("run", &["-c", "1", "--memory-budget", "300M"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("there are 300 MiB for runs here (as configured)"), "{said}");
    let ran = call("run", &["-c", "1", "--memory-budget", "1G"]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let shown = call("explain", &["--memory-budget", "1G"]);
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(text.contains("  budget             1024 MiB (as configured)\n"), "{text}");
}
