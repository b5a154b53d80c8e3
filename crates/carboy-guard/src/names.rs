//! Names as such: what is special about one, and how it is shown.

use std::fmt::{self, Display, Write};

/// `__name__`, and anything else with two underscores on both sides.
pub(crate) fn is_dunder(name: &str) -> bool {
    name.len() > 4 && name.starts_with("__") && name.ends_with("__")
}

/// A name as it is shown: in quotes, and not longer than a line.
pub(crate) fn shown(name: &str) -> Shown<'_> {
    Shown { module: None, name }
}

/// A name of a module, with the module before it.
pub(crate) fn shown_in<'a>(module: &'a str, name: &'a str) -> Shown<'a> {
    Shown { module: Some(module), name }
}

/// See [`shown`].
#[derive(Clone, Copy)]
pub(crate) struct Shown<'a> {
    module: Option<&'a str>,
    name: &'a str,
}

/// How many characters of a name are shown.
const WIDTH: usize = 60;

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let module = self.module.into_iter().flat_map(|module| module.chars().chain(['.']));
        let mut characters = module.chain(self.name.chars());
        f.write_char('`')?;
        characters.by_ref().take(WIDTH).try_for_each(|c| f.write_char(c))?;
        f.write_str(if characters.next().is_some() { "...`" } else { "`" })
    }
}
