//! One walk over the tree. Every kind of node is named in it: what is not known is refused.

mod attribute;
mod call;
mod class;
mod expression;
mod handler;
mod import;
mod name;
mod pattern;
mod scope;
mod statement;
mod walker;

use std::collections::{BTreeSet, HashMap, HashSet};

use ruff_python_ast::ModModule;
use ruff_python_parser::Parsed;

use crate::edit::Sentry;
use crate::profile::Grants;
use crate::program::{Classes, gather};
use crate::report::Findings;
pub use walker::{Fact, Seen};
use walker::{Place, Walker};

/// What came of a walk.
pub(crate) struct Walked {
    pub found: Findings,
    pub sentries: Vec<Sentry>,
    pub own: BTreeSet<String>,
}

/// Walks over a program and judges it.
pub(crate) fn walk(
    parsed: &Parsed<ModModule>,
    grants: &Grants<'_>,
    given: HashSet<&str>,
) -> Walked {
    walk_noting(parsed, grants, given, None).0
}

/// The same, with what was seen.
pub(crate) fn walk_noting(
    parsed: &Parsed<ModModule>,
    grants: &Grants<'_>,
    given: HashSet<&str>,
    facts: Option<Vec<Fact>>,
) -> (Walked, Vec<Fact>) {
    let gathered = gather(parsed.suite());
    let mut walker = Walker {
        grants,
        gathered: &gathered,
        classes: Classes::of(&gathered, grants, &given),
        given,
        tokens: parsed.tokens(),
        place: Place::Module,
        bound: HashMap::new(),
        class: None,
        errors: vec![],
        found: Findings::default(),
        sentries: vec![],
        facts,
    };
    walker.body(parsed.suite());
    let Walker { found, sentries, facts, .. } = walker;
    (Walked { found, sentries, own: gathered.own }, facts.unwrap_or_default())
}
