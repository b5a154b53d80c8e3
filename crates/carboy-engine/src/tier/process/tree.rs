//! Walking a tree that guest code made.
//!
//! The guest owns what lies there, so nothing is ever looked up by a path through it: every step
//! goes from a directory descriptor to one name in it, and no link is followed.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};

use carboy_jail::open_directory;
use rustix::fs::{AtFlags, Dir, FileType, Stat, statat};

/// How deep a tree is followed.
pub(super) const MAX_DEPTH: usize = 64;

/// One entry of a directory, where a walk comes by.
pub(super) struct Entry<'a> {
    /// The directory.
    pub folder: &'a OwnedFd,
    /// The names of the directories between it and the top.
    pub path: &'a [CString],
    /// Its name in the directory.
    pub name: &'a CString,
    /// What it is; of a link, the link itself.
    pub found: &'a Stat,
}

impl Entry<'_> {
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.found.st_mode)
    }
}

/// The names in a directory, sorted. What cannot be listed has none.
fn names(folder: impl AsFd) -> Vec<CString> {
    let Ok(entries) = rustix::io::dup(folder).and_then(Dir::new) else { return Vec::new() };
    let mut names = Vec::new();
    for entry in entries.map_while(Result::ok) {
        let name = entry.file_name();
        if name.to_bytes() != b"." && name.to_bytes() != b".." {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    names
}

/// Visits everything below `folder` that is not below a link. The visitor says whether to go on;
/// the answer is whether it always did. What vanishes meanwhile is passed over.
pub(super) fn walk(
    folder: &OwnedFd,
    path: &mut Vec<CString>,
    visit: &mut impl FnMut(Entry<'_>) -> bool,
) -> bool {
    // A listing leaves the descriptor at its end, and others share it.
    if rustix::fs::seek(folder, rustix::fs::SeekFrom::Start(0)).is_err() {
        return true;
    }
    for name in names(folder) {
        let Ok(found) = statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        if !visit(Entry { folder, path, name: &name, found: &found }) {
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
