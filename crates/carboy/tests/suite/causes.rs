//! A cause is about the end of a run: what was refused or used up before, and got over, is not why it
//! ended.

use carboy_protocol::{Kind, LimitName, Outcome, Walls};

use crate::support::*;

/// Asserts that the run ended with this exception of the code's own.
fn assert_own(outcome: &Outcome, type_name: &str) {
    let error = error(outcome);
    assert_eq!((error.kind, error.type_name.as_str()), (Kind::Exception, type_name), "{error:#?}");
    assert!(error.limit.is_none(), "{error:#?}");
}

/// Runs the code and asserts that it ended with this exception of its own.
async fn ends_with_its_own(type_name: &str, code: &str) {
    let bench = Bench::new();
    assert_own(&bench.ask(code).await, type_name);
    bench.close().await;
}

#[tokio::test]
async fn a_thread_refused_before_does_not_explain_a_later_error() {
    let refused = "
import _thread
lock = _thread.allocate_lock()
lock.acquire()
def wait():
    with lock: pass
try:
    for _ in range(40): _thread.start_new_thread(wait, ())
except RuntimeError: pass
else: raise AssertionError('no thread was refused')
lock.release()
";
    let own = "raise RuntimeError('dictionary changed size during iteration')";
    ends_with_its_own("RuntimeError", &format!("{refused}{own}")).await;
    let kernels = "d = {1: 1}\nfor key in d: d[key + 1] = 1";
    ends_with_its_own("RuntimeError", &format!("{refused}{kernels}")).await;
}

#[tokio::test]
async fn a_child_refused_before_does_not_explain_a_later_error() {
    let refused = "
import os
try: os.fork()
except OSError: pass
";
    let own = "raise PermissionError(1, 'my own check: user may not do this')";
    ends_with_its_own("PermissionError", &format!("{refused}{own}")).await;
    let empty = "r, w = os.pipe()\nos.set_blocking(r, False)\nos.read(r, 1)";
    ends_with_its_own("BlockingIOError", &format!("{refused}{empty}")).await;
    if walls() == Walls::Nested {
        return;
    }
    // A child too many is refused with the same answer that an empty pipe gives.
    let too_many = "
import os
for _ in range(2):
    try:
        if os.fork() == 0: os._exit(0)
    except OSError: pass
";
    let bench = Bench::new();
    let outcome =
        bench.run(policy(|limits| limits.processes = 1), &format!("{too_many}{empty}")).await;
    // Interpreters before 3.11 do not know which call it was.
    if error(&outcome).kind != Kind::Limit || !is_old().await {
        assert_own(&outcome, "BlockingIOError");
    }
    let outcome = bench
        .run(policy(|limits| limits.processes = 1), "import os\nfor _ in range(2): os.fork()")
        .await;
    assert_limit(&outcome, LimitName::Processes, 1);
    bench.close().await;
}

/// Whether the interpreter under test is older than 3.11.
async fn is_old() -> bool {
    let bench = Bench::new();
    let outcome = bench.ask("import sys\nresult = sys.version_info < (3, 11)").await;
    result(&outcome) == "true"
}

#[tokio::test]
async fn memory_refused_before_does_not_explain_a_later_error() {
    let refused = "
import mmap
try: mmap.mmap(-1, 1 << 40, flags=mmap.MAP_PRIVATE, prot=0)
except Exception: pass
raise MemoryError('mine')
";
    ends_with_its_own("MemoryError", refused).await;
    let reserved = "
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
address = libc.mmap(None, ctypes.c_size_t(1 << 30), 0, 0x4022, -1, 0)
raise MemoryError(str(address))
";
    ends_with_its_own("MemoryError", reserved).await;
    let bench = Bench::new();
    let caught = "
try: x = bytearray(1 << 30)
except MemoryError: pass
x = bytearray(1 << 30)
";
    assert_limit(&bench.ask(caught).await, LimitName::MemoryBytes, 256 << 20);
    bench.close().await;
}

#[tokio::test]
async fn a_socket_refused_before_does_not_explain_a_later_error() {
    let code = "
import socket
try: socket.socket()
except OSError: pass
raise PermissionError(1, 'mine')
";
    ends_with_its_own("PermissionError", code).await;
    let bench = Bench::new();
    let outcome = bench.ask("import socket\nsocket.socket()").await;
    assert_eq!(error(&outcome).kind, Kind::Denied);
    bench.close().await;
}

#[tokio::test]
async fn a_frame_that_is_no_result_has_no_depth() {
    let bench = Bench::new();
    let code = "
import os, time
body = b'[' * 200
os.write(4, len(body).to_bytes(4, 'big') + body)
time.sleep(60)
";
    let outcome = bench.ask(code).await;
    let error = error(&outcome);
    assert_eq!((error.kind, error.type_name.as_str()), (Kind::Crash, "BrokenFrame"), "{error:#?}");
    let deep = "result = []\nfor _ in range(200): result = [result]";
    assert_limit(&bench.ask(deep).await, LimitName::ResultDepth, 100);
    bench.close().await;
}

#[tokio::test]
async fn pages_that_children_share_are_counted_once() {
    if walls() == Walls::Nested {
        return;
    }
    let bench = Bench::new();
    let code = "
import os, time
x = bytearray(100 << 20)
for at in range(0, len(x), 4096): x[at] = 1
children = []
for _ in range(3):
    read, write = os.pipe()
    if os.fork() == 0:
        TOUCH
        os.write(write, b'.')
        time.sleep(60)
        os._exit(0)
    os.read(read, 1)
# Long enough for some measurements.
time.sleep(0.3)
result = 'done'
";
    let four = |limits: &mut carboy_protocol::Limits| limits.processes = 4;
    let outcome = bench.run(policy(four), &code.replace("TOUCH", "pass")).await;
    assert_eq!(result(&outcome), r#""done""#);
    let touch = "for at in range(0, len(x), 4096): x[at] = 2";
    let outcome = bench.run(policy(four), &code.replace("TOUCH", touch)).await;
    assert_limit(&outcome, LimitName::MemoryBytes, 256 << 20);
    bench.close().await;
}

#[tokio::test]
async fn a_full_disk_is_named_whatever_the_library_says_of_it() {
    let Some(python) = venv_python() else { return };
    let bench = Bench::with(python, &["numpy"]);
    let code = "import numpy\nnumpy.save('x.npy', numpy.ones(2_000_000))";
    assert_limit(&bench.ask(code).await, LimitName::FileBytes, 10 << 20);
    bench.close().await;
}
