//! Why there is no outcome to print, and how that is told.

use std::error::Error;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::fd::OwnedFd;

use carboy_engine::{EngineError, RequestError, RunError};
use carboy_protocol::pipe::{FailureKind, FromEngine, RunFailure};
use carboy_protocol::{ExitCode, visible_json};
use carboy_store::StoreError;

use crate::guest_text::visible;
use crate::paint::Paint;

/// The caller's mistake or our own failure, with the way out.
pub enum Failure {
    /// What was typed cannot be used.
    Usage { message: String, hint: Option<String> },
    /// The engine refused or failed.
    Run(RunError),
    /// A store of records could not do what it was asked.
    Store(StoreError),
    /// A fault in this program: what it said of it is on standard error.
    Panic,
}

/// For whom a failure is told, and where.
pub enum Reader {
    /// A person, on standard error.
    Person,
    /// A program that wants one JSON value on standard output.
    Program,
    /// A program that reads JSON lines, from this socket or from standard output.
    Lines(Option<OwnedFd>),
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        Failure::Run(error)
    }
}

impl Failure {
    /// A mistake in what was typed.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure::Usage { message: message.into(), hint: Some(hint.into()) }
    }

    /// An error of the operating system, with what we were doing.
    pub fn os<E: Into<std::io::Error>>(step: &'static str) -> impl FnOnce(E) -> Failure {
        move |error| Failure::Run(RunError::Engine(EngineError::Os { step, error: error.into() }))
    }

    fn code(&self) -> ExitCode {
        match self.for_pipe().kind {
            FailureKind::Request => ExitCode::Request,
            FailureKind::Engine => ExitCode::Engine,
            FailureKind::Busy => ExitCode::Busy,
            FailureKind::Cancelled => ExitCode::Cancelled,
        }
    }

    /// Tells the failure to whoever reads it.
    pub fn tell(&self, reader: Reader) -> std::process::ExitCode {
        let told = match reader {
            Reader::Person => Err(()),
            Reader::Program => print_json(&serde_json::json!({ "failure": self.for_pipe() }))
                .map_err(|_unwritable| ()),
            Reader::Lines(socket) => self.line(socket),
        };
        if told.is_err() {
            self.report();
        }
        (self.code() as u8).into()
    }

    /// Writes the failure as a message about no run.
    fn line(&self, socket: Option<OwnedFd>) -> Result<(), ()> {
        let message = FromEngine::Failed { id: None, failure: self.for_pipe() };
        let line = serde_json::to_string(&message).map_err(|_unwritable| ())?;
        let line = format!("{}\n", visible_json(&line)).into_bytes();
        let written = match socket {
            Some(socket) => File::from(socket).write_all(&line),
            None => std::io::stdout().write_all(&line),
        };
        written.map_err(|_unwritable| ())
    }

    /// Prints the failure for a person.
    pub fn report(&self) {
        let paint = Paint::stderr();
        let RunFailure { message, causes, hint, .. } = self.for_pipe();
        // A preloaded module may have put its words into these.
        let mut text = format!("{} {}\n", paint.red("error:"), visible(&message));
        for cause in causes {
            text.push_str(&format!("  {} {}\n", paint.dim("cause:"), visible(&cause)));
        }
        if let Some(hint) = hint {
            text.push_str(&format!("{} {}\n", paint.cyan("hint:"), visible(&hint)));
        }
        // If nobody reads our errors, the exit code still says it.
        std::io::stderr().write_all(text.as_bytes()).ok();
    }

    /// The failure for a program.
    pub fn for_pipe(&self) -> RunFailure {
        match self {
            Failure::Usage { message, hint } => RunFailure {
                kind: FailureKind::Request,
                message: message.clone(),
                causes: vec![],
                hint: hint.clone(),
            },
            Failure::Run(error) => error.failure(),
            Failure::Store(error) => RunFailure {
                kind: if error.is_request() { FailureKind::Request } else { FailureKind::Engine },
                message: error.to_string(),
                causes: error.source().iter().map(ToString::to_string).collect(),
                hint: Some(error.hint().into()),
            },
            Failure::Panic => RunFailure {
                kind: FailureKind::Engine,
                message: "carboy stopped at a fault of its own".into(),
                causes: vec![],
                hint: Some("report it, with what was run and what standard error says".into()),
            },
        }
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Failure {
        Failure::Run(RunError::Request(error))
    }
}

/// One JSON value on standard output.
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(std::io::Error::other)
        .map_err(Failure::os("write JSON"))?;
    text.push('\n');
    // Also for those who print it later: what guest code wrote must not steer their terminals.
    print(&visible_json(&text))
}

/// A whole file of a guest's on standard output: as it is, but made visible on a terminal.
pub fn print_guest(text: &str) -> Result<(), Failure> {
    if std::io::stdout().is_terminal() { print(&visible(text)) } else { print(text) }
}

/// Text on standard output. Whoever closed it does not want to read on, which is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(Failure::os("write to standard output")),
    }
}
