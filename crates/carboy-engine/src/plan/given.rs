//! Where a private root has room for what a run is given.
//!
//! Landlock does not look at a directory that something is mounted over, only at those above it. So the
//! folders lie together in one directory with a rule of its own, and links lead to them from the root.

use std::path::{Path, PathBuf};

use carboy_jail::Link;
use carboy_protocol::INPUT_ROOT;

use crate::plan::base::Base;

/// Where a folder really lies.
fn place(folder: &str) -> PathBuf {
    Path::new(INPUT_ROOT).join(folder.trim_start_matches('/'))
}

/// The folders, empty until a run is given something.
pub(super) fn folders(base: &Base) -> Vec<PathBuf> {
    base.folders.iter().map(|folder| place(folder)).collect()
}

/// The links that lead to them.
pub(super) fn links(base: &Base) -> Vec<Link> {
    let link = |folder: &&str| Link { path: folder.into(), target: place(folder) };
    base.folders.iter().map(link).collect()
}

/// What has to be readable for them.
pub(super) fn readable(base: &Base) -> Option<PathBuf> {
    (!base.folders.is_empty()).then(|| INPUT_ROOT.into())
}
