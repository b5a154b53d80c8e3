//! The serve loop: fork a jar when asked, reap it when it ends, leave when the engine does.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use carboy_jail::{
    JarPlan, JarWalls, OomScore, SECCOMP_FD, ZYGOTE_CONTROL_FD, rank_fault, receive, seal, send,
    send_patiently, shared_writable,
};
use carboy_protocol::{FromZygote, SetupFault, ToZygote, WIRE_VERSION, Walls};
use carboy_sys::cpython::ForkHooks;
use carboy_sys::{Forked, Namespaces, clone3, exit_now, fds, reap};
use rustix::event::epoll;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// How serving ended.
pub enum End {
    /// This process is a sealed jar now.
    Jar,
    /// The engine closed its side.
    EngineGone,
    /// Something this loop cannot do without failed.
    Failed,
}

type Request = ToZygote<JarWalls, JarPlan>;

struct Zygote {
    control: OwnedFd,
    ready: OwnedFd,
    hooks: ForkHooks,
    walls: JarWalls,
    /// How soon the kernel ends this process when memory runs out, and how soon it is meant to.
    score: OomScore,
    own_score: i32,
    jars: BTreeMap<u64, OwnedFd>,
}

/// The engine's side of a jar's pipes, and the jar's.
struct Pipes {
    engine: [OwnedFd; 5],
    jar: [OwnedFd; 5],
}

/// The token under which the control socket is watched; jars are watched under their own numbers.
const CONTROL: u64 = u64::MAX;

pub fn serve(python: String) -> End {
    let prepared = Zygote::prepare();
    let mut zygote = match prepared {
        Ok(Some(zygote)) => zygote,
        Ok(None) => return End::EngineGone,
        Err(_) => return End::Failed,
    };
    if let Some(mapping) = zygote.shared_memory() {
        // If the engine is gone, nobody needs to hear it.
        send(&zygote.control, &FromZygote::Shared { mapping }, &[]).ok();
        return End::Failed;
    }
    // Last: what is allocated from here on lies together, and a jar copies few pages for it.
    carboy_sys::fill_gaps();
    let ready = FromZygote::Ready { wire: WIRE_VERSION, python };
    if send(&zygote.control, &ready, &[]).is_err() {
        return End::EngineGone;
    }
    match zygote.run() {
        Ok(End::Jar) => {
            // Every descriptor in there was closed when the jar was sealed.
            std::mem::forget(zygote);
            End::Jar
        }
        Ok(end) => end,
        Err(_) => End::Failed,
    }
}

/// Memory that forks of this process would share, as its own list of mappings shows it.
pub fn shared_memory() -> io::Result<Option<String>> {
    let text = std::fs::read("/proc/self/smaps")?;
    Ok(shared_writable(&String::from_utf8_lossy(&text)))
}

impl Zygote {
    fn prepare() -> io::Result<Option<Zygote>> {
        // The exec made us dumpable again.
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        let control = fds::inherited(ZYGOTE_CONTROL_FD)?;
        let score = OomScore::inherited()?;
        let own_score = score.get()?;
        let null = openat(CWD, "/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        let null = rustix::io::fcntl_dupfd_cloexec(null, SECCOMP_FD + 1)?;
        // Keeps the fixed numbers of a jar taken, so that no pipe is ever made on one of them.
        for number in ZYGOTE_CONTROL_FD + 1..=SECCOMP_FD {
            fds::place(&null, number)?;
        }
        let ready = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&ready, &control, epoll::EventData::new_u64(CONTROL), epoll::EventFlags::IN)?;
        let Some((Request::Prepare(walls), _)) = receive(&control)? else {
            return Ok(None);
        };
        let hooks = ForkHooks::find()?;
        Ok(Some(Zygote { control, ready, hooks, walls, score, own_score, jars: BTreeMap::new() }))
    }

    /// Memory that all jars would share, if there is any. Inside full walls nothing shows it, and the
    /// engine looks from outside; in nested walls the engine may not be allowed to.
    fn shared_memory(&self) -> Option<String> {
        if self.walls.walls == Walls::Full {
            return None;
        }
        shared_memory().unwrap_or_else(|error| {
            Some(format!("which cannot be ruled out: /proc/self/smaps: {error}"))
        })
    }

    fn run(&mut self) -> io::Result<End> {
        let mut events = Vec::with_capacity(64);
        loop {
            match epoll::wait(&self.ready, rustix::buffer::spare_capacity(&mut events), None) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other?,
            };
            for event in events.drain(..) {
                match event.data.u64() {
                    CONTROL => match receive::<Request>(&self.control)? {
                        None => return Ok(End::EngineGone),
                        Some((Request::Prepare(walls), _)) => self.walls = walls,
                        // That belongs to the time before there are jars.
                        Some((Request::Next {}, _)) => {}
                        Some((Request::Fork { jar, plan }, _)) => {
                            if let Some(end) = self.fork(jar, &plan)? {
                                return Ok(end);
                            }
                        }
                    },
                    jar => self.reap(jar)?,
                }
            }
        }
    }

    /// Forks one jar. Returns an end only in the child.
    fn fork(&mut self, jar: u64, plan: &JarPlan) -> io::Result<Option<End>> {
        if let Err(error) = self.score.set(self.walls.oom_score_adj) {
            let fault = rank_fault(&error);
            send(&self.control, &FromZygote::NotForked { jar, fault }, &[])?;
            return Ok(None);
        }
        let forked = self.try_fork();
        if !matches!(forked, Ok((Forked::Child, _))) {
            // One that stays as it is goes before the jars that it holds: it must not go on.
            self.score.set(self.own_score)?;
        }
        match forked {
            Err(error) => {
                let fault = SetupFault {
                    layer: "fork".into(),
                    step: "pipe, socketpair or clone3".into(),
                    object: "one jar".into(),
                    answer: error.to_string(),
                };
                send(&self.control, &FromZygote::NotForked { jar, fault }, &[])?;
                Ok(None)
            }
            Ok((Forked::Parent { pidfd, .. }, pipes)) => {
                let token = epoll::EventData::new_u64(jar);
                epoll::add(&self.ready, &pidfd, token, epoll::EventFlags::IN)?;
                let [a, b, c, d, e] = pipes.engine.each_ref().map(AsFd::as_fd);
                let message = FromZygote::Forked { jar };
                send_patiently(&self.control, &message, &[pidfd.as_fd(), a, b, c, d, e])?;
                self.jars.insert(jar, pidfd);
                Ok(None)
            }
            Ok((Forked::Child, pipes)) => {
                self.become_jar(plan, &pipes);
                // As in `serve`: all of it was closed by number.
                std::mem::forget(pipes);
                Ok(Some(End::Jar))
            }
        }
    }

    fn try_fork(&self) -> io::Result<(Forked, Pipes)> {
        let pipe = || pipe_with(PipeFlags::CLOEXEC);
        let (stdout_read, stdout_write) = pipe()?;
        let (stderr_read, stderr_write) = pipe()?;
        let (job_read, job_write) = pipe()?;
        let (frames_read, frames_write) = pipe()?;
        let kind = (AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC);
        let (word_engine, word_jar) = socketpair(kind.0, kind.1, kind.2, None)?;
        let namespaces = match self.walls.walls {
            Walls::Full => Namespaces::MOUNT_AND_PID,
            Walls::Nested => Namespaces::NONE,
        };
        let forked = self.hooks.around(|| clone3(namespaces))?;
        let engine = [stdout_read, stderr_read, job_write, frames_read, word_engine];
        let jar = [stdout_write, stderr_write, job_read, frames_write, word_jar];
        Ok((forked, Pipes { engine, jar }))
    }

    /// Seals this fork, which tells the engine so, or why not. Then it ends.
    fn become_jar(&self, plan: &JarPlan, pipes: &Pipes) {
        if seal(&self.walls, plan, pipes.jar.each_ref().map(AsFd::as_fd)).is_err() {
            exit_now(1);
        }
    }

    fn reap(&mut self, jar: u64) -> io::Result<()> {
        let Some(pidfd) = self.jars.get(&jar) else { return Ok(()) };
        let Some(ended) = reap(pidfd)? else { return Ok(()) };
        // Explicitly: the engine holds the same description, so closing ours would not do it.
        epoll::delete(&self.ready, pidfd)?;
        self.jars.remove(&jar);
        let ended = FromZygote::Ended {
            jar,
            code: ended.code,
            signal: ended.signal,
            cpu_us: ended.cpu_us,
            peak_memory_bytes: ended.peak_memory_bytes,
        };
        send(&self.control, &ended, &[])
    }
}
