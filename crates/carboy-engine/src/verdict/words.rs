//! What an outcome says about each cause: a stable word, one line, and what to do about it.

use carboy_protocol::{GuestError, Kind, LimitHit, LimitName, Limits, ResultFault};
use rustix::io::Errno;

/// What to do about a process that ended by itself just after memory ran out.
pub(super) const MEMORY_RAN_OUT: &str = "memory ran out just before, and a library ended the process \
     instead of raising; work in smaller pieces or with fewer threads";

/// An error in the engine's words.
pub(super) fn error(kind: Kind, type_name: &str, message: &str, hint: &str) -> GuestError {
    GuestError {
        kind,
        type_name: type_name.into(),
        message: message.into(),
        traceback: None,
        line: None,
        limit: None,
        exit: None,
        hint: (!hint.is_empty()).then(|| hint.into()),
        operator_hint: None,
    }
}

/// The jar sent something that is not a frame.
pub(super) fn broken(what: &str) -> GuestError {
    error(
        Kind::Crash,
        "BrokenFrame",
        &format!("the jar broke the frame of its answer: {what}"),
        "leave descriptors 3 and 4 alone; answer by assigning to `result`",
    )
}

/// The jar closed the pipe for its result and went on.
pub(super) fn pipe_closed() -> GuestError {
    error(
        Kind::Crash,
        "ResultPipeClosed",
        "the code closed the pipe for its result and went on",
        "leave descriptors 3 and 4 alone; answer by assigning to `result`",
    )
}

/// The caller ended the run.
pub(super) fn cancelled() -> GuestError {
    error(Kind::Cancelled, "Cancelled", "the run was cancelled", "")
}

/// The words for a crossed limit.
pub(super) fn limit(name: LimitName, limits: &Limits) -> GuestError {
    let (row, allowed) = (name.row(), limits.get(name));
    let mut error = error(Kind::Limit, "LimitExceeded", &row.crossed(allowed), row.hint);
    error.limit = Some(LimitHit { name, allowed });
    error.operator_hint = row.operator_hint(allowed);
    error
}

/// The kernel ended the process. The filter does that for one reason only.
pub(super) fn forbidden_call() -> GuestError {
    error(
        Kind::Denied,
        "SIGSYS",
        "machine code entered the kernel through its 32-bit or x32 interface, and the kernel ended \
         the process",
        "use Python's own functions, or packages built for 64-bit Linux",
    )
}

/// A signal ended the process.
pub(super) fn signal(signal: i32) -> GuestError {
    let name = signal_name(signal);
    let message = format!("the interpreter was ended by signal {name}");
    error(Kind::Crash, &name, &message, signal_hint(signal))
}

/// The process exited by itself and without an answer.
pub(super) fn exit(code: i32) -> GuestError {
    error(
        Kind::Crash,
        "Exit",
        &format!("the interpreter exited with code {code} and without an answer"),
        "end by reaching the last line, or with sys.exit(), not with os._exit()",
    )
}

/// The process ended without an answer, and nobody can say how.
pub(super) fn unknown_end() -> GuestError {
    error(
        Kind::Crash,
        "Ended",
        "the interpreter ended without an answer, and the kernel does not tell how",
        "it crashed in native code, or called os._exit(); end by reaching the last line, or with sys.exit()",
    )
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

/// What to do about an exception behind which no limit stands.
pub(super) fn exception_hint(type_name: &str, errno: Option<Errno>) -> &'static str {
    match (type_name, errno) {
        (_, Some(Errno::ACCESS | Errno::ROFS)) => {
            "only the current directory and the temporary directory can be written; of the rest, \
             only the interpreter and its packages can be read"
        }
        (_, Some(Errno::NOENT)) => {
            "the host's files are not here; pass data as input, or write it in this run first"
        }
        ("MemoryError", _) => "work in smaller pieces",
        (_, Some(Errno::MFILE)) => "no more files could be opened; close them with `with`",
        (_, Some(Errno::NOSPC | Errno::FBIG)) => "no more could be written; write less",
        ("ModuleNotFoundError" | "ImportError", _) => {
            "only modules that this interpreter has can be imported; use another"
        }
        _ => "",
    }
}

/// What whoever sets the policy can do about an exception behind which no limit is known to stand.
pub(super) fn exception_operator_hint(type_name: &str, errno: Option<Errno>) -> Option<String> {
    let hint = match (type_name, errno) {
        ("MemoryError", _) => "if this is not the code's own error, raise limits.memory_bytes",
        (_, Some(Errno::MFILE)) => "raise limits.open_files",
        (_, Some(Errno::NOSPC | Errno::FBIG)) => "raise limits.file_bytes or limits.files",
        ("ModuleNotFoundError" | "ImportError", _) => {
            "install the module for this interpreter, or run with one that has it"
        }
        _ => return None,
    };
    Some(hint.into())
}

/// The code ran to its end, but its result is not JSON.
pub(super) fn bad_result(fault: ResultFault, detail: &str) -> GuestError {
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
    error(Kind::Exception, type_name, &message, hint)
}
