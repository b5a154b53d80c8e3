//! Names as such: what is special about one, and how it is shown.

/// `__name__`, and anything else with two underscores on both sides.
pub(crate) fn is_dunder(name: &str) -> bool {
    name.len() > 4 && name.starts_with("__") && name.ends_with("__")
}

/// A name as it is shown: not longer than a line.
pub(crate) fn shown(name: &str) -> String {
    match name.char_indices().nth(60) {
        Some((at, _)) => format!("`{}...`", &name[..at]),
        None => format!("`{name}`"),
    }
}
