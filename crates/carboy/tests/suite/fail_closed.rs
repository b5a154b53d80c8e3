//! A layer that the kernel refuses: nothing runs, and the error names the layer and a way out.

use std::path::PathBuf;
use std::process::{Command, Output};

use carboy_engine::{EngineError, RunError};
use carboy_protocol::{Job, Policy, Walls};

use crate::support::*;

fn xtask() -> PathBuf {
    program().with_file_name("xtask")
}

/// Runs a script on a kernel that answers `call` with `errno`.
fn without(call: &str, errno: &str, walls: Walls) -> Output {
    without_all(&[(call, errno)], walls)
}

/// Runs a script on a kernel that answers each of these calls with an error.
fn without_all(calls: &[(&str, &str)], walls: Walls) -> Output {
    let mut command = Command::new("env");
    for (call, errno) in calls {
        command.arg(xtask()).args(["without", call, errno, "--"]);
    }
    command
        .arg(program())
        .args(["run", "--walls", walls.as_str()])
        .arg("--python")
        .arg(python())
        .args(["-c", "print('RAN')"])
        .output()
        .unwrap()
}

fn refused(call: &str, errno: &str, walls: Walls, layer: &str) {
    check_refused(call, layer, &without(call, errno, walls));
}

fn check_refused(call: &str, layer: &str, output: &Output) {
    let (said, printed) = (
        String::from_utf8_lossy(&output.stderr).into_owned(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
    );
    assert!(!printed.contains("RAN"), "{call}: guest code ran\n{said}");
    assert_eq!(output.status.code(), Some(10), "{call}: {said}");
    assert!(said.contains(layer), "{call}: no word of {layer}: {said}");
    assert!(said.contains("hint:"), "{call}: no hint: {said}");
}

/// Whether `xtask` was built; without it nothing can be refused.
fn ready() -> bool {
    let there = xtask().exists();
    if !there {
        skip("xtask is not built beside carboy: cargo build --workspace");
    }
    there
}

#[test]
fn full_walls() {
    if !ready() {
        return;
    }
    if walls() == Walls::Nested {
        return skip("this host has no full walls to refuse");
    }
    for (call, errno, layer) in [
        ("open_tree", "ENOSYS", "private root: open_tree"),
        ("mount_setattr", "EPERM", "private root: mount_setattr"),
        ("fsopen", "ENOSYS", "private root: fsopen"),
        ("fsconfig", "EPERM", "private root: fsconfig"),
        ("fsmount", "EPERM", "private root: fsmount"),
        ("move_mount", "EPERM", "private root: move_mount"),
        ("mount", "EPERM", "private root: mount"),
        ("pivot_root", "EPERM", "private root: pivot_root"),
        ("umount2", "EPERM", "private root: umount"),
        ("symlinkat", "ENOSPC", "private root: symlink"),
        ("mkdirat", "ENOSPC", "private root: mkdir"),
        ("sethostname", "EPERM", "host name: sethostname"),
        ("setresuid", "EPERM", "identity: setresuid"),
        ("setresgid", "EPERM", "identity: setresgid"),
        // PR_CAPBSET_DROP, PR_CAP_AMBIENT
        ("prctl:0=24", "EPERM", "capabilities: prctl"),
        ("prctl:0=47", "EPERM", "capabilities: prctl"),
    ] {
        refused(call, errno, Walls::Full, layer);
    }
    // As the filters of containers do it: `clone3` is not there, and `clone` may make no namespace.
    let all = format!("clone:0={}", 0x7e02_1011);
    let output = without_all(&[("clone3", "ENOSYS"), (&all, "EPERM")], Walls::Full);
    check_refused("clone", "namespaces: clone3", &output);
}

#[test]
fn both_walls() {
    if !ready() {
        return;
    }
    for (call, errno, layer) in [
        ("capset", "EPERM", "capabilities: capset"),
        // PR_SET_NO_NEW_PRIVS, PR_SET_PDEATHSIG
        ("prctl:0=38", "EPERM", "no new privileges: prctl"),
        ("prctl:0=1", "EPERM", "fork: prctl"),
        ("setsid", "EPERM", "session: setsid"),
        ("setpriority", "EPERM", "rank: setpriority"),
        ("close_range", "ENOSYS", "descriptors: close_range"),
        // RLIMIT_CPU, RLIMIT_DATA
        ("prlimit64:1=0", "EPERM", "limits: setrlimit"),
        ("prlimit64:1=2", "EPERM", "limits: setrlimit"),
        // The limit of open files: the jar has said its last word, and is not sealed.
        ("prlimit64:4=24225", "EPERM", "a jar is not sealed as planned"),
        ("landlock_create_ruleset", "ENOSYS", "landlock"),
        ("landlock_add_rule", "EPERM", "landlock: landlock_add_rule"),
        ("landlock_restrict_self", "EPERM", "landlock: landlock_restrict_self"),
        ("seccomp:0=1", "EPERM", "seccomp: seccomp"),
        ("seccomp:0=1", "ENOSYS", "seccomp: seccomp"),
    ] {
        refused(call, errno, walls(), layer);
    }
}

/// Filters of containers answer `clone3` so, and are one more filter that every jar inherits.
#[test]
fn a_filter_around_the_engine_that_hides_clone3() {
    if !ready() {
        return;
    }
    let output = without("clone3", "ENOSYS", walls());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "RAN\n");
}

/// As in a container, whose `/proc/sys` cannot be written: another layer forbids user namespaces there, and
/// every jar tries one before it is sealed.
#[test]
fn full_walls_stand_where_settings_of_the_kernel_are_read_only() {
    if walls() == Walls::Nested {
        return skip("nested walls have no user namespace");
    }
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    let script =
        "mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec \"$@\"";
    let output = command
        .args(["--mount", "--", "sh", "-c", script, "sh"])
        .arg(program())
        .args(["run", "-c", "print('RAN')", "--python"])
        .arg(python())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "RAN\n");
    assert!(said.contains("full walls"), "{said}");
}

/// `carboy doctor` says what is in the way, and not only that something is.
#[test]
fn the_doctor_names_a_filter_around_the_engine() {
    if !ready() {
        return;
    }
    if walls() == Walls::Nested {
        return skip("this host has no full walls to refuse");
    }
    let all = format!("clone:0={}", 0x7e02_1011);
    let output = Command::new(xtask())
        .args(["without", "clone3", "ENOSYS", "--"])
        .arg(xtask())
        .args(["without", &all, "EPERM", "--"])
        .arg(program())
        .args(["doctor", "--json", "--python"])
        .arg(python())
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let row = |layer: &str| rows.iter().find(|row| row["layer"] == layer).unwrap();
    let blocked = row("user namespaces");
    assert_eq!(blocked["state"], "missing", "{report:#}");
    assert!(blocked["offers"].as_str().unwrap().contains("filter around carboy"), "{report:#}");
    assert!(blocked["setting"].as_str().unwrap().contains("seccomp=seccomp.json"), "{report:#}");
    assert!(row("seccomp")["offers"].as_str().unwrap().contains("2 around carboy"), "{report:#}");
}

/// As in a container whose root is read-only and that has no other file system.
#[test]
fn without_a_place_to_write_the_error_names_it_and_the_variable() {
    let output = Command::new(program())
        .args(["run", "--walls", "nested", "-c", "print('RAN')", "--python"])
        .arg(python())
        .env("TMPDIR", "/proc")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(10), true), "{said}");
    assert!(said.contains("could not make a private directory in /proc"), "{said}");
    assert!(said.contains("hint: set TMPDIR"), "{said}");
}

#[test]
fn a_host_that_refuses_user_namespaces_refuses_full_walls() {
    let most = std::fs::read_to_string("/proc/sys/user/max_user_namespaces").unwrap_or_default();
    if most.trim() != "0" {
        return skip("this host allows user namespaces");
    }
    let output = Command::new(program())
        .args(["run", "-c", "print('RAN')", "--python"])
        .arg(python())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(10), "{said}");
    assert!(said.contains("namespaces: clone3") && said.contains("--walls nested"), "{said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_policy_that_demands_a_newer_landlock_is_refused() {
    let folder = Folder::new();
    let run = |version: u32| {
        let policy = folder.0.join("policy.toml");
        let walls = walls().as_str();
        std::fs::write(&policy, format!("walls = '{walls}'\nlandlock_abi = {version}\n")).unwrap();
        Command::new(program())
            .args(["run", "-c", "print('RAN')", "--policy"])
            .arg(policy)
            .arg("--python")
            .arg(python())
            .output()
            .unwrap()
    };
    let output = run(1);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let output = run(1000);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(10), "{said}");
    assert!(said.contains("landlock: ") && said.contains("at least 1000 is needed"), "{said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_landlock_that_says_more_than_it_takes_is_not_believed() {
    if !ready() {
        return;
    }
    if carboy_engine::Host::look().landlock_abi < 7 {
        return skip("this kernel's Landlock has no flags to refuse");
    }
    // A flag that is new in version 7, refused by a kernel that says it has that version.
    let output = Command::new(xtask())
        .args(["without", "landlock_restrict_self:1=1", "EINVAL", "--"])
        .arg(program())
        .args(["run", "--json", "--walls", walls().as_str(), "-c", "1", "--python"])
        .arg(python())
        .output()
        .unwrap();
    let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let layers = &outcome["isolation"]["layers"];
    assert_eq!((&outcome["status"], &layers["landlock_abi"]), (&"ok".into(), &6.into()));
}

#[tokio::test]
async fn a_policy_gets_the_control_group_that_it_demands_or_no_jar() {
    let bench = Bench::new();
    let demanding = Policy { cgroup: true, ..policy(|_| {}) };
    let ran = bench.engine.run(Job::new("result = 1").with_policy(demanding)).await;
    match (bench.engine.cgroup(), ran) {
        (Ok(_), Ok(outcome)) => assert_eq!(outcome.isolation.layers.cgroup, "version 2"),
        (Err(why), Err(RunError::Engine(error))) => {
            assert!(error.hint().unwrap().contains("Delegate=yes"), "{:?}", error.hint());
            let EngineError::Walls(fault) = error else { panic!("{error}") };
            assert_eq!((fault.layer.as_str(), fault.answer.as_str()), ("cgroup", why));
        }
        other => panic!("{other:?}"),
    }
    bench.close().await;
}
