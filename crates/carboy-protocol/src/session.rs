//! What is said about sessions: code that is run piece by piece and keeps its state.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{DataFrame, FileSource, Outcome, Policy, Tool};

/// The next piece of a session's code.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Piece {
    /// Python source. What earlier pieces defined is there.
    pub code: String,
    /// Any JSON, by the name under which the code sees it, now and later.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, Box<RawValue>>,
    /// Functions of the caller's that the code may call until it ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// Lowers the policy's time on the clock for this piece; it is never raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    /// Whether an exception too leaves the state as it was before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rollback: bool,
}

/// What a session is opened with.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Opening {
    /// What holds for all of its runs.
    #[serde(default, deserialize_with = "crate::named_policy::read")]
    pub policy: Policy,
    /// JSON values that its code finds under their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, Box<RawValue>>,
    /// Files that its code can read by their names, as those of a job.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, FileSource>,
    /// Files and directories of the host that its code can read at their places, as those of a job.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mounts: BTreeMap<String, String>,
    /// Variables that are made of files, each when code first names it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub frames: BTreeMap<String, DataFrame>,
}

impl Opening {
    /// With nothing but a policy.
    pub fn under(policy: Policy) -> Opening {
        Opening { policy, ..Opening::default() }
    }
}

/// What can be asked of a session beside running code.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SessionAsk {
    /// Open it.
    Open(Box<Opening>),
    /// Tell what its code has defined.
    Variables {},
    /// Open another that goes on from the same state, beside it.
    Branch {
        /// The caller's number for the new one.
        session: u64,
    },
    /// Keep the state under a name.
    Checkpoint {
        /// Which. One that has it is replaced.
        name: String,
    },
    /// Go back to what is kept under a name.
    Rollback {
        /// Which.
        name: String,
    },
    /// Tell the names of what is kept.
    Checkpoints {},
    /// Forget what is kept under a name.
    Drop {
        /// Which.
        name: String,
    },
    /// End it. One that was opened takes its branches along.
    Close {},
}

/// What comes of that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SessionAnswer {
    /// It is done.
    Done {},
    /// What the code has defined.
    Variables(Variables),
    /// The names of what is kept.
    Checkpoints {
        /// In order.
        names: Vec<String>,
    },
}

/// What a run left of a session's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StateAfter {
    /// What the code reached, to its end or to its exception.
    Kept,
    /// What was there before the run.
    Restored,
    /// Nothing: the session is over.
    Ended,
}

/// What came of a piece of code.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reply {
    /// What came of the run.
    pub outcome: Outcome,
    /// What is left of the session's state.
    pub state: StateAfter,
    /// What is to be known about that state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What a session's code has defined, in its own words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Variables {
    /// As many as are told.
    pub variables: Vec<Variable>,
    /// How many there are beside these.
    pub more: u64,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The type of its value.
    #[serde(rename = "type")]
    pub type_name: String,
    /// How large its value is, if that is known: parts of texts and containers, bytes of arrays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}
