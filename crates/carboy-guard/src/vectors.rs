//! The cases of `golden/guard.json`, which the runtime half of the guard decides too.

use carboy_protocol::{LanguagePolicy, LanguageProfile, PythonVersion};
use serde::Deserialize;

use crate::check;
use crate::profile::Grants;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    modules: Vec<Module>,
    names: Vec<Name>,
    attributes: Vec<Attribute>,
    formats: Vec<Text>,
    queries: Vec<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Module {
    profile: LanguageProfile,
    path: String,
    #[serde(default)]
    imports: Vec<String>,
    verdict: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Name {
    profile: LanguageProfile,
    module: String,
    name: String,
    handed_out: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attribute {
    name: String,
    #[serde(default)]
    own: Vec<String>,
    rule: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    text: String,
    #[serde(default)]
    own: Vec<String>,
    refused: bool,
}

/// A program that defines some names for its objects, and ends in a line.
fn program(own: &[String], line: &str) -> String {
    let mut text = "class Own:\n    def __init__(self):\n        self.x = 1\n".to_owned();
    for name in own {
        text += &format!("        self.{name} = 1\n");
    }
    text + line
}

/// The rule by which the last line of a program is refused, if it is.
fn rule(source: &str) -> Option<&'static str> {
    let report = check(source, &LanguagePolicy::of(LanguageProfile::Agent), PythonVersion::NEWEST);
    let line = source.lines().count() as u32;
    report.violations.iter().find(|one| one.line == line).map(|one| one.rule.id())
}

/// A text as Python reads it, which is as JSON writes it.
fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[test]
fn the_shared_cases_are_decided_as_they_say() {
    let cases: Cases = serde_json::from_str(include_str!("../../../golden/guard.json")).unwrap();
    for Module { profile, path, imports, verdict } in cases.modules {
        let policy = LanguagePolicy { imports, ..LanguagePolicy::of(profile) };
        let grants = Grants::of(&policy).unwrap();
        let found = match (grants.module(&path), grants.reaches(&path)) {
            (Some(_), _) => "granted",
            (None, true) => "container",
            (None, false) => "refused",
        };
        assert_eq!(found, verdict, "{path}");
    }
    for Name { profile, module, name, handed_out } in cases.names {
        let policy = LanguagePolicy::of(profile);
        let found = Grants::of(&policy).unwrap().hands_out(&module, &name);
        assert_eq!(found, handed_out, "{module}.{name}");
    }
    for case in cases.attributes {
        let line = format!("getattr(Own(), {})", literal(&case.name));
        assert_eq!(rule(&program(&case.own, &line)), case.rule.as_deref(), "{}", case.name);
    }
    for case in cases.formats {
        let line = format!("{}.format(Own())", literal(&case.text));
        let expected = case.refused.then_some("format-traversal");
        assert_eq!(rule(&program(&case.own, &line)), expected, "{}", case.text);
    }
    for case in cases.queries {
        let line = format!("Own().query({})", literal(&case.text));
        let expected = case.refused.then_some("text-code");
        assert_eq!(rule(&program(&case.own, &line)), expected, "{}", case.text);
    }
}
