//! `clone3`: a fork that makes namespaces and a pidfd in the same call, and `clone` where there is none.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Which namespaces the child gets of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Namespaces(u64);

impl Namespaces {
    /// None: an ordinary fork.
    pub const NONE: Namespaces = Namespaces(0);
    /// User, mount, pid, network, IPC, UTS and cgroup.
    pub const ALL: Namespaces = Namespaces(
        (libc::CLONE_NEWUSER
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWNET
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS
            | libc::CLONE_NEWCGROUP) as u64,
    );
    /// Mount and pid: what a jar gets beyond its zygote's.
    pub const MOUNT_AND_PID: Namespaces =
        Namespaces((libc::CLONE_NEWNS | libc::CLONE_NEWPID) as u64);
}

/// Which side of the fork this is.
#[derive(Debug)]
pub enum Forked {
    /// The new process.
    Child,
    /// The old one, with a descriptor of the new.
    Parent {
        /// The child's pidfd.
        pidfd: OwnedFd,
        /// The child's id in the caller's pid namespace.
        pid: i32,
    },
}

/// Forks the calling process.
///
/// The caller must be single-threaded: the helper is by construction, and the engine checks the
/// zygote's thread count before it uses it. In a process with more threads the child could find
/// locks held that nobody will release.
pub fn clone3(namespaces: Namespaces) -> io::Result<Forked> {
    let mut pidfd: RawFd = -1;
    let args = libc::clone_args {
        flags: namespaces.0 | libc::CLONE_PIDFD as u64,
        pidfd: &raw mut pidfd as u64,
        child_tid: 0,
        parent_tid: 0,
        exit_signal: libc::SIGCHLD as u64,
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: 0,
    };
    // SAFETY: `args` and `pidfd` live across the call and the size passed is that of `args`.
    // Without CLONE_VM the child runs on a copy of this stack, as after fork(2).
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of_val(&args)) };
    let pid = match crate::check(pid) {
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => {
            clone_before_3(namespaces, &mut pidfd)
        }
        answer => answer,
    };
    match pid? {
        0 => Ok(Forked::Child),
        pid => {
            // SAFETY: the kernel stored a new descriptor there, which nothing else owns.
            let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
            Ok(Forked::Parent { pidfd, pid: pid as i32 })
        }
    }
}

/// The same by `clone`. Filters of containers answer `clone3` with ENOSYS, because they cannot look into
/// its arguments, and expect that this is tried instead.
fn clone_before_3(namespaces: Namespaces, pidfd: &mut RawFd) -> io::Result<libc::c_long> {
    let flags = namespaces.0 | libc::CLONE_PIDFD as u64 | libc::SIGCHLD as u64;
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: `pidfd`, which the kernel writes in place of a parent's thread id, lives across the call.
    // Without CLONE_VM and with no stack given, the child runs on a copy of this one, as after fork(2).
    // The last two arguments are in another order on other machines, and both null.
    crate::check(unsafe { libc::syscall(libc::SYS_clone, flags, none, pidfd, none, none) })
}

/// Moves this process into a mount namespace of its own, a copy of the one that it is in.
pub fn unshare_mount_namespace() -> io::Result<()> {
    // SAFETY: the call takes no pointer, and with this flag leaves descriptors and memory as they are.
    crate::check(unsafe { libc::unshare(libc::CLONE_NEWNS) }.into()).map(drop)
}

/// Moves this process into a user namespace of its own: to show that it cannot.
pub fn unshare_user_namespace() -> io::Result<()> {
    // SAFETY: the call takes no pointer. With more than one thread the kernel refuses it.
    crate::check(unsafe { libc::unshare(libc::CLONE_NEWUSER) }.into()).map(drop)
}
