//! Making a copy of a process of a session, with its leave and under the engine's eyes.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use carboy_protocol::frame::{self, Decoder};
use carboy_protocol::json::{self, MAX_DEPTH};
use carboy_protocol::{FromJar, ToJar};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::net::unix::pipe;
use tokio::time::timeout;

use crate::error::{EngineError, While};
use crate::kernel::proc;
use crate::tier::Jar;
use crate::tier::process::{Ends, Head, ProcessJar, Purpose, Routes};

/// How long a copy may take.
const FORK: Duration = Duration::from_secs(20);
/// How many processes of a session may have ended without being waited for. A head that means well waits for
/// its copies whenever it makes one.
const UNREAPED: usize = 256;
/// The longest answer to a question that is not a run.
const ANSWER: usize = 64 << 10;

/// Why there is no copy.
#[derive(Debug)]
pub(super) enum ForkFault {
    /// It was refused, and what was to be copied stands as before.
    Refused(String),
    /// Nobody knows what there is now. All of it has to end.
    Broken(String),
}

impl From<EngineError> for ForkFault {
    fn from(error: EngineError) -> ForkFault {
        let source = std::error::Error::source(&error);
        ForkFault::Broken(match source {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        })
    }
}

/// What is copied.
pub(super) enum Original<'a> {
    /// The first process, which has run no code.
    First,
    /// A head.
    Head(&'a mut Head),
}

/// Copies a process. Both are stopped afterwards, unless the first process was copied: it goes on waiting.
pub(super) async fn fork(
    jar: &Arc<ProcessJar>,
    routes: &Arc<Routes>,
    original: Original<'_>,
    purpose: Purpose,
) -> Result<Head, ForkFault> {
    let (ours, theirs) = new_pipes().while_doing("make pipes for a head")?;
    let mut pipes = [(0, 0); 4];
    for (pipe, end) in pipes.iter_mut().zip(&ours) {
        *pipe = proc::file_id(end).while_doing("look at the pipes of a head")?;
    }
    let (parent, baseline) = match &original {
        Original::First => (jar.about().pid, jar.about().baseline),
        Original::Head(head) => (head.about().pid, head.about().baseline),
    };
    if routes.unreaped(|pid| std::path::Path::new(&format!("/proc/{pid}")).exists()) > UNREAPED {
        return Err(ForkFault::Refused("too many copies have ended that nobody waits for".into()));
    }
    let (expected, birth) = routes.expect(parent, purpose, theirs);
    let asked = async {
        let said = match original {
            Original::First => ask(jar.talk(), vec![], &ToJar::Fork {}).await,
            Original::Head(head) => {
                let owed = std::mem::take(&mut head.owed);
                drain(head.talk().1);
                head.wake();
                let said = ask(head.talk(), owed, &ToJar::Fork {}).await;
                head.hush();
                said
            }
        };
        match said {
            Ok(FromJar::Ready {}) => {
                Ok(birth.await.unwrap_or_else(|_| Err("it never came".into())))
            }
            Ok(FromJar::Failed(failure)) => Err(failure.message.chars().take(200).collect()),
            Ok(_) => Ok(Err("it said something else".into())),
            Err(error) => Ok(Err(error.to_string())),
        }
    };
    let answered = timeout(FORK, asked).await;
    let unknown = || {
        let known = routes.known();
        proc::children(parent)
            .iter()
            .any(|child| !known.contains(child) && !proc::is_ending(*child))
    };
    match answered {
        Ok(Ok(Ok(born))) => {
            let head = Head::new(born, Ends(ours), pipes, jar.clone(), routes.clone(), baseline)?;
            // One that is stopped before its call has returned would make it again.
            let ready = timeout(FORK, hear(head.talk().1)).await;
            drop(expected);
            if !matches!(ready, Ok(Ok(FromJar::Ready {}))) {
                return Err(ForkFault::Refused("the copy did not answer".into()));
            }
            head.hush();
            head.measure();
            Ok(head)
        }
        // It could not be made: there is none.
        Ok(Err(why)) if !unknown() => Err(ForkFault::Refused(why)),
        // It was made, looked at and ended.
        Ok(Ok(Err(why))) if expected.was_granted() && !unknown() => Err(ForkFault::Refused(why)),
        Ok(Ok(Err(why)) | Err(why)) => Err(ForkFault::Broken(why)),
        Err(_) => Err(ForkFault::Broken(format!("it took longer than {} s", FORK.as_secs()))),
    }
}

/// The pipes of a head: our ends and its own, in the order standard output, standard error, job, frames.
fn new_pipes() -> io::Result<([OwnedFd; 4], [OwnedFd; 4])> {
    let pipe = || pipe_with(PipeFlags::CLOEXEC);
    let ((out_read, out), (err_read, err)) = (pipe()?, pipe()?);
    let ((job, job_write), (frames_read, frames)) = (pipe()?, pipe()?);
    Ok(([out_read, err_read, job_write, frames_read], [out, err, job, frames]))
}

/// Tells a process something, and waits for its answer, which is the guest's word.
pub(super) async fn ask(
    (job, frames): (&pipe::Sender, &pipe::Receiver),
    owed: Vec<u8>,
    message: &ToJar,
) -> io::Result<FromJar> {
    let mut bytes = owed;
    bytes.extend(frame::encode(&serde_json::to_vec(message)?).map_err(io::Error::other)?);
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        job.writable().await?;
        match job.try_write(rest) {
            Ok(count) => rest = &rest[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    hear(frames).await
}

/// Waits for one message of a process.
async fn hear(frames: &pipe::Receiver) -> io::Result<FromJar> {
    let mut decoder = Decoder::new(ANSWER);
    let mut piece = [0; 4096];
    loop {
        frames.readable().await?;
        match frames.try_read(&mut piece) {
            Ok(0) => return Err(io::Error::other("it ended")),
            Ok(count) => decoder.feed(&piece[..count]).map_err(io::Error::other)?,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        }
        if let Some(body) = decoder.next() {
            json::check(&body, MAX_DEPTH).map_err(io::Error::other)?;
            return Ok(serde_json::from_slice(&body)?);
        }
    }
}

/// Takes what a process that is stopped has said and nobody asked for.
pub(super) fn drain(frames: &pipe::Receiver) {
    let mut piece = [0; 4096];
    // A pipe holds so much; one that has more is written by somebody who is not stopped.
    for _ in 0..64 {
        let Ok(1..) = rustix::io::read(frames.as_fd(), &mut piece) else { return };
    }
}
