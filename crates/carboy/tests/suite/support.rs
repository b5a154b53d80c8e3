//! What the tests share: an engine, a look at what it leaves behind, ways to skip.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use carboy_engine::{Config, Engine, GateConfig, Installation, PoolConfig};
use carboy_protocol::{GuestError, Job, Kind, LimitName, Limits, Outcome, Policy, Walls};

/// The program under test: the one built with this suite, or another that is named.
pub fn program() -> PathBuf {
    if let Some(named) = std::env::var_os("CARBOY_TEST_PROGRAM") {
        return named.into();
    }
    env!("CARGO_BIN_EXE_carboy").into()
}

/// The walls under test.
pub fn walls() -> Walls {
    match std::env::var("CARBOY_TEST_WALLS").as_deref() {
        Ok("nested") => Walls::Nested,
        _ => Walls::Full,
    }
}

/// The interpreter under test.
pub fn python() -> PathBuf {
    std::env::var_os("CARBOY_TEST_PYTHON").map_or("python3".into(), PathBuf::from)
}

/// The interpreter of the venv with numerical packages, or a reason to skip.
pub fn venv_python() -> Option<PathBuf> {
    let venv = std::env::var_os("CARBOY_TEST_VENV").map(PathBuf::from);
    if venv.is_none() {
        skip("CARBOY_TEST_VENV names no venv with numpy, pandas and matplotlib");
    }
    venv.map(|venv| venv.join("bin/python"))
}

/// Longer than anything here takes on a machine that is slow and busy: the tests wait for what is
/// to happen, and only something that never happens takes so long.
pub const LONG: Duration = Duration::from_secs(90);

/// How long something may take that is promised within `promised` on a machine that is not busy:
/// longer if this machine is so busy now that even starting a program takes its time.
pub fn allowed(promised: Duration) -> Duration {
    let started = Instant::now();
    assert!(std::process::Command::new("true").status().unwrap().success());
    promised.max(started.elapsed() * 100)
}

/// How much of a long test is run: the size from the environment, or one that takes some seconds.
pub fn size(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

/// Says that a test did not test, and why. The test script counts these lines.
pub fn skip(why: &str) {
    println!("SKIPPED: {why}");
}

/// Whether a test that would say the same in several settings of tests/run belongs to this one. Whoever
/// runs a test by hand is in no setting, and runs it.
pub fn belongs_here(settings: &[&str]) -> bool {
    let here = std::env::var("CARBOY_TEST_SETTING");
    let belongs = here.map_or(true, |here| settings.contains(&here.as_str()));
    if !belongs {
        skip(&format!("it would say the same as in {}", settings.join(" and ")));
    }
    belongs
}

/// The default policy in the walls under test, changed. Its clocks are out of the way: a test that
/// is about one of them sets it.
pub fn policy(change: impl FnOnce(&mut Limits)) -> Policy {
    let mut policy = Policy { walls: walls(), ..Policy::default() };
    (policy.limits.wall_ms, policy.limits.cpu_ms) = (300_000, 120_000);
    change(&mut policy.limits);
    policy
}

/// A directory that is removed with the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("carboy-test-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        // A root engine's jars are another user, who must be able to pass through.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&path, mode).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// An engine whose leftovers are counted.
pub struct Bench {
    pub engine: Arc<Engine>,
    folder: Folder,
    before: Traces,
}

impl Bench {
    pub fn new() -> Bench {
        Bench::with(python(), &[])
    }

    pub fn with(python: impl Into<PathBuf>, preload: &[&str]) -> Bench {
        Bench::made(python, preload, |_| {})
    }

    /// An engine in which no jar stands: its processes are a helper, a zygote, and running jars.
    pub fn without_pool() -> Bench {
        Bench::with_pool(PoolConfig { ceiling: 0, ..PoolConfig::default() })
    }

    pub fn with_pool(pool: PoolConfig) -> Bench {
        Bench::made(python(), &[], |config| config.pool = pool)
    }

    pub fn with_gate(gate: GateConfig) -> Bench {
        Bench::made(python(), &[], |config| config.gate = gate)
    }

    pub fn with_ceiling(ceiling: Limits) -> Bench {
        Bench::made(python(), &[], |config| config.ceiling = Some(ceiling))
    }

    pub fn made(
        python: impl Into<PathBuf>,
        preload: &[&str],
        change: impl FnOnce(&mut Config),
    ) -> Bench {
        let folder = Folder::new();
        let before = Traces::now(&folder.0);
        let mut config = Config {
            preload: preload.iter().map(|name| (*name).to_owned()).collect(),
            scratch: folder.0.clone(),
            ..Config::new(Installation::at(program()).unwrap(), python)
        };
        change(&mut config);
        Bench { engine: Arc::new(Engine::new(config).unwrap()), folder, before }
    }

    pub async fn run(&self, policy: Policy, code: &str) -> Outcome {
        self.engine.run(Job::new(code).with_policy(policy)).await.unwrap()
    }

    /// Runs under the default limits.
    pub async fn ask(&self, code: &str) -> Outcome {
        self.run(policy(|_| {}), code).await
    }

    /// Shows that the engine still works, ends it, and that nothing of it is left.
    pub async fn close(self) {
        assert_eq!(result(&self.ask("result = 1").await), "1", "the engine is not alive");
        self.engine.shutdown().await;
        drop(self.engine);
        // Descriptors of background tasks go when the runtime gets to them.
        let ended = Instant::now();
        while Traces::now(&self.folder.0) != self.before {
            if ended.elapsed() > LONG {
                let left = Traces::now(&self.folder.0);
                assert_eq!(left, self.before, "something is left behind");
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// What a run could leave behind.
#[derive(Debug, PartialEq, Eq)]
pub struct Traces {
    processes: BTreeSet<u32>,
    mounts: usize,
    files: BTreeSet<PathBuf>,
    descriptors: BTreeSet<String>,
}

impl Traces {
    pub fn now(folder: &Path) -> Traces {
        let list = |path: &Path| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        // The runtime's own descriptors come and go with the test; the engine's are these kinds.
        let kinds = ["pipe:", "socket:", "[pidfd]", "seccomp", "/jar", "carboy-"];
        let descriptors = list(Path::new("/proc/self/fd"))
            .filter_map(|fd| {
                let target = fs::read_link(&fd).ok()?.to_string_lossy().into_owned();
                let ours = kinds.iter().any(|kind| target.contains(kind));
                ours.then(|| format!("{} {target}", fd.display()))
            })
            .filter(|line| !line.contains("signal"))
            .collect();
        Traces {
            processes: descendants(std::process::id()),
            mounts: fs::read_to_string("/proc/self/mountinfo").unwrap().lines().count(),
            files: list(folder).collect(),
            descriptors,
        }
    }
}

/// The children of a process, whichever of its threads started them.
pub fn children(pid: u32) -> Vec<u32> {
    let mut all = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        all.extend(text.split_whitespace().map(|word| word.parse::<u32>().unwrap()));
    }
    all
}

/// Whether a process runs no more; it may still wait to be reaped.
pub fn is_gone(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ") || stat.contains(") X ")
}

/// Waits until none of these processes runs any more.
pub fn wait_until_gone(pids: &BTreeSet<u32>) {
    let started = Instant::now();
    while !pids.iter().all(|pid| is_gone(*pid)) {
        assert!(started.elapsed() < LONG, "still there: {pids:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Every process below `pid`.
pub fn descendants(pid: u32) -> BTreeSet<u32> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let parent = rest.split_whitespace().nth(1).and_then(|word| word.parse::<u32>().ok());
        parents.push((pid, parent.unwrap_or(0)));
    }
    let mut found = BTreeSet::from([pid]);
    loop {
        let more: Vec<u32> = parents
            .iter()
            .filter(|(child, parent)| found.contains(parent) && !found.contains(child))
            .map(|(child, _)| *child)
            .collect();
        if more.is_empty() {
            found.remove(&pid);
            return found;
        }
        found.extend(more);
    }
}

/// The result as JSON text; fails with the error if there is none.
pub fn result(outcome: &Outcome) -> String {
    match &outcome.result {
        Some(result) => result.get().to_owned(),
        None => panic!("no result: {:#?} {}", outcome.error, outcome.stderr.text),
    }
}

/// The error; fails if there is none.
pub fn error(outcome: &Outcome) -> &GuestError {
    outcome.error.as_ref().unwrap_or_else(|| panic!("no error: {outcome:#?}"))
}

/// Asserts that the run ended on this limit and no other.
pub fn assert_limit(outcome: &Outcome, name: LimitName, allowed: u64) {
    let error = error(outcome);
    assert_eq!(error.kind, Kind::Limit, "{error:#?}");
    let limit = error.limit.as_ref().unwrap();
    assert_eq!((limit.name, limit.allowed), (name, allowed), "{error:#?}");
    assert!(error.hint.is_some());
}
