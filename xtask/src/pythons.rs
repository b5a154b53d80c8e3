//! Documents and the Python package name the CPythons that are supported, as `carboy-protocol` does.
//!
//! The bounds stand in one place. What repeats them in words is compared here, so that it follows.

use std::io;

use carboy_protocol::{PythonVersion, supported_pythons};

use crate::fault::Fault;
use crate::tree::Tree;

/// The package that PyPI shows with its versions.
const PACKAGE: &str = "sdk/python/pyproject.toml";
/// What was true of another version may stand there.
const HISTORY: &str = "CHANGELOG.md";
const FIX: &str = "write what crates/carboy-protocol/src/python.rs says";

/// Every document that names other versions, and what the package's manifest lacks.
pub(crate) fn check(tree: &Tree) -> io::Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for path in tree.ending(".md").filter(|path| *path != HISTORY) {
        for (line, found) in other_bounds(&tree.text(path)?) {
            let what = format!("says CPython {found}, but {} is supported", supported_pythons!());
            faults.push(Fault::at(path, line, what, FIX));
        }
    }
    let manifest = tree.text(PACKAGE)?;
    faults
        .extend(manifest_faults(&manifest).into_iter().map(|what| Fault::new(PACKAGE, what, FIX)));
    Ok(faults)
}

/// Where a text names the oldest version with another newest one: "3.10 to 3.N", also across a line break.
fn other_bounds(text: &str) -> Vec<(usize, String)> {
    let from = format!("{} to", PythonVersion::OLDEST);
    let mut found = Vec::new();
    for (at, _) in text.match_indices(&from) {
        let rest = text[at + from.len()..].trim_start();
        let newest: String =
            rest.chars().take_while(|one| one.is_ascii_digit() || *one == '.').collect();
        let bounds = format!("{from} {}", newest.trim_end_matches('.'));
        if bounds != supported_pythons!() {
            found.push((text[..at].matches('\n').count() + 1, bounds));
        }
    }
    found
}

/// What the manifest says of versions that is not so.
fn manifest_faults(manifest: &str) -> Vec<String> {
    let (oldest, newest) = (PythonVersion::OLDEST, PythonVersion::NEWEST);
    let mut wanted = vec![format!("requires-python = \">={oldest}\"")];
    wanted.extend(
        (oldest.minor..=newest.minor).map(|minor| {
            format!("  \"Programming Language :: Python :: {}.{minor}\",", oldest.major)
        }),
    );
    wanted.retain(|line| !manifest.lines().any(|found| found == line));
    wanted.into_iter().map(|line| format!("lacks the line {}", line.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_bounds_are_found_with_their_line() {
        let now = supported_pythons!();
        assert_eq!(other_bounds(&format!("CPython {now}, or {}", now.replace("to ", "to\n"))), []);
        let old = format!("a\nCPython {} to\n3.11. More", PythonVersion::OLDEST);
        assert_eq!(other_bounds(&old), [(2, "3.10 to 3.11".to_owned())]);
    }

    #[test]
    fn a_manifest_lists_every_version() {
        let whole: String = (10..=15)
            .map(|minor| format!("  \"Programming Language :: Python :: 3.{minor}\",\n"))
            .chain(["requires-python = \">=3.10\"\n".to_owned()])
            .collect();
        assert_eq!(manifest_faults(&whole), [""; 0]);
        assert_eq!(manifest_faults(&whole.replace("3.15", "3.16")).len(), 1);
    }
}
