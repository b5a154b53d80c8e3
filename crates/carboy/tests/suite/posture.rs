//! Everything that the kernel shows of a zygote, a standing jar and a running one, against an exact
//! expectation and against what the outcome claims.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use carboy_engine::{Plan, RunOptions};
use carboy_protocol::{Job, Walls};

use crate::support::*;

const NAMESPACES: [&str; 8] = ["cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"];
const ZERO: &str = "0000000000000000";
/// `CAP_SETPCAP` and `CAP_SYS_ADMIN`.
const ZYGOTE_CAPABILITIES: &str = "0000000000200100";

/// The zygote: the only child of our only helper.
fn zygote() -> u32 {
    let helpers = children(std::process::id());
    assert_eq!(helpers.len(), 1, "one helper");
    let zygotes = children(helpers[0]);
    assert_eq!(zygotes.len(), 1, "one zygote");
    zygotes[0]
}

/// The status of each thread, as lines by name.
fn threads(pid: u32) -> Vec<BTreeMap<String, String>> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    tasks
        .map(|task| {
            let text = fs::read_to_string(task.path().join("status")).unwrap();
            text.lines()
                .filter_map(|line| line.split_once(':'))
                .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
                .collect()
        })
        .collect()
}

fn namespace(pid: &str, name: &str) -> std::io::Result<String> {
    fs::read_link(format!("/proc/{pid}/ns/{name}")).map(|path| path.to_string_lossy().into_owned())
}

/// Whether this user may look at descriptors and namespaces of a jar; without user namespaces an
/// ordinary user may not.
fn may_look(pid: u32) -> bool {
    let may = namespace(&pid.to_string(), "user").is_ok();
    if !may {
        skip("this user cannot read the namespaces of another user's process");
    }
    may
}

fn four(id: u32) -> String {
    [id; 4].map(|id| id.to_string()).join("\t")
}

fn check_jar_threads(pid: u32, plan: &Plan, count: usize) {
    let all = threads(pid);
    assert_eq!(all.len(), count, "threads");
    for status in all {
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            assert_eq!(status[set], ZERO, "{set}");
        }
        let emptied = plan.policy.walls == Walls::Full || rustix::process::geteuid().is_root();
        if emptied {
            assert_eq!(status["CapBnd"], ZERO, "CapBnd");
        }
        assert_eq!(status["NoNewPrivs"], "1");
        assert_eq!(status["Seccomp"], "2");
        assert_eq!(status["Seccomp_filters"], "2");
        assert_eq!(status["Uid"], four(plan.zygote.identity.outer_uid));
        assert_eq!(status["Gid"], four(plan.zygote.identity.outer_gid));
        if rustix::process::geteuid().is_root() {
            assert_eq!(status["Groups"], "", "groups");
        }
    }
}

fn check_descriptors(pid: u32, walls: Walls) {
    let folder = format!("/proc/{pid}/fd");
    assert_eq!(fs::metadata(&folder).unwrap().len(), 5, "descriptors");
    let Ok(entries) = fs::read_dir(&folder) else {
        skip("only root can see what the descriptors of a jar are; they were counted");
        return;
    };
    let mut found = BTreeMap::new();
    for entry in entries.flatten() {
        let number: u32 = entry.file_name().to_str().unwrap().parse().unwrap();
        found.insert(number, fs::read_link(entry.path()).unwrap().to_string_lossy().into_owned());
    }
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3, 4], "{found:?}");
    // Seen from outside, where the jar's root lies below that of its mount namespace.
    let null = if walls == Walls::Full { "/root/dev/null" } else { "/dev/null" };
    assert_eq!(found[&0], null);
    let pipes: BTreeSet<&String> = found.values().filter(|to| to.starts_with("pipe:")).collect();
    assert_eq!(pipes.len(), 4, "four pipes of its own: {found:?}");
}

fn check_limits(pid: u32, plan: &Plan) {
    let text = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        let mut words = line[name.len()..].split_whitespace();
        (words.next().unwrap().to_owned(), words.next().unwrap().to_owned())
    };
    let names = [
        ("cpu", "Max cpu time"),
        ("stack", "Max stack size"),
        ("file_size", "Max file size"),
        ("open_files", "Max open files"),
        ("core", "Max core file size"),
        ("memlock", "Max locked memory"),
        ("pending_signals", "Max pending signals"),
        ("message_queues", "Max msgqueue size"),
        ("realtime_priority", "Max realtime priority"),
        ("data", "Max data size"),
        ("address_space", "Max address space"),
    ];
    assert_eq!(plan.jar.rlimits.len(), names.len(), "every planned limit is looked at");
    for limit in &plan.jar.rlimits {
        let name = serde_json::to_value(limit.resource).unwrap();
        let name = name.as_str().unwrap();
        let (_, title) = names.iter().find(|(known, _)| *known == name).unwrap();
        let (soft, hard) = line(title);
        assert_eq!(soft, hard, "{name}");
        let value: u64 = soft.parse().unwrap();
        match name {
            // Counted from what the zygote holds.
            "data" | "address_space" => assert!(value >= limit.value, "{name}: {value}"),
            _ => assert_eq!(value, limit.value, "{name}"),
        }
    }
}

fn check_namespaces(pid: u32, zygote: u32, walls: Walls) {
    let of = |pid: &str, name: &str| namespace(pid, name).unwrap();
    for name in NAMESPACES {
        let (jar, ours) = (of(&pid.to_string(), name), of("self", name));
        let parent = of(&zygote.to_string(), name);
        let private = walls == Walls::Full && name != "time";
        assert_eq!(jar != ours, private, "{name} of a jar");
        assert_eq!(parent != ours, private, "{name} of the zygote");
        let own = private && ["mnt", "pid"].contains(&name);
        assert_eq!(jar != parent, own, "{name} of a jar beside its zygote's");
    }
}

fn check_mounts(pid: u32, plan: &Plan) {
    // To the kernel it is chrooted, and may make no user namespace.
    let root = fs::read_link(format!("/proc/{pid}/root"));
    assert_eq!(root.unwrap().to_str(), Some("/root"), "root");
    let text = fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap();
    let mut found: Vec<(String, String)> = text
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            (words[4].replace("\\040", " "), words[5].to_owned())
        })
        .collect();
    let temporary = plan.zygote.temporary.as_ref().unwrap().to_string_lossy().into_owned();
    let writable = "rw,nosuid,nodev,noexec,relatime";
    let mut wanted = vec![
        ("/".to_owned(), "ro,nosuid,nodev,relatime".to_owned()),
        // The zygote's, and the jar's pieces of its file system, which itself can only be read.
        (temporary.clone(), writable.to_owned()),
        (temporary, writable.to_owned()),
        ("/jar".to_owned(), writable.to_owned()),
        ("/dev/shm".to_owned(), writable.to_owned()),
        ("/proc/carboy".to_owned(), "ro,nosuid,nodev,noexec,relatime".to_owned()),
    ];
    for mount in &plan.zygote.mounts {
        let device = mount.target.starts_with("/dev");
        let flags = if device { "ro,nosuid,noexec" } else { "ro,nosuid,nodev" };
        wanted.push((mount.target.to_string_lossy().into_owned(), flags.to_owned()));
    }
    // How times of access are kept is the host's choice, and not a wall.
    for (_, flags) in found.iter_mut().chain(&mut wanted) {
        let kept = flags.split(',').filter(|flag| !flag.ends_with("atime"));
        *flags = kept.collect::<Vec<_>>().join(",");
    }
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
}

fn check_maps(pid: u32, plan: &Plan) {
    let identity = &plan.zygote.identity;
    for (file, inner, outer) in [
        ("uid_map", identity.inner_uid, identity.outer_uid),
        ("gid_map", identity.inner_gid, identity.outer_gid),
    ] {
        let text = fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(words, [inner.to_string(), outer.to_string(), "1".into()], "{file}");
    }
    let groups = fs::read_to_string(format!("/proc/{pid}/setgroups")).unwrap();
    assert_eq!(groups.trim(), "deny");
}

/// The kernel gives what `/proc` shows of a process that cannot be dumped to root, which has another
/// number where it is not mapped.
fn check_not_dumpable(pid: u32, plan: &Plan) {
    let owner = fs::metadata(format!("/proc/{pid}/environ")).unwrap().uid();
    assert_ne!(owner, plan.zygote.identity.outer_uid, "dumpable");
}

/// The nice value of each thread.
fn nice_values(pid: u32) -> BTreeSet<i32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    tasks
        .map(|task| {
            let stat = fs::read_to_string(task.path().join("stat")).unwrap();
            // The name of a process may contain anything; what follows it does not.
            let (_, rest) = stat.rsplit_once(')').unwrap();
            rest.split_whitespace().nth(16).unwrap().parse().unwrap()
        })
        .collect()
}

fn oom_score_adj(pid: u32) -> i32 {
    let text = fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap();
    text.trim().parse().unwrap()
}

/// Jars yield the processor to the engine, and when memory runs out they go first, zygotes next and the
/// engine last.
fn check_rank(jar: u32, zygote: u32) {
    let engine = std::process::id();
    let own = *nice_values(engine).first().unwrap();
    assert_eq!(nice_values(jar), BTreeSet::from([(own + 5).min(19)]), "nice value of a jar");
    assert_eq!(nice_values(zygote), BTreeSet::from([own]), "nice value of the zygote");
    let own = oom_score_adj(engine);
    assert_eq!((oom_score_adj(jar), oom_score_adj(zygote)), (1000, (own + 1000) / 2));
}

fn check_jar(pid: u32, plan: &Plan, thread_count: usize) {
    check_jar_threads(pid, plan, thread_count);
    check_rank(pid, zygote());
    check_limits(pid, plan);
    check_not_dumpable(pid, plan);
    if !may_look(pid) {
        return;
    }
    check_descriptors(pid, plan.policy.walls);
    check_namespaces(pid, zygote(), plan.policy.walls);
    if plan.policy.walls == Walls::Full {
        check_mounts(pid, plan);
        check_maps(pid, plan);
    }
}

#[tokio::test]
async fn a_standing_jar_and_its_zygote() {
    let bench = Bench::new();
    let policy = policy(|_| {});
    bench.engine.stand(&policy, 2).await.unwrap();
    let plan = bench.engine.plan(&policy).unwrap();
    for pid in bench.engine.standing(&policy) {
        check_jar(pid, &plan, 1);
    }
    let zygote = zygote();
    let all = threads(zygote);
    assert_eq!(all.len(), 1);
    let status = &all[0];
    let held = if walls() == Walls::Full { ZYGOTE_CAPABILITIES } else { ZERO };
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(status[set], held, "{set} of the zygote");
    }
    if walls() == Walls::Full {
        assert_eq!(status["CapBnd"], ZYGOTE_CAPABILITIES);
    }
    assert_eq!((status["NoNewPrivs"].as_str(), status["Seccomp"].as_str()), ("1", "0"));
    assert_eq!(status["Uid"], four(plan.zygote.identity.outer_uid));
    check_not_dumpable(zygote, &plan);
    bench.close().await;
}

#[tokio::test]
async fn a_running_jar_with_threads_is_sealed_in_each_of_them() {
    let bench = Bench::without_pool();
    let policy = policy(|limits| limits.threads = 3);
    let plan = bench.engine.plan(&policy).unwrap();
    let code = "
import threading, time
for _ in range(2): threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
time.sleep(600)
";
    let engine = bench.engine.clone();
    let job = Job::new(code).with_policy(policy);
    let (stop, cancel) = tokio::sync::oneshot::channel();
    let options = RunOptions { cancel: Some(cancel), ..RunOptions::default() };
    let running = tokio::spawn(async move { engine.run_with(job, options).await });
    let mut jar = None;
    let started = Instant::now();
    while started.elapsed() < LONG {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let helpers = children(std::process::id());
        let zygotes: Vec<u32> = helpers.iter().flat_map(|pid| children(*pid)).collect();
        let jars: Vec<u32> = zygotes.iter().flat_map(|pid| children(*pid)).collect();
        jar = jars.first().copied().filter(|pid| threads(*pid).len() == 3);
        if jar.is_some() {
            break;
        }
    }
    check_jar(jar.expect("a jar with three threads"), &plan, 3);
    stop.send(()).unwrap();
    let outcome = running.await.unwrap().unwrap();
    let layers = &outcome.isolation.layers;
    let full = walls() == Walls::Full;
    let claimed = [
        layers.user_ns,
        layers.mount_ns,
        layers.pid_ns,
        layers.net_ns,
        layers.ipc_ns,
        layers.uts_ns,
        layers.cgroup_ns,
        layers.private_root,
    ];
    assert_eq!(claimed, [full; 8], "what the outcome claims is what was found");
    assert_eq!(
        (layers.seccomp_filters, layers.no_new_privs, layers.no_capabilities),
        (2, true, true)
    );
    assert_eq!(layers.uid, plan.zygote.identity.inner_uid);
    bench.close().await;
}
