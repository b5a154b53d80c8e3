//! Whether anything is left behind, as the kernel shows it of this process.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long what was killed may take to be gone, on a machine that is slow and busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a run could leave behind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Traces {
    processes: BTreeSet<u32>,
    mounts: usize,
    descriptors: usize,
    files: BTreeSet<PathBuf>,
}

impl Traces {
    /// What there is now; `scratch` is where jars in nested walls write.
    pub fn now(scratch: &Path) -> Traces {
        let names = |path: &Path| {
            let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect::<Vec<_>>()
        };
        // The folder of a zygote stays as long as the zygote; what is in it must not.
        let inner = names(scratch).iter().flat_map(|folder| names(folder)).collect();
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        Traces {
            processes: descendants(std::process::id()),
            mounts: mounts.lines().count(),
            descriptors: names(Path::new("/proc/self/fd")).len(),
            files: inner,
        }
    }

    /// What there is when nothing changes any more.
    pub async fn at_rest(scratch: &Path) -> Traces {
        let mut last = Traces::now(scratch);
        loop {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let now = Traces::now(scratch);
            if now == last {
                return now;
            }
            last = now;
        }
    }

    /// Waits until it is as it was; otherwise what is more.
    pub async fn back(&self, scratch: &Path) -> Option<String> {
        let started = Instant::now();
        loop {
            let now = Traces::now(scratch);
            if now == *self {
                return None;
            }
            if started.elapsed() > PATIENCE {
                return Some(self.differs(&now));
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    fn differs(&self, now: &Traces) -> String {
        let more: Vec<&u32> = now.processes.difference(&self.processes).collect();
        let files: Vec<&PathBuf> = now.files.difference(&self.files).collect();
        format!(
            "left behind: processes {more:?}, files {files:?}, mounts {} -> {}, descriptors {} -> {}",
            self.mounts, now.mounts, self.descriptors, now.descriptors,
        )
    }
}

/// Everything below a process.
fn descendants(pid: u32) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut todo = vec![pid];
    while let Some(pid) = todo.pop() {
        for child in children(pid) {
            found.insert(child);
            todo.push(child);
        }
    }
    found
}

/// The processes that a process has started and that are there.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.map(|thread| std::fs::read_to_string(thread.path().join("children")));
    lists
        .flat_map(|list| {
            let list = list.unwrap_or_default();
            list.split_whitespace().filter_map(|child| child.parse().ok()).collect::<Vec<u32>>()
        })
        .collect()
}
