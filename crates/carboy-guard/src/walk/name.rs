//! Names: builtins, special names, annotations, keywords.

use ruff_python_ast::{Expr, ExprName, Identifier, Keyword};
use ruff_text_size::{Ranged, TextRange};

use crate::names::{is_dunder, shown};
use crate::rule::Rule;
use crate::walk::walker::{Place, Seen, Walker};

/// Builtins of every CPython that is supported, and what `site` adds, that no profile must grant to be there.
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

/// Special names that may be read.
const READABLE: &[&str] = &["__name__", "__file__", "__doc__", "__debug__"];
/// Special names that a module may assign.
const MODULE_WORDS: &[&str] =
    &["__all__", "__author__", "__version__", "__license__", "__date__", "__copyright__"];

fn builtin_instead(name: &str) -> &'static str {
    match name {
        "eval" | "exec" | "compile" => "write the code itself; to read data use json.loads",
        "open" => "there are no files here; take data from the inputs and return it in `result`",
        "input" => "there is no standard input; take the value from the inputs",
        "globals" | "locals" | "vars" => "keep values in a dict of your own",
        "breakpoint" | "help" => "print what you want to see",
        "exit" | "quit" => "let the program end, or raise an exception",
        "memoryview" => "use bytes, bytearray or a numpy array",
        _ => "remove it",
    }
}

impl<'a> Walker<'a> {
    /// Refuses a name that the sentries use.
    pub fn reserved(&mut self, name: &str, range: TextRange) -> bool {
        let reserved = name.starts_with("__carboy");
        if reserved {
            let message = format_args!("{} is a reserved name", shown(name));
            self.refuse(Rule::ReservedName, range, message, "choose another name");
        }
        reserved
    }

    fn dunder_name(&mut self, name: &str, range: TextRange) {
        let message =
            format_args!("the special name {} is not allowed by this profile", shown(name));
        let instead = match name {
            "__import__" | "__loader__" | "__spec__" => "use an import statement",
            "__builtins__" => "use builtins by their own names",
            "__class__" => "use type(self)",
            _ => "choose a name without double underscores",
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
        if matches!(name, "__import__" | "__lazy_import__") {
            let message =
                format_args!("the builtin {} is not allowed by this profile", shown(name));
            self.refuse(Rule::BlockedBuiltin, range, message, "use an import statement");
        } else if is_dunder(name) {
            let own = self.place == Place::Class && self.grants.method(name);
            let said = self.gathered.module.contains(name) && MODULE_WORDS.contains(&name);
            if !READABLE.contains(&name) && !own && !said {
                self.dunder_name(name, range);
            }
        } else if name == "type" && !self.is_bound(name) {
            let message = "`type` is passed as a value, and could be called with three arguments";
            let instead = "use type(x) with one argument: lambda x: type(x)";
            self.refuse(Rule::DynamicType, range, message, instead);
        } else if name == "BaseException" {
            let message =
                "`BaseException` is passed as a value, and could be caught under another name";
            let instead = "use `Exception`";
            self.refuse(Rule::BroadExcept, range, message, instead);
        } else if BUILTINS.contains(&name)
            && !self.grants.profile.builtins.contains(name)
            && !self.is_bound(name)
        {
            let message =
                format_args!("the builtin {} is not allowed by this profile", shown(name));
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

    /// An expression in a place where the classes `type` and `BaseException` are harmless.
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
            let message = "loading a pickle runs code";
            let instead = "save plain arrays and omit `allow_pickle`";
            self.refuse(Rule::Unpickling, keyword.range(), message, instead);
        }
    }
}
