//! Why a gateway to other nodes has no outcome.

use std::time::Duration;

use carboy_protocol::pipe::{FailureKind, RunFailure};

/// What a gateway meets that an engine of this process does not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FleetError {
    /// The node that ran it has no outcome either. These are its words.
    #[error("{}", .0.message)]
    Node(Box<RunFailure>),
    /// The node that had it is gone or cannot be reached. It may have run, in part or to its end.
    #[error("the node that ran it was lost")]
    WorkerLost,
    /// It was being run when its node was lost, and again on another one.
    #[error("the run was lost with its node {times} times, and is not tried again")]
    Poison {
        /// How often.
        times: u32,
    },
    /// The tenant has as many runs waiting as it may. Nothing ran.
    #[error("too many runs of this tenant wait for a node already")]
    TenantFull {
        /// When there may be room.
        retry_after: Duration,
    },
    /// No node had a place for it in time. Nothing ran.
    #[error("no node has a place for it")]
    Full {
        /// When there may be one.
        retry_after: Duration,
    },
    /// No node can be reached. Nothing ran.
    #[error("no node can be reached")]
    Unreachable {
        /// When one may be.
        retry_after: Duration,
    },
    /// The node of the session is about to leave, and opens no more sessions. This one goes on until then.
    #[error("the node of the session is about to leave, and opens no more")]
    Drained,
    /// The session was on a node that is gone.
    #[error("the session was lost with its node")]
    SessionLost,
    /// It does not fit into a message to a node. Nothing ran.
    #[error("a run of {bytes} bytes is larger than what nodes are sent ({most} bytes)")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The bound.
        most: usize,
    },
    /// A node said something that it must not.
    #[error("the node that ran it broke the protocol: {what}")]
    Broken {
        /// What was wrong.
        what: &'static str,
    },
}

impl FleetError {
    /// Whose fault it is.
    pub fn kind(&self) -> FailureKind {
        match self {
            FleetError::Node(failure) => failure.kind,
            FleetError::WorkerLost | FleetError::Poison { .. } | FleetError::Broken { .. } => {
                FailureKind::Engine
            }
            FleetError::TenantFull { .. }
            | FleetError::Full { .. }
            | FleetError::Drained
            | FleetError::Unreachable { .. } => FailureKind::Busy,
            FleetError::SessionLost | FleetError::TooLarge { .. } => FailureKind::Request,
        }
    }

    /// When it may work, if it is only a matter of time.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            FleetError::TenantFull { retry_after }
            | FleetError::Full { retry_after }
            | FleetError::Unreachable { retry_after } => Some(*retry_after),
            _ => None,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            FleetError::Node(failure) => return failure.hint.clone(),
            FleetError::WorkerLost => {
                "it may have done something before that; send it again if that does no harm"
            }
            FleetError::Poison { .. } => {
                "it may be what ends them: try it alone, with lower limits of memory"
            }
            FleetError::TenantFull { retry_after }
            | FleetError::Full { retry_after }
            | FleetError::Unreachable { retry_after } => {
                return Some(format!("try again in {} ms", retry_after.as_millis()));
            }
            FleetError::Drained => {
                "open another session with POST /v1/sessions: another node has it"
            }
            FleetError::SessionLost => "open another one; what it held is gone",
            FleetError::TooLarge { .. } => "send less with it: fewer or smaller files and inputs",
            FleetError::Broken { .. } => {
                "do gateway and node have versions of carboy that fit together?"
            }
        };
        Some(hint.into())
    }
}
