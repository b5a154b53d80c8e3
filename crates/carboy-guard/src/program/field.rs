//! Names of fields, and which of them are more than that.

use ruff_python_ast::Expr;

use crate::profile::TABLES;
use crate::program::literal::literals;

/// Whether a field of this name is a way past an object that only seems to be an instance.
pub(crate) fn is_risky_field(name: &str) -> bool {
    let names = &TABLES.names;
    name == "obj"
        || name.starts_with("__")
        || names.interpreter.contains(name)
        || names.texts.contains(name)
}

/// The names of fields, where they stand in the program: `"x y"`, `["x", "y"]`, `[("x", int)]`.
pub(crate) fn field_names(expr: &Expr) -> Option<Vec<String>> {
    if let Some(texts) = literals(expr) {
        let words = |text: &String| text.replace(',', " ");
        return Some(
            texts.iter().map(words).flat_map(|text| owned_words(&text)).collect::<Vec<_>>(),
        );
    }
    let elements = match expr {
        Expr::List(list) => &list.elts,
        Expr::Tuple(tuple) => &tuple.elts,
        _ => return None,
    };
    let name = |element: &Expr| match element {
        Expr::Tuple(pair) => literals(pair.elts.first()?)?.pop(),
        _ => None,
    };
    elements.iter().map(name).collect()
}

fn owned_words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
