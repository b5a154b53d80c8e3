//! Why there is no outcome to print, and how that is told.

use std::error::Error;
use std::io::Write;

use carboy_engine::{EngineError, RequestError, RunError};
use carboy_protocol::ExitCode;
use carboy_protocol::pipe::{FailureKind, RunFailure};

use crate::paint::Paint;

/// The caller's mistake or our own failure, with the way out.
pub enum Failure {
    /// What was typed cannot be used.
    Usage { message: String, hint: Option<String> },
    /// The engine refused or failed.
    Run(RunError),
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
        match self {
            Failure::Usage { .. } | Failure::Run(RunError::Request(_)) => ExitCode::Request,
            Failure::Run(RunError::Engine(_)) => ExitCode::Engine,
            Failure::Run(RunError::Busy(_)) => ExitCode::Busy,
            Failure::Run(RunError::Cancelled) => ExitCode::Cancelled,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Failure::Usage { hint, .. } => hint.clone(),
            Failure::Run(RunError::Request(error)) => error.hint().map(Into::into),
            Failure::Run(RunError::Engine(error)) => error.hint().map(Into::into),
            Failure::Run(RunError::Busy(busy)) => {
                Some(format!("try again in {} ms", busy.retry_after.as_millis()))
            }
            Failure::Run(RunError::Cancelled) => None,
        }
    }

    /// What went wrong, and each cause below it.
    fn chain(&self) -> Vec<String> {
        match self {
            Failure::Usage { message, .. } => vec![message.clone()],
            Failure::Run(RunError::Request(error)) => chain(error),
            Failure::Run(RunError::Engine(error)) => chain(error),
            Failure::Run(error @ (RunError::Busy(_) | RunError::Cancelled)) => chain(error),
        }
    }

    /// Prints the failure for a person.
    pub fn report(&self) -> std::process::ExitCode {
        let paint = Paint::stderr();
        let mut text = String::new();
        for (depth, line) in self.chain().iter().enumerate() {
            if depth == 0 {
                text.push_str(&format!("{} {line}\n", paint.red("error:")));
            } else {
                text.push_str(&format!("  {} {line}\n", paint.dim("cause:")));
            }
        }
        if let Some(hint) = self.hint() {
            text.push_str(&format!("{} {hint}\n", paint.cyan("hint:")));
        }
        // If nobody reads our errors, the exit code still says it.
        std::io::stderr().write_all(text.as_bytes()).ok();
        (self.code() as u8).into()
    }

    /// The failure for a program.
    pub fn for_pipe(&self) -> RunFailure {
        let kind = match self.code() {
            ExitCode::Request => FailureKind::Request,
            ExitCode::Cancelled => FailureKind::Cancelled,
            ExitCode::Busy => FailureKind::Busy,
            _ => FailureKind::Engine,
        };
        let mut causes = self.chain();
        let message = causes.remove(0);
        RunFailure { kind, message, causes, hint: self.hint() }
    }

    /// Prints the failure for a program.
    pub fn report_json(&self) -> Result<std::process::ExitCode, Failure> {
        print_json(&serde_json::json!({ "failure": self.for_pipe() }))?;
        Ok((self.code() as u8).into())
    }
}

fn chain(error: &(impl Error + 'static)) -> Vec<String> {
    let mut lines = vec![error.to_string()];
    let mut source = error.source();
    while let Some(cause) = source {
        lines.push(cause.to_string());
        source = cause.source();
    }
    lines
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
    print(&text)
}

/// Text on standard output. Whoever closed it does not want to read on, which is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(Failure::os("write to standard output")),
    }
}
