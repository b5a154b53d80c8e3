//! The levels of Landlock: what each adds, whether this kernel really has it, and what holds in its place
//! where it does not. @table
//!
//! A kernel's number is not trusted: some report a version and then refuse what is new in it. So each
//! level is tried with the rights that a jar asks for.

use carboy_protocol::Walls;
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use serde::{Deserialize, Serialize};

/// The first level that rules on truncation; below it the system-call filter of nested walls does.
pub(crate) const TRUNCATE: u32 = 3;
/// The first level that rules on TCP ports.
const NET: u32 = 4;
/// The first level that scopes signals and abstract sockets.
const SCOPE: u32 = 6;
/// The first level that writes refusals to the audit log, and can be told not to.
pub(super) const LOGS: u32 = 7;

/// What a level adds to the one before it.
struct Level {
    number: u32,
    /// The first Linux that has it.
    since: &'static str,
    adds: Option<Right>,
}

/// A right that a level brings under its rules, and what holds where that level is missing.
struct Right {
    name: &'static str,
    /// What it covers, in words.
    covers: &'static str,
    full: &'static str,
    nested: &'static str,
}

/// Every level that this build uses, in order.
const LEVELS: [Level; 9] = [
    // Without this one there are no walls.
    Level { number: 1, since: "5.13", adds: None },
    Level {
        number: 2,
        since: "5.19",
        adds: Some(Right {
            name: "refer",
            covers: "moves and links between directories",
            full: "the kernel refuses them all with EXDEV",
            nested: "the kernel refuses them all with EXDEV",
        }),
    },
    Level {
        number: TRUNCATE,
        since: "6.2",
        adds: Some(Right {
            name: "truncate",
            covers: "emptying files",
            full: "every mount of the host is read-only",
            nested: "the system-call filter refuses truncate, and O_TRUNC without write access",
        }),
    },
    Level {
        number: NET,
        since: "6.7",
        adds: Some(Right {
            name: "tcp",
            covers: "TCP ports",
            full: "the system-call filter refuses socket, and the network namespace is empty",
            nested: "the system-call filter refuses socket",
        }),
    },
    Level {
        number: 5,
        since: "6.10",
        adds: Some(Right {
            name: "ioctl_dev",
            covers: "requests to devices",
            full: "the system-call filter allows six requests of ioctl, which change no device",
            nested: "the system-call filter allows six requests of ioctl, which change no device",
        }),
    },
    Level {
        number: SCOPE,
        since: "6.12",
        adds: Some(Right {
            name: "scope",
            covers: "signals and abstract sockets",
            full: "the system-call filter refuses socket and connect, and the pid namespace has no other process",
            nested: "the system-call filter refuses every call that sends a signal, socket and connect",
        }),
    },
    // Before it nothing is logged.
    Level { number: LOGS, since: "6.15", adds: None },
    // Restricts all threads at once; a jar has one when it restricts itself.
    Level { number: 8, since: "7.0", adds: None },
    Level {
        number: 9,
        since: "7.1",
        adds: Some(Right {
            name: "resolve_unix",
            covers: "sockets that have a path",
            full: "the system-call filter refuses socket and connect",
            nested: "the system-call filter refuses socket and connect",
        }),
    },
];

/// A right that the kernel's Landlock does not cover, and what holds in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Substitute {
    /// The right, by the kernel's name for it.
    pub right: String,
    /// The first Linux that has it.
    pub since: String,
    /// What it covers.
    pub covers: String,
    /// Which layer holds instead.
    pub held_by: String,
}

/// What Landlock at this level does not cover, and what does behind these walls.
pub fn substitutes(level: u32, walls: Walls) -> Vec<Substitute> {
    let beyond = LEVELS.iter().filter(|known| known.number > level);
    let lacking = beyond.filter_map(|known| Some((known.since, known.adds.as_ref()?)));
    lacking
        .map(|(since, right)| Substitute {
            right: right.name.into(),
            since: since.into(),
            covers: right.covers.into(),
            held_by: match walls {
                Walls::Full => right.full.into(),
                Walls::Nested => right.nested.into(),
            },
        })
        .collect()
}

/// The highest level whose rules this kernel really takes; 0 if it has no Landlock.
///
/// It restricts the calling thread for good, which is the only way to try all of it: call it on a
/// thread that ends.
pub fn probe() -> u32 {
    let said = carboy_sys::landlock_abi();
    let known = LEVELS.iter().map(|level| level.number).take_while(|level| *level <= said);
    let mut taken = None;
    for level in known {
        match ruleset(level) {
            Ok(ruleset) => taken = Some((level, ruleset)),
            Err(_) => break,
        }
    }
    let Some((level, ruleset)) = taken else { return 0 };
    if level < LOGS {
        return level;
    }
    let quiet = ruleset.log_same_exec(false).and_then(RulesetCreated::restrict_self);
    match quiet {
        Ok(status) if status.ruleset == RulesetStatus::FullyEnforced => level,
        _ => LOGS - 1,
    }
}

/// A ruleset that handles all that a level can, and allows nothing.
pub(super) fn ruleset(level: u32) -> Result<RulesetCreated, RulesetError> {
    let abi = ABI::from(level as i32);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))?;
    if level >= NET {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
    }
    if level >= SCOPE {
        ruleset = ruleset.scope(Scope::from_all(abi))?;
    }
    ruleset.create()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(level: u32, walls: Walls) -> Vec<String> {
        substitutes(level, walls).into_iter().map(|lack| lack.right).collect()
    }

    #[test]
    fn every_right_that_a_level_lacks_is_held_by_something() {
        for walls in [Walls::Full, Walls::Nested] {
            assert_eq!(names(9, walls), [""; 0]);
            assert_eq!(names(7, walls), ["resolve_unix"]);
            assert_eq!(names(2, walls), ["truncate", "tcp", "ioctl_dev", "scope", "resolve_unix"]);
            assert_eq!(names(1, walls)[0], "refer");
            assert!(substitutes(0, walls).iter().all(|lack| !lack.held_by.is_empty()));
        }
    }

    #[test]
    fn levels_are_in_order_and_none_is_left_out() {
        assert!(LEVELS.iter().map(|level| level.number).eq(1..=9));
        // The crate knows no higher one: a new one needs a row here.
        assert_eq!(ABI::from(1000) as u32, 9);
    }

    #[test]
    fn what_the_kernel_says_is_what_it_takes_here() {
        let said = carboy_sys::landlock_abi().min(9);
        assert_eq!(std::thread::spawn(probe).join().unwrap(), said);
        // The thread that tried is gone, and this one is not restricted.
        assert!(std::fs::read_dir("/").is_ok());
    }
}
