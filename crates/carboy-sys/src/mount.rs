//! `mount_setattr`: flags on a whole mount tree in one call.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Flags that can be set on a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MountFlags {
    /// Nothing can be written through it.
    pub read_only: bool,
    /// Set-user-id bits are ignored.
    pub no_suid: bool,
    /// Device files do not work.
    pub no_dev: bool,
    /// Nothing can be executed or mapped as code.
    pub no_exec: bool,
}

/// Sets `flags` on the mount that `tree` refers to and on every mount below it, and makes them
/// private: nothing propagates to or from other namespaces.
pub fn mount_setattr(tree: impl AsFd, flags: MountFlags) -> io::Result<()> {
    let mut set = 0;
    for (wanted, bit) in [
        (flags.read_only, libc::MOUNT_ATTR_RDONLY),
        (flags.no_suid, libc::MOUNT_ATTR_NOSUID),
        (flags.no_dev, libc::MOUNT_ATTR_NODEV),
        (flags.no_exec, libc::MOUNT_ATTR_NOEXEC),
    ] {
        if wanted {
            set |= bit;
        }
    }
    let attr = libc::mount_attr {
        attr_set: set,
        attr_clr: 0,
        propagation: libc::MS_PRIVATE,
        userns_fd: 0,
    };
    // SAFETY: the path is a valid C string, `attr` lives across the call and its size is passed.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_fd().as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
            &raw const attr,
            size_of_val(&attr),
        )
    };
    crate::check(answer).map(drop)
}
