//! Control groups (version 2), where the part of the tree that this process is in was delegated to it.
//!
//! A process that is alone in its group, may write there and has the controllers for memory and processes
//! moves itself to a leaf, `engine`. Beside that it makes `jars`, which bounds all jars together, and in
//! that one group for each jar. Anything less is no use of control groups at all: the kernel does not
//! let a group with processes in it hand controllers on, and other people's processes are not moved.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The controllers that bound a jar.
const NEEDED: [&str; 2] = ["memory", "pids"];
/// The weight of all jars against the engine, if there is that controller; each has 100 by default.
const WEIGHT: &str = "33";

/// What may be used in a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub memory_bytes: u64,
    /// Processes and threads.
    pub tasks: u64,
}

/// The groups of this process.
#[derive(Debug)]
pub(crate) struct Tree {
    jars: PathBuf,
    next: AtomicU64,
    /// Groups of jars that are gone, or about to be.
    left: Mutex<Vec<PathBuf>>,
}

impl Tree {
    /// The groups of this process, made when they are first asked for, or why there are none. A process
    /// has one tree, however many engines it has; the first one's bounds hold for all.
    pub fn own(bounds: Bounds) -> Result<Arc<Tree>, String> {
        static TREE: OnceLock<Result<Arc<Tree>, String>> = OnceLock::new();
        let claim = || {
            let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
            let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
            let places = places(&own, &mounts, "memory");
            let place = places.iter().find(|place| place.is_unified);
            let place = place.ok_or("version 2 is not mounted")?;
            Tree::claim(&place.folder, bounds).map(Arc::new)
        };
        TREE.get_or_init(claim).clone()
    }

    fn claim(folder: &Path, bounds: Bounds) -> Result<Tree, String> {
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let controllers = read("cgroup.controllers");
        let has = |name: &str| controllers.split_whitespace().any(|found| found == name);
        if let Some(lacks) = NEEDED.into_iter().find(|name| !has(name)) {
            return Err(format!("version 2 without the controller {lacks}"));
        }
        let pid = std::process::id().to_string();
        if read("cgroup.procs").split_whitespace().any(|found| found != pid) {
            return Err("version 2, but other processes are in this process's group".into());
        }
        let engine = folder.join("engine");
        let refused = |error: io::Error| format!("version 2, not delegated: {error}");
        make(&engine).map_err(refused)?;
        let claimed = Tree::settle(folder, &engine, &pid, bounds, has("cpu"));
        if claimed.is_err() {
            // Back to where it was; if that fails too, the leaf is as good a place.
            put(folder, "cgroup.procs", &pid).ok();
            fs::remove_dir(&engine).ok();
        }
        claimed.map_err(refused)
    }

    fn settle(
        folder: &Path,
        engine: &Path,
        pid: &str,
        bounds: Bounds,
        shares_processors: bool,
    ) -> io::Result<Tree> {
        let handed_on = if shares_processors { "+memory +pids +cpu" } else { "+memory +pids" };
        put(engine, "cgroup.procs", pid)?;
        put(folder, "cgroup.subtree_control", handed_on)?;
        let jars = folder.join("jars");
        make(&jars)?;
        bound(&jars, bounds)?;
        if shares_processors {
            put(&jars, "cpu.weight", WEIGHT)?;
        }
        put(&jars, "cgroup.subtree_control", handed_on)?;
        let tree = Tree { jars, next: AtomicU64::new(1), left: Mutex::default() };
        // What an engine left that was killed here before.
        for entry in fs::read_dir(&tree.jars)?.flatten().filter(|entry| entry.path().is_dir()) {
            tree.left().push(entry.path());
        }
        tree.sweep();
        Ok(tree)
    }

    /// Where all jars are.
    pub fn place(&self) -> &Path {
        &self.jars
    }

    fn left(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the groups in which nothing runs any more.
    pub fn sweep(&self) {
        self.left().retain(|folder| {
            let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
            fs::remove_dir(folder).is_err_and(|error| !gone(&error))
        });
    }

    /// A group for a jar that exists already: it is put into it, and found there. What it and its children
    /// take from now on counts.
    pub fn hold(self: &Arc<Tree>, pid: u32, bounds: Bounds) -> io::Result<Group> {
        self.sweep();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let folder = self.jars.join(format!("{}-{number}", std::process::id()));
        fs::create_dir(&folder)?;
        // From here on it is removed whatever happens.
        let group = Group { folder, tree: self.clone() };
        bound(&group.folder, bounds)?;
        // All of a jar or nothing: half a jar would have an end that nobody can explain.
        put(&group.folder, "memory.oom.group", "1")?;
        put(&group.folder, "cgroup.procs", &pid.to_string())?;
        let inside = fs::read_to_string(group.folder.join("cgroup.procs"))?;
        if inside.split_whitespace().any(|found| found == pid.to_string()) {
            Ok(group)
        } else {
            Err(io::Error::other("the kernel does not show it in its group"))
        }
    }
}

/// The group of one jar. Removed some time after it is dropped, when nothing runs in it.
#[derive(Debug)]
pub(crate) struct Group {
    folder: PathBuf,
    tree: Arc<Tree>,
}

impl Group {
    /// The number behind a name in one of its files.
    fn number(&self, file: &str, name: &str) -> Option<u64> {
        let text = fs::read_to_string(self.folder.join(file)).ok()?;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value?.trim().parse().ok()
    }

    /// Whether the kernel ended it because it was out of memory.
    pub fn ran_out_of_memory(&self) -> bool {
        self.number("memory.events", "oom_kill").is_some_and(|count| count > 0)
    }

    /// The processor time of everything that ran in it.
    pub fn cpu_us(&self) -> Option<u64> {
        self.number("cpu.stat", "usage_usec")
    }

    /// Ends everything in it. If the kernel does not take that, there is still the pidfd.
    pub fn kill(&self) {
        put(&self.folder, "cgroup.kill", "1").ok();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.tree.left().push(std::mem::take(&mut self.folder));
    }
}

/// Sets what may be used in a group.
fn bound(folder: &Path, bounds: Bounds) -> io::Result<()> {
    put(folder, "memory.max", &bounds.memory_bytes.to_string())?;
    put(folder, "pids.max", &bounds.tasks.to_string())?;
    match put(folder, "memory.swap.max", "0") {
        // A kernel that does not count swap has no such file.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Makes a group, if it is not there.
fn make(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Writes to a file of a group, which must be there.
fn put(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let file = folder.join(name);
    let written = fs::OpenOptions::new().write(true).open(&file).and_then(|mut opened| {
        use std::io::Write;
        opened.write_all(text.as_bytes())
    });
    written.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", file.display())))
}

/// A control group of this process, or one above it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub folder: PathBuf,
    pub is_unified: bool,
}

/// The control groups that bound what a controller counts for this process, from its own up to the highest that is shown.
pub(crate) fn places(own: &str, mounts: &str, controller: &str) -> Vec<Place> {
    let mut found = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let is_unified = controllers.is_empty();
        if !is_unified && !controllers.split(',').any(|name| name == controller) {
            continue;
        }
        let Some((root, mount)) =
            mounts.lines().find_map(|line| mounted(line, is_unified, controller))
        else {
            continue;
        };
        // A container may see a part of the tree as the whole, and its own path not at all.
        let below = Path::new(path).strip_prefix(&root).unwrap_or(Path::new(""));
        let folders = below.ancestors().map(|below| mount.join(below));
        found.extend(folders.map(|folder| Place { folder, is_unified }));
    }
    found
}

/// Which part of the tree of control groups a line of mountinfo shows, and where.
fn mounted(line: &str, is_unified: bool, controller: &str) -> Option<(PathBuf, PathBuf)> {
    let (front, back) = line.split_once(" - ")?;
    let mut front = front.split(' ').skip(3);
    let (root, mount) = (front.next()?, front.next()?);
    let mut back = back.split(' ');
    let is_it = match back.next()? {
        "cgroup2" => is_unified,
        "cgroup" => !is_unified && back.nth(1)?.split(',').any(|option| option == controller),
        _ => false,
    };
    is_it.then(|| (root.into(), mount.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { memory_bytes: 1 << 20, tasks: 3 };

    /// A folder that looks like a group.
    fn group(name: &str, controllers: &str, processes: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("carboy-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("cgroup.controllers"), controllers).unwrap();
        fs::write(folder.join("cgroup.procs"), processes).unwrap();
        folder
    }

    #[test]
    fn what_is_not_wholly_ours_is_left_alone() {
        let own = format!("{}\n", std::process::id());
        for (name, controllers, processes, why) in [
            ("pids", "cpu memory", own.as_str(), "without the controller pids"),
            ("shared", "memory pids", "1\n", "other processes"),
            // No kernel stands behind it, so there is nothing to write to.
            ("refused", "memory pids", own.as_str(), "not delegated"),
        ] {
            let folder = group(name, controllers, processes);
            let refused = Tree::claim(&folder, BOUNDS).unwrap_err();
            assert!(refused.contains(why), "{refused}");
            assert!(!folder.join("engine").exists() && !folder.join("jars").exists());
            fs::remove_dir_all(folder).unwrap();
        }
    }
}
