//! The two ends that belong to the caller, and whether anybody is still there.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{UnixStream, unix};

/// How often it is looked whether the caller is still there, once no more requests can come.
const LOOK: Duration = Duration::from_millis(100);

/// The two ends that belong to the caller. Pipes and sockets are read and written without a thread.
pub struct Ends {
    pub(super) input: Box<dyn AsyncRead + Unpin + Send>,
    pub(super) output: Box<dyn AsyncWrite + Unpin + Send>,
    /// The output once more, to see whether anybody is at its other end.
    pub(super) reader: OwnedFd,
}

impl Ends {
    /// Standard input and output of this process.
    pub fn standard() -> io::Result<Ends> {
        let own_input = std::io::stdin().as_fd().try_clone_to_owned()?;
        let own_output = std::io::stdout().as_fd().try_clone_to_owned()?;
        let reader = own_output.try_clone()?;
        Ok(Ends {
            input: match unix::pipe::Receiver::from_owned_fd(own_input) {
                Ok(pipe) => Box::new(pipe),
                Err(_no_pipe) => Box::new(tokio::io::stdin()),
            },
            output: match unix::pipe::Sender::from_owned_fd(own_output) {
                Ok(pipe) => Box::new(pipe),
                Err(_no_pipe) => Box::new(tokio::io::stdout()),
            },
            reader,
        })
    }

    /// What to read from, and what to write to.
    pub fn split(self) -> (impl AsyncRead + Unpin + Send, impl AsyncWrite + Unpin + Send) {
        (self.input, self.output)
    }

    /// Both directions over one connected socket.
    pub fn socket(own: OwnedFd) -> io::Result<Ends> {
        let reader = own.try_clone()?;
        let stream = std::os::unix::net::UnixStream::from(own);
        stream.set_nonblocking(true)?;
        let (input, output) = UnixStream::from_std(stream)?.into_split();
        Ok(Ends { input: Box::new(input), output: Box::new(output), reader })
    }
}

/// Waits until nobody can read our answers any more.
pub(super) async fn nobody_reads(reader: OwnedFd) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    loop {
        let mut watched = [PollFd::new(&reader, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        if poll(&mut watched, Some(&now)).is_ok_and(|gone| gone > 0) {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
}
