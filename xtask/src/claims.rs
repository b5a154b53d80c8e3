//! What SPECIFICATION.md and SECURITY.md name as evidence exists: tests, benches, fuzz targets and
//! settings of `tests/run`.
//!
//! A promise whose test was renamed or deleted looks as well shown as before, so names are looked up.

use std::io;

use crate::fault::Fault;
use crate::tree::Tree;

const DOCUMENTS: [&str; 2] = ["SPECIFICATION.md", "SECURITY.md"];

/// Where the short paths of the documents lead.
const SUITE: &str = "crates/carboy/tests/suite/";
const SETTINGS: &str = "tests/run";
const FUZZ: &str = "fuzz/fuzz_targets/";
const SDK: &str = "sdk/python/src/";
/// What `carboy bench --only` takes is this enumeration.
const BENCH_PARTS: &str = "enum BenchPart";

/// One piece of evidence, as a document names it.
#[derive(Debug, PartialEq, Eq)]
enum Evidence {
    /// A test in a file.
    Test(String, String),
    /// A whole file.
    File(String),
    /// A setting of `tests/run`.
    Setting(String),
    /// A part of `carboy bench`.
    Bench(String),
}

/// Checks every piece of evidence in both documents.
pub(crate) fn check(tree: &Tree) -> io::Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for document in DOCUMENTS {
        for (line, evidence) in evidence(&tree.text(document)?) {
            if let Some(what) = missing(tree, &evidence)? {
                let fix = "name the test that shows it now, or write \"not yet tested\"";
                faults.push(Fault::at(document, line, what, fix));
            }
        }
    }
    Ok(faults)
}

/// What is not there, in words.
fn missing(tree: &Tree, evidence: &Evidence) -> io::Result<Option<String>> {
    let (is_there, what) = match evidence {
        Evidence::Test(path, name) => {
            let is_there = tree.exists(path) && has_test(&tree.text(path)?, name);
            (is_there, format!("names the test `{name}`, which is not in {path}"))
        }
        Evidence::File(path) => (tree.exists(path), format!("names {path}, which does not exist")),
        Evidence::Setting(name) => {
            // The head of the script lists them, and the script refuses others.
            let head = format!("#   {name} ");
            let is_there = tree.text(SETTINGS)?.lines().any(|line| line.starts_with(&head));
            (is_there, format!("names the setting `{name}`, which {SETTINGS} does not have"))
        }
        Evidence::Bench(name) => {
            let mut is_there = false;
            for path in tree.ending(".rs").filter(|path| path.starts_with("crates/carboy/src/")) {
                is_there |= has_part(&tree.text(path)?, name);
            }
            (is_there, format!("names the bench `{name}`, which `carboy bench` does not have"))
        }
    };
    Ok((!is_there).then_some(what))
}

/// Whether a Rust or Python file has a test of this name.
fn has_test(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_definition = |line: &str| {
        let line = line.strip_prefix("async ").unwrap_or(line);
        let rest = line.strip_prefix("fn ").or_else(|| line.strip_prefix("def "));
        rest.and_then(|rest| rest.strip_prefix(name)).is_some_and(|rest| rest.starts_with('('))
    };
    lines.iter().enumerate().any(|(at, line)| {
        let mut attributes = lines[..at].iter().rev().take_while(|line| line.starts_with("#["));
        let is_marked = attributes.any(|line| line.contains("test"));
        is_definition(line) && (is_marked || line.contains("def test_"))
    })
}

/// Whether a file defines the parts of the bench, this one among them.
fn has_part(text: &str, name: &str) -> bool {
    let Some((_, after)) = text.split_once(BENCH_PARTS) else { return false };
    let body = after.split('}').next().unwrap_or_default();
    body.lines().any(|line| line.trim().trim_end_matches(',').eq_ignore_ascii_case(name))
}

/// Every piece of evidence with its line number.
fn evidence(text: &str) -> Vec<(usize, Evidence)> {
    let mut found = Vec::new();
    let mut file = String::new();
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line)) {
        let mut parts = line.split('`');
        let mut prose = parts.next().unwrap_or_default();
        while let Some(code) = parts.next() {
            let mut note = |evidence| found.push((number, evidence));
            if let Some((path, test)) = code.split_once("::")
                && (path.is_empty() || is_source(path))
            {
                if !path.is_empty() {
                    file = whole(path);
                }
                note(Evidence::Test(file.clone(), test.to_owned()));
            } else if is_source(code) && code.contains('/') {
                file = whole(code);
                note(Evidence::File(file.clone()));
            } else if let Some(settings) = code.strip_prefix("tests/run ") {
                settings.split(' ').for_each(|name| note(Evidence::Setting(name.to_owned())));
            } else if let Some(part) = code.strip_prefix("carboy bench --only ") {
                note(Evidence::Bench(part.to_owned()));
            } else if let Some(module) = code.strip_prefix("python -m ") {
                note(Evidence::File(format!("{SDK}{}.py", module.replace('.', "/"))));
            } else if prose.ends_with("fuzz target ") {
                note(Evidence::File(format!("{FUZZ}{code}.rs")));
            }
            prose = parts.next().unwrap_or_default();
        }
    }
    found
}

fn is_source(path: &str) -> bool {
    (path.ends_with(".rs") || path.ends_with(".py")) && !path.contains([' ', '*'])
}

/// The path from the root.
fn whole(path: &str) -> String {
    if let Some(file) = path.strip_prefix("suite/") {
        format!("{SUITE}{file}")
    } else if path.starts_with("carboy") {
        format!("crates/{path}")
    } else {
        path.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(path: &str, name: &str) -> Evidence {
        Evidence::Test(path.to_owned(), name.to_owned())
    }

    #[test]
    fn each_form_of_evidence_is_found() {
        let text = "`suite/a.rs::one`, `::two`\n`carboy-x/src/b.rs::three`, `sdk/t.py`, `a.rs`\n\
                    `tests/run root user`\nthe fuzz target `guard`, `carboy bench --only pool`\n\
                    `python -m carboy.bench`, `Policy::default`";
        let found: Vec<Evidence> = evidence(text).into_iter().map(|(_, found)| found).collect();
        assert_eq!(
            found,
            [
                test("crates/carboy/tests/suite/a.rs", "one"),
                test("crates/carboy/tests/suite/a.rs", "two"),
                test("crates/carboy-x/src/b.rs", "three"),
                Evidence::File("sdk/t.py".into()),
                Evidence::Setting("root".into()),
                Evidence::Setting("user".into()),
                Evidence::File("fuzz/fuzz_targets/guard.rs".into()),
                Evidence::Bench("pool".into()),
                Evidence::File("sdk/python/src/carboy/bench.py".into()),
            ]
        );
    }

    #[test]
    fn a_function_is_a_test_if_it_is_marked_as_one() {
        let text = "#[test]\n#[ignore]\nfn one() {}\nfn two() {}\n#[tokio::test(flavor = \"x\")]\n\
                    async fn three() {}\nfn one_more() {}\n";
        assert!(has_test(text, "one") && has_test(text, "three"));
        assert!(!has_test(text, "two") && !has_test(text, "one_more") && !has_test(text, "on"));
        assert!(has_test("def test_it(box):\n    pass\n", "test_it"));
        assert!(!has_test("def helper():\n    pass\n", "helper"));
    }

    #[test]
    fn parts_of_the_bench_are_the_words_of_its_enumeration() {
        let text =
            "enum BenchPart {\n    /// The guard.\n    Guard,\n    Pool,\n}\nenum Other { X }";
        assert!(has_part(text, "guard") && has_part(text, "pool"));
        assert!(!has_part(text, "x") && !has_part("enum Other { Guard }", "guard"));
    }
}
