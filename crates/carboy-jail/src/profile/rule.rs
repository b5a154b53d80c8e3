//! A rule: which arguments of a call it looks at, and what is to happen.

use serde::Deserialize;

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
    /// A child that does nothing but start a program. It is never granted.
    Program,
    /// A signal to a process of the same jar.
    Signal,
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
    pub fn holds(&self, args: &[u64; 6]) -> bool {
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
    pub fn value(&self, holds: bool) -> u64 {
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
    pub hint: Option<String>,
}

/// What is wrong with a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileFault(pub(super) String);

impl std::fmt::Display for ProfileFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "profile: {}", self.0)
    }
}

impl std::error::Error for ProfileFault {}
