//! The changelog keeps the form of <https://keepachangelog.com/en/1.1.0/>, so that people and
//! programs can read it.

use std::io;

use crate::fault::Fault;
use crate::tree::Tree;

const PATH: &str = "CHANGELOG.md";
const TITLE: &str = "# Changelog";
const UNRELEASED: &str = "## [Unreleased]";
const SECTIONS: [&str; 6] = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

/// Checks the changelog of the tree; not having one is a fault too.
pub(crate) fn check_file(tree: &Tree) -> io::Result<Vec<Fault>> {
    if !tree.exists(PATH) {
        let fix = format!("write one, with `{TITLE}` and `{UNRELEASED}`");
        return Ok(vec![Fault::new(PATH, "is missing", fix)]);
    }
    Ok(check(&tree.text(PATH)?))
}

fn check(text: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut releases = 0;
    if text.lines().next() != Some(TITLE) {
        faults.push(Fault::at(PATH, 1, "has no title", format!("begin with `{TITLE}`")));
    }
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line)) {
        if line.starts_with("## ") {
            releases += 1;
            if releases == 1 && line != UNRELEASED {
                faults.push(Fault::at(
                    PATH,
                    number,
                    format!("the first heading is `{line}`"),
                    format!("put `{UNRELEASED}` above it, also when it is empty"),
                ));
            }
            if line != UNRELEASED && !is_release(line) {
                faults.push(Fault::at(
                    PATH,
                    number,
                    format!("`{line}` is not a release"),
                    "write `## [x.y.z] - YYYY-MM-DD`",
                ));
            } else if releases > 1 && line == UNRELEASED {
                faults.push(Fault::at(
                    PATH,
                    number,
                    format!("a second `{UNRELEASED}`"),
                    "join it with the first",
                ));
            }
        } else if let Some(name) = line.strip_prefix("### ") {
            if !SECTIONS.contains(&name) {
                faults.push(Fault::at(
                    PATH,
                    number,
                    format!("`{name}` is not a known section"),
                    format!("use one of {}", SECTIONS.join(", ")),
                ));
            }
            if releases == 0 {
                faults.push(Fault::at(
                    PATH,
                    number,
                    format!("`{name}` belongs to no release"),
                    format!("put it below `{UNRELEASED}`"),
                ));
            }
        }
    }
    if releases == 0 {
        faults.push(Fault::new(PATH, format!("has no `{UNRELEASED}`"), "add it below the title"));
    }
    faults
}

/// `## [x.y.z] - YYYY-MM-DD`
fn is_release(line: &str) -> bool {
    line.strip_prefix("## [").and_then(|rest| rest.split_once("] - ")).is_some_and(
        |(version, date)| {
            numbers(version, '.').is_some_and(|parts| parts.len() == 3)
                && date.len() == 10
                && matches!(numbers(date, '-').as_deref(), Some([_, 1..=12, 1..=31]))
        },
    )
}

fn numbers(text: &str, separator: char) -> Option<Vec<u32>> {
    text.split(separator)
        .map(|part| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(text: &str) -> Vec<String> {
        check(text).iter().map(|fault| fault.what().to_owned()).collect()
    }

    #[test]
    fn the_known_form_passes() {
        let text = "# Changelog\n\nWords.\n\n## [Unreleased]\n\n### Added\n- a\n\n\
                    ## [0.1.0] - 2026-01-31\n\n### Security\n- b\n";
        assert!(whats(text).is_empty());
        assert!(whats("# Changelog\n## [Unreleased]\n").is_empty());
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(whats(""), ["has no title", "has no `## [Unreleased]`"]);
        assert_eq!(
            whats("# Changelog\n## [0.1.0] - 2026-01-31\n"),
            ["the first heading is `## [0.1.0] - 2026-01-31`"]
        );
    }

    #[test]
    fn headings_outside_the_form_are_named() {
        let text = "# Changelog\n### Added\n## [Unreleased]\n### New\n## 0.1.0\n## [Unreleased]\n";
        assert_eq!(
            whats(text),
            [
                "`Added` belongs to no release",
                "`New` is not a known section",
                "`## 0.1.0` is not a release",
                "a second `## [Unreleased]`",
            ]
        );
    }

    #[test]
    fn a_release_has_three_numbers_and_a_date() {
        assert!(is_release("## [12.0.3] - 2026-12-01"));
        for wrong in [
            "## [1.0] - 2026-12-01",
            "## [1.0.x] - 2026-12-01",
            "## [1.0.+1] - 2026-12-01",
            "## [1.0.0] - 2026-13-01",
            "## [1.0.0] - 2026-1-1",
            "## [1.0.0]",
            "## 1.0.0 - 2026-12-01",
        ] {
            assert!(!is_release(wrong), "{wrong}");
        }
    }
}
