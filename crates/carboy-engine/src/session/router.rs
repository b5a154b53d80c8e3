//! Reads the listener of a session, and hands each call to whom it concerns.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use carboy_sys::seccomp::{Answer, Notification, answer, is_waiting, place};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::time::{Instant as Moment, sleep_until};

use crate::kernel::blocking::elsewhere;
use crate::kernel::proc::{self, Status};
use crate::run::Share;
use crate::tier::process::{Born, Caller, ProcessJar, Purpose, Routes, Way};
use crate::tier::{Announced, Jar, Ready};

/// How many calls are looked at before everybody else gets a turn.
const AT_ONCE: usize = 8;

/// Hands out calls until nobody is left under the filter.
pub(super) async fn route(jar: Arc<ProcessJar>, routes: Arc<Routes>) {
    let Some(listener) = jar.listener() else { return };
    let mut share = Share::new(Moment::now());
    loop {
        // Threads of heads that do not run decide how much there is to do.
        if let Some(until) = share.rests_until() {
            sleep_until(until).await;
        }
        let Ok(ready) = listener.readable().await else { return };
        let mut ready = Ready::Own(ready);
        let began = Moment::now();
        for _ in 0..AT_ONCE {
            let served = match ready.take() {
                Ok(Announced::Call(call)) => serve(&jar, &routes, ready.answers(), &call).await,
                Ok(Announced::Withdrawn) => Ok(()),
                Ok(Announced::Nothing) => break,
                Ok(Announced::Over) | Err(_) => return,
            };
            if served.is_err_and(|error| error.kind() != io::ErrorKind::NotFound) {
                return;
            }
        }
        let now = Moment::now();
        share.take(now - began, now);
        tokio::task::yield_now().await;
    }
}

/// Sees to one call. `NotFound` means that its caller is gone.
async fn serve(
    jar: &ProcessJar,
    routes: &Routes,
    listener: &OwnedFd,
    call: &Notification,
) -> io::Result<()> {
    let Some(caller) = caller(call.thread) else { return Ok(()) };
    if !is_waiting(listener, call.id) {
        return Ok(());
    }
    match routes.way(call, caller, &jar.about().profile) {
        Way::Queued => Ok(()),
        Way::Granted | Way::Memory => answer(listener, call.id, Answer::Continue),
        Way::Stray => answer(listener, call.id, Answer::Refuse(Errno::PERM.raw_os_error())),
        Way::Hello => {
            let mut made = furnish(routes, listener, call, caller.process).await;
            let said = if made.is_ok() {
                Answer::Succeed
            } else {
                Answer::Refuse(Errno::PERM.raw_os_error())
            };
            let answered = answer(listener, call.id, said);
            // A copy that does not wait for its answer may have changed what was looked at.
            if answered.is_err() {
                made = made.and_then(|born| Err(refuse(routes, &born, WENT_ON.into())));
            }
            routes.born(made);
            answered
        }
    }
}

/// A copy that a signal took out of its call.
const WENT_ON: &str = "the copy did not wait for its pipes";

/// Ends a copy that is not taken for one.
fn refuse(routes: &Routes, born: &Born, why: String) -> String {
    routes.remove(born.process);
    proc::kill(&born.pidfd);
    why
}

/// What the kernel says of the process of a thread.
fn caller(thread: u32) -> Option<Caller> {
    let status = Status::of(thread).ok()?;
    let number = |name| status.number(name);
    Some(Caller {
        process: u32::try_from(number("Tgid:")?).ok()?,
        parent: u32::try_from(number("PPid:")?).ok()?,
        threads: number("Threads:")?,
    })
}

/// Gives a copy pipes of its own, in place of those that came with the fork. It waits in its call
/// meanwhile, and has no other thread.
async fn furnish(
    routes: &Routes,
    listener: &OwnedFd,
    call: &Notification,
    process: u32,
) -> Result<Born, String> {
    let refused = |error: &dyn std::fmt::Display| format!("a copy could not be prepared: {error}");
    let (ends, purpose) = routes.ends().ok_or("a copy came twice")?;
    let pid =
        i32::try_from(process).ok().and_then(Pid::from_raw).ok_or("a process without number")?;
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| refused(&error))?;
    // The number was still its own when the descriptor was made.
    if !is_waiting(listener, call.id) {
        return Err("the copy ended at once".into());
    }
    let prepared = async {
        for (number, end) in (1..).zip(&ends) {
            place(listener, call.id, end, number).map_err(|error| refused(&error))?;
        }
        let look = move || Ok((proc::descriptors(process)?, proc::mounts(process)?));
        let found = elsewhere(look).await;
        let found = found.unwrap_or_else(|| Err(io::Error::other("nobody looked")));
        let (found, mounts) = found.map_err(|error| refused(&error))?;
        // If a signal took it out of its call, it could move its descriptors about meanwhile.
        if !is_waiting(listener, call.id) {
            return Err(WENT_ON.into());
        }
        let others = routes.pipes();
        let extra = found.iter().filter(|(number, _)| *number > 4 || *number == 0);
        for (number, leads_to) in extra {
            if others.contains(leads_to) {
                return Err(format!("descriptor {number} is a copy of the session's own pipes"));
            }
            // What lies on no mount of the jar's: two processes could talk through it.
            if purpose == Purpose::Branch && !mounts.contains(&leads_to.0) {
                return Err(format!(
                    "the code has a pipe, a socket or an event loop open (descriptor {number}), \
                     which branches would share; close it first"
                ));
            }
        }
        Ok(())
    };
    let prepared = prepared.await;
    let born = Born { process, pidfd };
    prepared.map_err(|why| refuse(routes, &born, why)).map(|()| born)
}
