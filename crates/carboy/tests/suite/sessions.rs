//! Sessions: state that persists, and outlives the runs that die.

use std::time::{Duration, Instant};

use carboy_engine::{RunError, RunOptions, Session};
use carboy_protocol::{Kind, LimitName, Limits, Piece, Policy, Reply, StateAfter, Walls};
use tokio::sync::oneshot;

use crate::support::*;

/// An engine with a session, or a reason to skip: in nested walls there are none.
pub async fn opened(change: impl FnOnce(&mut Limits)) -> Option<(Bench, Session)> {
    if walls() == Walls::Nested {
        skip("in nested walls there are no sessions");
        return None;
    }
    let bench = Bench::new();
    let session = bench.engine.session(&small(change)).await.unwrap();
    Some((bench, session))
}

/// A policy of which a small machine can hold several sessions.
pub fn small(change: impl FnOnce(&mut Limits)) -> Policy {
    policy(|limits| {
        limits.session_memory_bytes = 128 << 20;
        change(limits);
    })
}

pub async fn run(session: &Session, code: &str) -> Reply {
    session.run(code).await.unwrap()
}

/// The result of code that ends well.
pub async fn value(session: &Session, code: &str) -> String {
    let reply = run(session, code).await;
    assert_eq!(reply.state, StateAfter::Kept, "{reply:#?}");
    result(&reply.outcome)
}

/// Closes both, and shows that nothing is left.
pub async fn close(bench: Bench, session: Session) {
    session.close().await;
    assert!(is_gone(session.process()));
    drop(session);
    bench.close().await;
}

#[tokio::test]
async fn state_persists_and_each_run_has_its_own_answer() {
    let Some((bench, session)) = opened(|_| {}).await else { return };
    let first =
        run(&session, "x = 1\nimport math\ndef twice(n):\n    return 2 * n\nprint('one')").await;
    assert_eq!(first.outcome.stdout.text, "one\n");
    assert!(first.outcome.result.is_none() && first.outcome.error.is_none());
    assert_eq!(value(&session, "x += 1\ntwice(x) + math.floor(0.5)").await, "4");
    // What an earlier run assigned to `result` is not the answer of a later one.
    assert_eq!(value(&session, "result = 7").await, "7");
    assert!(run(&session, "y = 1").await.outcome.result.is_none());
    assert_eq!(value(&session, "result + y").await, "8");
    assert_eq!(value(&session, "result = result + 1").await, "8");
    assert_eq!(run(&session, "print('two')").await.outcome.stdout.text, "two\n");
    assert_eq!(
        value(&session, "import os\n[os.getpid() > 1, __name__]").await,
        r#"[true,"__main__"]"#
    );
    close(bench, session).await;
}

#[tokio::test]
async fn an_exception_keeps_what_the_code_reached_unless_it_is_to_be_undone() {
    let Some((bench, session)) = opened(|_| {}).await else { return };
    run(&session, "def divide(n):\n    return 1 / n").await;
    let failed = run(&session, "x = 1\n\ndivide(0)\nx = 2").await;
    assert_eq!(failed.state, StateAfter::Kept);
    let error = error(&failed.outcome);
    assert_eq!(
        (error.kind, error.type_name.as_str(), error.line),
        (Kind::Exception, "ZeroDivisionError", Some(3))
    );
    // Lines of an earlier run are found where it was.
    let trace = error.traceback.as_ref().unwrap();
    assert!(trace.contains("run-1.py") && trace.contains("return 1 / n"), "{trace}");
    assert_eq!(value(&session, "x").await, "1");
    let piece = Piece { code: "x = 3\n1 / 0".into(), rollback: true, ..Piece::default() };
    let undone = session.run_with(piece, RunOptions::default()).await.unwrap();
    assert_eq!(undone.state, StateAfter::Restored);
    assert_eq!(value(&session, "x").await, "1");
    let left = run(&session, "x = 5\nimport sys\nsys.exit(3)").await;
    assert_eq!(left.state, StateAfter::Kept);
    assert_eq!(value(&session, "x").await, "5");
    close(bench, session).await;
}

#[tokio::test]
async fn a_run_that_dies_leaves_the_session_as_it_was_before() {
    let limits = |limits: &mut Limits| {
        limits.memory_bytes = 64 << 20;
        limits.printed_bytes = 1 << 20;
        limits.denials = 50;
    };
    let Some((bench, session)) = opened(limits).await else { return };
    run(&session, "import random\nrandom.seed(7)\nx = [1]\nn = 0").await;
    let drawn = value(&session, "n += 1\nrandom.random()").await;
    let deaths = [
        ("import ctypes\nctypes.string_at(0)", Kind::Crash),
        ("import os\nos._exit(3)", Kind::Crash),
        ("y = bytearray(200 << 20)", Kind::Limit),
        ("y = [0] * 10\nwhile True:\n    y += y", Kind::Limit),
        ("while True:\n    print('x' * 10000)", Kind::Limit),
        (
            "import socket\nwhile True:\n    try:\n        socket.socket()\n    except OSError:\n        pass",
            Kind::Limit,
        ),
        ("import os\nos.close(4)\nwhile True:\n    pass", Kind::Crash),
    ];
    let mut last = drawn;
    for (code, kind) in deaths {
        let code = format!("x.append(2)\nn = 100\nrandom.seed(1)\n{code}");
        let reply = run(&session, &code).await;
        assert_eq!(error(&reply.outcome).kind, kind, "{code}: {:#?}", reply.outcome.error);
        assert_eq!((reply.state, reply.note), (StateAfter::Restored, None), "{code}");
        let now = value(&session, "n += 1\n[x, n, random.random()]").await;
        assert!(now.starts_with("[[1],"), "{code}: {now}");
        assert_ne!(now, last);
        last = now;
    }
    assert!(last.starts_with(&format!("[[1],{},", deaths.len() + 1)), "{last}");
    session.close().await;
    drop(session);
    // The same numbers as in a session in which nothing died.
    let other = bench.engine.session(&small(|_| {})).await.unwrap();
    run(&other, "import random\nrandom.seed(7)\nn = 0").await;
    let draws = format!("for _ in range({}):\n    y = random.random()\ny", deaths.len() + 1);
    assert!(last.ends_with(&format!(",{}]", value(&other, &draws).await)), "{last}");
    close(bench, other).await;
}

#[tokio::test]
async fn a_run_that_takes_too_long_or_is_cancelled_leaves_the_session_as_it_was() {
    let Some((bench, session)) = opened(|limits| limits.wall_ms = 4_000).await else { return };
    run(&session, "x = 1").await;
    let late = run(&session, "x = 2\nwhile True:\n    pass").await;
    assert_limit(&late.outcome, LimitName::WallMs, 4_000);
    assert_eq!((late.state, value(&session, "x").await.as_str()), (StateAfter::Restored, "1"));
    session.close().await;
    drop(session);

    let session = bench.engine.session(&small(|limits| limits.cpu_ms = 1_000)).await.unwrap();
    run(&session, "x = 1").await;
    // Each run has its own time.
    for _ in 0..3 {
        let code = "import time\nuntil = time.process_time() + 0.5\nwhile time.process_time() < until:\n    pass";
        assert!(run(&session, code).await.outcome.error.is_none());
    }
    let busy = run(&session, "x = 2\nwhile True:\n    pass").await;
    assert_limit(&busy.outcome, LimitName::CpuMs, 1_000);
    assert_eq!((busy.state, value(&session, "x").await.as_str()), (StateAfter::Restored, "1"));

    let (chunks, mut printed) = tokio::sync::mpsc::channel(4);
    let (stop, cancel) = oneshot::channel();
    let piece = Piece {
        code: "x = 3\nprint('in')\nimport time\ntime.sleep(1000)".into(),
        ..Piece::default()
    };
    let options =
        RunOptions { chunks: Some(chunks), cancel: Some(cancel), ..RunOptions::default() };
    let stopped = tokio::join!(session.run_with(piece, options), async {
        printed.recv().await.unwrap();
        stop.send(()).unwrap();
    });
    let stopped = stopped.0.unwrap();
    assert_eq!(
        (error(&stopped.outcome).kind, stopped.state),
        (Kind::Cancelled, StateAfter::Restored)
    );
    assert_eq!(value(&session, "x").await, "1");

    // A caller that goes away ends its run, and nothing else.
    let piece = Piece { code: "x = 4\nwhile True:\n    pass".into(), ..Piece::default() };
    let left = session.run_with(piece, RunOptions::default());
    assert!(tokio::time::timeout(Duration::from_millis(300), left).await.is_err());
    assert_eq!(value(&session, "x").await, "1");
    close(bench, session).await;
}

#[tokio::test]
async fn files_stay_and_each_run_names_those_that_it_changed() {
    let Some((bench, session)) = opened(|_| {}).await else { return };
    let names = |reply: &Reply| {
        reply.outcome.artifacts.iter().map(|artifact| artifact.path.clone()).collect::<Vec<_>>()
    };
    let first = run(&session, "open('a.txt', 'w').write('one')").await;
    assert_eq!(names(&first), ["a.txt"]);
    // The clock by which the kernel marks files ticks every few milliseconds.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let second = run(&session, "open('b.txt', 'w').write('two')\nopen('a.txt').read()").await;
    assert_eq!(
        (names(&second).as_slice(), result(&second.outcome).as_str()),
        (&["b.txt".to_owned()][..], "\"one\"")
    );
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(names(&run(&session, "1").await).is_empty());
    close(bench, session).await;
}

#[tokio::test]
async fn a_session_ends_when_nobody_uses_it_and_when_it_is_old() {
    let Some((bench, session)) = opened(|limits| limits.idle_ms = 300).await else { return };
    assert_over(&session, &LimitName::IdleMs.row().crossed(300)).await;
    let old = bench.engine.session(&small(|limits| limits.lifetime_ms = 300)).await.unwrap();
    assert_over(&old, &LimitName::LifetimeMs.row().crossed(300)).await;
    drop((session, old));
    bench.close().await;
}

/// Waits until a session is over, without using it.
async fn assert_over(session: &Session, why: &str) {
    let started = Instant::now();
    while !is_gone(session.process()) {
        assert!(started.elapsed() < LONG);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let over = session.run("1").await.unwrap_err();
    assert!(matches!(over, RunError::Request(_)) && over.to_string().contains(why), "{over}");
}

#[tokio::test]
async fn what_cannot_hold_a_session_says_so() {
    let bench = Bench::new();
    let refused = async |policy: Policy, words: &str| {
        let error = bench.engine.session(&policy).await.err().unwrap().to_string();
        assert!(error.contains(words), "{error}");
    };
    let nested = Policy { walls: Walls::Nested, ..policy(|_| {}) };
    refused(nested, "in nested walls a session cannot be held").await;
    let full = |change: fn(&mut Limits)| Policy { walls: Walls::Full, ..policy(change) };
    refused(full(|limits| limits.processes = 1), "cannot be granted child processes").await;
    let mut guarded = full(|_| {});
    guarded.language.profile = carboy_protocol::LanguageProfile::Agent;
    refused(guarded, "under a language profile").await;
    bench.close().await;
}

#[tokio::test]
async fn branches_go_their_own_ways_beside_each_other() {
    let Some((bench, session)) = opened(|limits| limits.heads = 3).await else { return };
    run(&session, "import random\nrandom.seed(3)\nx = [0]").await;
    let (one, two) = (session.branch().await.unwrap(), session.branch().await.unwrap());
    let full = session.branch().await.err().unwrap();
    assert_eq!(full.to_string(), LimitName::Heads.row().crossed(3));
    let grow = |number: u32| format!("x.append({number})\n[x, random.random()]");
    let (grow_one, grow_two) = (grow(1), grow(2));
    let (a, b, c) = tokio::join!(
        value(&one, &grow_one),
        value(&two, &grow_two),
        value(&session, "[x, random.random()]")
    );
    assert!(a.starts_with("[[0,1],") && b.starts_with("[[0,2],") && c.starts_with("[[0],"));
    // Each goes on as the session would have: with the same numbers.
    let drawn = |text: &str| text.rsplit(',').next().unwrap().to_owned();
    assert_eq!((drawn(&a), drawn(&b)), (drawn(&c), drawn(&c)));
    // A branch that dies is restored, and nobody else notices.
    let dead = run(&one, "x.append(9)\nimport ctypes\nctypes.string_at(0)").await;
    assert_eq!(dead.state, StateAfter::Restored);
    assert_eq!(value(&one, "x").await, "[0,1]");
    // Two runs that wait for each other end only if they run at once. Files are shared.
    let meet = |own: &str, other: &str| {
        format!(
            "import os, time\nopen('{own}', 'w').close()\nwhile not os.path.exists('{other}'):\n    time.sleep(0.01)\nx"
        )
    };
    let (left, right) = (meet("left", "right"), meet("right", "left"));
    let (a, b) = tokio::join!(value(&one, &left), value(&two, &right));
    assert_eq!((a.as_str(), b.as_str()), ("[0,1]", "[0,2]"));
    // A place that is given back can be had again, and a branch can be branched.
    two.close().await;
    assert!(two.run("1").await.is_err());
    drop(two);
    let deep = one.branch().await.unwrap();
    assert_eq!(value(&deep, "x.append(3)\nx").await, "[0,1,3]");
    assert_eq!(value(&one, "x").await, "[0,1]");
    // Processes of heads: nothing of one is to be seen or ended by another.
    let look = "import os\nfound = []\nfor pid in range(1, 40):\n    if pid != os.getpid():\n        try:\n            os.kill(pid, 0)\n            found.append(pid)\n        except PermissionError:\n            pass\nfound";
    assert_eq!(value(&deep, look).await, "[]");
    session.close().await;
    assert!(one.run("1").await.is_err() && deep.run("1").await.is_err());
    drop((one, deep));
    close(bench, session).await;
}

#[tokio::test]
async fn checkpoints_are_kept_by_name_and_gone_back_to() {
    let Some((bench, session)) = opened(|limits| limits.heads = 3).await else { return };
    run(&session, "x = 1").await;
    session.checkpoint("one").await.unwrap();
    run(&session, "x = 2").await;
    session.checkpoint("two").await.unwrap();
    assert!(session.checkpoint("three").await.unwrap_err().to_string().contains("3 heads"));
    run(&session, "x = 3").await;
    for (name, expected) in [("one", "1"), ("two", "2"), ("one", "1")] {
        session.rollback(name).await.unwrap();
        assert_eq!(value(&session, "x").await, expected);
        assert_eq!(
            run(&session, "x = 9\nimport os\nos._exit(1)").await.state,
            StateAfter::Restored
        );
        assert_eq!(value(&session, "x").await, expected);
        run(&session, "x = 4").await;
    }
    session.checkpoint("two").await.unwrap();
    assert_eq!(session.checkpoints().await.unwrap(), ["one", "two"]);
    session.drop_checkpoint("one").await.unwrap();
    assert_eq!(session.checkpoints().await.unwrap(), ["two"]);
    for gone in [session.rollback("one").await, session.drop_checkpoint("one").await] {
        assert!(gone.unwrap_err().to_string().contains("no checkpoint `one`"));
    }
    session.rollback("two").await.unwrap();
    assert_eq!(value(&session, "x").await, "4");
    close(bench, session).await;
}

#[tokio::test]
async fn what_a_copy_would_lack_or_share_is_named() {
    let Some((bench, session)) = opened(|_| {}).await else { return };
    let thread = "import threading\ngo = threading.Event()\nthread = threading.Thread(target=go.wait)\nthread.start()\nx = 1";
    run(&session, thread).await;
    for refused in
        [session.branch().await.err().unwrap(), session.checkpoint("a").await.unwrap_err()]
    {
        assert!(refused.to_string().contains("1 threads beside the main one"), "{refused}");
    }
    // The thread is there in the next run, and is gone from what is restored.
    assert_eq!(value(&session, "x = 2\nthread.is_alive()").await, "true");
    let dead = run(&session, "import os\nos._exit(1)").await;
    assert_eq!(dead.state, StateAfter::Restored);
    assert!(dead.note.unwrap().contains("1 threads"));
    assert_eq!(value(&session, "[x, thread.is_alive()]").await, "[2,false]");
    // A pipe of its own would be one between branches.
    run(&session, "import os\nr, w = os.pipe()").await;
    let shared = session.branch().await.err().unwrap();
    assert!(shared.to_string().contains("a pipe, a socket or an event loop open"), "{shared}");
    assert_eq!(value(&session, "os.close(r)\nos.close(w)\nx").await, "2");
    let branch = session.branch().await.unwrap();
    assert_eq!(value(&branch, "x").await, "2");
    // Descriptors that lead to where this one answers are not taken along.
    run(&session, "kept = os.dup(4)").await;
    let shared = session.branch().await.err().unwrap();
    assert!(shared.to_string().contains("the session's own pipes"), "{shared}");
    drop(branch);
    close(bench, session).await;
}

#[tokio::test]
async fn the_one_fork_that_is_granted_is_no_other() {
    let Some((bench, session)) = opened(|limits| limits.denials = 1_000_000_000).await else {
        return;
    };
    // Threads that fork in every way, all the time, also while the session is copied.
    let race = "
import ctypes, threading, os
libc = ctypes.CDLL(None, use_errno=True)
def race(number, *args):
    while True:
        made = libc.syscall(number, *args)
        if made == 0:
            open(f'child-{os.getpid()}', 'w').close()
            os._exit(0)
        if made > 0:
            open(f'made-{made}', 'w').close()
calls = [(57,), (58,), (56, 17, 0, 0, 0, 0), (56, 0x1200011, 0, 0, 0, 0), (435, 0, 0)]
for call in calls:
    threading.Thread(target=race, args=call, daemon=True).start()
";
    if cfg!(target_arch = "x86_64") {
        run(&session, race).await;
        for _ in 0..20 {
            let found = value(&session, "[name for name in os.listdir('.')]").await;
            assert_eq!(found, "[]");
        }
        // The head and its copy; what was ended before may take a moment.
        let below =
            || descendants(session.process()).into_iter().filter(|pid| !is_gone(*pid)).count();
        let started = Instant::now();
        while below() > 2 {
            assert!(started.elapsed() < LONG, "{} processes", below());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    session.close().await;
    drop(session);
    // One that uses the grant for something else has no session any more.
    let session = bench.engine.session(&small(|_| {})).await.unwrap();
    let process = session.process();
    let hook = "
import os
def first():
    global first
    hook, first = first, None
    if hook:
        os.fork()
os.register_at_fork(before=lambda: first and first())
";
    run(&session, hook).await;
    let over = session.run("1").await.unwrap_err();
    assert!(over.to_string().contains("the session is over"), "{over}");
    wait_until_gone(&descendants(process).into_iter().chain([process]).collect());
    drop(session);
    bench.close().await;
}

#[tokio::test]
async fn all_heads_together_have_one_limit_of_memory() {
    let limits = |limits: &mut Limits| {
        limits.memory_bytes = 256 << 20;
        limits.session_memory_bytes = 96 << 20;
    };
    let Some((bench, session)) = opened(limits).await else { return };
    run(
        &session,
        "data = bytearray(60 << 20)\nfor n in range(0, len(data), 4096):\n    data[n] = 1",
    )
    .await;
    // What is shared counts once.
    let branch = session.branch().await.unwrap();
    assert_eq!(value(&branch, "len(data)").await, (60 << 20).to_string());
    let over = run(
        &branch,
        "import time\nfor n in range(0, len(data), 4096):\n    data[n] = 2\ntime.sleep(30)",
    )
    .await;
    assert_limit(&over.outcome, LimitName::SessionMemoryBytes, 96 << 20);
    assert_eq!(over.state, StateAfter::Restored);
    assert_eq!(value(&branch, "sum(data) * 4096 == len(data)").await, "true");
    drop(branch);
    close(bench, session).await;
}

#[tokio::test]
async fn variables_are_told_and_tools_are_answered() {
    use carboy_engine::{Answer, ToolHost};
    let Some((bench, session)) = opened(|_| {}).await else { return };
    run(&session, "x = [1, 2]\nname = 'abc'\n_hidden = 1\ndef f(): pass\nclass Odd:\n    nbytes = property(lambda self: 1 / 0)\no = Odd()").await;
    let told = session.variables().await.unwrap();
    let of = |name: &str| {
        told.variables.iter().find(|v| v.name == name).map(|v| (v.type_name.clone(), v.size))
    };
    assert_eq!(of("x"), Some(("list".into(), Some(2))));
    assert_eq!(of("name"), Some(("str".into(), Some(3))));
    assert_eq!(of("o"), Some(("__main__.Odd".into(), None)));
    assert_eq!((of("f").unwrap().0.as_str(), of("_hidden"), told.more), ("function", None, 0));
    run(&session, "globals().update({f'v{n}': n for n in range(2000)})").await;
    let told = session.variables().await.unwrap();
    assert_eq!((told.variables.len(), told.more), (1_000, 1_005));
    // A tool is called in the runs that offer it.
    for number in 1..4_u32 {
        let (calls, mut called) = tokio::sync::mpsc::channel(4);
        let (answers, answered) = tokio::sync::mpsc::channel(4);
        let tool = carboy_protocol::Tool { name: "ask".into(), ..Default::default() };
        let piece = Piece { code: "ask(x)".into(), tools: vec![tool], ..Piece::default() };
        let host = ToolHost { calls, answers: answered };
        let options = RunOptions { tools: Some(host), ..RunOptions::default() };
        let (reply, ()) = tokio::join!(session.run_with(piece, options), async {
            let call = called.recv().await.unwrap();
            let value = serde_json::value::to_raw_value(&number).unwrap();
            answers.send(Answer { call: call.call, result: Ok(Some(value)) }).await.unwrap();
        });
        assert_eq!(result(&reply.unwrap().outcome), number.to_string());
    }
    close(bench, session).await;
}
