//! Asking the kernel which version of Landlock it offers, which the `landlock` crate does
//! not export.

/// The kernel's Landlock version, 0 if it has none or has it switched off.
pub fn landlock_abi() -> u32 {
    const VERSION: libc::c_int = 1;
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag the call takes no attribute and creates nothing.
    let answer =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, VERSION) };
    u32::try_from(answer).unwrap_or(0)
}
