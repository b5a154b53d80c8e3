//! Characters that a reader obeys or does not see.
//!
//! A terminal obeys control characters: they can rename a window, fill the clipboard, or paint over
//! what was printed. Others hide text or change its order. What guest code wrote is therefore shown
//! with them spelled out.

use std::borrow::Cow;

/// Whether a character is a control, or is not seen, or changes how others are seen. The ends of
/// lines and tabulators are among them.
pub fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// JSON with everything hidden in its strings written as an escape: the same value, safe to print.
///
/// `json` must be valid. Between values only spaces, tabulators and ends of lines can stand; of
/// these the carriage return, which lets a terminal paint over a line, becomes a space.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    let harmless = |char| matches!(char, '\n' | '\t') || !is_hidden(char);
    if json.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | b' '..=b'~'))
        || json.chars().all(harmless)
    {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len() + 64);
    for char in json.chars() {
        match char {
            '\r' => shown.push(' '),
            _ if harmless(char) => shown.push(char),
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
        for plain in ["{\"ü\": \"漢字 😀\"}", "[]", "\"\\u001b\""] {
            assert!(matches!(visible_json(plain), Cow::Borrowed(same) if same == plain));
        }
    }

    proptest! {
        #[test]
        fn it_is_the_same_value_and_nothing_is_hidden(text: String, more in "\\PC*[\u{7f}-\u{9f}]*") {
            let value = serde_json::json!({ text: [more] });
            let json = serde_json::to_string_pretty(&value).unwrap();
            let shown = visible_json(&json);
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
            prop_assert!(shown.chars().all(|char| char == '\n' || !is_hidden(char)));
        }
    }
}
