//! Keys: random, shown once, and kept as digests.
//!
//! A key has 256 random bits, so a plain SHA-256 of it cannot be searched, and no salt or slow hash is needed.

use std::hint::black_box;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use carboy_engine::{EngineError, new_id};
use sha2::{Digest, Sha256};

/// What every key begins with, so that people and secret scanners recognize one.
const PREFIX: &str = "carboy_";

/// A new key.
pub fn new_key() -> Result<String, EngineError> {
    Ok(format!("{PREFIX}{}{}", new_id()?, new_id()?))
}

/// The digest of a key as a settings file has it.
pub fn key_digest(key: &str) -> String {
    digest(key).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn digest(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

/// A digest from hexadecimal.
pub(super) fn parsed(text: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, at) in digest.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
    }
    Some(digest)
}

/// Whether two digests are the same, in a time that does not depend on where they differ.
pub(super) fn is_same(one: &[u8; 32], other: &[u8; 32]) -> bool {
    let differs = one.iter().zip(other).fold(0, |differs, (one, other)| differs | (one ^ other));
    black_box(differs) == 0
}

/// The moment that `2027-01-31` or `2027-01-31T12:00:00Z` names. A date is its beginning.
pub(super) fn moment(text: &str) -> Option<SystemTime> {
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, time.strip_suffix('Z')?),
        None => (text, "00:00:00"),
    };
    let numbers = |text: &str, mark, form: [usize; 3]| {
        let parts: Vec<&str> = text.split(mark).collect();
        let parts: [&str; 3] = parts.try_into().ok()?;
        let mut numbers = [0_u64; 3];
        for (index, part) in parts.into_iter().enumerate() {
            if part.len() != form[index] || !part.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            numbers[index] = part.parse().ok()?;
        }
        Some(numbers)
    };
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let february = if is_leap { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *lengths.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    if year < 1970 || !(1..=length).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    let days = (year - 1970) * 365 + leaps(year - 1) - leaps(1969)
        + lengths[..usize::try_from(month).ok()? - 1].iter().sum::<u64>()
        + (day - 1);
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    Some(UNIX_EPOCH + Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_random_and_its_digest_is_what_sha256sum_prints() {
        let (one, other) = (new_key().expect("a key"), new_key().expect("a key"));
        assert_ne!(one, other);
        assert_eq!(one.len(), PREFIX.len() + 64);
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(key_digest("abc"), known);
        assert!(is_same(&parsed(known).expect("a digest"), &digest("abc")));
        assert!(!is_same(&digest("abc"), &digest("abd")));
        for wrong in
            ["", "ba78", &known.replace('b', "g"), &format!("{known}00"), "é".repeat(32).as_str()]
        {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn moments_are_those_of_the_calendar() {
        let seconds = |text| {
            moment(text)
                .map(|moment| moment.duration_since(UNIX_EPOCH).expect("after 1970").as_secs())
        };
        // As `date -u -d TEXT +%s` says.
        assert_eq!(seconds("1970-01-01"), Some(0));
        assert_eq!(seconds("2000-02-29T23:59:59Z"), Some(951_868_799));
        assert_eq!(seconds("2027-01-31"), Some(1_801_353_600));
        assert_eq!(seconds("2400-03-01"), Some(13_574_649_600));
        for wrong in [
            "2027-02-29",
            "2027-13-01",
            "2027-00-01",
            "2027-1-31",
            "2027-01-31T24:00:00Z",
            "2027-01-31T12:00:00",
            "2027-01-31T12:00:00+01:00",
            "tomorrow",
            "",
            "2027-01-3é",
        ] {
            assert_eq!(moment(wrong), None, "{wrong}");
        }
    }
}
