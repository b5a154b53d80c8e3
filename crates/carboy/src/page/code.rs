//! Code on a page: the numbers of its lines, the line that raised, and colours.
//!
//! The colours are for reading and decide nothing, so this is no parser: it knows comments, strings, numbers
//! and keywords, takes any text in linear time, and shows all of it.

use super::document::safe;

const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// Code as a page shows it.
pub fn code(code: &str, raised: Option<u32>) -> String {
    if code.is_empty() {
        return String::new();
    }
    let mut lines = vec![String::new()];
    for (class, text) in tokens(code) {
        for (at, piece) in text.split('\n').enumerate() {
            if at > 0 {
                lines.push(String::new());
            }
            let Some(line) = lines.last_mut() else { continue };
            match class {
                Some(class) if !piece.is_empty() => {
                    line.push_str(&format!("<b class=\"{class}\">{}</b>", safe(piece)));
                }
                _ => line.push_str(&safe(piece)),
            }
        }
    }
    if code.ends_with('\n') {
        lines.pop();
    }
    let shown = lines.iter().zip(1_u32..).map(|(line, number)| {
        let class = if raised == Some(number) { " class=\"raised\"" } else { "" };
        format!("<span{class}><i>{number}</i>{line}</span>")
    });
    format!("<pre class=\"code\">{}</pre>\n", shown.collect::<String>())
}

/// The pieces of a text in order, each with its colour. Together they are the text.
fn tokens(code: &str) -> Vec<(Option<char>, &str)> {
    let mut pieces = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let (class, length) = match first {
            '#' => (Some('c'), rest.find('\n').unwrap_or(rest.len())),
            '"' | '\'' => (Some('s'), string(rest)),
            _ if first.is_ascii_digit() => (Some('n'), word(rest)),
            _ if first.is_alphabetic() || first == '_' => {
                let length = word(rest);
                let (name, after) = rest.split_at(length);
                // Letters before a quote belong to the string, such as those of f"" and rb"".
                if name.len() <= 2 && after.starts_with(['"', '\'']) {
                    (Some('s'), length + string(after))
                } else {
                    (KEYWORDS.contains(&name).then_some('k'), length)
                }
            }
            _ => {
                let plain = |char: char| {
                    !(char.is_alphanumeric() || matches!(char, '_' | '#' | '"' | '\''))
                };
                (None, rest.find(|char| !plain(char)).unwrap_or(rest.len()).max(first.len_utf8()))
            }
        };
        let (piece, after) = rest.split_at(length);
        pieces.push((class, piece));
        rest = after;
    }
    pieces
}

/// How long the word or the number is that a text begins with.
fn word(text: &str) -> usize {
    text.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(text.len())
}

/// How long the string is that a text begins with. One that is not closed ends with its line, or with the text
/// if it has three quotes.
fn string(text: &str) -> usize {
    let quote = &text[..1];
    let long = quote.repeat(3);
    let (mark, from) = if text.starts_with(&long) { (long.as_str(), 3) } else { (quote, 1) };
    let mut escape = false;
    for (at, char) in text.char_indices().skip(from) {
        if escape {
            escape = false;
        } else if char == '\\' {
            escape = true;
        } else if char == '\n' && from == 1 {
            return at;
        } else if text[at..].starts_with(mark) {
            return at + mark.len();
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_numbers_colours_and_a_mark_where_it_raised() {
        let text = code("x = f'a#' # no\nif 1:\n    raise\n", Some(3));
        assert_eq!(
            text,
            "<pre class=\"code\"><span><i>1</i>x = <b class=\"s\">f&#39;a#&#39;</b> <b class=\"c\"># no</b></span>\
             <span><i>2</i><b class=\"k\">if</b> <b class=\"n\">1</b>:</span>\
             <span class=\"raised\"><i>3</i>    <b class=\"k\">raise</b></span></pre>\n"
        );
        assert_eq!(code("", None), "");
        let long = code("'''a\nb\\''' '''+'c", None);
        assert!(
            long.contains("<b class=\"s\">b\\&#39;&#39;&#39; &#39;&#39;&#39;</b>+<b"),
            "{long}"
        );
    }

    #[test]
    fn any_text_is_shown_whole_and_none_of_it_is_markup() {
        // All texts of up to four of the characters that mean something here, and of some that do not.
        let alphabet = ['"', '\'', '\\', '\n', '#', '<', 'f', '0', 'é', ' '];
        let mut texts = vec![String::new()];
        for length in 0..4 {
            let longest: Vec<_> =
                texts.iter().filter(|text| text.chars().count() == length).collect();
            let longer: Vec<_> = longest
                .iter()
                .flat_map(|text| alphabet.iter().map(move |char| format!("{text}{char}")))
                .collect();
            texts.extend(longer);
        }
        for text in &texts {
            let joined: String = tokens(text).iter().map(|(_, piece)| *piece).collect();
            assert_eq!(&joined, text);
            let shown = code(text, Some(1));
            let tags = shown.split('<').skip(1).map(|rest| rest.split([' ', '>']).next().unwrap());
            for tag in tags {
                let known = ["pre", "/pre", "span", "/span", "i", "/i", "b", "/b"];
                assert!(known.contains(&tag), "{text:?}: <{tag}>");
            }
        }
    }
}
