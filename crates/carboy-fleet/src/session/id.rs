//! Ids of sessions: an id says where its session is, for whom it is, and that a gateway of this cell gave it out.
//!
//! So no gateway has to look anything up, and a session belongs to one start of one node: nobody makes it again
//! elsewhere. Whoever guesses one needs the key of the gateways. Nodes have no key; they compare the tenant.

use std::fmt::{self, Display};
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::Sha256;

use crate::name::{NodeName, Start};
use crate::nodes::Address;

/// What ids of this form begin with.
const FORM: &str = "s1";

/// What seals begin with.
const SEAL: &[u8] = b"f1";

/// Bytes of a key.
const KEY: usize = 32;

/// Bytes of a block of SHA-256.
const BLOCK: usize = 64;

/// Bytes of an id that are drawn, and of its signature.
const DRAWN: usize = 12;
const SIGNED: usize = 16;

/// The name of the cell whose key says none.
const UNNAMED: &str = "a";

/// The longest name of a cell.
const CELL: usize = 16;

/// What gateways of one cell sign ids with. All of them must have the same.
#[derive(Clone)]
pub struct SessionKey {
    cell: String,
    key: [u8; KEY],
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, form: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(form, "SessionKey({})", self.cell)
    }
}

/// A session's id that a gateway of this cell gave out for this tenant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionId {
    /// The node, and the start of it, that holds the session.
    pub address: Address,
    text: String,
}

impl SessionId {
    /// As callers write it.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Display for SessionId {
    fn fmt(&self, form: &mut fmt::Formatter<'_>) -> fmt::Result {
        form.write_str(&self.text)
    }
}

/// Why a file is no key.
#[derive(Debug, thiserror::Error)]
pub enum BadKey {
    /// It cannot be read.
    #[error("it cannot be read")]
    Unread(#[source] std::io::Error),
    /// It has something else in it.
    #[error(
        "it is not a key of sessions, which is 64 hexadecimal digits, after the name of the cell and a colon if it has one"
    )]
    Form,
    /// The kernel gave no random bits.
    #[error("no random bits")]
    Random(#[source] std::io::Error),
}

impl SessionKey {
    /// A new one for a cell, whose name has up to 16 letters of a-z and 0-9.
    pub fn random(cell: &str) -> Result<SessionKey, BadKey> {
        if !is_cell(cell) {
            return Err(BadKey::Form);
        }
        let mut key = [0; KEY];
        fill(&mut key).map_err(BadKey::Random)?;
        Ok(SessionKey { cell: cell.into(), key })
    }

    /// As it is written in a file.
    pub fn read(file: &Path) -> Result<SessionKey, BadKey> {
        let text = std::fs::read_to_string(file).map_err(BadKey::Unread)?;
        SessionKey::of(text.trim()).ok_or(BadKey::Form)
    }

    /// The text of a file with this key.
    pub fn text(&self) -> String {
        format!("{}:{}\n", self.cell, hex(&self.key))
    }

    fn of(text: &str) -> Option<SessionKey> {
        let (cell, digits) = text.split_once(':').unwrap_or((UNNAMED, text));
        let key = unhex(digits)?.try_into().ok()?;
        is_cell(cell).then(|| SessionKey { cell: cell.into(), key })
    }

    /// A new id for a session of this tenant on this node.
    pub fn draw(&self, address: Address, tenant: &str) -> std::io::Result<SessionId> {
        let mut drawn = [0; DRAWN];
        fill(&mut drawn)?;
        let Address { node, incarnation } = address;
        let (node, start) = (NodeName(node), Start(incarnation));
        let body = format!("{FORM}-{}-{node}-{start}-{}", self.cell, hex(&drawn));
        let text =
            format!("{body}-{}", hex(&self.mac(&body, tenant).finalize().into_bytes()[..SIGNED]));
        Ok(SessionId { address, text })
    }

    /// The id that this is, if a gateway with this key gave it out for this tenant.
    pub fn check(&self, text: &str, tenant: &str) -> Option<SessionId> {
        let (body, signature) = text.rsplit_once('-')?;
        let signature = unhex(signature).filter(|bytes| bytes.len() == SIGNED)?;
        self.mac(body, tenant).verify_truncated_left(&signature).ok()?;
        // What is signed was written here.
        let mut words = body.split('-').skip(2);
        let NodeName(node) = words.next()?.parse().ok()?;
        let Start(incarnation) = words.next()?.parse().ok()?;
        Some(SessionId { address: Address { node, incarnation }, text: text.into() })
    }

    /// The seal on some words, which only a gateway of this cell can make.
    pub(crate) fn seal(&self, words: &[&str]) -> String {
        hex(&self.sealing(words).finalize().into_bytes())
    }

    /// Whether that is the seal on these words.
    pub(crate) fn is_seal(&self, words: &[&str], seal: &str) -> bool {
        unhex(seal).is_some_and(|bytes| self.sealing(words).verify_slice(&bytes).is_ok())
    }

    /// No id of a session is signed as these words are: its text begins otherwise.
    fn sealing(&self, words: &[&str]) -> Hmac<Sha256> {
        let mut mac = self.keyed();
        mac.update(SEAL);
        for word in words {
            mac.update(&(word.len() as u64).to_be_bytes());
            mac.update(word.as_bytes());
        }
        mac
    }

    fn keyed(&self) -> Hmac<Sha256> {
        // A short key is filled up with zeros by definition.
        let mut block = [0; BLOCK];
        block[..KEY].copy_from_slice(&self.key);
        Hmac::<Sha256>::new(&block.into())
    }

    fn mac(&self, body: &str, tenant: &str) -> Hmac<Sha256> {
        let mut mac = self.keyed();
        // An id has no byte of this kind, so no two pairs are the same bytes.
        for part in [body.as_bytes(), &[0], tenant.as_bytes()] {
            mac.update(part);
        }
        mac
    }
}

fn is_cell(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=CELL).contains(&name.len()) && name.bytes().all(is_letter)
}

fn fill(bytes: &mut [u8]) -> std::io::Result<()> {
    let count = getrandom(&mut *bytes, GetRandomFlags::empty())?;
    // The kernel gives up to 256 bytes at once.
    if count == bytes.len() { Ok(()) } else { Err(std::io::ErrorKind::UnexpectedEof.into()) }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of lower-case digits: one text for each id.
fn unhex(text: &str) -> Option<Vec<u8>> {
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    pairs.map(|pair| Some(value(pair[0])? << 4 | value(pair[1])?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: Address = Address { node: 7, incarnation: u64::MAX };

    #[test]
    fn an_id_is_known_to_every_gateway_with_the_key_and_for_its_tenant_alone() {
        let key = SessionKey::random("west1").expect("a key");
        let id = key.draw(ADDRESS, "acme").expect("an id");
        let again = SessionKey::of(key.text().trim()).expect("the same key");
        assert_eq!(again.check(id.as_str(), "acme"), Some(id.clone()));
        assert_eq!(again.check(id.as_str(), "other"), None);
        let elsewhere = SessionKey::random("west1").expect("a key");
        assert_eq!(elsewhere.check(id.as_str(), "acme"), None);
        assert_ne!(key.draw(ADDRESS, "acme").expect("an id"), id);
    }

    #[test]
    fn what_was_changed_or_never_was_an_id_is_refused() {
        let key = SessionKey::random("a").expect("a key");
        let id = key.draw(ADDRESS, "acme").expect("an id").to_string();
        for place in 0..id.len() {
            let mut bytes = id.clone().into_bytes();
            bytes[place] = if bytes[place] == b'a' { b'b' } else { b'a' };
            let changed = String::from_utf8(bytes).expect("text");
            assert_eq!(key.check(&changed, "acme"), None, "{changed}");
        }
        let upper = id.to_uppercase();
        for text in
            ["", "-", "s1", &id[..id.len() - 1], &format!("{id}0"), &format!("{id}-"), &upper]
        {
            assert_eq!(key.check(text, "acme"), None, "{text}");
        }
    }

    #[test]
    fn a_file_that_is_no_key_is_refused() {
        let digits = "00".repeat(KEY);
        for text in [&digits, &format!("west1:{digits}")] {
            assert!(SessionKey::of(text).is_some(), "{text}");
        }
        let long = "a".repeat(CELL + 1);
        for text in ["", &digits[1..], &format!("A:{digits}"), &format!("{long}:{digits}"), "a:00"]
        {
            assert!(SessionKey::of(text).is_none(), "{text}");
        }
        assert!(SessionKey::random("no-cell").is_err());
    }
}
