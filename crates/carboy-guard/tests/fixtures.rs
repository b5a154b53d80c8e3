//! The fixtures, as far as reading a program shows: what must be refused is, as its page says, and what
//! must pass does. The suite of the command runs them.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "fixtures/mod.rs"]
mod pages;

use carboy_guard::{Report, Rule, check};
use carboy_protocol::{LanguagePolicy, LanguageProfile};
use pages::{Case, Kind, cases, compare};

/// A report as it stands in a page.
fn text(report: &Report) -> String {
    let lines = report.violations.iter();
    lines.map(|one| format!("{one}\n    instead: {}\n", one.instead)).collect()
}

#[test]
fn every_refused_program_is_refused_as_its_page_says() {
    let cases = cases(Kind::Refused);
    let (mut said, mut missed) = (vec![], vec![]);
    for case in cases.iter().filter(|case| case.is("refused")) {
        let report = check(&case.code, &LanguagePolicy::of(case.profile), case.version);
        if !report.violations.iter().any(|one| one.rule.id() == case.page) {
            missed.push(format!("{}\n{}", case.name(), text(&report)));
        }
        let hook = check(&case.code, &LanguagePolicy::of(LanguageProfile::Hook), case.version);
        if hook.is_clean() {
            missed.push(format!("{}: taken by the profile hook", case.name()));
        }
        assert!(
            check(&case.code, &LanguagePolicy::default(), case.version).is_clean(),
            "open refuses nothing"
        );
        said.push((case, text(&report)));
    }
    assert!(missed.is_empty(), "not refused by the rule of the page:\n{}", missed.join("\n"));
    compare(said);
}

#[test]
fn no_program_that_must_pass_is_refused() {
    let mut wrong = vec![];
    for case in cases(Kind::Passes) {
        let report = check(&case.code, &LanguagePolicy::of(case.profile), case.version);
        if !report.is_clean() {
            wrong.push(format!("{}\n{}", case.name(), text(&report)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_its_page_and_every_page_its_rule() {
    let pages: Vec<String> =
        pages::pages(Kind::Refused).into_iter().map(|(name, _)| name).collect();
    let mut rules: Vec<&str> = Rule::ALL.iter().map(|rule| rule.id()).collect();
    rules.sort_unstable();
    assert_eq!(pages, rules);
    // What is too long for a page is a test of the crate.
    let without = |rule: &&str| !cases(Kind::Refused).iter().any(|case| case.page == **rule);
    assert_eq!(rules.iter().filter(|rule| without(rule)).collect::<Vec<_>>(), [&"source-size"]);
}

/// The number that the specification promises in the row that begins like this.
fn promised(row: &str) -> usize {
    let text = include_str!("../../../SPECIFICATION.md");
    let row = text.lines().find(|line| line.starts_with(&format!("| {row}"))).unwrap();
    let digits: String =
        row.split('|').nth(2).unwrap().trim().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

#[test]
fn no_program_is_lost_and_the_specification_has_their_number() {
    for (kind, row) in [
        (Kind::Refused, "programs that must be refused"),
        (Kind::Passes, "programs that must pass"),
    ] {
        let cases = cases(kind);
        // Each program has a heading of its own, and those are counted apart from the blocks.
        let headings: usize = pages::pages(kind)
            .iter()
            .map(|(_, page)| page.lines().filter(|line| line.starts_with("## ")).count())
            .sum();
        assert_eq!((cases.len(), headings), (promised(row), promised(row)), "{kind:?}");
        let says_something = |case: &&Case| case.block.is_some() == (kind == Kind::Refused);
        let odd: Vec<String> =
            cases.iter().filter(|case| !says_something(case)).map(Case::name).collect();
        assert!(odd.is_empty(), "{odd:?}");
    }
}
