//! Loading a system-call filter and answering its notifications.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

/// One instruction of a classic BPF program, laid out as the kernel reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Instruction {
    /// The operation, as the kernel's BPF header encodes it.
    pub code: u16,
    /// How many instructions a comparison that holds skips.
    pub jump_true: u8,
    /// How many one that does not hold skips.
    pub jump_false: u8,
    /// The operand `k`: what is compared, loaded, returned, or how far to jump.
    pub constant: u32,
}

fn install(program: &[Instruction], flags: libc::c_ulong) -> io::Result<libc::c_long> {
    let too_long = |_| io::Error::new(io::ErrorKind::InvalidInput, "filter too long");
    let program = libc::sock_fprog {
        len: u16::try_from(program.len()).map_err(too_long)?,
        filter: program.as_ptr().cast::<libc::sock_filter>().cast_mut(),
    };
    // SAFETY: `Instruction` has the layout of sock_filter, and the kernel only reads the program.
    let answer = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
    };
    crate::check(answer)
}

/// Loads a filter for the calling thread and returns the descriptor its notifications come to.
pub fn load_with_listener(program: &[Instruction]) -> io::Result<OwnedFd> {
    let fd = install(program, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)?;
    // SAFETY: with this flag the call returns a new descriptor that nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Loads a filter without a listener for the calling thread.
pub fn load(program: &[Instruction]) -> io::Result<()> {
    install(program, 0).map(drop)
}

/// One call that waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The kernel's id for it, to answer with.
    pub id: u64,
    /// The calling thread, in the reader's pid namespace.
    pub thread: u32,
    /// The number of the system call.
    pub call: u32,
    /// Its arguments, as they stood in the registers.
    pub args: [u64; 6],
}

/// The answer to a waiting call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Let the kernel execute it. Only for calls whose arguments are all in registers: memory could be
    /// changed after it was checked.
    Continue,
    /// Fail it with this `errno`.
    Refuse(i32),
    /// Do not execute it, and let it succeed.
    Succeed,
}

const RECEIVE: libc::Ioctl = 0xc050_2100_u32 as libc::Ioctl;
const SEND: libc::Ioctl = 0xc018_2101_u32 as libc::Ioctl;
const IS_WAITING: libc::Ioctl = 0x4008_2102_u32 as libc::Ioctl;
const PLACE: libc::Ioctl = 0x4018_2103_u32 as libc::Ioctl;
const _: () = assert!(size_of::<libc::seccomp_notif>() == 0x50);
const _: () = assert!(size_of::<libc::seccomp_notif_resp>() == 0x18);
const _: () = assert!(size_of::<libc::seccomp_notif_addfd>() == 0x18);

/// Takes the next notification from a listener. Blocks if there is none: wait for the listener
/// to be readable first. `NotFound` means that the calling thread has ended meanwhile.
pub fn receive(listener: impl AsFd) -> io::Result<Notification> {
    let mut notif = MaybeUninit::<libc::seccomp_notif>::zeroed();
    // SAFETY: the buffer is zeroed, as the kernel demands, and of the size the request encodes.
    let answer = unsafe { libc::ioctl(listener.as_fd().as_raw_fd(), RECEIVE, notif.as_mut_ptr()) };
    crate::check(answer.into())?;
    // SAFETY: all-zero bytes are a valid value and the kernel filled in the rest.
    let notif = unsafe { notif.assume_init() };
    Ok(Notification {
        id: notif.id,
        thread: notif.pid,
        call: notif.data.nr as u32,
        args: notif.data.args,
    })
}

/// Answers a notification. `NotFound` means that the calling thread has ended meanwhile.
pub fn answer(listener: impl AsFd, id: u64, answer: Answer) -> io::Result<()> {
    let mut response = libc::seccomp_notif_resp { id, val: 0, error: 0, flags: 0 };
    match answer {
        Answer::Continue => response.flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
        Answer::Refuse(errno) => response.error = -errno,
        Answer::Succeed => {}
    }
    // SAFETY: the response lives across the call and has the size the request encodes.
    let answer = unsafe { libc::ioctl(listener.as_fd().as_raw_fd(), SEND, &raw mut response) };
    crate::check(answer.into()).map(drop)
}

/// Whether the call with this id still waits for its answer. If it does, whatever was looked up by the
/// number of its thread before was looked up about its thread.
pub fn is_waiting(listener: impl AsFd, id: u64) -> bool {
    // SAFETY: the kernel reads one number of the size the request encodes.
    unsafe { libc::ioctl(listener.as_fd().as_raw_fd(), IS_WAITING, &raw const id) == 0 }
}

/// Makes number `at` of the process whose call waits a copy of `descriptor`, which stays open over an
/// exec. What was open there is closed.
pub fn place(listener: impl AsFd, id: u64, descriptor: impl AsFd, at: RawFd) -> io::Result<()> {
    let invalid = |_| io::Error::new(io::ErrorKind::InvalidInput, "no number of a descriptor");
    let request = libc::seccomp_notif_addfd {
        id,
        flags: libc::SECCOMP_ADDFD_FLAG_SETFD as u32,
        srcfd: u32::try_from(descriptor.as_fd().as_raw_fd()).map_err(invalid)?,
        newfd: u32::try_from(at).map_err(invalid)?,
        newfd_flags: 0,
    };
    // SAFETY: the request lives across the call and has the size that it encodes.
    let answer = unsafe { libc::ioctl(listener.as_fd().as_raw_fd(), PLACE, &raw const request) };
    crate::check(answer.into()).map(drop)
}
