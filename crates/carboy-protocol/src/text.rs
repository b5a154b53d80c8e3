//! Output of a guest as text: bytes come in pieces that need not end between characters.

/// A stream of bytes as text, whose characters may come in pieces.
#[derive(Debug, Default)]
pub struct OutputText(Vec<u8>);

impl OutputText {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_may_come_in_pieces() {
        let mut whole = OutputText::default();
        let euro = "€".as_bytes();
        assert_eq!(whole.take(&euro[..2]), "");
        assert_eq!(whole.take(&euro[2..]), "€");
        assert_eq!(whole.take(b"a\xffb"), "a\u{fffd}b");
    }
}
