//! Kernel memory that a jar can hold, and what honest code loses where it is bounded: nothing.

use carboy_engine::RunOptions;
use carboy_protocol::Job;
use tokio::sync::mpsc;

use crate::support::*;

#[tokio::test]
async fn record_locks_never_reach_the_kernel() {
    let bench = Bench::without_pool();
    let code = "
import fcntl, os, struct, time
def lock(fd, kind, start, length, how=fcntl.F_SETLK):
    return fcntl.fcntl(fd, how, struct.pack('hhqqi4x', kind, os.SEEK_SET, start, length, 0))
mine = os.open('mine', os.O_RDWR | os.O_CREAT)
shared = os.open(os.__file__, os.O_RDONLY)
lock(mine, fcntl.F_WRLCK, 0, 0)
# Each would split the one before.
for start in range(1000, 0, -2):
    lock(mine, fcntl.F_UNLCK, start, 1)
lock(shared, fcntl.F_RDLCK, 7, 1, fcntl.F_SETLKW)
fcntl.lockf(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)
print('locked', flush=True)
time.sleep(0.2)
result = 'went on'
";
    let (sender, mut chunks) = mpsc::channel(8);
    let options = RunOptions { chunks: Some(sender), ..RunOptions::default() };
    let engine = bench.engine.clone();
    let job = Job::new(code).with_policy(policy(|_| {}));
    let run = tokio::spawn(async move { engine.run_with(job, options).await.unwrap() });
    chunks.recv().await.unwrap();
    let jars = descendants(std::process::id());
    assert!(!jars.is_empty());
    let locks = std::fs::read_to_string("/proc/locks").unwrap();
    let holder = |line: &str| line.split_whitespace().nth(4)?.parse::<u32>().ok();
    let held: Vec<&str> = locks
        .lines()
        .filter(|line| {
            line.contains("POSIX") && holder(line).is_some_and(|pid| jars.contains(&pid))
        })
        .collect();
    assert!(held.is_empty(), "{held:#?}");
    let outcome = run.await.unwrap();
    assert_eq!(result(&outcome), r#""went on""#);
    assert_eq!(outcome.refused().count(), 0, "{:?} {:?}", outcome.denials, outcome.probes);
    bench.close().await;
}

#[tokio::test]
async fn sqlite_works_on_files_in_every_journal_mode() {
    let bench = Bench::new();
    let code = "
import sqlite3
result = {}
for mode in ('delete', 'truncate', 'persist', 'wal'):
    first = sqlite3.connect(mode + '.db', isolation_level=None)
    got = first.execute('pragma journal_mode=' + mode).fetchone()[0]
    first.execute('create table t (n)')
    second = sqlite3.connect(mode + '.db', isolation_level=None, timeout=0)
    first.execute('begin immediate')
    first.execute('insert into t values (1)')
    try:
        second.execute('begin immediate')
        locked = 'both wrote'
    except sqlite3.OperationalError as error:
        locked = str(error)
    first.execute('commit')
    for n in range(100):
        second.execute('insert into t values (?)', (n,))
    first.execute('begin')
    first.execute('delete from t')
    first.execute('rollback')
    result[mode] = [got, locked, first.execute('select count(*) from t').fetchone()[0]]
";
    let outcome = bench.ask(code).await;
    let expected = serde_json::json!({
        "delete": ["delete", "database is locked", 101],
        "truncate": ["truncate", "database is locked", 101],
        "persist": ["persist", "database is locked", 101],
        "wal": ["wal", "database is locked", 101],
    });
    assert_eq!(serde_json::from_str::<serde_json::Value>(&result(&outcome)).unwrap(), expected);
    assert_eq!(outcome.refused().count(), 0, "{:?} {:?}", outcome.denials, outcome.probes);
    bench.close().await;
}

#[tokio::test]
async fn a_native_thread_is_joined() {
    let bench = Bench::new();
    let code = "
import ctypes, time
libc = ctypes.CDLL(None)
ran = []
@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def work(_):
    time.sleep(0.1)
    ran.append(1)
for _ in range(3):
    thread = ctypes.c_ulong()
    assert libc.pthread_create(ctypes.byref(thread), None, work, None) == 0
    assert libc.pthread_join(thread, None) == 0
result = len(ran)
";
    let outcome = bench.ask(code).await;
    assert_eq!(result(&outcome), "3");
    assert_eq!(outcome.refused().count(), 0, "{:?} {:?}", outcome.denials, outcome.probes);
    bench.close().await;
}

#[tokio::test]
async fn page_tables_count_as_memory() {
    // A page of zeros in each gibibyte: nobody counts the page, and each needs two tables of a page.
    let code = "
import ctypes, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
PROT_READ, FIXED_PRIVATE_ANONYMOUS = 1, 0x100022
for at in range(0x10_0000_0000, 0x4000_0000_0000, 1 << 30):
    page = libc.mmap(at, 4096, PROT_READ, FIXED_PRIVATE_ANONYMOUS, -1, 0)
    if page in (None, 2**64 - 1): break
    ctypes.c_char.from_address(page).value
time.sleep(20)
";
    let bench = Bench::new();
    let limits = policy(|limits| limits.memory_bytes = 64 << 20);
    let outcome = bench.run(limits, code).await;
    assert_limit(&outcome, carboy_protocol::LimitName::MemoryBytes, 64 << 20);
    bench.close().await;
}
