//! How many parts a JSON text has that its parser would hold each by itself.
//!
//! A short name and a short value take a dozen times their bytes when they are parsed. What stands inside an input
//! or a result is kept as text, and costs its bytes.

/// What is kept as text, by its name at the top.
const KEPT: [&[u8]; 2] = [b"inputs", b"result"];

/// How many names, items and members a text has, as far as they cost. It need not be JSON.
pub(super) fn parts(text: &[u8]) -> usize {
    let (mut parts, mut depth, mut at) = (0, 0_usize, 0);
    // The name that was last at the top, and whether what belongs to it is kept as text.
    let (mut last, mut is_kept) = (&text[..0], false);
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let start = at;
                while text.get(at).is_some_and(|&byte| byte != b'"') {
                    at += 1 + usize::from(text[at] == b'\\');
                }
                if depth == 1 {
                    last = &text[start..at.min(text.len())];
                }
                at += 1;
            }
            b':' if depth == 1 => is_kept = KEPT.contains(&last),
            b',' | b'{' | b'[' => {
                let counts = depth <= 2 || !is_kept;
                parts += usize::from(counts);
                depth += usize::from(byte != b',');
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_as_text_does_not_count() {
        assert_eq!(parts(b""), 0);
        assert_eq!(parts(br#"{"code": "a, b, {[,"}"#), 1);
        assert_eq!(parts(br#"{"code": "\",\\", "more": [1, 2, 3]}"#), 5);
        // One for the object, one for each of two members, one for each of three inputs, and their values' own.
        assert_eq!(
            parts(br#"{"code": "", "inputs": {"a": 1, "b": [1, [2, 3], {"c": 4}], "c": 2}}"#),
            6
        );
        assert_eq!(parts(br#"{"tools": [{"name": "f"}, {"name": "g"}]}"#), 5);
        // A name in disguise is not one that is kept, and what is cut off is looked at to its end.
        assert_eq!(parts(br#"{"input\u0073": {"a": [1, 2]}}"#), 4);
        assert_eq!(parts(b"{\"a\\"), 1);
        assert_eq!(parts(b"]]]\"\\"), 0);
    }
}
