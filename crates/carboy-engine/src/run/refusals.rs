//! Answering the calls that a jar's filter announces: refusing, counting, granting.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use carboy_jail::profile::{Grant, Profile, Verdict};
use carboy_protocol::Limits;
use carboy_sys::seccomp::{Answer, Notification, answer};
use carboy_sys::{name_of, number_of};
use rustix::io::Errno;
use tokio::time::{Instant as Moment, sleep_until};

use crate::facts::{Baseline, Refused, RefusedCall, Tried, Wanted};
use crate::kernel::proc::{self, Status};
use crate::run::share::Share;
use crate::tier::{About, Announced, Ready};

/// How long a granted thread may take to show up in the kernel's count.
const SETTLE: Duration = Duration::from_millis(5);
/// How many calls are served before everybody else gets a turn.
const AT_ONCE: usize = 8;
/// The call that starts a program.
const PROGRAM: &str = "execve";

/// A thread that was granted and may not be in the kernel's count yet.
#[derive(Clone, Copy)]
struct Granted {
    caller: u32,
    at: Moment,
}

/// What was refused in one run, and what is still granted.
pub(super) struct Refusals<'a> {
    profile: Arc<Profile>,
    limits: &'a Limits,
    /// The jar's first process.
    jar: u32,
    baseline: Baseline,
    /// Nobody is left under the filter.
    deaf: bool,
    began: Moment,
    counts: BTreeMap<&'static str, Tried>,
    /// All refused calls.
    pub total: u64,
    /// What of it the verdict needs.
    pub refused: Refused,
    processes_started: u64,
    /// Who was refused a child that starts a program, and has done nothing since that was refused.
    starter: Option<u32>,
    /// Threads granted a moment ago.
    granted: Vec<Granted>,
    /// Wishes for a thread that cannot be judged yet. Their callers wait in the kernel, so there are
    /// never more than the jar has threads.
    deferred: Vec<Notification>,
    share: Share,
}

impl<'a> Refusals<'a> {
    pub fn new(about: &About, limits: &'a Limits) -> Refusals<'a> {
        Refusals {
            profile: about.profile.clone(),
            limits,
            jar: about.pid,
            baseline: about.baseline,
            deaf: false,
            began: Moment::now(),
            counts: BTreeMap::new(),
            total: 0,
            refused: Refused::default(),
            processes_started: 0,
            starter: None,
            granted: Vec::new(),
            deferred: Vec::new(),
            share: Share::new(Moment::now()),
        }
    }

    /// Whether calls that are announced are taken now.
    pub fn hears(&self) -> bool {
        !self.deaf && self.share.rests_until().is_none_or(|until| until <= Moment::now())
    }

    /// Takes a few announced calls and answers them, if there are any.
    pub fn hear(&mut self, mut ready: Ready<'_>) -> io::Result<()> {
        let began = Moment::now();
        for _ in 0..AT_ONCE {
            match ready.take()? {
                Announced::Call(call) => {
                    self.answer(ready.answers(), call)?;
                    // The run ends here, and counts what it was ended for.
                    if self.is_flooded() {
                        break;
                    }
                }
                Announced::Withdrawn => {}
                Announced::Nothing => break,
                // This readiness would never go away.
                Announced::Over => {
                    self.deaf = true;
                    break;
                }
            }
        }
        self.spent_since(began);
        Ok(())
    }

    /// When there is something to do that nobody announces: listening again after a rest, or judging
    /// what was deferred. Waits for ever if there is nothing.
    pub async fn due(&self) {
        let now = Moment::now();
        let rest = self.share.rests_until().filter(|until| !self.deaf && *until > now);
        let settled = self
            .deferred
            .first()
            .map(|_| self.granted.iter().map(|granted| granted.at + SETTLE).min().unwrap_or(now));
        match [rest, settled].into_iter().flatten().min() {
            Some(moment) => sleep_until(moment).await,
            None => std::future::pending().await,
        }
    }

    /// Judges what was deferred.
    pub fn settle(&mut self, listener: &OwnedFd) -> io::Result<()> {
        let began = Moment::now();
        for call in std::mem::take(&mut self.deferred) {
            self.answer(listener, call)?;
        }
        self.spent_since(began);
        Ok(())
    }

    fn spent_since(&mut self, began: Moment) {
        let now = Moment::now();
        self.share.take(now - began, now);
    }

    fn answer(&mut self, listener: &OwnedFd, call: Notification) -> io::Result<()> {
        let Some(said) = self.judge(&call) else {
            self.deferred.push(call);
            return Ok(());
        };
        match answer(listener, call.id, said) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// The answer to a call; `None` if it cannot be told yet.
    fn judge(&mut self, call: &Notification) -> Option<Answer> {
        Some(match self.profile.judge(call.call, &call.args) {
            Verdict::Grant(Grant::Thread) => return self.thread(call),
            Verdict::Grant(Grant::Process) => self.process(call),
            Verdict::Grant(Grant::Program) => self.refuse_program(call),
            Verdict::Grant(Grant::Signal) => self.signal(call),
            Verdict::Grant(Grant::Memory) => self.memory(call),
            Verdict::Refuse(errno) => self.refuse(call, errno),
            // The filter does not announce these; if it did, the answer is no.
            Verdict::Allow | Verdict::Answer(_) | Verdict::Sealing | Verdict::Kill => {
                self.refuse(call, Errno::PERM.raw_os_error())
            }
        })
    }

    /// A thread may be made if there is room for it, counting those that are alive and those that were
    /// granted to others a moment ago: the kernel may or may not have counted these already, so where
    /// they matter the answer waits until it has.
    fn thread(&mut self, call: &Notification) -> Option<Answer> {
        let now = Moment::now();
        // Whoever calls again has seen what came of its last call.
        self.granted.retain(|granted| granted.caller != call.thread && granted.at + SETTLE > now);
        let (alive, most) = self.threads_around(call.thread);
        // The count has the main thread in it, and a count we cannot read is a full house.
        let Some(alive) = alive.filter(|alive| *alive <= most) else {
            return Some(self.refuse_grant(call, Errno::AGAIN, Wanted::Thread));
        };
        if alive + self.granted.len() as u64 > most {
            return None;
        }
        self.granted.push(Granted { caller: call.thread, at: now });
        self.refused.granted(Wanted::Thread);
        Some(Answer::Continue)
    }

    /// How many threads the process of this one has, and how many it may have beside its main one: what
    /// was imported in the jar before its job came has threads of its own there. A child began without.
    fn threads_around(&self, thread: u32) -> (Option<u64>, u64) {
        let Ok(status) = Status::of(thread) else { return (None, 0) };
        let is_first = status.number("Tgid:") == Some(u64::from(self.jar));
        let own = if is_first { self.baseline.threads } else { 0 };
        (status.number("Threads:"), self.limits.threads + own)
    }

    fn process(&mut self, call: &Notification) -> Answer {
        if self.processes_started < self.limits.processes {
            self.processes_started += 1;
            self.refused.granted(Wanted::Process);
            return Answer::Continue;
        }
        // `subprocess` tries again with an ordinary child. It still wants a program and not a child.
        if self.starter == Some(call.thread) {
            return self.refuse_program(call);
        }
        let errno = if self.limits.processes == 0 { Errno::PERM } else { Errno::AGAIN };
        self.refuse_grant(call, errno, Wanted::Process)
    }

    /// A signal, where there can be child processes: no other process is in the jar's namespace.
    fn signal(&mut self, call: &Notification) -> Answer {
        if self.limits.processes > 0 {
            return Answer::Continue;
        }
        self.refuse(call, Errno::PERM.raw_os_error())
    }

    /// A large block of memory. The kernel decides on it by itself; what is learnt here is that it
    /// was asked for and that it could not be given.
    fn memory(&mut self, call: &Notification) -> Answer {
        let asked = call.args[1];
        let held = proc::memory(call.thread)
            .map_or(0, |(_, data)| data.saturating_sub(self.baseline.data_bytes));
        if held.saturating_add(asked) <= self.limits.memory_bytes {
            self.refused.granted(Wanted::Memory(asked));
            return Answer::Continue;
        }
        let (errno, wanted) = (Errno::NOMEM.raw_os_error(), Some(Wanted::Memory(asked)));
        self.refused.last = Some(RefusedCall { errno, hint: String::new(), wanted });
        Answer::Refuse(errno)
    }

    /// Refuses what there is no grant for.
    fn refuse_grant(&mut self, call: &Notification, errno: Errno, wanted: Wanted) -> Answer {
        let answer = self.refuse(call, errno.raw_os_error());
        if let Some(last) = &mut self.refused.last {
            last.wanted = Some(wanted);
        }
        answer
    }

    fn refuse(&mut self, call: &Notification, errno: i32) -> Answer {
        let name = match (name_of(call.call), self.profile.judge(call.call, &call.args)) {
            // One word for one thing: a library chooses among these, not the guest.
            (Some("clone"), Verdict::Grant(Grant::Process)) => "fork",
            (Some("clone"), Verdict::Grant(Grant::Thread)) => "thread",
            (name, _) => name.unwrap_or("unknown"),
        };
        let hint = self.profile.hint(call.call, &call.args).unwrap_or_default().to_owned();
        self.count(name, hint, errno)
    }

    /// Refuses a child that is to start a program. It is named for that.
    fn refuse_program(&mut self, call: &Notification) -> Answer {
        let hint = number_of(PROGRAM).and_then(|number| self.profile.hint(number, &[0; 6]));
        let hint = hint.unwrap_or_default().to_owned();
        let answer = self.count(PROGRAM, hint, Errno::PERM.raw_os_error());
        self.starter = Some(call.thread);
        answer
    }

    fn count(&mut self, name: &'static str, hint: String, errno: i32) -> Answer {
        self.total += 1;
        let tried = self.counts.entry(name).or_insert_with(|| Tried::new(hint.clone()));
        tried.count += 1;
        tried.last = self.began.elapsed();
        self.refused.last = Some(RefusedCall { errno, hint, wanted: None });
        self.starter = None;
        Answer::Refuse(errno)
    }

    /// Whether more was refused than the policy bears.
    pub fn is_flooded(&self) -> bool {
        self.total > self.limits.denials
    }

    /// What was refused, by the names of the calls.
    pub fn tried(self) -> BTreeMap<&'static str, Tried> {
        self.counts
    }
}
