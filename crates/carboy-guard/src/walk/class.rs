//! Classes: special names and methods, bases, metaclasses.

use ruff_python_ast::{Arguments, Expr, ExprName, Identifier};
use ruff_text_size::Ranged;

use crate::names::{is_dunder, shown};
use crate::profile::TABLES;
use crate::program::literals;
use crate::rule::Rule;
use crate::walk::walker::{Place, Seen, Walker};

impl<'a> Walker<'a> {
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
            // How sqlalchemy names the table of a class.
            ("__tablename__", Some(Expr::StringLiteral(_))) => true,
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
        let message = format_args!("this value of {} is not allowed by this profile", shown(name));
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
        let message =
            format_args!("the special method {} is not allowed by this profile", shown(name));
        let instead = match name.as_str() {
            "__getattribute__" => "define __getattr__ or a property",
            "__reduce__" | "__reduce_ex__" | "__getstate__" | "__setstate__" => {
                "pickling is not supported; return plain data"
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
                let message = "a class that derives from `type` is a metaclass";
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
                let message = "only `ABCMeta` is allowed as a metaclass";
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
}
