//! Calls, with the arguments that are literals.

use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{Arguments, Expr, ExprAttribute, ExprCall, Operator};
use ruff_text_size::{Ranged, TextRange};

use crate::edit::Sentry;
use crate::names::shown;
use crate::rule::Rule;
use crate::text::{format_attributes, query_reaches_out};
use crate::walk::attribute::refused_anywhere;
use crate::walk::walker::{Seen, Walker};

/// A string literal, or a sum of them.
fn folded(expr: &Expr) -> Option<String> {
    match expr {
        Expr::StringLiteral(text) => Some(text.value.to_str().to_owned()),
        Expr::BinOp(node) if node.op == Operator::Add => {
            Some(folded(&node.left)? + &folded(&node.right)?)
        }
        _ => None,
    }
}

/// The argument of this name.
fn keyword<'a>(arguments: &'a Arguments, name: &str) -> Option<&'a Expr> {
    let mut keywords = arguments.keywords.iter();
    keywords.find(|one| one.arg.as_ref().is_some_and(|arg| arg == name)).map(|one| &one.value)
}

fn only_positional(arguments: &Arguments) -> bool {
    arguments.keywords.is_empty() && !arguments.args.iter().any(Expr::is_starred_expr)
}

impl<'a> Walker<'a> {
    pub fn call(&mut self, call: &'a ExprCall) {
        let arguments = &call.arguments;
        match &*call.func {
            func @ Expr::Name(name) if self.is_builtin(func, &name.id) => {
                self.builtin_call(call, name.id.as_str());
            }
            Expr::Attribute(method) => self.method_call(method, arguments),
            func => {
                if let Expr::Name(name) = func {
                    self.named_getter(&name.id, arguments);
                    let path = self.gathered.modules.get(name.id.as_str());
                    if path.is_some_and(|path| path == "numpy.load") {
                        self.loads_pickles(func.range(), arguments);
                    }
                }
                self.expr(func);
                self.arguments(arguments);
            }
        }
    }

    fn builtin_call(&mut self, call: &'a ExprCall, name: &str) {
        let arguments = &call.arguments;
        let args = &arguments.args;
        match name {
            "type" => {
                self.see(Seen::Name, name);
                if args.len() != 1 || !only_positional(arguments) {
                    let message = "`type` must be called with exactly one argument";
                    let instead = "write a class statement, or a dict of functions";
                    self.refuse(Rule::DynamicType, call.range(), message, instead);
                }
                self.arguments(arguments);
                return;
            }
            "isinstance" | "issubclass" if args.len() == 2 && only_positional(arguments) => {
                self.expr(&call.func);
                self.expr(&args[0]);
                self.types_or(&args[1]);
                return;
            }
            "map" if args.len() == 2 && only_positional(arguments) => {
                self.expr(&call.func);
                match &args[0] {
                    Expr::Name(name) if name.id == "type" => self.see(Seen::Name, "type"),
                    function => self.expr(function),
                }
                self.expr(&args[1]);
                return;
            }
            "getattr" | "setattr" | "delattr" | "hasattr" => {
                if let Some((text, expr)) = args.get(1).and_then(|arg| Some((folded(arg)?, arg))) {
                    self.named_attribute(args.first(), &text, expr.range());
                }
            }
            _ => self.named_getter(name, arguments),
        }
        self.expr(&call.func);
        self.arguments(arguments);
    }

    /// `attrgetter("a.b")` and `methodcaller("a")`, under these names.
    fn named_getter(&mut self, name: &str, arguments: &Arguments) {
        if name != "attrgetter" && name != "methodcaller" {
            return;
        }
        for argument in &arguments.args {
            for part in folded(argument).unwrap_or_default().split('.') {
                self.named_attribute(None, part, argument.range());
            }
        }
    }

    fn method_call(&mut self, method: &'a ExprAttribute, arguments: &'a Arguments) {
        let name = method.attr.as_str();
        let first = arguments.args.first();
        self.read_texts(method, arguments);
        if name == "load" && self.module_of(&method.value).is_some_and(|module| module == "numpy") {
            self.loads_pickles(method.attr.range(), arguments);
        }
        let text = match name {
            "format" | "format_map" => folded(&method.value),
            // Read above.
            "query" | "eval" => first.or(keyword(arguments, "expr")).and_then(folded),
            _ => None,
        };
        // `str.format(text, ...)`, unbound.
        let unbound = self.is_builtin(&method.value, "str");
        let text = if unbound { first.and_then(folded) } else { text };
        let set_past = name == "__setattr__" && self.is_builtin(&method.value, "object");
        let field = arguments.args.get(1).filter(|_| set_past);
        let field = field.and_then(|arg| Some((folded(arg)?, arg.range())));
        match (name, text) {
            ("format" | "format_map", Some(text)) => {
                self.see(Seen::Attribute, name);
                let at = if unbound {
                    first.map_or(method.range(), Ranged::range)
                } else {
                    method.value.range()
                };
                self.format_text(&text, at);
                self.expr(&method.value);
            }
            ("query" | "eval", text) if text.is_some() || arguments.is_empty() => {
                // What stands here is read here. Without a text there is nothing to read.
                self.see(Seen::Attribute, name);
                if let Some(module) = self.module_of(&method.value) {
                    self.module_attribute(&module, method);
                }
                self.expr(&method.value);
            }
            // How a frozen dataclass sets its own fields.
            _ => match field {
                Some((text, at)) => {
                    self.see(Seen::Attribute, name);
                    self.named_attribute(None, &text, at);
                    self.expr(&method.value);
                }
                None => {
                    self.named_getter(name, arguments);
                    self.attribute_expr(method);
                }
            },
        }
        // `.apply(type)` calls it with one argument each time.
        let applies = matches!(name, "apply" | "map" | "applymap") && arguments.args.len() == 1;
        if applies && only_positional(arguments) {
            self.type_or(&arguments.args[0]);
        } else {
            self.arguments(arguments);
        }
    }

    /// `show = "{}".format`, to be called later.
    pub fn kept_format(&mut self, node: &ExprAttribute) {
        if let Some(text) = folded(&node.value).filter(|_| node.attr.starts_with("format")) {
            self.format_text(&text, node.value.range());
        }
    }

    /// Strings that a library evaluates as code, or uses as names of attributes.
    fn read_texts(&mut self, method: &ExprAttribute, arguments: &Arguments) {
        let name = method.attr.as_str();
        let queries = matches!(name, "query" | "eval" | "agg" | "aggregate" | "transform");
        let logs = matches!(name, "Formatter" | "basicConfig");
        if !queries && !logs {
            return;
        }
        let values = arguments.args.iter().chain(arguments.keywords.iter().map(|one| &one.value));
        let reads_frames = matches!(name, "query" | "eval");
        for keyword in arguments.keywords.iter().filter(|_| reads_frames) {
            // It must look for variables in its caller's frame only.
            if keyword.arg.as_ref().is_none_or(|name| name == "level")
                && self.module_of(&method.value).is_none()
            {
                let message = "the query reads variables of another frame than its caller's";
                let instead = "refer to variables with `@name`, without `level` or `**`";
                self.refuse(Rule::TextCode, keyword.range(), message, instead);
            }
        }
        let texts: Vec<_> =
            values.filter_map(|value| Some((folded(value)?, value.range()))).collect();
        // A log format of that style is a format string.
        let third = arguments.args.get(2).filter(|_| name == "Formatter");
        let style = keyword(arguments, "style").or(third).filter(|_| logs);
        let braces = style.is_some_and(|style| folded(style).is_none_or(|style| style == "{"));
        let named = keyword(arguments, "fmt").or(keyword(arguments, "format"));
        let format = arguments.args.first().or(named);
        if braces && format.is_some_and(|format| folded(format).is_none()) {
            let message = "a log format with braces can read any attribute of the log record";
            let instead = "write the format as a literal, or use the style `%`";
            self.refuse(Rule::FormatTraversal, method.attr.range(), message, instead);
        }
        for (text, range) in texts {
            if queries {
                self.query_text(&text, range);
            } else if braces {
                self.format_text(&text, range);
            }
        }
    }

    /// `numpy.load` with its third argument, or with arguments that are not visible.
    fn loads_pickles(&mut self, range: TextRange, arguments: &Arguments) {
        let hidden = arguments.args.len() > 2
            || arguments.args.iter().any(Expr::is_starred_expr)
            || arguments.keywords.iter().any(|keyword| keyword.arg.is_none());
        if hidden {
            let message = "the file may be a pickle, and loading a pickle runs code";
            let instead = "call numpy.load(file) with the file alone";
            self.refuse(Rule::Unpickling, range, message, instead);
        }
    }

    fn format_text(&mut self, text: &str, range: TextRange) {
        for attribute in format_attributes(text) {
            let private = attribute.starts_with('_') && !self.gathered.own.contains(attribute);
            if refused_anywhere(attribute).is_some() || private {
                let message =
                    format_args!("the format string reads the attribute {}", shown(attribute));
                let instead = "format the value itself: \"{}\".format(x.name)";
                self.refuse(Rule::FormatTraversal, range, message, instead);
            }
        }
    }

    pub fn query_text(&mut self, text: &str, range: TextRange) {
        if query_reaches_out(text) {
            let message = "the string is evaluated as code and uses a private or special name";
            let instead = "use plain names and public attributes in it, or write it as Python code";
            self.refuse(Rule::TextCode, range, message, instead);
        }
    }

    /// Inserts a sentry where a method that evaluates a string is read from an object.
    pub fn sentry(&mut self, node: &'a ExprAttribute) {
        let between = TextRange::new(node.value.end(), node.attr.start());
        let mut tokens = self.tokens.in_range(between).iter().rev();
        let dot = tokens.find(|token| token.kind() == TokenKind::Dot);
        match dot {
            Some(dot) => self.sentries.push(Sentry {
                start: node.start(),
                dot: dot.start(),
                attribute: node.attr.range(),
                name: node.attr.to_string(),
            }),
            // The parser found an attribute, so there is a dot; without one no sentry could be inserted.
            None => self.refuse(
                Rule::UnknownSyntax,
                node.range(),
                "the dot of this attribute was not found",
                "write it on one line",
            ),
        }
    }
}
