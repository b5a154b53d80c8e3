//! Which parts of a directory can be imported. Of a directory that a list names jars are shown only those: a
//! project's own folder also holds its history, its settings and what else its author keeps there.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};

/// More than a folder of one's own modules has. A folder of installed packages is shown whole.
const MOST: usize = 64;
/// How far below a directory without modules of its own they are looked for: packages may lie in a namespace.
const DEPTH: usize = 2;
/// How many entries are looked at to find one that is a module.
const LOOKED_AT: usize = 1000;

/// Whether packages were installed here, and nothing else is kept.
fn is_for_packages(folder: &Path) -> bool {
    if folder.file_name().is_some_and(|name| name == "site-packages" || name == "dist-packages") {
        return true;
    }
    entries(folder)
        .any(|entry| ends_with(&entry.path(), "dist-info") && entry.path().join("RECORD").is_file())
}

/// What of a directory is shown, or why nothing of it can be.
pub(super) fn of(folder: &Path) -> Result<Vec<PathBuf>, String> {
    if let Err(error) = folder.read_dir() {
        return Err(format!("it cannot be read: {error}"));
    }
    // By its own name: that of a link to it says nothing.
    if folder.canonicalize().is_ok_and(|real| is_for_packages(&real)) {
        return Ok(vec![folder.to_path_buf()]);
    }
    let found: Vec<PathBuf> =
        entries(folder).map(|entry| entry.path()).filter(|path| is_part(path)).collect();
    match found.len() {
        0 => Err("it holds nothing that can be imported".into()),
        1..=MOST => Ok(found),
        count => {
            Err(format!("it holds {count} modules and packages, and at most {MOST} are shown"))
        }
    }
}

/// The files of a module or package that a finder knows by this path, which may lack a suffix.
pub(super) fn module(path: &Path) -> Result<Vec<PathBuf>, String> {
    if is_part(path) {
        return Ok(vec![path.to_path_buf()]);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = path.parent().into_iter().flat_map(entries);
    let found: Vec<PathBuf> = beside
        .map(|entry| entry.path())
        .filter(|file| is_module(file))
        .filter(|file| stem(file) == name)
        .collect();
    if found.is_empty() { Err("there is no such module".into()) } else { Ok(found) }
}

/// A module, a package, or what is known of one that is installed.
fn is_part(path: &Path) -> bool {
    if !path.is_dir() {
        return is_module(path);
    }
    let is_name = stem(path).chars().all(|part| part == '_' || part.is_alphanumeric());
    let is_known = ["dist-info", "egg-info"].iter().any(|end| ends_with(path, end));
    let is_package = is_name && path.extension().is_none() && !is_project(path);
    is_known || is_package && holds_module(path, DEPTH)
}

/// Whether a directory is where somebody works: its history, its settings and its secrets lie beside its modules.
pub(super) fn is_project(folder: &Path) -> bool {
    const SIGNS: [&str; 5] = ["pyproject.toml", "setup.py", "setup.cfg", ".git", ".env"];
    SIGNS.iter().any(|sign| folder.join(sign).symlink_metadata().is_ok())
}

fn holds_module(folder: &Path, depth: usize) -> bool {
    let looked_at = || entries(folder).take(LOOKED_AT).map(|entry| entry.path());
    looked_at().any(|path| is_module(&path))
        || depth > 0 && looked_at().any(|path| is_plain(&path) && holds_module(&path, depth - 1))
}

/// A directory, and no link to one: a link would lead the search out of the folder.
fn is_plain(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

fn is_module(path: &Path) -> bool {
    ["py", "so", "egg", "zip"].iter().any(|end| ends_with(path, end)) && path.is_file()
}

fn ends_with(path: &Path, end: &str) -> bool {
    path.extension().is_some_and(|found| found == end)
}

/// A module's name: what comes before the first dot.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// What lies in a folder and is not hidden.
fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    let all = folder.read_dir().into_iter().flatten().filter_map(Result::ok);
    all.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn of_a_project_only_what_can_be_imported_is_shown() {
        let base = std::env::temp_dir().join(format!("carboy-parts-{}", std::process::id()));
        for file in [
            "tool/__init__.py",
            "space/inner/deep.py",
            "single.py",
            "fast.cpython-311-x86_64-linux-gnu.so",
            "tool.egg-info/PKG-INFO",
            ".env",
            ".git/config",
            "secrets/key.pem",
            "notes.txt",
            "my-data/x.py",
            "project/app.py",
            "project/.env",
            "other/setup.py",
        ] {
            fs::create_dir_all(base.join(file).parent().unwrap()).unwrap();
            fs::write(base.join(file), "").unwrap();
        }
        let names = |found: Vec<PathBuf>| -> Vec<String> {
            let mut names: Vec<_> =
                found.iter().map(|path| path.strip_prefix(&base).unwrap()).collect();
            names.sort();
            names.iter().map(|path| path.display().to_string()).collect()
        };
        let shown = names(of(&base).unwrap());
        let single = names(module(&base.join("fast")).unwrap());
        let project = module(&base.join("project"));
        let (no_module, no_modules) = (module(&base.join("notes")), of(&base.join("secrets")));
        fs::create_dir_all(base.join("other-1.dist-info")).unwrap();
        fs::write(base.join("other-1.dist-info/RECORD"), "").unwrap();
        let installed = of(&base).unwrap();
        fs::remove_dir_all(&base).unwrap();
        let fast = "fast.cpython-311-x86_64-linux-gnu.so";
        assert_eq!(shown, [fast, "single.py", "space", "tool", "tool.egg-info"]);
        assert_eq!(single, [fast]);
        assert!(no_module.is_err() && project.is_err());
        assert_eq!(no_modules.unwrap_err(), "it holds nothing that can be imported");
        assert_eq!(installed, [base]);
    }
}
