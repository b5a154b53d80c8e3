//! Why a run ended: one cause, from what the kernel and the engine know.
//!
//! The guest's own words fill in a message and a traceback. They can name an exception, but they
//! cannot make a limit out of it: for that the kernel must agree.

use carboy_protocol::{
    FromJar, GuestError, GuestFailure, Kind, LimitHit, LimitName, Limits, ProcessExit, ResultFault,
};
use rustix::io::Errno;
use serde_json::value::RawValue;

use crate::denials::Ledger;
use crate::planning::{self, Baseline};
use crate::zygote::Ended;

/// What ended the watch over a run.
#[derive(Debug)]
pub(crate) enum End {
    /// The jar sent its last frame.
    Said(FromJar),
    /// It sent something that is not a frame.
    BrokenFrame(String),
    /// It closed the pipe for its result and went on.
    PipeClosed,
    /// Its process ended without a last frame.
    Gone,
    /// The engine saw a limit crossed.
    Limit(LimitName),
    /// The caller ended it.
    Cancelled,
}

/// What the kernel knows of the jar.
#[derive(Debug)]
pub(crate) struct Facts {
    pub ended: Ended,
    /// What it had used before the job came: sealing, warming.
    pub cpu_before_us: u64,
    /// The most private memory that was seen, as the kernel counts it for its limit.
    pub data_bytes: u64,
    /// The address space at its highest.
    pub peak_address_bytes: u64,
    /// Resident memory at its highest.
    pub peak_resident_bytes: u64,
    pub open_descriptors: Option<u64>,
    pub space_full: bool,
    pub files_full: bool,
    pub baseline: Baseline,
}

/// The result, or the error, of a run.
pub(crate) fn decide(
    end: End,
    facts: &Facts,
    ledger: &Ledger<'_>,
    limits: &Limits,
) -> Result<Option<Box<RawValue>>, Box<GuestError>> {
    let error = match end {
        End::Said(FromJar::Done { result }) => return Ok(result),
        End::Said(FromJar::Failed(failure)) => raised(failure, facts, ledger, limits),
        End::Said(FromJar::BadResult { fault, detail }) => bad_result(fault, &detail),
        End::Said(FromJar::Ready {} | FromJar::Call(_)) => broken("it did not answer"),
        End::BrokenFrame(what) => broken(&what),
        End::PipeClosed => engine_word(
            Kind::Crash,
            "ResultPipeClosed",
            "the code closed the pipe for its result and went on",
            "leave descriptors 3 and 4 alone; answer by assigning to `result`",
        ),
        End::Limit(name) => limit(name, limits),
        End::Cancelled => engine_word(Kind::Cancelled, "Cancelled", "the run was cancelled", ""),
        End::Gone => gone(facts, limits),
    };
    Err(Box::new(error))
}

fn engine_word(kind: Kind, type_name: &str, message: &str, hint: &str) -> GuestError {
    GuestError {
        kind,
        type_name: type_name.into(),
        message: message.into(),
        traceback: None,
        line: None,
        limit: None,
        exit: None,
        hint: (!hint.is_empty()).then(|| hint.into()),
    }
}

fn broken(what: &str) -> GuestError {
    engine_word(
        Kind::Crash,
        "BrokenFrame",
        &format!("the jar broke the frame of its answer: {what}"),
        "leave descriptors 3 and 4 alone; answer by assigning to `result`",
    )
}

/// The words for a crossed limit.
fn limit(name: LimitName, limits: &Limits) -> GuestError {
    let (row, allowed) = (name.row(), limits.get(name));
    let mut error = engine_word(Kind::Limit, "LimitExceeded", &row.crossed(allowed), row.hint);
    error.limit = Some(LimitHit { name, allowed });
    error
}

/// The process ended without an answer.
fn gone(facts: &Facts, limits: &Limits) -> GuestError {
    let cpu_limit_us = limits.cpu_ms.div_ceil(1000) * 1_000_000;
    let mut error = match (facts.ended.signal, facts.ended.code) {
        // The kernel sends this one itself when the processor limit is reached. Nobody inside can.
        // It samples at clock ticks for the limit and counts exactly for usage, so on a busy host
        // the two differ by some percent.
        (Some(9), _) if facts.ended.cpu_us >= cpu_limit_us / 4 * 3 => {
            return limit(LimitName::CpuMs, limits);
        }
        (Some(31), _) => engine_word(
            Kind::Denied,
            "SIGSYS",
            "the code made a system call that no profile allows, and the kernel ended it",
            "use Python's own functions instead of calling the kernel directly",
        ),
        (Some(signal), _) => {
            let name = signal_name(signal);
            let message = format!("the interpreter was ended by signal {name}");
            engine_word(Kind::Crash, &name, &message, signal_hint(signal))
        }
        (None, code) => {
            let code = code.unwrap_or_default();
            engine_word(
                Kind::Crash,
                "Exit",
                &format!("the interpreter exited with code {code} and without an answer"),
                "end by reaching the last line, or with sys.exit(), not with os._exit()",
            )
        }
    };
    let code = ProcessExit::Code(facts.ended.code.unwrap_or_default());
    error.exit = Some(facts.ended.signal.map_or(code, ProcessExit::Signal));
    error
}

fn signal_name(signal: i32) -> String {
    let names = [
        (4, "SIGILL"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (25, "SIGXFSZ"),
    ];
    let known = names.iter().find(|(number, _)| *number == signal);
    known.map_or_else(|| format!("SIG{signal}"), |(_, name)| (*name).to_owned())
}

fn signal_hint(signal: i32) -> &'static str {
    match signal {
        9 => "the host ended it, most likely for want of memory; try again with less data",
        11 => "an extension module crashed, or recursion went too deep for the stack",
        _ => "an extension module failed; look for the call that did not return",
    }
}

/// The code raised. What it raised is its own word; whether a limit stands behind it is not.
fn raised(
    failure: GuestFailure,
    facts: &Facts,
    ledger: &Ledger<'_>,
    limits: &Limits,
) -> GuestError {
    let errno = failure.errno.map(Errno::from_raw_os_error);
    let crossed = if failure.type_name == "MemoryError" && out_of_memory(facts, ledger, limits) {
        Some(LimitName::MemoryBytes)
    } else if matches!(errno, Some(Errno::NOSPC | Errno::FBIG | Errno::DQUOT)) && facts.files_full {
        Some(LimitName::Files)
    } else if matches!(errno, Some(Errno::NOSPC | Errno::FBIG | Errno::DQUOT)) && facts.space_full {
        Some(LimitName::FileBytes)
    } else if errno == Some(Errno::MFILE) && out_of_descriptors(facts, limits) {
        Some(LimitName::OpenFiles)
    } else if failure.type_name == "RuntimeError" && ledger.threads_refused {
        Some(LimitName::Threads)
    } else if matches!(errno, Some(Errno::PERM | Errno::AGAIN)) && ledger.processes_refused {
        Some(LimitName::Processes)
    } else {
        None
    };
    let mut error = match (crossed, &ledger.last, errno) {
        (Some(name), _, _) => limit(name, limits),
        (None, Some((_, answered, hint)), Some(errno)) if errno.raw_os_error() == *answered => {
            engine_word(Kind::Denied, &failure.type_name, &failure.message, hint)
        }
        _ => engine_word(
            Kind::Exception,
            &failure.type_name,
            &failure.message,
            exception_hint(&failure.type_name, errno),
        ),
    };
    if error.kind == Kind::Exception && failure.type_name == "SystemExit" {
        error.exit = failure.exit.map(|code| ProcessExit::Code(code.into()));
    }
    error.traceback = failure.traceback;
    error.line = failure.line;
    error
}

fn out_of_memory(facts: &Facts, ledger: &Ledger<'_>, limits: &Limits) -> bool {
    // What failed may have been freed before anybody looked, so most of it is enough.
    let most = limits.memory_bytes / 4 * 3;
    let used = facts.data_bytes.saturating_sub(facts.baseline.data_bytes);
    // The kernel's own peaks: mapping files raises the first, and only touching them the second.
    let mapped = facts.peak_address_bytes.saturating_sub(facts.baseline.address_bytes);
    let touched = facts.peak_resident_bytes.saturating_sub(facts.baseline.anonymous_bytes);
    ledger.memory_refused || used >= most || (mapped >= most && touched >= most)
}

/// Whether as many descriptors are open as there can be. What failed for want of one may have been
/// more than one, as a pipe is.
fn out_of_descriptors(facts: &Facts, limits: &Limits) -> bool {
    facts.open_descriptors.is_some_and(|open| open + 1 >= planning::open_files(limits))
}

fn exception_hint(type_name: &str, errno: Option<Errno>) -> &'static str {
    match (type_name, errno) {
        (_, Some(Errno::ACCESS | Errno::ROFS)) => {
            "only the current directory and the temporary directory can be written; of the rest, \
             only the interpreter and its packages can be read"
        }
        (_, Some(Errno::NOENT)) => {
            "the host's files are not here; pass data as input, or write it in this run first"
        }
        ("MemoryError", _) => {
            "work in smaller pieces; if this is not the code's own error, raise limits.memory_bytes"
        }
        (_, Some(Errno::MFILE)) => {
            "no more files could be opened; close them with `with`, or raise limits.open_files"
        }
        (_, Some(Errno::NOSPC | Errno::FBIG)) => {
            "no more could be written; write less, or raise limits.file_bytes or limits.files"
        }
        ("ModuleNotFoundError" | "ImportError", _) => {
            "only modules that this interpreter has can be imported; use another, or run with an \
             interpreter that has it"
        }
        _ => "",
    }
}

fn bad_result(fault: ResultFault, detail: &str) -> GuestError {
    let (type_name, hint) = match fault {
        ResultFault::NotAwaited => ("ResultNotJson", "write `await` before the call that made it"),
        ResultFault::NotJson => (
            "ResultNotJson",
            "return dicts with text keys, lists, text, numbers, booleans or None; convert others, \
             for example with str(), list(), .tolist() or .to_dict()",
        ),
        ResultFault::NotFinite => {
            ("ResultNotFinite", "replace NaN and infinities with None before returning them")
        }
        ResultFault::NotText => (
            "ResultNotText",
            "a string contains an unpaired surrogate; clean it with .encode('utf-8', 'replace').decode()",
        ),
    };
    let message = format!("the result is not JSON: {detail}");
    engine_word(Kind::Exception, type_name, &message, hint)
}
