//! What gateways ask of a node's sessions, and what nodes answer.
//!
//! It rides on what is said of runs: an ask has a run's id, so it is done once however often it comes, and its answer
//! is sent again if it was lost.

use std::time::Duration;

use carboy_engine::{Busy, FleetError, RequestError, RunError};
use carboy_protocol::pipe::{FailureKind, RunFailure};
use carboy_protocol::{Reply, Variables};
use serde::{Deserialize, Serialize};

/// The session that something is asked of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOf {
    /// Its id.
    pub id: String,
    /// What.
    pub what: Wanted,
}

/// What is asked of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// To be opened. The body is what it is opened with.
    Open {},
    /// Whether it is there.
    Attach {},
    /// To run a piece of code: the body.
    Run {},
    /// To open another that goes on from its state.
    Branch {
        /// The id of the new one.
        to: String,
    },
    /// What its code has defined.
    Variables {},
    /// The names of what is kept.
    Checkpoints {},
    /// To keep its state.
    Checkpoint {
        /// Under which name.
        name: String,
    },
    /// To go back.
    Rollback {
        /// To what is kept under which name.
        name: String,
    },
    /// To forget what is kept.
    Drop {
        /// Under which name.
        name: String,
    },
    /// To end.
    Close {},
}

/// What a node answers: the body of what a run's outcome is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// It is done.
    Done {},
    /// What came of a piece of code.
    Reply(Box<Reply>),
    /// What its code has defined.
    Variables(Variables),
    /// The names of what is kept.
    Checkpoints {
        /// In order.
        names: Vec<String>,
    },
    /// It was not done.
    Not(Fault),
}

/// Why something was not done with a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// This tenant has no such session here.
    Unknown {},
    /// It is over.
    Over {
        /// What ended it.
        why: String,
    },
    /// Nothing is kept under this name.
    NoCheckpoint {
        /// Which.
        name: String,
    },
    /// A session does not do that.
    Refused {
        /// What is in the way.
        why: String,
    },
    /// There is no room on this node, for another session or for what was asked of this one.
    Full {
        /// When there may be some.
        retry_ms: u64,
    },
    /// The node is about to leave, and opens no more.
    Drained {},
    /// It was cancelled before it began.
    Cancelled {},
    /// Anything else.
    Failed(RunFailure),
}

/// How long to wait before a node that is full is asked again, if it does not say.
pub(super) const RETRY: Duration = Duration::from_secs(1);

impl Fault {
    /// What is asked later may be done.
    pub fn full() -> Fault {
        Fault::Full { retry_ms: RETRY.as_millis() as u64 }
    }

    /// What a node's runner said.
    pub fn of(error: &RunError) -> Fault {
        match error {
            RunError::Request(RequestError::SessionOver { why }) => {
                Fault::Over { why: why.clone() }
            }
            RunError::Request(RequestError::NoCheckpoint { name }) => {
                Fault::NoCheckpoint { name: name.clone() }
            }
            RunError::Request(RequestError::Session { why }) => Fault::Refused { why: why.clone() },
            RunError::Busy(Busy { retry_after, .. }) => {
                let retry_ms = u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX);
                Fault::Full { retry_ms }
            }
            RunError::Cancelled => Fault::Cancelled {},
            other => Fault::Failed(other.failure()),
        }
    }

    /// The same for a caller of the gateway.
    pub fn error(self) -> RunError {
        match self {
            // Who asks has an id that is signed: there was such a session.
            Fault::Unknown {} => over("its node does not have it any more".into()),
            Fault::Over { why } => over(why),
            Fault::NoCheckpoint { name } => RequestError::NoCheckpoint { name }.into(),
            Fault::Refused { why } => RequestError::Session { why }.into(),
            Fault::Full { retry_ms } => {
                FleetError::Full { retry_after: Duration::from_millis(retry_ms) }.into()
            }
            Fault::Drained {} => RunError::Fleet(FleetError::Drained),
            Fault::Cancelled {} => RunError::Cancelled,
            Fault::Failed(failure) => FleetError::Node(Box::new(failure)).into(),
        }
    }
}

/// What a node answers to what it cannot read.
pub(super) fn unread(what: &str, error: &serde_json::Error) -> Fault {
    Fault::Failed(RunFailure {
        kind: FailureKind::Engine,
        message: format!("the node could not read {what}"),
        causes: vec![error.to_string()],
        hint: Some("do gateway and node have versions of carboy that fit together?".into()),
    })
}

fn over(why: String) -> RunError {
    RequestError::SessionOver { why }.into()
}
