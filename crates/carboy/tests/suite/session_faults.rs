//! What code does against its own session while that is copied, and who else must not notice.

use std::sync::Arc;
use std::time::{Duration, Instant};

use carboy_engine::{RunOptions, Session};
use carboy_protocol::{Denial, Kind, LimitName, Piece, ProcessExit, Reply, StateAfter, Walls};
use tokio::sync::oneshot;

use crate::sessions::{close, opened, run, small, value};
use crate::support::*;

/// Code that uses the fork it is granted against the session, from the moment `armed` is set.
const LEAVES: &str = "
import os
armed = False
def parent():
    if armed:
        os._exit(0)
def child():
    if armed:
        for number in range(1, 5):
            os.close(number)
        while True:
            pass
os.register_at_fork(after_in_parent=parent, after_in_child=child)
";

#[tokio::test]
async fn a_copy_that_nobody_knows_ends_the_session() {
    // One whose parent leaves it behind, after a run and in what a checkpoint is copied from.
    let Some((bench, session)) = opened(|_| {}).await else { return };
    run(&session, LEAVES).await;
    run(&session, "armed = True").await;
    assert_over_with_all(&session).await;
    drop(session);
    let session = bench.engine.session(&small(|_| {})).await.unwrap();
    let counts = "n = 0\ndef before():\n    global n, armed\n    n += 1\n    armed = n == 3\n";
    let arms = "os.register_at_fork(before=before)";
    run(&session, &format!("{LEAVES}{counts}{arms}")).await;
    session.checkpoint("a").await.unwrap();
    assert!(session.rollback("a").await.is_err());
    assert_over_with_all(&session).await;
    drop(session);
    // One that says it has failed, and has not.
    let session = bench.engine.session(&small(|_| {})).await.unwrap();
    let lies = "
import os
fork = os.fork
def lie():
    if fork():
        raise OSError(11, 'not the words of an engine')
    while True:
        pass
os.fork = lie
";
    run(&session, lies).await;
    let over = session.run("1").await.unwrap_err().to_string();
    assert!(over.contains("errno 11") && !over.contains("not the words"), "{over}");
    assert_over_with_all(&session).await;
    drop(session);
    bench.close().await;
}

/// A session is over as soon as it is asked for something, and nothing of it is left.
async fn assert_over_with_all(session: &Session) {
    let over = session.run("1").await.unwrap_err();
    assert!(over.to_string().contains("the session is over"), "{over}");
    wait_until_gone(
        &descendants(session.process()).into_iter().chain([session.process()]).collect(),
    );
}

#[tokio::test]
async fn a_fork_is_no_way_to_processor_time() {
    let Some((bench, session)) = opened(|_| {}).await else { return };
    for when in ["before", "after_in_parent", "after_in_child"] {
        let session = bench.engine.session(&small(|_| {})).await.unwrap();
        let hook = format!(
            "import os\ndef hook():\n    while True: pass\nos.register_at_fork({when}=hook)"
        );
        run(&session, &hook).await;
        // On a busy machine the time on the clock may pass first.
        let over = session.run("1").await.unwrap_err();
        assert!(over.to_string().contains("its state could not be copied"), "{when}: {over}");
    }
    close(bench, session).await;
}

#[tokio::test]
async fn a_copy_whose_call_is_interrupted_takes_no_pipe_along() {
    let Some((bench, mut session)) = opened(|_| {}).await else { return };
    // A timer ends the call in which the copy is looked at. It hides the pipe of the one that it was copied
    // from, moves it about while somebody looks, and answers as if nothing had been.
    let hook = "
import os, signal, time
n = 0
def before():
    global n
    n += 1
def child():
    global n
    if n < 2:
        return
    plain = os.dup2(os.open('x', os.O_RDWR | os.O_CREAT), 61)
    for number in range(5, 60):
        if number != plain:
            os.dup2(plain, number)
    os.dup2(4, 60)
    signal.signal(signal.SIGALRM, lambda *_: None)
    own = os.fstat(4).st_ino
    signal.setitimer(signal.ITIMER_REAL, 0.0003 + (time.time_ns() // 1000 % 50) * 0.000008)
    while True:
        try:
            os.setpgid(0, 0x5e55)
            break
        except InterruptedError:
            if os.fstat(4).st_ino != own:
                until = time.monotonic() + 0.01
                while time.monotonic() < until:
                    os.dup2(60, 5), os.dup2(plain, 60)
                    for _ in range(1000): pass
                    os.dup2(5, 60), os.dup2(plain, 5)
                    for _ in range(1000): pass
                os.dup2(60, 5), os.dup2(plain, 60)
                break
        except PermissionError:
            os._exit(0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    n = -1000
    real = os.setpgid
    def fake(*_):
        os.setpgid = real
    os.setpgid = fake
os.register_at_fork(before=before, after_in_child=child)
";
    run(&session, hook).await;
    let look = "import os, stat\nany(stat.S_ISFIFO(os.fstat(n).st_mode) for n in range(5, 61))";
    for _ in 0..12 {
        if let Ok(branch) = session.branch().await {
            let found = branch.run(look).await.unwrap().outcome;
            assert!(found.error.is_some() || result(&found) == "false", "{found:#?}");
        }
        if session.run("n = 0").await.is_err() {
            // A copy that could not be held ended it.
            assert_over_with_all(&session).await;
            session = bench.engine.session(&small(|_| {})).await.unwrap();
            run(&session, hook).await;
        }
    }
    close(bench, session).await;
}

#[tokio::test]
async fn a_checkpoint_that_cannot_be_replaced_is_kept() {
    let Some((bench, session)) = opened(|_| {}).await else { return };
    run(&session, "x = 1").await;
    session.checkpoint("a").await.unwrap();
    run(
        &session,
        "x = 2\nimport threading\ngo = threading.Event()\nthreading.Thread(target=go.wait).start()",
    )
    .await;
    assert!(session.checkpoint("a").await.is_err());
    assert_eq!(session.checkpoints().await.unwrap(), ["a"]);
    session.rollback("a").await.unwrap();
    assert_eq!(value(&session, "x").await, "1");
    close(bench, session).await;
}

#[tokio::test]
async fn a_session_takes_no_work_after_its_lifetime() {
    let Some((bench, session)) = opened(|limits| limits.lifetime_ms = 1_000).await else { return };
    let began = Instant::now();
    // Somebody always uses it.
    let (long, over) = tokio::join!(session.run("import time\ntime.sleep(2)\n1"), async {
        loop {
            if let Err(over) = session.checkpoints().await {
                return over;
            }
            assert!(began.elapsed() < LONG);
        }
    });
    let says_old = |over: carboy_engine::RunError| {
        assert!(over.to_string().contains(&LimitName::LifetimeMs.row().crossed(1_000)), "{over}");
    };
    says_old(over);
    match long {
        Ok(long) => assert_eq!(result(&long.outcome), "1"),
        // On a slow machine it was as old when it stood.
        Err(over) => says_old(over),
    }
    drop(session);
    bench.close().await;
}

#[tokio::test]
async fn a_caller_who_goes_away_leaves_no_head_that_goes_on() {
    let Some((bench, session)) = opened(|_| {}).await else { return };
    // The third fork, which is that of the checkpoint, takes its time.
    let slow = "
import os, time
n = 0
def before():
    global n
    n += 1
    if n == 3:
        time.sleep(1)
os.register_at_fork(before=before)
";
    run(&session, slow).await;
    session.checkpoint("a").await.unwrap();
    let cut = Duration::from_millis(300);
    assert!(tokio::time::timeout(cut, session.rollback("a")).await.is_err());
    // It was gone back to all the same, and the one that was copied is stopped.
    assert_eq!(value(&session, "n").await, "4");
    let process = session.process();
    let stopped = || {
        descendants(process).into_iter().all(|pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit_once(')').is_none_or(|(_, rest)| !rest.trim_start().starts_with(['R', 'S']))
        })
    };
    let started = Instant::now();
    while !stopped() {
        assert!(started.elapsed() < LONG);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    close(bench, session).await;
}

#[tokio::test]
async fn hooks_of_a_fork_use_the_time_of_the_next_run() {
    let Some((bench, session)) = opened(|limits| limits.cpu_ms = 2_000).await else { return };
    let hook = "
import os, time
wanted = 0.3
def burn():
    until = time.process_time() + wanted
    while time.process_time() < until:
        pass
os.register_at_fork(before=burn)
";
    let first = run(&session, hook).await;
    let next = run(&session, "wanted = 0").await;
    assert!(next.outcome.usage.cpu_ms >= 290.0, "{:?}", next.outcome.usage);
    // It is counted once, and what earlier runs used is nobody's.
    let last = run(&session, "1").await;
    let used = [&first, &last].map(|reply| reply.outcome.usage.cpu_ms);
    assert!(used.iter().all(|cpu_ms| *cpu_ms < 290.0), "{used:?}");
    close(bench, session).await;
}

#[tokio::test]
async fn the_run_after_a_caller_went_away_is_protected_too() {
    let Some((bench, session)) = opened(|_| {}).await else { return };
    run(&session, "x = 1\nimport os").await;
    for _ in 0..3 {
        let cut = Duration::from_millis(200);
        let forever = session.run("x = 2\nwhile True: pass");
        assert!(tokio::time::timeout(cut, forever).await.is_err());
        let died = run(&session, "x = 3\nos._exit(1)").await;
        assert_eq!(died.state, StateAfter::Restored, "{died:#?}");
        assert_eq!(value(&session, "x").await, "1");
    }
    close(bench, session).await;
}

#[tokio::test]
async fn who_runs_when_the_session_is_closed_is_told_so() {
    let Some((bench, session)) = opened(|_| {}).await else { return };
    let branch = session.branch().await.unwrap();
    run(&branch, "1").await;
    let sleeps = "import time\nprint('here', flush=True)\ntime.sleep(1000)";
    let has_begun = async {
        let started = Instant::now();
        // Both heads run, and their copies are stopped.
        while states(session.process()).iter().filter(|state| **state != 'T').count() < 2 {
            assert!(started.elapsed() < LONG);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        session.close().await;
    };
    let (own, other, ()) = tokio::join!(session.run(sleeps), branch.run(sleeps), has_begun);
    for reply in [own, other] {
        let over = match reply {
            // It had not begun.
            Err(over) => over.to_string(),
            Ok(Reply { outcome, state, note }) => {
                assert_eq!((error(&outcome).kind, state), (Kind::Cancelled, StateAfter::Ended));
                note.unwrap()
            }
        };
        assert!(over.contains("the session is over: it was closed"), "{over}");
    }
    drop((branch, session));
    bench.close().await;
}

/// The states of all processes below this one, as the kernel writes them.
fn states(process: u32) -> Vec<char> {
    let state = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.trim_start().chars().next()
    };
    descendants(process).into_iter().filter_map(state).filter(|state| *state != 'Z').collect()
}

#[tokio::test]
async fn how_a_head_ended_is_known_although_others_are_copied() {
    let Some((bench, session)) = opened(|_| {}).await else { return };
    run(&session, "import ctypes").await;
    let branch = session.branch().await.unwrap();
    let crashes = async {
        for _ in 0..15 {
            let died = run(&session, "ctypes.string_at(0)").await;
            // Newer kernels tell it only to who may trace. Then it is not known, and nothing else is said.
            let ended = &error(&died.outcome).exit;
            let is_right = matches!(ended, None | Some(ProcessExit::Signal(11)));
            assert!(is_right, "{died:#?}");
        }
    };
    let copies = async {
        loop {
            run(&branch, "1").await;
        }
    };
    tokio::select! {
        () = crashes => {}
        () = copies => {}
    }
    drop(branch);
    close(bench, session).await;
}

#[tokio::test]
async fn a_copy_that_is_missing_is_told() {
    let Some((bench, session)) = opened(|_| {}).await else { return };
    let fails = "
import os
real = os.fork
def fork():
    raise OSError(12, 'not the words of an engine')
os.fork = fork
";
    run(&session, fails).await;
    let without = run(&session, "os.fork = real\n7").await;
    let note = without.note.unwrap();
    assert!(note.contains("no copy") && note.contains("errno 12"), "{note}");
    assert!(without.state == StateAfter::Kept && !note.contains("not the words"), "{note}");
    let with = run(&session, "8").await;
    assert_eq!((with.state, with.note), (StateAfter::Kept, None));
    assert_eq!(run(&session, "os._exit(1)").await.state, StateAfter::Restored);
    close(bench, session).await;
}

#[tokio::test]
async fn signals_of_the_code_come_in_its_runs_and_not_between_them() {
    let Some((bench, session)) = opened(|_| {}).await else { return };
    let timer = "
import os, signal
ticks = 0
def tick(*_):
    global ticks
    ticks += 1
    if late:
        raise RuntimeError('late')
late = False
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
";
    run(&session, timer).await;
    for _ in 0..10 {
        assert_eq!(run(&session, "ticks").await.state, StateAfter::Kept);
    }
    let branch = session.branch().await.unwrap();
    // A copy has no timer of its own.
    assert_eq!(value(&branch, "ticks = 5\nfor _ in range(100_000): pass\nticks").await, "5");
    let more = "first = ticks\nwhile ticks == first: pass\nticks > first";
    assert_eq!(value(&session, more).await, "true");
    assert_eq!(run(&session, "os._exit(1)").await.state, StateAfter::Restored);
    // A handler that raises does so in a run.
    run(&session, &timer.replace("late = False", "late = True")).await;
    let mut raised = 0;
    for _ in 0..10 {
        let reply = run(&session, "while True: pass").await;
        assert_eq!(reply.state, StateAfter::Kept, "{reply:#?}");
        raised += usize::from(error(&reply.outcome).type_name == "RuntimeError");
    }
    assert_eq!(raised, 10);
    drop(branch);
    close(bench, session).await;
}

#[tokio::test]
async fn whoever_forks_in_a_branch_gets_the_one_copy_or_nothing() {
    if !cfg!(target_arch = "x86_64") {
        return skip("the numbers of calls are those of x86_64");
    }
    let Some((bench, session)) = opened(|limits| limits.denials = 1_000_000).await else { return };
    drop(session);
    // In the moment in which a fork is granted: vfork, clones that share something, clone3, threads.
    let refused = [
        "58",
        "56, 17, 0, 0, 0, 0",
        "56, 0x4111, 0, 0, 0, 0",
        "56, 0x3d0f00, 0, 0, 0, 0",
        "435, 0, 0",
    ];
    // These are what a copy is made by, so they get the grant, and it is gone.
    let granted = ["57", "56, 0x1200011, 0, 0, 0, 0"];
    for call in refused.into_iter().chain(granted) {
        let session = bench.engine.session(&small(|_| {})).await.unwrap();
        let process = session.process();
        let abuse = format!(
            "
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
armed, made = False, []
def before():
    if armed:
        for _ in range(3):
            made.append(libc.syscall({call}))
            if made[-1] == 0:
                open('child', 'w').close()
                while True:
                    pass
os.register_at_fork(before=before)
"
        );
        run(&session, &abuse).await;
        run(&session, "armed = True").await;
        let is_granted = granted.contains(&call);
        let branch = session.branch().await;
        assert_eq!(branch.is_err(), is_granted, "{call}");
        if let Ok(branch) = branch {
            let told = run(&session, "armed = False\nmade").await.outcome;
            // One copy was made after the run that armed it, and one for the branch.
            assert_eq!(result(&told), "[-1,-1,-1,-1,-1,-1]", "{call}");
            // `clone3` is answered by the filter itself: libraries are to use `clone`.
            let is_told = |denial: &Denial| denial.what == "session" && denial.count >= 6;
            let is_told = told.denials.iter().any(is_told);
            assert!(is_told || call.starts_with("435"), "{call}: {:?}", told.denials);
            assert_eq!(value(&session, "os.path.exists('child')").await, "false");
            assert!(run(&branch, "1").await.outcome.error.is_none());
            // Two heads, and their copies; what was ended before may take a moment.
            let started = Instant::now();
            while states(process).len() > 4 {
                assert!(started.elapsed() < LONG, "{call}: {:?}", states(process));
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            session.close().await;
        }
        wait_until_gone(&descendants(process).into_iter().chain([process]).collect());
    }
    bench.close().await;
}

#[tokio::test]
async fn a_session_that_is_over_keeps_no_descriptors() {
    if walls() == Walls::Nested {
        return skip("in nested walls there are no sessions");
    }
    let bench = Bench::without_pool();
    // What the engine opens once is open after this.
    bench.engine.session(&small(|_| {})).await.unwrap().close().await;
    let before = open_descriptors();
    let session = bench.engine.session(&small(|limits| limits.idle_ms = 5_000)).await.unwrap();
    session.checkpoint("a").await.unwrap();
    let branch = session.branch().await.unwrap();
    value(&branch, "1").await;
    // Nobody closes it, and nobody lets it go.
    let started = Instant::now();
    while session.check().is_ok() || open_descriptors() > before {
        assert!(started.elapsed() < LONG, "{before} before, {} now", open_descriptors());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(session.check().unwrap_err().to_string().contains("is over"));
    session.close().await;
    drop((branch, session));
    bench.close().await;
}

#[tokio::test]
async fn closing_a_branch_ends_what_runs_in_it() {
    let Some((bench, session)) = opened(|limits| limits.wall_ms = 600_000).await else { return };
    let branch = Arc::new(session.branch().await.unwrap());
    let (begun, has_begun) = oneshot::channel();
    let running = tokio::spawn({
        let branch = branch.clone();
        let piece = Piece { code: "while True: pass".into(), ..Piece::default() };
        let options = RunOptions { begun: Some(begun), ..RunOptions::default() };
        async move { branch.run_with(piece, options).await }
    });
    has_begun.await.unwrap();
    branch.close().await;
    let reply = running.await.unwrap().unwrap();
    assert_eq!(error(&reply.outcome).kind, Kind::Cancelled, "{reply:#?}");
    assert_eq!(reply.state, StateAfter::Ended);
    assert!(branch.run("1").await.unwrap_err().to_string().contains("closed"));
    assert_eq!(value(&session, "1").await, "1");
    drop(branch);
    close(bench, session).await;
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[tokio::test]
async fn what_a_head_rehearses_between_runs_leaves_no_trace() {
    let Some((bench, session)) = opened(|_| {}).await else { return };
    let code = "
import linecache, sys
x, seen = 5, []
def look(frame, *_):
    seen.append(frame.f_code.co_filename)
";
    run(&session, code).await;
    let traces = "[x, [name for name in linecache.cache if 'rehears' in name]]";
    assert_eq!(value(&session, traces).await, "[5,[]]");
    // Code that looks on at everything that is run sees no code that is not its own.
    run(&session, "sys.setprofile(look)").await;
    run(&session, "y = 1").await;
    assert_eq!(value(&session, "sys.setprofile(None)\n'rehearsal' in seen").await, "false");
    let collects = "
import gc
def look(*_):
    frame, names = sys._getframe(), []
    while frame:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    seen.append('rehearse' in names and 'execute' in names)
gc.callbacks.append(look)
gc.set_threshold(1)
";
    run(&session, collects).await;
    run(&session, "y = 1").await;
    assert_eq!(value(&session, "gc.callbacks.clear()\nTrue in seen").await, "false");
    // What a rehearsal needs may be broken: that is for runs to tell.
    run(&session, "kept, linecache.cache = linecache.cache, None").await;
    assert_eq!(run(&session, "z = 1").await.state, StateAfter::Kept);
    close(bench, session).await;
}

#[tokio::test]
async fn a_process_name_that_is_no_text_hides_no_end() {
    let Some((bench, session)) = opened(|_| {}).await else { return };
    let named = "import ctypes, os\nctypes.CDLL(None).prctl(15, b'hr\\xff)')";
    assert_eq!(run(&session, named).await.state, StateAfter::Kept);
    for _ in 0..30 {
        let died = run(&session, "os._exit(3)").await;
        assert_eq!(died.state, StateAfter::Restored);
        // Newer kernels tell that only who may trace any process.
        if rustix::process::geteuid().is_root() {
            let exit = error(&died.outcome).exit;
            assert_eq!(exit, Some(ProcessExit::Code(3)), "{:?}", died.outcome);
        }
    }
    // Those that ended are waited for when the next copy is made.
    let left = descendants(session.process()).len();
    assert!(left < 20, "{left} processes are left of 30 that ended");
    close(bench, session).await;
}

#[tokio::test]
async fn what_is_shown_between_runs_does_not_hold_up_a_copy() {
    // None is allowed, so nothing waits for one that is sent.
    let Some((bench, session)) = opened(|limits| limits.displays = 0).await else { return };
    // By a thread, and by what a rehearsal calls.
    let code = "
import ast, threading, time
shown = 0
def show():
    global shown
    while True:
        display('x')
        shown += 1
        time.sleep(0.0005)
def show_and_make(*args, plain=ast.Expression):
    display('x')
    return plain(*args)
threading.Thread(target=show, daemon=True).start()
ast.Expression = show_and_make
";
    run(&session, code).await;
    for _ in 0..10 {
        let more = "before = shown\nwhile shown == before:\n    time.sleep(0.0005)\n1";
        assert_eq!(value(&session, more).await, "1");
    }
    close(bench, session).await;
}
