//! What names, classes and handlers are judged by.

use ruff_python_ast::{
    Arguments, ExceptHandlerExceptHandler, Expr, ExprName, Identifier, Keyword, Stmt, StmtTry,
};
use ruff_text_size::{Ranged, TextRange};

use crate::profile::TABLES;
use crate::rule::Rule;
use crate::walk::{Place, Seen, Walker, literals};

/// Builtins of CPython 3.10 to 3.14, and what `site` adds, that no profile must grant to be there.
/// What a profile grants of them is in its file.
const BUILTINS: &[&str] = &[
    "aiter",
    "anext",
    "breakpoint",
    "bytearray",
    "compile",
    "copyright",
    "credits",
    "delattr",
    "dir",
    "eval",
    "exec",
    "exit",
    "getattr",
    "globals",
    "hasattr",
    "help",
    "id",
    "input",
    "license",
    "locals",
    "memoryview",
    "open",
    "quit",
    "setattr",
    "vars",
];

/// Names of the interpreter's own that may be read.
const READABLE: &[&str] = &["__name__", "__file__", "__doc__", "__debug__"];
/// Names that a module may say of itself.
const MODULE_WORDS: &[&str] =
    &["__all__", "__author__", "__version__", "__license__", "__date__", "__copyright__"];

/// `__name__`, and anything else with two underscores on both sides.
pub(crate) fn is_dunder(name: &str) -> bool {
    name.len() > 4 && name.starts_with("__") && name.ends_with("__")
}

/// A name as it is shown: not longer than a line.
pub(crate) fn shown(name: &str) -> String {
    match name.char_indices().nth(60) {
        Some((at, _)) => format!("`{}...`", &name[..at]),
        None => format!("`{name}`"),
    }
}

fn builtin_instead(name: &str) -> &'static str {
    match name {
        "eval" | "exec" | "compile" => "write the code out; json.loads reads data",
        "open" => "there are no files here; take data from the inputs and return it in `result`",
        "input" => "nobody is there to answer; take it from the inputs",
        "globals" | "locals" | "vars" => "keep values in a dict of your own",
        "breakpoint" | "help" => "print what you want to see",
        "exit" | "quit" => "let the program come to its end, or raise an exception",
        "memoryview" => "use bytes, bytearray or a numpy array",
        _ => "leave it out; it is not part of this profile",
    }
}

impl<'a> Walker<'a> {
    /// Whether the program binds this name where it is read.
    pub fn is_bound(&self, name: &str) -> bool {
        self.gathered.module.contains(name)
            || self.given.contains(name)
            || self.bound.get(name).is_some_and(|count| *count > 0)
    }

    /// Whether this is the builtin of that name.
    pub fn is_builtin(&self, expr: &Expr, name: &str) -> bool {
        matches!(expr, Expr::Name(node) if node.id == name) && !self.is_bound(name)
    }

    fn reserved(&mut self, name: &str, range: TextRange) -> bool {
        let reserved = name.starts_with("__carboy");
        if reserved {
            let message = format!("{} is a name of the guard's own", shown(name));
            self.refuse(Rule::ReservedName, range, message, "choose another name");
        }
        reserved
    }

    fn dunder_name(&mut self, name: &str, range: TextRange) {
        let message = format!("{} is a name of the interpreter's own", shown(name));
        let instead = match name {
            "__import__" | "__loader__" | "__spec__" => "use an import statement",
            "__builtins__" => "use builtins by their names",
            "__class__" => "use type(self)",
            _ => "choose a name without the underscores",
        };
        self.refuse(Rule::DunderName, range, message, instead);
    }

    /// A name that is bound or deleted.
    pub fn bound_name(&mut self, name: &str, range: TextRange) {
        if self.reserved(name, range) || !is_dunder(name) {
            return;
        }
        if self.place != Place::Module || !MODULE_WORDS.contains(&name) {
            self.dunder_name(name, range);
        }
    }

    /// A name that is read.
    pub fn read_name(&mut self, node: &ExprName) {
        let (name, range) = (node.id.as_str(), node.range());
        if self.reserved(name, range) {
            return;
        }
        if name == "__import__" {
            let message = "the builtin `__import__` is not granted";
            self.refuse(Rule::BlockedBuiltin, range, message, "use an import statement");
        } else if is_dunder(name) {
            let own = self.place == Place::Class && self.grants.method(name);
            let said = self.gathered.module.contains(name) && MODULE_WORDS.contains(&name);
            if !READABLE.contains(&name) && !own && !said {
                self.dunder_name(name, range);
            }
        } else if name == "type" && !self.is_bound(name) {
            let message = "`type` is handed on, and could be called with three arguments";
            let instead = "use type(x) with one argument: lambda x: type(x)";
            self.refuse(Rule::DynamicType, range, message, instead);
        } else if name == "BaseException" {
            let message = "`BaseException` is handed on, and could be caught under another name";
            let instead = "use `Exception`";
            self.refuse(Rule::BroadExcept, range, message, instead);
        } else if BUILTINS.contains(&name)
            && !self.grants.profile.builtins.contains(name)
            && !self.is_bound(name)
        {
            let message = format!("the builtin {} is not granted", shown(name));
            self.refuse(Rule::BlockedBuiltin, range, message, builtin_instead(name));
        }
    }

    /// The classes that an object is compared with, or a handler catches: one or several.
    pub fn types_or(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Tuple(node) => node.elts.iter().for_each(|element| self.types_or(element)),
            _ => self.type_or(expr),
        }
    }

    /// An expression in a place where the classes `type` and `BaseException` do no harm.
    pub fn type_or(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(node) if matches!(node.id.as_str(), "type" | "BaseException") => {
                self.see(Seen::Name, node.id.as_str());
            }
            _ => self.expr(expr),
        }
    }

    pub fn annotation(&mut self, expr: &'a Expr) {
        match expr {
            Expr::BinOp(node) => {
                self.annotation(&node.left);
                self.annotation(&node.right);
            }
            Expr::Subscript(node) => {
                self.type_or(&node.value);
                let name = match &*node.value {
                    Expr::Name(name) => name.id.as_str(),
                    Expr::Attribute(node) => node.attr.as_str(),
                    _ => "",
                };
                match name {
                    // Texts in there are values.
                    "Literal" | "Annotated" => self.expr(&node.slice),
                    _ => self.annotation(&node.slice),
                }
            }
            Expr::Tuple(node) => node.elts.iter().for_each(|element| self.annotation(element)),
            Expr::StringLiteral(text) => {
                // Libraries read it as code.
                self.query_text(text.value.to_str(), expr.range());
                self.expr(expr);
            }
            _ => self.type_or(expr),
        }
    }

    /// What is assigned to, and from what.
    pub fn target(&mut self, target: &'a Expr, value: Option<&'a Expr>) {
        match target {
            Expr::Name(node) if self.place == Place::Class && is_dunder(&node.id) => {
                self.see(Seen::Name, node.id.as_str());
                self.member(node, value);
            }
            _ => self.expr(target),
        }
    }

    /// A special name that a class assigns.
    fn member(&mut self, node: &ExprName, value: Option<&Expr>) {
        let (name, range) = (node.id.as_str(), node.range());
        let own = &self.gathered.own;
        let harmless = |name: &String| !name.starts_with('_') || own.contains(name);
        let fine = match (name, value) {
            ("__slots__" | "__match_args__", Some(value)) => {
                let interpreter = &TABLES.names.interpreter;
                let taken =
                    |name: &String| name.starts_with("format") || interpreter.contains(name);
                literals(value)
                    .is_some_and(|names| names.iter().all(|name| harmless(name) && !taken(name)))
            }
            ("__hash__", Some(Expr::NoneLiteral(_))) => true,
            ("__doc__" | "__version__" | "__author__" | "__test__", _) => true,
            // Another name for a method that the class has.
            (_, Some(Expr::Name(method))) => {
                is_dunder(&method.id) && self.grants.method(&method.id) && self.grants.method(name)
            }
            _ => false,
        };
        if self.reserved(name, range) || fine {
            return;
        }
        let message = format!("a class must not set {} to this", shown(name));
        let instead = match name {
            "__slots__" | "__match_args__" => "write a tuple of names: (\"x\", \"y\")",
            _ => "define a method with def, or use a name without the underscores",
        };
        self.refuse(Rule::DunderMethod, range, message, instead);
    }

    /// A method that a class defines.
    pub fn method(&mut self, name: &Identifier) {
        if self.reserved(name, name.range()) || !is_dunder(name) || self.grants.method(name) {
            return;
        }
        let message = format!("the special method {} is not granted", shown(name));
        let instead = match name.as_str() {
            "__getattribute__" => "define __getattr__ or a property",
            "__reduce__" | "__reduce_ex__" | "__getstate__" | "__setstate__" => {
                "pickles are not read here; return plain data"
            }
            "__instancecheck__" | "__subclasscheck__" | "__subclasshook__" => {
                "derive from a class, or register one with an ABC"
            }
            "__prepare__" | "__mro_entries__" => "use an ordinary class or a decorator",
            _ => "use a method without the underscores",
        };
        self.refuse(Rule::DunderMethod, name.range(), message, instead);
    }

    /// The bases and keywords of a class.
    pub fn class_arguments(&mut self, arguments: &'a Arguments) {
        for base in &arguments.args {
            if self.is_builtin(base, "type") {
                let message = "a class that derives from `type` makes classes";
                let instead = "use a class decorator, or __init_subclass__";
                self.see(Seen::Name, "type");
                self.refuse(Rule::Metaclass, base.range(), message, instead);
            } else {
                self.type_or(base);
            }
        }
        for keyword in &arguments.keywords {
            let is_metaclass = keyword.arg.as_ref().is_none_or(|name| name == "metaclass");
            if is_metaclass && !self.is_abc(&keyword.value) {
                let message = "only ABCMeta is granted as a metaclass";
                let instead = "use a class decorator, or __init_subclass__";
                self.refuse(Rule::Metaclass, keyword.range(), message, instead);
            }
        }
        self.keywords(arguments);
    }

    fn is_abc(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Name(name) => {
                let module = self.gathered.modules.get(name.id.as_str());
                module.is_some_and(|path| path == "abc.ABCMeta")
            }
            Expr::Attribute(node) => {
                node.attr.as_str() == "ABCMeta"
                    && self.module_of(&node.value).as_deref() == Some("abc")
            }
            _ => false,
        }
    }

    /// The name of an argument.
    pub fn keyword(&mut self, keyword: &Keyword, name: &Identifier) {
        if self.reserved(name, name.range()) {
            return;
        }
        if is_dunder(name) {
            self.dunder_name(name, name.range());
        }
        let is_false = matches!(&keyword.value, Expr::BooleanLiteral(value) if !value.value);
        if name == "allow_pickle" && !is_false {
            let message = "reading a pickle runs the code in it";
            let instead = "save plain arrays, and leave allow_pickle out";
            self.refuse(Rule::Unpickling, keyword.range(), message, instead);
        }
    }

    pub fn broad_except(&mut self, handler: &ExceptHandlerExceptHandler) {
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
            let message = format!("{what} also catches what is meant to end the program");
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
        self.refuse(Rule::ExceptStar, range, "`except*` is not granted", instead);
    }
}
