//! A strict look at JSON bytes before anything is built from them.
//!
//! [`check`] walks the text once without recursion and without allocating for its content. It
//! accepts RFC 8259 and nothing else (no `NaN`, no half of a surrogate pair, no byte that is not
//! UTF-8, nothing after the value) and bounds the nesting, so that whatever passes can be handed
//! to any ordinary parser.

/// How deep a value may nest.
pub const MAX_DEPTH: usize = 100;

/// How many digits in a row a number may have: CPython writes and reads integers up to there.
pub const MAX_DIGITS: usize = 4_300;

/// What is wrong with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonFault {
    /// Nested deeper than allowed.
    TooDeep,
    /// A text with half a surrogate pair.
    LoneSurrogate,
    /// Not UTF-8.
    NotUtf8,
    /// A number with more than [`MAX_DIGITS`] digits in a row.
    LongNumber,
    /// A number that no double holds, such as `1e999`: readers would make an infinity of it.
    Infinite,
    /// Not JSON, from this byte on.
    Syntax {
        /// The offset.
        at: usize,
    },
}

impl std::fmt::Display for JsonFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            JsonFault::TooDeep => f.write_str("nested too deep"),
            JsonFault::LoneSurrogate => f.write_str("half of a surrogate pair in a text"),
            JsonFault::NotUtf8 => f.write_str("not UTF-8"),
            JsonFault::Infinite => f.write_str("a number that is too large"),
            JsonFault::LongNumber => write!(f, "a number with more than {MAX_DIGITS} digits"),
            JsonFault::Syntax { at } => write!(f, "not JSON at byte {at}"),
        }
    }
}

impl std::error::Error for JsonFault {}

/// Checks that `bytes` are exactly one JSON value nested at most `max_depth` deep.
pub fn check(bytes: &[u8], max_depth: usize) -> Result<(), JsonFault> {
    depth(bytes, max_depth).map(drop)
}

/// Checks as [`check`] does, and returns how deep the value nests: 0 for a number, 1 for `[]`.
pub fn depth(bytes: &[u8], max_depth: usize) -> Result<usize, JsonFault> {
    std::str::from_utf8(bytes).map_err(|_| JsonFault::NotUtf8)?;
    let mut scan = Scan { bytes, at: 0 };
    // What each open bracket was. Grows with the nesting, which is bounded.
    let mut open: Vec<u8> = Vec::new();
    let mut deepest = 0;
    loop {
        scan.space();
        match scan.peek() {
            Some(bracket @ (b'{' | b'[')) => {
                scan.at += 1;
                if open.len() == max_depth {
                    return Err(JsonFault::TooDeep);
                }
                deepest = deepest.max(open.len() + 1);
                scan.space();
                if scan.peek() == Some(bracket + 2) {
                    scan.at += 1;
                } else {
                    open.push(bracket);
                    if bracket == b'{' {
                        scan.key()?;
                    }
                    continue;
                }
            }
            Some(b'"') => scan.text()?,
            Some(b'-' | b'0'..=b'9') => scan.number()?,
            Some(b't') => scan.word(b"true")?,
            Some(b'f') => scan.word(b"false")?,
            Some(b'n') => scan.word(b"null")?,
            _ => return Err(scan.fault()),
        }
        // A value has ended: close what closes, or go on to the next one.
        loop {
            scan.space();
            match (open.last().copied(), scan.peek()) {
                (None, None) => return Ok(deepest),
                (Some(bracket), Some(byte)) if byte == bracket + 2 => {
                    scan.at += 1;
                    open.pop();
                }
                (Some(bracket), Some(b',')) => {
                    scan.at += 1;
                    if bracket == b'{' {
                        scan.space();
                        scan.key()?;
                    }
                    break;
                }
                _ => return Err(scan.fault()),
            }
        }
    }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn fault(&self) -> JsonFault {
        JsonFault::Syntax { at: self.at }
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Result<(), JsonFault> {
        if self.peek() != Some(byte) {
            return Err(self.fault());
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Result<(), JsonFault> {
        word.iter().try_for_each(|byte| self.take(*byte))
    }

    fn key(&mut self) -> Result<(), JsonFault> {
        self.text()?;
        self.space();
        self.take(b':')
    }

    fn digits(&mut self) -> Result<(), JsonFault> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.fault());
        }
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at - start > MAX_DIGITS { Err(JsonFault::LongNumber) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<(), JsonFault> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        let whole = self.at;
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        if self.at > whole {
            let text = std::str::from_utf8(&self.bytes[start..self.at]).unwrap_or_default();
            if text.parse::<f64>().is_ok_and(f64::is_infinite) {
                return Err(JsonFault::Infinite);
            }
        }
        Ok(())
    }

    fn text(&mut self) -> Result<(), JsonFault> {
        self.take(b'"')?;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(0..=0x1f) | None => return Err(self.fault()),
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<(), JsonFault> {
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                match self.hex4()? {
                    0xdc00..=0xdfff => return Err(JsonFault::LoneSurrogate),
                    0xd800..=0xdbff => {
                        if self.bytes.get(self.at..self.at + 2) != Some(b"\\u") {
                            return Err(JsonFault::LoneSurrogate);
                        }
                        self.at += 2;
                        if !(0xdc00..=0xdfff).contains(&self.hex4()?) {
                            return Err(JsonFault::LoneSurrogate);
                        }
                    }
                    _ => {}
                }
            }
            _ => return Err(self.fault()),
        }
        Ok(())
    }

    fn hex4(&mut self) -> Result<u32, JsonFault> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            value = value * 16 + digit.ok_or(self.fault())?;
            self.at += 1;
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_python_emits_but_json_forbids_is_refused() {
        for text in ["NaN", "-Infinity", "[Infinity]", "01", "1.", ".5", "+1", "[1,]", "{\"a\":1,}"]
        {
            assert!(matches!(check(text.as_bytes(), 9), Err(JsonFault::Syntax { .. })), "{text}");
        }
        for text in [r#""\ud800""#, r#""\udc00""#, r#""\ud800x""#, r#""\ud800\u0041""#] {
            assert_eq!(check(text.as_bytes(), 9), Err(JsonFault::LoneSurrogate), "{text}");
        }
        assert_eq!(check(b"\"\xff\"", 9), Err(JsonFault::NotUtf8));
        for text in ["1e999", "[-1.5E+400]", &format!("{}.5", "9".repeat(400))] {
            assert_eq!(check(text.as_bytes(), 9), Err(JsonFault::Infinite), "{text}");
        }
        let long = "9".repeat(MAX_DIGITS);
        assert_eq!(check(long.as_bytes(), 9), Ok(()));
        assert_eq!(check(format!("{long}9").as_bytes(), 9), Err(JsonFault::LongNumber));
        assert_eq!(check(br#""\ud83d\ude00""#, 9), Ok(()));
    }

    #[test]
    fn depth_is_bounded_exactly() {
        let nested = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
        assert_eq!(check(&nested(9), 9), Ok(()));
        assert_eq!(check(&nested(10), 9), Err(JsonFault::TooDeep));
        assert_eq!(check(&vec![b'['; 1_000_000], MAX_DEPTH), Err(JsonFault::TooDeep));
        assert_eq!(check(br#"{"a":[{"b":[]}]}"#, 4), Ok(()));
        assert_eq!(check(br#"{"a":[{"b":[]}]}"#, 3), Err(JsonFault::TooDeep));
        let deep: [(&[u8], usize); 4] =
            [(b"1", 0), (b"[]", 1), (br#"{"a":[{"b":[]}]}"#, 4), (b"[[[]],[]]", 3)];
        for (text, levels) in deep {
            assert_eq!(depth(text, 9), Ok(levels));
        }
    }

    #[test]
    fn only_one_value() {
        for text in ["", " ", "1 2", "{}{}", "[1][", "]", "\"a", "{\"a\"}", "{1:2}", "[1 2]"] {
            assert!(check(text.as_bytes(), 9).is_err(), "{text}");
        }
        assert_eq!(check(b" {\"a\" : [ 1 , -0.5e+9, null ] } \n", 9), Ok(()));
    }

    proptest! {
        // serde_json is the judge: on any text, both say yes or both say no.
        #[test]
        fn agrees_with_a_real_parser(text in r#"[\[\]{}:,"\\ued8c0-9a-f.eE+\- trulsn/]{0,24}"#) {
            let ours = check(text.as_bytes(), 100).is_ok();
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            prop_assert!(ours == theirs.is_ok(), "{text:?} {theirs:?}");
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if check(&bytes, 10).is_ok() {
                prop_assert!(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok());
            }
        }
    }
}
