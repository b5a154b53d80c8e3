//! Statements: each kind is named here, and what is not known is refused.

use ruff_python_ast::{
    Alias, Decorator, Expr, Parameters, Stmt, StmtClassDef, StmtFunctionDef, TypeParam, TypeParams,
};
use ruff_text_size::Ranged;

use crate::profile::TABLES;
use crate::walk::walker::{Place, Seen, Walker};

impl<'a> Walker<'a> {
    pub fn body(&mut self, body: &'a [Stmt]) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => self.function(function),
            Stmt::ClassDef(class) => self.class(class),
            Stmt::Return(node) => self.some(node.value.as_deref()),
            Stmt::Delete(node) => self.exprs(&node.targets),
            Stmt::TypeAlias(node) => {
                self.expr(&node.name);
                self.type_params(node.type_params.as_deref());
                self.expr(&node.value);
            }
            Stmt::Assign(node) => {
                for target in &node.targets {
                    self.target(target, Some(&node.value));
                }
                self.expr(&node.value);
            }
            Stmt::AugAssign(node) => {
                if let Expr::Attribute(target) = &*node.target
                    && TABLES.names.texts.contains(target.attr.as_str())
                {
                    self.text_taken(&target.attr, target.attr.range());
                }
                self.expr(&node.target);
                self.expr(&node.value);
            }
            Stmt::AnnAssign(node) => {
                self.target(&node.target, node.value.as_deref());
                self.annotation(&node.annotation);
                self.some(node.value.as_deref());
            }
            Stmt::For(node) => {
                if node.is_async {
                    self.no_async(node.range());
                }
                self.expr(&node.target);
                self.expr(&node.iter);
                self.body(&node.body);
                self.body(&node.orelse);
            }
            Stmt::While(node) => {
                self.expr(&node.test);
                self.body(&node.body);
                self.body(&node.orelse);
            }
            Stmt::If(node) => {
                self.expr(&node.test);
                self.body(&node.body);
                for clause in &node.elif_else_clauses {
                    self.some(clause.test.as_ref());
                    self.body(&clause.body);
                }
            }
            Stmt::With(node) => {
                if node.is_async {
                    self.no_async(node.range());
                }
                for item in &node.items {
                    self.expr(&item.context_expr);
                    self.some(item.optional_vars.as_deref());
                }
                self.body(&node.body);
            }
            Stmt::Match(node) => {
                self.expr(&node.subject);
                for case in &node.cases {
                    self.pattern(&case.pattern);
                    self.some(case.guard.as_deref());
                    self.body(&case.body);
                }
            }
            Stmt::Raise(node) => {
                self.some(node.exc.as_deref());
                self.some(node.cause.as_deref());
            }
            Stmt::Try(node) => {
                if node.is_star {
                    self.except_star(node);
                }
                self.body(&node.body);
                for handler in &node.handlers {
                    self.handler(handler);
                }
                self.body(&node.orelse);
                self.body(&node.finalbody);
            }
            Stmt::Assert(node) => {
                self.expr(&node.test);
                self.some(node.msg.as_deref());
            }
            Stmt::Import(node) => {
                for alias in &node.names {
                    self.import(alias);
                    self.alias(alias);
                }
            }
            Stmt::ImportFrom(node) => {
                self.import_from(node);
                for alias in &node.names {
                    self.see(Seen::Imported, alias.name.as_str());
                    self.alias(alias);
                }
            }
            Stmt::Global(node) => node.names.iter().for_each(|name| self.bind(name)),
            Stmt::Nonlocal(node) => node.names.iter().for_each(|name| self.bind(name)),
            Stmt::Expr(node) => self.expr(&node.value),
            Stmt::Pass(_) | Stmt::Break(_) | Stmt::Continue(_) => {}
            Stmt::IpyEscapeCommand(node) => self.unknown(node.range(), "IPython commands"),
        }
    }

    fn alias(&mut self, alias: &'a Alias) {
        self.bind_some(alias.asname.as_ref());
    }

    fn function(&mut self, function: &'a StmtFunctionDef) {
        if function.is_async {
            self.no_async(function.name.range());
        }
        self.decorators(&function.decorator_list);
        self.see(Seen::Binder, function.name.as_str());
        if self.place == Place::Class {
            self.method(&function.name);
        } else {
            self.bound_name(function.name.as_str(), function.name.range());
        }
        self.within(function.start(), Place::Function, |inner| {
            inner.type_params(function.type_params.as_deref());
            inner.parameters(&function.parameters);
            if let Some(returns) = &function.returns {
                inner.annotation(returns);
            }
            inner.body(&function.body);
        });
    }

    fn class(&mut self, class: &'a StmtClassDef) {
        self.decorators(&class.decorator_list);
        self.bind(&class.name);
        self.type_params(class.type_params.as_deref());
        if let Some(arguments) = &class.arguments {
            self.class_arguments(arguments);
        }
        self.within(class.start(), Place::Class, |inner| inner.body(&class.body));
    }

    fn decorators(&mut self, decorators: &'a [Decorator]) {
        for decorator in decorators {
            self.expr(&decorator.expression);
        }
    }

    fn type_params(&mut self, params: Option<&'a TypeParams>) {
        for param in params.into_iter().flat_map(|params| &params.type_params) {
            let (name, bound, default) = match param {
                TypeParam::TypeVar(node) => (&node.name, node.bound.as_deref(), &node.default),
                TypeParam::TypeVarTuple(node) => (&node.name, None, &node.default),
                TypeParam::ParamSpec(node) => (&node.name, None, &node.default),
            };
            self.bind(name);
            for expr in bound.into_iter().chain(default.as_deref()) {
                self.annotation(expr);
            }
        }
    }

    pub fn parameters(&mut self, parameters: &'a Parameters) {
        for parameter in parameters {
            self.bind(parameter.name());
            if let Some(annotation) = parameter.annotation() {
                self.annotation(annotation);
            }
            self.some(parameter.default());
        }
    }
}
