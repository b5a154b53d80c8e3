//! Checks Python before it runs and reports everything that a language profile does not allow.
//!
//! [`check`] parses the source, walks the tree once and reports every violation with its line, its
//! rule and what to write instead. It runs nothing and reads nothing but its arguments. What the
//! text of a program cannot show (a computed attribute name, a format string in a variable) is checked at
//! run time by wrappers, called sentries: the report has the program with the few calls of them that it
//! needs, and [`tables_for_jars`] is the data they use.
//!
//! ```
//! use carboy_guard::check;
//! use carboy_protocol::{LanguagePolicy, LanguageProfile, PythonVersion};
//!
//! let agent = LanguagePolicy::of(LanguageProfile::Agent);
//! let report = check("import subprocess", &agent, PythonVersion::NEWEST);
//! assert_eq!(report.violations[0].rule.id(), "import-not-granted");
//! ```
//!
//! It is advice for the author and a second layer, not the security boundary: the walls hold without it.
#![forbid(unsafe_code)]

mod edit;
mod habits;
mod names;
mod profile;
mod program;
mod report;
mod rule;
mod source;
mod text;
#[cfg(test)]
mod vectors;
mod walk;

use std::borrow::Cow;
use std::collections::HashSet;

use carboy_protocol::{Job, LanguagePolicy, LanguageProfile, PythonVersion};
use ruff_python_ast::ModModule;
use ruff_python_parser::{Mode, ParseOptions, Parsed, parse_unchecked};
use ruff_text_size::TextRange;

pub use habits::line_advice;
pub use report::{Guarded, Report, Violation};
pub use rule::Rule;
pub use walk::{Fact, Seen};

use profile::Grants;
use report::Findings;

/// Checks a program for this version of Python and reports everything in it that the policy does not allow.
pub fn check(source: &str, policy: &LanguagePolicy, version: PythonVersion) -> Report {
    check_given(source, policy, version, HashSet::new())
}

fn check_given(
    source: &str,
    policy: &LanguagePolicy,
    version: PythonVersion,
    given: HashSet<&str>,
) -> Report {
    let Some(grants) = Grants::of(policy) else { return Report::default() };
    let source = &*with_plain_newlines(source);
    match parsed(source, grants.profile.source_bytes, version) {
        Err(found) => found.report(source),
        Ok(parsed) => {
            let walked = walk::walk(&parsed, &grants, given);
            if !walked.found.is_empty() {
                return walked.found.report(source);
            }
            let edited = edit::apply(source, walked.sentries);
            Report { guarded: Guarded { edited, own: walked.own }, ..Report::default() }
        }
    }
}

/// Checks the program of a job. Inputs and tools of the job hide builtins of the same name.
pub fn check_job(job: &Job, policy: &LanguagePolicy, version: PythonVersion) -> Report {
    let inputs = job.inputs.keys().chain(job.frames.keys()).map(String::as_str);
    let given = inputs.chain(job.tools.iter().map(|tool| tool.name.as_str())).collect();
    check_given(&job.code, policy, version, given)
}

/// The names, attributes, imports and strings that the guard sees in a program, or nothing if it cannot
/// be parsed. Tests compare this with what CPython sees.
pub fn facts(source: &str, version: PythonVersion) -> Option<Vec<Fact>> {
    let policy = LanguagePolicy::of(LanguageProfile::Agent);
    let grants = Grants::of(&policy)?;
    let parsed = parsed(&with_plain_newlines(source), usize::MAX, version).ok()?;
    Some(walk::walk_noting(&parsed, &grants, HashSet::new(), Some(vec![])).1)
}

/// The data of the runtime half, for every profile.
pub fn tables_for_jars() -> serde_json::Value {
    profile::for_jars()
}

/// The packages and modules of which a profile grants something, by their first name; none for
/// the profile `open`, which grants all.
pub fn modules(profile: LanguageProfile) -> Vec<&'static str> {
    profile::modules(profile).into_iter().collect()
}

/// The source as CPython reads it: every kind of line break is a newline, also in strings.
pub fn with_plain_newlines(source: &str) -> Cow<'_, str> {
    if source.contains('\r') {
        source.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        source.into()
    }
}

fn parsed(
    source: &str,
    most: usize,
    version: PythonVersion,
) -> Result<Parsed<ModModule>, Findings> {
    let found = source::look(source, most);
    if !found.is_empty() {
        return Err(found);
    }
    // Of one that is newer than any we know, what the newest has is understood.
    let known = version.min(PythonVersion::NEWEST);
    let options =
        ParseOptions::from(Mode::Module).with_target_version((known.major, known.minor).into());
    let parsed = parse_unchecked(source, options);
    if let Some(error) = parsed.errors().first() {
        let message = format_args!("invalid syntax: {}", error.error);
        let before = &source[..error.location.start().to_usize().min(source.len())];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = source[start..].lines().next().unwrap_or_default();
        let instead = line_advice(line).unwrap_or("fix this line; the rest was not checked");
        return Err(Findings::one(Rule::Syntax, error.location, message, instead));
    }
    if let Some(error) = parsed.unsupported_syntax_errors().first() {
        let instead = format_args!("write it without syntax that is newer than Python {known}");
        return Err(Findings::one(Rule::UnknownSyntax, error.range, error, instead));
    }
    // A module is what was asked for.
    parsed.try_into_module().ok_or_else(|| {
        let whole = TextRange::default();
        Findings::one(Rule::UnknownSyntax, whole, "not a module", "write statements")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(source: &str) -> Report {
        check(source, &LanguagePolicy::of(LanguageProfile::Agent), PythonVersion::NEWEST)
    }

    #[test]
    fn a_source_may_be_as_long_as_its_profile_says() {
        let line = "x = 1\n";
        for (profile, most) in [(LanguageProfile::Agent, 1 << 20), (LanguageProfile::Hook, 1 << 16)]
        {
            let policy = LanguagePolicy::of(profile);
            let long = line.repeat(most / line.len());
            assert!(check(&long, &policy, PythonVersion::NEWEST).is_clean());
            let report = check(&(long + "# and more than that"), &policy, PythonVersion::NEWEST);
            assert_eq!(report.violations[0].rule, Rule::SourceSize);
        }
    }

    #[test]
    fn a_report_lists_a_hundred_and_counts_the_rest() {
        let report = agent(&"eval\n".repeat(250));
        assert_eq!((report.violations.len(), report.more), (100, 150));
    }

    #[test]
    fn places_are_counted_in_characters_and_in_lines_as_cpython_counts_them() {
        let report = agent("a = 'é漢'; eval\r\nb = 1\rexec\n");
        let places: Vec<_> =
            report.violations.iter().map(|one| (one.line, one.column, one.end_column)).collect();
        assert_eq!(places, [(1, 11, 15), (3, 1, 5)]);
    }

    #[test]
    fn sentries_stand_where_a_text_is_not_in_the_program() {
        for (source, edited) in [
            ("t.format(1)", Some("__carboy_format__(t)(1)")),
            ("'{}'.format(1)", None),
            ("return_ = (t).format", Some("return_ = __carboy_format__((t))")),
            (
                "t.format(1).format_map(d)",
                Some("__carboy_format_map__(__carboy_format__(t)(1))(d)"),
            ),
            ("(t\n .  # why\n format)(1)", Some("(__carboy_format__(t\n )  # why\n )(1)")),
            ("x.format = 1", None),
            ("d.query('a > 1')", None),
            ("d.query(q)", Some("__carboy_query__(d)(q)")),
        ] {
            let report = agent(source);
            assert!(report.is_clean(), "{source}: {:?}", report.violations);
            assert_eq!(report.guarded.edited.as_deref(), edited, "{source}");
        }
    }
}
