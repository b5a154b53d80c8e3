//! The helper: a single-threaded process between the engine and a zygote.
//!
//! A threaded engine must not fork, so it starts its own program again as a helper. The helper
//! makes the zygote with one `clone3`, writes its maps from outside, and then only waits: for the
//! zygote to end, or for the engine to end, in which case it takes the zygote and all its jars
//! with it. Meanwhile it forks whoever hands files into jars (`workers.rs`). It finds the control
//! socket at descriptor 0 and the engine's lifeline at 1: a socket through which these requests come, and
//! which the kernel closes when the engine ends. The zygote's library is part of the program that the
//! helper is.

use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

use carboy_protocol::{FromZygote, SetupFault, WIRE_VERSION, Walls};
use carboy_sys::{Forked, Namespaces, clone3, fds, reap};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, pidfd_send_signal};

use crate::fault::{OrFault, fault};
use crate::plan::{HandIn, ZygotePlan};
use crate::removal::remove_tree;
use crate::workers::Workers;
use crate::{control, enter, identity, root};

/// Runs the helper to its end. `library` is what the interpreter loads to become a zygote.
pub fn helper(library: &[u8]) -> ExitCode {
    // It outlives the signals that end the engine: it still has to clean up.
    carboy_sys::ignore_endings();
    // The engine may have started it through a link of /proc. It only shows in lists of processes.
    rustix::thread::set_name(c"carboy").ok();
    let Ok((control, lifeline)) = take_descriptors() else {
        return ExitCode::FAILURE;
    };
    match run(library, &control, lifeline) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // The engine may have exited already; then there is nobody to report to.
            control::send(&control, &FromZygote::Failed(fault), &[]).ok();
            ExitCode::FAILURE
        }
    }
}

fn take_descriptors() -> std::io::Result<(OwnedFd, OwnedFd)> {
    // Away from the standard numbers, which the zygote uses for its own streams.
    let up = |fd: OwnedFd| rustix::io::fcntl_dupfd_cloexec(fd, 10);
    Ok((up(fds::inherited(0)?)?, up(fds::inherited(1)?)?))
}

/// The numbers of the standard streams are free in a helper, and are those of the zygote's: what is taken for
/// the zygote keeps clear of them.
fn out_of_the_way(trees: Vec<OwnedFd>) -> Result<Vec<OwnedFd>, SetupFault> {
    let up = |tree| {
        rustix::io::fcntl_dupfd_cloexec(tree, 10).or_fault(
            "descriptors",
            "fcntl",
            "F_DUPFD_CLOEXEC",
        )
    };
    trees.into_iter().map(up).collect()
}

fn run(library: &[u8], control: &OwnedFd, lifeline: OwnedFd) -> Result<(), SetupFault> {
    let plan = control::receive::<ZygotePlan>(control).or_fault("helper", "recvmsg", "plan")?;
    let Some((plan, _)) = plan else {
        return Err(fault("helper", "recvmsg", "plan", "the engine has exited"));
    };
    if plan.wire != WIRE_VERSION {
        let answer = format!("the engine uses version {}, the helper {WIRE_VERSION}", plan.wire);
        return Err(fault("helper", "version", "", answer));
    }
    identity::leave_groups(&plan.identity)?;
    // Root reaches an interpreter below another user's home, and its child in a user namespace does not. Where
    // root may not take mounts, the child tries, and says what it cannot reach.
    let taken = (plan.walls == Walls::Full && plan.identity.step_down)
        .then(|| root::take_sources(&plan.mounts).and_then(out_of_the_way).ok())
        .flatten();
    let (go_read, go_write) = pipe_with(PipeFlags::CLOEXEC).or_fault("fork", "pipe", "")?;
    let namespaces = match plan.walls {
        Walls::Full => Namespaces::ALL,
        Walls::Nested => Namespaces::NONE,
    };
    let layer = if plan.walls == Walls::Full { "namespaces" } else { "fork" };
    match clone3(namespaces).or_fault(layer, "clone3", plan.walls.as_str())? {
        Forked::Child => {
            drop((go_write, lifeline));
            match enter::enter(&plan, library, taken, go_read.as_fd(), control.as_fd()) {
                Ok(never) => match never {},
                Err(fault) => Err(fault),
            }
        }
        Forked::Parent { pidfd, pid } => {
            drop((go_read, taken));
            let mut workers = None;
            if plan.walls == Walls::Full {
                identity::check_namespaces(pid)?;
                identity::write_maps(&plan.identity, pid)?;
                workers =
                    Some(Workers::new(identity::user_namespace(pid)?, plan.identity.clone())?);
            }
            control::send(control, &FromZygote::Started {}, &[pidfd.as_fd()])
                .or_fault("helper", "sendmsg", "started")?;
            rustix::io::write(&go_write, &[1]).or_fault("helper", "write", "go")?;
            watch(&pidfd, &lifeline, workers.as_mut())?;
            if let Some(workers) = workers {
                workers.dismiss();
            }
            // Every jar died with the zygote, so nothing writes there any more.
            match &plan.remove_at_end {
                Some(path) => remove_tree(path).or_fault("helper", "remove", path.display()),
                None => Ok(()),
            }
        }
    }
}

/// Waits for the zygote to end, and ends it when the engine does. Sees to it meanwhile that requests are served.
fn watch(
    zygote: &OwnedFd,
    engine: &OwnedFd,
    mut workers: Option<&mut Workers>,
) -> Result<(), SetupFault> {
    loop {
        let lacks_one = workers.as_ref().is_some_and(|workers| workers.lacks_one());
        // A request is heard by who stands ready for it; here only if nobody does. The end of the engine always is.
        let heard = if lacks_one { PollFlags::IN } else { PollFlags::empty() };
        let mut watched = vec![PollFd::new(zygote, PollFlags::IN), PollFd::new(engine, heard)];
        watched.extend(workers.iter().flat_map(|workers| workers.watched()));
        let pause = workers.as_ref().and_then(|workers| workers.pause());
        let ready = match poll(&mut watched, pause.as_ref()) {
            Ok(ready) => ready,
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error).or_fault("helper", "poll", ""),
        };
        let spoke = watched[1].revents();
        drop(watched);
        if reap(zygote).or_fault("helper", "waitid", "")?.is_some() {
            return Ok(());
        }
        if spoke.intersects(PollFlags::HUP | PollFlags::ERR) {
            pidfd_send_signal(zygote, Signal::KILL).or_fault("helper", "pidfd_send_signal", "")?;
            // Killed and not reaped yet: wait for it alone.
            let mut last = [PollFd::new(zygote, PollFlags::IN)];
            poll(&mut last, None).or_fault("helper", "poll", "")?;
            continue;
        }
        if let Some(workers) = workers.as_deref_mut() {
            workers.look()?;
            let is_asked = spoke.contains(PollFlags::IN);
            if (is_asked || ready == 0) && workers.lacks_one() {
                let stands = workers.stand(engine.as_fd());
                if stands.is_err() && is_asked {
                    // Dropped with its descriptors, and the engine sees that nobody answers.
                    drop(control::receive::<HandIn>(engine));
                }
            }
        }
    }
}
