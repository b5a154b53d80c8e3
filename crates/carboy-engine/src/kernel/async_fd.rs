//! Descriptors that the runtime watches, and what they are ready for at this moment.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::unix::AsyncFd;

/// A descriptor whose readiness can be awaited.
#[allow(
    deprecated,
    reason = "the newer form is unsafe because any type may be handed to it; an OwnedFd stays open \
              and the same for as long as the AsyncFd owns it, which is all that it asks"
)]
pub(crate) fn watched(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(descriptor)
}

/// What a descriptor has for a reader now: the readiness that tokio remembers may be old.
pub(crate) fn ready_now(descriptor: impl AsFd) -> io::Result<PollFlags> {
    let mut watched = [PollFd::new(&descriptor, PollFlags::IN)];
    poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    Ok(watched[0].revents())
}
