//! A sealed jar of this tier, as the engine holds it. Dropping it destroys it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use carboy_jail::{HandIn, SHARED_MEMORY, SealReport};
use carboy_protocol::frame::{self, Decoder};
use carboy_protocol::{FromJar, Isolation, Limits, SetupFault, ToJar};
use carboy_sys::cpu_time;
use rustix::fs::Timespec;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::timeout;

use crate::error::{EngineError, While};
use crate::facts::{Baseline, Exit};
use crate::kernel::async_fd::{ready_now, watched};
use crate::kernel::blocking::elsewhere;
use crate::kernel::cgroup::{Bounds, Group, Tree};
use crate::kernel::ending::{Killed, REAP};
use crate::kernel::proc::{self, Status};
use crate::plan::JAR_SCORE;
use crate::runner::Artifacts;
use crate::tier::process::hand_in::hand_in;
use crate::tier::process::scratch::{Directory, Scratch};
use crate::tier::process::seal::{Unsealed, expect, read_back};
use crate::tier::process::talk::only_word;
use crate::tier::process::zygote::{ForkedJar, Zygote, baseline};
use crate::tier::{About, Files, Inputs, Io, Jar, Left, Listener, Sample};

/// How long a fork may take to seal itself.
const SEAL: Duration = Duration::from_secs(10);

/// The kernel takes too long to end a killed jar.
fn too_slow() -> EngineError {
    EngineError::TooSlow { what: "ending a jar", seconds: REAP.as_secs() }
}

/// So many bytes are copied on the engine's thread: handing them to another takes longer.
const AT_ONCE: u64 = 64 << 10;

/// How a jar was planned.
pub(super) struct Made {
    /// How many inodes its file system uses itself.
    pub own_inodes: u64,
    /// How many it has in all.
    pub inodes: u64,
    /// Whether its limits were set for what is imported in it.
    pub has_room: bool,
    /// Whether jars stand before they are asked for.
    pub others_stand: bool,
}

/// What is read of a jar that has said its last word. One that is gone by then failed after it, and was not
/// sealed.
fn still_there<T>(answer: std::io::Result<T>, step: &'static str) -> Result<T, EngineError> {
    let gone = |error: &std::io::Error| {
        error.kind() == std::io::ErrorKind::NotFound
            || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
    };
    match answer {
        Err(error) if gone(&error) => Err(EngineError::Posture {
            what: "a jar after its last word",
            found: "it has ended".into(),
            wanted: "that it waits for its job".into(),
        }),
        answer => answer.while_doing(step),
    }
}

/// A jar that is sealed and waits for its job.
pub(crate) struct ProcessJar {
    about: About,
    io: Io,
    /// Its `/proc/PID/status`.
    status: File,
    exit: oneshot::Receiver<Exit>,
    /// Where it came from. Kept: without its zygote a jar ends.
    zygote: Arc<Zygote>,
    /// Whether its limits were set for what is imported in it.
    has_room: bool,
    /// Its temporary directory, as it is called inside.
    temporary: PathBuf,
    /// Its share of this process's descriptors.
    _slot: OwnedSemaphorePermit,
    directory: Directory,
    /// How many inodes its file system has, if it is in memory.
    inodes: u64,
    /// Whether jars stand before they are asked for.
    others_stand: bool,
    /// The control group that it is in, if there is one.
    group: Option<Group>,
}

impl ProcessJar {
    /// Waits until a fork has sealed itself, and checks from outside what it says.
    pub(super) async fn sealed(
        forked: ForkedJar,
        zygote: Arc<Zygote>,
        scratch: Option<Scratch>,
        made: Made,
        slot: OwnedSemaphorePermit,
    ) -> Result<ProcessJar, EngineError> {
        let [pidfd, stdout, stderr, job, frames, word] = forked.descriptors;
        // From here on an error ends the process: a jar is never left half made.
        let unsealed = Unsealed(Some(pidfd));
        let slow = EngineError::TooSlow { what: "sealing a jar", seconds: SEAL.as_secs() };
        let last_word = only_word::<Result<SealReport, SetupFault>>(word);
        let said = timeout(SEAL, last_word).await.map_err(|_| slow)?;
        let (report, descriptors) = said.while_doing("hear that a jar is sealed")?;
        let report = report.map_err(EngineError::Walls)?;
        let [listener, directory] =
            <[OwnedFd; 2]>::try_from(descriptors).map_err(|_| EngineError::Posture {
                what: "descriptors of a sealed jar",
                found: "another number".into(),
                wanted: "two".into(),
            })?;
        let pid = still_there(proc::pid_of(unsealed.pidfd()), "find a jar")?;
        let status = still_there(Status::open(pid), "look at a jar")?;
        let seen = still_there(Status::read(&status), "look at a jar")?;
        let score = still_there(proc::oom_score_adj(pid), "look at a jar")?;
        expect("oom_score_adj", Some(&score), &JAR_SCORE.to_string())?;
        let outer_uid = zygote.identity.outer_uid;
        let layers = read_back(&report, &seen, zygote.walls, outer_uid, zygote.outer_filters)?;
        let receiver = |fd| pipe::Receiver::from_owned_fd(fd).while_doing("watch a jar's pipe");
        let io = Io {
            stdout: receiver(stdout)?,
            stderr: receiver(stderr)?,
            frames: receiver(frames)?,
            job: pipe::Sender::from_owned_fd(job).while_doing("watch a jar's pipe")?,
            listener: Listener::Own(watched(listener).while_doing("watch a jar's filter")?),
            pidfd: watched(unsealed.into_pidfd()).while_doing("watch a jar")?,
        };
        let about = About {
            pid,
            isolation: Isolation { tier: "process".into(), walls: zygote.walls, layers },
            baseline: zygote.baseline,
            profile: zygote.profile.clone(),
        };
        Ok(ProcessJar {
            about,
            io,
            status,
            exit: forked.ended,
            has_room: made.has_room,
            zygote,
            temporary: report.temporary,
            _slot: slot,
            directory: Directory::new(directory, made.own_inodes, scratch),
            inodes: made.inodes,
            others_stand: made.others_stand,
            group: None,
        })
    }

    /// Puts it into a control group of its own. The kernel takes its time for that.
    pub(super) async fn held_by(
        mut self,
        groups: Arc<Tree>,
        bounds: Bounds,
    ) -> Result<ProcessJar, EngineError> {
        let pid = self.about.pid;
        let held = elsewhere(move || groups.hold(pid, bounds)).await;
        let held = held.unwrap_or_else(|| Err(io::Error::other("nobody did it")));
        self.group = Some(held.while_doing("put a jar into its control group")?);
        self.about.isolation.layers.cgroup = "version 2".into();
        Ok(self)
    }

    /// The plain files that were changed since then.
    pub async fn changed(
        &self,
        run: &str,
        wanted: &Artifacts,
        limits: &Limits,
        since: Timespec,
    ) -> Result<Left, EngineError> {
        let left = self.directory.changed(run, wanted, limits, since).await;
        left.while_doing("collect what a run left")
    }

    /// Where its process can be told something, and where it answers. It takes no job then.
    pub fn talk(&self) -> (&pipe::Sender, &pipe::Receiver) {
        (&self.io.job, &self.io.frames)
    }

    /// Waits until it has ended, if that does not take too long.
    pub async fn gone(&self) {
        drop(timeout(REAP, self.io.pidfd.readable()).await);
    }

    /// Where its filter announces calls.
    pub fn listener(&self) -> Option<&AsyncFd<OwnedFd>> {
        match &self.io.listener {
            Listener::Own(listener) => Some(listener),
            Listener::Routed(_) => None,
        }
    }

    /// Whether its limits were set for what is imported in it.
    pub fn has_room(&self) -> bool {
        self.has_room
    }

    /// Remembers what the imports in one of its processes took.
    pub fn learn(&self, holds: Baseline) {
        self.zygote.learn(holds);
    }

    async fn warmed(&mut self) -> io::Result<()> {
        let body = serde_json::to_vec(&ToJar::Warm {})?;
        let frame = frame::encode(&body).map_err(io::Error::other)?;
        self.io.job.write_all(&frame).await?;
        let mut decoder = Decoder::new(64);
        let mut piece = [0; 64];
        loop {
            let count = self.io.frames.read(&mut piece).await?;
            decoder.feed(&piece[..count]).map_err(io::Error::other)?;
            match decoder.next() {
                Some(body) => {
                    let FromJar::Ready {} = serde_json::from_slice(&body)? else {
                        return Err(io::Error::other("it said something else"));
                    };
                    return Ok(());
                }
                None if count == 0 => return Err(io::Error::other("it ended")),
                None => {}
            }
        }
    }

    /// Where everything in it can write, as it is called inside.
    pub fn writable(&self) -> Vec<PathBuf> {
        vec!["/jar".into(), self.temporary.clone(), SHARED_MEMORY.into()]
    }

    /// Its temporary directory, if that has a name of its own.
    pub fn own_temporary(&self) -> Option<&Path> {
        self.directory.is_on_host().then_some(self.temporary.as_path())
    }
}

/// What a process shows of its memory.
pub(super) fn sample_of(status: &Status) -> Sample {
    let mapped = ["RssFile:", "RssShmem:"];
    Sample {
        data_bytes: status.bytes("VmData:").unwrap_or(0),
        anonymous_bytes: status.held_bytes(),
        file_bytes: mapped.iter().filter_map(|name| status.bytes(name)).sum(),
        peak_address_bytes: status.bytes("VmPeak:").unwrap_or(0),
        peak_resident_bytes: status.bytes("VmHWM:"),
    }
}

impl Jar for ProcessJar {
    fn about(&self) -> &About {
        &self.about
    }

    fn io(&mut self) -> &mut Io {
        &mut self.io
    }

    async fn warm(&mut self) -> Result<(), EngineError> {
        let slow = EngineError::TooSlow { what: "warming a jar", seconds: SEAL.as_secs() };
        let warmed = timeout(SEAL, self.warmed()).await.map_err(|_| slow)?;
        warmed.while_doing("warm a jar")
    }

    async fn hand_in(&mut self, inputs: &Arc<Inputs>) -> Result<(), EngineError> {
        if self.directory.is_on_host() {
            return Ok(());
        }
        let links = inputs.links(|folder| folder.into());
        let names = links.iter().map(|link| link.path.clone()).collect();
        let request = HandIn {
            identity: self.zygote.identity.clone(),
            given: inputs.given(),
            inodes: self.inodes + links.len() as u64,
            links,
            stand_ready: self.others_stand,
        };
        let bytes = if inputs.bytes() <= AT_ONCE {
            inputs.memory()
        } else {
            let inputs = inputs.clone();
            elsewhere(move || inputs.memory()).await.unwrap_or(Ok(None))
        };
        let bytes = bytes.while_doing("keep what a run is given")?;
        let pidfd = self.io.pidfd.get_ref().as_fd();
        let helper = self.zygote.lifeline().ok_or(EngineError::ZygoteGone)?;
        hand_in(&helper, &request, pidfd, bytes).await?;
        self.directory.linked(names);
        Ok(())
    }

    fn late(&self) -> &[String] {
        &self.zygote.late
    }

    fn rebase(&mut self) -> Result<bool, EngineError> {
        let now = baseline(self.about.pid).while_doing("measure a jar")?;
        let import_us = self.cpu_us().while_doing("measure a jar")?;
        let now = Baseline { import_us, ..now };
        self.zygote.learn(now);
        self.about.baseline = now;
        Ok(self.has_room)
    }

    fn is_alive(&self) -> bool {
        ready_now(self.io.pidfd.get_ref()).is_ok_and(|ready| ready.is_empty())
    }

    fn is_ending(&self) -> bool {
        proc::is_ending(self.about.pid)
    }

    fn is_current(&self) -> bool {
        !self.zygote.is_retired()
    }

    fn cpu_us(&self) -> io::Result<u64> {
        cpu_time(self.about.pid)
    }

    fn sample(&self) -> Option<Sample> {
        let status = Status::read(&self.status).ok()?.with_memory(self.about.pid);
        Some(sample_of(&status))
    }

    fn held_bytes(&self, sample: &Sample) -> u64 {
        let began_with = self.about.baseline.anonymous_bytes;
        sample.anonymous_bytes.saturating_sub(began_with)
            + proc::children_hold(self.about.pid, began_with)
    }

    async fn held_together(&self) -> u64 {
        let pid = self.about.pid;
        // If nothing is known, it is as if it held everything.
        elsewhere(move || proc::hold_together(pid)).await.unwrap_or(u64::MAX)
    }

    fn cpu_together_us(&self) -> Option<u64> {
        self.group.as_ref().and_then(Group::cpu_us)
    }

    fn ran_out_of_memory(&self) -> bool {
        self.group.as_ref().is_some_and(Group::ran_out_of_memory)
    }

    fn open_descriptors(&self) -> Option<u64> {
        proc::open_descriptors(self.about.pid)
    }

    async fn files(&self, limits: &Limits) -> Files {
        self.directory.files(limits).await
    }

    async fn artifacts(
        &self,
        run: &str,
        wanted: &Artifacts,
        limits: &Limits,
    ) -> Result<Left, EngineError> {
        let killed = Killed::new(self.io.pidfd.get_ref(), self.about.pid);
        let killed = killed.while_doing("watch a jar's end")?;
        let left = self.directory.artifacts(run, wanted, limits, killed).await;
        left.while_doing("collect what a jar left")?.ok_or_else(too_slow)
    }

    /// Nothing in it survives: it is the first process of its pid namespace, or (nested) was never
    /// granted a child.
    fn kill(&self) {
        proc::kill(self.io.pidfd.get_ref());
        if let Some(group) = &self.group {
            group.kill();
        }
    }

    async fn exit(&mut self) -> Result<Exit, EngineError> {
        let heard = timeout(REAP, &mut self.exit).await.map_err(|_| too_slow())?;
        heard.map_err(|_| EngineError::ZygoteGone)
    }
}

impl Drop for ProcessJar {
    fn drop(&mut self) {
        self.kill();
    }
}
