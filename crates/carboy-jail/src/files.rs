//! The writable directories of a jar.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use carboy_protocol::SetupFault;
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::mount::MountAttrFlags;
use rustix::process::{chdir, getcwd};

use crate::fault::{OrFault, expect};
use crate::plan::JarDirectory;
use crate::root;

/// How many inodes a jar's file system uses itself: its root and its two directories.
pub const JAR_DIRECTORY_INODES: u64 = 3;
const LAYER: &str = "jar directory";

/// Where a jar can write.
pub(crate) struct Writable {
    /// Its working directory.
    pub jar: PathBuf,
    /// Its temporary directory.
    pub tmp: PathBuf,
    /// A descriptor of the working directory, for the engine.
    pub descriptor: OwnedFd,
}

/// Makes the jar's directories and goes to the first of them.
pub(crate) fn prepare(directory: &JarDirectory) -> Result<Writable, SetupFault> {
    let (jar, tmp) = match directory {
        JarDirectory::Memory { bytes, inodes, temporary } => {
            in_memory(*bytes, *inodes, temporary)?;
            (PathBuf::from("/jar"), temporary.clone())
        }
        JarDirectory::Host { path } => (path.join("jar"), path.join("tmp")),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let descriptor = openat(CWD, &jar, flags, Mode::empty());
    let descriptor = descriptor.or_fault(LAYER, "open", jar.display())?;
    chdir(&jar).or_fault(LAYER, "chdir", jar.display())?;
    let cwd = getcwd(Vec::new()).or_fault(LAYER, "getcwd", "")?;
    expect(LAYER, "current directory", cwd.to_bytes(), jar.as_os_str().as_encoded_bytes())?;
    Ok(Writable { jar, tmp, descriptor })
}

/// One file system of bounded size for both directories, so that the bounds hold for their sum.
fn in_memory(bytes: u64, inodes: u64, temporary: &Path) -> Result<(), SetupFault> {
    // On top, so that the guest has the whole of its limit.
    let (size, inodes) = (bytes.to_string(), (inodes + JAR_DIRECTORY_INODES).to_string());
    let options = [("size", size.as_str()), ("nr_inodes", inodes.as_str()), ("mode", "0700")];
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let tree = root::memory(LAYER, &options, attributes)?;
    for name in ["jar", "tmp"] {
        mkdirat(&tree, name, Mode::RWXU).or_fault(LAYER, "mkdir", name)?;
    }
    // Older kernels clone only attached trees, so the file system is attached at the temporary
    // directory first; the clone of its `tmp` then covers it.
    root::attach(LAYER, tree, CWD, temporary)?;
    for (name, target) in [("jar", Path::new("/jar")), ("tmp", temporary)] {
        root::attach(LAYER, root::piece(LAYER, &temporary.join(name))?, CWD, target)?;
    }
    Ok(())
}
