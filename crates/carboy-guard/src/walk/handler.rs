//! Exception handlers.

use ruff_python_ast::{ExceptHandler, ExceptHandlerExceptHandler, Expr, Identifier, Stmt, StmtTry};
use ruff_text_size::{Ranged, TextRange};

use crate::rule::Rule;
use crate::walk::walker::Walker;

impl<'a> Walker<'a> {
    pub fn handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(handler) = handler;
        self.broad_except(handler);
        if let Some(types) = &handler.type_ {
            self.types_or(types);
        }
        self.bind_some(handler.name.as_ref());
        let errors = self.errors.len();
        self.errors.extend(handler.name.as_ref().map(Identifier::as_str));
        self.body(&handler.body);
        self.errors.truncate(errors);
    }

    fn broad_except(&mut self, handler: &ExceptHandlerExceptHandler) {
        let ends_in_raise = handler
            .body
            .last()
            .is_some_and(|stmt| matches!(stmt, Stmt::Raise(raise) if raise.exc.is_none()));
        let broad = match handler.type_.as_deref() {
            None => Some((
                "a bare `except`",
                TextRange::at(handler.start(), "except".len().try_into().unwrap_or_default()),
            )),
            Some(types) => {
                self.base_exception(types).map(|range| ("`except BaseException`", range))
            }
        };
        if let Some((what, range)) = broad.filter(|_| !ends_in_raise) {
            let message =
                format_args!("{what} also catches exceptions that are meant to end the program");
            let instead = "write `except Exception`, or end the handler with `raise`";
            self.refuse(Rule::BroadExcept, range, message, instead);
        }
    }

    /// Where `BaseException` stands among the types of a handler.
    fn base_exception(&self, types: &Expr) -> Option<TextRange> {
        match types {
            Expr::Tuple(types) => types.elts.iter().find_map(|one| self.base_exception(one)),
            one => {
                matches!(one, Expr::Name(name) if name.id == "BaseException").then(|| one.range())
            }
        }
    }

    pub fn except_star(&mut self, node: &StmtTry) {
        let instead = "catch ExceptionGroup and look at its .exceptions";
        let first = node.handlers.first().map_or(node.range(), Ranged::range);
        let range = TextRange::at(first.start(), 7.into());
        self.refuse(Rule::ExceptStar, range, "`except*` is not allowed by this profile", instead);
    }
}
