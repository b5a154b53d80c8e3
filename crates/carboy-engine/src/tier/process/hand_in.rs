//! Asks a helper to hand files into a jar.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use carboy_jail::HandIn;
use carboy_protocol::SetupFault;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

use crate::error::{EngineError, While};
use crate::tier::process::talk::{first_word, tell_with};

/// How long handing files into a jar may take. Whoever does it is ended by the kernel before.
const HAND_IN: Duration = Duration::from_secs(10);

/// Has what a run is given mounted into the jar behind `pidfd`, which is sealed and waits.
pub(super) async fn hand_in(
    helper: &AsyncFd<OwnedFd>,
    request: &HandIn,
    pidfd: BorrowedFd<'_>,
    bytes: Option<OwnedFd>,
) -> Result<(), EngineError> {
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .while_doing("make a socket pair")?;
    let slow = || EngineError::TooSlow { what: "handing files in", seconds: HAND_IN.as_secs() };
    let answered = async {
        let all = [Some(pidfd), Some(theirs.as_fd()), bytes.as_ref().map(AsFd::as_fd)];
        let all: Vec<BorrowedFd<'_>> = all.into_iter().flatten().collect();
        let told = tell_with(helper, request, &all).await;
        told.while_doing("ask for files to be handed in")?;
        // Otherwise nobody would see whoever answers end.
        drop(theirs);
        // What it says is the last thing it does, so nobody waits for its end.
        let word = first_word::<Result<(), SetupFault>>(ours).await;
        word.while_doing("hear that files were handed in")
    };
    let (done, _) = timeout(HAND_IN, answered).await.map_err(|_| slow())??;
    done.map_err(EngineError::Walls)
}
