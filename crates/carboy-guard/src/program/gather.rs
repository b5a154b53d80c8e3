//! What a program defines itself: names, modules under names, underscore attributes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    Alias, ExceptHandler, Expr, ExprContext, Identifier, Parameters, Pattern, Stmt, TypeParam,
};
use ruff_text_size::{Ranged, TextSize};

use crate::program::literal::literals;

/// What a program defines itself.
#[derive(Default)]
pub(crate) struct Gathered<'a> {
    /// The names bound in each function, by where it starts.
    pub functions: HashMap<TextSize, HashSet<&'a str>>,
    /// The names bound outside of functions.
    pub module: HashSet<&'a str>,
    /// Names that stand for one module wherever they are used.
    pub modules: BTreeMap<&'a str, String>,
    /// Names that stand for a class of the program's own, or a named tuple, wherever they are used.
    pub classes: HashSet<&'a str>,
    /// Underscore names that it defines for its own objects.
    pub own: BTreeSet<String>,
}

/// What is bound to a name by imports: one module, or not always the same.
enum Bound {
    Module(String),
    Class,
    Other,
}

struct Gatherer<'a> {
    gathered: Gathered<'a>,
    bound: HashMap<&'a str, Bound>,
    scopes: Vec<HashSet<&'a str>>,
    in_class: bool,
}

pub(crate) fn gather(body: &[Stmt]) -> Gathered<'_> {
    let mut gatherer = Gatherer {
        gathered: Gathered::default(),
        bound: HashMap::new(),
        scopes: vec![HashSet::new()],
        in_class: false,
    };
    gatherer.visit_body(body);
    let mut gathered = gatherer.gathered;
    gathered.module = gatherer.scopes.swap_remove(0);
    gathered.modules = gatherer
        .bound
        .into_iter()
        .filter_map(|(name, bound)| match bound {
            Bound::Module(path) => Some((name, path)),
            Bound::Class => {
                gathered.classes.insert(name);
                None
            }
            Bound::Other => None,
        })
        .collect();
    gathered
}

impl<'a> Gatherer<'a> {
    fn bind(&mut self, name: &'a str) {
        self.bound.insert(name, Bound::Other);
        self.note(name);
    }

    fn note(&mut self, name: &'a str) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name);
        }
        if self.in_class {
            self.own(name);
        }
    }

    fn bind_some(&mut self, name: Option<&'a Identifier>) {
        if let Some(name) = name {
            self.bind(name.as_str());
        }
    }

    fn own(&mut self, name: &str) {
        if name.starts_with('_') && !name.ends_with("__") {
            self.gathered.own.insert(name.to_owned());
        }
    }

    fn bind_module(&mut self, name: &'a str, path: String) {
        self.note(name);
        match self.bound.get(name) {
            None => self.bound.insert(name, Bound::Module(path)),
            Some(Bound::Module(known)) if *known == path => None,
            Some(_) => self.bound.insert(name, Bound::Other),
        };
    }

    fn imported(&mut self, alias: &'a Alias) {
        let path = alias.name.as_str();
        match &alias.asname {
            Some(name) => self.bind_module(name.as_str(), path.to_owned()),
            None => {
                let first = path.split('.').next().unwrap_or(path);
                self.bind_module(first, first.to_owned());
            }
        }
    }

    fn bind_class(&mut self, name: &'a str) {
        self.note(name);
        let known = self.bound.get(name).is_none_or(|bound| matches!(bound, Bound::Class));
        self.bound.insert(name, if known { Bound::Class } else { Bound::Other });
    }

    /// Visits what belongs to a function with names of its own.
    fn within(&mut self, start: TextSize, visit: impl FnOnce(&mut Self)) {
        let in_class = std::mem::replace(&mut self.in_class, false);
        self.scopes.push(HashSet::new());
        visit(self);
        self.in_class = in_class;
        if let Some(scope) = self.scopes.pop() {
            self.gathered.functions.insert(start, scope);
        }
    }
}

/// `namedtuple(...)`, under that name.
fn is_named_tuple(expr: &Expr) -> bool {
    let Expr::Call(call) = expr else { return false };
    let name = match &*call.func {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(node) => node.attr.as_str(),
        _ => return false,
    };
    matches!(name, "namedtuple" | "NamedTuple")
}

/// A name, or attributes of one.
fn is_path(expr: &Expr) -> bool {
    match expr {
        Expr::Name(_) => true,
        Expr::Attribute(node) => is_path(&node.value),
        _ => false,
    }
}

impl<'a> Visitor<'a> for Gatherer<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                self.bind(function.name.as_str());
                for decorator in &function.decorator_list {
                    self.visit_decorator(decorator);
                }
                self.within(function.start(), |inner| {
                    if let Some(types) = &function.type_params {
                        inner.visit_type_params(types);
                    }
                    inner.visit_parameters(&function.parameters);
                    if let Some(returns) = &function.returns {
                        inner.visit_annotation(returns);
                    }
                    inner.visit_body(&function.body);
                });
            }
            Stmt::ClassDef(class) => {
                self.bind_class(class.name.as_str());
                for decorator in &class.decorator_list {
                    self.visit_decorator(decorator);
                }
                if let Some(types) = &class.type_params {
                    self.visit_type_params(types);
                }
                if let Some(arguments) = &class.arguments {
                    self.visit_arguments(arguments);
                }
                self.within(class.start(), |inner| {
                    inner.in_class = true;
                    inner.visit_body(&class.body);
                });
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    self.imported(alias);
                }
            }
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                    match &import.module {
                        // It may be a module or not; that is for the profile to say.
                        Some(module) if import.level == 0 => {
                            self.bind_module(name, format!("{module}.{}", alias.name));
                        }
                        _ => self.bind(name),
                    }
                }
            }
            Stmt::Assign(assign) if self.in_class => {
                let slots =
                    |target: &Expr| matches!(target, Expr::Name(name) if name.id == "__slots__");
                if assign.targets.iter().any(slots) {
                    for slot in literals(&assign.value).unwrap_or_default() {
                        self.own(&slot);
                    }
                }
                visitor::walk_stmt(self, stmt);
            }
            Stmt::Assign(assign) if is_named_tuple(&assign.value) => {
                for target in &assign.targets {
                    match target {
                        Expr::Name(name) => self.bind_class(name.id.as_str()),
                        other => self.visit_expr(other),
                    }
                }
                self.visit_expr(&assign.value);
            }
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if name.ctx != ExprContext::Load => self.bind(name.id.as_str()),
            Expr::Attribute(attribute) => {
                if attribute.ctx == ExprContext::Store && is_path(&attribute.value) {
                    self.own(attribute.attr.as_str());
                }
                visitor::walk_expr(self, expr);
            }
            Expr::Lambda(lambda) => self.within(lambda.start(), |inner| {
                if let Some(parameters) = &lambda.parameters {
                    inner.visit_parameters(parameters);
                }
                inner.visit_expr(&lambda.body);
            }),
            _ => visitor::walk_expr(self, expr),
        }
    }

    fn visit_parameters(&mut self, parameters: &'a Parameters) {
        for parameter in parameters {
            self.bind(parameter.name().as_str());
        }
        visitor::walk_parameters(self, parameters);
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        self.bind_some(inner.name.as_ref());
        visitor::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        match pattern {
            Pattern::MatchAs(pattern) => self.bind_some(pattern.name.as_ref()),
            Pattern::MatchStar(pattern) => self.bind_some(pattern.name.as_ref()),
            Pattern::MatchMapping(pattern) => self.bind_some(pattern.rest.as_ref()),
            _ => {}
        }
        visitor::walk_pattern(self, pattern);
    }

    fn visit_type_param(&mut self, parameter: &'a TypeParam) {
        self.bind(parameter.name().as_str());
        visitor::walk_type_param(self, parameter);
    }
}
