//! Names of nodes, of their starts and of gateways, and the subjects that are made of them.
//!
//! A node keeps its name when its process is started again, and gets a new incarnation. Both are in its subjects, so what
//! was meant for a process that is gone reaches nobody, and the sender hears so at once.

use std::fmt::{self, Display};
use std::path::Path;
use std::str::FromStr;

use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::nodes::Address;

/// Heartbeats of all nodes, for those who listen. Each has a subject of its own, and brokers let nobody else speak there.
pub const HEARTBEATS: &str = "cb.hb.*";

/// What the subject of a node's heartbeats begins with.
const HEARTBEAT: &str = "cb.hb.";

/// Heartbeats of gateways.
pub const GATEWAYS: &str = "cb.ghb";

/// What operators say to all nodes.
pub const CONTROL_ALL: &str = "cb.ctl.all";

/// Base32 of RFC 4648, in lower case.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Letters of a node's name.
const NODE: usize = 8;

/// Letters of an incarnation and of a gateway's name.
const START: usize = 13;

/// What a node is asked for, each under a subject of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// To run a job.
    Run,
    /// How a run stands, and to send again what was lost of it.
    Status,
    /// Something that belongs to a run under way: an answer, more room for output, its cancellation.
    Say,
    /// Something about a session.
    Session,
}

impl Verb {
    fn word(self) -> &'static str {
        match self {
            Verb::Run => "run",
            Verb::Status => "st",
            Verb::Say => "say",
            Verb::Session => "sess",
        }
    }
}

impl Address {
    /// The subject under which this start of this node is asked.
    pub fn subject(self, verb: Verb) -> String {
        format!("cb.n.{self}.{}", verb.word())
    }

    /// The subject of its heartbeats.
    pub fn heartbeat(self) -> String {
        format!("{HEARTBEAT}{}", NodeName(self.node))
    }

    /// Whether what came under this subject is from the node that it names. Its broker let only that node speak there.
    pub fn speaks_under(self, subject: &str) -> bool {
        let name = subject.strip_prefix(HEARTBEAT).and_then(|name| name.parse().ok());
        name == Some(NodeName(self.node))
    }

    /// Whether a reply under this subject reaches the node and nobody else: it is below the inbox that its broker lets it
    /// have, and stands for one subject alone.
    pub fn hears(self, reply: &str) -> bool {
        let inbox = node_inbox(NodeName(self.node));
        let rest = reply.strip_prefix(&inbox).and_then(|rest| rest.strip_prefix('.'));
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        rest.is_some_and(|rest| {
            rest.split('.').all(|word| !word.is_empty() && word.bytes().all(is_plain))
        })
    }

    /// The subject under which operators reach the machine, whichever process runs on it.
    pub fn control(self) -> String {
        format!("cb.ctl.{}", NodeName(self.node))
    }
}

/// Node and incarnation with a dot between them, as in subjects.
impl Display for Address {
    fn fmt(&self, form: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(form, "{}.{}", NodeName(self.node), Start(self.incarnation))
    }
}

impl FromStr for Address {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Address, BadName> {
        let (node, incarnation) = text.split_once('.').ok_or(BadName)?;
        let NodeName(node) = node.parse()?;
        let Start(incarnation) = incarnation.parse()?;
        Ok(Address { node, incarnation })
    }
}

impl Serialize for Address {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Address, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The name of a machine: 40 bits, eight letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodeName(pub u64);

impl TryFrom<String> for NodeName {
    type Error = BadName;

    fn try_from(text: String) -> Result<NodeName, BadName> {
        text.parse()
    }
}

impl From<NodeName> for String {
    fn from(name: NodeName) -> String {
        name.to_string()
    }
}

impl NodeName {
    /// A name for a machine that is to be.
    pub fn random() -> std::io::Result<NodeName> {
        Ok(NodeName(Start::random()?.0 >> 24))
    }

    /// The name that this machine has if nobody gave it one: the same at every start.
    pub fn of_machine() -> NodeName {
        let read = |path: &str| std::fs::read(Path::new(path)).unwrap_or_default();
        let mut hash = Sha256::new();
        hash.update(read("/etc/machine-id"));
        hash.update([0]);
        // Containers of one image have the same file.
        hash.update(rustix::system::uname().nodename().to_bytes());
        let hash: [u8; 32] = hash.finalize().into();
        NodeName(hash[..5].iter().fold(0, |bits, &byte| bits << 8 | u64::from(byte)))
    }
}

impl Display for NodeName {
    fn fmt(&self, form: &mut fmt::Formatter<'_>) -> fmt::Result {
        form.write_str(&written(self.0, NODE))
    }
}

impl FromStr for NodeName {
    type Err = BadName;

    fn from_str(text: &str) -> Result<NodeName, BadName> {
        read(text, NODE).map(NodeName)
    }
}

/// One start of a process: 64 random bits, thirteen letters. Gateways have no other name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Start(pub u64);

impl Start {
    /// A new one. An error of the kernel's is not expected, and would make names guessable, not equal.
    pub fn random() -> std::io::Result<Start> {
        let mut bits = [0; 8];
        getrandom(&mut bits, GetRandomFlags::empty())?;
        Ok(Start(u64::from_ne_bytes(bits)))
    }
}

impl Display for Start {
    fn fmt(&self, form: &mut fmt::Formatter<'_>) -> fmt::Result {
        form.write_str(&written(self.0, START))
    }
}

impl FromStr for Start {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Start, BadName> {
        read(text, START).map(Start)
    }
}

/// A text that is not the name of anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a name: a node's has eight letters of a-z and 2-7")]
pub struct BadName;

/// The subject below which a gateway hears replies.
pub fn gateway_inbox(gateway: Start) -> String {
    format!("_INBOX_g.{gateway}")
}

/// The subject below which a node hears replies.
pub fn node_inbox(node: NodeName) -> String {
    format!("_INBOX_w.{node}")
}

fn written(bits: u64, letters: usize) -> String {
    (0..letters)
        .rev()
        .map(|place| char::from(LETTERS[(bits >> (5 * place) & 31) as usize]))
        .collect()
}

fn read(text: &str, letters: usize) -> Result<u64, BadName> {
    if text.len() != letters {
        return Err(BadName);
    }
    let bits = text.bytes().try_fold(0u128, |bits, letter| {
        let value = LETTERS.iter().position(|&known| known == letter)?;
        Some(bits << 5 | value as u128)
    });
    // Thirteen letters hold one bit more than there is.
    bits.and_then(|bits| u64::try_from(bits).ok()).ok_or(BadName)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for bits in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            assert_eq!(Start(bits).to_string().parse(), Ok(Start(bits)));
            let node = NodeName(bits >> 24);
            assert_eq!(node.to_string().parse(), Ok(node));
            let address = Address { node: node.0, incarnation: bits };
            assert_eq!(address.to_string().parse(), Ok(address));
        }
        assert_eq!(NodeName::of_machine(), NodeName::of_machine());
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in ["", "short", "UPPERCAS", "eight-88", "ninelette", "aaaa.aaa", "aaaaaaa\u{e9}"]
        {
            assert_eq!(text.parse::<NodeName>(), Err(BadName), "{text}");
        }
        assert_eq!("zzzzzzzzzzzzz".parse::<Start>(), Err(BadName));
        for text in ["aaaaaaaa", "aaaaaaaa.", "aaaaaaaa.aaaaaaaaaaaaa.x"] {
            assert_eq!(text.parse::<Address>(), Err(BadName), "{text}");
        }
    }

    #[test]
    fn a_subject_names_the_node_and_its_start() {
        let address = Address { node: 1, incarnation: 2 };
        assert_eq!(address.subject(Verb::Run), "cb.n.aaaaaaab.aaaaaaaaaaaac.run");
        assert_eq!(address.control(), "cb.ctl.aaaaaaab");
        assert_eq!(address.heartbeat(), "cb.hb.aaaaaaab");
        assert!(address.speaks_under("cb.hb.aaaaaaab"));
        for subject in ["cb.hb.aaaaaaac", "cb.hb", "cb.hb.", "cb.n.aaaaaaab", "aaaaaaab"] {
            assert!(!address.speaks_under(subject), "{subject}");
        }
        for reply in ["_INBOX_w.aaaaaaab.x", "_INBOX_w.aaaaaaab.sign.aZ-_9"] {
            assert!(address.hears(reply), "{reply}");
        }
        for reply in [
            "",
            "_INBOX_w.aaaaaaab",
            "_INBOX_w.aaaaaaab.",
            "_INBOX_w.aaaaaaab..x",
            "_INBOX_w.aaaaaaab.>",
            "_INBOX_w.aaaaaaab.*",
            "_INBOX_w.aaaaaaab.x y",
            "_INBOX_w.aaaaaaab.x\r\n",
            "_INBOX_w.aaaaaaabc.x",
            "_INBOX_w.aaaaaaac.x",
            "_INBOX_g.aaaaaaab.x",
            "$JS.API.STREAM.PURGE.CB_JOBS",
            "$KV.CB_QUOTA.acme",
        ] {
            assert!(!address.hears(reply), "{reply}");
        }
    }
}
