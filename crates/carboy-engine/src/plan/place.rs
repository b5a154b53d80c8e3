//! The place that guest code finds itself in, in full walls: the files by which programs and libraries
//! learn what computer they are on. All of them are generated. They tell of the jar and its limits, and
//! nothing of the host.
//!
//! What is the same for every jar of a zygote is written once, into the private root. What depends on
//! limits is there for the default ones; a jar with others brings its own.

use std::path::{Path, PathBuf};

use carboy_jail::{About, Link, Mount, TextFile};
use carboy_protocol::Limits;
use carboy_sys::Machine;

use crate::facts::Baseline;
use crate::plan::base::Base;
use crate::plan::computer::{HOSTNAME, INSIDE, USER, processors};
use crate::plan::cpuinfo;

/// Where a jar's own file system shows.
const OWN: &str = "/proc/carboy";
/// What the default limits are told as.
const USUAL: &str = "/proc/usual";
/// The number of a jar in its pid namespace.
const PID: u32 = 1;

/// Generated files of the private root.
pub(super) fn files(base: &Base) -> Vec<TextFile> {
    let home = base.temporary.display();
    let nobody = "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin";
    let fixed = [
        (
            "/etc/passwd",
            format!(
                "root:x:0:0:root:/root:/usr/sbin/nologin\n\
                 {USER}:x:{INSIDE}:{INSIDE}:{USER}:{home}:/usr/sbin/nologin\n{nobody}\n"
            ),
        ),
        ("/etc/group", format!("root:x:0:\n{USER}:x:{INSIDE}:\nnogroup:x:65534:\n")),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n".into()),
        ("/etc/hosts", format!("127.0.0.1\tlocalhost {HOSTNAME}\n::1\tlocalhost\n")),
        ("/etc/hostname", format!("{HOSTNAME}\n")),
        ("/etc/timezone", "Etc/UTC\n".into()),
        ("/etc/os-release", "NAME=\"Linux\"\nID=linux\nPRETTY_NAME=\"Linux\"\n".into()),
        ("/proc/loadavg", "0.00 0.00 0.00 1/1 1\n".into()),
        ("/proc/uptime", "1.00 1.00\n".into()),
        ("/proc/filesystems", "nodev\ttmpfs\n".into()),
        ("/proc/diskstats", String::new()),
        ("/proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n".into()),
        ("/proc/vmstat", "pgpgin 0\npgpgout 0\npswpin 0\npswpout 0\n".into()),
        ("/proc/net/dev", NET_DEV.into()),
        // Memory counts as soon as it is mapped, and more than the limit cannot be.
        ("/proc/sys/vm/overcommit_memory", "2\n".into()),
        ("/proc/sys/kernel/hostname", format!("{HOSTNAME}\n")),
        ("/proc/sys/kernel/pid_max", "32768\n".into()),
        ("/proc/1/cgroup", "0::/\n".into()),
        ("/proc/1/cmdline", "python\0".into()),
        ("/proc/1/mounts", mounts(&base.temporary)),
        ("/proc/1/stat", process_stat()),
    ];
    let fixed = fixed.into_iter().map(|(path, text)| TextFile { path: path.into(), text });
    let usual = of_limits(base, &Limits::default())
        .into_iter()
        .map(|(name, text)| TextFile { path: Path::new(USUAL).join(name), text });
    let all = fixed.chain(usual);
    all.filter(|file| !is_mounted(&base.mounts, &file.path)).collect()
}

/// Links of the private root among them.
pub(super) fn links(base: &Base) -> Vec<Link> {
    // The loader finds out here where a program lies, and interpreters that look for their library
    // relative to themselves depend on it.
    let program = base.executable.clone().unwrap_or_else(|| base.python.program.clone());
    let fixed: [(&str, PathBuf); 16] = [
        ("/etc/localtime", "/usr/share/zoneinfo/UTC".into()),
        ("/etc/mtab", "/proc/mounts".into()),
        ("/proc/carboy/limits", USUAL.into()),
        ("/proc/cpuinfo", "carboy/limits/cpuinfo".into()),
        ("/proc/meminfo", "carboy/limits/meminfo".into()),
        ("/proc/mounts", "self/mounts".into()),
        ("/proc/self", PID.to_string().into()),
        ("/proc/stat", "carboy/limits/stat".into()),
        ("/proc/1/cwd", "/jar".into()),
        ("/proc/1/exe", program),
        ("/proc/1/statm", "../carboy/statm".into()),
        ("/proc/1/status", "../carboy/status".into()),
        ("/sys/devices/system/cpu/online", "/proc/carboy/limits/online".into()),
        ("/sys/devices/system/cpu/possible", "/proc/carboy/limits/online".into()),
        ("/sys/fs/cgroup/cpu.max", "/proc/carboy/limits/cpu.max".into()),
        ("/sys/fs/cgroup/memory.max", "/proc/carboy/limits/memory.max".into()),
    ];
    let links = fixed.into_iter().map(|(path, target)| Link { path: path.into(), target });
    links.filter(|link| !is_mounted(&base.mounts, &link.path)).collect()
}

/// What tells of one jar.
pub(super) fn about(base: &Base, limits: &Limits, baseline: Baseline) -> About {
    let mut files = vec![
        TextFile { path: "statm".into(), text: process_statm(baseline) },
        TextFile { path: "status".into(), text: process_status(base, limits, baseline) },
    ];
    let mut links = vec![];
    let told = |limits| Told::of(base, limits);
    if told(limits) == told(&Limits::default()) {
        links.push(Link { path: "limits".into(), target: USUAL.into() });
    } else {
        files.extend(
            of_limits(base, limits)
                .into_iter()
                .map(|(name, text)| TextFile { path: Path::new("limits").join(name), text }),
        );
    }
    About { place: OWN.into(), files, links }
}

/// What of a policy is told inside. Jars that are told the same can be handed out for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Told {
    processors: u64,
    memory_bytes: u64,
}

impl Told {
    pub fn of(base: &Base, limits: &Limits) -> Told {
        Told { processors: processors(&base.host, limits), memory_bytes: limits.memory_bytes }
    }
}

/// The files that tell of limits.
fn of_limits(base: &Base, limits: &Limits) -> [(&'static str, String); 6] {
    let Told { processors, memory_bytes } = Told::of(base, limits);
    [
        ("cpu.max", format!("{} 100000\n", processors * 100_000)),
        ("cpuinfo", cpuinfo::text(Machine::HERE, processors)),
        ("meminfo", meminfo(memory_bytes / 1024)),
        ("memory.max", format!("{memory_bytes}\n")),
        ("online", format!("{}\n", range(processors))),
        ("stat", stat(processors, base.since)),
    ]
}

fn range(processors: u64) -> String {
    if processors == 1 { "0".into() } else { format!("0-{}", processors - 1) }
}

fn meminfo(total: u64) -> String {
    let lines = [
        ("MemTotal", total),
        ("MemFree", total),
        ("MemAvailable", total),
        ("Buffers", 0),
        ("Cached", 0),
        ("SwapCached", 0),
        ("Active", 0),
        ("Inactive", 0),
        ("SwapTotal", 0),
        ("SwapFree", 0),
        ("Shmem", 0),
        ("Slab", 0),
        ("SReclaimable", 0),
    ];
    let line = |(name, kib): (&str, u64)| format!("{:<15} {kib:>8} kB\n", format!("{name}:"));
    lines.into_iter().map(line).collect()
}

/// Counters that stand still, since the moment when the engine began.
fn stat(processors: u64, since: u64) -> String {
    let counters = "0 0 0 0 0 0 0 0 0 0";
    let each: String = (0..processors).map(|n| format!("cpu{n} {counters}\n")).collect();
    format!(
        "cpu  {counters}\n{each}intr 0\nctxt 0\nbtime {since}\nprocesses 1\nprocs_running 1\n\
         procs_blocked 0\nsoftirq 0\n"
    )
}

const NET_DEV: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
";

fn mounts(temporary: &Path) -> String {
    let writable = "rw,nosuid,nodev,noexec";
    format!(
        "tmpfs / tmpfs ro,nosuid,nodev 0 0\ntmpfs /jar tmpfs {writable} 0 0\n\
         tmpfs {} tmpfs {writable} 0 0\n",
        temporary.display()
    )
}

/// Of the 52 fields, those that identify a process.
fn process_stat() -> String {
    format!("{PID} (python) R 0 {PID} {PID} 0 -1 4194304{}\n", " 0".repeat(43))
}

/// What a jar held when it was made.
fn process_statm(baseline: Baseline) -> String {
    let page = rustix::param::page_size() as u64;
    let [size, held, data] =
        [baseline.address_bytes, baseline.anonymous_bytes, baseline.data_bytes].map(|n| n / page);
    format!("{size} {held} 0 0 0 {data} 0\n")
}

fn process_status(base: &Base, limits: &Limits, baseline: Baseline) -> String {
    let [size, held, data] =
        [baseline.address_bytes, baseline.anonymous_bytes, baseline.data_bytes].map(|n| n / 1024);
    let id = [INSIDE.to_string(), INSIDE.to_string(), INSIDE.to_string(), INSIDE.to_string()];
    let id = id.join("\t");
    format!(
        "Name:\tpython\nState:\tR (running)\nTgid:\t{PID}\nPid:\t{PID}\nPPid:\t0\nTracerPid:\t0\n\
         Uid:\t{id}\nGid:\t{id}\nFDSize:\t64\nGroups:\t\nVmPeak:\t{size:>8} kB\n\
         VmSize:\t{size:>8} kB\nVmHWM:\t{held:>8} kB\nVmRSS:\t{held:>8} kB\n\
         VmData:\t{data:>8} kB\nVmSwap:\t       0 kB\nThreads:\t1\nCpus_allowed_list:\t{}\n\
         voluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n",
        range(processors(&base.host, limits))
    )
}

/// Whether something of the host lies there.
fn is_mounted(mounts: &[Mount], path: &Path) -> bool {
    mounts.iter().any(|mount| path.starts_with(&mount.target) || mount.target.starts_with(path))
}
