//! Descriptors at fixed numbers: handing them over a fork or an exec, and closing the rest.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Takes ownership of a descriptor that this process was started with at number `fd`.
///
/// Fails if nothing is open there. The number is agreed between the parent and this process, and each
/// number is taken once.
pub fn inherited(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_GETFD has no memory arguments.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
    crate::check(flags.into())?;
    // SAFETY: it is open, and by the agreement above nothing else in this process owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes number `at` a copy of `fd` that stays open over an exec, closing what was there.
///
/// Meant for the fixed numbers of a process about to exec or to run a guest, which nothing in it
/// owns as an [`OwnedFd`].
pub fn place(fd: impl AsFd, at: RawFd) -> io::Result<()> {
    let from = fd.as_fd().as_raw_fd();
    let answer = if from == at {
        // SAFETY: F_SETFD has no memory arguments; 0 clears close-on-exec.
        unsafe { libc::fcntl(from, libc::F_SETFD, 0) }
    } else {
        // SAFETY: dup2 has no memory arguments.
        unsafe { libc::dup2(from, at) }
    };
    crate::check(answer.into()).map(drop)
}

/// Closes every descriptor from `first` on.
///
/// The caller gives up all it owns there and must not drop any of it afterwards.
pub fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: close_range has no memory arguments.
    let answer = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
    crate::check(answer).map(drop)
}

/// Marks every descriptor from `first` on to be closed at the next exec.
pub fn close_from_at_exec(first: u32) -> io::Result<()> {
    // SAFETY: close_range has no memory arguments.
    let answer =
        unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    crate::check(answer).map(drop)
}
