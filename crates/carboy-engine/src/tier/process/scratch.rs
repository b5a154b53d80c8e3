//! Private directories of the host for jars in nested walls, and what any jar left in its own.
//!
//! The guest owns what lies there, so nothing is ever looked up by a path through it: every step
//! goes from a directory descriptor to one name in it, and no link is followed.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use carboy_jail::{Identity, open_directory, remove_tree};
use carboy_protocol::{Artifact, LimitName, Limits};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, Stat, Uid, chownat, fstatfs, mkdirat, statat,
};
use tokio::runtime::Handle;

use crate::kernel::blocking::elsewhere;
use crate::tier::Files;

/// How deep a tree is followed.
const MAX_DEPTH: usize = 64;
/// How many artifacts are listed.
const MAX_ARTIFACTS: usize = 1000;

/// A directory for the jar's user alone.
pub(super) fn make_private(path: &Path, identity: &Identity) -> io::Result<()> {
    mkdirat(CWD, path, Mode::RWXU)?;
    if identity.step_down {
        let (uid, gid) = (Uid::from_raw(identity.outer_uid), Gid::from_raw(identity.outer_gid));
        chownat(CWD, path, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    Ok(())
}

/// A directory with `jar` and `tmp` in it that is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Scratch {
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
    ///
    /// Counting ends soon after `most` entries: there are too many then, and how many does not matter.
    fn usage(&self, most: u64) -> Option<(u64, u64)> {
        let mut used = (0_u64, 0_u64);
        let mut deep = false;
        walk(&self.handle, &mut Vec::new(), &mut |path, _, found| {
            used.1 += 1;
            if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile {
                used.0 += u64::try_from(found.st_blocks).unwrap_or(0) * 512;
            }
            deep = path.len() >= MAX_DEPTH;
            !deep && used.1 <= most.saturating_add(2)
        });
        // The two directories that we made are not the guest's.
        (!deep).then_some((used.0, used.1.saturating_sub(2)))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let path = std::mem::take(&mut self.path);
        // What cannot be removed now goes when the helper ends, which removes all of it.
        let remove = move || drop(remove_tree(&path));
        // The guest decided how much there is to remove, and the engine's thread is everybody's.
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(remove)),
            Err(_) => remove(),
        }
    }
}

/// Where a jar writes: a file system in memory, which the kernel bounds, or a directory of the host.
#[derive(Debug)]
pub(super) struct Directory {
    handle: OwnedFd,
    /// How many inodes its file system uses itself, if it is in memory.
    own_inodes: u64,
    /// On the host, if it is there. Removed after the process is gone.
    scratch: Option<Arc<Scratch>>,
}

impl Directory {
    pub fn new(handle: OwnedFd, own_inodes: u64, scratch: Option<Scratch>) -> Directory {
        Directory { handle, own_inodes, scratch: scratch.map(Arc::new) }
    }

    /// Whether it is on the host.
    pub fn is_on_host(&self) -> bool {
        self.scratch.is_some()
    }

    /// What was written, against these limits.
    pub async fn files(&self, limits: &Limits) -> Files {
        match &self.scratch {
            Some(scratch) => {
                let (scratch, most) = (scratch.clone(), limits.files);
                counted(elsewhere(move || scratch.usage(most)).await.flatten(), limits)
            }
            None => fstatfs(&self.handle).map_or(Files::default(), |space| Files {
                over: None,
                space_full: space.f_bavail == 0,
                files_full: space.f_ffree == 0,
                untouched: space.f_files - space.f_ffree == self.own_inodes,
            }),
        }
    }

    /// The plain files that a run left, by name. Links, pipes and devices are not artifacts, and
    /// neither is a name that is not text, or a file that the code hid.
    pub async fn artifacts(&self) -> Vec<Artifact> {
        // Without a descriptor to spare nothing can be listed.
        let Ok(handle) = self.handle.try_clone() else { return vec![] };
        elsewhere(move || artifacts(&handle)).await.unwrap_or_default()
    }
}

/// What so many bytes and entries are against the limits. What cannot be counted is too much.
fn counted(used: Option<(u64, u64)>, limits: &Limits) -> Files {
    let over = match used {
        None => Some(LimitName::Files),
        Some((bytes, _)) if bytes > limits.file_bytes => Some(LimitName::FileBytes),
        Some((_, files)) => (files > limits.files).then_some(LimitName::Files),
    };
    Files {
        over,
        space_full: used.is_some_and(|(bytes, _)| bytes >= limits.file_bytes),
        files_full: used.is_none_or(|(_, files)| files >= limits.files),
        untouched: false,
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

fn artifacts(folder: &OwnedFd) -> Vec<Artifact> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_over_its_limit_or_full_or_neither() {
        let limits = Limits { file_bytes: 100, files: 5, ..Limits::default() };
        let (bytes, files) = (Some(LimitName::FileBytes), Some(LimitName::Files));
        for (used, over, space_full, files_full) in [
            (Some((0, 0)), None, false, false),
            (Some((99, 4)), None, false, false),
            (Some((100, 5)), None, true, true),
            (Some((101, 5)), bytes, true, true),
            (Some((100, 6)), files, true, true),
            (Some((101, 6)), bytes, true, true),
            // A tree too deep to be counted.
            (None, files, false, true),
        ] {
            let found = counted(used, &limits);
            assert_eq!(
                (found.over, found.space_full, found.files_full),
                (over, space_full, files_full)
            );
            assert!(!found.untouched);
        }
    }
}
