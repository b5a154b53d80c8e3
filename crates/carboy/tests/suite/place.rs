//! The place that code finds itself in looks like a small computer, and tells nothing of the host.

use std::collections::BTreeSet;
use std::fs;

use carboy_protocol::Walls;
use serde_json::{Value, json};

use crate::support::*;

async fn value(
    bench: &Bench,
    limits: impl FnOnce(&mut carboy_protocol::Limits),
    code: &str,
) -> Value {
    serde_json::from_str(&result(&bench.run(policy(limits), code).await)).unwrap()
}

/// Whether these walls have files of their own; nested walls have only those of the host.
fn has_place() -> bool {
    let has = walls() == Walls::Full;
    if !has {
        skip("nested walls have no private root to put generated files in");
    }
    has
}

const LIMITS: &str = r#"
import os
def read(path): return open(path).read()
def total(name): return next(int(line.split()[1]) for line in read('/proc/meminfo').splitlines() if line.startswith(name))
result = {
    'cpuinfo': read('/proc/cpuinfo').count('processor\t'),
    'stat': sum(line[3:4].isdigit() for line in read('/proc/stat').splitlines() if line.startswith('cpu')),
    'online': read('/sys/devices/system/cpu/online').strip(),
    'count': os.cpu_count(),
    'cpu.max': read('/sys/fs/cgroup/cpu.max').split()[0],
    'memory': [total('MemTotal:'), total('MemAvailable:'), int(read('/sys/fs/cgroup/memory.max')) // 1024],
}
"#;

#[tokio::test]
async fn files_that_tell_of_limits_tell_the_policys() {
    if !has_place() {
        return;
    }
    let bench = Bench::new();
    let host = std::thread::available_parallelism().unwrap().get() as u64;
    for (threads, mib) in [(32, 256), (4, 256), (0, 100), (32, 512)] {
        let cores = (threads / 4).clamp(1, host);
        let expected = json!({
            "cpuinfo": cores,
            "stat": cores,
            "online": if cores == 1 { "0".to_owned() } else { format!("0-{}", cores - 1) },
            "count": cores,
            "cpu.max": (cores * 100_000).to_string(),
            "memory": [mib * 1024, mib * 1024, mib * 1024],
        });
        let limits = |limits: &mut carboy_protocol::Limits| {
            limits.threads = threads;
            limits.memory_bytes = mib << 20;
        };
        assert_eq!(value(&bench, limits, LIMITS).await, expected, "{threads} threads, {mib} MiB");
    }
    bench.close().await;
}

#[tokio::test]
async fn the_user_has_a_name_and_the_clock_a_zone() {
    let bench = Bench::new();
    let code = "
import getpass, locale, os, time
result = [getpass.getuser(), locale.setlocale(locale.LC_ALL, ''), time.tzname[0], os.path.expanduser('~') == os.environ['HOME']]
";
    assert_eq!(value(&bench, |_| {}, code).await, json!(["jar", "C.UTF-8", "UTC", true]));
    if has_place() {
        let code = "
import grp, os, platform, pwd
me = pwd.getpwuid(os.getuid())
result = [me.pw_name, me.pw_dir == os.environ['HOME'], grp.getgrgid(os.getgid()).gr_name,
          sorted(user.pw_name for user in pwd.getpwall()), platform.freedesktop_os_release()['ID'],
          open('/proc/self/status').readline().split()[1], os.readlink('/proc/self'), os.listdir('/proc/self/cwd')]
";
        let expected =
            json!(["jar", true, "jar", ["jar", "nobody", "root"], "linux", "python", "1", []]);
        assert_eq!(value(&bench, |_| {}, code).await, expected);
    }
    bench.close().await;
}

#[tokio::test]
async fn nothing_in_the_generated_files_is_the_hosts() {
    if !has_place() {
        return;
    }
    let bench = Bench::new();
    let code = "
import os
texts = {}
for top in ('/etc', '/proc', '/sys'):
    for folder, _, names in os.walk(top):
        if folder.startswith(('/etc/fonts', '/proc/carboy/jar', '/proc/carboy/tmp')): continue
        for name in names:
            path = os.path.join(folder, name)
            if path not in ('/etc/ld.so.cache', '/etc/localtime', '/proc/1/exe'): texts[path] = open(path).read()
result = texts
";
    let texts = value(&bench, |_| {}, code).await;
    let texts = texts.as_object().unwrap();
    // What differs from the host's file of that name was generated; what is the same says nothing.
    let same: BTreeSet<&str> = texts
        .iter()
        .filter(|(path, text)| {
            let host = fs::read_to_string(path.as_str()).unwrap_or_default();
            !host.trim().is_empty() && text.as_str().unwrap() == host
        })
        .map(|(path, _)| path.as_str())
        .collect();
    let harmless = [
        "/etc/timezone",
        "/proc/filesystems",
        "/proc/swaps",
        "/proc/1/cgroup",
        "/proc/sys/kernel/pid_max",
        "/sys/devices/system/cpu/online",
        "/sys/devices/system/cpu/possible",
        "/proc/net/dev",
    ];
    assert!(same.iter().all(|path| harmless.contains(path)), "{same:?}");
    let all: String = texts.values().map(|text| text.as_str().unwrap()).collect();
    let host = |path: &str, name: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
        line.unwrap_or_default().trim_matches([':', '\t', ' ']).to_owned()
    };
    for fact in [
        host("/proc/cpuinfo", "model name"),
        host("/proc/meminfo", "MemTotal"),
        host("/proc/stat", "btime"),
        host("/etc/machine-id", ""),
        host("/proc/sys/kernel/random/boot_id", ""),
    ] {
        assert!(fact.is_empty() || !all.contains(&fact), "{fact}");
    }
    bench.close().await;
}

#[tokio::test]
async fn shared_memory_has_a_place_and_counts_as_files() {
    if !has_place() {
        return;
    }
    let bench = Bench::new();
    let code = "
import os
with open('/dev/shm/block', 'wb') as file: file.write(bytes(1 << 20))
space = os.statvfs('/dev/shm')
result = [os.listdir('/dev/shm'), space.f_blocks * space.f_frsize >> 20]
";
    let outcome = bench.run(policy(|limits| limits.file_bytes = 4 << 20), code).await;
    assert_eq!(result(&outcome), r#"[["block"],4]"#);
    let much = "
with open('/dev/shm/block', 'wb') as file: file.write(bytes(3 << 20))
";
    let outcome = bench.run(policy(|limits| limits.file_bytes = 2 << 20), much).await;
    let limit = outcome.error.unwrap().limit.unwrap();
    assert_eq!(limit.name.as_str(), "file_bytes");
    bench.close().await;
}

#[tokio::test]
async fn a_jar_has_the_whole_of_its_limits_beside_what_tells_of_it() {
    let bench = Bench::new();
    let code = "
for number in range(20): open(f'{number}', 'w').close()
open('0', 'wb').write(bytes(64 << 10))
";
    let exact = |limits: &mut carboy_protocol::Limits| {
        limits.files = 20;
        limits.file_bytes = 64 << 10;
        limits.memory_bytes = 99 << 20;
    };
    assert!(bench.run(policy(exact), code).await.error.is_none());
    bench.close().await;
}
