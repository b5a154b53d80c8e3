//! Bytes in JSON: the standard alphabet of RFC 4648 with its padding, and nothing else.

use serde::{Deserialize, Deserializer, Serializer};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes as text.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let index = (bits >> (18 - 6 * place) & 63) as usize;
            text.push(if place <= group.len() { ALPHABET[index] as char } else { '=' });
        }
    }
    text
}

/// The value of a letter, or 64 if it is none.
const fn values() -> [u8; 256] {
    let mut values = [64; 256];
    let mut at = 0;
    while at < 64 {
        values[ALPHABET[at] as usize] = at as u8;
        at += 1;
    }
    values
}

const VALUES: [u8; 256] = values();

/// The value of a letter, if it is one.
pub(crate) fn value(letter: u8) -> Option<u8> {
    Some(VALUES[usize::from(letter)]).filter(|value| *value < 64)
}

/// The bytes of a text; `None` if it is not exactly what [`encode`] writes.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.iter().rev().take(2).take_while(|letter| **letter == b'=').count();
    let letters = &text[..text.len() - padding];
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in letters.chunks(4) {
        let mut bits = 0_u32;
        for place in 0..4 {
            let value = group.get(place).map_or(0, |letter| VALUES[usize::from(*letter)]);
            if value == 64 {
                return None;
            }
            bits = bits << 6 | u32::from(value);
        }
        let count = group.len() * 6 / 8;
        let [_, first, second, third] = bits.to_be_bytes();
        let whole = [first, second, third];
        if whole[count..].iter().any(|rest| *rest != 0) {
            return None;
        }
        bytes.extend_from_slice(&whole[..count]);
    }
    Some(bytes)
}

/// Writes a field of bytes.
pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&encode(bytes))
}

/// Reads a field of bytes.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
    decode(&text).ok_or_else(|| serde::de::Error::custom("not base64"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_were() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"\xff\xfe\xfd", "//79"),
        ] {
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text).as_deref(), Some(bytes));
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&all)), Some(all));
    }

    #[test]
    fn what_is_written_otherwise_is_refused() {
        for text in ["Zg", "Zg=", "Z===", "====", "Zh==", "Zm9=", "Zm9v\n", "Zm_v", "Zg==Zg=="] {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }
}
