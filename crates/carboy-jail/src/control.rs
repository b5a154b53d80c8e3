//! Messages between trusted processes: one packet each, with descriptors beside it.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketType,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest message, in bytes: a compiled filter and the paths of a plan fit many times over.
pub const MAX_MESSAGE: usize = 128 << 10;
const MAX_FDS: usize = 8;

/// A stream socket that this process was started with at `number`. Programs that it starts do not
/// get it. To be taken before the process opens anything of its own.
pub fn inherited_socket(number: i32) -> io::Result<OwnedFd> {
    if number <= 2 {
        return Err(io::Error::other("descriptors 0 to 2 are the standard streams"));
    }
    let own = carboy_sys::fds::inherited(number)?;
    let kind = rustix::net::sockopt::socket_type(&own)?;
    let domain = rustix::net::sockopt::socket_domain(&own)?;
    if (domain, kind) != (AddressFamily::UNIX, SocketType::STREAM) {
        return Err(io::Error::other("not a Unix stream socket"));
    }
    rustix::io::fcntl_setfd(&own, rustix::io::FdFlags::CLOEXEC)?;
    Ok(own)
}

/// Sends one message with the descriptors that belong to it.
pub fn send(
    socket: impl AsFd,
    message: &impl Serialize,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    if bytes.len() > MAX_MESSAGE || descriptors.len() > MAX_FDS {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "message too long"));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "too many descriptors"));
    }
    let slices = [io::IoSlice::new(&bytes)];
    rustix::net::sendmsg(socket, &slices, &mut beside, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Sends one message, and tries again for a while if too many descriptors of this user are on the
/// way already: the kernel limits descriptors in flight, and other jars may be sealing themselves.
pub fn send_patiently(
    socket: impl AsFd,
    message: &impl Serialize,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut tries = 0;
    loop {
        match send(&socket, message, descriptors) {
            Err(error)
                if error.raw_os_error() == Some(Errno::TOOMANYREFS.raw_os_error())
                    && tries < 5_000 =>
            {
                tries += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            other => return other,
        }
    }
}

/// How long the next message is; 0 if the peer has closed the socket. A buffer for the longest would be
/// some tens of page faults in a process that has just forked.
fn waiting(socket: impl AsFd) -> io::Result<usize> {
    let mut none: [u8; 0] = [];
    let flags = RecvFlags::PEEK | RecvFlags::TRUNC;
    let (_, length) = persist(|| rustix::net::recv(&socket, &mut none[..], flags))?;
    Ok(length)
}

/// Receives until there is an answer.
fn persist<T>(mut receive: impl FnMut() -> Result<T, Errno>) -> io::Result<T> {
    loop {
        match receive() {
            Err(Errno::INTR) => {}
            // The peer closed the socket without reading everything that was sent. The kernel reports
            // that once, before it delivers what the peer had sent.
            Err(Errno::CONNRESET) => {}
            other => return Ok(other?),
        }
    }
}

/// Receives one message. `None` means that the peer has closed the socket. Blocks unless the socket is
/// non-blocking.
pub fn receive<T: DeserializeOwned>(socket: impl AsFd) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut bytes = vec![0; waiting(&socket)?.min(MAX_MESSAGE)];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut slices = [io::IoSliceMut::new(&mut bytes)];
    let got = persist(|| {
        rustix::net::recvmsg(&socket, &mut slices, &mut beside, RecvFlags::CMSG_CLOEXEC)
    })?;
    let mut descriptors = Vec::new();
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    if got.bytes == 0 {
        return Ok(None);
    }
    if got.flags.contains(ReturnFlags::TRUNC) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "message truncated"));
    }
    if got.flags.contains(ReturnFlags::CTRUNC) {
        // There was no room for all descriptors. A part of them is useless, and the caller checks
        // that it got as many as it needs.
        descriptors.clear();
    }
    Ok(Some((serde_json::from_slice(&bytes[..got.bytes])?, descriptors)))
}
