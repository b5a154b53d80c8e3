//! Descriptors that the runtime watches.

use std::io;
use std::os::fd::OwnedFd;

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
