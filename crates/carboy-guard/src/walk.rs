//! One walk over the tree. Every kind of node is named here: what is not known is refused.

use std::collections::{BTreeSet, HashMap, HashSet};

use ruff_python_ast::token::Tokens;
use ruff_python_ast::{
    Alias, Arguments, Comprehension, Decorator, ExceptHandler, Expr, ExprContext, FStringPart,
    Identifier, InterpolatedStringElement, InterpolatedStringElements, ModModule, Parameters, Stmt,
    StmtClassDef, StmtFunctionDef, TypeParam, TypeParams,
};
use ruff_python_parser::Parsed;
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::edit::Sentry;
use crate::gather::{Gathered, gather};
use crate::profile::{Grants, TABLES};
use crate::report::Found;
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

/// What came of a walk.
pub(crate) struct Walked {
    pub found: Vec<Found>,
    pub sentries: Vec<Sentry>,
    pub own: BTreeSet<String>,
}

pub(crate) struct Walker<'a> {
    pub grants: &'a Grants<'a>,
    pub gathered: &'a Gathered<'a>,
    /// Names that the program finds there from the start.
    pub given: HashSet<&'a str>,
    pub tokens: &'a Tokens,
    pub place: Place,
    /// The names that functions and classes around bind, with how many of them do.
    pub bound: HashMap<&'a str, usize>,
    /// The class whose body this is, by where it starts.
    class: Option<TextSize>,
    /// Names that hold an exception here.
    pub errors: Vec<&'a str>,
    pub found: Vec<Found>,
    pub sentries: Vec<Sentry>,
    /// What was seen, if anybody wants to know.
    facts: Option<Vec<Fact>>,
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
        given,
        tokens: parsed.tokens(),
        place: Place::Module,
        bound: HashMap::new(),
        class: None,
        errors: vec![],
        found: vec![],
        sentries: vec![],
        facts,
    };
    walker.body(parsed.suite());
    let Walker { found, sentries, facts, .. } = walker;
    (Walked { found, sentries, own: gathered.own }, facts.unwrap_or_default())
}

/// The texts of a literal text, or of a literal collection of texts.
pub(crate) fn literals(expr: &Expr) -> Option<Vec<String>> {
    match expr {
        Expr::StringLiteral(text) => Some(vec![text.value.to_str().to_owned()]),
        Expr::Tuple(tuple) => all(&tuple.elts),
        Expr::List(list) => all(&list.elts),
        Expr::Set(set) => all(&set.elts),
        _ => None,
    }
}

fn all(elements: &[Expr]) -> Option<Vec<String>> {
    elements
        .iter()
        .map(|element| match element {
            Expr::StringLiteral(text) => Some(text.value.to_str().to_owned()),
            _ => None,
        })
        .collect()
}

impl<'a> Walker<'a> {
    pub fn refuse(
        &mut self,
        rule: Rule,
        range: TextRange,
        message: impl Into<String>,
        instead: impl Into<String>,
    ) {
        self.found.push(Found { rule, range, message: message.into(), instead: instead.into() });
    }

    pub fn see(&mut self, seen: Seen, text: &str) {
        if let Some(facts) = &mut self.facts {
            facts.push((seen, text.to_owned()));
        }
    }

    fn unknown(&mut self, range: TextRange, what: &str) {
        let instead = "use syntax of Python 3.10 to 3.13";
        self.refuse(Rule::UnknownSyntax, range, format!("{what} are not known here"), instead);
    }

    fn no_async(&mut self, range: TextRange) {
        if !self.grants.profile.async_code {
            let (message, instead) =
                ("nothing runs coroutines in this profile", "use ordinary functions and loops");
            self.refuse(Rule::AsyncCode, range, message, instead);
        }
    }

    /// A name that something other than an expression binds.
    pub fn bind(&mut self, name: &'a Identifier) {
        self.see(Seen::Binder, name.as_str());
        self.bound_name(name.as_str(), name.range());
    }

    pub fn bind_some(&mut self, name: Option<&'a Identifier>) {
        if let Some(name) = name {
            self.bind(name);
        }
    }

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
                if node.is_lazy {
                    self.unknown(node.range(), "lazy imports");
                }
                for alias in &node.names {
                    self.import(alias);
                    self.alias(alias);
                }
            }
            Stmt::ImportFrom(node) => {
                if node.is_lazy {
                    self.unknown(node.range(), "lazy imports");
                }
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

    /// Walks what belongs to a function.
    fn within(&mut self, start: TextSize, place: Place, walk: impl FnOnce(&mut Self)) {
        let class = (place == Place::Class).then_some(start);
        let place = std::mem::replace(&mut self.place, place);
        let around = std::mem::replace(&mut self.class, class);
        // What a class binds is not seen in its methods.
        if let Some(around) = around {
            self.unbind(around);
        }
        self.rebind(start);
        walk(self);
        self.unbind(start);
        if let Some(around) = around {
            self.rebind(around);
        }
        self.class = around;
        self.place = place;
    }

    fn rebind(&mut self, start: TextSize) {
        for name in self.gathered.functions.get(&start).into_iter().flatten() {
            *self.bound.entry(name).or_default() += 1;
        }
    }

    fn unbind(&mut self, start: TextSize) {
        for name in self.gathered.functions.get(&start).into_iter().flatten() {
            if let Some(count) = self.bound.get_mut(name) {
                *count -= 1;
            }
        }
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

    fn parameters(&mut self, parameters: &'a Parameters) {
        for parameter in parameters {
            self.bind(parameter.name());
            if let Some(annotation) = parameter.annotation() {
                self.annotation(annotation);
            }
            self.some(parameter.default());
        }
    }

    fn handler(&mut self, handler: &'a ExceptHandler) {
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

    pub fn some(&mut self, expr: Option<&'a Expr>) {
        if let Some(expr) = expr {
            self.expr(expr);
        }
    }

    pub fn exprs(&mut self, exprs: &'a [Expr]) {
        for expr in exprs {
            self.expr(expr);
        }
    }

    pub fn expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::BoolOp(node) => self.exprs(&node.values),
            Expr::Named(node) => {
                self.expr(&node.target);
                self.expr(&node.value);
            }
            Expr::BinOp(node) => {
                self.expr(&node.left);
                self.expr(&node.right);
            }
            Expr::UnaryOp(node) => self.expr(&node.operand),
            Expr::Lambda(node) => self.within(node.start(), Place::Function, |inner| {
                if let Some(parameters) = &node.parameters {
                    inner.parameters(parameters);
                }
                inner.expr(&node.body);
            }),
            Expr::If(node) => {
                self.expr(&node.test);
                self.expr(&node.body);
                self.expr(&node.orelse);
            }
            Expr::Dict(node) => {
                for item in &node.items {
                    self.some(item.key.as_ref());
                    self.expr(&item.value);
                }
            }
            Expr::Set(node) => self.exprs(&node.elts),
            Expr::ListComp(node) => {
                self.expr(&node.elt);
                self.comprehension(&node.generators);
            }
            Expr::SetComp(node) => {
                self.expr(&node.elt);
                self.comprehension(&node.generators);
            }
            Expr::DictComp(node) => {
                self.some(node.key.as_deref());
                self.expr(&node.value);
                self.comprehension(&node.generators);
            }
            Expr::Generator(node) => {
                self.expr(&node.elt);
                self.comprehension(&node.generators);
            }
            Expr::Await(node) => {
                self.no_async(node.range());
                self.expr(&node.value);
            }
            Expr::Yield(node) => self.some(node.value.as_deref()),
            Expr::YieldFrom(node) => self.expr(&node.value),
            Expr::Compare(node) => {
                self.type_or(&node.left);
                node.comparators.iter().for_each(|expr| self.type_or(expr));
            }
            Expr::Call(node) => self.call(node),
            Expr::FString(node) => {
                for part in &node.value {
                    match part {
                        FStringPart::Literal(_) => {}
                        FStringPart::FString(part) => self.interpolated(&part.elements),
                    }
                }
            }
            Expr::TString(node) => self.unknown(node.range(), "template strings"),
            Expr::StringLiteral(node) => self.see(Seen::Text, node.value.to_str()),
            Expr::BytesLiteral(_)
            | Expr::NumberLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::EllipsisLiteral(_) => {}
            Expr::Attribute(node) => self.attribute_expr(node),
            Expr::Subscript(node) => {
                self.type_or(&node.value);
                self.expr(&node.slice);
            }
            Expr::Starred(node) => self.expr(&node.value),
            Expr::Name(node) => {
                self.see(Seen::Name, node.id.as_str());
                if node.ctx == ExprContext::Load {
                    self.read_name(node);
                } else {
                    self.bound_name(node.id.as_str(), node.range());
                }
            }
            Expr::List(node) => self.exprs(&node.elts),
            Expr::Tuple(node) => self.exprs(&node.elts),
            Expr::Slice(node) => {
                for part in [&node.lower, &node.upper, &node.step] {
                    self.some(part.as_deref());
                }
            }
            Expr::IpyEscapeCommand(node) => self.unknown(node.range(), "IPython commands"),
        }
    }

    fn comprehension(&mut self, generators: &'a [Comprehension]) {
        for generator in generators {
            if generator.is_async {
                self.no_async(generator.range());
            }
            self.expr(&generator.target);
            self.expr(&generator.iter);
            self.exprs(&generator.ifs);
        }
    }

    fn interpolated(&mut self, elements: &'a InterpolatedStringElements) {
        for element in elements {
            match element {
                InterpolatedStringElement::Literal(_) => {}
                InterpolatedStringElement::Interpolation(element) => {
                    let sentries = self.sentries.len();
                    self.expr(&element.expression);
                    if element.debug_text.is_some() && self.sentries.len() > sentries {
                        self.sentries.truncate(sentries);
                        let message =
                            "`=` shows the code as it stands, so no sentry can stand in it";
                        let instead = "call it before, and show the result";
                        self.refuse(Rule::FormatTraversal, element.range(), message, instead);
                    }
                    if let Some(spec) = &element.format_spec {
                        self.interpolated(&spec.elements);
                    }
                }
            }
        }
    }

    /// The arguments of a call or a class.
    pub fn arguments(&mut self, arguments: &'a Arguments) {
        self.exprs(&arguments.args);
        self.keywords(arguments);
    }

    pub fn keywords(&mut self, arguments: &'a Arguments) {
        for keyword in &arguments.keywords {
            if let Some(name) = &keyword.arg {
                self.see(Seen::Keyword, name.as_str());
                self.keyword(keyword, name);
            }
            self.expr(&keyword.value);
        }
    }
}
