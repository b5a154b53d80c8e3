//! Which files of the host an interpreter reads, and where they really lie.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use carboy_jail::{Link, Mount, MountKind};
use carboy_sys::Machine;

use crate::host::Python;

/// Where the loader finds libraries on any machine, and what else an interpreter reads of a host.
const SYSTEM_READABLE: [&str; 9] = [
    "/lib64",
    "/usr/lib64",
    "/etc/ld.so.cache",
    "/usr/share/zoneinfo",
    "/usr/lib/locale",
    "/etc/fonts",
    "/usr/share/fontconfig",
    "/usr/share/fonts",
    "/usr/local/share/fonts",
];

/// What an interpreter reads: the loader's libraries, its own program, and what it said it needs.
pub(super) fn paths(python: &Python) -> Vec<PathBuf> {
    let is_empty = |path: &Path| path.read_dir().is_ok_and(|mut entries| entries.next().is_none());
    let system = SYSTEM_READABLE.iter().map(PathBuf::from);
    let all = of_machine(Machine::HERE).into_iter().chain(system);
    let mut paths: Vec<PathBuf> = all.filter(|path| path.exists() && !is_empty(path)).collect();
    paths.push(python.program.clone());
    paths.extend(python.readable.iter().cloned());
    paths.extend(alternatives(&paths, Path::new(ALTERNATIVES)));
    paths
}

/// Where this machine's libraries lie on Debian, and its loader, which need not lie beside them.
fn of_machine(machine: Machine) -> [PathBuf; 3] {
    let folder = machine.library_folder();
    [format!("/lib/{folder}"), format!("/usr/lib/{folder}"), machine.loader().into()]
        .map(PathBuf::from)
}

/// Where Debian keeps the links by which an administrator chooses among libraries of one name.
const ALTERNATIVES: &str = "/etc/alternatives";

/// The libraries in these folders that are found by way of an alternative. The link in the folder is shown
/// with it; the one that it leads to, and what that leads to, must be too.
fn alternatives(paths: &[PathBuf], chosen_in: &Path) -> Vec<PathBuf> {
    if !chosen_in.is_dir() {
        return vec![];
    }
    let system =
        |path: &&PathBuf| path.ends_with(Machine::HERE.library_folder()) || path.ends_with("lib64");
    let entries = paths.iter().filter(system).filter_map(|path| path.read_dir().ok()).flatten();
    let chosen = entries.filter_map(Result::ok).filter_map(|entry| {
        let is_library = entry.file_name().to_string_lossy().contains(".so");
        let is_link = is_library && entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let target = is_link.then(|| std::fs::read_link(entry.path()).ok()).flatten()?;
        target.starts_with(chosen_in).then_some(target)
    });
    chosen.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The mounts and links that make `paths` readable at their own places: each link on the way is
/// made again, each real place is mounted once, and nothing that lies in another is mounted twice.
pub(super) fn tree(paths: &[PathBuf]) -> (Vec<Mount>, Vec<Link>) {
    let mut links: Vec<Link> = Vec::new();
    let mut real = BTreeSet::new();
    for path in paths {
        real.extend(resolve(path, &mut links));
    }
    // Sorted: what contains another comes before it.
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in real {
        if !kept.iter().any(|folder| path.starts_with(folder)) {
            kept.push(path);
        }
    }
    links.retain(|link| !kept.iter().any(|folder| link.path.starts_with(folder)));
    let mounts = kept.into_iter().map(|path| {
        let kind = if path.is_dir() { MountKind::Directory } else { MountKind::File };
        Mount { source: path.clone(), target: path, kind }
    });
    (mounts.collect(), links)
}

/// Walks a path as the kernel would, noting each link, and returns where it leads.
fn resolve(path: &Path, links: &mut Vec<Link>) -> Option<PathBuf> {
    let mut done = PathBuf::from("/");
    let mut todo: Vec<std::ffi::OsString> = Vec::new();
    let push = |todo: &mut Vec<std::ffi::OsString>, path: &Path| {
        todo.extend(path.components().rev().filter_map(|part| match part {
            Component::Normal(_) | Component::ParentDir => Some(part.as_os_str().to_owned()),
            _ => None,
        }));
    };
    push(&mut todo, path);
    let mut followed = 0;
    while let Some(part) = todo.pop() {
        if part == ".." {
            done.pop();
            continue;
        }
        let here = done.join(&part);
        let Ok(target) = std::fs::read_link(&here) else {
            done = here;
            continue;
        };
        followed += 1;
        if followed > 40 {
            return None;
        }
        let link = Link { path: here, target: target.clone() };
        if !links.contains(&link) {
            links.push(link);
        }
        if target.is_absolute() {
            done = PathBuf::from("/");
        }
        push(&mut todo, &target);
    }
    done.exists().then_some(done)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_loader_of_this_machine_is_there_and_readable() {
        let loader = of_machine(Machine::HERE).into_iter().next_back().unwrap();
        assert!(loader.exists(), "{}", loader.display());
    }

    #[test]
    fn a_library_that_an_administrator_chose_is_found_by_way_of_its_link() {
        let base = std::env::temp_dir().join(format!("carboy-chosen-{}", std::process::id()));
        let (chosen, system) =
            (base.join("alternatives"), base.join(Machine::HERE.library_folder()));
        std::fs::create_dir_all(system.join("blas")).unwrap();
        std::fs::create_dir_all(base.join("other")).unwrap();
        std::fs::create_dir_all(&chosen).unwrap();
        std::fs::write(base.join("other/libblas.so.3"), "").unwrap();
        symlink(base.join("other/libblas.so.3"), chosen.join("libblas.so.3")).unwrap();
        symlink(chosen.join("libblas.so.3"), system.join("libblas.so.3")).unwrap();
        // Neither a library nor an alternative.
        symlink(chosen.join("editor"), system.join("editor")).unwrap();
        symlink(base.join("other/libblas.so.3"), system.join("libother.so")).unwrap();
        let found = alternatives(std::slice::from_ref(&system), &chosen);
        assert_eq!(found, [chosen.join("libblas.so.3")]);
        let (mounts, links) = tree(&[vec![system], found].concat());
        let real = base.join("other/libblas.so.3").canonicalize().unwrap();
        std::fs::remove_dir_all(&base).unwrap();
        assert!(mounts.iter().any(|mount| mount.target == real), "{mounts:?}");
        assert!(links.iter().any(|link| link.path == chosen.join("libblas.so.3")), "{links:?}");
    }

    #[test]
    fn links_are_made_again_and_places_mounted_once() {
        let base = std::env::temp_dir().join(format!("carboy-plan-{}", std::process::id()));
        std::fs::create_dir_all(base.join("real/bin/deep")).unwrap();
        symlink("real", base.join("alias")).unwrap();
        symlink(base.join("alias/bin"), base.join("bin")).unwrap();
        let paths = [base.join("bin"), base.join("real/bin/deep"), base.join("missing")];
        let (mounts, links) = tree(&paths);
        let base_real = base.canonicalize().unwrap();
        std::fs::remove_dir_all(&base).unwrap();
        let targets: Vec<_> = mounts.iter().map(|mount| mount.target.clone()).collect();
        assert_eq!(targets, [base_real.join("real/bin")]);
        let made: Vec<_> = links.iter().map(|link| link.path.clone()).collect();
        assert!(made.contains(&base.join("bin")) && made.contains(&base.join("alias")));
    }
}
