//! What is refused, and that the outcome says so.

use carboy_protocol::{Denial, Kind, Layer, LimitName, Walls};

use crate::support::*;

/// Calls the kernel directly, with harmless arguments.
fn direct(calls: &[(&str, u32)]) -> String {
    let list: Vec<String> = calls.iter().map(|(name, nr)| format!("('{name}', {nr})")).collect();
    format!(
        "
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
result = {{}}
for name, number in [{}]:
    answer = libc.syscall(number, 0, 0, 0, 0, 0, 0)
    result[name] = [answer, ctypes.get_errno()]
",
        list.join(", ")
    )
}

#[tokio::test]
async fn plausible_offences_are_named_counted_and_hinted() {
    let bench = Bench::new();
    let calls = [
        ("socket", 41),
        ("connect", 42),
        ("execve", 59),
        ("fork", 57),
        ("ptrace", 101),
        ("mount", 165),
        ("unshare", 272),
        ("bpf", 321),
        ("io_uring_setup", 425),
        ("keyctl", 250),
        ("userfaultfd", 323),
        ("perf_event_open", 298),
    ];
    let outcome = bench.ask(&direct(&calls)).await;
    let answers: serde_json::Value = serde_json::from_str(&result(&outcome)).unwrap();
    for (name, _) in calls {
        let errno = if name == "io_uring_setup" { 38 } else { 1 };
        assert_eq!(answers[name], serde_json::json!([-1, errno]), "{name}");
        let denial = outcome.probes.iter().find(|denial| denial.what == name);
        let denial = denial.unwrap_or_else(|| panic!("{name} is not in {:?}", outcome.probes));
        assert_eq!((denial.layer, denial.count), (Layer::Seccomp, 1), "{name}");
        assert!(denial.hint.len() > 20, "{name}");
    }
    assert_eq!(outcome.probes.len(), calls.len());
    assert!(outcome.denials.is_empty(), "the run ended well");
    bench.close().await;
}

#[tokio::test]
async fn ordinary_python_meets_the_same_answers() {
    let bench = Bench::new();
    let code = "
import socket, subprocess, os, urllib.request
seen = []
for attempt in (lambda: socket.create_connection(('127.0.0.1', 9)),
                lambda: subprocess.run(['true']),
                lambda: os.execv('/bin/true', ['true']),
                lambda: os.kill(1, 9),
                os.fork):
    try:
        attempt()
    except OSError as error:
        seen.append(type(error).__name__)
result = seen
";
    let outcome = bench.ask(code).await;
    assert_eq!(result(&outcome).matches("PermissionError").count(), 5, "{}", result(&outcome));
    let names: Vec<_> = outcome.probes.iter().map(|denial| denial.what.as_str()).collect();
    for name in ["socket", "fork", "execve", "kill"] {
        assert!(names.contains(&name), "{names:?}");
    }
    bench.close().await;
}

#[tokio::test]
async fn a_run_that_ends_on_a_refusal_is_denied() {
    let bench = Bench::new();
    let outcome = bench.ask("import socket\n\nsocket.socket()").await;
    let error = error(&outcome);
    assert_eq!((error.kind, error.type_name.as_str()), (Kind::Denied, "PermissionError"));
    assert_eq!(error.line, Some(3));
    assert!(error.hint.as_ref().unwrap().contains("no network"));
    assert_eq!(outcome.denials[0].what, "socket");
    assert!(outcome.probes.is_empty(), "the run did not end well");
    bench.close().await;
}

#[tokio::test]
async fn a_run_out_of_time_was_not_denied_what_it_got_over() {
    let bench = Bench::new();
    let code = "
import os, time
def attempt(call):
    try:
        call()
    except PermissionError:
        pass
attempt(os.fork)
while True:
    attempt(lambda: os.kill(1, 9))
    time.sleep(0.05)
";
    let outcome = bench.run(policy(|limits| limits.wall_ms = 5_000), code).await;
    assert_eq!(error(&outcome).limit.as_ref().map(|hit| hit.name), Some(LimitName::WallMs));
    let names = |list: &[Denial]| list.iter().map(|one| one.what.clone()).collect::<Vec<_>>();
    assert_eq!(names(&outcome.denials), ["kill"], "it was tried until the end");
    assert_eq!(names(&outcome.probes), ["fork"], "it was tried once, at the beginning");
    bench.close().await;
}

#[tokio::test]
async fn a_call_that_no_rule_names_is_an_error_that_is_counted() {
    let bench = Bench::new();
    let outcome = bench.ask(&direct(&[("beyond", 599), ("all", 600), ("ustat", 136)])).await;
    let answers: serde_json::Value = serde_json::from_str(&result(&outcome)).unwrap();
    for name in ["beyond", "all", "ustat"] {
        assert_eq!(answers[name], serde_json::json!([-1, 38]), "{name}");
    }
    let counted: Vec<_> = outcome.probes.iter().map(|d| (d.what.as_str(), d.count)).collect();
    assert_eq!(counted, [("unknown", 2)]);
    assert!(outcome.probes[0].hint.len() > 20);
    bench.close().await;
}

#[tokio::test]
async fn the_x32_entry_ends_the_run() {
    let bench = Bench::new();
    let outcome = bench.ask(&direct(&[("getpid", 0x4000_0000 + 39)])).await;
    let error = error(&outcome);
    assert_eq!((error.kind, error.type_name.as_str()), (Kind::Denied, "SIGSYS"));
    assert!(error.message.contains("x32"), "{}", error.message);
    bench.close().await;
}

#[tokio::test]
async fn the_32_bit_entry_ends_the_run() {
    // mov eax, 20 (getpid); int 0x80; ret
    let code = "
import ctypes, mmap
page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)
page.write(b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3')
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
";
    let bench = Bench::new();
    let outcome = bench.ask(code).await;
    assert_eq!(error(&outcome).type_name, "SIGSYS", "{:?}", outcome.result);
    bench.close().await;
}

#[tokio::test]
async fn high_bits_do_not_hide_a_refused_argument() {
    let code = "
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.argtypes = [ctypes.c_long] * 7
tiocsti, family = 0x5412 | 1 << 40, 2 | 1 << 40
result = [libc.syscall(16, 0, tiocsti, 0, 0, 0, 0), libc.syscall(53, family, 1, 0, 0, 0, 0)]
";
    let bench = Bench::new();
    let outcome = bench.ask(code).await;
    assert_eq!(result(&outcome), "[-1,-1]");
    let names: Vec<_> = outcome.probes.iter().map(|denial| denial.what.as_str()).collect();
    assert_eq!(names, ["ioctl", "socketpair"]);
    bench.close().await;
}

#[tokio::test]
async fn a_granted_child_process_runs_and_dies_with_the_jar() {
    if walls() == Walls::Nested {
        return skip("nested walls grant no child processes");
    }
    let bench = Bench::new();
    let code = "
import os, time
reader, writer = os.pipe()
if os.fork() == 0:
    os.write(writer, b'child')
    time.sleep(60)
result = os.read(reader, 5).decode()
";
    let outcome = bench.run(policy(|limits| limits.processes = 1), code).await;
    assert_eq!(result(&outcome), r#""child""#);
    bench.close().await;
}

#[tokio::test]
async fn sockets_stay_in_the_jar() {
    // A datagram pair could be addressed, a message could carry descriptors.
    let code = "
import socket, os, array
os.dup2(0, 5)  # taken, so that no pair gets this number
kept, refused = [], []
for attempt in (lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM),
                lambda: a.sendto(b'x', '/tmp/x'),
                lambda: a.send(b'x', socket.MSG_OOB),
                lambda: a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [1]))]),
                lambda: (os.dup2(a.fileno(), 5), kept.append(socket.socket(fileno=5)), kept[0].sendmsg([b'x']))):
    a, b = socket.socketpair()
    try:
        attempt()
        refused.append('done')
    except OSError as error:
        refused.append(error.errno)
a, b = socket.socketpair()
a.send(b'hello')
refused.append(b.recv(5).decode())
result = refused
";
    let bench = Bench::new();
    let outcome = bench.ask(code).await;
    assert_eq!(result(&outcome), r#"[1,1,1,1,1,"hello"]"#);
    bench.close().await;
}

#[tokio::test]
async fn a_child_that_reaches_the_end_of_the_code_does_not_answer_for_it() {
    if walls() == Walls::Nested {
        return skip("nested walls grant no child processes");
    }
    let bench = Bench::new();
    let code = "
import os
reader, writer = os.pipe()
child = os.fork() == 0
if not child:
    os.close(writer)
    os.read(reader, 1)  # the child has ended when nobody can write any more
result = 'child' if child else 'parent'
";
    let outcome = bench.run(policy(|limits| limits.processes = 1), code).await;
    assert_eq!(result(&outcome), r#""parent""#);
    bench.close().await;
}
