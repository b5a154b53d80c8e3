//! Answering the calls that a jar's filter announces: refusing, counting, granting.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use carboy_jail::profile::{Grant, Profile, Verdict};
use carboy_protocol::{Denial, Layer, Limits};
use carboy_sys::name_of;
use carboy_sys::seccomp::{Answer, Notification, answer, receive};
use rustix::event::PollFlags;
use rustix::io::Errno;
use tokio::io::unix::AsyncFdReadyGuard;

use crate::facts::{Baseline, Refused, RefusedCall};
use crate::kernel::async_fd::ready_now;
use crate::kernel::proc::{self, Status};
use crate::tier::About;

/// How long a granted thread may take to show up in the kernel's count before the next is judged.
const SETTLE: Duration = Duration::from_millis(2);

/// What was refused in one run, and what is still granted.
pub(super) struct Refusals<'a> {
    profile: Arc<Profile>,
    limits: &'a Limits,
    baseline: Baseline,
    /// Nobody is left under the filter.
    deaf: bool,
    counts: BTreeMap<&'static str, (u64, String)>,
    /// All refused calls.
    pub total: u64,
    /// What of it the verdict needs.
    pub refused: Refused,
    processes_started: u64,
    thread_granted: Option<(Instant, u64)>,
}

impl<'a> Refusals<'a> {
    pub fn new(about: &About, limits: &'a Limits) -> Refusals<'a> {
        Refusals {
            profile: about.profile.clone(),
            limits,
            baseline: about.baseline,
            deaf: false,
            counts: BTreeMap::new(),
            total: 0,
            refused: Refused::default(),
            processes_started: 0,
            thread_granted: None,
        }
    }

    /// Whether another call can be announced.
    pub fn hears(&self) -> bool {
        !self.deaf
    }

    /// Takes one announced call and answers it, if there is one. The kernel is asked first: receiving
    /// would block if nothing waited, and the readiness that tokio remembers may be old.
    pub fn hear(&mut self, mut ready: AsyncFdReadyGuard<'_, OwnedFd>) -> io::Result<()> {
        match ready_now(ready.get_inner()) {
            Ok(events) if events.contains(PollFlags::IN) => return self.serve(ready.get_inner()),
            Ok(events) if events.is_empty() => ready.clear_ready(),
            // Nobody is left under the filter. This readiness would never go away.
            _ => self.deaf = true,
        }
        Ok(())
    }

    fn serve(&mut self, listener: &OwnedFd) -> io::Result<()> {
        let call = match receive(listener) {
            Ok(call) => call,
            // The caller was killed between the announcement and now.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let said = self.judge(&call);
        match answer(listener, call.id, said) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn judge(&mut self, call: &Notification) -> Answer {
        match self.profile.judge(call.call, &call.args) {
            Verdict::Grant(Grant::Thread) => self.thread(call),
            Verdict::Grant(Grant::Process) => self.process(call),
            Verdict::Grant(Grant::Memory) => self.memory(call),
            Verdict::Refuse(errno) => self.refuse(call, errno),
            // The filter does not announce these; if it did, the answer is no.
            Verdict::Allow | Verdict::Answer(_) | Verdict::Sealing | Verdict::Kill => {
                self.refuse(call, Errno::PERM.raw_os_error())
            }
        }
    }

    fn thread(&mut self, call: &Notification) -> Answer {
        let alive = self.threads_alive(call.thread);
        // The count has the main thread in it, and a count we cannot read is a full house.
        if alive.is_some_and(|alive| alive <= self.limits.threads) {
            self.thread_granted = alive.map(|alive| (Instant::now(), alive));
            return Answer::Continue;
        }
        self.refused.threads = true;
        self.refuse(call, Errno::AGAIN.raw_os_error())
    }

    /// Threads of the calling process. A thread granted a moment ago may not be in the kernel's
    /// count yet, so it is waited for, briefly.
    fn threads_alive(&self, caller: u32) -> Option<u64> {
        let count = || Status::of(caller).ok()?.number("Threads:");
        let mut alive = count()?;
        if let Some((when, before)) = self.thread_granted {
            while alive <= before && when.elapsed() < SETTLE {
                std::thread::sleep(Duration::from_micros(50));
                alive = count()?;
            }
        }
        Some(alive)
    }

    fn process(&mut self, call: &Notification) -> Answer {
        if self.processes_started < self.limits.processes {
            self.processes_started += 1;
            return Answer::Continue;
        }
        self.refused.processes = true;
        let errno = if self.limits.processes == 0 { Errno::PERM } else { Errno::AGAIN };
        self.refuse(call, errno.raw_os_error())
    }

    /// A large block of memory. The kernel decides on it by itself; what is learnt here is that it
    /// was asked for and that it could not be given.
    fn memory(&mut self, call: &Notification) -> Answer {
        let asked = call.args[1];
        let held = proc::memory(call.thread)
            .map_or(0, |(_, data)| data.saturating_sub(self.baseline.data_bytes));
        if held.saturating_add(asked) <= self.limits.memory_bytes {
            return Answer::Continue;
        }
        self.refused.memory = true;
        Answer::Refuse(Errno::NOMEM.raw_os_error())
    }

    fn refuse(&mut self, call: &Notification, errno: i32) -> Answer {
        let name = match name_of(call.call).unwrap_or("unknown") {
            // One word for one thing: a library chooses among these, not the guest.
            "clone"
                if self.profile.judge(call.call, &call.args) == Verdict::Grant(Grant::Process) =>
            {
                "fork"
            }
            "clone"
                if self.profile.judge(call.call, &call.args) == Verdict::Grant(Grant::Thread) =>
            {
                "thread"
            }
            "vfork" => "fork",
            name => name,
        };
        let hint = self.profile.hint(call.call, &call.args).unwrap_or_default();
        self.total += 1;
        self.counts.entry(name).or_insert_with(|| (0, hint.to_owned())).0 += 1;
        self.refused.last = Some(RefusedCall { errno, hint: hint.to_owned() });
        Answer::Refuse(errno)
    }

    /// Whether more was refused than the policy bears.
    pub fn is_flooded(&self) -> bool {
        self.total > self.limits.denials
    }

    /// What was refused, for the outcome.
    pub fn denials(&self) -> Vec<Denial> {
        self.counts
            .iter()
            .map(|(what, (count, hint))| Denial {
                layer: Layer::Seccomp,
                what: (*what).to_owned(),
                count: *count,
                line: None,
                hint: hint.clone(),
                message: None,
                instead: None,
            })
            .collect()
    }
}
