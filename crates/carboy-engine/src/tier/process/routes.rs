//! Whose calls are whose in a session, and the one fork that may be granted.
//!
//! The processes of a session share a filter and therefore a listener. A call belongs to the process
//! whose thread makes it, which the kernel says. While a fork is under way, exactly one call is let
//! pass: the first plain fork of the main thread of the process that was told to. Exactly one process is
//! then taken for its copy: one whose parent that is, that nobody knows yet, and that makes itself known.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use carboy_jail::profile::{Grant, Profile, Verdict};
use carboy_sys::name_of;
use carboy_sys::seccomp::Notification;
use tokio::sync::{mpsc, oneshot};

use crate::kernel::proc::{self, FileId};

/// The flags with which a C library forks: CLONE_CHILD_SETTID, CLONE_CHILD_CLEARTID, SIGCHLD. Nothing is
/// shared with the parent, which would be the danger in other ones.
const FORK: u32 = 0x0120_0011;
/// The call by which a copy makes itself known: `setpgid(0, HELLO)`, which is refused to everybody else.
const HELLO: u64 = 0x5e55;

/// What the kernel says of the process that makes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub process: u32,
    /// Its number in the jar.
    pub inner: u32,
    pub parent: u32,
    pub threads: u64,
}

/// What is to be done with a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It is in the queue of its head.
    Queued,
    /// It is the fork that was granted.
    Granted,
    /// It comes from the copy that was waited for.
    Hello,
    /// It asks for memory, on which the kernel decides.
    Memory,
    /// It is refused: its process is not to run anything now.
    Stray,
}

/// A copy that was waited for. Dropping it ends it: whoever goes on with it takes the descriptor out.
pub(crate) struct Born {
    pub process: u32,
    /// Its number in the jar.
    pub inner: u32,
    pidfd: Option<OwnedFd>,
}

impl Born {
    pub fn new(process: u32, inner: u32, pidfd: OwnedFd) -> Born {
        Born { process, inner, pidfd: Some(pidfd) }
    }

    /// Ends it. The descriptor tells when it is gone.
    pub fn kill(self) -> Option<OwnedFd> {
        if let Some(pidfd) = &self.pidfd {
            proc::kill(pidfd);
        }
        self.taken()
    }

    /// What holds it from now on.
    pub fn taken(mut self) -> Option<OwnedFd> {
        self.pidfd.take()
    }
}

impl Drop for Born {
    fn drop(&mut self) {
        if let Some(pidfd) = &self.pidfd {
            proc::kill(pidfd);
        }
    }
}

/// Why a copy was not taken.
#[derive(Debug)]
pub(crate) struct Unfit {
    pub why: String,
    /// The copy, if it was found and killed.
    pub killed: Option<OwnedFd>,
}

/// What a copy is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It sleeps until what it is copied from is gone. Nobody waits for it.
    Backup,
    /// It is the only one of its kind that runs, sooner or later.
    Succession,
    /// It and what it is copied from go on beside each other.
    Branch,
}

/// What comes of a fork: a copy, or why it was refused.
pub(crate) type Birth = Result<Born, Unfit>;

/// A fork under way.
struct Forking {
    parent: u32,
    granted: bool,
    purpose: Purpose,
    /// The pipes of the copy.
    ends: Option<[OwnedFd; 4]>,
    born: Option<oneshot::Sender<Birth>>,
}

struct Route {
    calls: mpsc::UnboundedSender<Notification>,
    is_running: bool,
    /// What it held when somebody last looked. One that is stopped holds no more.
    held_bytes: u64,
    /// Its pipes.
    pipes: [FileId; 4],
    /// How many calls were refused because it was not to run anything.
    strays: u64,
}

#[derive(Default)]
struct State {
    heads: HashMap<u32, Route>,
    /// Those that were ended, and may not be gone, with their numbers in the jar. How they ended is known, or
    /// nobody wants to know it.
    ended: HashMap<u32, u32>,
    forking: Option<Forking>,
    is_over: bool,
}

impl State {
    /// Counts a call that was refused for whom it concerns: the head that made it, or that was told to make
    /// the copy that made it.
    fn stray(&mut self, caller: Caller) {
        let owner = if self.heads.contains_key(&caller.process) {
            caller.process
        } else {
            self.forking.as_ref().map_or(caller.parent, |forking| forking.parent)
        };
        if let Some(route) = self.heads.get_mut(&owner) {
            route.strays += 1;
        }
    }
}

/// The heads of a session by process, and the fork that is under way.
#[derive(Default)]
pub(crate) struct Routes(Mutex<State>);

impl Routes {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on the calls of this process have a queue, while it runs something.
    pub fn add(&self, process: u32, pipes: [FileId; 4]) -> mpsc::UnboundedReceiver<Notification> {
        let (calls, queue) = mpsc::unbounded_channel();
        let route = Route { calls, is_running: false, held_bytes: 0, pipes, strays: 0 };
        self.lock().heads.insert(process, route);
        queue
    }

    /// This process, which has that number in the jar, was ended.
    pub fn remove(&self, process: u32, inner: u32) {
        let mut state = self.lock();
        state.heads.remove(&process);
        state.ended.insert(process, inner);
    }

    /// Whether calls of this process are answered by whoever runs something in it.
    pub fn runs(&self, process: u32, is_running: bool) {
        if let Some(route) = self.lock().heads.get_mut(&process) {
            route.is_running = is_running;
        }
    }

    /// Notes what this process holds; how much all of them hold, with what they share counted for each.
    pub fn holds(&self, process: u32, bytes: u64) -> u64 {
        let mut state = self.lock();
        if let Some(route) = state.heads.get_mut(&process) {
            route.held_bytes = bytes;
        }
        state.heads.values().map(|route| route.held_bytes).sum()
    }

    /// How many calls of this process were refused because it was not to run anything, since this was last
    /// asked.
    pub fn strays(&self, process: u32) -> u64 {
        self.lock().heads.get_mut(&process).map_or(0, |route| std::mem::take(&mut route.strays))
    }

    /// What was refused to a copy while it was made is told by the one that it was copied from, if that is a
    /// head.
    pub fn hand_over_strays(&self, copy: u32, original: u32) {
        let mut state = self.lock();
        if state.heads.contains_key(&original) {
            let strays =
                state.heads.get_mut(&copy).map_or(0, |route| std::mem::take(&mut route.strays));
            state.heads.entry(original).and_modify(|route| route.strays += strays);
        }
    }

    /// The processes of all heads, and of those that were ended.
    pub fn known(&self) -> Vec<u32> {
        let state = self.lock();
        state.heads.keys().chain(state.ended.keys()).copied().collect()
    }

    /// The processes that were ended, with their numbers in the jar.
    pub fn ended(&self) -> Vec<(u32, u32)> {
        self.lock().ended.iter().map(|(process, inner)| (*process, *inner)).collect()
    }

    /// Those of the ended that are still there: their numbers in the jar, and whose children they are, which is
    /// for the caller to find out.
    pub fn unreaped(&self, parent: impl Fn(u32) -> Option<u32>) -> Vec<(u32, u32)> {
        let mut state = self.lock();
        let mut found = vec![];
        state.ended.retain(|process, inner| match parent(*process) {
            Some(parent) => {
                found.push((*inner, parent));
                true
            }
            None => false,
        });
        found
    }

    /// The pipes of all heads.
    pub fn pipes(&self) -> Vec<FileId> {
        self.lock().heads.values().flat_map(|route| route.pipes).collect()
    }

    /// Lets `parent` fork once. The copy gets these pipes. Until the answer is dropped.
    pub fn expect(
        &self,
        parent: u32,
        purpose: Purpose,
        ends: [OwnedFd; 4],
    ) -> (Expected<'_>, oneshot::Receiver<Birth>) {
        let (born, birth) = oneshot::channel();
        let (ends, born) = (Some(ends), Some(born));
        let forking = Forking { parent, granted: false, purpose, ends, born };
        let mut state = self.lock();
        if !state.is_over {
            state.forking = Some(forking);
        }
        drop(state);
        (Expected(self), birth)
    }

    /// Nobody answers calls any more: nothing comes of a fork that is under way, or of one that is asked for.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_over = true;
        state.forking = None;
    }

    /// What is to be done with a call.
    pub fn way(&self, call: &Notification, caller: Caller, profile: &Profile) -> Way {
        let mut state = self.lock();
        let is_known = state.heads.contains_key(&caller.process);
        if let Some(forking) = &mut state.forking {
            let is_main = call.thread == caller.process;
            if caller.process == forking.parent && is_main && !forking.granted && is_fork(call) {
                forking.granted = true;
                return Way::Granted;
            }
            let is_child = caller.parent == forking.parent && is_main && caller.threads == 1;
            let is_waited_for = forking.granted && forking.born.is_some() && !is_known;
            if is_waited_for && is_child && is_hello(call) {
                return Way::Hello;
            }
        }
        if let Some(route) = state.heads.get(&caller.process).filter(|route| route.is_running)
            && route.calls.send(*call).is_ok()
        {
            return Way::Queued;
        }
        if profile.judge(call.call, &call.args) == Verdict::Grant(Grant::Memory) {
            return Way::Memory;
        }
        state.stray(caller);
        Way::Stray
    }

    /// The pipes for the copy, which are handed out once, and what it is made for.
    pub fn ends(&self) -> Option<([OwnedFd; 4], Purpose)> {
        let mut state = self.lock();
        let forking = state.forking.as_mut()?;
        Some((forking.ends.take()?, forking.purpose))
    }

    /// Says what came of the fork.
    pub fn born(&self, birth: Birth) {
        let sender = self.lock().forking.as_mut().and_then(|forking| forking.born.take());
        // If nobody waits any more, the copy is dropped, and ends.
        if let Some(sender) = sender {
            sender.send(birth).ok();
        }
    }
}

/// A fork that is granted for as long as this is there.
pub(crate) struct Expected<'a>(&'a Routes);

impl Expected<'_> {
    /// Grants it no more; whether it was used.
    pub fn withdraw(&self) -> bool {
        self.0.lock().forking.take().is_some_and(|forking| forking.granted)
    }
}

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        self.0.lock().forking = None;
    }
}

/// Whether a call is a plain fork, by registers alone.
fn is_fork(call: &Notification) -> bool {
    match name_of(call.call) {
        Some("clone") => call.args[0] as u32 == FORK,
        Some("fork") => true,
        _ => false,
    }
}

/// Whether it is the call by which a copy makes itself known.
fn is_hello(call: &Notification) -> bool {
    name_of(call.call) == Some("setpgid") && call.args[0] == 0 && call.args[1] == HELLO
}

#[cfg(test)]
mod tests {
    use super::*;

    use carboy_protocol::Walls;
    use carboy_sys::number_of;

    const HEAD: u32 = 100;
    const COPY: u32 = 200;

    fn call(thread: u32, name: &str, args: &[u64]) -> Notification {
        let mut all = [0; 6];
        all[..args.len()].copy_from_slice(args);
        Notification { id: 1, thread, call: number_of(name).unwrap(), args: all }
    }

    fn caller(process: u32, parent: u32, threads: u64) -> Caller {
        Caller { process, inner: 7, parent, threads }
    }

    fn ends() -> [OwnedFd; 4] {
        [(); 4].map(|()| std::fs::File::open("/dev/null").unwrap().into())
    }

    struct Place {
        routes: Routes,
        profile: Profile,
        calls: mpsc::UnboundedReceiver<Notification>,
    }

    impl Place {
        fn new() -> Place {
            let routes = Routes::default();
            let calls = routes.add(HEAD, [(0, 0); 4]);
            Place { routes, profile: Profile::process(Walls::Full, 7).unwrap(), calls }
        }

        fn way(&self, call: &Notification, caller: Caller) -> Way {
            self.routes.way(call, caller, &self.profile)
        }
    }

    #[test]
    fn a_call_goes_to_the_head_that_runs_and_to_nobody_else() {
        let mut place = Place::new();
        let socket = call(HEAD, "socket", &[]);
        assert_eq!(place.way(&socket, caller(HEAD, 1, 1)), Way::Stray);
        place.routes.runs(HEAD, true);
        assert_eq!(place.way(&socket, caller(HEAD, 1, 1)), Way::Queued);
        assert_eq!(place.calls.try_recv(), Ok(socket));
        assert_eq!(place.way(&call(COPY, "socket", &[]), caller(COPY, HEAD, 1)), Way::Stray);
        place.routes.runs(HEAD, false);
        // The kernel decides on memory, whoever asks.
        let mmap = call(HEAD, "mmap", &[0, 8 << 20, 3, 0x22]);
        assert_eq!(place.way(&mmap, caller(HEAD, 1, 1)), Way::Memory);
        // One of the head itself, and one of a child of it.
        assert_eq!((place.routes.strays(HEAD), place.routes.strays(HEAD)), (2, 0));
        let _copy = place.routes.add(COPY, [(0, 0); 4]);
        assert_eq!(place.way(&socket, caller(COPY, HEAD, 1)), Way::Stray);
        assert_eq!(place.routes.strays(HEAD), 0);
        place.routes.hand_over_strays(COPY, HEAD);
        assert_eq!((place.routes.strays(COPY), place.routes.strays(HEAD)), (0, 1));
    }

    #[test]
    fn exactly_one_plain_fork_of_the_main_thread_is_granted() {
        let place = Place::new();
        let fork = call(HEAD, "clone", &[u64::from(FORK)]);
        let own = caller(HEAD, 1, 3);
        assert_eq!(place.way(&fork, own), Way::Stray);
        let (expected, _birth) = place.routes.expect(HEAD, Purpose::Branch, ends());
        for flags in
            [17, 0x11 | 0x100, 0x1200011 | 0x400, 0x1200011 | 0x8000, 0x1200011 | 0x2000_0000]
        {
            assert_eq!(place.way(&call(HEAD, "clone", &[flags]), own), Way::Stray, "{flags:x}");
        }
        assert_eq!(place.way(&call(HEAD + 1, "clone", &[u64::from(FORK)]), own), Way::Stray);
        assert_eq!(place.way(&fork, caller(300, 1, 1)), Way::Stray);
        assert_eq!(place.way(&fork, own), Way::Granted);
        assert_eq!(place.way(&fork, own), Way::Stray);
        assert_eq!(
            place.way(&call(COPY, "clone", &[u64::from(FORK)]), caller(COPY, HEAD, 1)),
            Way::Stray
        );
        assert!(expected.withdraw());
        assert_eq!(place.way(&fork, own), Way::Stray);
        let (expected, _birth) = place.routes.expect(HEAD, Purpose::Branch, ends());
        assert!(!expected.withdraw());
        assert_eq!(place.way(&fork, own), Way::Stray);
    }

    #[test]
    fn a_copy_that_nobody_takes_is_ended() {
        let sleep = || {
            let child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
            let pid = rustix::process::Pid::from_child(&child);
            let pidfd = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty());
            (child, pidfd.unwrap())
        };
        let place = Place::new();
        let (expected, birth) = place.routes.expect(HEAD, Purpose::Branch, ends());
        let (mut child, pidfd) = sleep();
        drop(birth);
        place.routes.born(Ok(Born::new(child.id(), 7, pidfd)));
        assert!(!child.wait().unwrap().success());
        drop(expected);
        // It came in time, and whoever waited went away before it looked.
        let (expected, birth) = place.routes.expect(HEAD, Purpose::Branch, ends());
        let (mut child, pidfd) = sleep();
        place.routes.born(Ok(Born::new(child.id(), 7, pidfd)));
        drop((expected, birth));
        assert!(!child.wait().unwrap().success());
        // One that was taken goes on.
        let (mut child, pidfd) = sleep();
        let taken = Born::new(child.id(), 7, pidfd).taken();
        assert!(taken.is_some() && child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn nobody_waits_for_a_copy_when_it_is_over() {
        let place = Place::new();
        let (_expected, mut birth) = place.routes.expect(HEAD, Purpose::Branch, ends());
        assert!(matches!(birth.try_recv(), Err(oneshot::error::TryRecvError::Empty)));
        place.routes.close();
        assert!(matches!(birth.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
        let (expected, mut birth) = place.routes.expect(HEAD, Purpose::Branch, ends());
        assert!(matches!(birth.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
        let fork = call(HEAD, "clone", &[u64::from(FORK)]);
        assert_eq!(place.way(&fork, caller(HEAD, 1, 1)), Way::Stray);
        assert!(!expected.withdraw());
    }

    #[test]
    fn exactly_one_copy_is_taken_for_one() {
        let place = Place::new();
        let (hello, copy) = (call(COPY, "setpgid", &[0, HELLO]), caller(COPY, HEAD, 1));
        let (_expected, mut birth) = place.routes.expect(HEAD, Purpose::Branch, ends());
        // Before there was a fork, of another parent, with a thread, and from a head that is known.
        assert_eq!(place.way(&hello, copy), Way::Stray);
        let fork = call(HEAD, "clone", &[u64::from(FORK)]);
        assert_eq!(place.way(&fork, caller(HEAD, 1, 1)), Way::Granted);
        assert_eq!(place.way(&hello, caller(COPY, 1, 1)), Way::Stray);
        assert_eq!(place.way(&hello, caller(COPY, HEAD, 2)), Way::Stray);
        assert_eq!(place.way(&call(COPY, "setpgid", &[0, 1]), copy), Way::Stray);
        let known = call(HEAD, "setpgid", &[0, HELLO]);
        assert_eq!(place.way(&known, caller(HEAD, HEAD, 1)), Way::Stray);
        assert_eq!(place.way(&hello, copy), Way::Hello);
        assert!(place.routes.ends().is_some_and(|(_, purpose)| purpose == Purpose::Branch));
        assert!(place.routes.ends().is_none());
        place.routes.born(Err(Unfit { why: "no".into(), killed: None }));
        assert!(birth.try_recv().is_ok_and(|birth| birth.is_err()));
        assert_eq!(place.way(&hello, copy), Way::Stray);
    }

    #[test]
    fn what_was_ended_is_known_until_it_is_gone() {
        let place = Place::new();
        assert_eq!(place.routes.holds(HEAD, 5), 5);
        place.routes.remove(HEAD, 7);
        assert_eq!((place.routes.known(), place.routes.holds(HEAD, 5)), (vec![HEAD], 0));
        assert_eq!(place.routes.unreaped(|process| (process == HEAD).then_some(1)), [(7, 1)]);
        assert!(place.routes.unreaped(|_| None).is_empty());
        assert!(place.routes.known().is_empty());
    }
}
