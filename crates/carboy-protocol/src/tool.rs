//! Functions of the host that code in a jar may call.
//!
//! A jar knows only their names. It asks with a call, the caller runs the function and answers, and
//! both carry JSON and nothing else.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A function that the caller offers to one job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// What the code calls it: a Python name.
    pub name: String,
    /// What `help` shows of it, its signature in the first line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doc: String,
    /// Whether the code awaits it.
    #[serde(default, rename = "async")]
    pub is_async: bool,
    /// How much of a call's time does not count as the run's, in milliseconds.
    #[serde(default)]
    pub budget_ms: u64,
}

impl Tool {
    /// The most time that one call may add to a run: a day.
    pub const MAX_BUDGET_MS: u64 = 24 * 3_600_000;
    /// The most tools that one job may be offered.
    pub const MAX_TOOLS: usize = 1_000;
    /// The longest `doc`, in bytes.
    pub const MAX_DOC: usize = 64 << 10;
}

/// A call of a tool, from the code in a jar to the caller. Everything in it is the guest's word, but
/// `tool` is compared with the names that the job offered before anybody is told of the call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The jar's number for it.
    pub call: u64,
    /// The tool's name.
    pub tool: String,
    /// Arguments by position: a JSON array.
    pub args: Box<RawValue>,
    /// Arguments by name: a JSON object.
    pub kwargs: Box<RawValue>,
}

/// Whose fault it is that a tool has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ToolFaultKind {
    /// The code's: it called with arguments that the tool does not take.
    Arguments,
    /// The tool's.
    Tool,
}

/// Why a tool has no answer, for the code that called it to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolFault {
    /// Whose fault it is.
    pub kind: ToolFaultKind,
    /// What went wrong.
    pub message: String,
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CallStatus {
    /// It was answered with a value.
    Ok,
    /// It was answered with a fault.
    Error,
    /// The run ended first.
    Unanswered,
}

/// One call of a tool, as the engine saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolCall {
    /// Which tool.
    pub tool: String,
    /// What came of it.
    pub status: CallStatus,
    /// How long the caller took to answer.
    pub wall_ms: f64,
}
