//! Which files of the host an interpreter reads, and where they really lie.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use carboy_jail::{Link, Mount, MountKind};
use carboy_sys::Machine;

use crate::host::{Because, Python, Shown, walk};

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
pub(super) fn paths(python: &Python) -> Vec<Shown> {
    let is_empty = |path: &Path| path.read_dir().is_ok_and(|mut entries| entries.next().is_none());
    let system = SYSTEM_READABLE.iter().map(PathBuf::from);
    let all = of_machine(Machine::HERE).into_iter().chain(system);
    let mut paths: Vec<PathBuf> = all.filter(|path| path.exists() && !is_empty(path)).collect();
    paths.extend(alternatives(&paths, Path::new(ALTERNATIVES)));
    let system = paths.into_iter().map(|path| Shown { path, because: Because::System });
    system.chain(python.layout.shown.iter().cloned()).collect()
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

/// What is to be built so that jars find something at its own place.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub mounts: Vec<Mount>,
    pub links: Vec<Link>,
    /// Because of what each mount is there, by its target.
    pub because: BTreeMap<PathBuf, BTreeSet<Because>>,
}

/// The mounts and links that make `paths` readable at their own places: each link on the way is
/// made again, each real place is mounted once, and nothing that lies in another is mounted twice.
pub(super) fn tree(paths: &[Shown]) -> Tree {
    let mut tree = Tree::default();
    let mut real: BTreeMap<PathBuf, BTreeSet<Because>> = BTreeMap::new();
    for Shown { path, because } in paths {
        let Some(way) = walk(path) else { continue };
        real.entry(way.end).or_default().insert(because.clone());
        let links = way.links.into_iter().map(|(path, target)| Link { path, target });
        tree.links.extend(links);
    }
    tree.links.sort_by(|one, other| one.path.cmp(&other.path));
    tree.links.dedup();
    // Sorted: what contains another comes before it.
    for (path, because) in real {
        let holder = tree.mounts.iter().find(|mount| path.starts_with(&mount.target));
        let target = holder.map_or(path, |mount| mount.target.clone());
        if !tree.because.contains_key(&target) {
            let kind = if target.is_dir() { MountKind::Directory } else { MountKind::File };
            tree.mounts.push(Mount { source: target.clone(), target: target.clone(), kind });
        }
        tree.because.entry(target).or_default().extend(because);
    }
    let mounts = &tree.mounts;
    tree.links.retain(|link| !mounts.iter().any(|mount| link.path.starts_with(&mount.target)));
    tree
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn shown(paths: &[PathBuf]) -> Vec<Shown> {
        let one = |path: &PathBuf| Shown { path: path.clone(), because: Because::System };
        paths.iter().map(one).collect()
    }

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
        let Tree { mounts, links, .. } = tree(&shown(&[vec![system], found].concat()));
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
        let Tree { mounts, links, because } = tree(&shown(&paths));
        assert_eq!(because.values().map(BTreeSet::len).collect::<Vec<_>>(), [1]);
        let base_real = base.canonicalize().unwrap();
        std::fs::remove_dir_all(&base).unwrap();
        let targets: Vec<_> = mounts.iter().map(|mount| mount.target.clone()).collect();
        assert_eq!(targets, [base_real.join("real/bin")]);
        let made: Vec<_> = links.iter().map(|link| link.path.clone()).collect();
        assert!(made.contains(&base.join("bin")) && made.contains(&base.join("alias")));
    }
}
