//! The few edits that a program needs before it runs: calls of sentries, which check at run time.

use ruff_text_size::{TextRange, TextSize};

/// A method of an object that is known only at run time: `x.format` becomes `__carboy_format__(x)`.
/// Line numbers do not change.
pub(crate) struct Sentry {
    /// Where the object starts.
    pub start: TextSize,
    /// The dot behind it.
    pub dot: TextSize,
    /// The method.
    pub attribute: TextRange,
    /// Its name, as CPython reads it.
    pub name: String,
}

/// The program with its sentries, if it has any.
pub(crate) fn apply(source: &str, sentries: Vec<Sentry>) -> Option<String> {
    if sentries.is_empty() {
        return None;
    }
    // What is to stand at a place, in place of how many bytes.
    let mut edits: Vec<(usize, usize, String)> = vec![];
    for sentry in sentries {
        // `return(x).format`: a word before it must not grow.
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let space = if source[..sentry.start.into()].ends_with(word) { " " } else { "" };
        edits.push((sentry.start.into(), 0, format!("{space}__carboy_{}__(", sentry.name)));
        edits.push((sentry.dot.into(), 1, ")".into()));
        edits.push((sentry.attribute.start().into(), sentry.attribute.len().into(), String::new()));
    }
    // Of sentries that start at one place, the walk found the outer first. The sort keeps that.
    edits.sort_by_key(|(at, _, _)| *at);
    let mut edited = String::with_capacity(source.len() + 64);
    let mut done = 0;
    for (at, length, text) in edits {
        edited.push_str(&source[done..at]);
        edited.push_str(&text);
        done = at + length;
    }
    edited.push_str(&source[done..]);
    Some(edited)
}
