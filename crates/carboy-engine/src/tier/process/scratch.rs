//! Private directories of the host for jars in nested walls, and what any jar wrote in its own.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use carboy_jail::{HostSource, Identity, open_directory, remove_tree};
use carboy_protocol::{LimitName, Limits};
use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, Timespec, Uid, chownat, fstatfs, mkdirat, statat,
};
use tokio::runtime::Handle;

use super::collect::Collector;
use super::tree::{MAX_DEPTH, walk};
use crate::kernel::blocking::elsewhere;
use crate::kernel::ending::{Killed, REAP};
use crate::runner::Artifacts;
use crate::tier::process::layout::lay_out;
use crate::tier::{Files, Inputs, Left};

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
    /// What the run is given lies there, if it is given anything.
    given: Option<PathBuf>,
    /// The links that lead there from `jar`. They are not the guest's.
    links: Vec<PathBuf>,
}

impl Scratch {
    /// Makes one at `path`.
    pub fn make(path: PathBuf, identity: &Identity) -> io::Result<Scratch> {
        make_private(&path, identity)?;
        let scratch =
            Scratch { handle: open_directory(CWD, &path)?, path, given: None, links: vec![] };
        for name in ["jar", "tmp"] {
            make_private(&scratch.path.join(name), identity)?;
        }
        Ok(scratch)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lays out what a run is given, and says what has to be readable for it.
    pub fn give(&mut self, inputs: &Inputs) -> io::Result<Vec<HostSource>> {
        let folder = self.path.with_extension("given");
        self.given = Some(folder.clone());
        let (readable, links) = lay_out(&folder, &self.path.join("jar"), inputs)?;
        self.links = links;
        Ok(readable)
    }

    /// Bytes on the disk and entries. `None` if they cannot be counted, because the tree is too
    /// deep: no honest program makes such a tree.
    ///
    /// Counting ends soon after `most` entries: there are too many then, and how many does not matter.
    fn usage(&self, most: u64) -> Option<(u64, u64)> {
        let mut used = (0_u64, 0_u64);
        let mut deep = false;
        let own = 2 + self.links.len() as u64;
        walk(&self.handle, &mut Vec::new(), &mut |entry| {
            used.1 += 1;
            if entry.kind() == FileType::RegularFile {
                used.0 += u64::try_from(entry.found.st_blocks).unwrap_or(0) * 512;
            }
            deep = entry.path.len() >= MAX_DEPTH;
            !deep && used.1 <= most.saturating_add(own)
        });
        // The two directories and the links that we made are not the guest's.
        (!deep).then_some((used.0, used.1.saturating_sub(own)))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let path = std::mem::take(&mut self.path);
        let given = self.given.take();
        // What cannot be removed now goes when the helper ends, which removes all of it.
        let remove = move || {
            drop(remove_tree(&path));
            drop(given.map(|given| remove_tree(&given)));
        };
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
    /// Links to what the run is given, if it is in memory.
    links: Vec<PathBuf>,
    /// On the host, if it is there. Removed after the process is gone.
    scratch: Option<Arc<Scratch>>,
}

impl Directory {
    pub fn new(handle: OwnedFd, own_inodes: u64, scratch: Option<Scratch>) -> Directory {
        Directory { handle, own_inodes, links: vec![], scratch: scratch.map(Arc::new) }
    }

    /// These links were made in it, and are not the guest's.
    pub fn linked(&mut self, links: Vec<PathBuf>) {
        self.own_inodes += links.len() as u64;
        self.links = links;
    }

    /// Whether what we linked there still is a link: a file in its place counts as many inodes.
    fn has_links(&self) -> bool {
        self.links.iter().all(|name| {
            let found = statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW);
            found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
        })
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
                untouched: space.f_files - space.f_ffree == self.own_inodes && self.has_links(),
            }),
        }
    }

    /// The plain files that a run left, by name, once nothing of its process runs any more. None if that takes too
    /// long.
    pub async fn artifacts(
        &self,
        run: &str,
        wanted: &Artifacts,
        limits: &Limits,
        killed: Killed,
    ) -> io::Result<Option<Left>> {
        let handle = self.handle.try_clone()?;
        let collector = self.collector(run, wanted, limits);
        let work = move || {
            let is_still = killed.wait_until_still(REAP)?;
            Ok(is_still.then(|| collector.collect(&handle, Some(killed))))
        };
        elsewhere(work).await.unwrap_or(Ok(None))
    }

    /// The plain files that were changed since a moment, while others may go on writing.
    pub async fn changed(
        &self,
        run: &str,
        wanted: &Artifacts,
        limits: &Limits,
        since: Timespec,
    ) -> io::Result<Left> {
        let handle = self.handle.try_clone()?;
        let mut collector = self.collector(run, wanted, limits);
        collector.since = Some(since);
        let left = elsewhere(move || collector.collect(&handle, None)).await;
        left.ok_or_else(|| io::Error::other("nobody collected it"))
    }

    fn collector(&self, run: &str, wanted: &Artifacts, limits: &Limits) -> Collector {
        let links = self.scratch.as_ref().map_or(&self.links, |scratch| &scratch.links);
        let mut collector = Collector::new(run, wanted, limits, self.is_on_host());
        collector.links.clone_from(links);
        collector
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
