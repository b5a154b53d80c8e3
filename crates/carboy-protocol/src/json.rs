//! A strict look at JSON bytes before anything is built from them.
//!
//! [`check`] walks the text once without recursion and without allocating for its content. It
//! accepts RFC 8259 and nothing else (no `NaN`, no half of a surrogate pair, no byte that is not
//! UTF-8, nothing after the value) and bounds the nesting, so that whatever passes can be handed
//! to any ordinary parser.

use std::cmp::Ordering;

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

/// The digits of 2^1024 - 2^970, the least number that a double rounds to infinity. It lies halfway
/// between the largest double and the next power of two.
const OVERFLOW: &[u8; 309] = b"\
    179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017\
    977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273\
    854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704\
    342711559699508093042880177904174497792";

/// What the digits of an exponent say, or a number that is as good as any beyond it.
fn power(digits: &[u8]) -> i64 {
    // Far more than a number has digits, so that nothing brings it back into range.
    const BEYOND: i64 = 1_000_000;
    let value = digits.iter().try_fold(0, |value, digit| {
        let next = value * 10 + i64::from(digit - b'0');
        (next < BEYOND).then_some(next)
    });
    value.unwrap_or(BEYOND)
}

/// Whether a double rounds `whole.fraction` times ten to the `exponent` to infinity. An exact parse
/// would answer too, but it takes a hundred times as long for numbers made to be hard.
fn is_infinite(whole: &[u8], fraction: &[u8], exponent: i64) -> bool {
    let mut digits = whole.iter().chain(fraction);
    let Some(zeros) = digits.clone().position(|digit| *digit != b'0') else { return false };
    // Where the first digit stands that counts: 0 for units, 2 for hundreds.
    let place = whole.len() as i64 - 1 - zeros as i64 + exponent;
    match place.cmp(&(OVERFLOW.len() as i64 - 1)) {
        Ordering::Less => false,
        Ordering::Greater => true,
        Ordering::Equal => {
            // Beyond the digits that are there stand zeros; what comes after all of these cannot
            // bring a smaller number up.
            let padded = digits.by_ref().skip(zeros).chain(std::iter::repeat(&b'0'));
            padded.take(OVERFLOW.len()).ge(OVERFLOW)
        }
    }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
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

    fn digits(&mut self) -> Result<&'a [u8], JsonFault> {
        let rest = &self.bytes[self.at..];
        let count = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        match count {
            0 => return Err(self.fault()),
            1..=MAX_DIGITS => self.at += count,
            _ => return Err(JsonFault::LongNumber),
        }
        Ok(&rest[..count])
    }

    fn number(&mut self) -> Result<(), JsonFault> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let start = self.at;
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => drop(self.digits()?),
        }
        let whole = &self.bytes[start..self.at];
        let mut fraction: &[u8] = &[];
        let mut exponent = 0;
        if self.peek() == Some(b'.') {
            self.at += 1;
            fraction = self.digits()?;
        } else if !matches!(self.peek(), Some(b'e' | b'E')) {
            // An integer: readers that count hold it whole, however large it is.
            return Ok(());
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            let sign = self.peek();
            if matches!(sign, Some(b'+' | b'-')) {
                self.at += 1;
            }
            exponent = power(self.digits()?);
            if sign == Some(b'-') {
                exponent = -exponent;
            }
        }
        if is_infinite(whole, fraction, exponent) { Err(JsonFault::Infinite) } else { Ok(()) }
    }

    fn text(&mut self) -> Result<(), JsonFault> {
        self.take(b'"')?;
        loop {
            let rest = &self.bytes[self.at..];
            let plain = rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1f));
            self.at += plain.count();
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                _ => return Err(self.fault()),
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
    fn the_largest_double_passes_and_the_next_number_does_not() {
        let overflow = std::str::from_utf8(OVERFLOW).unwrap();
        let below = format!("{}1", &overflow[..308]);
        for text in [
            format!("{below}.9e0"),
            format!("{below}{}e-600", "9".repeat(600)),
            format!("0.{}{below}e1000", "0".repeat(691)),
            "1.7976931348623157e308".into(),
            "0e999999999999999999999".into(),
            "0.0000e99999".into(),
            format!("1e-{}", "9".repeat(MAX_DIGITS)),
            format!("0.{}1e4000", "0".repeat(3999)),
        ] {
            assert_eq!(check(text.as_bytes(), 1), Ok(()), "{text}");
        }
        for text in [
            format!("{overflow}.0"),
            format!("-{overflow}e0"),
            format!("{overflow}{}e-600", "0".repeat(600)),
            format!("0.{}{overflow}e1000", "0".repeat(691)),
            "1.797693134862315808e308".into(),
            format!("1e{}", "9".repeat(MAX_DIGITS)),
            format!("0.{}1e4310", "0".repeat(3999)),
        ] {
            assert_eq!(check(text.as_bytes(), 1), Err(JsonFault::Infinite), "{text}");
        }
    }

    /// Numbers of every shape, most of them near the largest double.
    fn numbers() -> impl Strategy<Value = String> {
        let digits = prop_oneof![
            Just(std::str::from_utf8(OVERFLOW).unwrap().to_owned()),
            "0{0,4}1797693134862315[78][0-9]{0,30}",
            "0{0,400}[0-9]{1,400}",
        ];
        let cut = (digits, 0..400usize, 0..400usize, any::<u8>());
        (cut, prop_oneof![-800..800i32, 200..400i32], any::<bool>()).prop_map(
            |((mut digits, cut, at, last), exponent, with_exponent)| {
                digits.truncate(digits.len().saturating_sub(cut).max(1));
                digits.push(char::from(b'0' + last % 10));
                let (whole, fraction) = digits.split_at(at.clamp(1, digits.len() - 1));
                let whole = whole.trim_start_matches('0');
                let whole = if whole.is_empty() { "0" } else { whole };
                let end = if with_exponent { format!("e{exponent}") } else { String::new() };
                format!("{whole}.{fraction}{end}")
            },
        )
    }

    /// About a mebibyte of this number.
    fn many(number: &str) -> String {
        let count = (1 << 20) / (number.len() + 1);
        format!("[{}]", vec![number; count].join(","))
    }

    fn time_of(text: &str) -> std::time::Duration {
        let started = std::time::Instant::now();
        assert_eq!(check(text.as_bytes(), 1), Ok(()));
        started.elapsed()
    }

    #[test]
    fn no_number_is_harder_than_a_plain_one() {
        let overflow = std::str::from_utf8(OVERFLOW).unwrap();
        let plain = many("1.5e3");
        for hard in [
            "179769313486231580793728971405303415e273".to_owned(),
            "2.2250738585072011e-308".into(),
            "9007199254740993.00000000000000000000000000000000000000000001".into(),
            format!("{}1.5", &overflow[..308]),
            format!("0.{}1e4000", "0".repeat(3999)),
            format!("{}.5e-4000", "9".repeat(MAX_DIGITS)),
            format!("1.{}e-{}", "9".repeat(MAX_DIGITS), "9".repeat(MAX_DIGITS)),
        ] {
            let numbers = many(&hard);
            // Both in turn: whatever else the machine does, it does not always do it beside the same one.
            let is_cheap = (0..50).any(|_| time_of(&numbers) < 4 * time_of(&plain));
            assert!(is_cheap, "{hard}");
        }
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
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        // The exact parse is the judge.
        #[test]
        fn finite_is_what_an_exact_parse_says(text in numbers()) {
            let exact = text.parse::<f64>().unwrap();
            let expected = if exact.is_finite() { Ok(()) } else { Err(JsonFault::Infinite) };
            prop_assert_eq!(check(text.as_bytes(), 1), expected, "{}", text);
        }
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
