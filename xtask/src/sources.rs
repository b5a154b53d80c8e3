//! What a source file must look like: what it opens with, how long it is, and what its crate says
//! about unsafe code.

use std::io;

use crate::fault::Fault;
use crate::tree::Tree;
use crate::workspace::Workspace;

/// A file with more lines of code than this is two files. Tests in the file are not counted, and a
/// file that is a table, and says so with `@table` near its top, may have as many rows as it needs.
const MAX_LINES: usize = 400;
/// The same for files that hold nothing but tests: one test after another is read more easily than code.
const MAX_TEST_LINES: usize = 600;

/// Where every Rust file must open with its reason to exist.
const RUST: [&str; 3] = ["crates/", "xtask/", "fuzz/fuzz_targets/"];
/// Where every Python file must.
const PYTHON: [&str; 2] = ["crates/", "sdk/"];

/// Openings and lengths of all Rust and Python files.
pub(crate) fn check_files(tree: &Tree) -> io::Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for path in tree.ending(".rs") {
        let text = tree.text(path)?;
        faults.extend(check_length(path, &text));
        if within(path, &RUST) && !opens_with_module_doc(&text) {
            faults.push(Fault::at(
                path,
                1,
                "does not open with `//!`",
                "say in the first line why this file exists",
            ));
        }
    }
    for path in tree.ending(".py") {
        let text = tree.text(path)?;
        faults.extend(check_length(path, &text));
        if within(path, &PYTHON) && !opens_with_docstring(&text) {
            faults.push(Fault::at(
                path,
                1,
                "does not open with a docstring",
                "say in a docstring at the top why this file exists",
            ));
        }
    }
    Ok(faults)
}

/// Every crate but `carboy-sys` must refuse unsafe code in the root of what it builds.
pub(crate) fn check_unsafe(tree: &Tree, workspace: &Workspace) -> io::Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for package in &workspace.packages {
        let attribute = match package.name.as_str() {
            "carboy-sys" => continue,
            // Its exported C symbols are the one exception, allowed where they stand.
            "carboy-zygote" => "#![deny(unsafe_code)]",
            _ => "#![forbid(unsafe_code)]",
        };
        for target in package.targets.iter().filter(|target| target.is_crate_root()) {
            let path = workspace.relative(&target.src_path);
            if !tree.text(&path)?.lines().any(|line| line.trim_end() == attribute) {
                faults.push(Fault::new(
                    path,
                    format!("lacks `{attribute}`"),
                    "add it below the crate doc; unsafe code belongs in carboy-sys",
                ));
            }
        }
    }
    Ok(faults)
}

fn within(path: &str, folders: &[&str]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

fn check_length(path: &str, text: &str) -> Option<Fault> {
    let (lines, limit) = if is_test(path) {
        (text.lines().count(), MAX_TEST_LINES)
    } else {
        (lines_of_code(text), MAX_LINES)
    };
    let is_free = ["@generated", "@table"].iter().any(|word| says(text, word));
    (lines > limit && !is_free).then(|| {
        Fault::new(
            path,
            format!("has {lines} lines, the limit is {limit}"),
            "split it by what changes together",
        )
    })
}

/// Whether a file holds nothing but tests.
fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// The lines of a file outside of its modules of tests.
fn lines_of_code(text: &str) -> usize {
    let mut lines = text.lines().peekable();
    let mut count = 0;
    while let Some(line) = lines.next() {
        let is_inline = |next: &&str| next.starts_with("mod ") && next.ends_with('{');
        if line == "#[cfg(test)]" && lines.next_if(is_inline).is_some() {
            // The formatter puts the brace that closes it, and no other, at the beginning of a line.
            lines.by_ref().find(|line| *line == "}");
        } else {
            count += 1;
        }
    }
    count
}

/// A file says near its top, in the usual word, that it is generated, or a table.
fn says(text: &str, word: &str) -> bool {
    text.lines().take(5).any(|line| line.contains(word))
}

fn opens_with_module_doc(text: &str) -> bool {
    first_line(text).is_some_and(|line| line.starts_with("//!"))
}

/// A `#!` line for the kernel may stand before the docstring, nothing else.
fn opens_with_docstring(text: &str) -> bool {
    let body = match text.split_once('\n') {
        Some((first, rest)) if first.starts_with("#!") => rest,
        _ => text,
    };
    first_line(body).is_some_and(|line| {
        let line = line.strip_prefix('r').unwrap_or(line);
        line.starts_with("\"\"\"") || line.starts_with("'''")
    })
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().find(|line| !line.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rust_file_opens_with_its_doc() {
        assert!(opens_with_module_doc("\n//! Why.\n"));
        assert!(!opens_with_module_doc("#![forbid(unsafe_code)]\n//! Why.\n"));
        assert!(!opens_with_module_doc("// Why.\n"));
        assert!(!opens_with_module_doc(""));
    }

    #[test]
    fn a_python_file_opens_with_its_docstring() {
        assert!(opens_with_docstring("\"\"\"Why.\"\"\"\n"));
        assert!(opens_with_docstring("#!/usr/bin/env python3\nr'''Why.'''\n"));
        assert!(!opens_with_docstring("# Why.\n\"\"\"Why.\"\"\"\n"));
        assert!(!opens_with_docstring("import os\n"));
        assert!(!opens_with_docstring(""));
    }

    #[test]
    fn code_is_short_and_tests_are_counted_apart() {
        let what =
            |path: &str, text: &str| check_length(path, text).map(|fault| fault.what().to_owned());
        assert_eq!(what("a.rs", &"x\n".repeat(400)), None);
        let long = "x\n".repeat(401);
        let fault = Some("has 401 lines, the limit is 400".to_owned());
        assert_eq!(what("a.rs", &long), fault);
        let tests = format!(
            "#[cfg(test)]\nmod tests {{\n    fn f() {{\n    }}\n{}}}\n",
            "    y\n".repeat(50)
        );
        assert_eq!(what("a.rs", &("x\n".repeat(400) + &tests)), None);
        assert_eq!(what("a.rs", &(tests + &long)), fault);
        for word in ["@generated", "@table"] {
            assert_eq!(what("a.rs", &format!("//! {word} of x\n{long}")), None);
        }
        for path in ["a/tests/b.rs", "a/src/tests.rs", "tests/c.py"] {
            assert_eq!(what(path, &"x\n".repeat(600)), None);
            assert!(what(path, &"x\n".repeat(601)).is_some());
        }
    }
}
