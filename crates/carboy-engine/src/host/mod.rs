//! What this host is and offers, as far as planning needs it: who we are, which interpreter there is,
//! where the parts of carboy lie.

mod elf;
mod install;
mod layout;
mod loader;
mod memory;
mod python;
mod way;

use std::fs;

use rustix::process::{getegid, geteuid, getpriority_process};
use serde::Serialize;

pub use install::Installation;
pub use layout::{Because, Layout, LeftOut, Shown};
pub use memory::Memory;
pub use python::{Python, Versions};
pub(crate) use way::{closed_at, walk};

/// A user id that nothing on a host owns: above every range that distributions hand out.
const NOBODY: u32 = 1_900_000_000;
/// The same where only sixteen bits of ids are mapped, as in many containers.
const NOBODY_16: u32 = 65_534;

/// What planning needs to know of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Host {
    /// The Landlock version, 0 if there is none.
    pub landlock_abi: u32,
    /// The engine's user.
    pub uid: u32,
    /// The engine's group.
    pub gid: u32,
    /// An id that jars of a root engine can run as, if it has the capabilities to switch.
    pub spare_id: Option<u32>,
    /// Processors this process may use.
    pub processors: u64,
    /// The engine's nice value.
    pub nice: i32,
    /// The engine's `oom_score_adj`.
    pub oom_score_adj: i32,
    /// The memory that there is for the engine and all its jars.
    pub memory: Memory,
}

impl Host {
    /// Looks at this host.
    pub fn look() -> Host {
        let read = |file| fs::read_to_string(file).unwrap_or_default();
        let may_switch = may_switch(&read("/proc/self/status"));
        let spare_id = spare(&read("/proc/self/uid_map"), &read("/proc/self/gid_map"));
        let spare_id = spare_id.filter(|_| may_switch);
        Host {
            landlock_abi: landlock(),
            uid: geteuid().as_raw(),
            gid: getegid().as_raw(),
            spare_id,
            processors: std::thread::available_parallelism().map_or(1, |n| n.get() as u64),
            nice: getpriority_process(None).unwrap_or(0),
            oom_score_adj: read("/proc/self/oom_score_adj").trim().parse().unwrap_or(0),
            memory: Memory::look(),
        }
    }
}

/// The Landlock version that this kernel takes. Trying restricts a thread, so one is started for it.
fn landlock() -> u32 {
    std::thread::spawn(carboy_jail::probe_landlock).join().unwrap_or(0)
}

/// Whether this process can give files to another user and become that user: `CAP_CHOWN`, `CAP_SETGID` and
/// `CAP_SETUID`. The root of a container may lack them.
fn may_switch(status: &str) -> bool {
    let held = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = held.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
    [0, 6, 7].iter().all(|capability| held >> capability & 1 == 1)
}

fn spare(uid_map: &str, gid_map: &str) -> Option<u32> {
    let maps = |map: &str, id: u32| {
        map.lines().any(|line| {
            let mut numbers = line.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
            let (first, count) = (numbers.next(), numbers.nth(1));
            first.zip(count).is_some_and(|(first, count)| {
                (first..first.saturating_add(count)).contains(&u64::from(id))
            })
        })
    };
    [NOBODY, NOBODY_16].into_iter().find(|id| maps(uid_map, *id) && maps(gid_map, *id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_steps_down_where_an_id_is_mapped() {
        let whole = "         0          0 4294967295\n";
        assert_eq!(spare(whole, whole), Some(NOBODY));
        assert_eq!(spare("0 100000 65536\n", "0 100000 65536\n"), Some(NOBODY_16));
        assert_eq!(spare("0 1000 1\n", "0 1000 1\n"), None);
        assert_eq!(spare("", ""), None);
    }

    #[test]
    fn root_switches_only_with_the_capabilities_for_it() {
        let held = |set: &str| may_switch(&format!("Name:\tx\nCapEff:\t{set}\nCapBnd:\t0\n"));
        assert!(held("000001ffffffffff") && held("00000000a80425fb"));
        assert!(!held("0000000000000000") && !held("00000000000000c0") && !may_switch(""));
    }
}
