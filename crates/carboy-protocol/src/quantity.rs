//! Numbers of bytes as people write them: `1048576`, `"1MiB"`, `"200 kB"`.

use serde::de::{self, Deserializer, Visitor};

/// The units of a size, and how many bytes one is.
pub const UNITS: [(&str, u64); 8] = [
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

/// Reads a number of bytes from a whole number or a text with a unit.
pub(crate) fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    struct Bytes;
    impl Visitor<'_> for Bytes {
        type Value = u64;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a whole number of bytes or a text such as \"256MiB\"")
        }

        fn visit_u64<E: de::Error>(self, value: u64) -> Result<u64, E> {
            Ok(value)
        }

        fn visit_i64<E: de::Error>(self, value: i64) -> Result<u64, E> {
            u64::try_from(value).map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<u64, E> {
            parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
        }
    }
    deserializer.deserialize_any(Bytes)
}

/// Reads a number of bytes from a text.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim();
    let factor = match UNITS.iter().find(|(name, _)| *name == unit) {
        Some((_, factor)) => *factor,
        None if unit.is_empty() => 1,
        None => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// What a size as text looks like, as a regular expression for the schema.
#[cfg(feature = "schema")]
pub(crate) fn pattern() -> String {
    let units = UNITS.map(|(name, _)| name).join("|");
    format!("^\\s*[0-9]+\\s*({units})?\\s*$")
}

/// What times are said in, the largest first. Seconds up to minutes read well as they are.
pub(crate) const TIMES: [(&str, u64); 2] = [("h", 3_600_000), ("s", 1_000)];

/// What sizes are said in, the largest first.
pub(crate) const SIZES: [(&str, u64); 6] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("kB", 1_000),
];

/// A value in the first unit that it is a whole number of: `256 MiB`, `200 kB`, `30 s`.
pub(crate) fn shortly(value: u64, units: &[(&str, u64)], smallest: &str) -> String {
    let whole = |(_, factor): &&(&str, u64)| value > 0 && value.is_multiple_of(*factor);
    let (unit, factor) = units.iter().find(whole).copied().unwrap_or((smallest, 1));
    format!("{} {unit}", grouped(value / factor))
}

/// A number with its digits in groups of three: `1,000,000`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_read_and_others_are_not() {
        for (name, factor) in UNITS {
            assert_eq!(parse(&format!(" 3 {name} ")), Some(3 * factor));
        }
        assert_eq!(parse("3"), Some(3));
        for text in ["", "MiB", "3 mib", "3.5MiB", "-3", "99999999999GiB"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
