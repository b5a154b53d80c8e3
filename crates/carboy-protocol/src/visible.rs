//! Characters that a reader obeys or does not see.
//!
//! A terminal obeys control characters: they can rename a window, fill the clipboard, or paint over
//! what was printed. Others hide text or change its order. What guest code wrote is therefore shown
//! with them spelled out.

use std::borrow::Cow;

/// Whether a character is a control, or is not seen, or changes how others are seen: what Unicode calls
/// default ignorable, the separators of lines and paragraphs, and annotations. The ends of lines and
/// tabulators are among them. `golden/hidden.json` has them all.
pub fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Each character of a text, and whether it is hidden there. A selector that chooses between the two looks of the
/// symbol before it, as in ⚠️, is not: honest programs print these.
pub fn hidden_in(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut before = '\0';
    text.chars().map(move |char| {
        let selects = matches!(char, '\u{fe0e}' | '\u{fe0f}') && is_symbol(before);
        before = char;
        (char, is_hidden(char) && !selects)
    })
}

/// Whether a character may have two looks: those that do lie in these ranges.
fn is_symbol(char: char) -> bool {
    matches!(char, '#' | '*' | '0'..='9' | '©' | '®' | '\u{203c}'..='\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// The text with what is hidden in it written as an escape, but for the characters in `kept`.
pub fn spelled(text: &str, kept: &[char]) -> String {
    let mut shown = String::with_capacity(text.len());
    for (char, hidden) in hidden_in(text) {
        if hidden && !kept.contains(&char) {
            shown.push_str(&format!("\\u{{{:x}}}", u32::from(char)));
        } else {
            shown.push(char);
        }
    }
    shown
}

/// JSON with everything hidden in its strings written as an escape: the same value, safe to print.
///
/// `json` must be valid. Between values only spaces, tabulators and ends of lines can stand; of
/// these the carriage return, which lets a terminal paint over a line, becomes a space.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    let harmless = |(char, hidden): (char, bool)| matches!(char, '\n' | '\t') || !hidden;
    if json.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | b' '..=b'~'))
        || hidden_in(json).all(harmless)
    {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len() + 64);
    for (char, hidden) in hidden_in(json) {
        match char {
            '\r' => shown.push(' '),
            _ if harmless((char, hidden)) => shown.push(char),
            _ => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    shown.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_hides_is_escaped_and_the_rest_is_not() {
        assert_eq!(visible_json("[\"a\u{7f}\u{9b}31m\"]\n"), "[\"a\\u007f\\u009b31m\"]\n");
        assert_eq!(visible_json("\"\u{202e}\u{e0041}\""), "\"\\u202e\\udb40\\udc41\"");
        assert_eq!(visible_json("[1,\r\n\t2]"), "[1, \n\t2]");
        for plain in
            ["{\"ü\": \"漢字 😀\"}", "[]", "\"\\u001b\"", "\"⚠\u{fe0f} 1\u{fe0f}\u{20e3}\""]
        {
            assert!(matches!(visible_json(plain), Cow::Borrowed(same) if same == plain));
        }
    }

    #[test]
    fn hidden_are_those_that_every_language_knows() {
        let golden = include_str!("../../../golden/hidden.json");
        let ranges: Vec<(u32, u32)> = serde_json::from_str(golden).unwrap();
        let listed = |number| ranges.iter().any(|(first, last)| (*first..=*last).contains(&number));
        for char in '\0'..=char::MAX {
            assert_eq!(is_hidden(char), listed(u32::from(char)), "{:?}", char);
        }
    }

    #[test]
    fn a_selector_is_seen_once_and_behind_a_symbol_only() {
        let hidden = |text| hidden_in(text).filter(|(_, hidden)| *hidden).count();
        assert_eq!(hidden("❤\u{fe0f}✔\u{fe0e}2\u{fe0f}"), 0);
        assert_eq!(hidden("❤\u{fe0f}\u{fe0f}"), 1);
        assert_eq!(hidden("a\u{fe0f}"), 1);
        assert_eq!(hidden("\u{fe0f}"), 1);
        assert_eq!(hidden("❤\u{fe00}"), 1);
    }

    proptest! {
        #[test]
        fn it_is_the_same_value_and_nothing_is_hidden(text: String, more in "\\PC*[\u{7f}-\u{9f}]*") {
            let value = serde_json::json!({ text: [more] });
            let json = serde_json::to_string_pretty(&value).unwrap();
            let shown = visible_json(&json);
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
            prop_assert!(hidden_in(&shown).all(|(char, hidden)| char == '\n' || !hidden));
        }
    }
}
