//! A sealed jar as the engine holds it. Dropping it destroys it.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use carboy_jail::{SealReport, receive};
use carboy_protocol::frame::{self, Decoder};
use carboy_protocol::{FromJar, Isolation, Layers, SetupFault, ToJar, Walls};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::timeout;

use crate::error::{EngineError, While};
use crate::facts::Exit;
use crate::kernel::async_fd::{ready_now, watched};
use crate::kernel::proc::{self, Status};
use crate::tier::process::scratch::Scratch;
use crate::tier::process::zygote::{ForkedJar, Zygote, expect};

/// How long a fork may take to seal itself.
const SEAL: Duration = Duration::from_secs(10);

/// A jar that is sealed and waits for its job.
pub(crate) struct Jar {
    pub pidfd: AsyncFd<OwnedFd>,
    pub pid: u32,
    /// Its `/proc/PID/status`.
    pub status: File,
    pub stdout: pipe::Receiver,
    pub stderr: pipe::Receiver,
    pub job: pipe::Sender,
    pub frames: pipe::Receiver,
    pub listener: AsyncFd<OwnedFd>,
    pub directory: OwnedFd,
    pub ended: oneshot::Receiver<Exit>,
    pub isolation: Isolation,
    /// Where it came from. Kept: without its zygote a jar ends.
    pub zygote: Arc<Zygote>,
    /// Its temporary directory, as it is called inside.
    pub temporary: PathBuf,
    /// Its share of this process's descriptors.
    pub slot: Option<OwnedSemaphorePermit>,
    /// Its directory on the host, in nested walls. Removed after the process is gone.
    pub scratch: Option<Scratch>,
}

impl Jar {
    /// Waits until a fork has sealed itself, and checks from outside what it says.
    pub async fn sealed(
        forked: ForkedJar,
        zygote: Arc<Zygote>,
        walls: Walls,
        outer_uid: u32,
        scratch: Option<Scratch>,
    ) -> Result<Jar, EngineError> {
        let [pidfd, stdout, stderr, job, frames, word] = forked.descriptors;
        // From here on an error ends the process: a jar is never left half made.
        let unsealed = Unsealed(Some(pidfd));
        let slow = EngineError::TooSlow { what: "sealing a jar", seconds: SEAL.as_secs() };
        let said = timeout(SEAL, last_word(word)).await.map_err(|_| slow)?;
        let (report, descriptors) = said.while_doing("hear that a jar is sealed")?;
        let report = report.map_err(EngineError::Walls)?;
        let [listener, directory] =
            <[OwnedFd; 2]>::try_from(descriptors).map_err(|_| EngineError::Posture {
                what: "descriptors of a sealed jar",
                found: "another number".into(),
                wanted: "two".into(),
            })?;
        let pid = proc::pid_of(unsealed.pidfd()).while_doing("find a jar")?;
        let status = Status::open(pid).while_doing("look at a jar")?;
        let seen = Status::read(&status).while_doing("look at a jar")?;
        let layers = read_back(&report, &seen, walls, outer_uid)?;
        let receiver = |fd| pipe::Receiver::from_owned_fd(fd).while_doing("watch a jar's pipe");
        Ok(Jar {
            stdout: receiver(stdout)?,
            stderr: receiver(stderr)?,
            frames: receiver(frames)?,
            job: pipe::Sender::from_owned_fd(job).while_doing("watch a jar's pipe")?,
            listener: watched(listener).while_doing("watch a jar's filter")?,
            pidfd: watched(unsealed.into_pidfd()).while_doing("watch a jar")?,
            pid,
            status,
            directory,
            ended: forked.ended,
            isolation: Isolation { tier: "process".into(), walls, layers },
            temporary: report.temporary,
            zygote,
            slot: None,
            scratch,
        })
    }

    /// Lets it run a throwaway job, so that the pages a first job touches are its own before it
    /// stands.
    pub async fn warm(&mut self) -> Result<(), EngineError> {
        let slow = EngineError::TooSlow { what: "warming a jar", seconds: SEAL.as_secs() };
        let warmed = timeout(SEAL, self.warmed()).await.map_err(|_| slow)?;
        warmed.while_doing("warm a jar")
    }

    async fn warmed(&mut self) -> std::io::Result<()> {
        let body = serde_json::to_vec(&ToJar::Warm {})?;
        let frame = frame::encode(&body).map_err(std::io::Error::other)?;
        self.job.write_all(&frame).await?;
        let mut decoder = Decoder::new(64);
        let mut piece = [0; 64];
        loop {
            let count = self.frames.read(&mut piece).await?;
            decoder.feed(&piece[..count]).map_err(std::io::Error::other)?;
            match decoder.next() {
                Some(body) => {
                    let FromJar::Ready {} = serde_json::from_slice(&body)? else {
                        return Err(std::io::Error::other("it said something else"));
                    };
                    return Ok(());
                }
                None if count == 0 => return Err(std::io::Error::other("it ended")),
                None => {}
            }
        }
    }

    /// Whether its process is still there.
    pub fn is_alive(&self) -> bool {
        ready_now(self.pidfd.get_ref()).is_ok_and(|ready| ready.is_empty())
    }

    /// Its temporary directory, if that has a name of its own.
    pub fn own_temporary(&self) -> Option<&Path> {
        self.scratch.is_some().then_some(self.temporary.as_path())
    }

    /// Ends it. Nothing in it survives: it is the first process of its pid namespace, or (nested)
    /// was never granted a child.
    pub fn kill(&self) {
        proc::kill(self.pidfd.get_ref());
    }
}

impl Drop for Jar {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Kills what it holds unless it is taken out.
struct Unsealed(Option<OwnedFd>);

impl Unsealed {
    fn pidfd(&self) -> std::os::fd::BorrowedFd<'_> {
        // Only `into_pidfd` takes it out, and that consumes this.
        self.0.as_ref().map_or(rustix::fs::CWD, AsFd::as_fd)
    }

    fn into_pidfd(mut self) -> OwnedFd {
        self.0.take().unwrap_or_else(|| unreachable!("taken out once"))
    }
}

impl Drop for Unsealed {
    fn drop(&mut self) {
        if let Some(pidfd) = &self.0 {
            proc::kill(pidfd);
        }
    }
}

type LastWord = (Result<SealReport, SetupFault>, Vec<OwnedFd>);

async fn last_word(word: OwnedFd) -> std::io::Result<LastWord> {
    rustix::io::ioctl_fionbio(&word, true)?;
    let word = watched(word)?;
    let mut said = None;
    loop {
        let mut ready = word.readable().await?;
        let heard = ready.try_io(|socket| receive::<Result<_, _>>(socket.get_ref().as_fd()));
        match (heard, said.is_some()) {
            (Err(_would_block), _) => {}
            (Ok(Ok(Some(word))), false) => said = Some(word),
            // Its side is closed: it has said all, and nothing that sealing needed is left to it.
            (Ok(Ok(None)), _) => {
                let gone = || std::io::Error::other("it ended while sealing itself");
                return said.ok_or_else(gone);
            }
            (Ok(Ok(Some(_))), true) => return Err(std::io::Error::other("it said two last words")),
            (Ok(Err(error)), _) => return Err(error),
        }
    }
}

/// Compares what the jar reported with what the kernel shows of it, and both with the plan.
fn read_back(
    report: &SealReport,
    status: &Status,
    walls: Walls,
    outer_uid: u32,
) -> Result<Layers, EngineError> {
    let zero = "0000000000000000";
    expect("Seccomp", status.first("Seccomp:"), "2")?;
    // Older kernels do not count them.
    if let Some(filters) = status.first("Seccomp_filters:") {
        expect("Seccomp_filters", Some(filters), "2")?;
    }
    expect("NoNewPrivs", status.first("NoNewPrivs:"), "1")?;
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
        expect("a capability set", status.first(set), zero)?;
    }
    expect("Uid", status.first("Uid:"), &outer_uid.to_string())?;
    let full = walls == Walls::Full;
    if full {
        expect("CapBnd", status.first("CapBnd:"), zero)?;
    }
    Ok(Layers {
        // The helper compared each namespace with the host's before the zygote went on, and the
        // jar found itself to be the first process of a namespace below that.
        user_ns: full,
        mount_ns: full,
        pid_ns: full && report.pid == 1,
        net_ns: full,
        ipc_ns: full,
        uts_ns: full && report.hostname == "jar",
        cgroup_ns: full,
        private_root: report.private_root,
        landlock_abi: report.landlock_abi,
        seccomp: "process".into(),
        seccomp_filters: 2,
        no_new_privs: true,
        no_capabilities: true,
        bounding_set_empty: status.first("CapBnd:") == Some(zero),
        uid: report.uid,
        cgroup: "none".into(),
    })
}
