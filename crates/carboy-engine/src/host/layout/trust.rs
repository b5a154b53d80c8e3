//! Whose word counts on what jars are shown.
//!
//! A `.pth` file or a link names a place, and jars are shown what is there with the engine's rights. So only
//! root and the engine's own user may have written it, and nobody else may be able to exchange what it names.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::host::way::Way;

/// Others can add files to such a directory, but cannot rename or remove those of others.
const STICKY: u32 = 0o1000;

/// Who the engine runs as.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    pub uid: u32,
    pub gid: u32,
}

impl Caller {
    pub(super) fn this() -> Caller {
        use rustix::process::{getegid, geteuid};
        Caller { uid: geteuid().as_raw(), gid: getegid().as_raw() }
    }

    /// An error in words if somebody else could change where this way leads.
    pub(super) fn trusts(self, way: &Way) -> Result<(), String> {
        way.passed.iter().try_for_each(|path| match std::fs::symlink_metadata(path) {
            Ok(found) => self.trusts_one(path, &found),
            Err(error) => Err(format!("{} cannot be looked at: {error}", path.display())),
        })
    }

    fn trusts_one(self, path: &Path, found: &Metadata) -> Result<(), String> {
        let (mode, path) = (found.mode(), path.display());
        if ![0, self.uid].contains(&found.uid()) {
            return Err(format!("{path} belongs to user {}", found.uid()));
        }
        // Anybody can do anything with a link's own mode, and nothing comes of it.
        if found.is_symlink() || found.is_dir() && mode & STICKY != 0 {
            return Ok(());
        }
        // Distributions give each user a group of the same number, with nobody else in it.
        let private = found.gid() == self.gid && self.gid == self.uid;
        match mode {
            _ if mode & 0o002 != 0 => Err(format!("every user can write to {path}")),
            _ if mode & 0o020 != 0 && !private => {
                Err(format!("group {} can write to {path}", found.gid()))
            }
            _ => Ok(()),
        }
    }
}
