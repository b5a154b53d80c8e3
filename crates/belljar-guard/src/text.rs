//! Texts that are read as more than text: format texts and queries.

/// The attributes that the fields of a format text reach, those of nested fields among them.
/// Reads as CPython does, up to the first fault: there a use of the text fails by itself.
pub(crate) fn format_attributes(text: &str) -> Vec<&str> {
    let mut attributes = vec![];
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (brace, after) = (&rest[at..=at], &rest[at + 1..]);
        if let Some(doubled) = after.strip_prefix(brace) {
            rest = doubled;
            continue;
        }
        let Some(after) = (brace == "{").then(|| field(after, &mut attributes)).flatten() else {
            break;
        };
        rest = after;
    }
    attributes
}

/// One field after its brace: `name.attribute[key]!r:spec}`. Returns what follows it.
fn field<'a>(text: &'a str, attributes: &mut Vec<&'a str>) -> Option<&'a str> {
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
                return spec(rest.strip_prefix(':')?, attributes);
            }
            b':' => return spec(after, attributes),
            _ => return None,
        }
    }
}

/// What stands behind the colon of a field, to the brace that closes it.
fn spec<'a>(text: &'a str, attributes: &mut Vec<&'a str>) -> Option<&'a str> {
    let mut depth = 1;
    let end = text.char_indices().find_map(|(at, c)| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })?;
    attributes.extend(format_attributes(&text[..end]));
    Some(&text[end + 1..])
}

/// Whether a query reaches for something that is not a column: an underscore after a dot, or two
/// of them.
pub(crate) fn query_reaches_out(text: &str) -> bool {
    let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    bare.contains("__") || bare.contains("._")
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
            ("{:{:{0.deep}}}", &["deep"]),
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
        assert!(!query_reaches_out("age > 3 and city_name == 'x_y' and s.str.len() > @n"));
        for out in ["@x.__class__", "@x . _mgr", "a._b > 1", "@pd.io._x", "__import__('os')"] {
            assert!(query_reaches_out(out), "{out}");
        }
    }
}
