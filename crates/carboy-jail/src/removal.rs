//! Removing what a guest left on the host, in nested walls.
//!
//! The guest owns these files, and the tree may be as deep, and its permissions as odd, as limits allow.
//! So no path through it is resolved, no link is followed and nothing recurses: each directory that is
//! found is first moved to the top, which keeps the tree one level deep.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, chmod, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

/// Removes a directory with everything in it. What is not there is removed already, and what
/// appears meanwhile is removed too.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let top = match open_directory(CWD, path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    let mut moved = 0_u64;
    loop {
        let entries = names(&top)?;
        if entries.is_empty() {
            match std::fs::remove_dir(path) {
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => continue,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                other => return other,
            }
        }
        for name in entries {
            match remove_entry(&top, &name, &mut moved) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // Something was put into it after it was listed: the next round has it.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory
                    ) => {}
                other => other?,
            }
        }
    }
}

/// Removes one entry of the top; the directories in it are moved there instead.
fn remove_entry(top: &OwnedFd, name: &CString, moved: &mut u64) -> io::Result<()> {
    if !is_directory(top, name)? {
        return Ok(unlinkat(top, name, AtFlags::empty())?);
    }
    let folder = open_directory(top, name.as_c_str())?;
    for inner in names(&folder)? {
        if is_directory(&folder, &inner)? {
            *moved += 1;
            renameat(&folder, &inner, top, format!(".removing-{moved}"))?;
        } else {
            unlinkat(&folder, &inner, AtFlags::empty())?;
        }
    }
    Ok(unlinkat(top, name, AtFlags::REMOVEDIR)?)
}

fn is_directory(folder: &OwnedFd, name: &CString) -> io::Result<bool> {
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(found.st_mode) == FileType::Directory)
}

fn names(folder: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_owned();
        if name.as_bytes() != b"." && name.as_bytes() != b".." {
            names.push(name);
        }
    }
    Ok(names)
}

/// Opens a directory without following a link, and gives back the rights to it that its owner may
/// have taken away. The rights are changed on what was opened, whatever its name means by then.
pub fn open_directory(at: impl AsFd, name: impl rustix::path::Arg + Copy) -> io::Result<OwnedFd> {
    let plain = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(at.as_fd(), name, OFlags::RDONLY | plain, Mode::empty()) {
        Err(Errno::ACCESS) => {
            let handle = openat(at.as_fd(), name, OFlags::PATH | plain, Mode::empty())?;
            chmod(format!("/proc/self/fd/{}", handle.as_raw_fd()), Mode::RWXU)?;
            Ok(openat(&handle, ".", OFlags::RDONLY | plain, Mode::empty())?)
        }
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn deep_locked_and_linked_trees_go_and_what_they_point_at_stays() {
        let base = std::env::temp_dir().join(format!("carboy-removal-{}", std::process::id()));
        let (keep, tree) = (base.join("keep"), base.join("tree"));
        std::fs::create_dir_all(&keep).unwrap();
        std::fs::write(keep.join("file"), "x").unwrap();
        std::fs::create_dir_all(&tree).unwrap();
        symlink(&keep, tree.join("link")).unwrap();
        let mut deep = tree.clone();
        for _ in 0..300 {
            deep.push("d");
        }
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(deep.join("leaf"), "x").unwrap();
        std::fs::create_dir(tree.join("locked")).unwrap();
        std::fs::write(tree.join("locked/file"), "x").unwrap();
        let none = std::fs::Permissions::from_mode(0o000);
        std::fs::set_permissions(tree.join("locked"), none).unwrap();
        remove_tree(&tree).unwrap();
        assert!(!tree.exists() && keep.join("file").exists());
        remove_tree(&tree).unwrap();
        remove_tree(&base).unwrap();
    }
}
