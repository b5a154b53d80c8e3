//! Beginnings and ends: cancelling, dropping, dying, and many at once.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use carboy_engine::{Chunk, RunError, RunOptions, Stream};
use carboy_protocol::{Job, Kind, LimitName, Outcome};
use tokio::sync::{mpsc, oneshot};

use crate::support::*;

const SLEEP: &str = "import time\nprint('up', flush=True)\ntime.sleep(600)";

/// Ends only by what a test does to it.
fn sleeping() -> Job {
    Job::new(SLEEP).with_policy(policy(|limits| limits.wall_ms = 600_000))
}

/// Runs it until it has printed. The run is under way then, and nobody has ended it yet.
async fn until_it_speaks(bench: &Bench) -> (Pin<Box<dyn Future<Output = Ended>>>, Chunk, Stop) {
    let (sender, mut chunks) = mpsc::channel(8);
    let (stop, cancel) = oneshot::channel();
    let options =
        RunOptions { chunks: Some(sender), cancel: Some(cancel), ..RunOptions::default() };
    let engine = bench.engine.clone();
    let mut running: Pin<Box<dyn Future<Output = Ended>>> =
        Box::pin(async move { engine.run_with(sleeping(), options).await });
    tokio::select! {
        ended = &mut running => panic!("it ended before its output came: {ended:?}"),
        chunk = chunks.recv() => (running, chunk.unwrap(), stop),
    }
}

type Ended = Result<Outcome, RunError>;
type Stop = oneshot::Sender<()>;

#[tokio::test]
async fn a_cancelled_run_says_so() {
    let bench = Bench::new();
    let (running, _, stop) = until_it_speaks(&bench).await;
    stop.send(()).unwrap();
    let outcome = running.await.unwrap();
    assert_eq!(error(&outcome).kind, Kind::Cancelled);
    bench.close().await;
}

#[tokio::test]
async fn a_dropped_run_leaves_nothing() {
    let bench = Bench::without_pool();
    let (running, ..) = until_it_speaks(&bench).await;
    assert_eq!(descendants(std::process::id()).len(), 3, "helper, zygote and jar");
    drop(running);
    // Helper and zygote stay; the jar is gone.
    let dropped = Instant::now();
    while descendants(std::process::id()).len() > 2 {
        assert!(dropped.elapsed() < LONG, "the jar lives on");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    bench.close().await;
}

#[tokio::test]
async fn output_comes_as_it_is_written() {
    let bench = Bench::new();
    let (running, chunk, stop) = until_it_speaks(&bench).await;
    assert_eq!((chunk.stream, chunk.bytes.as_slice()), (Stream::Stdout, b"up\n".as_slice()));
    stop.send(()).unwrap();
    assert_eq!(error(&running.await.unwrap()).kind, Kind::Cancelled);
    bench.close().await;
}

#[tokio::test]
async fn many_at_once_do_not_mix() {
    let bench = Bench::new();
    let runs = (0..24).map(|number| {
        let engine = &bench.engine;
        async move {
            // Each writes its own number to every descriptor it can find.
            let code = format!(
                "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'') \n    except OSError: pass\nprint({number})\nresult = {number}"
            );
            let outcome = engine.run(Job::new(code).with_policy(policy(|_| {}))).await.unwrap();
            (number, result(&outcome), outcome.stdout.text)
        }
    });
    for (number, result, stdout) in join_all(runs.collect()).await {
        assert_eq!((result, stdout), (number.to_string(), format!("{number}\n")));
    }
    bench.close().await;
}

async fn join_all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut pinned: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        for (future, output) in &mut pinned {
            if output.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(context)
            {
                *output = Some(value);
            }
        }
        if pinned.iter().all(|(_, output)| output.is_some()) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    pinned.into_iter().filter_map(|(_, output)| output).collect()
}

#[tokio::test]
async fn a_zygote_that_dies_is_replaced() {
    let bench = Bench::without_pool();
    bench.ask("1").await;
    // The oldest below us is the helper, and the oldest below that is the zygote.
    let helper = descendants(std::process::id()).into_iter().min().unwrap();
    let zygote = descendants(helper).into_iter().min().unwrap();
    let pid = rustix::process::Pid::from_raw(zygote as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    wait_until_gone(&BTreeSet::from([zygote]));
    assert_eq!(result(&bench.ask("result = 2").await), "2");
    bench.close().await;
}

#[test]
fn when_the_engine_is_killed_everything_ends() {
    let mut command = Command::new(program());
    command.args(["run", "--walls", walls().as_str(), "-c", SLEEP, "--python"]).arg(python());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0; 3]).unwrap();
    let all = descendants(child.id());
    assert_eq!(all.len(), 3, "helper, zygote and jar");
    let most = allowed(Duration::from_secs(3));
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = Instant::now();
    wait_until_gone(&all);
    assert!(killed.elapsed() < most, "it took {:?}", killed.elapsed());
}

#[tokio::test]
async fn requests_that_cannot_be_are_refused_before_anything_starts() {
    let bench = Bench::new();
    let zero = Job::new("1").with_policy(policy(|limits| limits.wall_ms = 0));
    assert!(bench.engine.run(zero).await.unwrap_err().to_string().contains("wall_ms"));
    let long = Job::new("#".repeat(5 << 20)).with_policy(policy(|_| {}));
    assert!(bench.engine.run(long).await.unwrap_err().to_string().contains("at most"));
    assert!(descendants(std::process::id()).is_empty());
    bench.close().await;
}

#[tokio::test]
async fn a_slow_reader_does_not_hold_up_the_deadline() {
    let bench = Bench::without_pool();
    bench.ask("1").await;
    let (sender, mut chunks) = mpsc::channel(1);
    let options = RunOptions { chunks: Some(sender), ..RunOptions::default() };
    let policy = policy(|limits| limits.wall_ms = 2_000);
    let code = "import time\nprint('x' * 150_000)\ntime.sleep(600)";
    let running = bench.engine.run_with(Job::new(code).with_policy(policy), options);
    let reading = async {
        // The jar comes, and goes at its deadline, before anything more is read.
        let first = chunks.recv().await.unwrap();
        let started = Instant::now();
        while descendants(std::process::id()).len() > 2 {
            assert!(started.elapsed() < LONG, "the reader holds up the deadline");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let mut bytes = first.bytes.len();
        while let Some(chunk) = chunks.recv().await {
            bytes += chunk.bytes.len();
        }
        bytes
    };
    let (outcome, bytes) = tokio::join!(running, reading);
    assert_limit(&outcome.unwrap(), LimitName::WallMs, 2_000);
    assert!(bytes > 60_000, "{bytes}");
    bench.close().await;
}

#[tokio::test]
async fn a_directory_without_rights_is_no_failure_of_ours() {
    let bench = Bench::new();
    let outcome =
        bench.ask("import os\nopen('f', 'w').close()\nos.chmod(os.getcwd(), 0)\nresult = 1").await;
    assert_eq!(result(&outcome), "1");
    bench.close().await;
}

#[tokio::test]
async fn a_deep_tree_is_removed() {
    let bench = Bench::new();
    let code = "import os\nfor n in range(400):\n    os.mkdir('d')\n    os.chdir('d')\n";
    bench.ask(code).await;
    bench.close().await;
}

#[tokio::test]
async fn shutting_down_ends_runs_that_wait_for_a_fork() {
    let bench = std::sync::Arc::new(Bench::new());
    bench.ask("1").await;
    for yields in [1, 2, 3, 5] {
        let running = tokio::spawn({
            let bench = bench.clone();
            async move { bench.engine.run(sleeping()).await.is_ok() }
        });
        for _ in 0..yields {
            tokio::task::yield_now().await;
        }
        bench.engine.shutdown().await;
        let ended = tokio::time::timeout(LONG, running).await;
        assert!(!ended.expect("it hangs").unwrap(), "a run outlived its engine");
    }
    std::sync::Arc::into_inner(bench).unwrap().close().await;
}

#[tokio::test]
async fn more_runs_than_descriptors_wait_for_each_other() {
    let bench = Bench::new();
    let nofile = rustix::process::Resource::Nofile;
    let before = rustix::process::getrlimit(nofile);
    let low = rustix::process::Rlimit { current: Some(256), maximum: before.maximum };
    rustix::process::setrlimit(nofile, low).unwrap();
    let tight = Bench::new();
    let runs = (0..80).map(|number| {
        let engine = &tight.engine;
        let job = Job::new(format!("result = {number}")).with_policy(policy(|_| {}));
        async move { result(&engine.run(job).await.unwrap()) }
    });
    let answers = join_all(runs.collect()).await;
    assert_eq!(answers, (0..80).map(|number| number.to_string()).collect::<Vec<_>>());
    tight.close().await;
    rustix::process::setrlimit(nofile, before).unwrap();
    bench.close().await;
}

#[test]
fn an_interrupt_from_the_terminal_cancels_the_run() {
    use std::os::unix::process::CommandExt;
    let folder = Folder::new();
    let mut command = Command::new(program());
    command.args(["run", "--walls", walls().as_str(), "-c", SLEEP, "--python"]).arg(python());
    command.env("TMPDIR", &folder.0).process_group(0);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0; 3]).unwrap();
    // To the whole group, as a terminal does.
    let group = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process_group(group, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(said.contains("cancelled"), "{said}");
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0, "a directory is left");
}
