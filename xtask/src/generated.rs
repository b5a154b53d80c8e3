//! Files that are written from the code and checked in, so that a change of a type shows as a
//! change of its reference.

use std::io;
use std::path::Path;

use crate::drill;
use crate::fault::Fault;
use crate::guard_rules;
use crate::limits;
use crate::tree::Tree;

/// Every generated file with its current text.
fn files(tree: &Tree) -> io::Result<Vec<(&'static str, String)>> {
    let mut files = vec![
        ("docs/policy.schema.json", policy_schema()?),
        ("crates/carboy-zygote/src/language.json", language_tables()?),
        (drill::TABLE, drill::table(tree)?),
        (guard_rules::PAGE, guard_rules::page(tree)?),
    ];
    files.extend(limits::files(tree)?);
    Ok(files)
}

fn policy_schema() -> io::Result<String> {
    let schema = schemars::schema_for!(carboy_protocol::Policy);
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}

/// Compares the tree with what would be generated now.
pub(crate) fn check(tree: &Tree) -> io::Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for (path, text) in files(tree)? {
        if !tree.exists(path) {
            faults.push(Fault::new(path, "is missing", "run `cargo xtask generate`"));
        } else if tree.text(path)? != text {
            faults.push(Fault::new(path, "is out of date", "run `cargo xtask generate`"));
        }
    }
    Ok(faults)
}

/// Writes every generated file and returns their paths.
pub(crate) fn write(root: &Path) -> io::Result<Vec<&'static str>> {
    let mut written = Vec::new();
    for (path, text) in files(&Tree::read(root)?)? {
        std::fs::write(root.join(path), text)
            .map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))?;
        written.push(path);
    }
    Ok(written)
}

/// What the runtime half of the guard goes by: a jar cannot ask the guard.
fn language_tables() -> io::Result<String> {
    Ok(serde_json::to_string(&carboy_guard::tables_for_jars())? + "\n")
}
