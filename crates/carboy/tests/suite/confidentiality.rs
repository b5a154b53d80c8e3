//! What the guest cannot see.

use std::fs;
use std::net::TcpListener;

use carboy_protocol::Walls;
use serde_json::Value;

use crate::support::*;

async fn value(bench: &Bench, code: &str) -> Value {
    serde_json::from_str(&result(&bench.ask(code).await)).unwrap()
}

#[tokio::test]
async fn the_environment_is_the_allow_list() {
    // The engine's own environment is full of things, PATH among them.
    assert!(std::env::var_os("PATH").is_some());
    let bench = Bench::new();
    let code = "
import os, ctypes
libc = ctypes.CDLL(None)
environ = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, 'environ')
native, i = [], 0
while environ[i]:
    native.append(environ[i].split(b'=')[0].decode())
    i += 1
result = [sorted(os.environ), sorted(native)]
";
    let known = [
        "BLIS_NUM_THREADS",
        "HOME",
        "JE_ARROW_MALLOC_CONF",
        "LANG",
        "LOGNAME",
        "LOKY_MAX_CPU_COUNT",
        "MKL_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "POLARS_MAX_THREADS",
        "RAYON_NUM_THREADS",
        "TMPDIR",
        "TZ",
        "USER",
        "_RJEM_MALLOC_CONF",
    ];
    assert_eq!(value(&bench, code).await, serde_json::json!([known, known]));
    bench.close().await;
}

#[tokio::test]
async fn a_jar_holds_five_descriptors_and_no_socket_or_directory() {
    let bench = Bench::new();
    let code = "
import os, stat
found = {}
for number in range(70):
    try: mode = os.fstat(number).st_mode
    except OSError: continue
    found[number] = stat.S_IFMT(mode) == stat.S_IFIFO and 'pipe' or stat.S_ISCHR(mode) and 'device' or oct(mode)
result = found
";
    let expected = serde_json::json!({
        "0": "device", "1": "pipe", "2": "pipe", "3": "pipe", "4": "pipe",
    });
    assert_eq!(value(&bench, code).await, expected);
    bench.close().await;
}

#[tokio::test]
async fn host_files_cannot_be_read() {
    let bench = Bench::new();
    let folder = Folder::new();
    let canary = folder.0.join("canary");
    fs::write(&canary, "the canary").unwrap();
    let up = "../".repeat(64);
    let paths: Vec<String> = [
        canary.display().to_string(),
        format!("{up}{}", canary.display()),
        format!("/proc/self/root{}", canary.display()),
        "/etc/shadow".into(),
        "/etc/machine-id".into(),
        "/proc/self/mem".into(),
        "/proc/self/mountinfo".into(),
        "/proc/version".into(),
        "/proc/cmdline".into(),
        "/sys/kernel/notes".into(),
        "/dev/kmsg".into(),
        "/dev/mem".into(),
        program().display().to_string(),
    ]
    .into();
    let code = format!(
        "
import os
read = []
for path in {paths:?}:
    for attempt in (lambda: open(path, 'rb').read(10), lambda: os.symlink(path, 'link') or open('link', 'rb').read(10)):
        try: read.append([path, repr(attempt())])
        except OSError: pass
        try: os.unlink('link')
        except OSError: pass
# For what a run is given, and this one is given nothing.
own = {{'/mnt': ['data', 'inputs', 'workspace'], '/mnt/data': [], '/mnt/inputs': [], '/mnt/workspace': []}}
for folder in ('/', '/root', '/home', '/var', '/run', '/boot', '/opt', '/srv', *own):
    try: names = sorted(os.listdir(folder))
    except OSError: continue
    if names != own.get(folder): read.append([folder, names])
result = read
"
    );
    assert_eq!(value(&bench, &code).await, serde_json::json!([]));
    bench.close().await;
}

#[tokio::test]
async fn files_that_can_be_read_cannot_be_emptied() {
    // Everything in the environment of the interpreter can be read; this file could be written by anybody.
    let venv = Folder::new();
    fs::create_dir(venv.0.join("bin")).unwrap();
    let home = python().parent().unwrap().to_path_buf();
    fs::write(venv.0.join("pyvenv.cfg"), format!("home = {}\n", home.display())).unwrap();
    let inside = venv.0.join("bin/python");
    std::os::unix::fs::symlink(python().canonicalize().unwrap(), &inside).unwrap();
    let file = venv.0.join("notes.txt");
    fs::write(&file, "unchanged").unwrap();
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    let bench = Bench::with(inside, &[]);
    let code = format!(
        "
import os
path = {file:?}
for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_WRONLY):
    try: os.close(os.open(path, flags | os.O_TRUNC))
    except OSError: pass
try: os.truncate(path, 0)
except OSError: pass
result = open(path).read()
"
    );
    assert_eq!(value(&bench, &code).await, "unchanged", "it could not be read");
    assert_eq!(fs::read_to_string(&file).unwrap(), "unchanged");
    bench.close().await;
}

#[tokio::test]
async fn host_files_cannot_be_written() {
    let bench = Bench::new();
    let folder = Folder::new();
    let canary = folder.0.join("canary");
    fs::write(&canary, "the canary").unwrap();
    let code = format!(
        "
import os, sys, json
done = []
targets = [{canary:?}, sys.executable, json.__file__, os.path.dirname(json.__file__) + '/new.py', '/usr/lib/new', '/new', '/etc/new', '/dev/shm/new', '/var/tmp/new']
for path in targets:
    for name, attempt in dict(write=lambda: open(path, 'ab').write(b'x'), remove=lambda: os.unlink(path),
                              rename=lambda: os.rename(path, path + 'x'), mode=lambda: os.chmod(path, 0o777),
                              make=lambda: os.mkdir(path + 'd'), time=lambda: os.utime(path)).items():
        try:
            attempt()
            done.append([name, path])
        except OSError: pass
result = done
"
    );
    let before = fs::metadata(&canary).unwrap();
    let done = value(&bench, &code).await;
    // Nested walls say that they changed a mode or a time, and do nothing: Landlock has no rule
    // for them.
    let pretended =
        |row: &&Value| walls() == Walls::Nested && (row[0] == "mode" || row[0] == "time");
    // In full walls this is a directory of the jar's own, whatever the host has there.
    let own =
        |row: &&Value| walls() == Walls::Full && row[1].as_str().unwrap().starts_with("/dev/shm/");
    let done = done.as_array().unwrap().iter().filter(|row| !pretended(row) && !own(row));
    let done: Vec<_> = done.collect();
    assert!(done.is_empty(), "{done:?}");
    assert!(!fs::exists("/dev/shm/new").unwrap());
    let after = fs::metadata(&canary).unwrap();
    assert_eq!(fs::read_to_string(&canary).unwrap(), "the canary");
    assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    assert_eq!(before.permissions(), after.permissions());
    bench.close().await;
}

#[tokio::test]
async fn no_other_process_and_no_host_name() {
    let bench = Bench::new();
    let code = "
import os, socket, platform
alive = []
for pid in list(range(2, 400)) + [os.getppid()]:
    try:
        os.kill(pid, 0)
        alive.append(pid)
    except OSError: pass
result = [alive, platform.node(), os.getpid(), os.getppid()]
";
    let bench_value = value(&bench, code).await;
    assert_eq!(bench_value[0], serde_json::json!([]));
    if walls() == Walls::Full {
        assert_eq!(bench_value[1], "jar");
        assert_eq!((&bench_value[2], &bench_value[3]), (&1.into(), &0.into()));
    }
    bench.close().await;
}

#[tokio::test]
async fn nothing_on_loopback_can_be_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let bench = Bench::new();
    let code = format!(
        "
import socket
reached = []
for family in range(50):
    for kind in (1, 2, 3, 5):
        for protocol in (0, 6, 17, 132, 262):
            try: reached.append([family, kind, protocol, socket.socket(family, kind, protocol).fileno()])
            except OSError: pass
for host in ('127.0.0.1', 'localhost', '0.0.0.0', '::1'):
    try: reached.append(socket.create_connection((host, {port}), timeout=1).fileno())
    except OSError: pass
result = reached
"
    );
    let outcome = bench.run(policy(|limits| limits.denials = 100_000), &code).await;
    assert_eq!(result(&outcome), "[]");
    assert!(listener.accept().is_err(), "somebody connected");
    bench.close().await;
}

#[tokio::test]
async fn the_engines_memory_is_not_in_the_jar() {
    // The zygote is another program: what the engine holds was never in its memory.
    let secret = format!("canary-{:x}-{}", std::process::id(), "heap".repeat(2));
    let held = vec![secret.clone(); 100];
    let bench = Bench::new();
    let code = format!(
        "
import gc
needle = 'heap' + 'heap'
result = sum(1 for o in gc.get_objects() if type(o) is str and needle in o and 'canary-' in o)
# {}
",
        held.len()
    );
    assert_eq!(result(&bench.ask(&code).await), "0");
    bench.close().await;
}
