//! Private directories of the host for jars in nested walls: made, measured, removed.
//!
//! The guest owns what lies in them, so nothing is ever looked up by a path through them: every
//! step goes from a directory descriptor to one name in it, and no link is followed.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use belljar_jail::Identity;
use belljar_protocol::Artifact;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Uid, chmodat, chownat, mkdirat, openat, statat,
    unlinkat,
};

/// How deep a tree is followed.
const MAX_DEPTH: usize = 64;
/// How many artifacts are listed.
const MAX_ARTIFACTS: usize = 1000;

/// A directory that is removed with everything in it when this is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    handle: OwnedFd,
}

impl Scratch {
    /// Makes a directory below the host's temporary one, for the jar's user alone, with `jar` and
    /// `tmp` in it.
    pub fn make(name: &str, identity: &Identity) -> io::Result<Scratch> {
        let path = std::env::temp_dir().canonicalize()?.join(format!("belljar-{name}"));
        let owner = identity
            .step_down
            .then(|| (Uid::from_raw(identity.outer_uid), Gid::from_raw(identity.outer_gid)));
        let make = |path: &Path| -> io::Result<()> {
            mkdirat(CWD, path, Mode::RWXU)?;
            if let Some((uid, gid)) = owner {
                chownat(CWD, path, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?;
            }
            Ok(())
        };
        make(&path)?;
        let handle = open_directory(CWD, &path)?;
        let scratch = Scratch { path, handle };
        for name in ["jar", "tmp"] {
            make(&scratch.path.join(name))?;
        }
        Ok(scratch)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes and entries in use.
    pub fn usage(&self) -> (u64, u64) {
        let mut used = (0_u64, 0_u64);
        // What vanishes while we look is not in use.
        walk(&self.handle, &mut Vec::new(), &mut |_, _, kind, bytes| {
            used.1 += 1;
            if kind == FileType::RegularFile {
                used.0 += bytes;
            }
            true
        })
        .ok();
        (used.0, used.1.saturating_sub(2))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed stays; there is nobody to tell in a drop.
        empty(&self.handle, 0).ok();
        std::fs::remove_dir(&self.path).ok();
    }
}

fn open_directory(at: impl AsFd, name: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, name, flags, Mode::empty())?)
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

/// Removes everything in a directory. The guest may have taken rights away from its own
/// directories; they are given back first.
fn empty(folder: &OwnedFd, depth: usize) -> io::Result<()> {
    for name in names(folder)? {
        let kind =
            FileType::from_raw_mode(statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode);
        if kind == FileType::Directory && depth < 4 * MAX_DEPTH {
            chmodat(folder, &name, Mode::RWXU, AtFlags::empty())?;
            empty(&open_directory(folder, &name)?, depth + 1)?;
            unlinkat(folder, &name, AtFlags::REMOVEDIR)?;
        } else {
            unlinkat(folder, &name, AtFlags::empty())?;
        }
    }
    Ok(())
}

/// Visits everything below `folder` that is not below a link. The visitor says whether to go on.
fn walk(
    folder: &OwnedFd,
    path: &mut Vec<CString>,
    visit: &mut impl FnMut(&[CString], &CString, FileType, u64) -> bool,
) -> io::Result<bool> {
    for name in names(folder)? {
        let Ok(found) = statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let kind = FileType::from_raw_mode(found.st_mode);
        if !visit(path, &name, kind, found.st_size.max(0) as u64) {
            return Ok(false);
        }
        if kind == FileType::Directory && path.len() < MAX_DEPTH {
            let Ok(inner) = open_directory(folder, &name) else { continue };
            path.push(name);
            let go_on = walk(&inner, path, visit)?;
            path.pop();
            if !go_on {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// The plain files that a run left, by name. Links, pipes and devices are not artifacts, and
/// neither is a name that is not text.
pub(crate) fn artifacts(folder: &OwnedFd) -> io::Result<Vec<Artifact>> {
    let folder = open_directory(folder, ".")?;
    let mut list = Vec::new();
    walk(&folder, &mut Vec::new(), &mut |path, name, kind, bytes| {
        let parts = path.iter().chain([name]).map(|part| part.to_str());
        if let (FileType::RegularFile, Ok(parts)) = (kind, parts.collect::<Result<Vec<_>, _>>()) {
            list.push(Artifact { path: parts.join("/"), bytes });
        }
        list.len() < MAX_ARTIFACTS
    })?;
    list.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(list)
}
