//! The caller's mistakes and our own failures.

mod fleet;
mod request;

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use carboy_protocol::SetupFault;
use carboy_protocol::pipe::{FailureKind, RunFailure};

pub use self::fleet::FleetError;
pub(crate) use self::request::MISSING;
pub use self::request::RequestError;
use self::request::{REPLACED, UNREADABLE};

/// We failed, and nothing of the guest ran, or what ran was ended.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A layer could not be set up.
    #[error("could not build the walls")]
    Walls(#[source] SetupFault),
    /// What the kernel shows of a jar is less than the plan asked.
    #[error("a jar is not sealed as planned: {what}: found {found}, wanted {wanted}")]
    Posture {
        /// What differs.
        what: &'static str,
        /// What the kernel shows.
        found: String,
        /// What was planned.
        wanted: String,
    },
    /// The interpreter ended before it was ready.
    #[error("the zygote ended before it was ready{}", said(.stderr))]
    ZygoteEnded {
        /// The end of what it wrote to standard error.
        stderr: String,
    },
    /// The zygote could not import a module that it was to preload: the caller's mistake.
    #[error("cannot preload {module}: {error}")]
    NotPreloaded {
        /// Which one.
        module: String,
        /// The exception that its import raised.
        error: String,
    },
    /// A module that was to be preloaded cannot be in a zygote. It is imported in jars instead.
    #[error("{module} cannot be in a zygote: {why}")]
    Untamed {
        /// Which one.
        module: String,
        /// What it does.
        why: &'static str,
    },
    /// A zygote that was serving is gone.
    #[error("the zygote ended while it was needed")]
    ZygoteGone,
    /// A preloaded module started a thread, and a process with threads cannot be forked safely.
    #[error("the zygote has more than one thread")]
    Threads,
    /// A preloaded module mapped memory that every jar would share with every other.
    #[error("the zygote holds shared writable memory ({mapping}), after it imported {preload}")]
    SharedMemory {
        /// Its name and its size.
        mapping: String,
        /// What was preloaded.
        preload: String,
    },
    /// Something took longer than it ever should.
    #[error("{what} took longer than {seconds} s")]
    TooSlow {
        /// What.
        what: &'static str,
        /// The bound.
        seconds: u64,
    },
    /// The program that was named and this engine are of different versions.
    #[error("the carboy program speaks version {found} of the wire, this engine {wanted}")]
    Version {
        /// The program's.
        found: u32,
        /// Ours.
        wanted: u32,
    },
    /// The carboy program is not where it should be.
    #[error("the carboy program is missing: {}", .path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// In nested walls jars write to a directory of the host, and none can be made.
    #[error("could not make a private directory in {}", .folder.display())]
    Scratch {
        /// Where it was to be.
        folder: PathBuf,
        /// The answer.
        #[source]
        error: std::io::Error,
    },
    /// The run took place, but no record of it could be kept where one was asked for.
    #[error("the run could not be recorded, so its outcome is not given out")]
    Unrecorded {
        /// What failed on which store.
        #[source]
        error: Box<dyn Error + Send + Sync>,
        /// What to do about it.
        hint: &'static str,
    },
    /// A call of the operating system failed.
    #[error("could not {step}")]
    Os {
        /// What we were doing.
        step: &'static str,
        /// The answer.
        #[source]
        error: std::io::Error,
    },
}

fn said(stderr: &str) -> String {
    if stderr.trim().is_empty() { String::new() } else { format!(":\n{}", stderr.trim_end()) }
}

impl EngineError {
    /// The layer that a policy demands and this host does not have, if that is why nothing was run.
    pub fn missing_layer(&self) -> Option<&str> {
        match self {
            EngineError::Walls(SetupFault { layer, step, object, .. }) => {
                let demanded = [
                    ("cgroup", "policy", "cgroup"),
                    ("landlock", "landlock_create_ruleset", "version"),
                ];
                demanded.contains(&(&**layer, &**step, &**object)).then_some(&**layer)
            }
            _ => None,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            EngineError::Walls(fault) => Some(carboy_jail::hint(fault)),
            EngineError::ZygoteEnded { .. } => Some(
                "the interpreter must start with `-I` and have ctypes; every preloaded module \
                 must import",
            ),
            EngineError::NotPreloaded { .. } => {
                Some("name modules that the interpreter has: those of its own environment")
            }
            EngineError::Version { .. } | EngineError::Missing { .. } => Some(
                "an engine needs a `carboy` program of its own version: install that, or name it",
            ),
            EngineError::Posture { .. } => {
                Some("nothing was run; `carboy doctor` shows each layer of this host")
            }
            EngineError::ZygoteGone => Some("run it again: the next run starts a new zygote"),
            EngineError::Untamed { .. } => Some("import it in the code instead"),
            EngineError::Threads => {
                Some("a preloaded module started a thread; import it in the code instead")
            }
            EngineError::SharedMemory { .. } => Some(
                "a preloaded module mapped memory that all jars would share; import it in the code \
                 instead",
            ),
            EngineError::TooSlow { .. } => {
                Some("this host is overloaded; try again with fewer runs")
            }
            EngineError::Scratch { .. } => Some(
                "set TMPDIR to a directory that this user can write; in a container with a read-only \
                 root that is a tmpfs or an emptyDir volume",
            ),
            EngineError::Unrecorded { hint, .. } => Some(hint),
            EngineError::Os { .. } => Some("`carboy doctor` shows what this host offers"),
        }
    }
}

impl From<EngineError> for RunError {
    fn from(error: EngineError) -> RunError {
        match error {
            EngineError::NotPreloaded { module, error } => {
                RunError::Request(RequestError::Preload { module, error })
            }
            // What is given was looked at, and is not what it was, or cannot be read by the jar's user.
            EngineError::Walls(fault) if fault.layer == carboy_jail::GIVEN => {
                let SetupFault { object: name, answer: why, step, .. } = fault;
                let hint = if step == "access" { UNREADABLE } else { REPLACED };
                RunError::Request(RequestError::Source { name, why, hint })
            }
            other => RunError::Engine(other),
        }
    }
}

/// Adds what we were doing to an error of the operating system.
pub(crate) trait While<T> {
    fn while_doing(self, step: &'static str) -> Result<T, EngineError>;
}

impl<T, E: Into<std::io::Error>> While<T> for Result<T, E> {
    fn while_doing(self, step: &'static str) -> Result<T, EngineError> {
        self.map_err(|error| EngineError::Os { step, error: error.into() })
    }
}

/// Too much is going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// What there is too little of.
    pub short: Short,
    /// How many wait.
    pub waiting: usize,
    /// When there may be room.
    pub retry_after: Duration,
}

/// What there is too little of for one more run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Short {
    /// Places: too many wait for one, or it would take too long.
    Places,
    /// Memory, which sessions hold for as long as they are open.
    Memory,
    /// Time: its own deadline passes before it could begin.
    Time,
}

impl std::fmt::Display for Busy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.short, self.waiting) {
            (Short::Time, _) => {
                formatter.write_str("the run could not begin before its own deadline")
            }
            (Short::Memory, _) => {
                formatter.write_str("too many runs: sessions hold the memory that it needs")
            }
            (Short::Places, 0) => formatter.write_str("too many runs: every place is taken"),
            (Short::Places, 1) => formatter.write_str("too many runs: 1 is waiting already"),
            (Short::Places, count) => {
                write!(formatter, "too many runs: {count} are waiting already")
            }
        }
    }
}

impl Error for Busy {}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The caller's mistake.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// Our failure.
    #[error(transparent)]
    Engine(EngineError),
    /// Too much is going on. Nothing is wrong with the job; it can be sent again later.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The caller ended the run before it began.
    #[error("the run was cancelled before it began")]
    Cancelled,
    /// A gateway to other nodes has no outcome.
    #[error(transparent)]
    Fleet(#[from] FleetError),
}

impl RunError {
    /// Whose fault it is.
    pub fn kind(&self) -> FailureKind {
        match self {
            RunError::Request(_) => FailureKind::Request,
            RunError::Engine(_) => FailureKind::Engine,
            RunError::Busy(_) => FailureKind::Busy,
            RunError::Cancelled => FailureKind::Cancelled,
            RunError::Fleet(error) => error.kind(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            RunError::Request(error) => error.hint().map(Into::into),
            RunError::Engine(error) => error.hint().map(Into::into),
            RunError::Busy(busy) => {
                let again = format!("try again in {} ms", busy.retry_after.as_millis());
                Some(match busy.short {
                    Short::Places => again,
                    Short::Memory => format!("{again}, or close a session"),
                    Short::Time => format!("{again}, or allow it more time"),
                })
            }
            RunError::Cancelled => None,
            RunError::Fleet(error) => error.hint(),
        }
    }

    /// The same for a program: on a pipe, in a JSON answer.
    pub fn failure(&self) -> RunFailure {
        if let RunError::Fleet(FleetError::Node(failure)) = self {
            return RunFailure::clone(failure);
        }
        let causes = std::iter::successors(self.source(), |cause| (*cause).source());
        RunFailure {
            kind: self.kind(),
            message: self.to_string(),
            causes: causes.map(ToString::to_string).collect(),
            hint: self.hint(),
        }
    }
}
