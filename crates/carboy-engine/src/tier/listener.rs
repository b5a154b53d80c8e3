//! Where the calls come that a jar's filter announces.
//!
//! A jar that is one process has its listener for itself. The heads of a session share one filter, so
//! somebody reads its listener for all of them, and each head has a queue.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use carboy_sys::seccomp::{Notification, receive};
use rustix::event::PollFlags;
use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};
use tokio::sync::mpsc;

use crate::kernel::async_fd::ready_now;

/// Where announced calls come.
pub(crate) enum Listener {
    /// From the kernel.
    Own(AsyncFd<OwnedFd>),
    /// Through a queue.
    Routed(Routed),
}

/// The calls of one head.
pub(crate) struct Routed {
    /// Bounded by the head's threads: each waits for its answer.
    pub calls: mpsc::UnboundedReceiver<Notification>,
    /// One that was taken from the queue and that nobody has looked at.
    pub next: Option<Notification>,
    /// Where answers go.
    pub answers: Arc<OwnedFd>,
}

/// Announced calls that may have come.
pub(crate) enum Ready<'a> {
    Own(AsyncFdReadyGuard<'a, OwnedFd>),
    Routed(&'a mut Routed),
}

/// What there is to do for a listener.
pub(crate) enum Announced {
    /// A call, which waits for an answer.
    Call(Notification),
    /// A call whose caller was killed before it could be taken.
    Withdrawn,
    /// Nothing now.
    Nothing,
    /// Nothing any more: nobody is left under the filter.
    Over,
}

impl Listener {
    /// Waits until a call may have come.
    pub async fn readable(&mut self) -> io::Result<Ready<'_>> {
        match self {
            Listener::Own(listener) => Ok(Ready::Own(listener.readable().await?)),
            Listener::Routed(routed) => {
                if routed.next.is_none() {
                    routed.next = routed.calls.recv().await;
                }
                Ok(Ready::Routed(routed))
            }
        }
    }

    /// Where answers go.
    pub fn answers(&self) -> &OwnedFd {
        match self {
            Listener::Own(listener) => listener.get_ref(),
            Listener::Routed(routed) => &routed.answers,
        }
    }
}

impl Ready<'_> {
    /// Takes a call, if there is one. The kernel is asked first: receiving would block if nothing waited,
    /// and the readiness that tokio remembers may be old.
    pub fn take(&mut self) -> io::Result<Announced> {
        let ready = match self {
            Ready::Own(ready) => ready,
            Ready::Routed(routed) => {
                let next = routed.next.take().ok_or(mpsc::error::TryRecvError::Empty);
                return Ok(match next.or_else(|_| routed.calls.try_recv()) {
                    Ok(call) => Announced::Call(call),
                    Err(mpsc::error::TryRecvError::Empty) => Announced::Nothing,
                    Err(mpsc::error::TryRecvError::Disconnected) => Announced::Over,
                });
            }
        };
        match ready_now(ready.get_inner()) {
            Ok(events) if events.contains(PollFlags::IN) => match receive(ready.get_inner()) {
                Ok(call) => Ok(Announced::Call(call)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Announced::Withdrawn),
                Err(error) => Err(error),
            },
            Ok(events) if events.is_empty() => {
                ready.clear_ready();
                Ok(Announced::Nothing)
            }
            _ => Ok(Announced::Over),
        }
    }

    /// Where answers go.
    pub fn answers(&self) -> &OwnedFd {
        match self {
            Ready::Own(ready) => ready.get_inner(),
            Ready::Routed(routed) => &routed.answers,
        }
    }
}
