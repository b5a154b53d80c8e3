//! A socket that two look at: whoever serves it, and whoever watches whether its client is gone.
//!
//! What serves a connection stops to read when it has bytes of a next request, and then does not notice that the
//! client goes away. The kernel knows.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{Shutdown, shutdown};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// A connection's socket.
#[derive(Clone)]
pub(super) enum Socket {
    Tcp(Arc<TcpStream>),
    Unix(Arc<UnixStream>),
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        }
    }
}

/// Does the same with either kind of socket.
macro_rules! either {
    ($socket:expr, $stream:ident => $work:expr) => {
        match $socket {
            Socket::Tcp($stream) => $work,
            Socket::Unix($stream) => $work,
        }
    };
}

/// Tries until it works or has to wait.
macro_rules! when_ready {
    ($socket:expr, $context:expr, $ready:ident, $stream:ident => $work:expr) => {
        loop {
            ready!(either!($socket, stream => stream.$ready($context)))?;
            match either!($socket, $stream => $work) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    };
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        when_ready!(&*self, context, poll_read_ready, stream => stream.try_read_buf(buffer).map(|_count| ()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        when_ready!(&*self, context, poll_write_ready, stream => stream.try_write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        when_ready!(&*self, context, poll_write_ready, stream => stream.try_write_vectored(bytes))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Who is gone already needs no word.
        shutdown(self.as_fd(), Shutdown::Write).ok();
        Poll::Ready(Ok(()))
    }
}

/// Which of them have a client that is gone, or sends no more.
pub(super) fn gone(sockets: &[Socket]) -> Vec<bool> {
    let mut watched: Vec<_> =
        sockets.iter().map(|socket| PollFd::new(socket, PollFlags::RDHUP)).collect();
    if poll(&mut watched, Some(&Timespec::default())).is_err() {
        // The next look will tell.
        return vec![false; sockets.len()];
    }
    watched.iter().map(|socket| !socket.revents().is_empty()).collect()
}
