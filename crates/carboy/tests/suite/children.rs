//! Child processes of a jar: what `multiprocessing` needs where the policy allows them, and what is said
//! where it does not.

use carboy_protocol::{Kind, LimitName, Outcome, Walls};

use crate::support::*;

async fn with_children(bench: &Bench, code: &str) -> Outcome {
    let policy = policy(|limits| {
        limits.processes = 32;
        limits.open_files = 256;
    });
    bench.run(policy, code).await
}

#[tokio::test]
async fn multiprocessing_works_with_a_grant() {
    if walls() == Walls::Nested {
        return skip("nested walls grant no child processes");
    }
    let code = "
import multiprocessing as mp, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.shared_memory import SharedMemory

def square(n):
    return n * n

def put(queue, lock, n):
    with lock:
        queue.put(n)

def count(value):
    for _ in range(200):
        with value.get_lock():
            value.value += 1

def write(name):
    block = SharedMemory(name)
    block.buf[0] = 7
    block.close()

result = {}
with mp.Pool(3) as pool:
    result['pool'] = pool.map(square, range(4))
with ProcessPoolExecutor(2) as executor:
    result['executor'] = list(executor.map(square, range(4)))
queue, lock, value = mp.Queue(), mp.Lock(), mp.Value('i', 0)
children = [mp.Process(target=put, args=(queue, lock, n)) for n in range(3)]
children += [mp.Process(target=count, args=(value,)) for n in range(3)]
[child.start() for child in children]
result['queue'] = sorted(queue.get() for n in range(3))
[child.join() for child in children]
result['value'] = value.value
result['codes'] = sorted({child.exitcode for child in children})
block = SharedMemory(create=True, size=16)
child = mp.Process(target=write, args=(block.name,))
child.start(), child.join()
result['memory'] = block.buf[0]
block.close(), block.unlink()
child = mp.Process(target=time.sleep, args=(600,))
child.start(), child.terminate(), child.join()
result['ended'] = child.exitcode
for method in ('fork', 'spawn', 'forkserver'):
    with mp.get_context(method).Pool(2) as pool:
        result[method] = pool.map(square, [3])
";
    let bench = Bench::new();
    let outcome = with_children(&bench, code).await;
    let said: serde_json::Value = serde_json::from_str(&result(&outcome)).unwrap();
    let wanted = serde_json::json!({
        "pool": [0, 1, 4, 9], "executor": [0, 1, 4, 9], "queue": [0, 1, 2], "value": 600,
        "codes": [0], "memory": 7, "ended": -15, "fork": [9], "spawn": [9], "forkserver": [9],
    });
    assert_eq!(said, wanted);
    assert_eq!(outcome.refused().count(), 0, "{:?}", outcome.probes);
    bench.close().await;
}

#[tokio::test]
async fn semaphores_are_as_the_documentation_says() {
    let code = "
import multiprocessing as mp
import threading, time
seen = []
lock = mp.Lock()
seen.append([lock.acquire(), lock.acquire(False), lock.acquire(timeout=0.01)])
lock.release()
try:
    lock.release()
except ValueError as error:
    seen.append(str(error))
again = mp.RLock()
seen.append([again.acquire(), again.acquire(), again.release(), again.release()])
try:
    again.release()
except AssertionError as error:
    seen.append(str(error))
lock.acquire()
threading.Timer(0.05, lock.release).start()
seen.append(lock.acquire(timeout=60))
both = mp.Semaphore(2)
seen.append([both.acquire(False), both.acquire(False), both.acquire(False)])
queue = mp.Queue(1)
queue.put('x')
seen.append([queue.full(), queue.get(), mp.Event().wait(0.01)])
result = seen
";
    let bench = Bench::new();
    let said: serde_json::Value = serde_json::from_str(&result(&bench.ask(code).await)).unwrap();
    let wanted = serde_json::json!([
        [true, false, false],
        "semaphore or lock released too many times",
        [true, true, null, null],
        "attempt to release recursive lock not owned by thread",
        true,
        [true, true, false],
        [true, "x", false],
    ]);
    assert_eq!(said, wanted);
    bench.close().await;
}

#[tokio::test]
async fn without_a_grant_one_sentence_says_so() {
    let bench = Bench::new();
    for code in [
        "import multiprocessing as mp\nmp.Pool(2)",
        "import multiprocessing as mp\nmp.Process(target=print).start()",
        "import multiprocessing as mp\nmp.get_context('spawn').Process(target=print).start()",
        "from concurrent.futures import ProcessPoolExecutor as P\nP().submit(print)",
        "import os\nos.fork()",
    ] {
        let outcome = bench.ask(code).await;
        let error = error(&outcome);
        let limit = error.limit.as_ref().map(|limit| limit.name);
        assert_eq!(limit, Some(LimitName::Processes), "{code}: {error:?}");
        assert!(error.message.starts_with("the policy allows 0 child processes"), "{error:?}");
        assert!(error.hint.as_ref().is_some_and(|hint| hint.contains("threads")), "{error:?}");
    }
    bench.close().await;
}

#[tokio::test]
async fn whoever_wants_a_program_is_told_of_programs() {
    let bench = Bench::new();
    for code in
        ["import subprocess\nsubprocess.run(['ls'])", "import os\nos.posix_spawn('/x', ['x'], {})"]
    {
        let outcome = bench.ask(code).await;
        let error = error(&outcome);
        assert_eq!(error.kind, Kind::Denied, "{code}: {error:?}");
        assert!(error.hint.as_ref().unwrap().contains("no other program"), "{error:?}");
        assert!(outcome.denials.iter().all(|one| one.what == "execve"), "{:?}", outcome.denials);
    }
    bench.close().await;
}

#[tokio::test]
async fn signals_pass_only_where_there_can_be_children() {
    let code = "
import os, signal
try:
    os.kill(1, 0)
    result = 'passed'
except PermissionError:
    result = 'refused'
";
    let bench = Bench::new();
    assert_eq!(result(&bench.ask(code).await), r#""refused""#);
    if walls() != Walls::Nested {
        assert_eq!(result(&with_children(&bench, code).await), r#""passed""#);
    }
    bench.close().await;
}
