//! The two entries: how a helper becomes a zygote, and how a fork of the zygote becomes a jar.
//!
//! Each is one function, one step a line. The order matters; a comment beside each step says why it
//! is where it is.

use std::convert::Infallible;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use carboy_protocol::{SetupFault, Walls};
use carboy_sys::{fds, seccomp};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{
    DumpableBehavior, Signal, dumpable_behavior, getegid, geteuid, getpid,
    parent_process_death_signal, set_dumpable_behavior, set_parent_process_death_signal, setsid,
};
use serde::{Deserialize, Serialize};

use crate::fault::{OrFault, expect};
use crate::files::{self, Writable};
use crate::limits::{Resource, Rlimit};
use crate::plan::{JarPlan, JarWalls, SECCOMP_FD, ZYGOTE_CONTROL_FD, ZYGOTE_SCORE_FD, ZygotePlan};
use crate::rank::OomScore;
use crate::{control, identity, landlock, library, limits, privileges, rank, root};

/// Builds the walls of a zygote around this process and becomes its interpreter. `taken` are the sources of its
/// mounts, if the helper has taken them already.
pub(crate) fn enter(
    plan: &ZygotePlan,
    library: &[u8],
    taken: Option<Vec<OwnedFd>>,
    go: BorrowedFd<'_>,
    control: BorrowedFd<'_>,
) -> Result<Infallible, SetupFault> {
    // Until the maps are written this process has no valid user, and can create nothing.
    identity::wait_for_maps(go)?;
    // While /proc is still there, and before a change of identity takes away the right to open it.
    let score = OomScore::open()?;
    score.apply(plan.oom_score_adj)?;
    let nameless = if plan.walls == Walls::Full {
        // With the caller's own rights, if the helper did not take them with root's.
        let trees = taken.map_or_else(|| root::take_sources(&plan.mounts), Ok)?;
        // While /proc is still there, and before anything else can make a namespace.
        identity::forbid_user_namespaces()?;
        // Before the first file is made, so that all of it belongs to the jar's user.
        identity::become_planned(&plan.identity)?;
        // After this the host's tree is gone.
        root::assemble(plan, library, trees)?;
        // Needs CAP_SYS_ADMIN. The name belongs to the namespace, so it is set with the root.
        rustix::system::sethostname(plan.hostname.as_bytes()).or_fault(
            "host name",
            "sethostname",
            &plan.hostname,
        )?;
        // Last of what needs capabilities: all but the two that forking jars takes.
        privileges::keep_zygote()?;
        None
    } else {
        // While root may still do it.
        privileges::empty_bounding_set()?;
        // There is no user namespace: switch users on the host itself, if this is root.
        if plan.identity.step_down {
            identity::become_planned(&plan.identity)?;
        }
        privileges::drop_all()?;
        // There is no private root that it could lie in.
        Some(library::in_memory(library)?)
    };
    // Before exec, so that no set-user-id file or file capability can restore anything.
    privileges::forbid_gains()?;
    limits::apply(&[Rlimit { resource: Resource::Core, value: 0 }])?;
    // After the last change of identity, which resets it: nothing outlives the helper.
    die_with_parent()?;
    setsid().or_fault("session", "setsid", "")?;
    carboy_sys::default_signals().or_fault("session", "sigaction", "defaults")?;
    // Descriptors last: each at its fixed number, all others gone at exec.
    fds::place(control, ZYGOTE_CONTROL_FD).or_fault("descriptors", "dup2", "control")?;
    score.leave()?;
    fds::close_from_at_exec(ZYGOTE_SCORE_FD as u32 + 1).or_fault(
        "descriptors",
        "close_range",
        "",
    )?;
    if let Some(nameless) = &nameless {
        library::leave(nameless)?;
    }
    let error = Command::new(&plan.program)
        .args(&plan.arguments)
        .env_clear()
        .envs(plan.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .exec();
    Err(error).or_fault("interpreter", "exec", plan.program.display())
}

/// What the kernel showed of a jar's walls right before its system-call filter was loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealReport {
    /// The jar's id in its own pid namespace.
    pub pid: i32,
    /// The user inside.
    pub uid: u32,
    /// The root is read-only and private.
    pub private_root: bool,
    /// The host name inside.
    pub hostname: String,
    /// The Landlock version enforced.
    pub landlock_abi: u32,
    /// The jar's working directory.
    pub directory: PathBuf,
    /// Its temporary directory.
    pub temporary: PathBuf,
}

/// Seals this process, a fresh fork of a zygote, into a jar.
///
/// `ends` become descriptors 1 to 5; every other descriptor is closed. The last of them is a socket to
/// the engine: it carries the result, with the jar's listener and directory, and closing it means that
/// the jar is sealed. After this returns, only what the profile allows can be called.
pub fn seal(walls: &JarWalls, plan: &JarPlan, ends: [BorrowedFd<'_>; 5]) -> Result<(), SetupFault> {
    // Descriptors first: nothing of the zygote's stays open, and what is opened from here on is
    // the jar's own.
    place(ends)?;
    let word = fds::inherited(SECCOMP_FD).or_fault("descriptors", "fcntl", "last word")?;
    match confine(walls, plan) {
        // The filter is loaded already. It allows this call and the next ones until the second filter.
        Ok((report, listener, directory)) => {
            tell(&word, Ok(report), &[listener.as_fd(), directory.as_fd()])?;
            // If it fails there is no second filter, and the engine finds that out.
            limits::apply_open_files(&plan.rlimits)?;
            // Last: the second filter revokes the calls that only sealing needed.
            seccomp::load(&walls.closing).or_fault("seccomp", "seccomp", "closing")
        }
        Err(fault) => {
            tell(&word, Err(fault.clone()), &[])?;
            Err(fault)
        }
    }
}

/// Every layer of a jar, in order, up to the system-call filter.
fn confine(walls: &JarWalls, plan: &JarPlan) -> Result<(SealReport, OwnedFd, OwnedFd), SetupFault> {
    // A new one: status flags belong to the open file description, which forks would share.
    open_standard_input()?;
    // Nothing outlives the zygote. In full walls the pid namespace ensures that as well.
    die_with_parent()?;
    setsid().or_fault("session", "setsid", "")?;
    // Before the filter forbids it. All threads and children of the guest inherit it.
    rank::yield_processor(walls.nice)?;
    // Needs CAP_SYS_ADMIN; after this there is no mount left to make.
    let writable = files::prepare(&plan.directory)?;
    // Before capabilities go: lowering needs none, and nothing can raise a limit afterwards.
    limits::apply(&plan.rlimits)?;
    match walls.walls {
        Walls::Full => privileges::drop_zygote()?,
        Walls::Nested => privileges::drop_all()?,
    }
    privileges::forbid_gains()?;
    // No other process of the same user can look into this one.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).or_fault(
        "memory",
        "prctl",
        "PR_SET_DUMPABLE",
    )?;
    // Needs no_new_privs, and must precede the filter that forbids its calls.
    landlock::restrict(&walls.landlock, &plan.given, &writable.all())?;
    // Everything is read back while reading is still allowed.
    let report = read_back(walls, &writable)?;
    // From here on the filter allows almost nothing.
    let listener = seccomp::load_with_listener(&walls.program).or_fault(
        "seccomp",
        "seccomp",
        &walls.profile,
    )?;
    Ok((report, listener, writable.descriptor))
}

/// Reports to the engine: the jar's last word.
fn tell(
    word: &OwnedFd,
    said: Result<SealReport, SetupFault>,
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), SetupFault> {
    control::send_patiently(word, &said, descriptors).or_fault("seal", "sendmsg", "last word")
}

fn die_with_parent() -> Result<(), SetupFault> {
    let signal = Some(Signal::KILL);
    set_parent_process_death_signal(signal).or_fault("fork", "prctl", "PR_SET_PDEATHSIG")?;
    expect("fork", "PR_GET_PDEATHSIG", parent_process_death_signal().ok(), Some(signal))
}

/// Moves the ends to their fixed numbers and closes everything else.
fn place(ends: [BorrowedFd<'_>; 5]) -> Result<(), SetupFault> {
    // No end is overwritten before it is copied: the zygote keeps 0 to 5 in use, so all ends have
    // higher numbers.
    for (number, end) in (1..).zip(ends) {
        fds::place(end, number).or_fault("descriptors", "dup2", number)?;
    }
    fds::close_from(SECCOMP_FD as u32 + 1).or_fault("descriptors", "close_range", "")
}

/// Puts `/dev/null` at descriptor 0, in place of the zygote's.
fn open_standard_input() -> Result<(), SetupFault> {
    let null = openat(CWD, "/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    let null = null.or_fault("descriptors", "open", "/dev/null")?;
    fds::place(null, 0).or_fault("descriptors", "dup2", 0)
}

fn read_back(walls: &JarWalls, writable: &Writable) -> Result<SealReport, SetupFault> {
    let identity = &walls.identity;
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    expect("identity", "uid and gid", (uid, gid), (identity.inner_uid, identity.inner_gid))?;
    let dumpable = dumpable_behavior().or_fault("memory", "prctl", "PR_GET_DUMPABLE")?;
    expect("memory", "dumpable", dumpable, DumpableBehavior::NotDumpable)?;
    let hostname = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let pid = getpid().as_raw_pid();
    let full = walls.walls == Walls::Full;
    if full {
        expect("namespaces", "pid", pid, 1)?;
        expect("host name", "nodename", hostname.as_str(), &walls.hostname)?;
        root::check()?;
        identity::check_user_namespaces()?;
    }
    Ok(SealReport {
        pid,
        uid,
        private_root: full && root::is_read_only("/")?,
        hostname: if full { hostname } else { String::new() },
        landlock_abi: walls.landlock.abi,
        directory: writable.jar.clone(),
        temporary: writable.tmp.clone(),
    })
}
