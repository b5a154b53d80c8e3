//! The only unsafe code of carboy: calls of the kernel and of CPython behind safe signatures.
//!
//! What `rustix` already offers safely is used from there, by the crates that need it. This crate has
//! only what it does not offer: `clone3` with namespaces, `mount_setattr`, descriptors at fixed
//! numbers, seccomp filters and their notifications, a limit that a filter lets pass, `waitid` with
//! resource usage, the names of system calls, the three functions CPython wants around a fork, and the
//! gaps of its heaps.
//!
//! Each function does one thing, decides nothing and has no words for users: errors are plain
//! [`std::io::Error`]s, and the caller says what they mean.

mod clone;
pub mod cpython;
pub mod fds;
mod heap;
mod landlock;
mod limit;
mod machine;
mod mount;
pub mod seccomp;
mod signals;
mod syscalls;
mod wait;

pub use clone::{Forked, Namespaces, clone3, unshare_mount_namespace, unshare_user_namespace};
pub use heap::fill_gaps;
pub use landlock::landlock_abi;
pub use limit::limit_open_files;
pub use machine::{Machine, all_calls, name_of, number_of};
pub use mount::{MountFlags, mount_setattr};
pub use signals::{default_all as default_signals, end_after, ignore_endings};
pub use wait::{Ended, cpu_time, exit_now, reap};

/// The result of a raw system call: `-1` means that `errno` says why.
fn check(value: libc::c_long) -> std::io::Result<libc::c_long> {
    if value == -1 { Err(std::io::Error::last_os_error()) } else { Ok(value) }
}
