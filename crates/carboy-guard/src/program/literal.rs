//! Texts that stand in the program as they are.

use ruff_python_ast::Expr;

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
