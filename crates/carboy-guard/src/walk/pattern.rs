//! The walk over patterns: what they read, compare and bind.

use ruff_python_ast::{Expr, ExprAttribute, Identifier, Pattern};
use ruff_text_size::{Ranged, TextSize};

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

    /// A value in a pattern, where no sentry can be inserted. The object it is compared with receives it.
    fn pattern_value(&mut self, expr: &'a Expr) {
        let sentries = self.sentries.len();
        self.expr(expr);
        if self.sentries.len() > sentries {
            self.sentries.truncate(sentries);
            match expr {
                // A member of a class, as enumerations have them.
                Expr::Attribute(node) if self.is_member(node) => {}
                Expr::Attribute(node) => self.text_taken(&node.attr, expr.range()),
                _ => self.text_taken("a method", expr.range()),
            }
        }
    }

    /// An attribute in a class pattern.
    fn pattern_attribute(&mut self, class: &'a Expr, name: &'a Identifier) {
        self.see(Seen::Attribute, name.as_str());
        let own = self.classes.is_own(class);
        if name == "obj" && !own {
            self.exception_object(name.range());
        }
        let formats = matches!(name.as_str(), "format" | "format_map");
        if formats || (TABLES.names.texts.contains(name.as_str()) && !own) {
            self.text_taken(name, name.range());
        }
        self.attribute(None, name, name.range());
    }

    /// Patterns by position read the attributes that a class lists, so it must be known which class it
    /// is, and that it lists no others than it seems to.
    fn positional_patterns(&mut self, class: &'a Expr, patterns: &'a [Pattern]) {
        let Some(first) = patterns.first() else { return };
        let is_library = match class {
            Expr::Name(name) => {
                let name = name.id.as_str();
                self.gathered.modules.contains_key(name) || !self.is_bound(name)
            }
            // What a module itself has; a class in it may have been given others.
            Expr::Attribute(node) => self.module_of(&node.value).is_some(),
            _ => false,
        };
        if !is_library && !self.classes.has_harmless_positions(class) {
            let message = "a positional pattern needs a class whose fields are known";
            let instead = "match by keyword: case Point(x=0)";
            self.refuse(Rule::DynamicType, first.range(), message, instead);
        }
    }

    /// Whether this is a name that a class of the program sets in its own body.
    fn is_member(&self, node: &ExprAttribute) -> bool {
        let Expr::Name(class) = &*node.value else { return false };
        let definitions = self.gathered.classes.get(class.id.as_str());
        let sets_it = |start: Option<TextSize>| {
            start.is_some_and(|start| self.gathered.binds(start, &node.attr))
        };
        self.classes.is_known(&node.value)
            && definitions.is_some_and(|all| all.iter().all(|one| sets_it(one.body())))
    }

    fn patterns(&mut self, patterns: &'a [Pattern]) {
        for pattern in patterns {
            self.pattern(pattern);
        }
    }
}
