//! Expressions: each kind is named here, and what is not known is refused.

use ruff_python_ast::{
    Arguments, Comprehension, Expr, ExprContext, FStringPart, InterpolatedStringElement,
    InterpolatedStringElements,
};
use ruff_text_size::Ranged;

use crate::rule::Rule;
use crate::walk::walker::{Place, Seen, Walker};

/// Whether a string with fields shows the text of an expression in it, which a sentry would change.
#[derive(Clone, Copy)]
enum KeepsText {
    /// An f-string: behind `=`.
    WhereAsked,
    /// A template string.
    Always,
}

impl<'a> Walker<'a> {
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
                        FStringPart::FString(part) => {
                            self.interpolated(&part.elements, KeepsText::WhereAsked);
                        }
                    }
                }
            }
            Expr::TString(node) => {
                for part in &node.value {
                    self.interpolated(&part.elements, KeepsText::Always);
                }
            }
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

    fn interpolated(&mut self, elements: &'a InterpolatedStringElements, keeps: KeepsText) {
        for element in elements {
            match element {
                InterpolatedStringElement::Literal(_) => {}
                InterpolatedStringElement::Interpolation(element) => {
                    let sentries = self.sentries.len();
                    self.expr(&element.expression);
                    let shows = match keeps {
                        KeepsText::WhereAsked => {
                            element.debug_text.is_some().then_some("`=` in an f-string shows")
                        }
                        KeepsText::Always => Some("a template string keeps"),
                    };
                    if let Some(shows) = shows
                        && self.sentries.len() > sentries
                    {
                        self.sentries.truncate(sentries);
                        let message =
                            format_args!("{shows} the source text, so this call cannot be checked");
                        let instead = "call it first, and format the result";
                        self.refuse(Rule::FormatTraversal, element.range(), message, instead);
                    }
                    if let Some(spec) = &element.format_spec {
                        self.interpolated(&spec.elements, keeps);
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
