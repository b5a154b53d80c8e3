//! The system-call profile: read from data, asked by the engine, compiled for the kernel.

use std::collections::BTreeMap;

use carboy_protocol::Walls;
use carboy_sys::{name_of, number_of};
use serde::Deserialize;

/// The profile of the process tier, as it stands in the repository.
pub const PROCESS: &str = include_str!("../../../profiles/process.toml");

/// What is to happen with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The kernel carries it out.
    Allow,
    /// The filter answers with this `errno`, and nobody is told.
    Answer(i32),
    /// The engine is told and fails it with this `errno`.
    Refuse(i32),
    /// The engine is told and lets it pass while it holds a grant.
    Grant(Grant),
    /// The kernel carries it out while the jar seals itself. After that it fails with `EPERM`.
    Sealing,
    /// The process dies.
    Kill,
}

/// What a call needs a grant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// A thread of the same process.
    Thread,
    /// A child process.
    Process,
    /// A large block of memory.
    Memory,
}

/// A test of one argument. Tests look at the low 32 bits, as the kernel does for integers, except
/// `at_least` and `null`, which look at all 64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Test {
    pub arg: usize,
    pub mask: u32,
    pub how: How,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum How {
    AnyOf(Vec<u32>),
    Above(u32),
    AtLeast(u32),
    Null,
}

impl Test {
    fn holds(&self, args: &[u64; 6]) -> bool {
        let value = args[self.arg];
        let low = (value as u32) & self.mask;
        match &self.how {
            How::AnyOf(values) => values.contains(&low),
            How::Above(bound) => low > *bound,
            How::AtLeast(bound) => value >= u64::from(*bound),
            How::Null => value == 0,
        }
    }

    /// A value for which it holds, or one for which it does not.
    fn value(&self, holds: bool) -> u64 {
        let near: Vec<u64> = match &self.how {
            How::AnyOf(values) => values.iter().map(|value| u64::from(*value)).collect(),
            How::Above(bound) | How::AtLeast(bound) => vec![u64::from(*bound)],
            How::Null => vec![0],
        };
        let candidates = near.iter().flat_map(|value| {
            [*value, value + 1, value.saturating_sub(1), value ^ u64::from(self.mask), 0]
        });
        let fits = |value: &u64| {
            let mut args = [0; 6];
            args[self.arg] = *value;
            self.holds(&args) == holds
        };
        candidates.into_iter().find(fits).unwrap_or(0)
    }
}

/// One rule about a call: if all its tests hold, its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub tests: Vec<Test>,
    pub verdict: Verdict,
    hint: Option<String>,
}

/// Every rule, by the number of the call.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name.
    pub name: String,
    pub(crate) calls: BTreeMap<u32, Vec<Rule>>,
}

/// What is wrong with a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileFault(String);

impl std::fmt::Display for ProfileFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "profile: {}", self.0)
    }
}

impl std::error::Error for ProfileFault {}

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
        let file: File = toml::from_str(text).map_err(|error| ProfileFault(error.to_string()))?;
        let mut calls: BTreeMap<u32, Vec<Rule>> = BTreeMap::new();
        let mut add = |name: &str, why: &str, rule: Rule| {
            let number = number_of(name)
                .ok_or_else(|| ProfileFault(format!("unknown system call {name}")))?;
            if why.trim().is_empty() {
                return Err(ProfileFault(format!("{name} has no reason")));
            }
            let rules = calls.entry(number).or_default();
            if rules.last().is_some_and(|rule| rule.tests.is_empty()) {
                return Err(ProfileFault(format!("a rule for {name} can never be reached")));
            }
            rules.push(rule);
            Ok(())
        };
        for case in &file.case {
            add(&case.call, &case.why, case.rule()?)?;
        }
        if let Some(name) = file.nested.keys().find(|name| !file.allow.contains_key(*name)) {
            return Err(ProfileFault(format!(
                "{name} is not allowed anywhere, so not nested only"
            )));
        }
        for (name, why) in &file.allow {
            let verdict = match file.nested.get(name) {
                Some(answer) if walls == Walls::Nested => Verdict::Answer(errno(&answer.errno)?),
                _ => Verdict::Allow,
            };
            add(name, why, Rule { tests: vec![], verdict, hint: None })?;
        }
        for (name, answer) in &file.answer {
            let verdict = Verdict::Answer(errno(&answer.errno)?);
            add(name, &answer.why, Rule { tests: vec![], verdict, hint: None })?;
        }
        for group in file.refuse.values() {
            for name in &group.calls {
                let verdict = Verdict::Refuse(errno(&group.errno)?);
                let hint = Some(group.hint.clone());
                add(name, &group.hint, Rule { tests: vec![], verdict, hint })?;
            }
        }
        Ok(Profile { name: file.name, calls })
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    allow: BTreeMap<String, String>,
    answer: BTreeMap<String, Silent>,
    refuse: BTreeMap<String, Group>,
    nested: BTreeMap<String, Silent>,
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Silent {
    errno: String,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    errno: String,
    hint: String,
    calls: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    call: String,
    why: String,
    #[serde(default)]
    when: Vec<When>,
    then: Then,
    errno: Option<String>,
    hint: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Then {
    Allow,
    Answer,
    Refuse,
    Sealing,
    Thread,
    Process,
    Memory,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct When {
    arg: usize,
    mask: Option<u32>,
    is: Option<u32>,
    any_of: Option<Vec<u32>>,
    above: Option<u32>,
    at_least: Option<u32>,
    null: Option<bool>,
}

impl Case {
    fn rule(&self) -> Result<Rule, ProfileFault> {
        let fault = |what: &str| ProfileFault(format!("{}: {what}", self.call));
        let errno = || errno(self.errno.as_deref().ok_or_else(|| fault("needs an errno"))?);
        let verdict = match self.then {
            Then::Allow => Verdict::Allow,
            Then::Answer => Verdict::Answer(errno()?),
            Then::Refuse => Verdict::Refuse(errno()?),
            Then::Sealing => Verdict::Sealing,
            Then::Thread => Verdict::Grant(Grant::Thread),
            Then::Process => Verdict::Grant(Grant::Process),
            Then::Memory => Verdict::Grant(Grant::Memory),
        };
        if !matches!(self.then, Then::Allow | Then::Answer | Then::Sealing) && self.hint.is_none() {
            return Err(fault("what the engine refuses needs a hint"));
        }
        let tests = self.when.iter().map(|when| when.test().ok_or_else(|| fault("unclear test")));
        Ok(Rule { tests: tests.collect::<Result<_, _>>()?, verdict, hint: self.hint.clone() })
    }
}

impl When {
    fn test(&self) -> Option<Test> {
        let how = match (self.is, &self.any_of, self.above, self.at_least, self.null) {
            (Some(value), None, None, None, None) => How::AnyOf(vec![value]),
            (None, Some(values), None, None, None) => How::AnyOf(values.clone()),
            (None, None, Some(bound), None, None) => How::Above(bound),
            (None, None, None, Some(bound), None) if self.mask.is_none() => How::AtLeast(bound),
            (None, None, None, None, Some(true)) if self.mask.is_none() => How::Null,
            _ => return None,
        };
        (self.arg < 6).then_some(Test { arg: self.arg, mask: self.mask.unwrap_or(u32::MAX), how })
    }
}

fn errno(name: &str) -> Result<i32, ProfileFault> {
    use rustix::io::Errno;
    if name == "OK" {
        return Ok(0);
    }
    let errno = match name {
        "EPERM" => Errno::PERM,
        "ENOSYS" => Errno::NOSYS,
        "EINVAL" => Errno::INVAL,
        "ENOTTY" => Errno::NOTTY,
        "EOPNOTSUPP" => Errno::OPNOTSUPP,
        "ECHILD" => Errno::CHILD,
        "ENOMEM" => Errno::NOMEM,
        "EAGAIN" => Errno::AGAIN,
        _ => return Err(ProfileFault(format!("unknown errno {name}"))),
    };
    Ok(errno.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

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
