//! What this host offers, layer by layer, and whether both walls really stand on it.

use std::fs;

use carboy_protocol::{Job, Limits, Policy, SetupFault, Status, Walls};
use serde::Serialize;

use crate::engine::Engine;
use crate::error::{EngineError, RunError};
use crate::host::{Because, Host, closed_at};
use crate::tier::process::Preload;

/// How one layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Ok,
    /// Not there, or not enough.
    Missing,
    /// Worth knowing; nothing depends on it.
    Note,
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The layer.
    pub layer: &'static str,
    /// How it is.
    pub state: State,
    /// What this host offers.
    pub offers: String,
    /// The exact setting that would give what is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
}

/// The whole report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Layer by layer.
    pub rows: Vec<Row>,
    /// Full walls were built, and code ran behind them.
    pub full: bool,
    /// Nested walls were built, and code ran behind them.
    pub nested: bool,
}

fn row(layer: &'static str, state: State, offers: impl Into<String>) -> Row {
    Row { layer, state, offers: offers.into(), setting: None }
}

fn missing(layer: &'static str, offers: impl Into<String>, setting: impl Into<String>) -> Row {
    Row { layer, state: State::Missing, offers: offers.into(), setting: Some(setting.into()) }
}

/// The contents of a kernel setting, if this kernel has it.
fn setting(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// Examines the host, and tries both walls with `engine`.
pub async fn examine(engine: &Engine) -> Report {
    let python = engine.python();
    let place =
        python.venv.as_ref().map_or(String::new(), |venv| format!(", venv {}", venv.display()));
    let mut rows = host_rows(engine.host());
    rows.extend([cgroup(engine), budget(engine)]);
    rows.push(row(
        "interpreter",
        State::Ok,
        format!("CPython {} at {}{place}", python.version, python.program.display()),
    ));
    rows.extend(closed(engine));
    rows.extend(packages(engine));
    let (full_row, full_fault) = trial(engine, "full walls", Walls::Full).await;
    let (nested_row, _) = trial(engine, "nested walls", Walls::Nested).await;
    let (full, nested) = (full_row.state == State::Ok, nested_row.state == State::Ok);
    if let Some(around) = full_fault.and_then(|fault| around(&fault)) {
        match rows.iter_mut().find(|row| row.layer == around.layer) {
            // A setting of the kernel is to be changed first.
            Some(row) if row.state == State::Missing => {}
            Some(row) => *row = around,
            None => rows.push(around),
        }
    }
    rows.extend([full_row, nested_row]);
    rows.extend(engine.preloads().into_iter().map(preload));
    Report { rows, full, nested }
}

/// What can be read of the host besides what every program reads, and what is named there and cannot be.
fn packages(engine: &Engine) -> Vec<Row> {
    let shown = engine.shown().iter().filter(|(_, because)| !because.contains(&Because::System));
    let shown = shown.map(|(path, because)| {
        let because: Vec<String> = because.iter().map(ToString::to_string).collect();
        // As root, whose jars are another user.
        let only = match engine.host().spare_id.filter(|_| engine.host().uid == 0) {
            Some(user) if engine.is_out_of_reach(path) => {
                format!("; not in nested walls, where user {user} cannot enter")
            }
            _ => String::new(),
        };
        row("can be read", State::Ok, format!("{} ({}){only}", path.display(), because.join(", ")))
    });
    let left_out = engine.python().layout.left_out.iter().map(|one| {
        let (path, by) = (one.path.display(), one.named_by.display());
        let offers = format!("{path}, which {by} names: {}", one.why);
        let setting = Some("install the package itself, not a pointer to it".into());
        Row { layer: "left out", state: State::Note, offers, setting }
    });
    shown.chain(left_out).collect()
}

/// The first directory on the way to the interpreter that the user of a root engine's jars cannot enter. In
/// nested walls they see the host's own files, so nothing gets them past it.
fn closed(engine: &Engine) -> Option<Row> {
    let user = engine.host().spare_id.filter(|_| engine.host().uid == 0)?;
    let program = engine.python().program.canonicalize().ok()?;
    let folder = closed_at(&program)?;
    let folder = folder.display();
    let offers = format!("user {user} cannot enter {folder}, so nested walls cannot start it");
    let setting = format!("chmod o+x {folder}, or --python with one that every user can read");
    Some(missing("interpreter", offers, setting))
}

/// Where a module is imported that is to be preloaded.
fn preload(preload: Preload) -> Row {
    let module = preload.module;
    let offers = match preload.late {
        None => {
            let took = preload.took.map_or(String::new(), |took| {
                format!(" (its import took {:.0} ms)", took.as_secs_f64() * 1e3)
            });
            format!("{module}: once, in the zygote{took}")
        }
        Some(why) => format!("{module}: in each jar before its job comes, because {why}"),
    };
    row("preload", State::Ok, offers)
}

/// Runs one line of Python behind the walls: no list of settings proves as much.
async fn trial(engine: &Engine, layer: &'static str, walls: Walls) -> (Row, Option<SetupFault>) {
    let policy = Policy { walls, ..Policy::default() };
    match engine.run(Job::new("result = 1").with_policy(policy)).await {
        Ok(outcome) if outcome.status == Status::Ok => {
            let wall_ms = outcome.usage.wall_ms;
            (row(layer, State::Ok, format!("built, and a run in them took {wall_ms:.1} ms")), None)
        }
        Ok(outcome) => {
            let why = outcome.error.map_or(String::new(), |error| error.message);
            (missing(layer, format!("built, but a run failed: {why}"), "report this"), None)
        }
        Err(error @ (RunError::Busy(_) | RunError::Cancelled | RunError::Fleet(_))) => {
            (missing(layer, error.to_string(), "try again"), None)
        }
        Err(RunError::Request(error)) => {
            let hint = error.hint().unwrap_or_default();
            (missing(layer, error.to_string(), hint), None)
        }
        Err(RunError::Engine(error)) => {
            let cause = std::error::Error::source(&error)
                .map_or_else(|| error.to_string(), ToString::to_string);
            let row = missing(layer, cause, error.hint().unwrap_or_default());
            match error {
                EngineError::Walls(fault) => (row, Some(fault)),
                _ => (row, None),
            }
        }
    }
}

fn host_rows(host: &Host) -> Vec<Row> {
    let release = setting("/proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown".into());
    let mut rows = vec![
        row("kernel", State::Ok, format!("Linux {release}")),
        user_namespaces(),
        landlock(host.landlock_abi),
    ];
    rows.extend(landlock_lacks(host.landlock_abi));
    rows.extend([seccomp(), identity(host)]);
    rows
}

/// How many system-call filters were loaded around this process, such as a container's.
fn outer_filters() -> u64 {
    let status = setting("/proc/self/status").unwrap_or_default();
    let count = status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:"));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// The AppArmor profile that confines this process, if one does.
fn apparmor() -> Option<String> {
    let places = ["/proc/self/attr/apparmor/current", "/proc/self/attr/current"];
    places.into_iter().find_map(setting).filter(|name| !name.is_empty() && name != "unconfined")
}

/// What around this process refuses full walls, where the kernel itself would not, and the line of a
/// container's configuration that changes it.
fn around(fault: &SetupFault) -> Option<Row> {
    let profile = "security_opt: [seccomp=seccomp.json], or seccompProfile: {type: Localhost} in a pod, with \
                   deploy/seccomp.json; docs/containers.md";
    match (fault.layer.as_str(), outer_filters(), apparmor()) {
        ("namespaces", 1.., _) => {
            let offers =
                "a system-call filter around carboy refuses them, as Docker's default does";
            Some(missing("user namespaces", offers, profile))
        }
        // A root that has lost the capability cannot map itself.
        ("user namespace", _, _) if fault.step.ends_with("_map") => {
            let offers = format!("can be made, but not for this user: {fault}");
            let setting = "an ordinary user (`user: \"1000:1000\"`, runAsUser: 1000), or root with \
                           CAP_CHOWN, CAP_SETUID and CAP_SETGID; docs/containers.md";
            Some(missing("user namespaces", offers, setting))
        }
        ("private root", _, Some(name)) => {
            let setting = "security_opt: [apparmor=unconfined], or appArmorProfile: {type: Unconfined} in a \
                           pod; docs/containers.md";
            Some(missing("apparmor", format!("the profile {name} refuses mounts"), setting))
        }
        _ => None,
    }
}

fn user_namespaces() -> Row {
    let layer = "user namespaces";
    let switches = [
        ("user.max_user_namespaces", "0", "15000"),
        ("kernel.unprivileged_userns_clone", "0", "1"),
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ];
    for (name, off, on) in switches {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        if setting(&path).as_deref() == Some(off) {
            return missing(layer, format!("{name} is {off}"), format!("sysctl -w {name}={on}"));
        }
    }
    match setting("/proc/sys/user/max_user_namespaces") {
        Some(most) => row(layer, State::Ok, format!("up to {most} for ordinary users")),
        None => missing(layer, "this kernel has none", "a kernel built with CONFIG_USER_NS"),
    }
}

fn landlock(abi: u32) -> Row {
    let layer = "landlock";
    if abi == 0 {
        let offers = "not in this kernel, or not switched on";
        return missing(layer, offers, "boot with lsm=landlock,… (Linux 5.13 or later)");
    }
    let covers = match abi {
        1 => "files, without moves between directories",
        2..4 => "files",
        4..6 => "files, TCP ports",
        _ => "files, TCP ports, signals, abstract sockets",
    };
    row(layer, State::Ok, format!("version {abi}: {covers}"))
}

/// The first Linux whose Landlock covers all that a jar could otherwise reach through a layer that failed.
const COVERS_ALL: u32 = 6;

/// What an old Landlock does not cover, and which layers do.
fn landlock_lacks(abi: u32) -> Option<Row> {
    if !(1..COVERS_ALL).contains(&abi) {
        return None;
    }
    let lacks: Vec<String> = carboy_jail::substitutes(abi, Walls::Nested)
        .into_iter()
        .map(|lack| format!("{} (Linux {})", lack.covers, lack.since))
        .collect();
    let offers = format!("{}: other layers hold, `carboy explain` says which", lacks.join(", "));
    Some(row("landlock lacks", State::Note, offers))
}

fn seccomp() -> Row {
    let layer = "seccomp";
    let actions = setting("/proc/sys/kernel/seccomp/actions_avail").unwrap_or_default();
    let lacks: Vec<&str> = ["kill_process", "user_notif"]
        .into_iter()
        .filter(|action| !actions.split_whitespace().any(|word| word == *action))
        .collect();
    if lacks.is_empty() {
        let words = match outer_filters() {
            0 => "filters with user notification".to_owned(),
            count => {
                format!("filters with user notification; {count} around carboy, which answer first")
            }
        };
        return row(layer, State::Ok, words);
    }
    let offers = format!("no {}", lacks.join(", no "));
    missing(layer, offers, "a kernel from 5.9 on with CONFIG_SECCOMP_FILTER")
}

fn identity(host: &Host) -> Row {
    let layer = "identity";
    match (host.uid, host.spare_id) {
        (0, Some(id)) => row(layer, State::Ok, format!("root; jars step down to user {id}")),
        (0, None) => row(
            layer,
            State::Note,
            "root that cannot become another user: none is mapped, or CAP_CHOWN, CAP_SETUID or CAP_SETGID \
             is missing; jars keep it, without capabilities",
        ),
        (uid, _) => row(layer, State::Ok, format!("user {uid}, without privileges")),
    }
}

/// What all runs together may use. A run that waits for memory is not seen from outside, so the number is.
fn budget(engine: &Engine) -> Row {
    let (bytes, source) = engine.memory_budget();
    let limits = Limits::default();
    let usual = bytes / (limits.memory_bytes + limits.file_bytes).max(1);
    let words = format!("{} MiB for all runs together ({source})", bytes >> 20);
    match usual {
        0 => row("memory", State::Note, format!("{words}; too little for the default policy")),
        _ => row("memory", State::Ok, words),
    }
}

fn cgroup(engine: &Engine) -> Row {
    match engine.cgroup() {
        Ok(place) => row("cgroup", State::Ok, format!("each jar has one, in {}", place.display())),
        Err(why) => {
            row("cgroup", State::Note, format!("{why}; limits hold by rlimits and sampling"))
        }
    }
}
