//! The project has one name, and the one it had before is gone.
//!
//! Somebody else publishes a package under the former name, so a document or a variable that still
//! says it would send a user to a stranger's code.

use std::io;

use crate::fault::Fault;
use crate::tree::Tree;
use crate::workspace::Workspace;

/// The name of the program, of the Python package, and the first word of every crate.
const NAME: &str = "carboy";

/// Where the former name may be told: the changelog and the page that says why it was left.
const HISTORY: [&str; 2] = ["CHANGELOG.md", "docs/decisions/0014-the-name.md"];

/// The former name, in two pieces so that this file does not contain it.
const FORMER: [&str; 2] = ["bell", "jar"];

/// Every crate, the Python package and every text that does not carry the name as it should.
pub(crate) fn check(tree: &Tree, workspace: &Workspace) -> io::Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for package in &workspace.packages {
        if !is_ours(&package.name) {
            faults.push(Fault::new(
                workspace.relative(&package.manifest_path),
                format!("the crate {} is not named after the project", package.name),
                format!("name it {NAME}-SOMETHING"),
            ));
        }
    }
    let manifest = tree.text("sdk/python/pyproject.toml")?;
    if !manifest.lines().any(|line| line == format!("name = \"{NAME}\"")) {
        faults.push(Fault::new(
            "sdk/python/pyproject.toml",
            "the Python package is not named after the project",
            format!("write name = \"{NAME}\""),
        ));
    }
    for path in tree.files().iter().filter(|path| !HISTORY.contains(&path.as_str())) {
        if let Some(line) = former_name_in(path, &tree.bytes(path)?) {
            faults.push(Fault::at(
                path,
                line,
                "has the project's former name",
                format!("write {NAME}; only {} tell the history", HISTORY.join(" and ")),
            ));
        }
    }
    Ok(faults)
}

fn is_ours(package: &str) -> bool {
    let rest = package.strip_prefix(NAME);
    package == "xtask" || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// The line with the former name, in any case; 0 if it stands in the path itself.
fn former_name_in(path: &str, content: &[u8]) -> Option<usize> {
    let former = FORMER.concat();
    if path.to_ascii_lowercase().contains(&former) {
        return Some(0);
    }
    String::from_utf8_lossy(content)
        .lines()
        .position(|line| line.to_ascii_lowercase().contains(&former))
        .map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_former_name_is_found_in_any_case_and_in_paths() {
        let former = FORMER.concat();
        let text = format!("one\n{}_HOME\n", former.to_uppercase());
        assert_eq!(former_name_in("a.md", text.as_bytes()), Some(2));
        assert_eq!(former_name_in(&format!("{former}/a.md"), b""), Some(0));
        assert_eq!(former_name_in("a.md", b"a bell, a jar\n"), None);
    }

    #[test]
    fn crates_carry_the_name() {
        for name in ["carboy", "carboy-sys", "xtask"] {
            assert!(is_ours(name), "{name}");
        }
        for name in ["carboys", "engine", "sys-carboy"] {
            assert!(!is_ours(name), "{name}");
        }
    }
}
