//! The one table that maps what came of a run to the exit code of a command.

use crate::{Kind, Outcome};

/// The exit code of `carboy run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// The code ran to its end.
    Ok = 0,
    /// The code raised an exception or its result was not JSON under a strict policy.
    Exception = 1,
    /// The request was wrong: an unknown option, an unreadable file, an invalid policy.
    Request = 2,
    /// A limit was crossed.
    Limit = 3,
    /// A layer refused something and the code ended on it.
    Denied = 4,
    /// The language guard refused the code before anything started.
    Rejected = 5,
    /// The process died, or left without an answer.
    Crash = 6,
    /// The run was cancelled.
    Cancelled = 7,
    /// Too much is running already.
    Busy = 8,
    /// carboy itself failed: a layer could not be set up, an interpreter could not be started.
    Engine = 10,
}

impl ExitCode {
    /// Every code with the words of the documented table.
    pub const TABLE: [(ExitCode, &'static str); 10] = [
        (ExitCode::Ok, "the code ran to its end"),
        (
            ExitCode::Exception,
            "the code raised an exception, or its result was not JSON under a strict policy",
        ),
        (ExitCode::Request, "the request was wrong: an option, a file, a policy"),
        (ExitCode::Limit, "a limit was crossed"),
        (ExitCode::Denied, "a layer refused something and the code ended on it"),
        (ExitCode::Rejected, "the language guard refused the code before anything started"),
        (ExitCode::Crash, "the process died, or left without an answer"),
        (ExitCode::Cancelled, "the run was cancelled"),
        (ExitCode::Busy, "too much is running already; there is no outcome"),
        (ExitCode::Engine, "carboy itself failed; there is no outcome"),
    ];

    /// The code for an outcome.
    pub fn of(outcome: &Outcome) -> ExitCode {
        match outcome.error.as_ref().map(|error| error.kind) {
            None => ExitCode::Ok,
            Some(Kind::Exception) => ExitCode::Exception,
            Some(Kind::Limit) => ExitCode::Limit,
            Some(Kind::Denied) => ExitCode::Denied,
            Some(Kind::Rejected) => ExitCode::Rejected,
            Some(Kind::Crash) => ExitCode::Crash,
            Some(Kind::Cancelled) => ExitCode::Cancelled,
        }
    }
}
