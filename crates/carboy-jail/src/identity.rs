//! The user, the group and the namespaces of a zygote and its jars.

use std::fs;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use carboy_protocol::SetupFault;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{Gid, Uid, getegid, geteuid};
use rustix::thread::{
    set_keep_capabilities, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

use crate::fault::{OrFault, expect, fault};
use crate::plan::Identity;

const USER_NAMESPACE: &str = "user namespace";
const IDENTITY: &str = "identity";

/// Leaves the caller's supplementary groups. Only root can, and only root needs to: an ordinary
/// user's groups are unmapped in the namespace it creates, and grant nothing there.
pub(crate) fn leave_groups(identity: &Identity) -> Result<(), SetupFault> {
    if identity.step_down {
        set_thread_groups(&[]).or_fault(IDENTITY, "setgroups", "none")?;
    }
    Ok(())
}

/// Writes the user and group maps of the child `pid`, from outside its namespace.
pub(crate) fn write_maps(identity: &Identity, pid: i32) -> Result<(), SetupFault> {
    let write = |file: &str, text: String| {
        let path = format!("/proc/{pid}/{file}");
        fs::write(&path, &text).or_fault(USER_NAMESPACE, file, text.trim())
    };
    write("setgroups", "deny".into())?;
    write("uid_map", format!("{} {} 1\n", identity.inner_uid, identity.outer_uid))?;
    write("gid_map", format!("{} {} 1\n", identity.inner_gid, identity.outer_gid))
}

/// Checks, from outside, that the child `pid` has its own namespaces.
pub(crate) fn check_namespaces(pid: i32) -> Result<(), SetupFault> {
    for kind in ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"] {
        let link = |who: &str| {
            fs::read_link(format!("/proc/{who}/ns/{kind}")).or_fault("namespaces", "readlink", kind)
        };
        if link("self")? == link(&pid.to_string())? {
            return Err(fault("namespaces", "read back", kind, "still the namespace of the host"));
        }
    }
    Ok(())
}

/// The user namespace of the child `pid`.
pub(crate) fn user_namespace(pid: i32) -> Result<OwnedFd, SetupFault> {
    let path = format!("/proc/{pid}/ns/user");
    let opened = openat(CWD, &path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    opened.or_fault(USER_NAMESPACE, "open", path)
}

/// Forbids user namespaces below this one: a second layer behind the system-call filter.
///
/// In a container that cannot be written. There the root, which is not that of a namespace, forbids them
/// alone; [`check_user_namespaces`] tries in each jar.
pub(crate) fn forbid_user_namespaces() -> Result<(), SetupFault> {
    let path = "/proc/sys/user/max_user_namespaces";
    match fs::write(path, "0") {
        Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => Ok(()),
        other => other.or_fault(USER_NAMESPACE, "write", path),
    }
}

/// Checks that no user namespace can be made, before the filter forbids to try.
pub(crate) fn check_user_namespaces() -> Result<(), SetupFault> {
    let is_refused = carboy_sys::unshare_user_namespace().is_err();
    expect(USER_NAMESPACE, "another one is refused", is_refused, true)
}

/// Switches to the user and group that the plan names, and keeps capabilities.
pub(crate) fn become_planned(identity: &Identity) -> Result<(), SetupFault> {
    let (uid, gid) = (Uid::from_raw(identity.inner_uid), Gid::from_raw(identity.inner_gid));
    set_keep_capabilities(true).or_fault(IDENTITY, "prctl", "PR_SET_KEEPCAPS")?;
    set_thread_res_gid(gid, gid, gid).or_fault(IDENTITY, "setresgid", gid.as_raw())?;
    set_thread_res_uid(uid, uid, uid).or_fault(IDENTITY, "setresuid", uid.as_raw())?;
    set_keep_capabilities(false).or_fault(IDENTITY, "prctl", "PR_SET_KEEPCAPS")?;
    expect(IDENTITY, "uid and gid", (geteuid(), getegid()), (uid, gid))
}

/// Waits until the parent has written the maps.
pub(crate) fn wait_for_maps(go: BorrowedFd<'_>) -> Result<(), SetupFault> {
    let mut byte = [0];
    match rustix::io::read(go, &mut byte).or_fault(USER_NAMESPACE, "read", "go")? {
        1 => Ok(()),
        _ => Err(fault(USER_NAMESPACE, "read", "go", "the helper has exited")),
    }
}
