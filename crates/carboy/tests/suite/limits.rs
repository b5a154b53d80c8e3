//! Every limit ends in its own named cause, with the engine alive and nothing left behind.

use carboy_protocol::{Kind, LimitName, Limits, Policy, Walls};

use crate::support::*;

/// Runs `code` with one limit changed, and shows that it ends on `name`.
async fn ends(name: LimitName, allowed: u64, change: impl FnOnce(&mut Limits), code: &str) {
    let bench = Bench::new();
    let outcome = bench.run(policy(change), code).await;
    assert_limit(&outcome, name, allowed);
    bench.close().await;
}

#[tokio::test]
async fn wall_time() {
    let sleep = "import time\ntime.sleep(60)";
    ends(LimitName::WallMs, 300, |limits| limits.wall_ms = 300, sleep).await;
}

#[tokio::test]
async fn wall_time_in_a_loop_that_catches_everything() {
    let code = "
import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True:
    try:
        while True: pass
    except BaseException: pass
";
    ends(LimitName::WallMs, 300, |limits| limits.wall_ms = 300, code).await;
}

#[tokio::test]
async fn wall_time_is_kept_while_output_drips() {
    let code = "import time\nwhile True:\n    print('.', flush=True)\n    time.sleep(0.01)";
    ends(LimitName::WallMs, 300, |limits| limits.wall_ms = 300, code).await;
}

#[tokio::test]
async fn processor_time() {
    ends(LimitName::CpuMs, 1000, |limits| limits.cpu_ms = 1000, "while True: pass").await;
}

#[tokio::test]
async fn processor_time_of_threads_together() {
    let code = "
import threading
def burn():
    while True: pass
for _ in range(3): threading.Thread(target=burn).start()
";
    ends(LimitName::CpuMs, 1000, |limits| limits.cpu_ms = 1000, code).await;
}

#[tokio::test]
async fn memory_in_one_huge_allocation() {
    let code = "x = bytearray(10**11)";
    ends(LimitName::MemoryBytes, 256 << 20, |_| {}, code).await;
}

#[tokio::test]
async fn memory_in_one_allocation_that_does_not_fit_any_more() {
    let code = "x = bytearray(150 << 20)\ny = bytearray(150 << 20)";
    ends(LimitName::MemoryBytes, 256 << 20, |_| {}, code).await;
}

#[tokio::test]
async fn memory_in_slow_growth() {
    let code = "x = []\nwhile True: x.append(object())";
    ends(LimitName::MemoryBytes, 64 << 20, |limits| limits.memory_bytes = 64 << 20, code).await;
}

#[tokio::test]
async fn memory_in_growing_text() {
    let code = "x = ['y' * 1000]\nwhile True: x.append('y' * (1000 + len(x)))";
    ends(LimitName::MemoryBytes, 64 << 20, |limits| limits.memory_bytes = 64 << 20, code).await;
}

#[tokio::test]
async fn memory_in_numpy() {
    let Some(python) = venv_python() else { return };
    let bench = Bench::with(python, &["numpy"]);
    for code in [
        "import numpy\nx = numpy.ones(10**10)",
        "import numpy\nx = []\nwhile True: x.append(numpy.ones(100_000))",
    ] {
        let outcome = bench.run(policy(|_| {}), code).await;
        assert_limit(&outcome, LimitName::MemoryBytes, 256 << 20);
    }
    bench.close().await;
}

#[tokio::test]
async fn memory_to_be_shared_counts_as_files() {
    let bench = Bench::new();
    let outcome = bench.ask("import mmap\nx = mmap.mmap(-1, 9)\nx[0] = 7\nresult = x[0]").await;
    assert_eq!(result(&outcome), "7");
    let outcome = bench.ask("import mmap\nx = mmap.mmap(-1, 1 << 30)").await;
    assert!(error(&outcome).message.contains("MAP_PRIVATE"), "{}", error(&outcome).message);
    bench.close().await;
}

#[tokio::test]
async fn a_caught_memory_error_is_not_the_end() {
    let bench = Bench::new();
    let code = "
try: x = bytearray(10**11)
except MemoryError: result = 'went on'
";
    assert_eq!(result(&bench.ask(code).await), r#""went on""#);
    bench.close().await;
}

#[tokio::test]
async fn output_on_either_stream() {
    for stream in ["stdout", "stderr"] {
        let bench = Bench::new();
        let code = format!("import sys\nwhile True: sys.{stream}.write('x' * 10_000)");
        let outcome = bench.run(policy(|_| {}), &code).await;
        assert_limit(&outcome, LimitName::PrintedBytes, 16 << 20);
        let captured = if stream == "stdout" { &outcome.stdout } else { &outcome.stderr };
        let kept = captured.text.matches('x').count() as u64;
        assert_eq!((kept, captured.omitted_bytes), (200_000, (16 << 20) - 200_000));
        assert!(captured.truncated);
        bench.close().await;
    }
}

#[tokio::test]
async fn output_on_both_streams_without_a_newline() {
    let code = "
import os
while True:
    os.write(1, b'x' * 65536)
    os.write(2, b'y' * 65536)
";
    let change = |limits: &mut Limits| limits.printed_bytes = 200_000;
    ends(LimitName::PrintedBytes, 200_000, change, code).await;
}

#[tokio::test]
async fn output_is_cut_and_the_run_goes_on() {
    let bench = Bench::new();
    let kept = Limits::default().get(LimitName::OutputBytes);
    let code = "print('begin')\nfor _ in range(10): print('x' * 100_000)\nprint('end')\nresult = 7";
    let outcome = bench.ask(code).await;
    assert_eq!(result(&outcome), "7");
    let out = &outcome.stdout;
    assert!(out.text.starts_with("begin\nxxx") && out.text.ends_with("xxx\nend\n"), "{out:?}");
    assert_eq!((out.bytes, out.omitted_bytes, out.truncated), (1_000_020, 1_000_020 - kept, true));
    assert!(out.text.contains(&format!("\n... {} bytes left out ...\n", out.omitted_bytes)));
    bench.close().await;
}

#[tokio::test]
async fn output_just_under_the_limit_is_kept_whole() {
    let bench = Bench::new();
    let outcome = bench.ask("print('x' * 199_999)").await;
    assert_eq!((outcome.stdout.bytes, outcome.stdout.truncated), (200_000, false));
    assert!(outcome.error.is_none());
    bench.close().await;
}

#[tokio::test]
async fn file_bytes() {
    for code in [
        "with open('big', 'wb') as f:\n    while True: f.write(b'x' * 65536)",
        "import itertools\nfor n in itertools.count():\n    open(f'f{n}', 'wb').write(b'x' * 500_000)",
    ] {
        ends(LimitName::FileBytes, 10 << 20, |_| {}, code).await;
    }
}

#[tokio::test]
async fn file_bytes_in_the_temporary_directory_count_too() {
    let code = "
import tempfile, os
f = open(os.path.join(tempfile.gettempdir(), 'big'), 'wb', buffering=0)
while True: f.write(b'x' * 65536)
";
    ends(LimitName::FileBytes, 10 << 20, |_| {}, code).await;
}

#[tokio::test]
async fn number_of_files() {
    let code =
        "import itertools, time\nfor n in itertools.count():\n    open(f'f{n}', 'w').close()";
    ends(LimitName::Files, 200, |limits| limits.files = 200, code).await;
    let code = "import itertools, os\nfor n in itertools.count():\n    os.mkdir(f'd{n}')";
    ends(LimitName::Files, 200, |limits| limits.files = 200, code).await;
}

#[tokio::test]
async fn open_files() {
    let code = "open('f', 'w').close()\nx = []\nwhile True: x.append(open('f'))";
    ends(LimitName::OpenFiles, 64, |_| {}, code).await;
    let bench = Bench::new();
    let code = "open('f', 'w').close()\nx = [open('f') for _ in range(64)]\nresult = len(x)";
    assert_eq!(result(&bench.ask(code).await), "64");
    bench.close().await;
}

#[tokio::test]
async fn processes() {
    let bench = Bench::new();
    let outcome = bench.ask("import os\nos.fork()").await;
    assert_limit(&outcome, LimitName::Processes, 0);
    bench.close().await;
    if walls() == Walls::Nested {
        return;
    }
    let bomb = "import os\nwhile True:\n    if os.fork() == 0: continue";
    let bench = Bench::new();
    let outcome = bench.run(policy(|limits| limits.processes = 5), bomb).await;
    assert_limit(&outcome, LimitName::Processes, 5);
    bench.close().await;
}

#[tokio::test]
async fn threads() {
    let code = "
import threading, time
started = []
def wait(): time.sleep(20)
while True:
    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    started.append(thread)
    print(len(started))
";
    let bench = Bench::new();
    for allowed in [0, 1, 4] {
        let outcome = bench.run(policy(|limits| limits.threads = allowed), code).await;
        assert_limit(&outcome, LimitName::Threads, allowed);
        assert_eq!(outcome.stdout.text.lines().count() as u64, allowed);
    }
    // Threads that have ended make room again.
    let code = "
import threading
for _ in range(50):
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
result = 'all'
";
    let outcome = bench.run(policy(|limits| limits.threads = 2), code).await;
    assert_eq!(result(&outcome), r#""all""#);
    bench.close().await;
}

#[tokio::test]
async fn a_flood_of_denials() {
    let code = "
import socket
while True:
    try: socket.socket()
    except OSError: pass
";
    let bench = Bench::new();
    let outcome = bench.run(policy(|limits| limits.denials = 50), code).await;
    assert_limit(&outcome, LimitName::Denials, 50);
    assert_eq!(outcome.denials[0].count, 51);
    bench.close().await;
}

#[tokio::test]
async fn results_that_are_too_much() {
    let bench = Bench::new();
    let outcome = bench.ask("result = 'x' * 2_000_000").await;
    assert_limit(&outcome, LimitName::ResultBytes, 1 << 20);
    let outcome = bench.ask("result = []\nfor _ in range(200): result = [result]").await;
    assert_limit(&outcome, LimitName::ResultDepth, 100);
    let outcome = bench.ask("result = []\nfor _ in range(200_000): result = [result]").await;
    assert_limit(&outcome, LimitName::ResultDepth, 100);
    let outcome = bench.ask("result = []\nresult.append(result)").await;
    assert_limit(&outcome, LimitName::ResultDepth, 100);
    let outcome = bench.ask("result = []\nfor _ in range(99): result = [result]").await;
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    let flat = || policy(|limits| limits.result_depth = 3);
    let outcome = bench.run(flat(), "result = {'a': [1, {}]}").await;
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    let outcome = bench.run(flat(), "result = {'a': [1, {'b': []}]}").await;
    assert_limit(&outcome, LimitName::ResultDepth, 3);
    let outcome = bench.ask("result = 'x' * (2 ** 20 - 2)").await;
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    bench.close().await;
}

#[tokio::test]
async fn results_that_are_not_json_under_a_strict_policy() {
    let bench = Bench::new();
    let strict = || Policy { strict: true, ..policy(|_| {}) };
    for (code, name) in [
        ("result = {1, 2}", "ResultNotJson"),
        ("result = object()", "ResultNotJson"),
        ("result = {(1, 2): 3}", "ResultNotJson"),
        ("result = b'bytes'", "ResultNotJson"),
        ("result = float('nan')", "ResultNotFinite"),
        ("result = [1, float('-inf')]", "ResultNotFinite"),
        ("result = '\\ud800'", "ResultNotText"),
        ("result = {'\\udfff': 1}", "ResultNotText"),
    ] {
        let outcome = bench.run(strict(), code).await;
        let error = error(&outcome);
        assert_eq!((error.kind, error.type_name.as_str()), (Kind::Exception, name), "{code}");
        assert!(error.hint.is_some());
    }
    // What JSON has, arrives as it is.
    let code = "result = [-0.0, 10**300, 1e300, '\\0\\u2028😀', None, True, {'': []}]";
    let expected =
        format!("[-0.0,1{},1e+300,\"\\u0000\u{2028}😀\",null,true,{{\"\":[]}}]", "0".repeat(300));
    assert_eq!(result(&bench.ask(code).await), expected);
    bench.close().await;
}

#[tokio::test]
async fn memory_by_ways_that_the_kernel_does_not_count() {
    // Written, then made read-only: no longer private writable memory, and there all the same.
    let code = "
import ctypes, mmap
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
size = 3 << 20
for n in range(1000):
    at = libc.mmap(None, size, 3, 0x22, -1, 0)
    ctypes.memset(at, 1, size)
    libc.mprotect(at, size, 1)
";
    ends(LimitName::MemoryBytes, 64 << 20, |limits| limits.memory_bytes = 64 << 20, code).await;
    let bench = Bench::new();
    let code = "
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_long
result = [libc.mmap(None, 1 << 20, 3, 0x122, -1, 0), ctypes.get_errno()]
";
    assert_eq!(result(&bench.ask(code).await), "[-1,1]");
    bench.close().await;
}

#[tokio::test]
async fn memory_of_children_together() {
    if walls() == Walls::Nested {
        return skip("nested walls grant no child processes");
    }
    let code = "
import os, time
for _ in range(3):
    if os.fork() == 0:
        x = bytearray(50 << 20)
        time.sleep(60)
time.sleep(60)
";
    let change = |limits: &mut Limits| {
        limits.memory_bytes = 64 << 20;
        limits.processes = 4;
    };
    ends(LimitName::MemoryBytes, 64 << 20, change, code).await;
}

#[tokio::test]
async fn a_result_limit_cannot_be_claimed() {
    let bench = Bench::new();
    let code = r#"
import os, struct
body = b'{"bad_result":{"fault":"too_large","detail":"x"}}'
os.write(4, struct.pack('>I', len(body)) + body)
"#;
    assert_eq!(error(&bench.ask(code).await).type_name, "BrokenFrame");
    bench.close().await;
}

#[tokio::test]
async fn files_that_try_not_to_be_counted() {
    if walls() == Walls::Full {
        return skip(
            "a file system of fixed size has nothing to miss; nested walls count by looking",
        );
    }
    for code in [
        "import os\npath = '.'\nfor n in range(70):\n    path += '/d'\n    os.mkdir(path)\nimport time\ntime.sleep(60)",
        "
import os, time
os.mkdir('hidden', 0o300)
os.chdir('hidden')
for n in range(40):
    open(f'f{n}', 'wb').write(b'x' * (5 << 20))
time.sleep(60)
",
    ] {
        let bench = Bench::new();
        let outcome = bench.ask(code).await;
        assert_eq!(error(&outcome).kind, Kind::Limit, "{:?}", outcome.error);
        bench.close().await;
    }
    let bench = Bench::new();
    let code = "
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open('f', os.O_CREAT | os.O_RDWR)
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
result = libc.fallocate(fd, 1, 0, 1 << 30)
";
    assert_eq!(result(&bench.ask(code).await), "-1");
    bench.close().await;
}
