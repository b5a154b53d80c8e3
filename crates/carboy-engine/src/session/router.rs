//! Reads the listener of a session, and hands each call to whom it concerns.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use carboy_sys::seccomp::{Answer, Notification, answer, is_waiting, place};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::time::{Instant as Moment, sleep_until};

use crate::kernel::blocking::elsewhere;
use crate::kernel::proc::{self, Status};
use crate::run::Share;
use crate::tier::process::{Birth, Born, Caller, ProcessJar, Purpose, Routes, Unfit, Way};
use crate::tier::{Announced, Jar, Ready};

/// How many calls are looked at before everybody else gets a turn.
const AT_ONCE: usize = 8;
/// The longest rest after so many calls: little enough of the time, and no fork waits long behind others.
const REST: Duration = Duration::from_millis(100);

/// What a call was.
enum Served {
    /// A part of a fork that the engine asked for.
    Asked,
    /// Anything else.
    Other,
}

/// Hands out calls until nobody is left under the filter. A session whose calls nobody answers would hang, so
/// it ends when this cannot go on.
pub(super) async fn route(jar: Arc<ProcessJar>, routes: Arc<Routes>) {
    hand_out(&jar, &routes).await;
    jar.kill();
}

async fn hand_out(jar: &ProcessJar, routes: &Routes) {
    let Some(listener) = jar.listener() else { return };
    let mut share = Share::new(Moment::now());
    loop {
        // Threads of heads that do not run decide how much there is to do.
        if let Some(until) = share.rests_until() {
            sleep_until(until.min(Moment::now() + REST)).await;
        }
        let Ok(ready) = listener.readable().await else { return };
        let mut ready = Ready::Own(ready);
        for _ in 0..AT_ONCE {
            let began = Moment::now();
            let served = match ready.take() {
                Ok(Announced::Call(call)) => serve(jar, routes, ready.answers(), &call).await,
                Ok(Announced::Withdrawn) => Ok(Served::Other),
                Ok(Announced::Nothing) => break,
                Ok(Announced::Over) => return,
                Err(error) => Err(error),
            };
            match served {
                // What the engine asked for itself takes no share of its time, however long it takes.
                Ok(Served::Asked) => continue,
                Ok(Served::Other) => {}
                Err(error) if is_passing(&error) => {}
                Err(_) => return,
            }
            let now = Moment::now();
            share.take(now - began, now);
        }
        tokio::task::yield_now().await;
    }
}

/// Whether an error says nothing about the calls that come next: the caller is gone, or a signal came.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::Interrupted)
}

/// Sees to one call. `NotFound` means that its caller is gone.
async fn serve(
    jar: &ProcessJar,
    routes: &Routes,
    listener: &OwnedFd,
    call: &Notification,
) -> io::Result<Served> {
    let refused = Answer::Refuse(Errno::PERM.raw_os_error());
    let caller = caller(call.thread);
    if !is_waiting(listener, call.id) {
        return Ok(Served::Other);
    }
    // One that waits and that the kernel does not show is answered all the same, or it would wait for ever.
    let Some(caller) = caller else {
        return answer(listener, call.id, refused).map(|()| Served::Other);
    };
    match routes.way(call, caller, &jar.about().profile) {
        Way::Queued => Ok(Served::Other),
        Way::Memory => answer(listener, call.id, Answer::Continue).map(|()| Served::Other),
        Way::Granted => answer(listener, call.id, Answer::Continue).map(|()| Served::Asked),
        Way::Stray => answer(listener, call.id, refused).map(|()| Served::Other),
        Way::Hello => {
            let made = furnish(routes, listener, call, caller).await;
            // A copy whose call does not wait for its answer was not waiting while it was looked at.
            let made = match made {
                Ok(born) => match answer(listener, call.id, Answer::Succeed) {
                    Ok(()) => Ok(born),
                    Err(_) => Err(unfit(routes, born, LEFT.into())),
                },
                Err(unfit) => {
                    // It is gone already, as a rule.
                    answer(listener, call.id, refused).ok();
                    Err(unfit)
                }
            };
            routes.born(made);
            Ok(Served::Asked)
        }
    }
}

/// Why a copy is not taken that went on before it was answered: it could have changed what was looked at.
const LEFT: &str = "the copy did not wait";

/// Ends a copy that is not taken.
fn unfit(routes: &Routes, born: Born, why: String) -> Unfit {
    routes.remove(born.process, born.inner);
    Unfit { why, killed: born.kill() }
}

/// What the kernel says of the process of a thread.
fn caller(thread: u32) -> Option<Caller> {
    let status = Status::of(thread).ok()?;
    let number = |name| status.number(name);
    Some(Caller {
        process: u32::try_from(number("Tgid:")?).ok()?,
        inner: status.inner_number()?,
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
    caller: Caller,
) -> Birth {
    let process = caller.process;
    let refused = |error: &dyn std::fmt::Display| format!("a copy could not be prepared: {error}");
    let unknown = |why: String| Unfit { why, killed: None };
    let (ends, purpose) = routes.ends().ok_or_else(|| unknown("a copy came twice".into()))?;
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| unknown("a process without number".into()))?;
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| unknown(refused(&error)))?;
    // The number was still its own when the descriptor was made.
    if !is_waiting(listener, call.id) {
        return Err(unknown(LEFT.into()));
    }
    let born = Born::new(process, caller.inner, pidfd);
    let prepared = async {
        for (number, end) in (1..).zip(&ends) {
            place(listener, call.id, end, number).map_err(|error| refused(&error))?;
        }
        let look = move || {
            let branches = purpose == Purpose::Branch;
            let mounts = if branches { proc::mounts(process)? } else { vec![] };
            Ok((proc::descriptors(process)?, mounts))
        };
        let found = elsewhere(look).await;
        let found = found.unwrap_or_else(|| Err(io::Error::other("nobody looked")));
        let (found, mounts) = found.map_err(|error| refused(&error))?;
        // A signal may have ended its call meanwhile, and it moved its descriptors about.
        if !is_waiting(listener, call.id) {
            return Err(LEFT.into());
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
    match prepared.await {
        Ok(()) => Ok(born),
        Err(why) => Err(unfit(routes, born, why)),
    }
}
