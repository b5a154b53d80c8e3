//! The writable directories of a jar, and the file system in memory that they lie on.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use carboy_protocol::SetupFault;
use carboy_sys::{MountFlags, mount_setattr};
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat, symlinkat};
use rustix::mount::MountAttrFlags;
use rustix::process::{chdir, getcwd};

use crate::fault::{OrFault, expect};
use crate::plan::{About, JarDirectory, SHARED_MEMORY};
use crate::root;

/// The directories of a jar's file system that can be written, in the order in which they are shown.
const DIRECTORIES: [&str; 3] = ["jar", "tmp", "shm"];
const LAYER: &str = "jar directory";

/// How many inodes a jar's file system uses itself: its root, its directories and what tells of it.
pub fn own_inodes(about: &About) -> u64 {
    let folders = folders(about).count();
    (1 + DIRECTORIES.len() + folders + about.files.len() + about.links.len()) as u64
}

/// How many bytes a jar's file system uses itself: each of its own files takes whole pages.
fn own_bytes(about: &About) -> u64 {
    let page = rustix::param::page_size() as u64;
    about.files.iter().map(|file| (file.text.len() as u64).next_multiple_of(page)).sum()
}

/// The folders in which generated files lie, each once. Files of one folder follow each other.
fn folders(about: &About) -> impl Iterator<Item = &Path> {
    let mut last = Path::new("");
    about.files.iter().filter_map(move |file| {
        let folder = file.path.parent().unwrap_or(Path::new(""));
        let is_new = folder != last;
        last = folder;
        (is_new && folder != Path::new("")).then_some(folder)
    })
}

/// Where a jar can write.
pub(crate) struct Writable {
    /// Its working directory.
    pub jar: PathBuf,
    /// Its temporary directory.
    pub tmp: PathBuf,
    /// Where shared memory has its names, if it can have any.
    pub shared: Option<PathBuf>,
    /// A descriptor of the working directory, for the engine.
    pub descriptor: OwnedFd,
}

impl Writable {
    /// Every directory that can be written.
    pub fn all(&self) -> Vec<&Path> {
        [&self.jar, &self.tmp].into_iter().chain(&self.shared).map(PathBuf::as_path).collect()
    }
}

/// Makes the jar's directories and goes to the first of them.
pub(crate) fn prepare(directory: &JarDirectory) -> Result<Writable, SetupFault> {
    let (jar, tmp, shared) = match directory {
        JarDirectory::Memory { bytes, inodes, temporary, about } => {
            in_memory(*bytes, *inodes, temporary, about)?;
            (PathBuf::from("/jar"), temporary.clone(), Some(SHARED_MEMORY.into()))
        }
        JarDirectory::Host { path } => (path.join("jar"), path.join("tmp"), None),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let descriptor = openat(CWD, &jar, flags, Mode::empty());
    let descriptor = descriptor.or_fault(LAYER, "open", jar.display())?;
    chdir(&jar).or_fault(LAYER, "chdir", jar.display())?;
    let cwd = getcwd(Vec::new()).or_fault(LAYER, "getcwd", "")?;
    expect(LAYER, "current directory", cwd.to_bytes(), jar.as_os_str().as_encoded_bytes())?;
    Ok(Writable { jar, tmp, shared, descriptor })
}

/// One file system of bounded size for all directories, so that the bounds hold for their sum. What
/// tells of the jar lies beside them, where it can only be read.
fn in_memory(bytes: u64, inodes: u64, temporary: &Path, about: &About) -> Result<(), SetupFault> {
    // On top, so that the guest has the whole of its limit.
    let size = bytes.saturating_add(own_bytes(about)).to_string();
    let inodes = inodes.saturating_add(own_inodes(about)).to_string();
    let options = [("size", size.as_str()), ("nr_inodes", inodes.as_str()), ("mode", "0700")];
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let tree = root::memory(LAYER, &options, attributes)?;
    for name in DIRECTORIES {
        mkdirat(&tree, name, Mode::RWXU).or_fault(LAYER, "mkdir", name)?;
    }
    for folder in folders(about) {
        mkdirat(&tree, folder, Mode::RWXU).or_fault(LAYER, "mkdir", folder.display())?;
    }
    for file in &about.files {
        root::write_file(LAYER, &tree, &file.path, file.text.as_bytes())?;
    }
    for link in &about.links {
        symlinkat(&link.target, &tree, &link.path).or_fault(
            LAYER,
            "symlink",
            link.path.display(),
        )?;
    }
    // Older kernels clone only attached trees, so the file system is attached before its pieces.
    root::attach(LAYER, &tree, CWD, &about.place)?;
    let targets = [Path::new("/jar"), temporary, Path::new(SHARED_MEMORY)];
    for (name, target) in DIRECTORIES.into_iter().zip(targets) {
        root::attach(LAYER, root::piece(LAYER, &about.place.join(name))?, CWD, target)?;
    }
    // After the pieces, which stay writable.
    let flags = MountFlags { read_only: true, no_suid: true, no_dev: true, no_exec: true };
    mount_setattr(&tree, flags).or_fault(LAYER, "mount_setattr", about.place.display())
}
