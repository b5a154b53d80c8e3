//! The private root: read-only pieces of the host on a small file system in memory.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use carboy_protocol::SetupFault;
use carboy_sys::{MountFlags, mount_setattr};
use rustix::fs::{CWD, Mode, OFlags, StatVfsMountFlags, mkdirat, openat, symlinkat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen,
    mount_change, move_mount, open_tree, unmount,
};
use rustix::process::{chroot, fchdir, getcwd, pivot_root};

use crate::fault::{OrFault, expect, fault};
use crate::plan::{Mount, MountKind, SHARED_MEMORY, ZygotePlan};

const LAYER: &str = "private root";
/// Room in the new root for generated files.
const GENERATED: usize = 1 << 20;
/// Where the new root is attached until it becomes the root.
const STAGE: &str = "/tmp";
/// Where the root of jars lies in that of their namespace.
const BELOW: &str = "root";

/// Where a path of the jars' root lies in their mount namespace, whose root is not theirs.
pub(crate) fn in_namespace(path: &Path) -> PathBuf {
    let path = path.strip_prefix("/").unwrap_or(path);
    Path::new("/").join(BELOW).join(path)
}

/// Opens every source while the process still has the caller's rights and file tree.
pub(crate) fn take_sources(mounts: &[Mount]) -> Result<Vec<OwnedFd>, SetupFault> {
    let take = |mount: &Mount| {
        let object = mount.source.display();
        let mut flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        if mount.kind == MountKind::Directory {
            flags |= OpenTreeFlags::AT_RECURSIVE;
        }
        let tree = open_tree(CWD, &mount.source, flags).or_fault(LAYER, "open_tree", &object)?;
        let flags = MountFlags {
            read_only: true,
            no_suid: true,
            no_dev: mount.kind != MountKind::Device,
            no_exec: mount.kind == MountKind::Device,
        };
        mount_setattr(&tree, flags).or_fault(LAYER, "mount_setattr", object)?;
        Ok(tree)
    };
    mounts.iter().map(take).collect()
}

/// Makes a file system in memory, not yet attached anywhere.
pub(crate) fn memory(
    layer: &str,
    options: &[(&str, &str)],
    attributes: MountAttrFlags,
) -> Result<OwnedFd, SetupFault> {
    let context =
        fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC).or_fault(layer, "fsopen", "tmpfs")?;
    for (key, value) in options {
        fsconfig_set_string(context.as_fd(), *key, *value).or_fault(
            layer,
            "fsconfig",
            format!("{key}={value}"),
        )?;
    }
    fsconfig_create(context.as_fd()).or_fault(layer, "fsconfig", "create")?;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
        .or_fault(layer, "fsmount", "tmpfs")
}

/// Attaches a detached tree at `target`, below `root`.
pub(crate) fn attach(
    layer: &str,
    tree: impl AsFd,
    root: impl AsFd,
    target: &Path,
) -> Result<(), SetupFault> {
    move_mount(tree, "", root, target, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH).or_fault(
        layer,
        "move_mount",
        target.display(),
    )
}

/// Builds the root out of `trees` and makes it the root of this process.
pub(crate) fn assemble(
    plan: &ZygotePlan,
    library: &[u8],
    trees: Vec<OwnedFd>,
) -> Result<(), SetupFault> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).or_fault(
        LAYER,
        "mount",
        "/, private",
    )?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    // The root of the mount namespace holds nothing but the place of the jars' root. To the kernel they are
    // chrooted below it, and who is chrooted can make no user namespace.
    let options = [("size", "4k"), ("nr_inodes", "4"), ("mode", "0755")];
    let bottom = memory(LAYER, &options, attributes | MountAttrFlags::MOUNT_ATTR_NOEXEC)?;
    attach(LAYER, &bottom, CWD, Path::new(STAGE))?;
    make_directories(&bottom, Path::new(BELOW))?;
    let size = (library.len() + GENERATED).to_string();
    let options = [("size", size.as_str()), ("nr_inodes", "1024"), ("mode", "0755")];
    let root = memory(LAYER, &options, attributes)?;
    attach(LAYER, &root, &bottom, Path::new(BELOW))?;
    make_directories(&root, Path::new("jar"))?;
    make_directories(&root, &inside(Path::new(SHARED_MEMORY))?)?;
    for folder in &plan.folders {
        make_directories(&root, &inside(folder)?)?;
    }
    if let Some(temporary) = &plan.temporary {
        make_directories(&root, &inside(temporary)?)?;
    }
    for (mount, tree) in plan.mounts.iter().zip(trees) {
        let target = inside(&mount.target)?;
        match mount.kind {
            MountKind::Directory => make_directories(&root, &target)?,
            MountKind::File | MountKind::Device => make_file(&root, &target)?,
        }
        attach(LAYER, tree, &root, &target)?;
    }
    // Many lie in the same few directories, which are made once.
    let mut made = BTreeSet::new();
    let mut make_parent = |path: &Path| match path.parent() {
        Some(parent) if made.insert(parent.to_path_buf()) => make_directories(&root, parent),
        _ => Ok(()),
    };
    let texts = plan.files.iter().map(|file| (&file.path, file.text.as_bytes()));
    for (path, content) in texts.chain(plan.library.iter().map(|path| (path, library))) {
        let path = inside(path)?;
        make_parent(&path)?;
        write_file(LAYER, &root, &path, content)?;
    }
    for link in &plan.links {
        let path = inside(&link.path)?;
        make_parent(&path)?;
        match symlinkat(&link.target, &root, &path) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error).or_fault(LAYER, "symlink", path.display()),
        }
    }
    let staged = openat(CWD, STAGE, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    fchdir(staged.or_fault(LAYER, "open", STAGE)?).or_fault(LAYER, "fchdir", STAGE)?;
    pivot_root(".", ".").or_fault(LAYER, "pivot_root", STAGE)?;
    unmount(".", UnmountFlags::DETACH).or_fault(LAYER, "umount", "the host's root")?;
    // With everything below it, the jars' root included.
    let flags = MountFlags { read_only: true, no_suid: true, no_dev: false, no_exec: false };
    mount_setattr(&bottom, flags).or_fault(LAYER, "mount_setattr", "/")?;
    fchdir(&root).or_fault(LAYER, "fchdir", "/")?;
    chroot(".").or_fault(LAYER, "chroot", "/")?;
    if let Some(temporary) = &plan.temporary {
        let options = [("size", "16m"), ("nr_inodes", "4096"), ("mode", "0700")];
        let tree = memory(LAYER, &options, attributes | MountAttrFlags::MOUNT_ATTR_NOEXEC)?;
        attach(LAYER, tree, CWD, temporary)?;
    }
    check()
}

/// Checks that the root is what was built: read-only, and the current directory inside it.
pub(crate) fn check() -> Result<(), SetupFault> {
    let cwd = getcwd(Vec::new()).or_fault(LAYER, "getcwd", "")?;
    if !cwd.to_bytes().starts_with(b"/") {
        return Err(fault(LAYER, "getcwd", "", "outside the root"));
    }
    expect(LAYER, "/ is read-only", is_read_only("/")?, true)
}

pub(crate) fn is_read_only(path: &str) -> Result<bool, SetupFault> {
    let found = rustix::fs::statvfs(path).or_fault(LAYER, "statvfs", path)?;
    Ok(found.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// A path below the root as one relative to it.
fn inside(path: &Path) -> Result<PathBuf, SetupFault> {
    use std::path::Component;
    let relative = path.strip_prefix("/").map(Path::to_path_buf);
    let relative = relative.map_err(|_| fault(LAYER, "plan", path.display(), "not absolute"))?;
    if relative.components().any(|part| !matches!(part, Component::Normal(_))) {
        return Err(fault(LAYER, "plan", path.display(), "not a plain path"));
    }
    Ok(relative)
}

pub(crate) fn make_directories(root: &OwnedFd, path: &Path) -> Result<(), SetupFault> {
    let mut made = PathBuf::new();
    for part in path.components() {
        made.push(part);
        match mkdirat(root, &made, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            // Inside a read-only mount of the host: it exists, or attaching below it will fail.
            Err(Errno::ROFS) => {}
            Err(error) => return Err(error).or_fault(LAYER, "mkdir", made.display()),
        }
    }
    Ok(())
}

fn make_file(root: &OwnedFd, path: &Path) -> Result<(), SetupFault> {
    make_directories(root, path.parent().unwrap_or(Path::new("")))?;
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match openat(root, path, flags, Mode::from_raw_mode(0o444)) {
        Ok(_) | Err(Errno::ROFS | Errno::EXIST | Errno::ACCESS) => Ok(()),
        Err(error) => Err(error).or_fault(LAYER, "create", path.display()),
    }
}

/// Makes a file that did not exist, with its content.
pub(crate) fn write_file(
    layer: &str,
    folder: &OwnedFd,
    path: &Path,
    content: &[u8],
) -> Result<(), SetupFault> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let made = openat(folder, path, flags, Mode::from_raw_mode(0o444));
    let mut made = std::fs::File::from(made.or_fault(layer, "create", path.display())?);
    made.write_all(content).or_fault(layer, "write", path.display())
}

/// A clone of the directory at `path`, to be attached elsewhere.
pub(crate) fn piece(layer: &str, path: &Path) -> Result<OwnedFd, SetupFault> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    open_tree(CWD, path, flags).or_fault(layer, "open_tree", path.display())
}
