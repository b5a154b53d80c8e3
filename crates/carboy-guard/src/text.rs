//! Strings that are more than text: format strings, and expressions that libraries evaluate.

use crate::names::is_dunder;
use crate::profile::TABLES;

/// The attributes that the fields of a format string read, including nested fields. Parses as CPython
/// does, up to the first error, at which formatting would fail anyway.
pub(crate) fn format_attributes(text: &str) -> Vec<&str> {
    let mut attributes = vec![];
    fields(text, FORMAT_DEPTH, &mut attributes);
    attributes
}

/// How deep fields may nest in the format specifications of fields: CPython's own limit.
const FORMAT_DEPTH: usize = 2;

fn fields<'a>(text: &'a str, depth: usize, attributes: &mut Vec<&'a str>) {
    // Deeper ones are an error of their own.
    let Some(depth) = depth.checked_sub(1) else { return };
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (brace, after) = (&rest[at..=at], &rest[at + 1..]);
        if let Some(doubled) = after.strip_prefix(brace) {
            rest = doubled;
            continue;
        }
        let Some(after) = (brace == "{").then(|| field(after, depth, attributes)).flatten() else {
            break;
        };
        rest = after;
    }
}

/// One field after its brace: `name.attribute[key]!r:spec}`. Returns what follows it.
fn field<'a>(text: &'a str, depth: usize, attributes: &mut Vec<&'a str>) -> Option<&'a str> {
    let mut rest = text;
    loop {
        let at = rest.find(['.', '[', '{', '}', ':', '!'])?;
        let after = &rest[at + 1..];
        match rest.as_bytes()[at] {
            b'.' => {
                let end = after.find(['.', '[', '{', '}', ':', '!']).unwrap_or(after.len());
                attributes.push(&after[..end]);
                rest = &after[end..];
            }
            // Whatever stands in a key, braces too, belongs to it.
            b'[' => rest = after.split_once(']')?.1,
            b'}' => return Some(after),
            b'!' => {
                // One letter, and then the text of the field goes on or ends.
                let letter = after.chars().next()?;
                rest = &after[letter.len_utf8()..];
                if let Some(after) = rest.strip_prefix('}') {
                    return Some(after);
                }
                return spec(rest.strip_prefix(':')?, depth, attributes);
            }
            b':' => return spec(after, depth, attributes),
            _ => return None,
        }
    }
}

/// The format specification of a field, up to the closing brace.
fn spec<'a>(text: &'a str, depth: usize, attributes: &mut Vec<&'a str>) -> Option<&'a str> {
    let mut open = 1;
    let end = text.char_indices().find_map(|(at, c)| {
        match c {
            '{' => open += 1,
            '}' => open -= 1,
            _ => {}
        }
        (open == 0).then_some(at)
    })?;
    fields(&text[..end], depth, attributes);
    Some(&text[end + 1..])
}

/// Whether a string that is evaluated as code uses a special name, or an attribute that is private or
/// exposes the interpreter.
pub(crate) fn query_reaches_out(text: &str) -> bool {
    let mut rest = text;
    let mut attribute = false;
    while let Some(c) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if !is_word(c) {
            // What Python reads as an underscore, and nobody types.
            if TABLES.names.underscores.contains(&c) {
                return true;
            }
            attribute = c == '.' || (attribute && (c.is_whitespace() || c == '\\'));
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let word = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
        // A letter of another alphabet may be read as one of this.
        let private =
            word.starts_with('_') || !word.is_ascii() || TABLES.names.interpreter.contains(word);
        if is_dunder(word) || (attribute && private) {
            return true;
        }
        attribute = false;
        rest = &rest[word.len()..];
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_wherever_a_field_may_have_them() {
        for (text, expected) in [
            ("{0.__class__}", &["__class__"][..]),
            ("{a.b[c.d].e!r:>{w.x}}", &["b", "e", "x"]),
            ("{{0.no}} {0[a.b]} {:.2f} {x!r:%H:%M}", &[]),
            ("{0[}.a]}", &[]),
            ("{0[}].__class__}", &["__class__"]),
            ("{0!r:{1.x}}{2.y}", &["x", "y"]),
            ("{0!r.x}{2.y}", &[]),
            ("{:{0.deep}}", &["deep"]),
            ("}} {0.one} {{{0.two}}}", &["one", "two"]),
            ("{0.a", &["a"]),
            ("{", &[]),
            ("", &[]),
        ] {
            assert_eq!(format_attributes(text), expected, "{text}");
        }
    }

    #[test]
    fn queries_may_name_columns() {
        assert!(!query_reaches_out("age > 3 and city__name == 'x_y' and s.str.len() > @n"));
        for out in [
            "@x.__class__",
            "@x . _mgr",
            "a._b > 1",
            "@pd.io._x",
            "__import__('os')",
            "@f . f_back",
            "@f.ｆ_back",
            "x.\\\nf_back",
            "＿＿class＿＿",
        ] {
            assert!(query_reaches_out(out), "{out}");
        }
    }
}
