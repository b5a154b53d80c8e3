//! What the table of limits says of one limit.

use crate::preset::Preset;
use crate::quantity;

/// What a limit counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds.
    Milliseconds,
    /// Bytes. A policy may also write them as text, such as `"256MiB"`.
    Bytes,
    /// Things.
    Count,
}

impl Unit {
    /// A value exactly as it was set: `30000 ms`, `268435456 bytes`, `64`.
    pub fn exactly(self, value: u64) -> String {
        match self {
            Unit::Milliseconds => format!("{value} ms"),
            Unit::Bytes => format!("{value} bytes"),
            Unit::Count => value.to_string(),
        }
    }

    /// A value as people say it: `30 s`, `256 MiB`, `1,000`.
    pub fn shortly(self, value: u64) -> String {
        match self {
            Unit::Milliseconds => quantity::shortly(value, &quantity::TIMES, "ms"),
            Unit::Bytes if value == 1 => "1 byte".into(),
            Unit::Bytes => quantity::shortly(value, &quantity::SIZES, "bytes"),
            Unit::Count => quantity::grouped(value),
        }
    }
}

/// What the table says of one limit.
#[derive(Debug)]
pub struct LimitRow {
    /// Its name in a policy and in an outcome.
    pub field: &'static str,
    /// What is counted. Each line begins with a space.
    pub(super) doc: &'static str,
    /// What it counts in.
    pub unit: Unit,
    /// What holds when a policy does not name it.
    pub default: u64,
    /// What the presets set, in the order of [`Preset::ALL`]; the default if this is nothing.
    pub presets: Option<[u64; Preset::ALL.len()]>,
    /// The least that a policy may ask for. Zero never means "without limit".
    pub least: u64,
    /// The most that a policy may ask for.
    pub most: u64,
    /// What is allowed, in a few words; `{}` is the value.
    pub words: &'static str,
    /// What happened when it was crossed; `{}` is the value.
    pub(super) crossed: &'static str,
    /// What the author of the code can do about it.
    pub hint: &'static str,
}

impl LimitRow {
    /// What is counted, in a sentence or two.
    pub fn doc(&self) -> &'static str {
        self.doc.trim()
    }

    /// What whoever sets the policy can do about it, if a policy may allow more than this.
    pub fn operator_hint(&self, allowed: u64) -> Option<String> {
        let more = format!("raise limits.{}, which is {}", self.field, self.unit.shortly(allowed));
        (allowed < self.most).then_some(more)
    }

    /// What is allowed, in a few words: `30000 ms on the clock`.
    pub fn allowing(&self, value: u64) -> String {
        self.words.replace("{}", &self.unit.exactly(value))
    }

    /// What happened when it was crossed: `the run took longer than 30 s`.
    pub fn crossed(&self, allowed: u64) -> String {
        self.crossed.replace("{}", &self.unit.shortly(allowed))
    }
}
