//! How much memory there is below this process, as the kernel shows it from outside: what jars hold
//! and what the kernel holds for them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::clean::children;

/// How often it is looked at.
const INTERVAL: Duration = Duration::from_millis(20);

/// What `/proc/PID/status` shows of a process that no file backs, its page tables included.
const OF_A_PROCESS: [&str; 4] = ["RssAnon", "VmSwap", "HugetlbPages", "VmPTE"];
/// What the kernel holds for the whole host: objects that it cannot give back, stacks of threads, and
/// the files of full walls, which are in memory.
const OF_THE_HOST: [&str; 3] = ["SUnreclaim", "KernelStack", "Shmem"];

/// Watches from a thread of its own, which no guest can hold up.
pub(crate) struct Meter {
    ended: Arc<AtomicBool>,
    peak: Arc<AtomicU64>,
    thread: std::thread::JoinHandle<()>,
}

impl Meter {
    pub fn start() -> Meter {
        let (ended, peak) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (end, highest) = (ended.clone(), peak.clone());
        let thread = std::thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                highest.fetch_max(now(), Ordering::Relaxed);
                std::thread::sleep(INTERVAL);
            }
        });
        Meter { ended, peak, thread }
    }

    /// The most that was seen.
    pub fn stop(self) -> u64 {
        self.ended.store(true, Ordering::Relaxed);
        // It only counts; if it failed, what it saw by then counts.
        self.thread.join().ok();
        self.peak.load(Ordering::Relaxed)
    }
}

/// What is held now. A fork shows all pages that it shares with its parent as its own: each process
/// counts by what it has more than its parent, as a jar does for the engine.
fn now() -> u64 {
    let mut held = sum(&read("/proc/meminfo".into()), &OF_THE_HOST);
    let mut todo = vec![(std::process::id(), 0)];
    let mut seen = BTreeMap::new();
    while let Some((pid, parent)) = todo.pop() {
        let own = sum(&read(format!("/proc/{pid}/status")), &OF_A_PROCESS);
        held += own.saturating_sub(parent);
        for child in children(pid) {
            if seen.insert(child, pid).is_none() {
                todo.push((child, own));
            }
        }
    }
    held
}

fn read(path: String) -> String {
    // A process that has just ended holds nothing.
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The sum, in bytes, of these lines of a text such as `/proc/meminfo`.
fn sum(text: &str, names: &[&str]) -> u64 {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let wanted = lines.filter(|(name, _)| names.contains(name));
    let values = wanted.filter_map(|(_, value)| value.split_whitespace().next()?.parse().ok());
    values.map(|kibibytes: u64| kibibytes * 1024).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_wanted_lines_are_added_up() {
        let text = "VmPTE:\t     8 kB\nRssAnon:\t    100 kB\nRssFile:\t  7 kB\nThreads:\t3\n";
        assert_eq!(sum(text, &OF_A_PROCESS), 108 * 1024);
        assert_eq!(sum("", &OF_A_PROCESS), 0);
    }
}
