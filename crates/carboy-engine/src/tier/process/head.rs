//! A head: a process of a session that runs code, and is kept when it has answered. Dropping it ends it.
//!
//! It is stopped whenever nothing is asked of it, so code that was left behind does nothing between
//! runs. How it ended is read from the kernel before its parent is told to wait for it.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use carboy_protocol::Limits;
use carboy_sys::cpu_time;
use rustix::fs::Timespec;
use rustix::time::{ClockId, clock_gettime};
use tokio::net::unix::pipe;
use tokio::time::timeout;

use crate::error::{EngineError, While};
use crate::facts::{Baseline, Exit, most_together};
use crate::kernel::async_fd::{ready_now, watched};
use crate::kernel::blocking::elsewhere;
use crate::kernel::proc::{self, FileId, Status};
use crate::runner::Artifacts;
use crate::tier::process::jar::{ProcessJar, sample_of};
use crate::tier::process::routes::{Born, Routes};
use crate::tier::process::seal::expect;
use crate::tier::process::zygote::baseline;
use crate::tier::{About, Files, Inputs, Io, Jar, Left, Listener, Routed, Sample};

/// How long the kernel may take to end a killed head.
const REAP: Duration = Duration::from_secs(10);
/// What a copy has in common with what it was copied from, as `/proc/PID/status` shows it.
const SAME: [&str; 9] = [
    "Uid:",
    "Gid:",
    "Seccomp:",
    "Seccomp_filters:",
    "NoNewPrivs:",
    "CapEff:",
    "CapPrm:",
    "CapBnd:",
    "CapInh:",
];

/// The engine's ends of a head's pipes: standard output, standard error, job, frames.
pub(crate) struct Ends(pub [OwnedFd; 4]);

/// A process of a session that runs code.
pub(crate) struct Head {
    about: About,
    io: Io,
    status: File,
    /// The jar that it is in.
    jar: Arc<ProcessJar>,
    routes: Arc<Routes>,
    /// When its last run began, by the clock that the kernel marks files with.
    began: Timespec,
    /// The most memory that it was seen with.
    peak: AtomicU64,
    /// The most processor time that the kernel was seen to count for it. When it has ended, the code of the process that
    /// it was copied from may wait for it, and then the kernel counts nothing any more.
    counted_us: AtomicU64,
    /// Its number in the jar.
    inner: u32,
    /// Processor time that the process it was copied from used for that, if it runs nothing itself.
    inherited_us: u64,
    /// What it had used when its last run ended.
    settled_us: u64,
    /// What it has not read of a frame of its last run.
    pub owed: Vec<u8>,
}

impl Head {
    /// A copy that has made itself known, if the kernel shows of it what it shows of the jar.
    pub fn new(
        born: Born,
        ends: Ends,
        pipes: [FileId; 4],
        jar: Arc<ProcessJar>,
        routes: Arc<Routes>,
        baseline: Baseline,
    ) -> Result<Head, EngineError> {
        let (pid, inner) = (born.process, born.inner);
        let status = Status::open(pid).while_doing("look at a head")?;
        let seen = Status::read(&status).while_doing("look at a head")?;
        let first = Status::of(jar.about().pid).while_doing("look at a jar")?;
        for name in SAME {
            let wanted = first.first(name).unwrap_or("nothing");
            expect("a head", seen.first(name).or(Some("nothing")), wanted)?;
        }
        let [stdout, stderr, job, frames] = ends.0;
        let receiver = |fd| pipe::Receiver::from_owned_fd(fd).while_doing("watch a head's pipe");
        let answers = jar.listener().map(|listener| listener.get_ref().try_clone());
        let answers = answers.unwrap_or_else(|| Err(io::Error::other("there is no listener")));
        let answers = Arc::new(answers.while_doing("answer a head's filter")?);
        let [stdout, stderr, frames] = [receiver(stdout)?, receiver(stderr)?, receiver(frames)?];
        let job = pipe::Sender::from_owned_fd(job).while_doing("watch a head's pipe")?;
        // From here on it is ended by the head that is made of it.
        let pidfd = born.taken().ok_or_else(|| io::Error::other("it was taken before"));
        let pidfd = watched(pidfd.while_doing("watch a head")?).while_doing("watch a head")?;
        let calls = routes.add(pid, pipes);
        let io = Io {
            stdout,
            stderr,
            frames,
            job,
            listener: Listener::Routed(Routed { calls, next: None, answers }),
            pidfd,
        };
        let about = About {
            pid,
            isolation: jar.about().isolation.clone(),
            baseline,
            profile: jar.about().profile.clone(),
        };
        let began = clock_gettime(ClockId::RealtimeCoarse);
        let peak = AtomicU64::new(0);
        Ok(Head {
            about,
            io,
            status,
            jar,
            routes,
            began,
            peak,
            counted_us: AtomicU64::new(0),
            inner,
            inherited_us: 0,
            settled_us: 0,
            owed: vec![],
        })
    }

    /// Its next run is charged with this too.
    pub fn charge(&mut self, cpu_us: u64) {
        self.inherited_us += cpu_us;
    }

    /// What it has used up to now belongs to runs that have ended. What it uses until its next run begins
    /// belongs to that: it is copied meanwhile, and code can take part in that.
    pub fn settle(&mut self) {
        self.settled_us += self.cpu_us().unwrap_or(0);
    }

    /// Processor time since its last run ended, by what the kernel counts, or counted as long as it did.
    fn since_settled(&self) -> u64 {
        let now = cpu_time(self.about.pid).unwrap_or(0);
        let counted = self.counted_us.fetch_max(now, Ordering::Relaxed).max(now);
        (counted + self.inherited_us).saturating_sub(self.settled_us)
    }

    /// Whether calls of it are answered by a run.
    pub fn runs(&self, is_running: bool) {
        self.routes.runs(self.about.pid, is_running);
    }

    /// How many calls were refused to it because it was not to run anything, since this was last asked.
    pub fn strays(&self) -> u64 {
        self.routes.strays(self.about.pid)
    }

    /// Where it can be told something, and where it answers.
    pub fn talk(&self) -> (&pipe::Sender, &pipe::Receiver) {
        (&self.io.job, &self.io.frames)
    }

    /// Its threads beside the main one, and beside those that preloaded modules had.
    pub fn threads(&self) -> u64 {
        let status = Status::read(&self.status).ok();
        let threads = status.and_then(|status| status.number("Threads:")).unwrap_or(1);
        threads.saturating_sub(1)
    }

    /// Notes what it holds, so that others know without looking.
    pub fn measure(&self) {
        if let Some(sample) = self.sample() {
            self.routes.holds(self.about.pid, self.beyond(&sample));
        }
    }

    fn beyond(&self, sample: &Sample) -> u64 {
        sample.anonymous_bytes.saturating_sub(self.about.baseline.anonymous_bytes)
    }
}

impl Jar for Head {
    fn about(&self) -> &About {
        &self.about
    }

    fn io(&mut self) -> &mut Io {
        &mut self.io
    }

    /// It is a copy of a jar that is warm, or of a head.
    async fn warm(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// What a session is given is handed into its jar.
    async fn hand_in(&mut self, _inputs: &Arc<Inputs>) -> Result<(), EngineError> {
        Ok(())
    }

    fn late(&self) -> &[String] {
        self.jar.late()
    }

    fn rebase(&mut self) -> Result<bool, EngineError> {
        let now = baseline(self.about.pid).while_doing("measure a head")?;
        let import_us = self.cpu_us().while_doing("measure a head")?;
        let now = Baseline { import_us, ..now };
        self.jar.learn(now);
        self.about.baseline = now;
        Ok(self.jar.has_room())
    }

    fn is_alive(&self) -> bool {
        ready_now(self.io.pidfd.get_ref()).is_ok_and(|ready| ready.is_empty())
    }

    fn is_ending(&self) -> bool {
        proc::is_ending(self.about.pid)
    }

    fn is_current(&self) -> bool {
        true
    }

    /// Since its last run ended.
    fn cpu_us(&self) -> io::Result<u64> {
        Ok(self.since_settled())
    }

    fn sample(&self) -> Option<Sample> {
        let status = Status::read(&self.status).ok()?.with_memory(self.about.pid);
        let sample = sample_of(&status);
        self.peak.fetch_max(sample.peak_resident_bytes.unwrap_or(0), Ordering::Relaxed);
        Some(sample)
    }

    fn held_bytes(&self, sample: &Sample) -> u64 {
        self.beyond(sample)
    }

    async fn held_together(&self) -> u64 {
        let pid = self.jar.about().pid;
        // If nothing is known, it is as if it held everything.
        elsewhere(move || proc::hold_together(pid)).await.unwrap_or(u64::MAX)
    }

    fn cpu_together_us(&self) -> Option<u64> {
        None
    }

    fn ran_out_of_memory(&self) -> bool {
        self.jar.ran_out_of_memory()
    }

    fn open_descriptors(&self) -> Option<u64> {
        proc::open_descriptors(self.about.pid)
    }

    async fn files(&self, limits: &Limits) -> Files {
        self.jar.files(limits).await
    }

    /// What was changed since its run began. Other heads may go on writing.
    async fn artifacts(
        &self,
        run: &str,
        wanted: &Artifacts,
        limits: &Limits,
    ) -> Result<Left, EngineError> {
        self.hush();
        self.jar.changed(run, wanted, limits, self.began).await
    }

    fn kill(&self) {
        proc::kill(self.io.pidfd.get_ref());
    }

    /// For a run or a fork.
    fn wake(&mut self) {
        self.began = clock_gettime(ClockId::RealtimeCoarse);
        proc::wake(self.io.pidfd.get_ref());
    }

    fn outlives_run(&self) -> bool {
        true
    }

    fn hush(&self) {
        proc::stop(self.io.pidfd.get_ref());
    }

    /// What heads share is counted for each at first, and only if that is too much with care.
    async fn is_crowded(&self, sample: &Sample, limits: &Limits) -> bool {
        // Files that its first process keeps are counted by themselves.
        let kept = self.jar.sample().map_or(0, |sample| self.beyond(&sample));
        let most = most_together(limits).saturating_add(kept);
        self.routes.holds(self.about.pid, self.beyond(sample)) > most
            && self.held_together().await > most + self.about.baseline.anonymous_bytes
    }

    async fn exit(&mut self) -> Result<Exit, EngineError> {
        let slow = EngineError::TooSlow { what: "ending a head", seconds: REAP.as_secs() };
        let ended = timeout(REAP, self.io.pidfd.readable()).await.map_err(|_| slow)?;
        ended.while_doing("watch a head")?.retain_ready();
        // Nobody waits for it before it is removed from the routes, unless the code of its parent does; then
        // it is not known how it ended.
        let (code, signal) = proc::ended_with(self.about.pid).unwrap_or_default();
        Ok(Exit {
            code,
            signal,
            cpu_us: self.since_settled(),
            peak_memory_bytes: self.peak.load(Ordering::Relaxed),
        })
    }
}

impl Drop for Head {
    fn drop(&mut self) {
        self.kill();
        self.routes.remove(self.about.pid, self.inner);
    }
}
