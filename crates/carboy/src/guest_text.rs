//! Text of the guest on a person's terminal.
//!
//! A terminal obeys control characters: they can rename a window, fill the clipboard, or paint
//! over what we print. On a terminal they are therefore shown, not sent. A file or a pipe gets
//! the bytes as they are.

/// The text with every control character but newline and tab made visible.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        let harmless = matches!(char, '\n' | '\t');
        if (char.is_control() && !harmless) || is_invisible(char) {
            shown.push_str(&format!("\\u{{{:x}}}", u32::from(char)));
        } else {
            shown.push(char);
        }
    }
    shown
}

/// Puts characters together that came in pieces.
#[derive(Default)]
pub struct Whole(Vec<u8>);

impl Whole {
    /// The text so far, but for the beginning of a character whose end is still to come.
    pub fn take(&mut self, piece: &[u8]) -> String {
        self.0.extend_from_slice(piece);
        let end = self.0.utf8_chunks().last().map_or(0, |last| last.invalid().len());
        // A character has at most four bytes; an end of that length or more is no beginning.
        let tail = if end < 4 { self.0.split_off(self.0.len() - end) } else { Vec::new() };
        let text = String::from_utf8_lossy(&self.0).into_owned();
        self.0 = tail;
        text
    }
}

/// Characters that reorder or hide others.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_may_come_in_pieces() {
        let mut whole = Whole::default();
        let euro = "€".as_bytes();
        assert_eq!(whole.take(&euro[..2]), "");
        assert_eq!(whole.take(&euro[2..]), "€");
        assert_eq!(whole.take(b"a\xffb"), "a\u{fffd}b");
    }

    #[test]
    fn a_terminal_is_not_commanded() {
        assert_eq!(visible("a\tb\nc"), "a\tb\nc");
        assert_eq!(visible("\x1b]52;c;x\x07"), "\\u{1b}]52;c;x\\u{7}");
        assert_eq!(visible("x\r\u{9b}31m"), "x\\u{d}\\u{9b}31m");
        assert_eq!(visible("\u{202e}gpj.exe"), "\\u{202e}gpj.exe");
    }
}
