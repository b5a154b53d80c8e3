//! The system-call profile: read from data, asked by the engine, compiled for the kernel.

mod file;
mod rule;

use std::collections::BTreeMap;

use carboy_protocol::Walls;
use carboy_sys::Machine;
use file::Contents;

pub use rule::{Grant, ProfileFault, Verdict};
pub(crate) use rule::{How, Rule, Test};

/// The profile of the process tier, as it stands in the repository.
pub const PROCESS: &str = include_str!("process.toml");

/// Every rule, by the number of the call.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// The machine whose calls these are.
    pub(crate) machine: Machine,
    pub(crate) calls: BTreeMap<u32, Vec<Rule>>,
    /// For calls that no rule names; without it they kill.
    pub(crate) otherwise: Option<Rule>,
    /// How many of the calls are another spelling of one that is allowed.
    spellings: usize,
}

impl Profile {
    /// The profile of the process tier behind these walls, beside this version of Landlock.
    pub fn process(walls: Walls, landlock: u32) -> Result<Profile, ProfileFault> {
        Profile::process_on(Machine::HERE, walls, landlock)
    }

    /// The same on a machine that need not be this one.
    pub fn process_on(
        machine: Machine,
        walls: Walls,
        landlock: u32,
    ) -> Result<Profile, ProfileFault> {
        Profile::parse(PROCESS, machine, walls, landlock)
    }

    /// Arguments that reach every rule: for each call some without meaning, and for each rule that
    /// looks at arguments some that fit it, some that just do not, and some with high bits set.
    pub fn probes(&self) -> Vec<(u32, [u64; 6])> {
        let mut probes = Vec::new();
        for (number, rules) in &self.calls {
            probes.push((*number, [u64::MAX; 6]));
            for rule in rules.iter().filter(|rule| !rule.tests.is_empty()) {
                let mut fits = [0; 6];
                rule.tests.iter().for_each(|test| fits[test.arg] = test.value(true));
                probes.push((*number, fits));
                for test in &rule.tests {
                    for value in [test.value(false), fits[test.arg] | 1 << 32] {
                        let mut changed = fits;
                        changed[test.arg] = value;
                        probes.push((*number, changed));
                    }
                }
            }
        }
        probes.sort_unstable();
        probes.dedup();
        probes
    }

    /// Reads a profile for a machine. Unknown names, unknown fields, a rule that can never be reached and a
    /// missing reason are all faults. A name that only other machines have is none: it is left out.
    pub fn parse(
        text: &str,
        machine: Machine,
        walls: Walls,
        landlock: u32,
    ) -> Result<Profile, ProfileFault> {
        let contents = file::read(text, machine, walls, landlock)?;
        let Contents { name, calls, otherwise, spellings } = contents;
        Ok(Profile { name, machine, calls, otherwise, spellings })
    }

    /// The machine whose calls these are.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// What is to happen with a call.
    pub fn judge(&self, number: u32, args: &[u64; 6]) -> Verdict {
        self.rule(number, args).map_or(Verdict::Kill, |rule| rule.verdict.clone())
    }

    /// The words for a caller whose call was refused.
    pub fn hint(&self, number: u32, args: &[u64; 6]) -> Option<&str> {
        self.rule(number, args)?.hint.as_deref()
    }

    fn rule(&self, number: u32, args: &[u64; 6]) -> Option<&Rule> {
        let fits = |rule: &&Rule| rule.tests.iter().all(|test| test.holds(args));
        let named = self.calls.get(&number).and_then(|rules| rules.iter().find(fits));
        named.or(self.otherwise.as_ref())
    }

    /// How many of the allowed calls are another spelling of one that is allowed too.
    pub fn spellings(&self) -> usize {
        self.spellings
    }

    /// The names of the calls that can be allowed.
    pub fn allowed(&self) -> Vec<&'static str> {
        let allows = |rules: &&Vec<Rule>| rules.iter().any(|rule| rule.verdict == Verdict::Allow);
        let numbers = self.calls.iter().filter(|(_, rules)| allows(rules));
        numbers.filter_map(|(number, _)| self.machine.name_of(*number)).collect()
    }

    /// How many calls have a rule at all.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::LazyLock;

    use carboy_sys::all_calls;

    /// The profile on both machines behind both walls, read once.
    static PROFILES: LazyLock<Vec<(Machine, Walls, Profile)>> = LazyLock::new(|| {
        let each = Machine::ALL.into_iter().flat_map(|machine| WALLS.map(|walls| (machine, walls)));
        let read =
            |(machine, walls)| (machine, walls, Profile::process_on(machine, walls, 7).unwrap());
        each.map(read).collect()
    });

    fn process(machine: Machine, walls: Walls) -> &'static Profile {
        let found = PROFILES.iter().find(|(on, behind, _)| (*on, *behind) == (machine, walls));
        &found.unwrap().2
    }

    const WALLS: [Walls; 2] = [Walls::Full, Walls::Nested];

    /// What becomes of a call on a machine.
    fn judge_on(machine: Machine, walls: Walls, name: &str, args: &[u64]) -> Verdict {
        let mut all = [0; 6];
        all[..args.len()].copy_from_slice(args);
        process(machine, walls).judge(machine.number_of(name).unwrap(), &all)
    }

    /// What becomes of a call, on every machine.
    fn judge(name: &str, args: &[u64]) -> Verdict {
        let [one, other] = Machine::ALL.map(|machine| judge_on(machine, Walls::Full, name, args));
        assert_eq!(one, other, "{name} {args:?}");
        one
    }

    #[test]
    fn few_calls_are_allowed_and_the_rest_are_spellings_of_them() {
        for machine in Machine::ALL {
            let profile = process(machine, Walls::Full);
            let (allowed, spellings) = (profile.allowed().len(), profile.spellings());
            assert!(allowed - spellings <= 105, "{allowed} calls are allowed, {spellings} alike");
        }
    }

    #[test]
    fn every_call_with_a_name_has_a_rule_and_what_has_none_is_told_to_the_engine() {
        for machine in Machine::ALL {
            let profile = process(machine, Walls::Full);
            for number in 0..600 {
                let (ruled, name) = (profile.calls.contains_key(&number), machine.name_of(number));
                assert_eq!(ruled, name.is_some(), "{number} {name:?} {machine:?}");
                assert_ne!(profile.judge(number, &[0; 6]), Verdict::Kill, "{number} {machine:?}");
            }
            assert_eq!(profile.judge(599, &[0; 6]), Verdict::Refuse(38));
            assert!(profile.hint(599, &[0; 6]).is_some());
        }
    }

    #[test]
    fn a_spelling_is_answered_as_what_it_spells() {
        for (spelling, to) in [("fchmod", "chmod"), ("utimes", "utimensat"), ("open", "openat")] {
            for walls in WALLS {
                let judge = |name| judge_on(Machine::X86_64, walls, name, &[]);
                assert_eq!(judge(spelling), judge(to), "{spelling} {walls:?}");
            }
        }
        for machine in Machine::ALL {
            assert_eq!(judge_on(machine, Walls::Nested, "fchmod", &[]), Verdict::Answer(0));
        }
    }

    /// The calls that aarch64 lacks, with what its C library uses instead, and the first argument of that.
    const INSTEAD: [(&str, &str, u64); 35] = [
        ("access", "faccessat", 0),
        ("alarm", "setitimer", 0),
        ("chmod", "fchmodat", 0),
        ("chown", "fchownat", 0),
        ("creat", "openat", 0),
        ("dup2", "dup3", 0),
        ("epoll_create", "epoll_create1", 0),
        ("epoll_wait", "epoll_pwait", 0),
        ("eventfd", "eventfd2", 0),
        ("fork", "clone", 17),
        ("futimesat", "utimensat", 0),
        ("getdents", "getdents64", 0),
        ("getpgrp", "getpgid", 0),
        ("inotify_init", "inotify_init1", 0),
        ("lchown", "fchownat", 0),
        ("link", "linkat", 0),
        ("lstat", "newfstatat", 0),
        ("mkdir", "mkdirat", 0),
        ("mknod", "mknodat", 0),
        ("open", "openat", 0),
        ("pause", "ppoll", 0),
        ("pipe", "pipe2", 0),
        ("poll", "ppoll", 0),
        ("readlink", "readlinkat", 0),
        ("rename", "renameat", 0),
        ("rmdir", "unlinkat", 0),
        ("select", "pselect6", 0),
        ("signalfd", "signalfd4", 0),
        ("stat", "newfstatat", 0),
        ("symlink", "symlinkat", 0),
        ("time", "clock_gettime", 0),
        ("unlink", "unlinkat", 0),
        ("utime", "utimensat", 0),
        ("utimes", "utimensat", 0),
        ("vfork", "clone", 0x4111),
    ];
    /// What it lacks and has nothing for.
    const WITHOUT: [&str; 6] = ["arch_prctl", "ioperm", "iopl", "modify_ldt", "sysfs", "ustat"];

    #[test]
    fn what_a_machine_lacks_is_left_out_and_what_stands_for_it_is_answered_alike() {
        let [x86, arm] = Machine::ALL;
        let mut lacked: Vec<_> = all_calls().filter(|name| arm.number_of(name).is_none()).collect();
        lacked.sort_unstable();
        let mut known: Vec<_> = INSTEAD.iter().map(|(name, ..)| *name).chain(WITHOUT).collect();
        known.sort_unstable();
        assert_eq!(known, lacked);
        for walls in WALLS {
            let [on_x86, on_arm] = Machine::ALL.map(|machine| process(machine, walls));
            assert_eq!(on_x86.len() - on_arm.len(), lacked.len());
            for (name, instead, argument) in INSTEAD {
                let here = judge_on(x86, walls, name, &[]);
                assert_eq!(here, judge_on(arm, walls, instead, &[argument]), "{name} {walls:?}");
            }
        }
    }

    #[test]
    fn what_both_machines_have_is_answered_alike() {
        for walls in WALLS {
            let [on_x86, on_arm] = Machine::ALL.map(|machine| process(machine, walls));
            for (name, number) in Machine::Aarch64.calls() {
                let there = Machine::X86_64.number_of(name).unwrap();
                for args in [[0; 6], [u64::MAX; 6], [0x10f00; 6], [0x22; 6]] {
                    let (one, other) = (on_x86.judge(there, &args), on_arm.judge(number, &args));
                    assert_eq!(one, other, "{name} {args:x?} {walls:?}");
                }
            }
        }
    }

    #[test]
    fn where_landlock_cannot_the_filter_keeps_files_from_being_emptied() {
        Machine::ALL.into_iter().for_each(emptying_on);
    }

    fn emptying_on(machine: Machine) {
        let judge = |walls, landlock, name: &str, args: [u64; 6]| {
            let profile = Profile::process_on(machine, walls, landlock).unwrap();
            profile.judge(machine.number_of(name).unwrap(), &args)
        };
        let (write, both, special, truncate, create) = (1, 2, 3, 0o1000, 0o100);
        let open = machine.number_of("open").map(|_| ("open", 1));
        for (name, at) in open.into_iter().chain([("openat", 2)]) {
            let open = |walls, landlock, flags: u64| {
                let mut args = [0; 6];
                args[at] = flags;
                judge(walls, landlock, name, args)
            };
            for level in [1, 2] {
                for flags in [truncate, truncate | create, truncate | special] {
                    for flags in [flags, flags | 1 << 32] {
                        assert_eq!(
                            open(Walls::Nested, level, flags),
                            Verdict::Refuse(1),
                            "{flags:o}"
                        );
                    }
                    assert_eq!(open(Walls::Full, level, flags), Verdict::Allow);
                }
                for flags in [0, special, write | truncate, both | truncate | create, 1 << 41] {
                    assert_eq!(open(Walls::Nested, level, flags), Verdict::Allow, "{flags:o}");
                }
            }
            assert_eq!(open(Walls::Nested, 3, truncate), Verdict::Allow);
        }
        assert_eq!(judge(Walls::Nested, 2, "truncate", [0; 6]), Verdict::Refuse(1));
        assert_eq!(judge(Walls::Nested, 3, "truncate", [0; 6]), Verdict::Allow);
        assert_eq!(judge(Walls::Full, 1, "truncate", [0; 6]), Verdict::Allow);
        // Who holds a file open for writing may cut it.
        assert_eq!(judge(Walls::Nested, 1, "ftruncate", [0; 6]), Verdict::Allow);
    }

    #[test]
    fn threads_processes_and_namespaces_are_told_apart_by_flags() {
        let glibc_thread = 0x3d0f00;
        assert_eq!(judge("clone", &[glibc_thread]), Verdict::Grant(Grant::Thread));
        assert_eq!(judge("clone", &[glibc_thread | 0xffff << 32]), Verdict::Grant(Grant::Thread));
        assert_eq!(judge("clone", &[0x11]), Verdict::Grant(Grant::Process));
        for namespace in [0x0002_0000, 0x0200_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000] {
            assert_eq!(judge("clone", &[namespace | 0x11]), Verdict::Refuse(1));
            assert_eq!(judge("clone", &[namespace | glibc_thread]), Verdict::Refuse(1));
        }
        assert_eq!(judge("clone3", &[]), Verdict::Answer(38));
    }

    #[test]
    fn nothing_that_others_see_of_a_shared_file_reaches_the_kernel() {
        let (lock, lock_and_wait, ask) = (6, 7, 5);
        assert_eq!(judge("fcntl", &[3, lock]), Verdict::Answer(0));
        assert_eq!(judge("fcntl", &[3, lock_and_wait]), Verdict::Answer(0));
        assert_eq!(judge("fcntl", &[3, ask]), Verdict::Allow);
        let (private, clock) = (128, 256);
        for op in 0..=127 {
            assert_eq!(judge("futex", &[0, op | private]), Verdict::Allow, "{op}");
            for shared in [op, op | clock] {
                assert!(matches!(judge("futex", &[0, shared]), Verdict::Answer(_)), "{op}");
            }
        }
        // glibc ends the process on any answer to a wait or a wake that it does not know.
        for (op, answer) in [(0, 11), (9, 11), (1, 0), (10, 0), (5, 0)] {
            assert_eq!(judge("futex", &[0, op]), Verdict::Answer(answer), "{op}");
        }
    }

    #[test]
    fn bad_profiles_are_refused() {
        let base = "name='x'\ncase=[]\n[answer]\n[nested]\n[refuse]\n[allow]\n";
        let parse = |text: &str| Profile::parse(text, Machine::Aarch64, Walls::Full, 7);
        assert!(parse(base).is_ok());
        let other = format!("{base}open='only another machine has it'");
        assert!(parse(&other).unwrap().is_empty());
        for (text, words) in [
            (format!("{base}nosuchcall='r'"), "unknown system call"),
            (format!("{base}read=''"), "no reason"),
            (format!("{base}open=''"), "no reason"),
            (base.replace("[answer]", "[answer]\nread={errno='EX',why='w'}"), "unknown errno"),
            (base.replace("case=[]", "case=[{call='read',why='w',then='refuse'}]"), "errno"),
            (
                base.replace("[answer]", "[alike]\nopen={to='openat',why='w'}\n[answer]"),
                "not allowed",
            ),
            (
                base.replace("case=[]", "case=[{call='read',why='w',then='allow'}]")
                    + "read='again'",
                "never be reached",
            ),
        ] {
            let fault = parse(&text).unwrap_err().to_string();
            assert!(fault.contains(words), "{fault}");
        }
    }
}
