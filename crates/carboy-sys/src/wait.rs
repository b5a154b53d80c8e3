//! `waitid` on a pidfd, with what the process used.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};

/// How a process ended and what it used, as the kernel counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code, if it exited.
    pub code: Option<i32>,
    /// The signal, if one killed it.
    pub signal: Option<i32>,
    /// Processor time of it and the children it waited for, in microseconds.
    pub cpu_us: u64,
    /// Resident memory at its highest, in bytes.
    pub peak_memory_bytes: u64,
}

/// Reaps the child behind `pidfd` if it has ended.
pub fn reap(pidfd: impl AsFd) -> io::Result<Option<Ended>> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both buffers are writable and of the size the kernel expects.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_waitid,
            libc::P_PIDFD,
            pidfd.as_fd().as_raw_fd(),
            info.as_mut_ptr(),
            libc::WEXITED | libc::WNOHANG,
            usage.as_mut_ptr(),
        )
    };
    crate::check(answer)?;
    // SAFETY: all-zero bytes are a valid siginfo_t, and the kernel only wrote valid fields.
    let info = unsafe { info.assume_init() };
    // SAFETY: the same holds for rusage.
    let usage = unsafe { usage.assume_init() };
    // SAFETY: after waitid the child fields of siginfo are the ones in use (zero if none ended).
    let pid = unsafe { info.si_pid() };
    if pid == 0 {
        return Ok(None);
    }
    // SAFETY: as above.
    let status = unsafe { info.si_status() };
    let exited = info.si_code == libc::CLD_EXITED;
    let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    Ok(Some(Ended {
        code: exited.then_some(status),
        signal: (!exited).then_some(status),
        cpu_us: micros(usage.ru_utime) + micros(usage.ru_stime),
        peak_memory_bytes: usage.ru_maxrss as u64 * 1024,
    }))
}

/// Processor time that a process has used so far, in microseconds.
///
/// The number must come from the kernel and belong to a process that cannot have been reaped yet.
pub fn cpu_time(pid: u32) -> io::Result<u64> {
    // The clock of a process: its number, inverted, above the kind of clock (2: scheduler time).
    let clock = (!(pid as libc::clockid_t) << 3) | 2;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec to where the pointer says.
    let answer = unsafe { libc::clock_gettime(clock, &raw mut time) };
    crate::check(answer.into())?;
    Ok(time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1_000)
}

/// Ends this process at once, without running exit handlers.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: _exit never returns and touches no memory.
    unsafe { libc::_exit(code) }
}
