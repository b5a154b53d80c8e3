//! Names as such: what is special about one, and how it is shown.

use std::fmt::{self, Display};

/// `__name__`, and anything else with two underscores on both sides.
pub(crate) fn is_dunder(name: &str) -> bool {
    name.len() > 4 && name.starts_with("__") && name.ends_with("__")
}

/// A name as it is shown: not longer than a line.
pub(crate) fn shown(name: &str) -> Shown<'_> {
    Shown(name)
}

/// See [`shown`].
#[derive(Clone, Copy)]
pub(crate) struct Shown<'a>(&'a str);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(60) {
            Some((at, _)) => write!(f, "`{}...`", &self.0[..at]),
            None => write!(f, "`{}`", self.0),
        }
    }
}
