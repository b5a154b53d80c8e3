//! The cases of `golden/guard.json`, which the guard decides too, decided by the Python half.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeMap;
use std::process::Command;

/// The script, with the folder of the Python half to import from.
const VECTORS: &str = concat!(
    "import sys\nsys.path.insert(0, r'''",
    env!("CARGO_MANIFEST_DIR"),
    "/python''')\n",
    include_str!("vectors.py"),
);

#[test]
fn the_shared_cases_are_decided_as_they_say() {
    let cases = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/guard.json");
    let python = std::env::var("CARBOY_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let output = Command::new(python).args(["-I", "-B", "-c", VECTORS, cases]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let text = std::fs::read_to_string(cases).unwrap();
    let kinds: BTreeMap<String, Vec<serde_json::Value>> = serde_json::from_str(&text).unwrap();
    let count: usize = kinds.values().map(Vec::len).sum();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, format!("{count} cases, unknown: []\n"), "{errors}");
}
