//! What a program defines itself: names, modules under names, underscore attributes.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    Alias, ExceptHandler, Expr, ExprCall, ExprContext, Identifier, Parameters, Pattern, Stmt,
    StmtClassDef, TypeParam,
};
use ruff_text_size::{Ranged, TextSize};

use crate::program::field::is_risky_field;
use crate::program::literal::literals;

/// What a program defines itself.
#[derive(Default)]
pub(crate) struct Gathered<'a> {
    /// The names bound in each function or class, by where it starts.
    pub functions: HashMap<TextSize, HashSet<&'a str>>,
    /// The names bound outside of functions.
    pub module: HashSet<&'a str>,
    /// Names that stand for one module wherever they are used.
    pub modules: BTreeMap<&'a str, String>,
    /// Names that stand for a class of the program's own, or a named tuple, wherever they are used.
    pub classes: HashMap<&'a str, Vec<Definition<'a>>>,
    /// Names that are bound to anything else somewhere.
    pub others: HashSet<&'a str>,
    /// The first names of what it imports.
    pub imported: HashSet<&'a str>,
    /// Underscore names that it defines for its own objects.
    pub own: BTreeSet<String>,
}

impl Gathered<'_> {
    /// Whether the function or class that starts here binds a name.
    pub fn binds(&self, start: TextSize, name: &str) -> bool {
        self.functions.get(&start).is_some_and(|names| names.contains(name))
    }
}

/// How a program makes a class.
pub(crate) enum Definition<'a> {
    /// `class Name: ...`
    Statement {
        class: &'a StmtClassDef,
        /// The list of fields for patterns stands in its body.
        has_own_list: bool,
        /// Of its fields, or of its list, some name leads past an object.
        risky: bool,
    },
    /// `Name = namedtuple(...)`
    Call(&'a ExprCall),
}

impl<'a> Definition<'a> {
    pub fn bases(&self) -> &'a [Expr] {
        match self {
            Definition::Statement { class, .. } => class.bases(),
            Definition::Call(_) => &[],
        }
    }

    pub fn has_own_list(&self) -> bool {
        matches!(self, Definition::Statement { has_own_list: true, .. })
    }

    /// Where its body starts, if it has one.
    pub fn body(&self) -> Option<TextSize> {
        match self {
            Definition::Statement { class, .. } => Some(class.start()),
            Definition::Call(_) => None,
        }
    }
}

/// What is bound to a name: one module, classes of the program, or not always the same.
enum Bound<'a> {
    Module(String),
    Class(Vec<Definition<'a>>),
    Other,
}

/// The fields that the body of a class names.
#[derive(Default)]
struct Fields {
    /// In annotations.
    risky_annotation: bool,
    /// In `__match_args__`.
    risky_list: bool,
}

struct Gatherer<'a> {
    gathered: Gathered<'a>,
    bound: HashMap<&'a str, Bound<'a>>,
    /// Of the classes whose bodies are open.
    fields: Vec<Fields>,
    scopes: Vec<HashSet<&'a str>>,
    in_class: bool,
}

pub(crate) fn gather(body: &[Stmt]) -> Gathered<'_> {
    let mut gatherer = Gatherer {
        gathered: Gathered::default(),
        bound: HashMap::new(),
        fields: vec![],
        scopes: vec![HashSet::new()],
        in_class: false,
    };
    gatherer.visit_body(body);
    let mut gathered = gatherer.gathered;
    gathered.module = gatherer.scopes.swap_remove(0);
    for (name, bound) in gatherer.bound {
        match bound {
            Bound::Module(path) => drop(gathered.modules.insert(name, path)),
            Bound::Class(definitions) => drop(gathered.classes.insert(name, definitions)),
            Bound::Other => drop(gathered.others.insert(name)),
        }
    }
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

    /// What a class body sets.
    fn member(&mut self, target: &Expr, value: &Expr) {
        let Expr::Name(name) = target else { return };
        match name.id.as_str() {
            "__slots__" => {
                for slot in literals(value).unwrap_or_default() {
                    self.own(&slot);
                }
            }
            LIST_OF_FIELDS => {
                let risky = literals(value)
                    .is_none_or(|names| names.iter().any(|name| is_risky_field(name)));
                self.fields
                    .iter_mut()
                    .last()
                    .into_iter()
                    .for_each(|fields| fields.risky_list |= risky);
            }
            _ => {}
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
        self.gathered.imported.extend(path.split('.').next());
        match &alias.asname {
            Some(name) => self.bind_module(name.as_str(), path.to_owned()),
            None => {
                let first = path.split('.').next().unwrap_or(path);
                self.bind_module(first, first.to_owned());
            }
        }
    }

    fn bind_class(&mut self, name: &'a str, definition: Definition<'a>) {
        self.note(name);
        match self.bound.entry(name) {
            Entry::Vacant(entry) => drop(entry.insert(Bound::Class(vec![definition]))),
            Entry::Occupied(mut entry) => match entry.get_mut() {
                Bound::Class(definitions) => definitions.push(definition),
                other => *other = Bound::Other,
            },
        }
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

/// `namedtuple(...)`, under that name. Whether it is that function is seen when all names are known.
fn is_named_tuple(call: &ExprCall) -> bool {
    let name = match &*call.func {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(node) => node.attr.as_str(),
        _ => return false,
    };
    matches!(name, "namedtuple" | "NamedTuple")
}

const LIST_OF_FIELDS: &str = "__match_args__";

/// A statement that sets the list of fields.
fn is_list_of_fields(stmt: &Stmt) -> bool {
    let is_list = |expr: &Expr| matches!(expr, Expr::Name(name) if name.id == LIST_OF_FIELDS);
    match stmt {
        Stmt::Assign(assign) => assign.targets.iter().any(is_list),
        Stmt::AnnAssign(assign) => assign.value.is_some() && is_list(&assign.target),
        _ => false,
    }
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
                for decorator in &class.decorator_list {
                    self.visit_decorator(decorator);
                }
                if let Some(types) = &class.type_params {
                    self.visit_type_params(types);
                }
                if let Some(arguments) = &class.arguments {
                    self.visit_arguments(arguments);
                }
                self.fields.push(Fields::default());
                self.within(class.start(), |inner| {
                    inner.in_class = true;
                    inner.visit_body(&class.body);
                });
                let fields = self.fields.pop().unwrap_or_default();
                let has_own_list = class.body.iter().any(is_list_of_fields);
                let risky = fields.risky_list || (fields.risky_annotation && !has_own_list);
                let definition = Definition::Statement { class, has_own_list, risky };
                self.bind_class(class.name.as_str(), definition);
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    self.imported(alias);
                }
            }
            Stmt::ImportFrom(import) => {
                let module = import.module.as_ref().map_or("", |module| module.as_str());
                self.gathered.imported.extend(module.split('.').next());
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
                for target in &assign.targets {
                    self.member(target, &assign.value);
                }
                visitor::walk_stmt(self, stmt);
            }
            Stmt::AnnAssign(assign) if self.in_class => {
                if let (Expr::Name(name), Some(fields)) = (&*assign.target, self.fields.last_mut())
                {
                    fields.risky_annotation |= is_risky_field(&name.id);
                }
                if let Some(value) = &assign.value {
                    self.member(&assign.target, value);
                }
                visitor::walk_stmt(self, stmt);
            }
            Stmt::Assign(assign) => match &*assign.value {
                Expr::Call(call) if is_named_tuple(call) => {
                    for target in &assign.targets {
                        match target {
                            Expr::Name(name) => {
                                self.bind_class(name.id.as_str(), Definition::Call(call));
                            }
                            other => self.visit_expr(other),
                        }
                    }
                    self.visit_expr(&assign.value);
                }
                _ => visitor::walk_stmt(self, stmt),
            },
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
