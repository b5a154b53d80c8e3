//! What gateways and nodes say to each other.
//!
//! A message is a line of JSON, its head, and after it bytes as they are: a job, a piece of output, an outcome. So what
//! a guest printed needs no escaping, and a message can be judged without reading what it carries.
//!
//! Unknown fields are skipped on purpose: in a rolling upgrade both sides meet newer ones. What cannot be understood
//! at all has another [`VERSION`]. Whatever comes from a node is data of bounded size: a node that runs hostile code
//! may have been taken over.

use bytes::{BufMut, Bytes, BytesMut};
use carboy_protocol::{ArtifactWish, Stream, ToolFault};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::files::Permit;
use crate::name::Verb;
use crate::nodes::{Address, Hint};
use crate::session::SessionOf;

/// The version of these messages. A node that finds another refuses, and says so.
pub const VERSION: u32 = 1;

/// The longest head. Names, numbers and one sentence are in it.
const MAX_HEAD: usize = 64 << 10;

/// Events of a run that a node may have sent and the gateway has not taken yet: so many, and of so many bytes
/// unless it is a single one. A gateway that is sent more takes the node for broken.
pub const WINDOW_EVENTS: u64 = 64;
/// The same in bytes.
pub const WINDOW_BYTES: usize = 1 << 20;

/// The largest job, with its files, and what is sent to a session. An engine takes no more over its pipe.
pub const MAX_ASK: usize = 64 << 20;

/// The largest piece of something that is larger than a message.
const PIECE: usize = 256 << 10;

/// What is behind the reply subject of a question how a run stands. That nobody listens means something else there than where
/// the run was sent.
pub const PROBE: &str = ".p";

/// What a head leaves of a payload at least, for whoever cuts something into pieces.
pub const HEAD_ROOM: usize = 4 << 10;

/// A message that is not one.
#[derive(Debug, thiserror::Error)]
pub enum BadMessage {
    /// There is no line in it.
    #[error("a message without a head")]
    NoHead,
    /// The line is no JSON of the right shape.
    #[error("a message whose head cannot be read")]
    Head(#[source] serde_json::Error),
}

/// Writes a message.
pub fn written(head: &impl Serialize, body: &[u8]) -> Bytes {
    let mut text = BytesMut::with_capacity(body.len() + 256).writer();
    // Names and numbers, which JSON always has a form for.
    serde_json::to_writer(&mut text, head).ok();
    let mut text = text.into_inner();
    text.put_u8(b'\n');
    text.put_slice(body);
    text.freeze()
}

/// Cuts a body into pieces that fit into messages of this size. There is at least one.
pub fn pieces(mut body: Bytes, max_payload: usize) -> Vec<Bytes> {
    let most = PIECE.min(max_payload.saturating_sub(HEAD_ROOM)).max(1);
    let mut pieces = Vec::with_capacity(body.len().div_ceil(most).max(1));
    while body.len() > most {
        pieces.push(body.split_to(most));
    }
    pieces.push(body);
    pieces
}

/// Reads a message.
pub fn read<T: DeserializeOwned>(payload: &Bytes) -> Result<(T, Bytes), BadMessage> {
    let most = payload.len().min(MAX_HEAD);
    let end = payload[..most].iter().position(|&byte| byte == b'\n').ok_or(BadMessage::NoHead)?;
    let head = serde_json::from_slice(&payload[..end]).map_err(BadMessage::Head)?;
    Ok((head, payload.slice(end + 1..)))
}

/// Runs a job: what a gateway asks under [`Verb::Run`]. The body is the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAsk {
    /// [`VERSION`].
    pub v: u32,
    /// The id of the run: of its outcome too. A node runs it once in its life, however often it is asked.
    pub run: String,
    /// Who asks.
    pub gateway: String,
    /// For whom it is.
    #[serde(default)]
    pub tenant: String,
    /// How long the answer is of use, in milliseconds from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Whether output is wanted as it comes.
    #[serde(default)]
    pub stream: bool,
    /// Whether it is to be told when the code is about to run.
    #[serde(default)]
    pub begun: bool,
    /// Whether somebody answers its calls.
    #[serde(default)]
    pub tools: bool,
    /// What is wanted of its files.
    #[serde(default)]
    pub artifacts: ArtifactWish,
    /// That its files may be brought to the store, if they are to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Permit>,
    /// What it may come to use of the node's memory.
    #[serde(default)]
    pub memory_bytes: u64,
    /// How many pieces of its body came before this one, which is the last.
    #[serde(default)]
    pub pieces: u32,
    /// What is asked of a session, under [`Verb::Session`]. Then the body is not a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionOf>,
}

impl RunAsk {
    /// Under which subject it is asked.
    pub fn verb(&self) -> Verb {
        if self.session.is_some() { Verb::Session } else { Verb::Run }
    }
}

/// A piece of the body of a [`RunAsk`] that is larger than a message. It comes before it, under the same subject and without a
/// place to reply to. If one is lost, so is the whole: the gateway asks how the run stands, and sends all of it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PieceOf {
    /// The id of the run.
    pub run: String,
    /// Its number, from 0.
    pub number: u32,
}

/// Asks how a run stands, under [`Verb::Status`]. Events from `next` on are sent again, to the
/// reply subject of this message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusAsk {
    /// The id of the run.
    pub run: String,
    /// Who asks.
    pub gateway: String,
    /// The number of the next event that it has not.
    pub next: u64,
}

/// Something for a run under way, under [`Verb::Say`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Say {
    /// The id of the run.
    pub run: String,
    /// The reply subject of the attempt that says it. A node takes no word of an attempt that another followed.
    #[serde(default)]
    pub attempt: String,
    /// What.
    pub what: Said,
}

/// What is said to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// What came of a call. The body is what the tool returned, if it returned something.
    Answer {
        /// Answers of one run are numbered from 0, so that one that comes again is known.
        number: u64,
        /// The run's number for the call.
        call: u64,
        /// Why there is no value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ToolFault>,
        /// How many pieces of its body came before this one, which is the last.
        #[serde(default)]
        pieces: u32,
    },
    /// A piece of the body of an answer that is larger than a message. It comes before the answer; if one is lost, all of it
    /// is sent again.
    AnswerPiece {
        /// The number of the answer.
        number: u64,
        /// The number of the piece, from 0.
        piece: u32,
    },
    /// No more answers can come.
    NoMoreAnswers {},
    /// Events before this one were taken, and there is room for more.
    Took {
        /// The number of the next event.
        next: u64,
    },
    /// It is to end, and to say how.
    Stop {},
    /// It is to end. Nobody waits for what it says.
    Cancel {},
}

/// What a node says of a run, to the reply subject of whoever asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The id of the run.
    pub run: String,
    /// How the node is.
    pub hint: Hint,
    /// How many answers of the caller's it has.
    #[serde(default)]
    pub answers: u64,
    /// What.
    pub what: What,
}

/// What a node says of a run. Those with a number come in its order, from 0, and are sent again when they are asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// It has no place for it now. Nothing ran.
    Busy {},
    /// It has no such run: it never came, or is forgotten.
    Unknown {},
    /// It had such a run, and has forgotten what came of it.
    Forgotten {},
    /// It does not understand what it was asked for. Nothing ran.
    Misunderstood {
        /// The version that it speaks.
        v: u32,
    },
    /// It is under way. The numbered events that were asked for follow.
    Running {
        /// The number that its next event will have.
        next: u64,
    },
    /// The code is about to run.
    Begun {
        /// Its number.
        number: u64,
    },
    /// It printed something: the body.
    Output {
        /// Its number.
        number: u64,
        /// Where.
        stream: Stream,
    },
    /// It calls a tool: the body is the call.
    Call {
        /// Its number.
        number: u64,
    },
    /// A piece of what follows: the body. The pieces before it belong before it.
    Piece {
        /// Its number.
        number: u64,
    },
    /// It is over: the body ends its outcome. Nothing follows.
    Outcome {
        /// Its number.
        number: u64,
    },
    /// There is no outcome: the body is the failure. Nothing follows.
    Failed {
        /// Its number.
        number: u64,
    },
}

impl What {
    /// Its place in the order, if it has one.
    pub fn number(&self) -> Option<u64> {
        match *self {
            What::Busy {}
            | What::Unknown {}
            | What::Forgotten {}
            | What::Misunderstood { .. }
            | What::Running { .. } => None,
            What::Begun { number }
            | What::Output { number, .. }
            | What::Call { number }
            | What::Piece { number }
            | What::Outcome { number }
            | What::Failed { number } => Some(number),
        }
    }
}

/// The heartbeat of a node, to every gateway and to whoever watches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeBeat {
    /// [`VERSION`].
    pub v: u32,
    /// Who.
    pub address: Address,
    /// How it is.
    pub hint: Hint,
    /// The version of carboy.
    #[serde(default)]
    pub version: String,
    /// What runs and sessions may come to use, and the most of that, in bytes.
    #[serde(default)]
    pub memory: Option<(u64, u64)>,
    /// Sessions that are open.
    #[serde(default)]
    pub sessions: u64,
    /// Runs that came to an end since it was started.
    #[serde(default)]
    pub ended: u64,
    /// Runs that it refused since it was started.
    #[serde(default)]
    pub refused: u64,
    /// How long it has been up, in milliseconds.
    #[serde(default)]
    pub up_ms: u64,
}

/// The heartbeat of a gateway, to every node and to whoever watches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayBeat {
    /// [`VERSION`].
    pub v: u32,
    /// Who.
    pub gateway: String,
    /// The version of carboy.
    #[serde(default)]
    pub version: String,
    /// Runs that nodes have of it.
    #[serde(default)]
    pub running: u64,
    /// Runs that wait for a node with a place.
    #[serde(default)]
    pub waiting: u64,
    /// Runs that came to an end since it was started.
    #[serde(default)]
    pub ended: u64,
    /// Runs that it refused since it was started, because there was no place.
    #[serde(default)]
    pub refused: u64,
    /// Refusals of nodes that it got.
    #[serde(default)]
    pub busy: u64,
    /// Runs that were tried again after their node was lost.
    #[serde(default)]
    pub again: u64,
    /// Runs that had no outcome because their node was lost.
    #[serde(default)]
    pub lost: u64,
    /// Nodes that it would send a run to now.
    #[serde(default)]
    pub nodes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const HINT: Hint = Hint { free: 1, total: 8, draining: false };

    #[test]
    fn a_message_is_read_as_it_was_written_and_its_body_is_bytes() {
        let what = What::Output { number: 3, stream: Stream::Stdout };
        let event = Event { run: "r".into(), hint: HINT, answers: 0, what };
        let body = b"a\n\0\xff\n";
        let (again, rest) = read::<Event>(&written(&event, body)).expect("a message");
        assert_eq!((again, &rest[..]), (event, &body[..]));
    }

    #[test]
    fn fields_of_a_newer_version_are_skipped() {
        let text = r#"{"run":"r","gateway":"g","next":1,"later":[1,{"a":2}]}"#;
        let (ask, body) = read::<StatusAsk>(&Bytes::from(format!("{text}\n"))).expect("read");
        assert_eq!((ask.next, body.len()), (1, 0));
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let deep = format!("{}\n", "[".repeat(60_000));
        let long = format!("{{\"run\":\"{}\"}}\n", "a".repeat(MAX_HEAD));
        for text in ["", "{}", "{}\n", "\n", "null\n", "{\"run\":1}\n", &deep, &long] {
            let bytes = Bytes::copy_from_slice(text.as_bytes());
            assert!(read::<StatusAsk>(&bytes).is_err(), "{}", &text[..text.len().min(20)]);
            assert!(read::<Event>(&bytes).is_err());
        }
    }
}
