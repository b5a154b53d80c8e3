//! Gates: the few edits that a program needs before it runs.

use ruff_text_size::{TextRange, TextSize};

/// A place where a method is taken from an object that is known only in the run:
/// `x.format` becomes `__belljar_format__(x)`. Lines stay where they are.
pub(crate) struct Gate {
    /// Where the object starts.
    pub start: TextSize,
    /// The dot behind it.
    pub dot: TextSize,
    /// The method.
    pub attribute: TextRange,
    /// Its name, as CPython reads it.
    pub name: String,
}

/// The program with its gates, if it has any.
pub(crate) fn apply(source: &str, gates: Vec<Gate>) -> Option<String> {
    if gates.is_empty() {
        return None;
    }
    // What is to stand at a place, in place of how many bytes.
    let mut edits: Vec<(usize, usize, String)> = vec![];
    for gate in gates {
        // `return(x).format`: a word before it must not grow.
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let space = if source[..gate.start.into()].ends_with(word) { " " } else { "" };
        edits.push((gate.start.into(), 0, format!("{space}__belljar_{}__(", gate.name)));
        edits.push((gate.dot.into(), 1, ")".into()));
        edits.push((gate.attribute.start().into(), gate.attribute.len().into(), String::new()));
    }
    // Of gates that start at one place, the walk found the outer first. The sort keeps that.
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
