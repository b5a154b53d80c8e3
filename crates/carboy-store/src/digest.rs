//! SHA-256 in hexadecimal: how a store names bytes.

use std::fmt::Write;

use sha2::{Digest as _, Sha256};

/// The SHA-256 of some bytes, in hexadecimal.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    let mut digest = Digest::default();
    digest.update(bytes);
    digest.finish()
}

/// A SHA-256 of bytes that come in pieces.
#[derive(Clone, Default)]
pub struct Digest(Sha256);

impl Digest {
    /// Takes the next bytes.
    pub fn update(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes);
    }

    /// The digest of all that came, in hexadecimal.
    pub fn finish(self) -> String {
        self.0.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
            // A string takes whatever is written to it.
            write!(text, "{byte:02x}").ok();
            text
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_the_one_that_sha256sum_prints() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256("abc"), abc);
        let mut digest = Digest::default();
        digest.update("a");
        digest.update("bc");
        assert_eq!(digest.finish(), abc);
    }
}
