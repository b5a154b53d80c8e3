//! The helper: a single-threaded process between the engine and a zygote.
//!
//! A threaded engine must not fork, so it starts its own program again as a helper. The helper
//! makes the zygote with one `clone3`, writes its maps from outside, and then only waits: for the
//! zygote to end, or for the engine to end, in which case it takes the zygote and all its jars
//! with it. Meanwhile it forks a child for each request to hand files into a jar. It finds the control
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
use crate::{control, enter, hand_in, identity, root};

/// How many requests to hand files into jars are served at once. The next one waits.
const SERVED: usize = 64;

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
            let mut users = None;
            if plan.walls == Walls::Full {
                identity::check_namespaces(pid)?;
                identity::write_maps(&plan.identity, pid)?;
                users = Some(identity::user_namespace(pid)?);
            }
            control::send(control, &FromZygote::Started {}, &[pidfd.as_fd()])
                .or_fault("helper", "sendmsg", "started")?;
            rustix::io::write(&go_write, &[1]).or_fault("helper", "write", "go")?;
            watch(&pidfd, &lifeline, users.as_ref())?;
            // Every jar died with the zygote, so nothing writes there any more.
            match &plan.remove_at_end {
                Some(path) => remove_tree(path).or_fault("helper", "remove", path.display()),
                None => Ok(()),
            }
        }
    }
}

/// Waits for the zygote to end, and ends it when the engine does. Serves requests meanwhile.
fn watch(zygote: &OwnedFd, engine: &OwnedFd, users: Option<&OwnedFd>) -> Result<(), SetupFault> {
    let mut serving: Vec<OwnedFd> = Vec::new();
    loop {
        let mut watched = vec![PollFd::new(zygote, PollFlags::IN)];
        watched.extend(serving.iter().map(|child| PollFd::new(child, PollFlags::IN)));
        // When too many are served, the engine is heard again after one of them has ended. They all do soon.
        if serving.len() < SERVED {
            watched.push(PollFd::new(engine, PollFlags::IN));
        }
        match poll(&mut watched, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).or_fault("helper", "poll", ""),
        }
        let spoke = serving.len() < SERVED
            && watched.last().is_some_and(|engine| !engine.revents().is_empty());
        drop(watched);
        if reap(zygote).or_fault("helper", "waitid", "")?.is_some() {
            return Ok(());
        }
        serving.retain(|child| matches!(reap(child), Ok(None)));
        if spoke && !serve(engine, users, &mut serving) {
            pidfd_send_signal(zygote, Signal::KILL).or_fault("helper", "pidfd_send_signal", "")?;
            // Killed and not reaped yet: wait for it alone.
            let mut last = [PollFd::new(zygote, PollFlags::IN)];
            poll(&mut last, None).or_fault("helper", "poll", "")?;
        }
    }
}

/// Serves one request of the engine; false if the engine is gone. One that cannot be served is dropped with
/// its descriptors, and the engine sees that nobody answers.
fn serve(engine: &OwnedFd, users: Option<&OwnedFd>, serving: &mut Vec<OwnedFd>) -> bool {
    let Ok(Some((request, descriptors))) = control::receive::<HandIn>(engine) else { return false };
    if let Some(users) = users {
        serving.extend(hand_in::serve(users.as_fd(), &request, descriptors));
    }
    true
}
