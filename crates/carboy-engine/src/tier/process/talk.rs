//! The words between the engine and a zygote: each a message on a socket pair, with descriptors.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use carboy_jail::{JarPlan, JarWalls, ZygotePlan, receive, send};
use carboy_protocol::{FromZygote, ToZygote, WIRE_VERSION, Walls};
use serde::de::DeserializeOwned;
use tokio::io::AsyncReadExt;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use crate::error::{EngineError, While};
use crate::kernel::async_fd::watched;
use crate::kernel::proc::{self, Status};
use crate::tier::process::preload::Preloads;

/// How long an interpreter may take to start, and how long to import one module.
const STEP: Duration = Duration::from_secs(60);
/// How much of a zygote's standard error is kept.
const KEPT_STDERR: usize = 4096;

/// Sends a message.
pub(super) async fn tell(
    control: &AsyncFd<OwnedFd>,
    message: &impl serde::Serialize,
) -> io::Result<()> {
    tell_with(control, message, &[]).await
}

/// Sends a message with descriptors.
pub(super) async fn tell_with(
    control: &AsyncFd<OwnedFd>,
    message: &impl serde::Serialize,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    loop {
        let mut ready = control.writable().await?;
        match ready.try_io(|socket| send(socket.get_ref().as_fd(), message, descriptors)) {
            Ok(result) => return result,
            Err(_would_block) => {}
        }
    }
}

/// A message and the descriptors that came with it.
type Heard = Option<(FromZygote, Vec<OwnedFd>)>;

/// Receives a message; `None` at the end.
pub(super) async fn hear(control: &AsyncFd<OwnedFd>) -> io::Result<Heard> {
    loop {
        let mut ready = control.readable().await?;
        match ready.try_io(|socket| receive(socket.get_ref().as_fd())) {
            Ok(result) => return result,
            Err(_would_block) => {}
        }
    }
}

/// Waits for the first thing that the other side says, with what came along.
pub(super) async fn first_word<T: DeserializeOwned>(
    word: OwnedFd,
) -> io::Result<(T, Vec<OwnedFd>)> {
    rustix::io::ioctl_fionbio(&word, true)?;
    let word = watched(word)?;
    loop {
        let mut ready = word.readable().await?;
        match ready.try_io(|socket| receive::<T>(socket.get_ref().as_fd())) {
            Err(_would_block) => {}
            Ok(heard) => {
                return heard?.ok_or_else(|| io::Error::other("it ended without a word"));
            }
        }
    }
}

/// Waits for the one thing that the other side says before it closes its socket, with what came along.
pub(super) async fn only_word<T: DeserializeOwned>(word: OwnedFd) -> io::Result<(T, Vec<OwnedFd>)> {
    rustix::io::ioctl_fionbio(&word, true)?;
    let word = watched(word)?;
    let mut said = None;
    loop {
        let mut ready = word.readable().await?;
        let heard = ready.try_io(|socket| receive::<T>(socket.get_ref().as_fd()));
        match (heard, said.is_some()) {
            (Err(_would_block), _) => {}
            (Ok(Ok(Some(word))), false) => said = Some(word),
            // Its side is closed: it has said all. A jar has nothing left then that sealing needed.
            (Ok(Ok(None)), _) => {
                return said.ok_or_else(|| io::Error::other("it ended without a word"));
            }
            (Ok(Ok(Some(_))), true) => return Err(io::Error::other("it said two words")),
            (Ok(Err(error)), _) => return Err(error),
        }
    }
}

type Order = ToZygote<JarWalls, JarPlan>;

/// Tells a zygote that is starting what to do.
async fn order(control: &AsyncFd<OwnedFd>, order: &Order) -> Result<(), EngineError> {
    match tell(control, order).await {
        // It failed meanwhile. What it said about that is still to be heard.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.while_doing("talk to the zygote"),
    }
}

/// Why a module that a zygote has just imported cannot stay there.
fn untamed(pid: u32, walls: Walls, shares: bool) -> Result<Option<&'static str>, EngineError> {
    let status = Status::of(pid).while_doing("look at the zygote")?;
    if status.first("Threads:") != Some("1") {
        return Ok(Some("it starts a thread"));
    }
    let shared = shared_memory(pid, walls).while_doing("look at the zygote's memory")?;
    Ok((shares || shared.is_some()).then_some("it maps memory that jars would share"))
}

/// What a zygote is when it is ready.
pub(super) struct Greeted {
    pub pidfd: OwnedFd,
    pub python: String,
}

/// The first words: plan, started, each module and whether it may stay, prepare, ready. `None` means that it ended without a word.
pub(super) async fn greet(
    control: &AsyncFd<OwnedFd>,
    plan: &ZygotePlan,
    walls: JarWalls,
    preload: &[String],
    preloads: &Preloads,
) -> Result<Option<Greeted>, EngineError> {
    tell(control, plan).await.while_doing("send the plan")?;
    let mut pidfd = None;
    let mut left = preload.len();
    let mut last = Instant::now();
    let too_slow = || EngineError::TooSlow { what: "starting a zygote", seconds: STEP.as_secs() };
    loop {
        let heard = timeout(STEP, hear(control)).await.map_err(|_| too_slow())?;
        match heard.while_doing("listen to the zygote")? {
            None => return Ok(None),
            Some((FromZygote::Failed(fault), _)) => return Err(EngineError::Walls(fault)),
            Some((FromZygote::NotPreloaded { module, error }, _)) => {
                return Err(EngineError::NotPreloaded { module, error });
            }
            Some((FromZygote::Shared { mapping }, _)) => {
                return Err(EngineError::SharedMemory { mapping, preload: preload.join(", ") });
            }
            Some((FromZygote::Started {}, descriptors)) => {
                pidfd = descriptors.into_iter().next();
                if left == 0 {
                    order(control, &Order::Prepare(walls.clone())).await?;
                }
            }
            Some((FromZygote::Imported { module, shares }, _)) => {
                let pid = pidfd.as_ref().map(proc::pid_of).transpose();
                if let Some(pid) = pid.while_doing("find the zygote")?
                    && let Some(why) = untamed(pid, walls.walls, shares)?
                {
                    return Err(EngineError::Untamed { module, why });
                }
                preloads.imported(&module, last.elapsed());
                last = Instant::now();
                order(control, &Order::Next {}).await?;
                left = left.saturating_sub(1);
                if left == 0 {
                    order(control, &Order::Prepare(walls.clone())).await?;
                }
            }
            Some((FromZygote::Ready { wire, python }, _)) => {
                if wire != WIRE_VERSION {
                    return Err(EngineError::Version { found: wire, wanted: WIRE_VERSION });
                }
                return Ok(pidfd.map(|pidfd| Greeted { pidfd, python }));
            }
            Some(_) => {}
        }
    }
}

/// Memory that all jars of a zygote would share, if it holds any. In nested walls an engine may not be
/// allowed to look, and the zygote has looked itself; inside full walls there is nothing to look at.
pub(super) fn shared_memory(pid: u32, walls: Walls) -> io::Result<Option<String>> {
    match walls {
        Walls::Full => Ok(carboy_jail::shared_writable(&proc::mappings(pid)?)),
        Walls::Nested => Ok(None),
    }
}

/// The end of a stream, bounded.
pub(super) async fn keep_last(stream: OwnedFd) -> String {
    let Ok(mut stream) = pipe::Receiver::from_owned_fd(stream) else { return String::new() };
    let mut kept = Vec::new();
    let mut piece = [0; 1024];
    while let Ok(count @ 1..) = stream.read(&mut piece).await {
        kept.extend_from_slice(&piece[..count]);
        let excess = kept.len().saturating_sub(KEPT_STDERR);
        kept.drain(..excess);
    }
    String::from_utf8_lossy(&kept).into_owned()
}
