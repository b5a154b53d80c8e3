//! The system-call profile: read from data, asked by the engine, compiled for the kernel.

mod file;
mod rule;

use std::collections::BTreeMap;

use carboy_protocol::Walls;
use carboy_sys::name_of;

pub use rule::{Grant, ProfileFault, Verdict};
pub(crate) use rule::{How, Rule, Test};

/// The profile of the process tier, as it stands in the repository.
pub const PROCESS: &str = include_str!("../../../../profiles/process.toml");

/// Every rule, by the number of the call.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name.
    pub name: String,
    pub(crate) calls: BTreeMap<u32, Vec<Rule>>,
}

impl Profile {
    /// The profile of the process tier behind these walls.
    pub fn process(walls: Walls) -> Result<Profile, ProfileFault> {
        Profile::parse(PROCESS, walls)
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

    /// Reads a profile. Unknown names, unknown fields, a rule that can never be reached and a
    /// missing reason are all faults.
    pub fn parse(text: &str, walls: Walls) -> Result<Profile, ProfileFault> {
        let (name, calls) = file::read(text, walls)?;
        Ok(Profile { name, calls })
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
        let rules = self.calls.get(&number)?;
        rules.iter().find(|rule| rule.tests.iter().all(|test| test.holds(args)))
    }

    /// The names of the calls that can be allowed.
    pub fn allowed(&self) -> Vec<&'static str> {
        let allows = |rules: &&Vec<Rule>| rules.iter().any(|rule| rule.verdict == Verdict::Allow);
        let numbers = self.calls.iter().filter(|(_, rules)| allows(rules));
        numbers.filter_map(|(number, _)| name_of(*number)).collect()
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
    use carboy_sys::number_of;

    fn judge(name: &str, args: &[u64]) -> Verdict {
        let mut all = [0; 6];
        all[..args.len()].copy_from_slice(args);
        Profile::process(Walls::Full).unwrap().judge(number_of(name).unwrap(), &all)
    }

    #[test]
    fn at_most_eighty_calls_are_allowed() {
        let allowed = Profile::process(Walls::Full).unwrap().allowed().len();
        assert!(allowed <= 80, "{allowed} calls are allowed");
    }

    #[test]
    fn what_is_not_named_dies() {
        for name in ["open", "creat", "getdents", "utime", "epoll_create", "ustat", "sysfs"] {
            assert_eq!(judge(name, &[]), Verdict::Kill, "{name}");
        }
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
        assert!(Profile::parse(base, Walls::Full).is_ok());
        for (text, words) in [
            (format!("{base}nosuchcall='r'"), "unknown system call"),
            (format!("{base}read=''"), "no reason"),
            (base.replace("[answer]", "[answer]\nread={errno='EX',why='w'}"), "unknown errno"),
            (base.replace("case=[]", "case=[{call='read',why='w',then='refuse'}]"), "errno"),
            (
                base.replace("case=[]", "case=[{call='read',why='w',then='allow'}]")
                    + "read='again'",
                "never be reached",
            ),
        ] {
            let fault = Profile::parse(&text, Walls::Full).unwrap_err().to_string();
            assert!(fault.contains(words), "{fault}");
        }
    }
}
