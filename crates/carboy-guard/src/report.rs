//! What the guard answers.

use std::collections::BTreeSet;

use ruff_text_size::TextRange;
use serde::Serialize;

use crate::rule::Rule;

/// How many violations a report lists.
const LISTED: usize = 100;

/// A violation while it is still a place in the text.
#[derive(Debug)]
pub(crate) struct Found {
    pub rule: Rule,
    pub range: TextRange,
    pub message: String,
    pub instead: String,
}

/// One thing that a profile does not grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Which rule.
    pub rule: Rule,
    /// The line, from 1.
    pub line: u32,
    /// The first character of it in the line, from 1.
    pub column: u32,
    /// The character behind its last in the same line.
    pub end_column: u32,
    /// What was found.
    pub message: String,
    /// What to write instead.
    pub instead: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}: {}", self.line, self.column, self.rule.id(), self.message)
    }
}

/// What was made of a program that may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guarded {
    /// The program with sentries at the few places that need one, if any does. Every line stays where
    /// it is.
    pub edited: Option<String>,
    /// The underscore names that the program defines for its own objects.
    pub own: BTreeSet<String>,
}

/// What the guard answers: every violation at once, in the order of the text.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What was found.
    pub violations: Vec<Violation>,
    /// How many more there are than are listed.
    pub more: usize,
    /// How the program is to be run, if there are none.
    pub guarded: Guarded,
}

impl Report {
    /// Whether the program may run.
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }

    pub(crate) fn refusing(source: &str, mut found: Vec<Found>) -> Report {
        found.sort_by_key(|found| (found.range.start(), found.rule));
        found.dedup_by_key(|found| (found.range, found.rule));
        let more = found.len().saturating_sub(LISTED);
        found.truncate(LISTED);
        let lines = line_starts(source);
        let violations = found.into_iter().map(|found| placed(source, &lines, found)).collect();
        Report { violations, more, guarded: Guarded::default() }
    }
}

/// Where each line starts.
fn line_starts(source: &str) -> Vec<usize> {
    [0].into_iter().chain(source.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

fn placed(source: &str, lines: &[usize], found: Found) -> Violation {
    let (start, end) = (usize::from(found.range.start()), usize::from(found.range.end()));
    let line = lines.partition_point(|first| *first <= start) - 1;
    let first = lines[line];
    let text = source[first..].split('\n').next().unwrap_or_default();
    let column = |at: usize| {
        let within = at.saturating_sub(first).min(text.len());
        text[..within].chars().count() as u32 + 1
    };
    Violation {
        rule: found.rule,
        line: line as u32 + 1,
        column: column(start),
        end_column: column(end).max(column(start) + 1),
        message: found.message,
        instead: found.instead,
    }
}
