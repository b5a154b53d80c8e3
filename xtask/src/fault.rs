//! One thing that is wrong in the tree, told so that the reader can act on it.

use std::fmt;

/// Where the fault is, what it is, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    place: String,
    what: String,
    fix: String,
}

impl Fault {
    /// `place` is a path from the root, with `:line` where there is one.
    pub(crate) fn new(
        place: impl Into<String>,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { place: place.into(), what: what.into(), fix: fix.into() }
    }

    /// A fault at a line, counted from 1.
    pub(crate) fn at(
        path: &str,
        line: usize,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self::new(format!("{path}:{line}"), what, fix)
    }

    #[cfg(test)]
    pub(crate) fn what(&self) -> &str {
        &self.what
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}\n  hint: {}", self.place, self.what, self.fix)
    }
}
