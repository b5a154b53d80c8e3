//! What every plan on this host has in common, resolved once: which files an interpreter needs, where
//! they really lie, and who jars run as.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use carboy_jail::{Link, Mount};
use carboy_protocol::{INPUT_FOLDERS, INPUT_ROOT};

use crate::host::{Because, Host, Installation, Python, closed_at};
use crate::plan::readable::{self, Tree};

/// What is to run, and on what.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    pub host: Host,
    pub installation: Installation,
    pub python: Python,
    /// Modules that a zygote imports before it is ready.
    pub preload: Vec<String>,
    /// What of the host can be read, at its own place.
    pub mounts: Vec<Mount>,
    /// The symbolic links on the way there.
    pub links: Vec<Link>,
    /// Because of what each of these is there.
    pub because: BTreeMap<PathBuf, BTreeSet<Because>>,
    /// Those that only somebody with the engine's rights can reach.
    pub closed: BTreeSet<PathBuf>,
    /// The temporary directory inside a private root: `/tmp`, unless that would cover something that
    /// is to be read.
    pub temporary: PathBuf,
    /// The folders for what a run is given: those in which nothing lies that is to be read anyway.
    pub folders: Vec<&'static str>,
    /// Where the interpreter's file really lies. Some look for their library from there.
    pub executable: Option<PathBuf>,
    /// When this was resolved, in seconds of the epoch: when the computer that jars see was started.
    pub since: u64,
}

impl Base {
    /// Looks at the disk. Nothing that plans from this looks again.
    pub fn resolve(
        host: Host,
        installation: Installation,
        python: Python,
        preload: Vec<String>,
    ) -> Base {
        #[cfg(feature = "ablation")]
        let host = crate::plan::ablation::host(host);
        let Tree { mounts, links, because } = readable::tree(&readable::paths(&python));
        let targets = mounts.iter().map(|mount| &mount.target).chain(&python.layout.listed);
        let closed = targets.filter(|path| closed_at(path).is_some()).cloned().collect();
        let temporary = temporary(&mounts, &links).into();
        let folders = folders(&mounts, &links);
        let executable = python.program.canonicalize().ok();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Base {
            host,
            installation,
            python,
            preload,
            mounts,
            links,
            because,
            closed,
            temporary,
            folders,
            executable,
            since,
        }
    }
}

impl Base {
    /// Whether something is named among the packages, or holds libraries, and only the engine can reach it.
    pub fn is_out_of_reach(&self, path: &Path) -> bool {
        let is_named = |because: &Because| {
            matches!(because, Because::Libraries | Because::Pth(_) | Because::Link(_))
        };
        let because = self.because.get(path);
        self.closed.contains(path) && because.is_none_or(|all| all.iter().all(is_named))
    }
}

/// Where the temporary directory may be, the usual place first. Nothing of a host is at the last.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/carboy/tmp"];

/// Whether a place neither covers something that is to be read nor lies in it.
fn is_free(place: &Path, mounts: &[Mount], links: &[Link]) -> bool {
    let mut read = mounts.iter().map(|mount| &mount.target).chain(links.iter().map(|l| &l.path));
    read.all(|path| !path.starts_with(place) && !place.starts_with(path))
}

/// The folders for what a run is given that are free, by both of their names.
fn folders(mounts: &[Mount], links: &[Link]) -> Vec<&'static str> {
    let both = |folder: &&str| {
        is_free(Path::new(folder), mounts, links)
            && is_free(Path::new(&format!("{INPUT_ROOT}{folder}")), mounts, links)
    };
    INPUT_FOLDERS.into_iter().filter(both).collect()
}

/// The first place that neither covers something that is to be read nor lies in it.
fn temporary(mounts: &[Mount], links: &[Link]) -> &'static str {
    let is_free = |place: &&str| is_free(Path::new(place), mounts, links);
    TEMPORARY.into_iter().find(is_free).unwrap_or(TEMPORARY[2])
}

#[cfg(test)]
mod tests {
    use carboy_protocol::{Policy, PythonVersion, Walls};

    use super::*;
    use crate::host::{Layout, Memory, Shown};
    use crate::plan::Plan;

    #[test]
    fn the_temporary_directory_covers_nothing_that_is_read() {
        let place = |read: &[&str]| {
            let mounts = read.iter().map(|path| Mount {
                source: path.into(),
                target: path.into(),
                kind: carboy_jail::MountKind::Directory,
            });
            temporary(&mounts.collect::<Vec<_>>(), &[])
        };
        assert_eq!(place(&["/usr"]), "/tmp");
        assert_eq!(place(&["/usr", "/tmp/venv"]), "/var/tmp");
        assert_eq!(place(&["/tmp/venv", "/var/tmp/python"]), "/carboy/tmp");
        assert_eq!(place(&["/tmp/venv", "/var"]), "/carboy/tmp");
        let link = Link { path: "/tmp/python".into(), target: "/usr/bin/python3".into() };
        assert_eq!(temporary(&[], &[link]), "/var/tmp");
    }

    #[test]
    fn planning_looks_at_the_disk_once() {
        let folder = std::env::temp_dir().join(format!("carboy-base-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("bin")).unwrap();
        std::fs::create_dir_all(folder.join("lib")).unwrap();
        let program = folder.join("bin/python");
        std::fs::write(&program, "").unwrap();
        let real = folder.canonicalize().unwrap();
        let host = Host {
            landlock_abi: 7,
            uid: 1000,
            gid: 1000,
            spare_id: None,
            processors: 2,
            nice: 0,
            oom_score_adj: 0,
            memory: Memory::default(),
        };
        let installation = Installation { program: "/x/carboy".into() };
        let shown = |path| Shown { path, because: Because::Interpreter };
        let python = Python {
            program: program.clone(),
            version: "3.11.0".into(),
            language: PythonVersion { major: 3, minor: 11 },
            venv: None,
            layout: Layout {
                shown: vec![shown(program.clone()), shown(folder.join("lib"))],
                ..Layout::default()
            },
        };
        let base = Base::resolve(host, installation, python, vec![]);
        let plans = || {
            [Walls::Full, Walls::Nested].map(|walls| {
                let policy = Policy { walls, ..Policy::default() };
                serde_json::to_string(&Plan::new(&base, &policy).unwrap()).unwrap()
            })
        };
        let before = plans();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(plans(), before, "planning looked at the disk again");
        assert!(!folder.exists(), "planning made a directory");
        let readable = |plan: &String| plan.contains(&*real.join("lib").to_string_lossy());
        assert!(before.iter().all(readable), "the interpreter's files are not in the plan");
        assert_eq!(base.executable, Some(real.join("bin/python")));
    }
}
