//! Reads Python before it runs and answers with everything that a language profile does not grant.
//!
//! [`check`] parses the source, walks the tree once and reports every violation with its line, its
//! rule and what to write instead. It runs nothing and reads nothing but its arguments. For what
//! text cannot show (a computed attribute name, a format text in a variable) it names the few
//! places where a gate must stand when the program runs; [`tables_for_jars`] is what those gates go
//! by.
//!
//! ```
//! use belljar_guard::check;
//! use belljar_protocol::{LanguagePolicy, LanguageProfile};
//!
//! let report = check("import subprocess", &LanguagePolicy::of(LanguageProfile::Agent));
//! assert_eq!(report.violations[0].rule.id(), "import-not-granted");
//! ```
//!
//! It is a teacher and a second layer. It is not the boundary: the walls are, and they hold without
//! it.
#![forbid(unsafe_code)]

mod attribute;
mod call;
mod edit;
mod gather;
mod import;
mod name;
mod profile;
mod report;
mod rule;
mod source;
mod text;
mod walk;

use std::borrow::Cow;

use belljar_protocol::LanguagePolicy;
use ruff_python_ast::{ModModule, PythonVersion};
use ruff_python_parser::{Mode, ParseOptions, Parsed, parse_unchecked};

pub use report::{Guarded, Report, Violation};
pub use rule::Rule;
pub use walk::{Fact, Seen};

use profile::Grants;
use report::Found;

/// Reads a program and reports everything in it that the policy does not grant.
pub fn check(source: &str, policy: &LanguagePolicy) -> Report {
    let Some(grants) = Grants::of(policy) else { return Report::default() };
    let source = &*with_plain_newlines(source);
    match parsed(source, grants.profile.source_bytes) {
        Err(found) => Report::refusing(source, found),
        Ok(parsed) => {
            let walked = walk::walk(&parsed, &grants);
            if !walked.found.is_empty() {
                return Report::refusing(source, walked.found);
            }
            let edited = edit::apply(source, walked.gates);
            Report { guarded: Guarded { edited, own: walked.own }, ..Report::default() }
        }
    }
}

/// The names, attributes, imports and texts that the guard sees in a program, or nothing if it
/// refuses the text itself. This is what is compared with what CPython sees.
pub fn facts(source: &str) -> Option<Vec<Fact>> {
    let policy = LanguagePolicy::of(belljar_protocol::LanguageProfile::Agent);
    let grants = Grants::of(&policy)?;
    let parsed = parsed(&with_plain_newlines(source), usize::MAX).ok()?;
    Some(walk::walk_noting(&parsed, &grants, Some(vec![])).1)
}

/// What the runtime half goes by, for every profile.
pub fn tables_for_jars() -> serde_json::Value {
    profile::for_jars()
}

/// The text as CPython reads it: each kind of line end is a newline, in texts too.
fn with_plain_newlines(source: &str) -> Cow<'_, str> {
    if source.contains('\r') {
        source.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        source.into()
    }
}

fn parsed(source: &str, most: usize) -> Result<Parsed<ModModule>, Vec<Found>> {
    let found = source::look(source, most);
    if !found.is_empty() {
        return Err(found);
    }
    let options = ParseOptions::from(Mode::Module).with_target_version(PythonVersion::PY313);
    let parsed = parse_unchecked(source, options);
    if let Some(error) = parsed.errors().first() {
        return Err(vec![Found {
            rule: Rule::Syntax,
            range: error.location,
            message: format!("not Python: {}", error.error),
            instead: "mend the line; nothing else was looked at".into(),
        }]);
    }
    if let Some(error) = parsed.unsupported_syntax_errors().first() {
        return Err(vec![Found {
            rule: Rule::UnknownSyntax,
            range: error.range,
            message: error.to_string(),
            instead: "use syntax of Python 3.10 to 3.13".into(),
        }]);
    }
    // A module is what was asked for.
    parsed.try_into_module().ok_or_else(Vec::new)
}
