//! What was found in a program, and the report of it.

use std::collections::BTreeSet;
use std::fmt::{self, Display};

use ruff_text_size::TextRange;
use serde::Serialize;

use crate::rule::Rule;

/// How many violations a report lists.
const LISTED: usize = 100;
/// How many get a message: a source of 1 MiB can contain half a million violations. The walk does not
/// quite follow the order of the source, so more than are listed.
const WORDED: usize = 10 * LISTED;

/// What was found in a program, still as places in its text.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    places: Vec<Place>,
    /// Message and suggestion of the first ones.
    words: Vec<(String, String)>,
}

#[derive(Debug)]
struct Place {
    rule: Rule,
    range: TextRange,
    /// Its index in `words`, if it is below their number.
    words: usize,
}

impl Findings {
    /// Adds a violation. Its message is rendered only if it may be listed.
    pub fn add(
        &mut self,
        rule: Rule,
        range: TextRange,
        message: impl Display,
        instead: impl Display,
    ) {
        self.places.push(Place { rule, range, words: self.places.len() });
        if self.words.len() < WORDED {
            self.words.push((message.to_string(), instead.to_string()));
        }
    }

    /// One violation alone.
    pub fn one(rule: Rule, range: TextRange, message: impl Display, instead: impl Display) -> Self {
        let mut findings = Findings::default();
        findings.add(rule, range, message, instead);
        findings
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The report to the caller: in the order of the text, each place once for each rule.
    pub fn report(mut self, source: &str) -> Report {
        self.places.sort_by_key(|place| (place.range.start(), place.rule));
        self.places.dedup_by_key(|place| (place.range, place.rule));
        let lines = Lines::of(source);
        let worded = self.words.len();
        let listed = self.places.iter().filter(|place| place.words < worded);
        let violations: Vec<Violation> = listed
            .take(LISTED)
            .map(|place| {
                let (message, instead) = std::mem::take(&mut self.words[place.words]);
                lines.violation(place, message, instead)
            })
            .collect();
        let more = self.places.len() - violations.len();
        Report { violations, more, guarded: Guarded::default() }
    }
}

/// One thing that a profile does not allow.
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

impl Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.line, self.column, self.rule.id(), self.message)
    }
}

/// How to run a program without violations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guarded {
    /// The program with calls of sentries, if it needs any. Line numbers do not change.
    pub edited: Option<String>,
    /// The underscore names that the program defines for its own objects.
    pub own: BTreeSet<String>,
}

/// The report: every violation at once, in the order of the source.
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
}

/// An index from byte offsets to lines and columns, so that a long line is not scanned for each violation.
struct Lines<'a> {
    source: &'a [u8],
    /// Where each line starts.
    starts: Vec<usize>,
    /// How many characters there are before each block of bytes.
    characters: Vec<usize>,
}

/// How many bytes are a block.
const BLOCK: usize = 1 << 10;

impl Lines<'_> {
    fn of(source: &str) -> Lines<'_> {
        let starts = [0].into_iter().chain(source.match_indices('\n').map(|(at, _)| at + 1));
        let mut before = 0;
        let characters = source.as_bytes().chunks(BLOCK).map(|block| {
            let first = before;
            before += characters_in(block);
            first
        });
        let characters = characters.collect();
        Lines { source: source.as_bytes(), starts: starts.collect(), characters }
    }

    /// How many characters there are before this byte.
    fn characters_before(&self, at: usize) -> usize {
        let block = at / BLOCK;
        match self.characters.get(block) {
            Some(before) => before + characters_in(&self.source[block * BLOCK..at]),
            None => self.characters.last().map_or(0, |before| {
                let last = (self.characters.len() - 1) * BLOCK;
                before + characters_in(&self.source[last..])
            }),
        }
    }

    fn violation(&self, place: &Place, message: String, instead: String) -> Violation {
        let (start, end) = (usize::from(place.range.start()), usize::from(place.range.end()));
        let line = self.starts.partition_point(|first| *first <= start) - 1;
        let first = self.starts[line];
        // Behind the last character of the line, before its end.
        let last = self.starts.get(line + 1).map_or(self.source.len(), |next| next - 1);
        let column = |at: usize| {
            let within = at.clamp(first, last);
            (self.characters_before(within) - self.characters_before(first)) as u32 + 1
        };
        Violation {
            rule: place.rule,
            line: line as u32 + 1,
            column: column(start),
            end_column: column(end).max(column(start) + 1),
            message,
            instead,
        }
    }
}

/// Every byte but those that continue a character.
fn characters_in(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte & 0xc0) != 0x80).count()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Counts how often it is put into words.
    struct Counted<'a>(&'a Cell<usize>);

    impl Display for Counted<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.set(self.0.get() + 1);
            f.write_str("words")
        }
    }

    #[test]
    fn what_cannot_be_listed_is_counted_and_not_put_into_words() {
        let (source, rendered) = ("x\n".repeat(100_000), Cell::new(0));
        let mut findings = Findings::default();
        for at in (0..100_000u32).rev() {
            let range = TextRange::at((at * 2).into(), 1.into());
            findings.add(Rule::Syntax, range, Counted(&rendered), "");
        }
        let report = findings.report(&source);
        assert_eq!((report.violations.len(), report.more), (LISTED, 100_000 - LISTED));
        assert_eq!(rendered.get(), WORDED);
        // Of those that have words, the first in the text.
        assert_eq!(report.violations[0].line as usize, 100_000 - WORDED + 1);
    }

    #[test]
    fn columns_are_those_of_a_count_from_the_start_of_the_line() {
        let source = format!("é\n{}x\n{}", "漢é".repeat(2_000), "a".repeat(3 * BLOCK));
        let lines = Lines::of(&source);
        let mut line_start = 0;
        for (line, text) in source.split('\n').enumerate() {
            for (column, (at, c)) in text.char_indices().enumerate() {
                let range =
                    TextRange::at(((line_start + at) as u32).into(), (c.len_utf8() as u32).into());
                let place = Place { rule: Rule::Syntax, range, words: 0 };
                let found = lines.violation(&place, String::new(), String::new());
                let expected = (line as u32 + 1, column as u32 + 1, column as u32 + 2);
                assert_eq!((found.line, found.column, found.end_column), expected);
            }
            line_start += text.len() + 1;
        }
    }
}
