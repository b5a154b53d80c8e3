//! What the walk knows at each place of the tree, and what it has found.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;

use ruff_python_ast::token::Tokens;
use ruff_text_size::{TextRange, TextSize};

use crate::edit::Sentry;
use crate::profile::Grants;
use crate::program::{Classes, Gathered};
use crate::report::Findings;
use crate::rule::Rule;

/// What kind of thing was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Seen {
    /// A name that is read, bound or deleted.
    Name,
    /// An attribute, also in a pattern.
    Attribute,
    /// A module that is imported, or imported from, with dots for its level.
    Module,
    /// A name that is imported from a module.
    Imported,
    /// A name that is bound by something that is no expression: a parameter, a function, an alias.
    Binder,
    /// The name of an argument.
    Keyword,
    /// A text.
    Text,
}

/// One thing that the guard sees in a program.
pub type Fact = (Seen, String);

/// Where a statement stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Module,
    Class,
    Function,
}

/// The walk itself.
pub(crate) struct Walker<'a> {
    pub grants: &'a Grants<'a>,
    pub gathered: &'a Gathered<'a>,
    pub classes: Classes<'a>,
    /// Names of inputs and tools, which are defined when the program starts.
    pub given: HashSet<&'a str>,
    pub tokens: &'a Tokens,
    pub place: Place,
    /// The names that enclosing functions bind, with how many of them do.
    pub bound: HashMap<&'a str, usize>,
    /// The class whose body this is, by where it starts.
    pub class: Option<TextSize>,
    /// Names that hold an exception here.
    pub errors: Vec<&'a str>,
    pub found: Findings,
    pub sentries: Vec<Sentry>,
    /// What was seen, if the caller asked for it.
    pub facts: Option<Vec<Fact>>,
}

impl<'a> Walker<'a> {
    pub fn refuse(
        &mut self,
        rule: Rule,
        range: TextRange,
        message: impl Display,
        instead: impl Display,
    ) {
        self.found.add(rule, range, message, instead);
    }

    pub fn see(&mut self, seen: Seen, text: &str) {
        if let Some(facts) = &mut self.facts {
            facts.push((seen, text.to_owned()));
        }
    }

    pub fn unknown(&mut self, range: TextRange, what: &str) {
        let instead = "write plain Python";
        self.refuse(Rule::UnknownSyntax, range, format_args!("{what} are not supported"), instead);
    }

    pub fn no_async(&mut self, range: TextRange) {
        if !self.grants.profile.async_code {
            let (message, instead) = (
                "asynchronous code is not allowed by this profile",
                "use ordinary functions and loops",
            );
            self.refuse(Rule::AsyncCode, range, message, instead);
        }
    }
}
