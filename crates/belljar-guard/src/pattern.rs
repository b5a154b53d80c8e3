//! The walk over patterns: what they read, compare and bind.

use ruff_python_ast::{Expr, Pattern};
use ruff_text_size::Ranged;

use crate::walk::Walker;

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

    /// A value in a pattern, where no gate can stand: it is handed to whatever it is compared with.
    fn pattern_value(&mut self, expr: &'a Expr) {
        let gates = self.gates.len();
        self.expr(expr);
        if self.gates.len() > gates {
            self.gates.truncate(gates);
            match expr {
                // A member of a class, as enumerations have them.
                Expr::Attribute(node) if self.is_class(&node.value) => {}
                Expr::Attribute(node) => self.text_taken(node, expr.range()),
                _ => {}
            }
        }
    }

    fn is_class(&self, expr: &Expr) -> bool {
        let own =
            matches!(expr, Expr::Name(name) if self.gathered.classes.contains(name.id.as_str()));
        own || self.module_root(expr)
    }

    fn patterns(&mut self, patterns: &'a [Pattern]) {
        for pattern in patterns {
            self.pattern(pattern);
        }
    }
}
