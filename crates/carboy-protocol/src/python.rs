//! Which versions of CPython are supported: the one place that says so.
//!
//! The engine refuses others, the guard parses by them, messages name them, and `cargo xtask tidy` compares
//! what documents and the Python package say with [`supported_pythons!`].

use std::fmt;
use std::str::FromStr;

/// The supported versions in words. A test keeps it in step with [`PythonVersion`].
#[macro_export]
macro_rules! supported_pythons {
    () => {
        "3.10 to 3.15"
    };
}

/// A version of Python as far as its language goes, such as 3.14.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PythonVersion {
    /// 3.
    pub major: u8,
    /// What follows the first dot.
    pub minor: u8,
}

impl PythonVersion {
    /// The oldest that is supported.
    pub const OLDEST: PythonVersion = PythonVersion { major: 3, minor: 10 };
    /// The newest that is supported.
    pub const NEWEST: PythonVersion = PythonVersion { major: 3, minor: 15 };

    /// Whether carboy is tested with this version.
    pub fn is_supported(self) -> bool {
        (PythonVersion::OLDEST..=PythonVersion::NEWEST).contains(&self)
    }
}

impl fmt::Display for PythonVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for PythonVersion {
    type Err = String;

    /// Reads `3.14`, and of a longer version such as `3.14.2` the first two numbers.
    fn from_str(text: &str) -> Result<PythonVersion, String> {
        let mut numbers = text.split('.').map(|part| part.parse::<u8>().ok());
        match (numbers.next().flatten(), numbers.next().flatten()) {
            (Some(major), Some(minor)) => Ok(PythonVersion { major, minor }),
            _ => Err(format!("`{text}` is no version such as {}", PythonVersion::NEWEST)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_name_the_same_versions_as_the_numbers() {
        let words = format!("{} to {}", PythonVersion::OLDEST, PythonVersion::NEWEST);
        assert_eq!(supported_pythons!(), words);
    }

    #[test]
    fn versions_are_read_compared_and_shown() {
        let version = |text: &str| text.parse::<PythonVersion>();
        assert_eq!(version("3.14.2"), version("3.14"));
        assert_eq!(version("3.9").unwrap().to_string(), "3.9");
        assert!(version("3.9") < version("3.10"));
        let supported = |text| version(text).unwrap().is_supported();
        assert!(supported("3.10") && supported("3.15"));
        assert!(!supported("3.9") && !supported("3.16") && !supported("2.7") && !supported("4.0"));
        for wrong in ["", "3", "3.x", "three.one", "3.300"] {
            assert!(version(wrong).is_err(), "{wrong}");
        }
    }
}
