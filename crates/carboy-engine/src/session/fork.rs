//! Making a copy of a process of a session, with its leave and under the engine's eyes.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use carboy_protocol::frame::{self, Decoder};
use carboy_protocol::json::{self, MAX_DEPTH};
use carboy_protocol::{FromJar, ToJar};
use carboy_sys::cpu_time;
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::net::unix::pipe;
use tokio::time::timeout;

use crate::error::{EngineError, While};
use crate::kernel::async_fd::watched;
use crate::kernel::proc;
use crate::tier::Jar;
use crate::tier::process::{Ends, Head, ProcessJar, Purpose, Routes, Unfit};

/// How long a copy may take.
const FORK: Duration = Duration::from_secs(20);
/// How much processor time it may take.
const FORK_CPU_US: u64 = 1_000_000;
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(50);
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

/// Copies a process, which first waits for those of its children that have ended. Both are stopped afterwards,
/// unless the first process was copied: it goes on waiting.
pub(super) async fn fork(
    jar: &Arc<ProcessJar>,
    routes: &Arc<Routes>,
    original: Original<'_>,
    purpose: Purpose,
    ended: Vec<u32>,
) -> Result<Head, ForkFault> {
    // Nothing was asked for yet.
    let without = |error: io::Error| ForkFault::Refused(format!("it has no pipes: {error}"));
    let (ours, theirs) = new_pipes().map_err(without)?;
    let mut pipes = [(0, 0); 4];
    for (pipe, end) in pipes.iter_mut().zip(&ours) {
        *pipe = proc::file_id(end).map_err(without)?;
    }
    let (parent, baseline) = match &original {
        Original::First => (jar.about().pid, jar.about().baseline),
        Original::Head(head) => (head.about().pid, head.about().baseline),
    };
    if ended.len() > UNREAPED {
        return Err(ForkFault::Refused("too many copies have ended that nobody waits for".into()));
    }
    // What is written to after a fork is copied then. It is better copied before somebody waits.
    let message = ToJar::Fork { ended, rehearse: purpose == Purpose::Backup };
    let (expected, birth) = routes.expect(parent, purpose, theirs);
    let asked = async {
        let said = match original {
            Original::First => ask(jar.talk(), vec![], &message).await,
            Original::Head(head) => {
                let owed = std::mem::take(&mut head.owed);
                drain(head.talk().1);
                head.wake();
                let said = ask(head.talk(), owed, &message).await;
                head.hush();
                said
            }
        };
        match said {
            Ok(FromJar::Ready {}) => {
                birth.await.map_err(|_| ForkFault::Broken("it never came".into()))
            }
            // The message is the guest's own text, and this is the engine's.
            Ok(FromJar::Failed(failure)) => Err(ForkFault::Refused(match failure.errno {
                Some(errno) => format!("the fork failed (errno {errno})"),
                None => "the fork failed".into(),
            })),
            Ok(_) => Err(ForkFault::Broken("it said something else".into())),
            Err(error) => Err(ForkFault::Broken(error.to_string())),
        }
    };
    let answered = in_time(parent, routes, asked).await;
    // Once it was granted there may be a copy, wherever it is: the word of the one that was asked is no
    // proof that there is none.
    let broken = |fault| match fault {
        ForkFault::Refused(why) if expected.withdraw() => ForkFault::Broken(why),
        fault => fault,
    };
    match answered.and_then(|birth| birth).map_err(broken)? {
        Ok(born) => {
            let mut head =
                Head::new(born, Ends(ours), pipes, jar.clone(), routes.clone(), baseline)?;
            // One that is stopped before its call has returned would make it again.
            let ready = in_time(head.about().pid, routes, hear(head.talk().1)).await;
            drop(expected);
            if !matches!(ready?, Ok(FromJar::Ready {})) {
                head.kill();
                head.exit().await?;
                return Err(ForkFault::Refused("the copy did not answer".into()));
            }
            head.hush();
            head.measure();
            routes.hand_over_strays(head.about().pid, parent);
            Ok(head)
        }
        // It was made, looked at and ended.
        Err(Unfit { why, killed: Some(killed) }) => {
            let killed = watched(killed).while_doing("watch a copy")?;
            match timeout(FORK, killed.readable()).await {
                Ok(Ok(_)) => Err(ForkFault::Refused(why)),
                _ => Err(ForkFault::Broken(why)),
            }
        }
        Err(Unfit { why, killed: None }) => Err(ForkFault::Broken(why)),
    }
}

/// Waits for a part of a fork, unless that takes too long, or too much processor time of this process and
/// of what nobody knows below it: no run is charged for what hooks of a fork do.
async fn in_time<T>(
    process: u32,
    routes: &Routes,
    part: impl Future<Output = T>,
) -> Result<T, ForkFault> {
    let used_us = |pid: u32| cpu_time(pid).unwrap_or(0);
    let before_us = used_us(process);
    let spent = async {
        loop {
            tokio::time::sleep(LOOK).await;
            let known = routes.known();
            let copies = proc::children(process).into_iter().filter(|child| !known.contains(child));
            let own_us = used_us(process).saturating_sub(before_us);
            if own_us + copies.map(used_us).sum::<u64>() > FORK_CPU_US {
                return;
            }
        }
    };
    tokio::select! {
        done = timeout(FORK, part) => {
            done.map_err(|_| ForkFault::Broken(format!("it took longer than {} s", FORK.as_secs())))
        }
        () = spent => Err(ForkFault::Broken("it took too much processor time".into())),
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
            // Why it is none would be told in the code's own words.
            let foreign = |_| io::Error::other("it is not a message that a jar may send");
            return serde_json::from_slice(&body).map_err(foreign);
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
