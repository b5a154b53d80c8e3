//! The guard in a run, by its own fixtures: what it refuses there, what must answer the same with and
//! without it, and that the walls do not need it.

#[path = "../../../carboy-guard/tests/fixtures/mod.rs"]
mod fixtures;

use std::collections::BTreeMap;
use std::fs;

use carboy_drill::{Canary, HOLD};
use carboy_protocol::{
    Job, Kind, LanguagePolicy, LanguageProfile, Layer, Outcome, Policy, PythonVersion, Status,
};
use serde_json::value::RawValue;

use crate::support::*;
use fixtures::Kind::{Passes, Refused};
use fixtures::{Case, cases, compare};

fn guarded(profile: LanguageProfile) -> Policy {
    Policy { language: LanguagePolicy::of(profile), ..policy(|_| {}) }
}

#[tokio::test]
async fn what_only_a_run_shows_is_refused_in_the_run() {
    if !belongs_here(&["root"]) {
        return;
    }
    refuses_in_run(Bench::new()).await;
}

/// Where builtins and modules are new, what stands in their place must be too.
#[tokio::test]
async fn what_only_a_run_shows_is_refused_by_the_newest_pythons_too() {
    if !belongs_here(&["root"]) {
        return;
    }
    let newest = crate::pythons::interpreters().into_iter().map(|python| Bench::with(python, &[]));
    for bench in newest.filter(|bench| bench.engine.python().language >= TEMPLATES) {
        refuses_in_run(bench).await;
    }
}

/// The first version with template strings: from there on much is new.
const TEMPLATES: PythonVersion = PythonVersion { major: 3, minor: 14 };

/// Whether a program is for this version: `3.14` is the oldest that it is for, `until-3.11` the newest.
fn is_for(case: &Case, version: PythonVersion) -> bool {
    let mut words = case.info.split(' ');
    let until = words.find_map(|word| word.strip_prefix("until-")?.parse::<PythonVersion>().ok());
    until.map_or(!names_version(case) || case.version <= version, |until| version <= until)
}

async fn refuses_in_run(bench: Bench) {
    let version = bench.engine.python().language;
    let cases = cases(Refused);
    let mut said = vec![];
    for case in cases.iter().filter(|case| case.is("refused-in-run") && is_for(case, version)) {
        if !needs_packages(&case.code) {
            said.push((case, refused_in_run(&bench, case).await));
        }
    }
    compare(said);
    bench.close().await;
}

#[tokio::test]
async fn what_only_a_run_with_packages_shows_is_refused_in_the_run() {
    if !belongs_here(&["root"]) {
        return;
    }
    let Some(python) = venv_python() else { return };
    let bench = Bench::with(python, &["pandas"]);
    let cases = cases(Refused);
    let mut said = vec![];
    for case in cases.iter().filter(|case| case.is("refused-in-run")) {
        if needs_packages(&case.code) {
            said.push((case, refused_in_run(&bench, case).await));
        }
    }
    assert!(!said.is_empty());
    compare(said);
    bench.close().await;
}

/// Whether a program is for some versions of Python only.
fn names_version(case: &Case) -> bool {
    case.info.contains("3.")
}

fn needs_packages(code: &str) -> bool {
    ["numpy", "pandas", "matplotlib"].iter().any(|name| code.contains(name))
}

async fn refused_in_run(bench: &Bench, case: &Case) -> String {
    // What the programs of the pages find as their input; nothing of it is there.
    let input = r#"{"secret_file": "/nothing", "folder": "/nothing", "tcp": 1, "udp": 1,
        "unix": "/nothing", "pid": 1}"#;
    let job = Job::new(case.code.as_str())
        .with_input("context", RawValue::from_string(input.into()).unwrap())
        .with_policy(guarded(case.profile));
    let outcome = bench.engine.run(job).await.unwrap();
    let said = outcome.error.as_ref().map_or("nothing".into(), |error| error.message.clone());
    let refused = outcome.denials.iter().find(|denial| denial.layer == Layer::Guard);
    let Some(refused) = refused else {
        panic!("{}: was not refused: {said}, {:?}", case.name(), outcome.result)
    };
    assert_eq!(outcome.error.as_ref().unwrap().kind, Kind::Exception, "{}: {said}", case.name());
    let (message, instead) = (refused.message.as_deref(), refused.instead.as_deref());
    let (message, instead) = (message.unwrap(), instead.unwrap());
    assert!(refused.hint.starts_with(message) && refused.hint.ends_with(instead), "{refused:?}");
    format!("{}: {said}\n", refused.line.unwrap())
}

/// Runs the programs with and without the guard; what they answer must be the same.
async fn pass(bench: &Bench, cases: &[Case]) {
    let mut wrong = vec![];
    for case in cases {
        let free = bench.run(policy(|_| {}), &case.code).await;
        let held = bench.run(guarded(case.profile), &case.code).await;
        if free.status != Status::Ok || held.status != Status::Ok || answer(&free) != answer(&held)
        {
            let why = |outcome: &Outcome| format!("{:?} {:?}", outcome.result, outcome.error);
            wrong.push(format!("{}\nfree {}\nheld {}", case.name(), why(&free), why(&held)));
        }
        // Walls refuse the same things in both.
        let refused = held.denials.iter().any(|denial| denial.layer == Layer::Guard);
        assert!(!refused, "{}: {:?}", case.name(), held.denials);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn answer(outcome: &Outcome) -> String {
    outcome.result.as_ref().map(|result| result.to_string()).unwrap_or_default()
}

#[tokio::test]
async fn programs_that_pass_answer_the_same_with_and_without_the_guard() {
    if !belongs_here(&["root"]) {
        return;
    }
    let bench = Bench::new();
    let is_plain = |case: &Case| !needs_packages(&case.code) && !names_version(case);
    let cases: Vec<_> = cases(Passes).into_iter().filter(is_plain).collect();
    pass(&bench, &cases).await;
    bench.close().await;
}

#[tokio::test]
async fn what_newer_pythons_brought_answers_the_same_with_and_without_the_guard() {
    for python in crate::pythons::interpreters() {
        let bench = Bench::with(python, &[]);
        let version = bench.engine.python().language;
        let is_for_it = |case: &Case| names_version(case) && case.version <= version;
        let cases: Vec<_> = cases(Passes).into_iter().filter(is_for_it).collect();
        println!("{version}: {}", cases.len());
        pass(&bench, &cases).await;
        bench.close().await;
    }
}

#[tokio::test]
async fn programs_with_packages_answer_the_same_with_and_without_the_guard() {
    if !belongs_here(&["root"]) {
        return;
    }
    let Some(python) = venv_python() else { return };
    let bench = Bench::with(python, &["pandas"]);
    let cases: Vec<_> =
        cases(Passes).into_iter().filter(|case| needs_packages(&case.code)).collect();
    assert!(!cases.is_empty());
    pass(&bench, &cases).await;
    bench.close().await;
}

/// With the guard left out, what must be refused meets the walls alone, and reaches nothing.
#[tokio::test]
async fn without_the_guard_the_walls_stop_every_refused_program() {
    if !belongs_here(&["root", "user-nested"]) {
        return;
    }
    let bench = match venv_python() {
        Some(python) => Bench::with(python, &["pandas"]),
        None => Bench::new(),
    };
    let mut canary = Canary::plant().unwrap();
    let mut ends = BTreeMap::<String, usize>::new();
    let cases = cases(Refused);
    for case in &cases {
        let context =
            RawValue::from_string(canary.context(HOLD, &[]).unwrap().to_string()).unwrap();
        let job = Job::new(case.code.as_str())
            .with_input("context", context)
            .with_policy(policy(|limits| limits.wall_ms = 3_000));
        let outcome = bench.engine.run(job).await.unwrap();
        let said = serde_json::to_string(&outcome).unwrap();
        let damage = canary.damage(&[&said], false).unwrap();
        assert!(damage.is_empty(), "{}: {damage:?}\n{said}", case.name());
        let end = outcome.error.map_or("ok".into(), |error| format!("{:?}", error.kind));
        *ends.entry(end).or_default() += 1;
    }
    println!("{ends:?}");
    assert_eq!(ends.values().sum::<usize>(), cases.len());
    // Many of them get far enough to find the walls.
    assert!(ends["Exception"] + ends["Denied"] >= 40);
    drop(canary);
    bench.close().await;
}

#[test]
fn check_and_run_answer_the_same() {
    let folder = Folder::new();
    let file = folder.0.join("report.py");
    fs::write(&file, "import math\nimport subprocess as sp\nresult = eval('1')\n").unwrap();
    let file = file.to_str().unwrap();
    let page = command(&["check", file]);
    assert_eq!(page.status.code(), Some(5));
    let text = String::from_utf8(page.stdout).unwrap();
    let expected =
        "2 | import subprocess as sp\n  |        ^^^^^^^^^^\n  instead: no other program";
    assert!(text.contains(expected) && text.ends_with("(agent): 2 violations\n"), "{text}");
    let json = command(&["check", file, "--json", "--profile", "hook"]);
    let report: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(report["violations"][1]["rule"], "blocked-builtin");
    assert_eq!((&report["violations"][1]["line"], &report["profile"]), (&3.into(), &"hook".into()));
    assert_eq!(command(&["check", file, "--profile", "open"]).status.code(), Some(0));
    let run = command(&["run", file, "--json", "--profile", "agent"]);
    assert_eq!(run.status.code(), Some(5));
    let outcome: Outcome = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(outcome.error.unwrap().kind, Kind::Rejected);
    let rules: Vec<_> = outcome.denials.iter().map(|one| (one.what.as_str(), one.line)).collect();
    assert_eq!(rules, [("import-not-granted", Some(2)), ("blocked-builtin", Some(3))]);
    let first = &outcome.denials[0];
    assert_eq!(
        first.instead.as_deref(),
        Some(
            "no other program can be started; do the work in Python with the packages that are installed"
        )
    );
    assert!(first.message.as_deref().is_some_and(|message| message.contains("subprocess")));
    assert_eq!((outcome.isolation.tier.as_str(), outcome.usage.wall_ms), ("none", 0.0));
}

fn command(arguments: &[&str]) -> std::process::Output {
    std::process::Command::new(program()).args(arguments).output().unwrap()
}

#[tokio::test]
async fn what_a_caller_grants_is_granted_and_nothing_beside_it() {
    let bench = Bench::new();
    let granting = |imports: &[&str]| Policy {
        language: LanguagePolicy {
            imports: imports.iter().map(|name| (*name).to_owned()).collect(),
            ..LanguagePolicy::of(LanguageProfile::Hook)
        },
        ..policy(|_| {})
    };
    let code = "import base64\nresult = base64.b64encode(b'x').decode()";
    assert_eq!(result(&bench.run(granting(&["base64"]), code).await), "\"eA==\"");
    let refused = bench.run(granting(&["base64.inner"]), code).await;
    assert_eq!(refused.error.unwrap().kind, Kind::Rejected);
    let code =
        "import os.path\nname = 'getcwd'\nresult = [os.path.join('a', 'b'), hasattr(os, name)]";
    let outcome = bench.run(granting(&["os.path"]), code).await;
    assert_eq!(result(&outcome), "[\"a/b\",false]");
    bench.close().await;
}
