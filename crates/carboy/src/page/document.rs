//! What every page is made of: one head, one stylesheet, and text in which nothing is markup.
//!
//! A page loads and runs nothing: its content security policy forbids scripts and every address. That holds
//! even if something of a hostile program should get past the escaping.

use crate::guest_text::visible;

/// What a page and everything in it may do: have styles, and pictures that are part of it.
pub const POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; \
     base-uri 'none'; form-action 'none'";
const STYLE: &str = include_str!("page.css");

/// A whole page. `body` is markup; `title` is anybody's text.
pub fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{}</title><style>\n{STYLE}</style></head><body>\n{body}</body></html>\n",
        safe(title),
    )
}

/// A part of a page with a heading, if there is something in it.
pub fn section(heading: &str, content: &str) -> String {
    if content.is_empty() {
        return String::new();
    }
    format!("<section><h2>{heading}</h2>\n{content}</section>\n")
}

/// The same for what a reader must not miss.
pub fn alarm(class: &str, heading: &str, content: &str) -> String {
    section(heading, content).replacen("<section>", &format!("<section class=\"{class}\">"), 1)
}

/// Lines of prose.
pub fn lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    lines.into_iter().map(|line| format!("<p>{}</p>\n", safe(line))).collect()
}

/// Text as it was written, line by line.
pub fn pre(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<pre>{}</pre>\n", safe(text)) }
}

/// Lines of a name and a value.
pub fn table<Name: AsRef<str>>(rows: &[(Name, String)]) -> String {
    let cells = |(name, value): &(Name, String)| {
        format!("<tr><th>{}</th><td>{}</td></tr>\n", safe(name.as_ref()), safe(value))
    };
    let rows: String = rows.iter().map(cells).collect();
    if rows.is_empty() { rows } else { format!("<table>{rows}</table>\n") }
}

/// Text of anybody's, as text of a page.
pub fn safe(text: &str) -> String {
    escaped(&visible(text))
}

/// Text in which nothing is markup. A browser would take a zero byte for an end or replace it.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\0' => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_program_becomes_markup() {
        assert_eq!(escaped("<b a='\"'>&\0"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;\u{fffd}");
        let hostile = "</pre><script>alert(1)</script>\u{202e}\u{1b}";
        for text in [pre(hostile), table(&[(hostile, hostile.into())]), document(hostile, "")] {
            assert!(!text.contains("<script") && !text.contains(['\u{202e}', '\u{1b}']), "{text}");
        }
    }

    #[test]
    fn scripts_are_forbidden_before_anything_else_stands_in_a_page() {
        let page = document("run", "");
        let policy = page.find("Content-Security-Policy").unwrap();
        assert!(policy < page.find("<title>").unwrap());
        assert!(page.contains("default-src 'none'") && !page.contains("script-src"));
    }
}
