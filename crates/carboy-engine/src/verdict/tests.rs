//! One test for every cause: each way a watch can end, each limit, each signal, and each time that
//! the kernel does not agree with what the code says of itself.

use std::collections::BTreeMap;
use std::time::Duration;

use carboy_protocol::{
    Call, FromJar, GuestError, GuestFailure, GuestResult, Kind, LimitName, Limits, ProcessExit,
    ResultFault,
};
use rustix::io::Errno;
use serde_json::value::RawValue;

use super::{decide, divide};
use crate::facts::{
    Baseline, Ending, Exit, Facts, Refused, RefusedCall, Tried, Wanted, open_files,
};

/// The error of a run that ended like this.
fn error_of(ending: Ending, facts: &Facts, refused: &Refused) -> GuestError {
    *decide(ending, facts, refused, &Limits::default()).unwrap_err()
}

/// The error of a run that ended like this when nothing else is known of it.
fn bare(ending: Ending) -> GuestError {
    error_of(ending, &Facts::default(), &Refused::default())
}

/// The error of a run whose process ended like this.
fn gone(exit: Exit) -> GuestError {
    error_of(Ending::Gone, &Facts { exit, ..Facts::default() }, &Refused::default())
}

/// What is known when the last thing that was refused was this, with this answer.
fn refused(wanted: Option<Wanted>, errno: Errno) -> Refused {
    let (errno, hint) = (errno.raw_os_error(), "do this".into());
    Refused { last: Some(RefusedCall { errno, hint, wanted }) }
}

/// The same end with other words of the code.
fn but(ending: Ending, change: impl FnOnce(&mut GuestFailure)) -> Ending {
    let Ending::Said(FromJar::Failed(mut failure)) = ending else { panic!("{ending:?}") };
    change(&mut failure);
    Ending::Said(FromJar::Failed(failure))
}

fn exception(type_name: &str, errno: Option<Errno>) -> Ending {
    Ending::Said(FromJar::Failed(Box::new(GuestFailure {
        type_name: type_name.into(),
        message: "its own words".into(),
        traceback: Some("Traceback".into()),
        line: Some(3),
        errno: errno.map(Errno::raw_os_error),
        callee: Some(String::new()),
        exit: None,
        refusal: None,
    })))
}

/// Asserts that the cause is this limit, and that the code's own place is kept if it raised.
fn assert_limit(error: &GuestError, name: LimitName, line: Option<u32>) {
    assert_eq!((error.kind, error.type_name.as_str()), (Kind::Limit, "LimitExceeded"));
    assert_eq!(error.limit.as_ref().map(|hit| hit.name), Some(name));
    assert_eq!(error.line, line);
    assert!(error.hint.is_some());
}

/// Asserts that the cause is the exception itself.
fn assert_exception(error: &GuestError, type_name: &str) {
    assert_eq!((error.kind, error.type_name.as_str()), (Kind::Exception, type_name));
    assert_eq!((error.message.as_str(), error.line), ("its own words", Some(3)));
    assert_eq!(error.traceback.as_deref(), Some("Traceback"));
    assert_eq!(error.limit, None);
}

#[test]
fn a_control_group_out_of_memory_is_the_limit() {
    let killed = Exit { signal: Some(9), ..Exit::default() };
    let facts = |out_of_memory| Facts { exit: killed, out_of_memory, ..Facts::default() };
    let cause = |facts: &Facts| {
        let error = error_of(Ending::Gone, facts, &Refused::default());
        (error.kind, error.limit.map(|limit| limit.name))
    };
    assert_eq!(cause(&facts(true)), (Kind::Limit, Some(LimitName::MemoryBytes)));
    assert_eq!(cause(&facts(false)), (Kind::Crash, None));
}

#[test]
fn an_answer_is_the_result_whatever_else_is_known() {
    let full = Facts { space_full: true, files_full: true, ..Facts::default() };
    let refused = refused(Some(Wanted::Thread), Errno::AGAIN);
    let value = RawValue::from_string("[1,2]".into()).unwrap();
    let answer = GuestResult { result: Some(value), ..GuestResult::default() };
    let done = Ending::Said(FromJar::Done(answer));
    let answer = decide(done, &full, &refused, &Limits::default()).unwrap();
    assert_eq!(answer.result.unwrap().get(), "[1,2]");
    let none = Ending::Said(FromJar::Done(GuestResult::default()));
    assert!(decide(none, &full, &refused, &Limits::default()).unwrap().result.is_none());
}

#[test]
fn a_result_that_is_not_json_is_an_exception_with_a_way_out() {
    for (fault, detail, type_name, hint) in [
        (ResultFault::NotJson, "set", "ResultNotJson", "convert others"),
        (ResultFault::NotAwaited, "a coroutine", "ResultNotJson", "`await`"),
        (ResultFault::NotFinite, "nan", "ResultNotFinite", "NaN"),
        (ResultFault::NotText, "'\\ud800'", "ResultNotText", "encode"),
    ] {
        let error = bare(Ending::Said(FromJar::BadResult { fault, detail: detail.into() }));
        assert_eq!((error.kind, error.type_name.as_str()), (Kind::Exception, type_name));
        assert!(error.message.ends_with(detail), "{}", error.message);
        assert!(error.hint.unwrap().contains(hint));
    }
}

#[test]
fn what_is_no_last_frame_is_a_broken_one() {
    let empty = || RawValue::from_string("[]".into()).unwrap();
    let call = Call { call: 1, tool: "t".into(), args: empty(), kwargs: empty() };
    for (ending, what) in [
        (Ending::BrokenFrame("it is not JSON".into()), "it is not JSON"),
        (Ending::Said(FromJar::Ready {}), "it did not answer"),
        (Ending::Said(FromJar::Call(call)), "it did not answer"),
    ] {
        let error = bare(ending);
        assert_eq!((error.kind, error.type_name.as_str()), (Kind::Crash, "BrokenFrame"));
        assert!(error.message.ends_with(what), "{}", error.message);
        assert!(error.hint.is_some());
    }
}

#[test]
fn a_closed_pipe_is_a_crash_and_a_cancellation_is_neither() {
    let error = bare(Ending::PipeClosed);
    assert_eq!((error.kind, error.type_name.as_str()), (Kind::Crash, "ResultPipeClosed"));
    let error = bare(Ending::Cancelled);
    assert_eq!((error.kind, error.type_name.as_str()), (Kind::Cancelled, "Cancelled"));
    assert_eq!((error.hint, error.limit), (None, None));
}

#[test]
fn every_limit_that_the_engine_sees_crossed_is_named_with_what_was_allowed() {
    let limits = Limits::default();
    for name in LimitName::ALL {
        let (row, allowed) = (name.row(), limits.get(*name));
        let error = bare(Ending::Limit(*name));
        assert_limit(&error, *name, None);
        assert_eq!(error.limit.unwrap().allowed, allowed, "{name:?}");
        assert_eq!(error.message, row.crossed(allowed));
        assert_eq!(error.hint.as_deref(), Some(row.hint));
        assert_eq!(error.operator_hint, row.operator_hint(allowed));
    }
}

#[test]
fn a_kill_is_the_processor_limit_only_if_the_time_was_used() {
    let limit_us = Limits::default().cpu_ms * 1000;
    let killed = |cpu_us| gone(Exit { signal: Some(9), cpu_us, ..Exit::default() });
    assert_limit(&killed(limit_us), LimitName::CpuMs, None);
    assert_limit(&killed(limit_us / 4 * 3), LimitName::CpuMs, None);
    let error = killed(limit_us / 4 * 3 - 1);
    assert_eq!((error.kind, error.type_name.as_str()), (Kind::Crash, "SIGKILL"));
    assert!(error.hint.unwrap().contains("want of memory"));
}

#[test]
fn a_signal_is_a_crash_by_its_name() {
    for (signal, name) in [
        (4, "SIGILL"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (11, "SIGSEGV"),
        (25, "SIGXFSZ"),
        (15, "SIG15"),
    ] {
        let error = gone(Exit { signal: Some(signal), ..Exit::default() });
        assert_eq!((error.kind, error.type_name.as_str()), (Kind::Crash, name));
        assert_eq!(error.exit, Some(ProcessExit::Signal(signal)));
        assert!(error.message.contains(name) && error.hint.is_some());
    }
    let overflow = gone(Exit { signal: Some(11), ..Exit::default() });
    assert!(overflow.hint.unwrap().contains("recursion"));
}

#[test]
fn a_call_that_no_filter_answers_is_a_denial() {
    let error = gone(Exit { signal: Some(31), ..Exit::default() });
    assert_eq!((error.kind, error.type_name.as_str()), (Kind::Denied, "SIGSYS"));
    assert_eq!(error.exit, Some(ProcessExit::Signal(31)));
}

#[test]
fn leaving_without_an_answer_is_a_crash_with_its_code() {
    for code in [0, 7] {
        let error = gone(Exit { code: Some(code), ..Exit::default() });
        assert_eq!((error.kind, error.type_name.as_str()), (Kind::Crash, "Exit"));
        assert_eq!(error.exit, Some(ProcessExit::Code(code)));
        assert!(error.message.contains(&format!("code {code}")), "{}", error.message);
    }
}

#[test]
fn only_a_system_exit_says_with_which_code_it_wants_to_exit() {
    for (type_name, exit) in [("SystemExit", Some(ProcessExit::Code(3))), ("ValueError", None)] {
        let error = bare(but(exception(type_name, None), |failure| failure.exit = Some(3)));
        assert_exception(&error, type_name);
        assert_eq!(error.exit, exit);
    }
}

#[test]
fn a_memory_error_is_the_limit_if_the_kernel_or_the_engine_saw_it_used() {
    let most = Limits::default().memory_bytes / 4 * 3;
    let baseline = Baseline {
        data_bytes: 10,
        address_bytes: 20,
        anonymous_bytes: 30,
        import_us: 0,
        threads: 0,
    };
    let base = || Facts { baseline, ..Facts::default() };
    let raise = || exception("MemoryError", None);
    let none = Refused::default();
    // Nothing was used: it is the code's own error.
    let error = error_of(raise(), &base(), &none);
    assert_exception(&error, "MemoryError");
    assert!(error.operator_hint.unwrap().contains("limits.memory_bytes"));
    // Private memory, counted from what the zygote held.
    let data = Facts { data_bytes: most + 10, ..base() };
    assert_limit(&error_of(raise(), &data, &none), LimitName::MemoryBytes, Some(3));
    let less = Facts { data_bytes: most + 9, ..base() };
    assert_exception(&error_of(raise(), &less, &none), "MemoryError");
    // Mapped and touched; mapping alone takes no memory, and touching alone may be files.
    let (mapped, touched) = (most + 20, most + 30);
    let both = Facts { peak_address_bytes: mapped, peak_resident_bytes: touched, ..base() };
    assert_limit(&error_of(raise(), &both, &none), LimitName::MemoryBytes, Some(3));
    for (peak_address_bytes, peak_resident_bytes) in
        [(mapped, touched - 1), (mapped - 1, touched), (mapped, 0), (0, touched)]
    {
        let facts = Facts { peak_address_bytes, peak_resident_bytes, ..base() };
        assert_exception(&error_of(raise(), &facts, &none), "MemoryError");
    }
    // The engine refused it a large block.
    let refused = refused(Some(Wanted::Memory(1 << 30)), Errno::NOMEM);
    for (type_name, errno) in [
        ("MemoryError", None),
        ("ArrowMemoryError", None),
        ("SystemError", None),
        ("OSError", Some(Errno::NOMEM)),
    ] {
        let error = error_of(exception(type_name, errno), &base(), &refused);
        assert_limit(&error, LimitName::MemoryBytes, Some(3));
    }
    assert_exception(&error_of(exception("ValueError", None), &base(), &refused), "ValueError");
    // Without memory native code may end the process; that is not more than a hint.
    for exit in [(Some(1), None), (None, Some(6))] {
        let exit = Exit { code: exit.0, signal: exit.1, ..Exit::default() };
        let error = error_of(Ending::Gone, &Facts { exit, ..base() }, &refused);
        assert_eq!(error.kind, Kind::Crash);
        assert!(error.hint.unwrap().starts_with("memory ran out"));
    }
}

#[test]
fn a_full_disk_is_the_limit_that_is_full() {
    let none = Refused::default();
    for errno in [Errno::NOSPC, Errno::FBIG, Errno::DQUOT] {
        let raise = || exception("OSError", Some(errno));
        let space = Facts { space_full: true, ..Facts::default() };
        assert_limit(&error_of(raise(), &space, &none), LimitName::FileBytes, Some(3));
        let files = Facts { files_full: true, ..Facts::default() };
        assert_limit(&error_of(raise(), &files, &none), LimitName::Files, Some(3));
        // Without a file there can be no bytes.
        let both = Facts { space_full: true, files_full: true, ..Facts::default() };
        assert_limit(&error_of(raise(), &both, &none), LimitName::Files, Some(3));
        assert_exception(&error_of(raise(), &Facts::default(), &none), "OSError");
        let other = error_of(exception("OSError", Some(Errno::IO)), &both, &none);
        assert_exception(&other, "OSError");
        // A library that only notices that less was written.
        let short = error_of(exception("OSError", None), &space, &none);
        assert_limit(&short, LimitName::FileBytes, Some(3));
    }
}

#[test]
fn too_many_files_is_a_limit_if_as_many_are_open() {
    let none = Refused::default();
    let raise = || exception("OSError", Some(Errno::MFILE));
    let most = open_files(&Limits::default());
    let with = |open_descriptors| Facts { open_descriptors, ..Facts::default() };
    // One less: a pipe takes two.
    for open in [most, most - 1] {
        let error = error_of(raise(), &with(Some(open)), &none);
        assert_limit(&error, LimitName::OpenFiles, Some(3));
    }
    for open in [Some(most - 2), None] {
        let error = error_of(raise(), &with(open), &none);
        assert_exception(&error, "OSError");
        assert!(error.operator_hint.unwrap().contains("limits.open_files"));
    }
}

#[test]
fn threads_and_processes_are_limits_if_the_last_refusal_was_of_one() {
    let facts = Facts::default();
    let threads = refused(Some(Wanted::Thread), Errno::AGAIN);
    let raise = |words: &str| {
        but(exception("RuntimeError", None), |failure| failure.message = words.into())
    };
    for words in ["can't start new thread", "thread: Resource temporarily unavailable"] {
        let error = error_of(raise(words), &facts, &threads);
        assert_limit(&error, LimitName::Threads, Some(3));
        assert_eq!(error_of(raise(words), &facts, &Refused::default()).kind, Kind::Exception);
    }
    let other = error_of(exception("RuntimeError", None), &facts, &threads);
    assert_exception(&other, "RuntimeError");
    for errno in [Errno::PERM, Errno::AGAIN] {
        let raise = || exception("OSError", Some(errno));
        let processes = refused(Some(Wanted::Process), errno);
        assert_limit(&error_of(raise(), &facts, &processes), LimitName::Processes, Some(3));
        assert_exception(&error_of(raise(), &facts, &Refused::default()), "OSError");
        // The answer to another call.
        let other = exception("OSError", Some(Errno::IO));
        assert_exception(&error_of(other, &facts, &processes), "OSError");
        assert_exception(&error_of(raise(), &facts, &threads), "OSError");
    }
    let processes = refused(Some(Wanted::Process), Errno::AGAIN);
    for (callee, kind) in
        [("fork", Kind::Limit), ("posix_spawn", Kind::Limit), ("read", Kind::Exception)]
    {
        let raise = exception("BlockingIOError", Some(Errno::AGAIN));
        let raise = but(raise, |failure| failure.callee = Some(callee.into()));
        assert_eq!(error_of(raise, &facts, &processes).kind, kind, "{callee}");
    }
}

#[test]
fn what_was_granted_afterwards_is_no_cause() {
    for (wanted, got, is_over) in [
        (Wanted::Thread, Wanted::Thread, true),
        (Wanted::Process, Wanted::Process, true),
        (Wanted::Memory(10), Wanted::Memory(10), true),
        (Wanted::Memory(10), Wanted::Memory(9), false),
        (Wanted::Thread, Wanted::Memory(10), false),
    ] {
        let mut refused = refused(Some(wanted), Errno::AGAIN);
        refused.granted(got);
        assert_eq!(refused.last.is_none(), is_over, "{wanted:?}, {got:?}");
    }
    let mut other = refused(None, Errno::PERM);
    other.granted(Wanted::Thread);
    assert!(other.last.is_some());
}

#[test]
fn what_the_code_raises_itself_is_its_own() {
    let own =
        |type_name: &str, errno| but(exception(type_name, errno), |failure| failure.callee = None);
    let most = open_files(&Limits::default());
    let facts = Facts {
        data_bytes: Limits::default().memory_bytes,
        open_descriptors: Some(most),
        space_full: true,
        files_full: true,
        ..Facts::default()
    };
    for (type_name, errno, wanted) in [
        ("MemoryError", None, Some(Wanted::Memory(1 << 30))),
        ("OSError", Some(Errno::NOMEM), Some(Wanted::Memory(1 << 30))),
        ("OSError", Some(Errno::NOSPC), None),
        ("OSError", Some(Errno::MFILE), None),
        ("OSError", None, None),
        ("RuntimeError", None, Some(Wanted::Thread)),
        ("BlockingIOError", Some(Errno::AGAIN), Some(Wanted::Process)),
        ("PermissionError", Some(Errno::PERM), None),
    ] {
        let refused = refused(wanted, errno.unwrap_or(Errno::PERM));
        assert_exception(&error_of(own(type_name, errno), &facts, &refused), type_name);
    }
}

#[test]
fn an_exception_is_a_denial_if_its_errno_is_what_the_last_refused_call_was_told() {
    let refused = refused(None, Errno::PERM);
    let raise = |errno| exception("PermissionError", errno);
    let error = error_of(raise(Some(Errno::PERM)), &Facts::default(), &refused);
    assert_eq!((error.kind, error.type_name.as_str()), (Kind::Denied, "PermissionError"));
    assert_eq!((error.message.as_str(), error.line), ("its own words", Some(3)));
    assert_eq!(error.hint.as_deref(), Some("do this"));
    for errno in [Some(Errno::IO), None] {
        let error = error_of(raise(errno), &Facts::default(), &refused);
        assert_exception(&error, "PermissionError");
    }
}

#[test]
fn an_exception_that_nothing_stands_behind_gets_the_hint_for_its_kind() {
    for (type_name, errno, hint) in [
        ("PermissionError", Some(Errno::ACCESS), Some("only the current directory")),
        ("OSError", Some(Errno::ROFS), Some("only the current directory")),
        ("FileNotFoundError", Some(Errno::NOENT), Some("the host's files are not here")),
        ("OSError", Some(Errno::NOSPC), Some("no more could be written")),
        ("ModuleNotFoundError", None, Some("only modules that this interpreter has")),
        ("ImportError", None, Some("only modules that this interpreter has")),
        ("ZeroDivisionError", None, None),
    ] {
        let error = bare(exception(type_name, errno));
        assert_exception(&error, type_name);
        match hint {
            Some(hint) => assert!(error.hint.unwrap().starts_with(hint), "{type_name}"),
            None => assert_eq!(error.hint, None),
        }
    }
}

#[test]
fn an_errno_that_no_kernel_has_is_only_a_number() {
    for errno in [0, -1, 4096, 5000, 65_536, i32::MIN, i32::MAX] {
        let raise = but(exception("OSError", None), |failure| failure.errno = Some(errno));
        assert_exception(&bare(raise), "OSError");
    }
}

/// What is listed as denied, and what as probed, of a call refused early and one refused late.
fn divided(error: Option<&GuestError>) -> (Vec<String>, Vec<String>) {
    let seconds = Duration::from_secs;
    let at = |last| Tried { count: 2, last, ..Tried::new("do this".into()) };
    let tried = BTreeMap::from([("execve", at(seconds(4))), ("socket", at(seconds(5)))]);
    let (denials, probes) = divide(tried, error, seconds(10));
    for denial in denials.iter().chain(&probes) {
        assert_eq!((denial.count, denial.hint.as_str()), (2, "do this"));
    }
    let names = |list: Vec<carboy_protocol::Denial>| list.into_iter().map(|one| one.what).collect();
    (names(denials), names(probes))
}

#[test]
fn what_a_run_got_over_is_a_probe() {
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(divided(None), (names(&[]), names(&["execve", "socket"])));
    // What was tried again until the time ran out may be why it did.
    let cpu_us = Limits::default().cpu_ms * 1000;
    let out_of_cpu = gone(Exit { signal: Some(9), cpu_us, ..Exit::default() });
    assert_eq!(out_of_cpu.limit.as_ref().map(|hit| hit.name), Some(LimitName::CpuMs));
    for error in [bare(Ending::Limit(LimitName::WallMs)), out_of_cpu, bare(Ending::Cancelled)] {
        assert_eq!(divided(Some(&error)), (names(&["socket"]), names(&["execve"])), "{error:?}");
    }
    // Whether an exception or a crash has to do with them, nobody can tell.
    let others = [
        bare(exception("ValueError", None)),
        bare(Ending::PipeClosed),
        bare(Ending::Limit(LimitName::Denials)),
        bare(Ending::Limit(LimitName::MemoryBytes)),
        gone(Exit { signal: Some(11), ..Exit::default() }),
    ];
    for error in others {
        assert_eq!(divided(Some(&error)), (names(&["execve", "socket"]), names(&[])), "{error:?}");
    }
}
