//! What came of a run.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Artifact, Display, LeftOut, LimitName, ToolCall, Walls};

/// Whether the code ran to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It did.
    Ok,
    /// It did not; [`Outcome::error`] says why.
    Error,
}

/// Why a run did not end well. Decided by the engine from what the kernel reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The code raised an exception, or under a strict policy answered with something that is not JSON.
    Exception,
    /// A limit was crossed; [`GuestError::limit`] names it.
    Limit,
    /// A layer refused a call and the code ended on that.
    Denied,
    /// The language guard refused the code before anything started.
    Rejected,
    /// The process died, or left without an answer.
    Crash,
    /// The caller ended the run.
    Cancelled,
}

impl Kind {
    /// The word used on every surface.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Exception => "exception",
            Kind::Limit => "limit",
            Kind::Denied => "denied",
            Kind::Rejected => "rejected",
            Kind::Crash => "crash",
            Kind::Cancelled => "cancelled",
        }
    }
}

/// The limit that was crossed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitHit {
    /// Which one.
    pub name: LimitName,
    /// What the policy allowed.
    pub allowed: u64,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProcessExit {
    /// It exited with this code.
    Code(i32),
    /// The signal with this number killed it.
    Signal(i32),
}

/// The error of a run. `message` and `traceback` are the guest's own words; every other field is
/// the engine's.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GuestError {
    /// Why the run did not end well.
    pub kind: Kind,
    /// The exception's class, the signal's name, or a stable word of the engine.
    #[serde(rename = "type")]
    pub type_name: String,
    /// One line.
    pub message: String,
    /// The Python traceback, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceback: Option<String>,
    /// The line of the job's code that raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The limit, when `kind` is `limit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitHit>,
    /// How the process ended without an answer, as the kernel reported it; for a `SystemExit`, the
    /// code that it asked for, in the guest's own words. Absent when a limit ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<ProcessExit>,
    /// What the author of the code can do instead. That may be a model, which cannot raise a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What whoever sets the policy can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_hint: Option<String>,
}

/// Which stream output was written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// One captured stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Output {
    /// The text kept; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// How many bytes the code wrote, as far as they were read.
    pub bytes: u64,
    /// Whether some of them are not in `text`.
    pub truncated: bool,
    /// How many are left out between the beginning and the end. In `text` a line of its own says so.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted_bytes: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero<T: PartialEq + Default>(number: &T) -> bool {
    *number == T::default()
}

/// What refused something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// The language guard.
    Guard,
    /// The system-call filter.
    Seccomp,
    /// The kernel's file rules.
    Landlock,
    /// The network gate.
    Egress,
}

impl Layer {
    /// The word used on every surface.
    pub fn as_str(self) -> &'static str {
        match self {
            Layer::Guard => "guard",
            Layer::Seccomp => "seccomp",
            Layer::Landlock => "landlock",
            Layer::Egress => "egress",
        }
    }
}

/// One thing that a layer refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Denial {
    /// Which layer.
    pub layer: Layer,
    /// What: a system call, a module, an address.
    pub what: String,
    /// How often.
    pub count: u64,
    /// Where in the job's code, if the layer can know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What the policy allows and what to write instead, in one sentence.
    pub hint: String,
    /// What was refused and why, if the layer tells that apart from the way out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What to write instead, if the layer tells it apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
}

/// What the run used, as the kernel and the engine's clock counted it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Waiting for a jar.
    pub queue_ms: f64,
    /// From sending the code to its end.
    pub wall_ms: f64,
    /// Processor time of the jar and of the children it waited for.
    pub cpu_ms: f64,
    /// Resident memory at its highest, pages shared with the zygote included. In a run that is given files,
    /// pages of files are not counted: they are the kernel's cache.
    pub peak_memory_bytes: u64,
}

/// What each layer was when the code ran, read back from the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Layers {
    /// User namespace, whose ids own nothing on the host.
    pub user_ns: bool,
    /// Mount namespace.
    pub mount_ns: bool,
    /// Process-id namespace, with the jar as its first process.
    pub pid_ns: bool,
    /// Network namespace with nothing in it.
    pub net_ns: bool,
    /// IPC namespace.
    pub ipc_ns: bool,
    /// Host-name namespace.
    pub uts_ns: bool,
    /// Cgroup namespace.
    pub cgroup_ns: bool,
    /// The root was a private, read-only tree.
    pub private_root: bool,
    /// The Landlock version in force.
    pub landlock_abi: u32,
    /// What that version does not cover and later ones do; other layers hold it. `carboy explain` says
    /// which.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub landlock_lacks: Vec<String>,
    /// The system-call profile in force.
    pub seccomp: String,
    /// How many filters of its own the kernel reports.
    pub seccomp_filters: u32,
    /// How many filters there are around the engine, such as a container's. They answer first: what one of
    /// them refuses is not among the denials.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub outer_filters: u32,
    /// `no_new_privs` is set.
    pub no_new_privs: bool,
    /// No capability is held: the permitted, effective, inheritable and ambient sets are empty.
    pub no_capabilities: bool,
    /// The bounding set is empty too. An ordinary user in nested walls cannot empty it;
    /// `no_new_privs` makes it count for nothing there.
    pub bounding_set_empty: bool,
    /// The user id inside.
    pub uid: u32,
    /// The kind of control group that bounds it: `version 2`, or `none` where it is measured instead.
    pub cgroup: String,
}

/// How the jar was isolated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Isolation {
    /// Walls × worker; `process` so far.
    pub tier: String,
    /// The walls that stood.
    pub walls: Walls,
    /// Layer by layer.
    pub layers: Layers,
}

/// What came of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    /// 128 random bits in hexadecimal.
    pub id: String,
    /// Whether the code ran to its end.
    pub status: Status,
    /// What the code answered, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    /// The Python type of what it answered, where that is not JSON's own. The guest's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<String>,
    /// How Python shows what it answered, where that has no JSON form. The guest's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_text: Option<String>,
    /// What `result` leaves out of what it answered. The guest's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_note: Option<String>,
    /// What it showed, in order: figures, tables, pictures. The guest's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub displays: Vec<Display>,
    /// What it showed and is not among `displays`. In part the guest's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_note: Option<String>,
    /// Why it did not end well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<GuestError>,
    /// What it wrote to standard output.
    pub stdout: Output,
    /// What it wrote to standard error.
    pub stderr: Output,
    /// What was refused, without what is among `probes`. Of a run that ended well, only what the
    /// language guard refused.
    pub denials: Vec<Denial>,
    /// System calls that were refused and that the run got over: all of a run that ended well; of one
    /// whose time ran out, those that it did not try again in the second half. Libraries try what they can
    /// do without, so these say nothing about the answer; they are here for whoever watches what code tries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<Denial>,
    /// The calls of the caller's tools, in the order they were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// What it used.
    pub usage: Usage,
    /// How it was isolated.
    pub isolation: Isolation,
    /// The files it left.
    pub artifacts: Vec<Artifact>,
    /// What it left that is not among them, one entry for each reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts_left_out: Vec<LeftOut>,
}

impl Outcome {
    /// Everything that was refused, whatever came of the run.
    pub fn refused(&self) -> impl Iterator<Item = &Denial> {
        self.denials.iter().chain(&self.probes)
    }
}
