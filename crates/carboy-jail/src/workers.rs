//! Who hands files into jars: a fork of the helper for each request, which ends when it has answered.
//!
//! A fork takes longer than what it does. So once files were handed in, one stands ready for the next time, if the
//! engine keeps jars standing too: it waits for a request of the engine, and has no rights and holds nothing but what
//! the helper does. No more than one stands, and each serves one request, so whoever hangs holds up nobody else.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use carboy_protocol::SetupFault;
use carboy_sys::{Forked, Namespaces, clone3, reap};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, getpid, getppid, pidfd_send_signal};

use crate::fault::OrFault;
use crate::plan::{Given, GivenSource, HandIn, Identity, Link};
use crate::{control, hand_in};

const LAYER: &str = "hand in";
/// How many serve at once. The next request waits until one of them has ended.
const SERVED: usize = 64;
/// How long after a request the next one is forked: the run that asked has the processors first.
const PAUSE: Duration = Duration::from_millis(3);

/// The workers of a helper.
pub(crate) struct Workers {
    /// The zygote's user namespace.
    users: OwnedFd,
    /// Who its jars are.
    identity: Identity,
    /// Waits for a request.
    standing: Option<OwnedFd>,
    /// Have taken one, and have not ended yet.
    serving: Vec<OwnedFd>,
    /// One byte for each request that was taken: whether somebody is to stand ready after it.
    taken: OwnedFd,
    takes: OwnedFd,
    /// Whether somebody is to stand ready: as the last request said.
    is_wanted: bool,
}

impl Workers {
    pub fn new(users: OwnedFd, identity: Identity) -> Result<Workers, SetupFault> {
        let (taken, takes) = pipe_with(PipeFlags::CLOEXEC).or_fault(LAYER, "pipe", "")?;
        let (standing, serving) = (None, vec![]);
        Ok(Workers { users, identity, standing, serving, taken, takes, is_wanted: false })
    }

    /// Whether a request that comes now needs somebody to be forked for it.
    pub fn lacks_one(&self) -> bool {
        self.standing.is_none() && self.serving.len() < SERVED
    }

    /// How long to wait before somebody is forked to stand ready.
    pub fn pause(&self) -> Option<Timespec> {
        let wait = Timespec { tv_sec: 0, tv_nsec: PAUSE.subsec_nanos().into() };
        (self.is_wanted && self.lacks_one()).then_some(wait)
    }

    /// Everything about them that can be waited for.
    pub fn watched(&self) -> impl Iterator<Item = PollFd<'_>> {
        let all = [&self.taken].into_iter().chain(&self.standing).chain(&self.serving);
        all.map(|descriptor| PollFd::new(descriptor, PollFlags::IN))
    }

    /// Takes note of who has taken a request and who has ended. To be called when one of [`Workers::watched`] is
    /// ready.
    pub fn look(&mut self) -> Result<(), SetupFault> {
        let mut ready = [PollFd::new(&self.taken, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        if rustix::event::poll(&mut ready, Some(&now)).or_fault(LAYER, "poll", "")? > 0 {
            // No more than one stands, so this is about that one.
            let mut stand_ready = [0];
            rustix::io::read(&self.taken, &mut stand_ready).or_fault(LAYER, "read", "")?;
            self.serving.extend(self.standing.take());
            self.is_wanted = stand_ready != [0];
        }
        // One that ended before it took anything took nothing away: the next request finds another.
        self.standing.take_if(|worker| has_ended(worker));
        self.serving.retain(|worker| !has_ended(worker));
        Ok(())
    }

    /// Forks one that waits for a request of the engine. If that fails, nobody stands ready until another
    /// request comes.
    pub fn stand(&mut self, engine: BorrowedFd<'_>) -> Result<(), SetupFault> {
        let helper = getpid();
        match clone3(Namespaces::NONE) {
            Ok(Forked::Parent { pidfd, .. }) => {
                self.standing = Some(pidfd);
                Ok(())
            }
            Ok(Forked::Child) => {
                let served = self.serve(engine, helper);
                carboy_sys::exit_now(i32::from(served.is_none()))
            }
            Err(error) => {
                self.is_wanted = false;
                Err(error).or_fault(LAYER, "clone3", "")
            }
        }
    }

    /// In the fork: one request. Nothing if none came, or nobody hears the answer.
    fn serve(&self, engine: BorrowedFd<'_>, helper: Pid) -> Option<()> {
        hand_in::die_with_helper().ok()?;
        // The helper may have ended before that was said.
        if getppid() != Some(helper) {
            return None;
        }
        self.rehearse()?;
        let (request, descriptors) = control::receive::<HandIn>(engine).ok().flatten()?;
        hand_in::begin();
        rustix::io::write(&self.takes, &[u8::from(request.stand_ready)]).ok()?;
        hand_in::serve(self.users.as_fd(), &request, descriptors).ok()
    }

    /// Reads a request that nobody made: what reading one touches is copied for a fork when it is first touched,
    /// and that need not be when one has come.
    fn rehearse(&self) -> Option<()> {
        let given = Given {
            folder: "/mnt/inputs".into(),
            below: "name".into(),
            source: GivenSource::Bytes { start: 0, length: 0 },
        };
        let link = Link { path: "name".into(), target: "/inputs/name".into() };
        let identity = self.identity.clone();
        let request = HandIn {
            identity,
            given: vec![given],
            links: vec![link],
            inodes: 0,
            stand_ready: true,
        };
        let written = serde_json::to_vec(&request).ok()?;
        let read: HandIn = serde_json::from_slice(&written).ok()?;
        (read == request).then_some(())
    }

    /// Ends whoever stands ready, so that nobody is left for others to reap.
    pub fn dismiss(mut self) {
        if let Some(worker) = self.standing.take() {
            pidfd_send_signal(&worker, Signal::KILL).ok();
            rustix::event::poll(&mut [PollFd::new(&worker, PollFlags::IN)], None).ok();
            has_ended(&worker);
        }
    }
}

/// Whether a worker has ended; then it is reaped.
fn has_ended(worker: &OwnedFd) -> bool {
    !matches!(reap(worker), Ok(None))
}
