//! The caller's mistakes.

use std::path::PathBuf;

use carboy_protocol::{PolicyFault, PythonVersion, supported_pythons};

/// What to do about a source that is not there.
pub(crate) const MISSING: &str =
    "name a file that is there and that the user of the engine can open";
pub(super) const REPLACED: &str = "try again, or hand in a copy that nobody else changes";
pub(super) const UNREADABLE: &str = "run carboy as a user who can read it, hand in its bytes, or let others read it (chmod o+r, \
     and o+x for directories): an engine that is root runs code as a user that owns nothing";

/// The caller asked for something that cannot be.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The policy contradicts itself or asks for the impossible.
    #[error("the policy is not valid: {}", list(.0))]
    Policy(Vec<PolicyFault>),
    /// The source is too long.
    #[error("the code has {bytes} bytes, at most {allowed} are accepted")]
    CodeTooLong {
        /// What it has.
        bytes: usize,
        /// What is allowed.
        allowed: usize,
    },
    /// An input is too long, too deep or not JSON, or has no name that code can use.
    #[error("the input `{name}` is not usable: {why}")]
    Input {
        /// Under which name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A file or a mount cannot be handed in.
    #[error("the file `{name}` cannot be handed in: {why}")]
    File {
        /// Under which name, or at which place.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// What was to be handed in is not there, was replaced meanwhile, or could not be read by the code.
    #[error("the file `{name}` cannot be handed in: {why}")]
    Source {
        /// Under which name, or at which place.
        name: String,
        /// What is wrong with it.
        why: String,
        /// What to do about that.
        hint: &'static str,
    },
    /// Files were asked for that lie outside of what may be handed in.
    #[error("outside of the directories from which files may be taken: {}", .paths.join(", "))]
    Zone {
        /// Where they really lie.
        paths: Vec<String>,
    },
    /// A file cannot be a frame.
    #[error("the frame `{name}` cannot be used: {why}")]
    Frame {
        /// The name of the variable.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A tool cannot be offered.
    #[error("the tool `{name}` cannot be offered: {why}")]
    Tool {
        /// What it was to be called.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A module that was to be preloaded cannot be imported.
    #[error("cannot preload {module}: {error}")]
    Preload {
        /// Which one.
        module: String,
        /// The exception that its import raised.
        error: String,
    },
    /// It may come to use more memory than there is for all runs together.
    #[error(
        "a run with these limits may use {} MiB of memory, and there are {} MiB for runs here \
         ({source_of_budget})", mebibytes(*.needed), .budget >> 20
    )]
    NoMemory {
        /// What it may use.
        needed: u64,
        /// What there is.
        budget: u64,
        /// Where that number comes from.
        source_of_budget: String,
    },
    /// A session is over, and everything in it.
    #[error("the session is over: {why}")]
    SessionOver {
        /// What ended it.
        why: String,
    },
    /// Nothing is kept in the session under this name.
    #[error("the session has no checkpoint `{name}`")]
    NoCheckpoint {
        /// Which was asked for.
        name: String,
    },
    /// A session does not do that.
    #[error("{why}")]
    Session {
        /// What is in the way.
        why: String,
    },
    /// The interpreter named does not exist or is not one we can run.
    #[error("the interpreter {} cannot be used: {why}", .path.display())]
    Python {
        /// What was named.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The interpreter named is newer than those that carboy is tested with.
    #[error(
        "the interpreter {} cannot be used: it is CPython {version}, and carboy is tested with {}",
        .path.display(), supported_pythons!()
    )]
    NewPython {
        /// What was named.
        path: PathBuf,
        /// Its version.
        version: PythonVersion,
    },
}

impl RequestError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            RequestError::Policy(_) => {
                Some("`carboy explain` prints the policy in force with every default")
            }
            RequestError::CodeTooLong { .. } => Some("pass data as input, not inside the code"),
            RequestError::Input { .. } => {
                Some("an input is JSON under a Python name, for example --input '[1, 2, 3]'")
            }
            RequestError::File { .. } => Some(
                "a file has a relative name, such as sales.csv, and is a plain file or bytes; a mount is a \
                 directory or a file at /inputs, /data or /workspace, or below",
            ),
            RequestError::Source { hint, .. } => Some(hint),
            RequestError::Zone { .. } => {
                Some("the policy's inputs_from and the engine's name these directories")
            }
            RequestError::Frame { .. } => Some("a frame is a CSV, JSONL, Parquet or Arrow file"),
            RequestError::Tool { .. } => {
                Some("a tool has a Python name of its own, and a caller that answers its calls")
            }
            RequestError::Preload { .. } => {
                Some("name modules that the interpreter has: those of its own environment")
            }
            RequestError::NoMemory { .. } => Some(
                "lower limits.memory_bytes or limits.file_bytes; `carboy doctor` shows the budget, and \
                 --memory-budget sets another",
            ),
            RequestError::Session { .. }
            | RequestError::SessionOver { .. }
            | RequestError::NoCheckpoint { .. } => {
                Some("docs/sessions.md says what a session does and when it ends")
            }
            RequestError::Python { .. } => Some(concat!(
                "name a CPython from ",
                supported_pythons!(),
                ", or the bin/python of a venv, with --python"
            )),
            RequestError::NewPython { .. } => Some(
                "name an older one with --python, or try this one with --untested-python (in Python: \
                 untested_python=True)",
            ),
        }
    }
}

/// Rounded up, so that what is too much never reads as enough.
fn mebibytes(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

fn list(faults: &[PolicyFault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
