//! The walk over patterns: what they read, compare and bind.

use ruff_python_ast::{Expr, Identifier, Pattern};
use ruff_text_size::Ranged;

use crate::profile::TABLES;
use crate::rule::Rule;
use crate::walk::walker::{Seen, Walker};

impl<'a> Walker<'a> {
    pub fn pattern(&mut self, pattern: &'a Pattern) {
        match pattern {
            Pattern::MatchValue(node) => self.pattern_value(&node.value),
            Pattern::MatchSingleton(_) => {}
            Pattern::MatchSequence(node) => self.patterns(&node.patterns),
            Pattern::MatchMapping(node) => {
                node.keys.iter().for_each(|key| self.pattern_value(key));
                self.patterns(&node.patterns);
                self.bind_some(node.rest.as_ref());
            }
            Pattern::MatchClass(node) => {
                self.pattern_value(&node.cls);
                self.positional_patterns(&node.cls, &node.arguments.patterns);
                self.patterns(&node.arguments.patterns);
                for keyword in &node.arguments.keywords {
                    self.pattern_attribute(&node.cls, &keyword.attr);
                    self.pattern(&keyword.pattern);
                }
            }
            Pattern::MatchStar(node) => self.bind_some(node.name.as_ref()),
            Pattern::MatchAs(node) => {
                if let Some(pattern) = &node.pattern {
                    self.pattern(pattern);
                }
                self.bind_some(node.name.as_ref());
            }
            Pattern::MatchOr(node) => self.patterns(&node.patterns),
        }
    }

    /// A value in a pattern, where no sentry can stand: it is handed to whatever it is compared with.
    fn pattern_value(&mut self, expr: &'a Expr) {
        let sentries = self.sentries.len();
        self.expr(expr);
        if self.sentries.len() > sentries {
            self.sentries.truncate(sentries);
            match expr {
                // A member of a class, as enumerations have them.
                Expr::Attribute(node) if self.is_class(&node.value) => {}
                Expr::Attribute(node) => self.text_taken(&node.attr, expr.range()),
                _ => self.text_taken("a method", expr.range()),
            }
        }
    }

    /// An attribute in a class pattern.
    fn pattern_attribute(&mut self, class: &'a Expr, name: &'a Identifier) {
        self.see(Seen::Attribute, name.as_str());
        let own = self.is_own_class(class);
        if name == "obj" && !own {
            self.exception_object(name.range());
        }
        let formats = matches!(name.as_str(), "format" | "format_map");
        if formats || (TABLES.names.texts.contains(name.as_str()) && !own) {
            self.text_taken(name, name.range());
        }
        self.attribute(None, name, name.range());
    }

    /// Patterns by position read what a class says of itself, so it must be known which class it is.
    fn positional_patterns(&mut self, class: &'a Expr, patterns: &'a [Pattern]) {
        let known = match class {
            Expr::Name(name) => {
                let name = name.id.as_str();
                self.is_class(class) || !self.is_bound(name)
            }
            class => self.is_class(class),
        };
        if let Some(first) = patterns.first().filter(|_| !known) {
            let message = "a pattern by position needs a class that is known here";
            let instead = "name the attributes: case Point(x=0), or define the class with `class`";
            self.refuse(Rule::DynamicType, first.range(), message, instead);
        }
    }

    fn is_own_class(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Name(name) if self.gathered.classes.contains(name.id.as_str()))
    }

    /// A class of the program's own, or something imported.
    fn is_class(&self, expr: &Expr) -> bool {
        self.is_own_class(expr) || self.module_root(expr)
    }

    fn patterns(&mut self, patterns: &'a [Pattern]) {
        for pattern in patterns {
            self.pattern(pattern);
        }
    }
}
