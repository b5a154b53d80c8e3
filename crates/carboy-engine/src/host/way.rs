//! The way to a file: every directory and every link that the kernel passes.

use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// More links than the kernel follows.
const MOST_LINKS: usize = 40;

/// Where a path leads, and what lies on the way.
pub(crate) struct Way {
    /// Where it ends: a path without links.
    pub end: PathBuf,
    /// The links, each with its target.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// Everything on the way, the links and the end included, by paths without links before the last part.
    pub passed: Vec<PathBuf>,
}

/// Walks an absolute path as the kernel would. `None` if it leads nowhere.
pub(crate) fn walk(path: &Path) -> Option<Way> {
    let mut way = Way { end: PathBuf::from("/"), links: vec![], passed: vec![PathBuf::from("/")] };
    let mut todo = Vec::new();
    let push = |todo: &mut Vec<std::ffi::OsString>, path: &Path| {
        todo.extend(path.components().rev().filter_map(|part| match part {
            Component::Normal(_) | Component::ParentDir => Some(part.as_os_str().to_owned()),
            _ => None,
        }));
    };
    push(&mut todo, path);
    while let Some(part) = todo.pop() {
        if part == ".." {
            way.end.pop();
            continue;
        }
        let here = way.end.join(&part);
        way.passed.push(here.clone());
        let Ok(target) = std::fs::read_link(&here) else {
            way.end = here;
            continue;
        };
        if way.links.len() == MOST_LINKS {
            return None;
        }
        if target.is_absolute() {
            way.end = PathBuf::from("/");
        }
        push(&mut todo, &target);
        way.links.push((here, target));
    }
    way.end.exists().then_some(way)
}

/// The first directory on the way to a path without links that other users cannot enter.
pub(crate) fn closed_at(path: &Path) -> Option<PathBuf> {
    let mut folders: Vec<&Path> = path.ancestors().skip(1).collect();
    folders.reverse();
    let is_closed = |folder: &Path| {
        std::fs::metadata(folder).is_ok_and(|found| found.permissions().mode() & 0o001 == 0)
    };
    folders.into_iter().find(|folder| is_closed(folder)).map(Path::to_path_buf)
}
