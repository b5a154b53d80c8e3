//! Signal dispositions, which a program inherits from the one that started it.

use std::io;

/// Ignores the signals with which a terminal or a service manager ends a program.
pub fn ignore_endings() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: SIG_IGN installs no code, and these four can be ignored.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Has the kernel end this process after so many seconds, if it is still there then.
pub fn end_after(seconds: u32) {
    // SAFETY: SIG_DFL installs no code, and SIGALRM can have it.
    unsafe { libc::signal(libc::SIGALRM, libc::SIG_DFL) };
    // SAFETY: the call has no memory arguments.
    unsafe { libc::alarm(seconds) };
}

/// Gives every signal its default action and unblocks all of them.
pub fn default_all() -> io::Result<()> {
    for signal in 1..=64 {
        // SAFETY: SIG_DFL installs no code. Numbers that cannot be changed (SIGKILL, SIGSTOP, the
        // two of the C library) are refused with EINVAL, which changes nothing.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set it is given.
    unsafe { libc::sigemptyset(none.as_mut_ptr()) };
    // SAFETY: the set was initialised just above, and no old set is asked for.
    let answer =
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut()) };
    crate::check(answer.into()).map(drop)
}
