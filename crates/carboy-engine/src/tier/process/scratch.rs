//! Private directories of the host for jars in nested walls, and what any jar left in its own.
//!
//! The guest owns what lies there, so nothing is ever looked up by a path through it: every step
//! goes from a directory descriptor to one name in it, and no link is followed.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use carboy_jail::{Identity, open_directory, remove_tree};
use carboy_protocol::Artifact;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Gid, Mode, Stat, Uid, chownat, mkdirat, statat};

/// How deep a tree is followed.
const MAX_DEPTH: usize = 64;
/// How many artifacts are listed.
const MAX_ARTIFACTS: usize = 1000;

/// A directory for the jar's user alone.
pub(crate) fn make_private(path: &Path, identity: &Identity) -> io::Result<()> {
    mkdirat(CWD, path, Mode::RWXU)?;
    if identity.step_down {
        let (uid, gid) = (Uid::from_raw(identity.outer_uid), Gid::from_raw(identity.outer_gid));
        chownat(CWD, path, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    Ok(())
}

/// A directory with `jar` and `tmp` in it that is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    handle: OwnedFd,
}

impl Scratch {
    /// Makes one at `path`.
    pub fn make(path: PathBuf, identity: &Identity) -> io::Result<Scratch> {
        make_private(&path, identity)?;
        let scratch = Scratch { handle: open_directory(CWD, &path)?, path };
        for name in ["jar", "tmp"] {
            make_private(&scratch.path.join(name), identity)?;
        }
        Ok(scratch)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes on the disk and entries. `None` if they cannot be counted, because the tree is too
    /// deep: no honest program makes such a tree.
    pub fn usage(&self) -> Option<(u64, u64)> {
        let mut used = (0_u64, 0_u64);
        let counted = walk(&self.handle, &mut Vec::new(), &mut |path, _, found| {
            used.1 += 1;
            if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile {
                used.0 += u64::try_from(found.st_blocks).unwrap_or(0) * 512;
            }
            path.len() < MAX_DEPTH
        });
        // The two directories that we made are not the guest's.
        counted.then_some((used.0, used.1.saturating_sub(2)))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now goes when the helper ends, which removes all of it.
        remove_tree(&self.path).ok();
    }
}

/// The names in a directory. What cannot be listed has none.
fn names(folder: impl AsFd) -> Vec<CString> {
    let Ok(entries) = rustix::io::dup(folder).and_then(Dir::new) else { return Vec::new() };
    let mut names = Vec::new();
    for entry in entries.map_while(Result::ok) {
        let name = entry.file_name();
        if name.to_bytes() != b"." && name.to_bytes() != b".." {
            names.push(name.to_owned());
        }
    }
    names
}

/// Visits everything below `folder` that is not below a link. The visitor says whether to go on;
/// the answer is whether it always did. What vanishes meanwhile is passed over.
fn walk(
    folder: &OwnedFd,
    path: &mut Vec<CString>,
    visit: &mut impl FnMut(&[CString], &CString, &Stat) -> bool,
) -> bool {
    // A listing leaves the descriptor at its end, and others share it.
    if rustix::fs::seek(folder, rustix::fs::SeekFrom::Start(0)).is_err() {
        return true;
    }
    for name in names(folder) {
        let Ok(found) = statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        if !visit(path, &name, &found) {
            return false;
        }
        let directory = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
        if directory && path.len() < MAX_DEPTH {
            let Ok(inner) = open_directory(folder, name.as_c_str()) else { continue };
            path.push(name);
            let go_on = walk(&inner, path, visit);
            path.pop();
            if !go_on {
                return false;
            }
        }
    }
    true
}

/// The plain files that a run left, by name. Links, pipes and devices are not artifacts, and
/// neither is a name that is not text, or a file that the code hid.
pub(crate) fn artifacts(folder: &OwnedFd) -> Vec<Artifact> {
    let mut list = Vec::new();
    walk(folder, &mut Vec::new(), &mut |path, name, found| {
        let parts = path.iter().chain([name]).map(|part| part.to_str());
        let plain = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
        if let (true, Ok(parts)) = (plain, parts.collect::<Result<Vec<_>, _>>()) {
            let bytes = u64::try_from(found.st_size).unwrap_or(0);
            list.push(Artifact { path: parts.join("/"), bytes });
        }
        list.len() < MAX_ARTIFACTS
    });
    list.sort_by(|a, b| a.path.cmp(&b.path));
    list
}
