//! Attributes.

use ruff_python_ast::{Expr, ExprAttribute, ExprContext};
use ruff_text_size::{Ranged, TextRange};

use crate::names::{is_dunder, shown, shown_in};
use crate::profile::TABLES;
use crate::rule::Rule;
use crate::walk::walker::{Seen, Walker};

/// Why an attribute name is refused wherever it stands: the rule, words that follow the name, and what
/// to write instead.
pub(crate) fn refused_anywhere(name: &str) -> Option<(Rule, &'static str, &'static str)> {
    let names = &TABLES.names;
    if names.interpreter.contains(name) {
        return Some((
            Rule::InterpreterAttribute,
            interpreter_why(name),
            interpreter_instead(name),
        ));
    }
    let allowed = names.plain.contains(name)
        || (names.methods.contains(name) && !names.only_defined.contains(name));
    if is_dunder(name) && !allowed {
        return Some((
            Rule::DunderAttribute,
            "is not allowed by this profile",
            dunder_instead(name),
        ));
    }
    None
}

fn interpreter_why(name: &str) -> &'static str {
    match name {
        "ctypes" => "exposes memory addresses",
        "load_extension" | "enable_load_extension" => "loads native code",
        "subprocess_shell" | "subprocess_exec" => "starts a process",
        _ => "exposes interpreter internals",
    }
}

fn interpreter_instead(name: &str) -> &'static str {
    match name {
        "mro" => "keep a list of the classes you need",
        "ctypes" => "pass the array itself",
        "load_extension" | "enable_load_extension" => {
            "use the functions that are built into sqlite3"
        }
        name if name.starts_with("tb_") => "use str(error), or traceback.format_exc() for its text",
        _ => "keep what you need in variables of your own",
    }
}

fn dunder_instead(name: &str) -> &'static str {
    match name {
        "__class__" => "use type(x) for the class, or x.__class__.__name__ for its name",
        "__dict__" => "read attributes by their names, or use dataclasses.asdict",
        "__subclasses__" | "__mro__" | "__bases__" | "__base__" => {
            "keep a list of the classes you need"
        }
        "__globals__" | "__builtins__" | "__code__" | "__closure__" | "__defaults__"
        | "__kwdefaults__" => "pass what the function needs as arguments",
        "__traceback__" | "__context__" | "__cause__" => {
            "use str(error), or traceback.format_exc() for its text"
        }
        "__self__" | "__func__" | "__wrapped__" => "call the function itself",
        "__getattribute__" | "__setattr__" | "__delattr__" | "__getattr__" => {
            "write x.name, or getattr(x, name)"
        }
        "__new__" => "call the class, or super().__new__(cls)",
        "__reduce__" | "__reduce_ex__" | "__getstate__" | "__setstate__" => {
            "pickling is not supported; use copy.deepcopy"
        }
        "__import__" | "__loader__" | "__spec__" => "use an import statement",
        "__annotations__" | "__module__" => "write the value where you need it",
        _ => "use the corresponding operator, builtin function or public attribute",
    }
}

fn is_super(expr: &Expr) -> bool {
    matches!(expr, Expr::Call(call) if matches!(&*call.func, Expr::Name(name) if name.id == "super"))
}

impl<'a> Walker<'a> {
    /// The module that an expression stands for, if it always does.
    pub fn module_of(&self, expr: &Expr) -> Option<String> {
        self.gathered.module_of(self.grants, expr)
    }

    pub fn attribute_expr(&mut self, node: &'a ExprAttribute) {
        let name = node.attr.as_str();
        // The name of an object's class: the class itself goes nowhere.
        if let Expr::Attribute(class) = &*node.value
            && matches!(name, "__name__" | "__qualname__")
            && class.attr.as_str() == "__class__"
            && node.ctx == ExprContext::Load
        {
            self.see(Seen::Attribute, name);
            self.see(Seen::Attribute, "__class__");
            self.expr(&class.value);
            return;
        }
        self.see(Seen::Attribute, name);
        if let Some(module) = self.module_of(&node.value) {
            self.module_attribute(&module, node);
        } else if !self.is_own_way(node) {
            self.attribute(Some(&node.value), name, node.attr.range());
        }
        if node.ctx == ExprContext::Load && TABLES.names.texts.contains(name) {
            self.sentry(node);
            self.kept_format(node);
        }
        self.expr(&node.value);
    }

    /// A few ways to special methods that a class goes to reach those of its base.
    fn is_own_way(&self, node: &ExprAttribute) -> bool {
        let name = node.attr.as_str();
        let load = node.ctx == ExprContext::Load;
        // As `type(self)`.
        let own_class = name == "__class__"
            && matches!(&*node.value, Expr::Name(of) if matches!(of.id.as_str(), "self" | "other" | "cls"));
        if own_class && load {
            return true;
        }
        let base =
            is_super(&node.value) || (name == "__new__" && self.is_builtin(&node.value, "object"));
        load && base && TABLES.names.methods.contains(name)
    }

    pub fn module_attribute(&mut self, module: &str, node: &ExprAttribute) {
        let (name, range) = (node.attr.as_str(), node.attr.range());
        let load = node.ctx == ExprContext::Load;
        if let Some((rule, why, instead)) =
            refused_anywhere(name).filter(|(rule, ..)| *rule == Rule::DunderAttribute)
        {
            self.refuse(rule, range, format_args!("{} {why}", shown(name)), instead);
        } else if !load {
            let message =
                format_args!("cannot assign to {} of the module {}", shown(name), shown(module));
            let instead = match (module, name) {
                ("sys", "stdout" | "stderr") => "use contextlib.redirect_stdout",
                _ => "define a function or variable of your own",
            };
            self.refuse(Rule::NameNotGranted, range, message, instead);
        } else if !self.grants.hands_out(module, name) {
            self.not_handed_out(module, name, range);
        }
    }

    /// A name of a module that the profile does not allow.
    pub fn not_handed_out(&mut self, module: &str, name: &str, range: TextRange) {
        let message = format_args!("{} is not allowed by this profile", shown_in(module, name));
        let instead = self.module_instead(module, name);
        self.refuse(Rule::NameNotGranted, range, message, instead);
    }

    /// A method that evaluates a string, used where no sentry can be inserted.
    pub fn text_taken(&mut self, name: &str, range: TextRange) {
        let message = format_args!("{} is used as a value where it cannot be checked", shown(name));
        self.refuse(Rule::TextCode, range, message, "call the method on the object");
    }

    pub fn exception_object(&mut self, range: TextRange) {
        let message = "`obj` exposes the object that the operation failed on";
        self.refuse(Rule::ExceptionObject, range, message, "use str(error)");
    }

    /// An attribute of something that is not a module.
    pub fn attribute(&mut self, of: Option<&Expr>, name: &str, range: TextRange) {
        if let Some(Expr::Name(of)) = of
            && name == "obj"
            && self.errors.contains(&of.id.as_str())
        {
            self.exception_object(range);
        }
        if let Some((rule, why, instead)) = refused_anywhere(name) {
            self.refuse(rule, range, format_args!("{} {why}", shown(name)), instead);
            return;
        }
        let private = name.starts_with('_') && !is_dunder(name);
        // What the program defines is its own, but for the classes of others.
        let own =
            self.gathered.own.contains(name) && !of.is_some_and(|of| self.gathered.is_imported(of));
        let known = own || TABLES.names.underscored.contains(name);
        if private && !known {
            let message = format_args!(
                "{} is a private attribute that this program does not define",
                shown(name)
            );
            let instead = "use the public attributes and methods of the object";
            self.refuse(Rule::PrivateAttribute, range, message, instead);
        }
    }

    /// An attribute whose name is a string literal.
    pub fn named_attribute(&mut self, of: Option<&Expr>, name: &str, range: TextRange) {
        match of.and_then(|of| self.module_of(of)) {
            Some(module) if !self.grants.hands_out(&module, name) && !is_dunder(name) => {
                self.not_handed_out(&module, name, range);
            }
            _ => self.attribute(of, name, range),
        }
    }
}
