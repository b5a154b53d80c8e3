//! What one run is given to read of the host, and how that is taken.
//!
//! The engine has looked at each source with the caller's rights. Whoever hands it in walks the same path
//! again, through no link, and takes only what has the device and inode numbers that the engine saw.

use std::os::fd::OwnedFd;
use std::path::Path;

use carboy_protocol::SetupFault;
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, ResolveFlags, accessat, fstat, openat2};

use crate::fault::{OrFault, fault};
use crate::plan::HostSource;

/// The layer of faults that are the caller's: a source that is not what it was, or cannot be read. Their
/// object is the caller's name for it.
pub const GIVEN: &str = "given files";

/// Opens a source, if it is still the one that the engine looked at.
pub(crate) fn open(source: &HostSource) -> Result<OwnedFd, SetupFault> {
    let of = |why: String| fault(GIVEN, "open", &source.name, why);
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let walk = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let opened = openat2(CWD, &source.path, flags, Mode::empty(), walk)
        .map_err(|errno| of(format!("{} cannot be reached: {errno}", source.path.display())))?;
    let found = fstat(&opened).or_fault(GIVEN, "fstat", &source.name)?;
    if (found.st_dev, found.st_ino) != (source.device, source.inode) {
        return Err(of(format!("{} was replaced meanwhile", source.path.display())));
    }
    Ok(opened)
}

/// An error if the jar's user cannot read what lies at `path`. To be asked as that user.
pub(crate) fn check_readable(source: &HostSource, path: &Path) -> Result<(), SetupFault> {
    let mut rights = Access::READ_OK;
    if source.directory {
        rights |= Access::EXEC_OK;
    }
    accessat(CWD, path, rights, AtFlags::empty()).map_err(|errno| {
        let user = rustix::process::geteuid().as_raw();
        let why =
            format!("the jar's user ({user}) may not read {}: {errno}", source.path.display());
        fault(GIVEN, "access", &source.name, why)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    #[test]
    fn only_what_was_looked_at_is_taken() {
        let folder = std::env::temp_dir().join(format!("carboy-given-{}", std::process::id()));
        fs::create_dir_all(folder.join("real")).unwrap();
        let folder = folder.canonicalize().unwrap();
        let path = folder.join("real/a.csv");
        fs::write(&path, "a").unwrap();
        fs::write(folder.join("secret"), "s").unwrap();
        let found = fs::metadata(&path).unwrap();
        let source = HostSource {
            name: "a.csv".into(),
            path: path.clone(),
            directory: false,
            device: found.dev(),
            inode: found.ino(),
        };
        assert!(open(&source).is_ok());
        // Another file in its place, while the first one still exists elsewhere.
        fs::rename(&path, folder.join("kept")).unwrap();
        fs::write(&path, "b").unwrap();
        let replaced = open(&source).unwrap_err();
        // A link in its place, even to the file itself, is another file; one on the way is not followed.
        fs::remove_file(&path).unwrap();
        symlink(folder.join("kept"), &path).unwrap();
        let linked = open(&source).unwrap_err();
        fs::remove_file(&path).unwrap();
        fs::rename(folder.join("kept"), &path).unwrap();
        fs::rename(folder.join("real"), folder.join("moved")).unwrap();
        symlink("moved", folder.join("real")).unwrap();
        let way = open(&source).unwrap_err();
        fs::remove_dir_all(&folder).unwrap();
        let gone = open(&source).unwrap_err();
        for (fault, words) in [
            (replaced, "was replaced meanwhile"),
            (linked, "was replaced meanwhile"),
            (way, "cannot be reached"),
            (gone, "cannot be reached"),
        ] {
            assert_eq!((fault.layer.as_str(), fault.object.as_str()), (GIVEN, "a.csv"));
            assert!(fault.answer.contains(words), "{fault}");
        }
    }
}
