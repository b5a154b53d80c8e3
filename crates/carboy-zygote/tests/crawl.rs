//! No way leads from a granted module through public attributes to a module as it really is, or to
//! what runs code. `CARBOY_TEST_VENV` names an environment with packages to walk through too.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests fail by panicking")]

use std::process::Command;

/// The script, with the folder of the Python half to import from.
const CRAWL: &str = concat!(
    "import sys\nsys.path.insert(0, r'''",
    env!("CARGO_MANIFEST_DIR"),
    "/python''')\n",
    include_str!("crawl.py"),
);

#[test]
fn public_attributes_lead_to_faces_only() {
    let venv = std::env::var("CARBOY_TEST_VENV").map(|venv| format!("{venv}/bin/python"));
    let python = venv.unwrap_or_else(|_| "python3".into());
    let output =
        Command::new(python).args(["-I", "-B", "-W", "ignore", "-c", CRAWL]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let answer: serde_json::Value = serde_json::from_str(text.lines().last().unwrap_or_default())
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    for profile in ["agent", "hook"] {
        let crawled = &answer[profile];
        println!("{profile}: {} objects, without {}", crawled["objects"], crawled["missing"]);
        assert_eq!(crawled["found"], serde_json::json!([]), "{profile}");
        assert!(crawled["objects"].as_u64().unwrap() > 1_000);
        let control = crawled["control"].as_array().unwrap();
        assert!(control.contains(&"math.tools is the module sys".into()), "{control:?}");
    }
}
