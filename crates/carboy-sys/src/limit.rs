//! The one limit that a process sets after its system-call filter is loaded.

use std::io;

/// A fifth argument of `prlimit64`, which the kernel does not look at. A filter can, and knows a jar that
/// seals itself from a guest by it.
const SEALING: libc::c_long = 0x5ea1;

/// Sets the soft and the hard limit of open files of this process.
pub fn limit_open_files(most: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    let (this, none) = (0, std::ptr::null_mut::<libc::rlimit>());
    // SAFETY: `limit` lives across the call, which reads it and writes nothing.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_prlimit64,
            this,
            libc::RLIMIT_NOFILE,
            &raw const limit,
            none,
            SEALING,
        )
    };
    crate::check(answer).map(drop)
}
