//! Text that a guest, or a file that somebody else made, chose, on a person's terminal.
//!
//! A terminal obeys control characters: they can rename a window, fill the clipboard, or paint
//! over what we print. On a terminal they are therefore shown, not sent. A file or a pipe gets
//! the bytes as they are.

use carboy_protocol::spelled;

/// The text with every control character but newline and tab made visible.
pub fn visible(text: &str) -> String {
    spelled(text, &['\n', '\t'])
}

/// Output as it comes, where a line may be written anew, as progress bars do.
pub fn streamed(text: &str) -> String {
    spelled(text, &['\n', '\t', '\r'])
}

/// A name, a path or a remark as part of a line: ends of lines are made visible too, so that nothing in it looks
/// like a line of ours.
pub fn one_line(text: &str) -> String {
    spelled(text, &[])
}

/// Whether a name that a guest chose can be shown as it is.
pub fn is_plain_name(name: &str) -> bool {
    name.chars().all(|char| char.is_alphanumeric() || char == '_')
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
        assert_eq!(visible("⚠\u{fe0f} a\u{fe0f}"), "⚠\u{fe0f} a\\u{fe0f}");
    }

    #[test]
    fn a_name_is_no_line_of_ours() {
        assert_eq!(one_line("a\nok: all\tis well\r"), "a\\u{a}ok: all\\u{9}is well\\u{d}");
    }
}
