//! How a profile is written: the tables of its file, read into rules by call number.

use std::collections::{BTreeMap, BTreeSet};

use carboy_protocol::Walls;
use carboy_sys::{Machine, all_calls};
use serde::Deserialize;

use crate::landlock::TRUNCATE;

use super::rule::{Grant, How, ProfileFault, Rule, Test, Verdict};

/// What a file says.
pub(super) struct Contents {
    pub name: String,
    pub calls: BTreeMap<u32, Vec<Rule>>,
    pub otherwise: Option<Rule>,
    pub spellings: usize,
}

/// Reads a profile as it holds on this machine, behind these walls, with this version of Landlock. A call that
/// only other machines have is checked like the rest, and then left out.
pub(super) fn read(
    text: &str,
    machine: Machine,
    walls: Walls,
    landlock: u32,
) -> Result<Contents, ProfileFault> {
    let file: File = toml::from_str(text).map_err(|error| ProfileFault(error.to_string()))?;
    let mut calls: BTreeMap<u32, Vec<Rule>> = BTreeMap::new();
    let mut add = |name: &str, why: &str, rule: Rule| {
        if !all_calls().any(|known| known == name) {
            return Err(ProfileFault(format!("unknown system call {name}")));
        }
        if why.trim().is_empty() {
            return Err(ProfileFault(format!("{name} has no reason")));
        }
        let Some(number) = machine.number_of(name) else { return Ok(()) };
        let rules = calls.entry(number).or_default();
        if rules.last().is_some_and(|rule| rule.tests.is_empty()) {
            return Err(ProfileFault(format!("a rule for {name} can never be reached")));
        }
        rules.push(rule);
        Ok(())
    };
    let applies = |case: &&Case| case.without.is_none_or(|right| right.is_lacking(walls, landlock));
    for case in file.case.iter().filter(applies) {
        add(&case.call, &case.why, case.rule()?)?;
    }
    // What stands in for Landlock may leave nothing of a call that is allowed otherwise.
    let closes = |case: &&Case| case.without.is_some() && case.when.is_empty();
    let closed: BTreeSet<&str> =
        file.case.iter().filter(applies).filter(closes).map(|case| case.call.as_str()).collect();
    let is_open = |name: &str| !closed.contains(name);
    if let Some(name) = file.nested.keys().find(|name| !file.allow.contains_key(*name)) {
        return Err(ProfileFault(format!("{name} is not allowed anywhere, so not nested only")));
    }
    let allowed = |name: &String| match file.nested.get(name) {
        Some(answer) if walls == Walls::Nested => Ok(Verdict::Answer(errno(&answer.errno)?)),
        _ => Ok(Verdict::Allow),
    };
    for (name, why) in file.allow.iter().filter(|(name, _)| is_open(name)) {
        add(name, why, Rule { tests: vec![], verdict: allowed(name)?, hint: None })?;
    }
    for (name, spelling) in &file.alike {
        if !file.allow.contains_key(&spelling.to) {
            let fault = format!("{name} is like {}, which is not allowed", spelling.to);
            return Err(ProfileFault(fault));
        }
        let verdict = allowed(&spelling.to)?;
        if is_open(name) {
            add(name, &spelling.why, Rule { tests: vec![], verdict, hint: None })?;
        }
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
    let otherwise = match &file.otherwise {
        Some(group) => Some(Rule {
            tests: vec![],
            verdict: Verdict::Refuse(errno(&group.errno)?),
            hint: Some(group.hint.clone()),
        }),
        None => None,
    };
    let spellings = file.alike.keys().filter(|name| machine.number_of(name).is_some()).count();
    Ok(Contents { name: file.name, calls, otherwise, spellings })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    allow: BTreeMap<String, String>,
    #[serde(default)]
    alike: BTreeMap<String, Spelling>,
    answer: BTreeMap<String, Silent>,
    refuse: BTreeMap<String, Group>,
    otherwise: Option<Otherwise>,
    nested: BTreeMap<String, Silent>,
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spelling {
    to: String,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Otherwise {
    errno: String,
    hint: String,
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
    /// Only where Landlock lacks this right and no mount is in its place.
    without: Option<LandlockRight>,
    #[serde(default)]
    when: Vec<When>,
    then: Then,
    errno: Option<String>,
    hint: Option<String>,
}

/// A right of Landlock that the filter stands in for.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LandlockRight {
    Truncate,
}

impl LandlockRight {
    /// Whether nothing else holds it. Mounts of a private root are read-only.
    fn is_lacking(self, walls: Walls, landlock: u32) -> bool {
        match self {
            LandlockRight::Truncate => walls == Walls::Nested && landlock < TRUNCATE,
        }
    }
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
    Program,
    Signal,
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
            Then::Program => Verdict::Grant(Grant::Program),
            Then::Signal => Verdict::Grant(Grant::Signal),
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
