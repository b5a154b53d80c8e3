//! Watching a run until something decides how it ends. The first thing that does, does.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use carboy_protocol::{LimitName, Limits, ToJar};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use tokio::time::{Instant as Moment, sleep_until, timeout_at};

use crate::error::{EngineError, While};
use crate::facts::Ending;
use crate::run::contact::{Contact, cancelled};
use crate::run::deadline::Deadline;
use crate::run::displays::Displays;
use crate::run::meter::Meter;
use crate::run::refusals::Refusals;
use crate::run::speech::{Heard, Speech};
use crate::run::stdio::Stdio;
use crate::run::tools::Tools;
use crate::runner::{Artifacts, Stream};
use crate::tier::Jar;

/// How much is read at once.
pub(super) const PIECE: usize = 8 << 10;

/// A run under way.
pub(super) struct Watch<'a, J: Jar> {
    pub jar: &'a mut J,
    pub stdio: Stdio,
    pub speech: Speech,
    pub meter: Meter<'a>,
    pub tools: Tools<'a>,
    pub displays: Displays<'a>,
    pub deadline: Deadline,
    pub refusals: Refusals<'a>,
    pub run: &'a str,
    pub artifacts: Artifacts,
    pub limits: &'a Limits,
    cancel: Option<oneshot::Receiver<()>>,
}

impl<'a, J: Jar> Watch<'a, J> {
    /// Makes a job, or whatever the jar is to be told, ready to be sent. The deadline counts from here.
    pub fn new(
        jar: &'a mut J,
        message: ToJar,
        limits: &'a Limits,
        contact: Contact<'a>,
    ) -> Result<Watch<'a, J>, EngineError> {
        Ok(Watch {
            stdio: Stdio::new(limits, contact.sink),
            speech: Speech::new(&message, contact.owed, limits)?,
            meter: Meter::new(jar, limits)?,
            tools: Tools::new(contact.tools, limits, contact.host),
            displays: Displays::new(limits),
            deadline: Deadline::new(Moment::now() + Duration::from_millis(limits.wall_ms)),
            refusals: Refusals::new(jar.about(), limits),
            run: contact.run,
            artifacts: contact.artifacts,
            limits,
            cancel: contact.cancel,
            jar,
        })
    }

    /// Sends as much as the jar's pipe takes at once, and lets it go on: one that is stopped would wait for its
    /// job otherwise as soon as it goes on, and be woken twice.
    pub fn begin(&mut self) {
        self.speech.write_now(&self.jar.io().job);
        self.jar.wake();
    }

    /// Watches until something decides how the run ends.
    pub async fn watch(&mut self) -> Result<Ending, EngineError> {
        let (mut out, mut err, mut said) = ([0; PIECE], [0; PIECE], [0; PIECE]);
        loop {
            let deadline = self.deadline.at();
            let closing = self.speech.closing();
            let listens = closing.is_none() && self.tools.has_room(self.speech.unread());
            // Against the clock, not only by the timer: what keeps this loop busy must not put off its
            // end.
            match over(closing, deadline, Moment::now()) {
                // Its end closed the pipe; how it ended is known when it has.
                Some(Ending::PipeClosed) if self.jar.is_ending() => {
                    self.speech.close();
                    continue;
                }
                Some(ending) => return Ok(ending),
                None => {}
            }
            let io = self.jar.io();
            tokio::select! {
                written = self.speech.write(&mut io.job) => {
                    self.speech.wrote(written);
                    if let Some(ending) = self.frames().await {
                        return Ok(ending);
                    }
                }
                answer = self.tools.exchange(&mut self.deadline) => {
                    if let Some(answer) = answer {
                        self.speech.say(answer);
                    }
                    if let Some(ending) = self.frames().await {
                        return Ok(ending);
                    }
                }
                read = io.frames.read(&mut said), if listens => match read {
                    Ok(count @ 1..) => {
                        if let Some(ending) = self.heard(&said[..count]).await {
                            return Ok(ending);
                        }
                    }
                    _ => self.speech.close(),
                },
                read = io.stdout.read(&mut out), if self.stdio.reads(Stream::Stdout) => {
                    if self.stdio.wrote(Stream::Stdout, &out[..read.unwrap_or(0)]) {
                        return Ok(Ending::Limit(LimitName::PrintedBytes));
                    }
                }
                read = io.stderr.read(&mut err), if self.stdio.reads(Stream::Stderr) => {
                    if self.stdio.wrote(Stream::Stderr, &err[..read.unwrap_or(0)]) {
                        return Ok(Ending::Limit(LimitName::PrintedBytes));
                    }
                }
                () = self.stdio.pass(), if self.stdio.is_waiting() => {}
                ready = io.listener.readable(), if self.refusals.hears() => {
                    let ready = ready.while_doing("watch a jar's filter")?;
                    self.refusals.hear(ready).while_doing("answer a jar's filter")?;
                    if self.refusals.is_flooded() {
                        return Ok(Ending::Limit(LimitName::Denials));
                    }
                    // A listener that is always ready must not keep others from their turn.
                    tokio::task::yield_now().await;
                }
                () = self.refusals.due() => {
                    let listener = io.listener.answers();
                    self.refusals.settle(listener).while_doing("answer a jar's filter")?;
                }
                () = self.meter.tick() => {
                    // Counting files may take long; the deadline does not wait for it.
                    let over = timeout_at(deadline, self.meter.over(&*self.jar)).await;
                    if let Ok(Some(name)) = over {
                        return Ok(Ending::Limit(name));
                    }
                }
                ready = io.pidfd.readable() => {
                    ready.while_doing("watch a jar")?.retain_ready();
                    return Ok(self.gone().await);
                }
                () = cancelled(&mut self.cancel) => return Ok(Ending::Cancelled),
                // The turn after it says what that means.
                () = sleep_until(closing.unwrap_or(deadline).min(deadline)) => {}
            }
        }
    }

    /// Takes a piece of what the jar says; an end if it completes or breaks the last frame.
    async fn heard(&mut self, piece: &[u8]) -> Option<Ending> {
        match self.speech.feed(piece) {
            None => self.frames().await,
            ending => ending,
        }
    }

    /// Takes the frames that have come, as long as another call may come.
    async fn frames(&mut self) -> Option<Ending> {
        while self.tools.has_room(self.speech.unread()) {
            // Reading a long one takes time. A deadline that passes meanwhile is seen in the next turn.
            let next = timeout_at(self.deadline.at(), self.speech.next()).await;
            let heard = next.ok().flatten()?;
            let ending = self.take(heard);
            if ending.is_some() {
                return ending;
            }
        }
        None
    }

    fn take(&mut self, heard: Heard) -> Option<Ending> {
        match heard {
            Heard::Call(call) => self.tools.take(call, &mut self.deadline),
            Heard::Display(display) => self.displays.take(display),
            Heard::LeftOut(note) => self.displays.left_out(note),
            Heard::Last(ending) => Some(ending),
        }
    }

    /// The jar's process has ended: whatever it had said by then still counts.
    async fn gone(&mut self) -> Ending {
        let mut piece = [0; PIECE];
        while let Ok(count @ 1..) = read_now(&self.jar.io().frames, &mut piece) {
            if let Some(ending) = self.speech.feed(&piece[..count]) {
                return ending;
            }
        }
        // Calls of one that is gone are only counted.
        while let Some(heard) = self.speech.next().await {
            if let Some(ending) = self.take(heard) {
                return ending;
            }
        }
        self.speech.finish()
    }
}

/// What it means that a moment is reached: the deadline, or the end of the wait for a jar that closed
/// the pipe for its result.
fn over(closing: Option<Moment>, deadline: Moment, now: Moment) -> Option<Ending> {
    if now >= deadline {
        return Some(Ending::Limit(LimitName::WallMs));
    }
    closing.filter(|closing| now >= *closing).map(|_| Ending::PipeClosed)
}

/// Reads what is there. The readiness that tokio remembers may be older than the bytes.
pub(super) fn read_now(pipe: &pipe::Receiver, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(pipe.as_fd(), buffer)?)
}
