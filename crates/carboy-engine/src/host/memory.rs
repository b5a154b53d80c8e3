//! How much memory there is for this process and all below it: what its control group may hold, or
//! what the machine has.

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::kernel::cgroup::{Place, places};

/// The memory that an engine can count on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// The most that may be used.
    pub whole_bytes: u64,
    /// What was in use when it was looked at, apart from what can be written back to files.
    pub used_bytes: u64,
    /// Who says so.
    pub source: String,
}

/// What stays free however large the whole is: for the engine, its zygotes, and jars that have answered
/// and are not gone yet.
const RESERVE: u64 = 64 << 20;
/// The part of the whole that stays free beside that.
const PART: u64 = 8;

impl Memory {
    /// The least of what the control groups of this process allow and the machine has.
    pub(crate) fn look() -> Memory {
        let read = |path: &Path| fs::read_to_string(path).ok();
        let own = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
        let mounts = read(Path::new("/proc/self/mountinfo")).unwrap_or_default();
        let machine = machine(&read(Path::new("/proc/meminfo")).unwrap_or_default());
        let groups = places(&own, &mounts, "memory");
        let groups = groups.iter().filter_map(|place| bound(place, read));
        groups.chain([machine]).min_by_key(Memory::free).unwrap_or_else(|| self::machine(""))
    }

    fn free(&self) -> u64 {
        self.whole_bytes.saturating_sub(self.used_bytes)
    }

    /// What all runs together may use: what is free, less a reserve.
    pub fn budget(&self) -> u64 {
        self.free().saturating_sub(RESERVE + self.whole_bytes / PART)
    }
}

/// What the machine has. Nothing known counts as no bound.
fn machine(meminfo: &str) -> Memory {
    let field = |name| number(meminfo, name).map(|kibibytes| kibibytes << 10);
    let whole_bytes = field("MemTotal:").unwrap_or(u64::MAX);
    let available = field("MemAvailable:").unwrap_or(whole_bytes);
    Memory {
        whole_bytes,
        used_bytes: whole_bytes.saturating_sub(available),
        source: "the machine's memory".into(),
    }
}

/// The number behind a name at the start of a line.
fn number(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(name));
    lines.next()?.split_whitespace().next()?.parse().ok()
}

/// What a control group may hold, if it has a bound.
fn bound(place: &Place, read: impl Fn(&Path) -> Option<String>) -> Option<Memory> {
    let (bound, used) = match place.is_unified {
        true => ("memory.max", "anon "),
        false => ("memory.limit_in_bytes", "total_rss "),
    };
    let file = place.folder.join(bound);
    // Version 2 says `max` where there is no bound, version 1 a number beyond every machine.
    let whole_bytes = read(&file)?.trim().parse().ok().filter(|bytes| *bytes < 1 << 60)?;
    let counts = read(&place.folder.join("memory.stat")).unwrap_or_default();
    Some(Memory {
        whole_bytes,
        used_bytes: number(&counts, used).unwrap_or(0),
        source: file.display().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// The least bound of the groups of `own`, with the files that `files` lists.
    fn bound(own: &str, mounts: &str, files: &[(&str, &str)]) -> Option<Memory> {
        let read = |path: &Path| {
            let file = files.iter().find(|(name, _)| Path::new(name) == path);
            file.map(|(_, text)| (*text).to_owned())
        };
        let all = places(own, mounts, "memory");
        all.iter().filter_map(|place| super::bound(place, read)).min_by_key(Memory::free)
    }

    #[test]
    fn the_least_bound_on_the_way_up_counts() {
        let mounts = "30 20 0:1 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
        let files = [
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("/sys/fs/cgroup/a/memory.max", "536870912\n"),
            ("/sys/fs/cgroup/a/memory.stat", "anon 1048576\nfile 900000000\n"),
        ];
        let found = bound("0::/a/b\n", mounts, &files).unwrap();
        assert_eq!((found.whole_bytes, found.used_bytes), (512 * MIB, MIB));
        assert_eq!(found.source, "/sys/fs/cgroup/a/memory.max");
        assert_eq!(found.budget(), (512 - 1 - 64 - 64) * MIB);
    }

    #[test]
    fn version_1_bounds_too_and_its_largest_number_is_no_bound() {
        let mounts = "31 20 0:2 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      32 20 0:3 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
        let files = [
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("/sys/fs/cgroup/memory/pod/memory.limit_in_bytes", "268435456\n"),
            ("/sys/fs/cgroup/memory/pod/memory.stat", "rss 5\ntotal_rss 7\n"),
        ];
        let found = bound("4:memory:/pod\n3:cpu:/x\n0::/\n", mounts, &files).unwrap();
        assert_eq!((found.whole_bytes, found.used_bytes), (256 * MIB, 7));
        assert_eq!(bound("4:memory:/\n", mounts, &files), None);
    }

    #[test]
    fn a_container_sees_a_part_of_the_tree_as_the_whole() {
        let mounts = "30 20 0:1 /pod/c1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        let files = [("/sys/fs/cgroup/memory.max", "1073741824\n")];
        for own in ["0::/pod/c1\n", "0::/\n", "0::/../other\n"] {
            assert_eq!(bound(own, mounts, &files).unwrap().whole_bytes, 1 << 30, "{own}");
        }
    }

    #[test]
    fn without_a_bound_the_machine_counts() {
        let found = machine("MemTotal:  2048 kB\nMemFree: 1 kB\nMemAvailable:  1024 kB\n");
        assert_eq!((found.whole_bytes, found.used_bytes), (2 * MIB, MIB));
        assert_eq!(found.budget(), 0);
        assert_eq!(machine("").budget(), u64::MAX - (RESERVE + u64::MAX / PART));
        let here = Memory::look();
        assert!(here.whole_bytes > 0 && here.whole_bytes < 1 << 60, "{here:?}");
    }
}
