//! The words between the engine and a zygote: each a message on a socket pair, with descriptors.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use carboy_jail::{JarPlan, JarWalls, ZygotePlan, receive, send};
use carboy_protocol::{FromZygote, ToZygote, WIRE_VERSION};
use tokio::io::AsyncReadExt;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;

use crate::error::{EngineError, While};

/// How much of a zygote's standard error is kept.
const KEPT_STDERR: usize = 4096;

/// Sends a message.
pub(super) async fn tell(
    control: &AsyncFd<OwnedFd>,
    message: &impl serde::Serialize,
) -> io::Result<()> {
    loop {
        let mut ready = control.writable().await?;
        match ready.try_io(|socket| send(socket.get_ref().as_fd(), message, &[])) {
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

/// The first words: plan, started, prepare, ready. `None` means that it ended without a word.
pub(super) async fn greet(
    control: &AsyncFd<OwnedFd>,
    plan: &ZygotePlan,
    walls: JarWalls,
    preload: &[String],
) -> Result<Option<(OwnedFd, String)>, EngineError> {
    tell(control, plan).await.while_doing("send the plan")?;
    let mut pidfd = None;
    let mut walls = Some(walls);
    loop {
        match hear(control).await.while_doing("listen to the zygote")? {
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
                if let Some(walls) = walls.take() {
                    let prepare = ToZygote::<JarWalls, JarPlan>::Prepare(walls);
                    match tell(control, &prepare).await {
                        // It failed meanwhile. What it said about that is still to be heard.
                        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                        other => other.while_doing("send the walls")?,
                    }
                }
            }
            Some((FromZygote::Ready { wire, python }, _)) => {
                if wire != WIRE_VERSION {
                    return Err(EngineError::Version { found: wire, wanted: WIRE_VERSION });
                }
                return Ok(pidfd.map(|pidfd| (pidfd, python)));
            }
            Some(_) => {}
        }
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
