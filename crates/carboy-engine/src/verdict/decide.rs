//! Finding the one cause.

use carboy_protocol::{FromJar, GuestError, GuestFailure, Kind, LimitName, Limits, ProcessExit};
use rustix::io::Errno;
use serde_json::value::RawValue;

use crate::facts::{Ending, Facts, Refused, open_files};
use crate::verdict::words;

const SIGKILL: i32 = 9;
const SIGSYS: i32 = 31;

/// The result, or the error, of a run.
pub(crate) fn decide(
    ending: Ending,
    facts: &Facts,
    refused: &Refused,
    limits: &Limits,
) -> Result<Option<Box<RawValue>>, Box<GuestError>> {
    let error = match ending {
        Ending::Said(FromJar::Done { result }) => return Ok(result),
        Ending::Said(FromJar::Failed(failure)) => raised(failure, facts, refused, limits),
        Ending::Said(FromJar::BadResult { fault, detail }) => words::bad_result(fault, &detail),
        Ending::Said(FromJar::Ready {} | FromJar::Call(_)) => words::broken("it did not answer"),
        Ending::BrokenFrame(what) => words::broken(&what),
        Ending::PipeClosed => words::pipe_closed(),
        Ending::Limit(name) => words::limit(name, limits),
        Ending::Cancelled => words::cancelled(),
        Ending::Gone => gone(facts, limits),
    };
    Err(Box::new(error))
}

/// The process ended without an answer.
fn gone(facts: &Facts, limits: &Limits) -> GuestError {
    let cpu_limit_us = limits.cpu_ms.div_ceil(1000) * 1_000_000;
    let mut error = match (facts.exit.signal, facts.exit.code) {
        // The kernel sends this one itself when the processor limit is reached. Nobody inside can.
        // It samples at clock ticks for the limit and counts exactly for usage, so on a busy host
        // the two differ by some percent.
        (Some(SIGKILL), _) if facts.exit.cpu_us >= cpu_limit_us / 4 * 3 => {
            return words::limit(LimitName::CpuMs, limits);
        }
        (Some(SIGSYS), _) => words::forbidden_call(),
        (Some(signal), _) => words::signal(signal),
        (None, code) => words::exit(code.unwrap_or_default()),
    };
    let code = ProcessExit::Code(facts.exit.code.unwrap_or_default());
    error.exit = Some(facts.exit.signal.map_or(code, ProcessExit::Signal));
    error
}

/// The code raised. What it raised is its own word; whether a limit stands behind it is not.
fn raised(failure: GuestFailure, facts: &Facts, refused: &Refused, limits: &Limits) -> GuestError {
    let errno = failure.errno.and_then(errno);
    let crossed = if failure.type_name == "MemoryError" && out_of_memory(facts, refused, limits) {
        Some(LimitName::MemoryBytes)
    } else if matches!(errno, Some(Errno::NOSPC | Errno::FBIG | Errno::DQUOT)) && facts.files_full {
        Some(LimitName::Files)
    } else if matches!(errno, Some(Errno::NOSPC | Errno::FBIG | Errno::DQUOT)) && facts.space_full {
        Some(LimitName::FileBytes)
    } else if errno == Some(Errno::MFILE) && out_of_descriptors(facts, limits) {
        Some(LimitName::OpenFiles)
    } else if failure.type_name == "RuntimeError" && refused.threads {
        Some(LimitName::Threads)
    } else if matches!(errno, Some(Errno::PERM | Errno::AGAIN)) && refused.processes {
        Some(LimitName::Processes)
    } else {
        None
    };
    let mut error = match (crossed, &refused.last, errno) {
        (Some(name), _, _) => words::limit(name, limits),
        (None, Some(last), Some(errno)) if errno.raw_os_error() == last.errno => {
            words::error(Kind::Denied, &failure.type_name, &failure.message, &last.hint)
        }
        _ => words::error(
            Kind::Exception,
            &failure.type_name,
            &failure.message,
            words::exception_hint(&failure.type_name, errno),
        ),
    };
    if error.kind == Kind::Exception && failure.type_name == "SystemExit" {
        error.exit = failure.exit.map(|code| ProcessExit::Code(code.into()));
    }
    error.traceback = failure.traceback;
    error.line = failure.line;
    error
}

/// A number that the code said, if it is one that the kernel answers with. Anything may be raised.
fn errno(said: i32) -> Option<Errno> {
    (1..4096).contains(&said).then(|| Errno::from_raw_os_error(said))
}

fn out_of_memory(facts: &Facts, refused: &Refused, limits: &Limits) -> bool {
    // What failed may have been freed before anybody looked, so most of it is enough.
    let most = limits.memory_bytes / 4 * 3;
    let used = facts.data_bytes.saturating_sub(facts.baseline.data_bytes);
    // The kernel's own peaks: mapping files raises the first, and only touching them the second.
    let mapped = facts.peak_address_bytes.saturating_sub(facts.baseline.address_bytes);
    let touched = facts.peak_resident_bytes.saturating_sub(facts.baseline.anonymous_bytes);
    refused.memory || used >= most || (mapped >= most && touched >= most)
}

/// Whether as many descriptors are open as there can be. What failed for want of one may have been
/// more than one, as a pipe is.
fn out_of_descriptors(facts: &Facts, limits: &Limits) -> bool {
    facts.open_descriptors.is_some_and(|open| open + 1 >= open_files(limits))
}
