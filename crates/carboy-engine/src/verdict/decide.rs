//! Finding the one cause.

use carboy_protocol::{
    FromJar, GuestError, GuestFailure, GuestResult, Kind, LimitName, Limits, ProcessExit,
};
use rustix::io::Errno;

use crate::facts::{Ending, Facts, Refused, RefusedCall, Wanted, open_files};
use crate::verdict::words;

const SIGKILL: i32 = 9;
const SIGSYS: i32 = 31;
/// What the interpreter says when it could not start a thread.
const NO_THREAD: &str = "start new thread";

/// The result, or the error, of a run.
pub(crate) fn decide(
    ending: Ending,
    facts: &Facts,
    refused: &Refused,
    limits: &Limits,
) -> Result<GuestResult, Box<GuestError>> {
    let error = match ending {
        Ending::Said(FromJar::Done(answer)) => return Ok(answer),
        Ending::Said(FromJar::Failed(failure)) => raised(*failure, facts, refused, limits),
        Ending::Said(FromJar::BadResult { fault, detail }) => words::bad_result(fault, &detail),
        Ending::Said(
            FromJar::Ready {} | FromJar::Call(_) | FromJar::Display(_) | FromJar::LeftOut { .. },
        ) => words::broken("it did not answer"),
        Ending::BrokenFrame(what) => words::broken(&what),
        Ending::PipeClosed => words::pipe_closed(),
        Ending::Limit(name) => words::limit(name, limits),
        Ending::Cancelled => words::cancelled(),
        Ending::Gone => gone(facts, refused, limits),
    };
    Err(Box::new(error))
}

/// The process ended without an answer.
fn gone(facts: &Facts, refused: &Refused, limits: &Limits) -> GuestError {
    let cpu_limit_us = limits.cpu_ms.div_ceil(1000) * 1_000_000;
    let mut error = match (facts.exit.signal, facts.exit.code) {
        // Nobody else says so, and it says what the kernel did this for.
        (Some(SIGKILL), _) if facts.out_of_memory => {
            return words::limit(LimitName::MemoryBytes, limits);
        }
        // The kernel sends this one itself when the processor limit is reached. Nobody inside can.
        // It samples at clock ticks for the limit and counts exactly for usage, so on a busy host
        // the two differ by some percent.
        (Some(SIGKILL), _) if facts.exit.cpu_us >= cpu_limit_us / 4 * 3 => {
            return words::limit(LimitName::CpuMs, limits);
        }
        (Some(SIGSYS), _) => words::forbidden_call(),
        (Some(signal), _) => words::signal(signal),
        (None, Some(code)) => words::exit(code),
        (None, None) => words::unknown_end(),
    };
    let wanted = refused.last.as_ref().and_then(|last| last.wanted);
    if error.kind == Kind::Crash && out_of_memory(facts, wanted, limits) {
        // Native code that gets no memory ends the process in its own way.
        error.hint = Some(words::MEMORY_RAN_OUT.into());
        error.operator_hint = words::limit(LimitName::MemoryBytes, limits).operator_hint;
    }
    let code = facts.exit.code.map(ProcessExit::Code);
    error.exit = facts.exit.signal.map(ProcessExit::Signal).or(code);
    error
}

/// The code raised. What it raised is its own word; whether a limit stands behind it is not.
fn raised(failure: GuestFailure, facts: &Facts, refused: &Refused, limits: &Limits) -> GuestError {
    let errno = failure.errno.and_then(errno);
    let crossed = crossed(&failure, errno, facts, refused, limits);
    let mut error = match (crossed, denied(&failure, errno, refused)) {
        (Some(name), _) => words::limit(name, limits),
        (None, Some(call)) => {
            words::error(Kind::Denied, &failure.type_name, &failure.message, &call.hint)
        }
        (None, None) => words::error(
            Kind::Exception,
            &failure.type_name,
            &failure.message,
            words::exception_hint(&failure.type_name, errno),
        ),
    };
    if error.kind == Kind::Exception {
        error.operator_hint = words::exception_operator_hint(&failure.type_name, errno);
    }
    if error.kind == Kind::Exception && failure.type_name == "SystemExit" {
        error.exit = failure.exit.map(|code| ProcessExit::Code(code.into()));
    }
    error.traceback = failure.traceback;
    error.line = failure.line;
    error
}

/// The limit behind an error. The kernel or the engine must have seen it crossed, at the end of the run
/// and not some time before, and the code must not have made the error itself with a `raise`.
fn crossed(
    failure: &GuestFailure,
    errno: Option<Errno>,
    facts: &Facts,
    refused: &Refused,
    limits: &Limits,
) -> Option<LimitName> {
    let callee = failure.callee.as_deref()?;
    let last = refused.last.as_ref();
    let wanted = last.and_then(|last| last.wanted);
    let says = |words: &str| failure.message.contains(words);
    // Extension modules that get no memory do not always say it in the right way.
    let no_memory = failure.type_name.ends_with("MemoryError")
        || failure.type_name == "SystemError"
        || says("annot allocate memory")
        // The stack of a thread is memory too.
        || says(NO_THREAD);
    // Some libraries notice only that less was written than they asked for.
    let no_space = matches!(errno, Some(Errno::NOSPC | Errno::FBIG | Errno::DQUOT))
        || (errno.is_none() && failure.type_name == "OSError");
    match wanted {
        // What the interpreter says, and what the C library says to extension modules.
        Some(Wanted::Thread) if says(NO_THREAD) || says("temporarily unavailable") => {
            Some(LimitName::Threads)
        }
        _ if no_memory && out_of_memory(facts, wanted, limits) => Some(LimitName::MemoryBytes),
        Some(Wanted::Memory(_)) if errno == Some(Errno::NOMEM) => Some(LimitName::MemoryBytes),
        _ if no_space && facts.files_full => Some(LimitName::Files),
        _ if no_space && facts.space_full => Some(LimitName::FileBytes),
        _ if errno == Some(Errno::MFILE) && out_of_descriptors(facts, limits) => {
            Some(LimitName::OpenFiles)
        }
        Some(Wanted::Process) if is_told(errno, last) && may_start_a_process(callee, errno) => {
            Some(LimitName::Processes)
        }
        _ => None,
    }
}

/// The refused call that the code ended on: the last one, if the error is what it was told.
fn denied<'a>(
    failure: &GuestFailure,
    errno: Option<Errno>,
    refused: &'a Refused,
) -> Option<&'a RefusedCall> {
    let last = refused.last.as_ref().filter(|last| last.wanted.is_none());
    last.filter(|last| failure.callee.is_some() && is_told(errno, Some(last)))
}

fn is_told(errno: Option<Errno>, call: Option<&RefusedCall>) -> bool {
    errno.is_some() && errno.map(Errno::raw_os_error) == call.map(|call| call.errno)
}

/// Reading an empty pipe fails in the same way as starting one process too many, so there the name
/// decides, where it is known.
fn may_start_a_process(callee: &str, errno: Option<Errno>) -> bool {
    let starts = ["fork", "spawn"];
    errno != Some(Errno::AGAIN)
        || callee.is_empty()
        || starts.iter().any(|word| callee.contains(word))
}

/// A number that the code said, if it is one that the kernel answers with. Anything may be raised.
fn errno(said: i32) -> Option<Errno> {
    (1..4096).contains(&said).then(|| Errno::from_raw_os_error(said))
}

fn out_of_memory(facts: &Facts, wanted: Option<Wanted>, limits: &Limits) -> bool {
    // What failed may have been freed before anybody looked, so most of it is enough.
    let most = limits.memory_bytes / 4 * 3;
    let used = facts.data_bytes.saturating_sub(facts.baseline.data_bytes);
    // The kernel's own peaks: mapping files raises the first, and only touching them the second.
    let mapped = facts.peak_address_bytes.saturating_sub(facts.baseline.address_bytes);
    let touched = facts.peak_resident_bytes.saturating_sub(facts.baseline.anonymous_bytes);
    let refused = matches!(wanted, Some(Wanted::Memory(_)));
    refused || used >= most || (mapped >= most && touched >= most)
}

/// Whether as many descriptors are open as there can be. What failed for want of one may have been
/// more than one, as a pipe is.
fn out_of_descriptors(facts: &Facts, limits: &Limits) -> bool {
    facts.open_descriptors.is_some_and(|open| open + 1 >= open_files(limits))
}
