//! What the caller asks for.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Policy;

/// One request: code, its input, and the policy it runs under.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Python source. It is compiled inside the jar and nowhere else.
    pub code: String,
    /// Any JSON; the code sees it as `context`. Absent means `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Box<RawValue>>,
    /// What the code may do and how much it may use.
    #[serde(default)]
    pub policy: Policy,
}

impl Job {
    /// The longest source a job may carry, in bytes.
    pub const MAX_CODE: usize = 4 << 20;
    /// The longest input a job may carry, in bytes of JSON.
    pub const MAX_INPUT: usize = 16 << 20;

    /// A job with this code and the default policy.
    pub fn new(code: impl Into<String>) -> Job {
        Job { code: code.into(), ..Job::default() }
    }

    /// The same job under another policy.
    #[must_use]
    pub fn with_policy(self, policy: Policy) -> Job {
        Job { policy, ..self }
    }
}
