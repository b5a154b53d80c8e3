//! One guest beside others in the same engine: it holds nobody up, and takes nothing unseen.

use carboy_engine::{Chunk, RunOptions};
use carboy_protocol::{Job, LimitName, Policy};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::support::*;

/// Starts a hostile run and waits until it says that it has begun.
async fn begin(
    bench: &Bench,
    policy: Policy,
    code: &str,
) -> JoinHandle<Result<carboy_protocol::Outcome, carboy_engine::RunError>> {
    let (chunks, mut printed) = mpsc::channel::<Chunk>(1);
    let options = RunOptions { chunks: Some(chunks), ..RunOptions::default() };
    let job = Job::new(code).with_policy(policy);
    let engine = bench.engine.clone();
    let run = tokio::spawn(async move { engine.run_with(job, options).await });
    printed.recv().await.expect("the hostile run begins");
    run
}

/// Wishes for threads that the engine grants and the kernel then refuses: they end in no thread, no
/// denial and no processor time of the guest's.
const FUTILE_THREADS: &str = r#"
import ctypes, threading
libc = ctypes.CDLL(None, use_errno=True)
THREAD_WITH_TLS = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x80000
NO_ADDRESS = 0xffff800000000000
def ask():
    stack = ctypes.create_string_buffer(65536)
    top = ctypes.c_void_p((ctypes.addressof(stack) + 65000) & ~15)
    while libc.syscall(56, THREAD_WITH_TLS, top, 0, 0, ctypes.c_void_p(NO_ADDRESS)) == -1:
        pass
threads = [threading.Thread(target=ask) for _ in range(7)]
[thread.start() for thread in threads]
print("begun", flush=True)
[thread.join() for thread in threads]
"#;

#[tokio::test]
async fn futile_wishes_for_threads_hold_nobody_up_and_end_at_the_deadline() {
    let bench = Bench::new();
    bench.ask("result = 1").await;
    let hostile = begin(&bench, policy(|limits| limits.wall_ms = 3000), FUTILE_THREADS).await;
    for _ in 0..20 {
        assert_eq!(result(&bench.ask("result = 1").await), "1");
    }
    assert!(!hostile.is_finished(), "the others were answered only after the hostile run");
    let outcome = hostile.await.unwrap().unwrap();
    assert_limit(&outcome, LimitName::WallMs, 3000);
    // It once lived for 45 s.
    assert!(outcome.usage.wall_ms < 6000.0, "{:?}", outcome.usage);
    bench.close().await;
}

#[tokio::test]
async fn threads_start_up_to_the_limit_from_many_threads_at_once() {
    let bench = Bench::new();
    let code = r#"
import threading
gate, done = threading.Barrier(3), threading.Event()
def rest():
    done.wait()
def start():
    gate.wait()
    for _ in range(3):
        thread = threading.Thread(target=rest)
        thread.start()
starters = [threading.Thread(target=start) for _ in range(2)]
[thread.start() for thread in starters]
gate.wait()
[thread.join() for thread in starters]
result = threading.active_count()
done.set()
"#;
    let outcome = bench.run(policy(|limits| limits.threads = 8), code).await;
    assert_eq!(result(&outcome), "7");
    bench.close().await;
}

#[tokio::test]
async fn memory_taken_just_before_an_answer_is_seen() {
    let bench = Bench::new();
    // Pages that were written and made read-only again are not private memory to the kernel's limit.
    let code = r#"
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
MIB = 1 << 20
for _ in range(40):
    page = libc.mmap(None, ctypes.c_size_t(MIB), 3, 0x22, -1, ctypes.c_long(0))
    ctypes.memset(page, 1, MIB)
    libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(MIB), 1)
result = 1
"#;
    let outcome = bench.run(policy(|limits| limits.memory_bytes = 8 << 20), code).await;
    assert_limit(&outcome, LimitName::MemoryBytes, 8 << 20);
    bench.close().await;
}

#[tokio::test]
async fn files_written_just_before_an_answer_are_seen() {
    let bench = Bench::new();
    let code = r#"
for name in "abc":
    with open(name, "wb") as file:
        file.write(bytes(1 << 19))
result = 1
"#;
    let outcome = bench.run(policy(|limits| limits.file_bytes = 1 << 20), code).await;
    assert_limit(&outcome, LimitName::FileBytes, 1 << 20);
    bench.close().await;
}
