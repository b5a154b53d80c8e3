//! The guard, by the programs in `docs/guard`: each page there is documentation and test at once.
//!
//! `CARBOY_BLESS=1` writes what is refused into the pages, to be read before it is committed.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use carboy_drill::Canary;
use carboy_guard::{Report, Rule, check};
use carboy_protocol::{Job, Kind, LanguagePolicy, LanguageProfile, Layer, Outcome, Policy, Status};
use serde_json::value::RawValue;

use crate::support::*;

/// One program of a page.
struct Case {
    page: String,
    title: String,
    profile: LanguageProfile,
    code: String,
    /// The word of the block behind it, and what that says.
    block: Option<(String, String)>,
}

impl Case {
    fn name(&self) -> String {
        format!("{}: {}", self.page, self.title)
    }

    fn language(&self) -> LanguagePolicy {
        LanguagePolicy::of(self.profile)
    }

    fn is(&self, word: &str) -> bool {
        self.block.as_ref().is_some_and(|(found, _)| found == word)
    }
}

fn folder(name: &str) -> PathBuf {
    let docs = std::env::var_os("CARBOY_TEST_DOCS").map(PathBuf::from);
    let here = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"));
    docs.unwrap_or_else(here).join("guard").join(name)
}

/// The programs of every page in a folder.
fn cases(name: &str) -> Vec<Case> {
    let mut pages: Vec<PathBuf> =
        fs::read_dir(folder(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    let mut cases: Vec<Case> = vec![];
    for path in pages {
        let page = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let mut title = String::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(words) = line.strip_prefix("## ") {
                title = words.to_owned();
            }
            let Some(words) = line.strip_prefix("```") else { continue };
            let block: String = lines
                .by_ref()
                .take_while(|line| *line != "```")
                .map(|line| format!("{line}\n"))
                .collect();
            match words {
                "python" | "python hook" => cases.push(Case {
                    page: page.clone(),
                    title: title.clone(),
                    profile: match words {
                        "python" => LanguageProfile::Agent,
                        _ => LanguageProfile::Hook,
                    },
                    code: block,
                    block: None,
                }),
                "refused" | "refused-in-run" => {
                    cases.last_mut().unwrap().block = Some((words.to_owned(), block));
                }
                _ => {}
            }
        }
    }
    cases
}

/// A report as it stands in a page.
fn text(report: &Report) -> String {
    let lines = report.violations.iter();
    lines.map(|one| format!("{one}\n    instead: {}\n", one.instead)).collect()
}

/// Compares what was said with the pages, or writes it there.
fn compare(said: Vec<(&Case, String)>) {
    let bless = std::env::var_os("CARBOY_BLESS").is_some();
    let mut wrong = vec![];
    for (case, text) in said {
        let (word, expected) = case.block.as_ref().unwrap();
        if *expected == text {
            continue;
        }
        if bless {
            let path = folder("rules").join(format!("{}.md", case.page));
            let page = fs::read_to_string(&path).unwrap();
            let old =
                format!("```python{}\n{}```\n\n```{word}\n{expected}```\n", hook(case), case.code);
            let new =
                format!("```python{}\n{}```\n\n```{word}\n{text}```\n", hook(case), case.code);
            assert!(page.contains(&old), "{}: its block is not where it should be", case.name());
            fs::write(&path, page.replacen(&old, &new, 1)).unwrap();
        } else {
            wrong.push(format!("{}\nthe page says:\n{expected}but it is:\n{text}", case.name()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn hook(case: &Case) -> &'static str {
    if case.profile == LanguageProfile::Hook { " hook" } else { "" }
}

#[test]
fn every_refused_program_is_refused_as_its_page_says() {
    let cases = cases("rules");
    let (mut said, mut missed) = (vec![], vec![]);
    for case in cases.iter().filter(|case| case.is("refused")) {
        let report = check(&case.code, &case.language());
        if !report.violations.iter().any(|one| one.rule.id() == case.page) {
            missed.push(format!("{}\n{}", case.name(), text(&report)));
        }
        let hook = check(&case.code, &LanguagePolicy::of(LanguageProfile::Hook));
        if hook.is_clean() {
            missed.push(format!("{}: taken by the profile hook", case.name()));
        }
        assert!(check(&case.code, &LanguagePolicy::default()).is_clean(), "open refuses nothing");
        said.push((case, text(&report)));
    }
    assert!(missed.is_empty(), "not refused by the rule of the page:\n{}", missed.join("\n"));
    compare(said);
}

#[test]
fn there_are_pages_for_all_rules_and_enough_programs() {
    let (refused, passed) = (cases("rules"), cases("passes"));
    for case in &refused {
        assert!(case.block.is_some(), "{}: does not say what is refused", case.name());
    }
    println!("{} programs must be refused, {} must pass", refused.len(), passed.len());
    assert!(refused.len() >= 120 && passed.len() >= 80);
    for rule in Rule::ALL {
        assert!(folder("rules").join(format!("{}.md", rule.id())).exists(), "{}", rule.id());
    }
    let pages: Vec<_> = refused.iter().map(|case| case.page.as_str()).collect();
    assert!(pages.iter().all(|page| Rule::from_id(page).is_some()));
}

#[test]
fn no_program_that_must_pass_is_refused() {
    let mut wrong = vec![];
    for case in cases("passes") {
        let report = check(&case.code, &case.language());
        if !report.is_clean() {
            wrong.push(format!("{}\n{}", case.name(), text(&report)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn guarded(profile: LanguageProfile) -> Policy {
    Policy { language: LanguagePolicy::of(profile), ..policy(|_| {}) }
}

#[tokio::test]
async fn what_only_a_run_shows_is_refused_in_the_run() {
    let bench = Bench::new();
    let cases = cases("rules");
    let mut said = vec![];
    for case in cases.iter().filter(|case| case.is("refused-in-run")) {
        if needs_packages(&case.code) {
            continue;
        }
        said.push((case, refused_in_run(&bench, case).await));
    }
    compare(said);
    bench.close().await;
}

#[tokio::test]
async fn what_only_a_run_with_packages_shows_is_refused_in_the_run() {
    let Some(python) = venv_python() else { return };
    let bench = Bench::with(python, &["pandas"]);
    let cases = cases("rules");
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
    let bench = Bench::new();
    let cases: Vec<_> =
        cases("passes").into_iter().filter(|case| !needs_packages(&case.code)).collect();
    pass(&bench, &cases).await;
    bench.close().await;
}

#[tokio::test]
async fn programs_with_packages_answer_the_same_with_and_without_the_guard() {
    let Some(python) = venv_python() else { return };
    let bench = Bench::with(python, &["pandas"]);
    let cases: Vec<_> =
        cases("passes").into_iter().filter(|case| needs_packages(&case.code)).collect();
    assert!(cases.len() >= 15);
    pass(&bench, &cases).await;
    bench.close().await;
}

/// With the guard left out, what must be refused meets the walls alone, and reaches nothing.
#[tokio::test]
async fn without_the_guard_the_walls_stop_every_refused_program() {
    let bench = match venv_python() {
        Some(python) => Bench::with(python, &[]),
        None => Bench::new(),
    };
    let mut canary = Canary::plant().unwrap();
    let mut ends = BTreeMap::<String, usize>::new();
    for case in cases("rules") {
        let context = RawValue::from_string(canary.context().unwrap().to_string()).unwrap();
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
    // Many of them get far enough to find the walls.
    assert!(ends.values().sum::<usize>() >= 120 && ends["Exception"] + ends["Denied"] >= 40);
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
    let expected = "2 | import subprocess as sp\n  |        ^^^^^^^^^^\n  instead: a run starts no";
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
