//! One run: send the job, watch the jar, end it, and gather what the kernel knows of it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use carboy_jail::JAR_DIRECTORY_INODES;
use carboy_protocol::frame::{self, Decoder, FrameFault};
use carboy_protocol::json::{self, JsonFault, MAX_DEPTH};
use carboy_protocol::{
    Artifact, FromJar, JobFrame, LimitName, Limits, Output, ToJar, Tool, ToolCall, Walls,
};
use carboy_sys::cpu_time;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant as Moment, MissedTickBehavior, interval_at, sleep_until, timeout};

use crate::error::{EngineError, While};
use crate::facts::{Ending, Exit, Facts};
use crate::kernel::proc::{self, Status};
use crate::run::refusals::Ledger;
use crate::run::tools::Tools;
use crate::runner::{Chunk, Stream, ToolHost};
use crate::tier::process::jar::Jar;
use crate::tier::process::scratch::{self, Scratch};

/// What a frame may carry beside a result: names, a message, a traceback.
const FRAME_ROOM: u64 = 64 << 10;
/// How long a jar that closed its result pipe may take to end, before that is what it did.
const CLOSING: Duration = Duration::from_millis(100);
/// How long the kernel may take to end a killed jar.
const REAP: Duration = Duration::from_secs(10);
/// How long a receiver of output may take for a chunk after the run. The outcome has it anyway.
const HAND_ON: Duration = Duration::from_secs(5);
/// How often a jar's memory, and in nested walls its directory, is measured.
const MEASURE: Duration = Duration::from_millis(20);

/// How much is read at once.
const PIECE: usize = 8 << 10;

/// Everything a run left behind, for the verdict.
pub(crate) struct Record<'a> {
    pub end: Ending,
    pub facts: Facts,
    pub ledger: Ledger<'a>,
    pub stdout: Output,
    pub stderr: Output,
    pub wall: Duration,
    pub tool_calls: Vec<ToolCall>,
    pub artifacts: Vec<Artifact>,
    pub jar: Jar,
}

/// What a captured stream has so far.
#[derive(Default)]
struct Capture {
    kept: Vec<u8>,
    bytes: u64,
    closed: bool,
}

impl Capture {
    fn output(self) -> Output {
        let truncated = self.bytes > self.kept.len() as u64;
        let text = String::from_utf8_lossy(&self.kept).into_owned();
        Output { text, bytes: self.bytes, truncated }
    }
}

struct Watch<'a> {
    jar: Jar,
    ledger: Ledger<'a>,
    limits: &'a Limits,
    decoder: Decoder,
    out: Capture,
    err: Capture,
    sink: Option<mpsc::Sender<Chunk>>,
    /// What the sink had no room for yet. Nothing more is read until it has.
    unsent: Option<Chunk>,
    /// How much came through the pipe for the result since the last call.
    said_bytes: u64,
    /// It claimed a frame that is longer than allowed.
    overlong: bool,
    /// The most private memory that was seen.
    peak_data: u64,
    /// Frames that the jar has not read yet, and how much of the first it has.
    unread: VecDeque<Vec<u8>>,
    read: usize,
    tools: Tools<'a>,
}

/// What a run has to do with its caller while it is under way.
pub(crate) struct Contact<'a> {
    pub sink: Option<mpsc::Sender<Chunk>>,
    pub cancel: Option<oneshot::Receiver<()>>,
    pub tools: &'a [Tool],
    pub host: Option<ToolHost>,
}

/// Runs one job in `jar` to its end.
pub(crate) async fn run<'a>(
    jar: Jar,
    job: JobFrame,
    limits: &'a Limits,
    contact: Contact<'a>,
) -> Result<Record<'a>, EngineError> {
    let ledger = Ledger::new(jar.zygote.profile.clone(), limits, jar.zygote.baseline);
    let most = usize::try_from(limits.result_bytes + FRAME_ROOM).unwrap_or(usize::MAX);
    let body = serde_json::to_vec(&ToJar::Job(job))
        .map_err(io::Error::other)
        .while_doing("write the job")?;
    let first = frame::encode(&body).map_err(io::Error::other).while_doing("frame the job")?;
    let cpu_before = cpu_time(jar.pid).while_doing("read a jar's clock")?;
    let started = Instant::now();
    let deadline = Moment::now() + Duration::from_millis(limits.wall_ms);
    let mut watch = Watch {
        jar,
        ledger,
        limits,
        decoder: Decoder::new(most),
        out: Capture::default(),
        err: Capture::default(),
        sink: contact.sink,
        unsent: None,
        said_bytes: 0,
        overlong: false,
        peak_data: 0,
        unread: VecDeque::from([first]),
        read: 0,
        tools: Tools::new(contact.tools, limits, contact.host, deadline),
    };
    let end = watch.watch(contact.cancel).await?;
    let wall = started.elapsed();
    watch.finish(end, wall, cpu_before).await
}

impl<'a> Watch<'a> {
    /// Watches until something decides how the run ends. The first thing that does, does.
    async fn watch(
        &mut self,
        mut cancel: Option<oneshot::Receiver<()>>,
    ) -> Result<Ending, EngineError> {
        let mut measure = interval_at(Moment::now() + MEASURE, MEASURE);
        measure.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut out, mut err, mut said) = ([0; PIECE], [0; PIECE], [0; PIECE]);
        let mut deaf = false;
        let mut frames_closed: Option<Moment> = None;
        loop {
            let deadline = self.tools.deadline.at();
            let closing = frames_closed.unwrap_or(deadline).min(deadline);
            let listens = frames_closed.is_none() && self.tools.has_room(self.unread.len());
            tokio::select! {
                written = write(&mut self.jar.job, self.unread.front(), self.read) => {
                    match written {
                        Ok(count @ 1..) => self.was_read(count),
                        // A jar that reads no more gets no more; the deadline sees to that.
                        _ => {
                            self.unread.clear();
                            self.read = 0;
                        }
                    }
                    if let Some(end) = self.frames() {
                        return Ok(end);
                    }
                }
                answer = self.tools.exchange() => {
                    self.unread.extend(answer);
                    if let Some(end) = self.frames() {
                        return Ok(end);
                    }
                }
                read = self.jar.frames.read(&mut said), if listens => {
                    match read {
                        Ok(count @ 1..) => {
                            if let Some(end) = self.heard(&said[..count]) {
                                return Ok(end);
                            }
                        }
                        _ => frames_closed = Some(Moment::now() + CLOSING),
                    }
                }
                read = self.jar.stdout.read(&mut out), if !self.out.closed && self.unsent.is_none() => {
                    let count = read.unwrap_or(0);
                    if self.wrote(Stream::Stdout, &out[..count]) {
                        return Ok(Ending::Limit(LimitName::OutputBytes));
                    }
                }
                read = self.jar.stderr.read(&mut err), if !self.err.closed && self.unsent.is_none() => {
                    let count = read.unwrap_or(0);
                    if self.wrote(Stream::Stderr, &err[..count]) {
                        return Ok(Ending::Limit(LimitName::OutputBytes));
                    }
                }
                room = room(self.sink.clone()), if self.unsent.is_some() => {
                    // Without a permit nobody listens any more; the outcome still gets it.
                    match (room, self.unsent.take()) {
                        (Some(room), Some(chunk)) => drop(room.send(chunk)),
                        _ => self.sink = None,
                    }
                }
                ready = self.jar.listener.readable(), if !deaf => {
                    let mut ready = ready.while_doing("watch a jar's filter")?;
                    let listener = self.jar.listener.get_ref();
                    match announced(listener) {
                        Announced::Call => {
                            self.ledger.serve(listener).while_doing("answer a jar's filter")?;
                        }
                        Announced::Nothing => ready.clear_ready(),
                        // Nobody is left under the filter. This readiness would never go away.
                        Announced::End => deaf = true,
                    }
                    if self.ledger.is_flooded() {
                        return Ok(Ending::Limit(LimitName::Denials));
                    }
                }
                _ = measure.tick() => {
                    if let Some(name) = self.memory_over().or_else(|| self.scratch_over()) {
                        return Ok(Ending::Limit(name));
                    }
                }
                ready = self.jar.pidfd.readable() => {
                    ready.while_doing("watch a jar")?.retain_ready();
                    return Ok(self.gone());
                }
                () = cancelled(&mut cancel) => return Ok(Ending::Cancelled),
                () = sleep_until(closing) => {
                    if frames_closed.is_some() && Moment::now() < deadline {
                        return Ok(Ending::PipeClosed);
                    }
                    return Ok(Ending::Limit(LimitName::WallMs));
                }
            }
        }
    }

    /// The jar has room for so much more of the first frame.
    fn was_read(&mut self, count: usize) {
        self.read += count;
        if self.unread.front().is_some_and(|frame| self.read >= frame.len()) {
            self.unread.pop_front();
            self.read = 0;
        }
    }

    /// Takes a piece of the frame stream; an end if it completes or breaks one.
    fn heard(&mut self, piece: &[u8]) -> Option<Ending> {
        self.said_bytes += piece.len() as u64;
        match self.decoder.feed(piece) {
            // A claim is not a fact. It becomes one when that much has come.
            Err(FrameFault::TooLong { .. }) => {
                let too_much = self.said_bytes > self.limits.result_bytes;
                self.overlong = true;
                return too_much.then_some(Ending::Limit(LimitName::ResultBytes));
            }
            Err(fault) => return Some(Ending::BrokenFrame(fault.to_string())),
            Ok(()) => {}
        }
        self.frames()
    }

    /// Takes the frames that have come, as long as another call may come.
    fn frames(&mut self) -> Option<Ending> {
        while self.tools.has_room(self.unread.len()) {
            let body = self.decoder.next()?;
            let end = self.frame(&body);
            if end.is_some() {
                return end;
            }
        }
        None
    }

    fn frame(&mut self, body: &[u8]) -> Option<Ending> {
        match parse(body, self.limits) {
            Ok(FromJar::Call(call)) => {
                self.said_bytes = self.decoder.held() as u64;
                self.tools.take(call)
            }
            other => Some(self.last(other)),
        }
    }

    /// What must be the last frame of a jar.
    fn last(&self, message: Result<FromJar, Ending>) -> Ending {
        match message {
            Ok(FromJar::Ready {}) => Ending::BrokenFrame("it said that it was ready".into()),
            Ok(_) if self.decoder.held() > 0 => {
                Ending::BrokenFrame("it said more after its last frame".into())
            }
            Ok(last) => Ending::Said(last),
            Err(end) => end,
        }
    }

    /// The jar's process has ended: whatever it had said by then still counts.
    fn gone(&mut self) -> Ending {
        let mut piece = [0; PIECE];
        while let Ok(count @ 1..) = read_now(&self.jar.frames, &mut piece) {
            if let Some(end) = self.heard(&piece[..count]) {
                return end;
            }
        }
        // Calls of one that is gone are only counted.
        while let Some(body) = self.decoder.next() {
            if let Some(end) = self.frame(&body) {
                return end;
            }
        }
        if self.overlong {
            return Ending::BrokenFrame("it claimed a frame longer than it sent".into());
        }
        match self.decoder.finish() {
            Ok(()) => Ending::Gone,
            Err(fault) => Ending::BrokenFrame(fault.to_string()),
        }
    }

    /// Keeps what was written, up to the limit; true if it is crossed.
    fn wrote(&mut self, stream: Stream, piece: &[u8]) -> bool {
        let before = self.out.bytes + self.err.bytes;
        let capture = match stream {
            Stream::Stdout => &mut self.out,
            Stream::Stderr => &mut self.err,
        };
        if piece.is_empty() {
            capture.closed = true;
            return false;
        }
        let room = self.limits.output_bytes.saturating_sub(before);
        let kept = &piece[..piece.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        capture.kept.extend_from_slice(kept);
        capture.bytes += piece.len() as u64;
        if self.sink.is_some() && !kept.is_empty() {
            self.unsent = Some(Chunk { stream, bytes: kept.to_vec() });
        }
        before + piece.len() as u64 > self.limits.output_bytes
    }

    /// The kernel counts private memory when it is mapped, but there are ways to map it that it
    /// does not count. What is really there is measured, with some room for its imprecision.
    fn memory_over(&mut self) -> Option<LimitName> {
        let status = self.status()?;
        self.peak_data = self.peak_data.max(status.bytes("VmData:").unwrap_or(0));
        let held =
            proc::held_beyond(self.jar.pid, status, self.jar.zygote.baseline.anonymous_bytes);
        let room = self.limits.memory_bytes / 16 + (1 << 20);
        (held > self.limits.memory_bytes + room).then_some(LimitName::MemoryBytes)
    }

    /// What the kernel shows of the jar now; nothing if it is gone.
    fn status(&self) -> Option<Status> {
        Status::read(&self.jar.status).ok().map(|status| status.with_memory(self.jar.pid))
    }

    fn scratch_over(&self) -> Option<LimitName> {
        let Some((bytes, files)) = self.jar.scratch.as_ref()?.usage() else {
            return Some(LimitName::Files);
        };
        if bytes > self.limits.file_bytes {
            return Some(LimitName::FileBytes);
        }
        (files > self.limits.files).then_some(LimitName::Files)
    }

    /// Looks at the jar while it is there, and ends it.
    ///
    /// It is killed, always. One that gave its answer, left no file and had no children is known by
    /// what it used up to then, and nobody waits for its end: it is left to whoever buries it, because
    /// taking a process down takes longer than most runs. Any other is killed now and waited for,
    /// because how it ended is the cause.
    async fn finish(
        mut self,
        end: Ending,
        wall: Duration,
        cpu_before: u64,
    ) -> Result<Record<'a>, EngineError> {
        let answered = matches!(end, Ending::Said(FromJar::Done { .. }));
        let in_memory = self.jar.isolation.walls == Walls::Full;
        let status = self.status();
        let cpu_us = cpu_time(self.jar.pid).unwrap_or(cpu_before);
        let peak = status.as_ref().and_then(|status| status.bytes("VmHWM:"));
        let address = status.as_ref().and_then(|status| status.bytes("VmPeak:")).unwrap_or(0);
        let data = status.as_ref().and_then(|status| status.bytes("VmData:")).unwrap_or(0);
        let open = if answered { None } else { proc::open_descriptors(self.jar.pid) };
        let space = rustix::fs::fstatfs(self.jar.directory.as_fd()).ok();
        let used = self.jar.scratch.as_ref().and_then(Scratch::usage);
        let untouched =
            in_memory && space.is_some_and(|s| s.f_files - s.f_ffree == JAR_DIRECTORY_INODES);
        // A process that has ended shows nothing, and its number may be somebody else's: what was read
        // above counts if it is still there now. Children count too, and only whoever reaps the jar
        // knows of them.
        let known = peak.is_some() && self.jar.is_alive() && self.limits.processes == 0;
        let leave = answered && untouched && known;
        if !leave {
            self.jar.kill();
        }
        let end = self.drain(end).await;
        let peak = peak.unwrap_or(0);
        let mut ended = Exit { cpu_us, peak_memory_bytes: peak, ..Exit::default() };
        let mut artifacts = vec![];
        if !leave {
            let slow = EngineError::TooSlow { what: "ending a jar", seconds: REAP.as_secs() };
            let heard = timeout(REAP, &mut self.jar.ended).await.map_err(|_| slow)?;
            ended = heard.map_err(|_| EngineError::ZygoteGone)?;
            // Only now is it certain that nobody writes there any more.
            artifacts = scratch::artifacts(&self.jar.directory);
        }
        let facts = Facts {
            exit: ended,
            cpu_before_us: cpu_before,
            data_bytes: self.peak_data.max(data),
            peak_address_bytes: address,
            peak_resident_bytes: peak,
            open_descriptors: open,
            space_full: match &space {
                Some(space) if in_memory => space.f_bavail == 0,
                _ => used.is_some_and(|(bytes, _)| bytes >= self.limits.file_bytes),
            },
            files_full: match &space {
                Some(space) if in_memory => space.f_ffree == 0,
                _ => used.is_none_or(|(_, files)| files >= self.limits.files),
            },
            baseline: self.jar.zygote.baseline,
        };
        Ok(Record {
            end,
            facts,
            ledger: self.ledger,
            stdout: self.out.output(),
            stderr: self.err.output(),
            wall,
            tool_calls: self.tools.made(),
            artifacts,
            jar: self.jar,
        })
    }

    /// Reads what the jar had written before it ended. Never waits for more: what is not in the pipes
    /// now is nobody's. A jar that was left alive because it had answered is killed if there is
    /// anything, so that it cannot go on writing while that is handed on.
    async fn drain(&mut self, end: Ending) -> Ending {
        let mut piece = [0; PIECE];
        if self.unsent.is_some() {
            self.jar.kill();
        }
        for stream in [Stream::Stdout, Stream::Stderr] {
            loop {
                let pipe = match stream {
                    Stream::Stdout => &self.jar.stdout,
                    Stream::Stderr => &self.jar.stderr,
                };
                let Ok(count @ 1..) = read_now(pipe, &mut piece) else { break };
                self.jar.kill();
                self.hand_on().await;
                if self.wrote(stream, &piece[..count]) {
                    self.hand_on().await;
                    return match end {
                        Ending::Said(_) | Ending::Gone => Ending::Limit(LimitName::OutputBytes),
                        decided => decided,
                    };
                }
            }
        }
        self.hand_on().await;
        end
    }

    /// Hands on what waits. The jar is dead by now, so the receiver may take some time.
    async fn hand_on(&mut self) {
        if let (Some(sink), Some(chunk)) = (&self.sink, self.unsent.take())
            && !matches!(timeout(HAND_ON, sink.send(chunk)).await, Ok(Ok(())))
        {
            self.sink = None;
        }
    }
}

/// Waits until the caller cancels, which may be never.
pub(crate) async fn cancelled(cancel: &mut Option<oneshot::Receiver<()>>) {
    if let Some(receiver) = cancel {
        if receiver.await.is_ok() {
            return;
        }
        *cancel = None;
    }
    std::future::pending().await
}

/// Writes what is left of a frame; waits for ever if there is none.
async fn write(
    pipe: &mut pipe::Sender,
    frame: Option<&Vec<u8>>,
    written: usize,
) -> io::Result<usize> {
    match frame {
        Some(frame) => pipe.write(&frame[written..]).await,
        None => std::future::pending().await,
    }
}

/// Room in the sink for one chunk; `None` if nobody listens any more.
async fn room(sink: Option<mpsc::Sender<Chunk>>) -> Option<mpsc::OwnedPermit<Chunk>> {
    sink?.reserve_owned().await.ok()
}

/// Reads what is there. The readiness that tokio remembers may be older than the bytes.
fn read_now(pipe: &pipe::Receiver, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(pipe.as_fd(), buffer)?)
}

/// What a filter's listener has to say.
enum Announced {
    Call,
    Nothing,
    End,
}

/// Asks the kernel what waits: receiving would block if nothing did, and the readiness that tokio
/// remembers may be old.
fn announced(listener: impl AsFd) -> Announced {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut watched = [PollFd::new(&listener, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut watched, Some(&now)).map(|_| watched[0].revents()) {
        Ok(events) if events.contains(PollFlags::IN) => Announced::Call,
        Ok(events) if events.is_empty() => Announced::Nothing,
        _ => Announced::End,
    }
}

/// Checks a frame, and only then builds a message from it.
fn parse(body: &[u8], limits: &Limits) -> Result<FromJar, Ending> {
    // The message around a result is two levels deep.
    let depth = match json::depth(body, MAX_DEPTH + 2) {
        Ok(depth) => depth as u64,
        Err(JsonFault::TooDeep) => return Err(Ending::Limit(LimitName::ResultDepth)),
        Err(fault) => return Err(Ending::BrokenFrame(fault.to_string())),
    };
    let message: FromJar = serde_json::from_slice(body)
        .map_err(|_| Ending::BrokenFrame("it is not a message that a jar may send".into()))?;
    match &message {
        FromJar::Done { result: Some(result) }
            if result.get().len() as u64 > limits.result_bytes =>
        {
            Err(Ending::Limit(LimitName::ResultBytes))
        }
        FromJar::Done { .. } if depth > limits.result_depth + 2 => {
            Err(Ending::Limit(LimitName::ResultDepth))
        }
        _ => Ok(message),
    }
}
