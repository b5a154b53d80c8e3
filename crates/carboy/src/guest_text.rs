//! Text of the guest on a person's terminal.
//!
//! A terminal obeys control characters: they can rename a window, fill the clipboard, or paint
//! over what we print. On a terminal they are therefore shown, not sent. A file or a pipe gets
//! the bytes as they are.

use carboy_protocol::is_hidden;

/// The text with every control character but newline and tab made visible.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        if is_hidden(char) && !matches!(char, '\n' | '\t') {
            shown.push_str(&format!("\\u{{{:x}}}", u32::from(char)));
        } else {
            shown.push(char);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_not_commanded() {
        assert_eq!(visible("a\tb\nc"), "a\tb\nc");
        assert_eq!(visible("\x1b]52;c;x\x07"), "\\u{1b}]52;c;x\\u{7}");
        assert_eq!(visible("x\r\u{9b}31m"), "x\\u{d}\\u{9b}31m");
        assert_eq!(visible("\u{202e}gpj.exe"), "\\u{202e}gpj.exe");
    }
}
