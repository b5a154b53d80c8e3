//! Hands files into a sealed jar in full walls, between its sealing and its job.
//!
//! A jar that stands waiting was sealed before anybody knew what its run would read, and cannot mount. So a
//! child of the helper mounts into it. It serves one request: it enters the user namespace of the
//! zygote, where alone it has capabilities, does what the request says, answers and ends. It is in no pid
//! namespace that a jar can see. No guest code has run in the jar yet.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use carboy_protocol::SetupFault;
use carboy_sys::{MountFlags, mount_setattr};
use rustix::fs::{CWD, Mode, OFlags, openat, symlinkat};
use rustix::mount::{
    FsPickFlags, MountAttrFlags, OpenTreeFlags, fsconfig_reconfigure, fsconfig_set_string, fspick,
    open_tree,
};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{
    LinkNameSpaceType, ThreadNameSpaceType, move_into_link_name_space, move_into_thread_name_spaces,
};

use crate::fault::{OrFault, fault};
use crate::plan::{Given, GivenSource, HandIn, HostSource};
use crate::{control, given, identity, root};

const LAYER: &str = "hand in";
/// How long handing in may take, in seconds, before the kernel ends whoever does it: a file system that
/// does not answer holds up nobody else.
const MOST: u32 = 8;
const READ_ONLY: MountFlags =
    MountFlags { read_only: true, no_suid: true, no_dev: true, no_exec: true };

/// A request has come: from here on the kernel ends this process soon, whatever it waits for.
pub(crate) fn begin() {
    carboy_sys::end_after(MOST);
}

/// Serves one request, in a process of its own, which ends afterwards: whoever asked goes on as soon as it is
/// answered. `descriptors` are the jar's pidfd, the socket for the answer, and a file with the bytes that are
/// given, if any are.
pub(crate) fn serve(
    users: BorrowedFd<'_>,
    request: &HandIn,
    descriptors: Vec<OwnedFd>,
) -> io::Result<()> {
    let mut descriptors = descriptors.into_iter();
    // Otherwise whoever asked sees that nobody answers.
    let (Some(jar), Some(answer)) = (descriptors.next(), descriptors.next()) else { return Ok(()) };
    let mut copy = None;
    let done = hand_in(users, request, jar.as_fd(), descriptors.next(), &mut copy);
    // The last thing that is done: nothing here touches the jar any more.
    control::send(&answer, &done, &[])
}

/// Everything in order, one step a line. `copy` is for what is taken down only when this process ends.
fn hand_in(
    users: BorrowedFd<'_>,
    request: &HandIn,
    jar: BorrowedFd<'_>,
    bytes: Option<OwnedFd>,
    copy: &mut Option<OwnedFd>,
) -> Result<(), SetupFault> {
    let take_all =
        || request.given.iter().map(take).collect::<Result<Vec<Option<OwnedFd>>, SetupFault>>();
    // Root reaches what lies below another user's home, and in a user namespace it does not. Where root may
    // not take mounts, it tries again below, and says what it cannot reach.
    let taken = request.identity.step_down.then(|| take_all().ok()).flatten();
    // From here on this process has no right on the host beyond those of its user.
    move_into_link_name_space(users, Some(LinkNameSpaceType::User)).or_fault(
        LAYER,
        "setns",
        "user namespace",
    )?;
    // The change of namespace took it back.
    die_with_helper()?;
    let trees = match taken {
        Some(trees) => trees,
        None => {
            // A tree can be taken only from a namespace that one may mount in, and this copy is ours.
            let copied = carboy_sys::unshare_mount_namespace();
            copied.or_fault(LAYER, "unshare", "mount namespace")?;
            let trees = take_all()?;
            // Leaving it would take it down, and that takes long. If it cannot be held, it takes that long.
            *copy =
                openat(CWD, "/proc/self/ns/mnt", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
                    .ok();
            trees
        }
    };
    // Before the first file is made, so that all of it belongs to the jar's user.
    identity::become_planned(&request.identity)?;
    die_with_helper()?;
    // After this the host's tree is gone. Nothing in the jar runs that could change its tree meanwhile.
    move_into_thread_name_spaces(jar, ThreadNameSpaceType::MOUNT).or_fault(
        LAYER,
        "setns",
        "mount namespace of the jar",
    )?;
    mount(&request.given, trees, bytes.map(File::from))?;
    link(request)?;
    // Last, as the jar's user and where the jar will look.
    check_readable(&request.given)
}

/// Ends this process with the helper.
pub(crate) fn die_with_helper() -> Result<(), SetupFault> {
    let signal = Some(Signal::KILL);
    set_parent_process_death_signal(signal).or_fault(LAYER, "prctl", "PR_SET_PDEATHSIG")
}

/// A read-only clone of what is given, if it is of the host. A directory comes with what is mounted below
/// it: the kernel does not let anybody look below a mount that somebody else made.
fn take(given: &Given) -> Result<Option<OwnedFd>, SetupFault> {
    let GivenSource::Host(source) = &given.source else { return Ok(None) };
    let found = given::open(source)?;
    let mut flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH;
    if source.directory {
        flags |= OpenTreeFlags::AT_RECURSIVE;
    }
    let object = source.path.display();
    let tree = open_tree(&found, "", flags).or_fault(LAYER, "open_tree", &object)?;
    mount_setattr(&tree, READ_ONLY).or_fault(LAYER, "mount_setattr", object)?;
    Ok(Some(tree))
}

/// Where a folder of the jar lies in its mount namespace.
fn below_root(folder: &Path) -> PathBuf {
    root::in_namespace(folder)
}

/// Puts everything into its folder.
fn mount(
    given: &[Given],
    trees: Vec<Option<OwnedFd>>,
    mut bytes: Option<File>,
) -> Result<(), SetupFault> {
    let mut trees = trees.into_iter();
    for all in given.chunk_by(|one, next| one.folder == next.folder) {
        let folder = below_root(&all[0].folder);
        if all[0].below.as_os_str().is_empty() {
            // The folder itself is what was given, and nothing else can be in it.
            if let Some(tree) = trees.next().flatten() {
                root::attach(LAYER, tree, CWD, &folder)?;
            }
            continue;
        }
        let place = fresh(all)?;
        root::attach(LAYER, &place, CWD, &folder)?;
        for (one, tree) in all.iter().zip(&mut trees) {
            let parent = one.below.parent().unwrap_or(Path::new(""));
            root::make_directories(&place, parent)?;
            match (&one.source, tree) {
                (GivenSource::Bytes { start, length }, _) => {
                    let content = read(bytes.as_mut(), *start, *length)?;
                    root::write_file(LAYER, &place, &one.below, &content)?;
                }
                (GivenSource::Host(source), Some(tree)) => {
                    if source.directory {
                        root::make_directories(&place, &one.below)?;
                    } else {
                        root::write_file(LAYER, &place, &one.below, b"")?;
                    }
                    root::attach(LAYER, tree, &place, &one.below)?;
                }
                (GivenSource::Host(_), None) => {
                    return Err(fault(
                        LAYER,
                        "open_tree",
                        one.below.display(),
                        "nothing was taken",
                    ));
                }
            }
        }
        mount_setattr(&place, READ_ONLY).or_fault(LAYER, "mount_setattr", folder.display())?;
    }
    Ok(())
}

/// A file system in memory with room for exactly these.
fn fresh(all: &[Given]) -> Result<OwnedFd, SetupFault> {
    let page = rustix::param::page_size() as u64;
    let pages = all.iter().map(|one| match one.source {
        GivenSource::Bytes { length, .. } => length.div_ceil(page),
        GivenSource::Host(_) => 0,
    });
    let size = (page * (1 + pages.sum::<u64>())).to_string();
    let names: usize = all.iter().map(|one| one.below.components().count()).sum();
    let inodes = (1 + names).to_string();
    let options = [("size", size.as_str()), ("nr_inodes", inodes.as_str()), ("mode", "0755")];
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    root::memory(LAYER, &options, attributes)
}

fn read(bytes: Option<&mut File>, start: u64, length: u64) -> Result<Vec<u8>, SetupFault> {
    let Some(bytes) = bytes else {
        return Err(fault(LAYER, "recvmsg", "bytes", "none came"));
    };
    let mut content = Vec::new();
    bytes.seek(SeekFrom::Start(start)).or_fault(LAYER, "lseek", start)?;
    bytes.take(length).read_to_end(&mut content).or_fault(LAYER, "read", "bytes")?;
    if content.len() as u64 != length {
        return Err(fault(LAYER, "read", "bytes", "there are fewer"));
    }
    Ok(content)
}

/// Makes the links of the working directory, and the file system larger by them: they are not the guest's.
fn link(request: &HandIn) -> Result<(), SetupFault> {
    if request.links.is_empty() {
        return Ok(());
    }
    let jar = below_root(Path::new("/jar"));
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let jar = openat(CWD, &jar, flags, Mode::empty()).or_fault(LAYER, "open", jar.display())?;
    let flags = FsPickFlags::FSPICK_CLOEXEC | FsPickFlags::FSPICK_EMPTY_PATH;
    let context = fspick(&jar, "", flags).or_fault(LAYER, "fspick", "/jar")?;
    let inodes = request.inodes.to_string();
    fsconfig_set_string(&context, "nr_inodes", inodes.as_str()).or_fault(
        LAYER,
        "fsconfig",
        format!("nr_inodes={inodes}"),
    )?;
    fsconfig_reconfigure(&context).or_fault(LAYER, "fsconfig", "reconfigure")?;
    for link in &request.links {
        let made = symlinkat(&link.target, &jar, &link.path);
        made.or_fault(LAYER, "symlink", link.path.display())?;
    }
    Ok(())
}

fn check_readable(given: &[Given]) -> Result<(), SetupFault> {
    for one in given {
        if let GivenSource::Host(source) = &one.source {
            check_one(one, source)?;
        }
    }
    Ok(())
}

fn check_one(one: &Given, source: &HostSource) -> Result<(), SetupFault> {
    given::check_readable(source, &below_root(&one.folder).join(&one.below))
}
