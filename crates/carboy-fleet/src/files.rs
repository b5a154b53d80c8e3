//! Files that runs leave on a node, on their way to an object store: who may put what there.
//!
//! Nodes have no key of the store. A gateway that wants a run's files gives the node a [`Permit`] with the run, and for
//! each file the node asks a gateway for an address to put it at. Any gateway can tell by the permit's seal that a
//! gateway of this cell gave this run to this node; the one that did also knows whether the node's outcome is the one that
//! its caller got.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use carboy_protocol::Artifact;
use serde::{Deserialize, Serialize};

use crate::nodes::Address;
use crate::session::SessionKey;

/// Where any gateway is asked for an address. One answers.
pub const SIGN: &str = "cb.sign";

/// The group of those who answer there.
pub(crate) const SIGNERS: &str = "sign";

/// The longest list of a run's files, in bytes of JSON. It goes with every question.
pub(crate) const LIST: usize = 256 << 10;

/// How long a node tries to bring a run's files to the store.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// How much longer a permit holds: what is asked for at the last moment takes its time.
const MORE: Duration = Duration::from_secs(120);

/// The subject under which one gateway is asked.
pub(crate) fn sign_at(gateway: &str) -> String {
    format!("{SIGN}.{gateway}")
}

/// That a node may ask for addresses for the files of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permit {
    /// How many bytes they may have.
    pub bytes: u64,
    /// Until when, in seconds since 1970.
    pub until: u64,
    /// Shows that a gateway said so.
    pub seal: String,
}

/// Which run a permit is for, and who gave it to whom.
pub(crate) struct Given<'a> {
    pub tenant: &'a str,
    pub run: &'a str,
    pub gateway: &'a str,
    pub address: Address,
}

impl Given<'_> {
    /// A permit for a run that may take this long.
    pub fn permit(&self, key: &SessionKey, bytes: u64, takes: Duration) -> Permit {
        let until = now().saturating_add(takes).saturating_add(PATIENCE + MORE).as_secs();
        let seal = key.seal(&self.words(bytes, until).each_ref().map(String::as_str));
        Permit { bytes, until, seal }
    }

    /// Whether a gateway of this cell gave this permit, and it still holds.
    pub fn is_permit(&self, key: &SessionKey, permit: &Permit) -> bool {
        let words = self.words(permit.bytes, permit.until);
        key.is_seal(&words.each_ref().map(String::as_str), &permit.seal)
            && now().as_secs() <= permit.until
    }

    fn words(&self, bytes: u64, until: u64) -> [String; 6] {
        [
            self.tenant.to_owned(),
            self.run.to_owned(),
            self.gateway.to_owned(),
            self.address.to_string(),
            bytes.to_string(),
            until.to_string(),
        ]
    }
}

pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Asks for an address for one of a run's files. The body is a list of all of them: [`Artifact`]s with digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignAsk {
    /// [`VERSION`](crate::message::VERSION).
    pub v: u32,
    /// The run.
    pub run: String,
    /// Whose it is.
    pub tenant: String,
    /// The gateway that gave the run.
    pub gateway: String,
    /// Who asks.
    pub address: Address,
    /// What came with the run.
    pub permit: Permit,
    /// Which of its files, from 0.
    pub number: usize,
}

/// What a gateway answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignAnswer {
    /// It can be put there, for a minute.
    Put {
        /// Where.
        url: String,
    },
    /// Not now: the store does not answer, or it is not known yet how the run ended.
    Later {},
    /// Never.
    Refused {
        /// Why.
        why: String,
    },
}

/// What is wrong with a list of files, if something is.
pub(crate) fn fault(files: &[Artifact], ask: &SignAsk) -> Option<&'static str> {
    let mut paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    paths.sort_unstable();
    let has_place = |path: &&str| carboy_store::RunFiles::has_place(&ask.tenant, &ask.run, path);
    let bytes = files.iter().try_fold(0u64, |sum, file| sum.checked_add(file.bytes));
    let is_digest = |text: &str| {
        text.len() == 64
            && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    if !paths.iter().all(has_place) {
        Some("a path has no place in the store")
    } else if paths.windows(2).any(|pair| pair[0] == pair[1]) {
        Some("two files have one path")
    } else if !files.iter().all(|file| file.sha256.as_deref().is_some_and(is_digest)) {
        Some("a file has no digest")
    } else if bytes.is_none_or(|bytes| bytes > ask.permit.bytes) {
        Some("the files have more bytes than the run may leave")
    } else if ask.number >= files.len() {
        Some("there is no file of this number")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: Address = Address { node: 1, incarnation: 2 };

    fn ask(number: usize) -> SignAsk {
        let permit = Permit { bytes: 10, until: 0, seal: String::new() };
        let [run, tenant, gateway] = ["0a", "acme", "g"].map(String::from);
        SignAsk { v: 1, run, tenant, gateway, address: ADDRESS, permit, number }
    }

    fn file(path: &str, bytes: u64) -> Artifact {
        let sha256 = Some("0a".repeat(32));
        Artifact { path: path.into(), bytes, sha256, media_type: None }
    }

    #[test]
    fn a_permit_is_for_one_run_on_one_node() {
        let key = SessionKey::random("a").expect("a key");
        let given = Given { tenant: "acme", run: "0a", gateway: "g", address: ADDRESS };
        let permit = given.permit(&key, 10, Duration::ZERO);
        assert!(given.is_permit(&key, &permit));
        let elsewhere = Address { node: 2, ..ADDRESS };
        for other in [
            Given { tenant: "other", ..given },
            Given { run: "0b", ..given },
            Given { gateway: "h", ..given },
            Given { address: elsewhere, ..given },
        ] {
            assert!(!other.is_permit(&key, &permit));
        }
        let more = Permit { bytes: 11, ..permit.clone() };
        let longer = Permit { until: permit.until + 1, ..permit.clone() };
        let unsealed = Permit { seal: String::new(), ..permit.clone() };
        for wrong in [more, longer, unsealed] {
            assert!(!given.is_permit(&key, &wrong), "{wrong:?}");
        }
        let stranger = SessionKey::random("a").expect("a key");
        assert!(!given.is_permit(&stranger, &permit));
        let over = Permit { until: 1, ..permit };
        let words = given.words(over.bytes, over.until);
        let seal = key.seal(&words.each_ref().map(String::as_str));
        assert!(!given.is_permit(&key, &Permit { seal, ..over }), "its time is over");
    }

    #[test]
    fn a_list_that_reaches_further_than_its_run_is_refused() {
        assert_eq!(fault(&[file("a", 4), file("b/c", 6)], &ask(1)), None);
        for wrong in [
            vec![file("a", 11)],
            vec![file("a", u64::MAX), file("b", u64::MAX)],
            vec![file("../0b/a", 1)],
            vec![file("/a", 1)],
            vec![file("a", 1), file("a", 1)],
            vec![Artifact { sha256: None, ..file("a", 1) }],
            vec![Artifact { sha256: Some("zz".into()), ..file("a", 1) }],
            vec![],
        ] {
            assert!(fault(&wrong, &ask(0)).is_some(), "{wrong:?}");
        }
        assert!(fault(&[file("a", 1)], &ask(1)).is_some());
    }
}
