//! Where an interpreter's loader and libraries lie, if not where distributions keep them.
//!
//! In a store like Nix's every program names its own loader, and that finds libraries in places of its own.
//! Such an interpreter is asked for the map of its memory; any other is not, because that takes time. Of any
//! other the folders count that it and the modules of its library name themselves.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::host::elf::Elf;

/// Where distributions keep the loader. What it loads lies where plans look anyway.
const USUAL: [&str; 2] = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];

/// Stores that hold what every program of theirs needs, each in a folder of its own. All of one is for everybody
/// to read, and nobody can tell which parts a package needs.
const STORES: [&str; 2] = ["/nix/store", "/gnu/store"];

/// The modules of the standard library that need libraries of others.
const MODULES: [&str; 8] =
    ["_ctypes", "_ssl", "_sqlite3", "_bz2", "_lzma", "_zstd", "zlib", "pyexpat"];

/// Loads these modules, without `site`, so that no package runs, and says which libraries that took.
const QUESTION: &str = "
import sys
for name in sys.argv[1:]:
    try: __import__(name)
    except ImportError: pass
paths = {line.rstrip().split(None, 5)[-1] for line in open('/proc/self/maps')}
print(*sorted(path for path in paths if '.so' in path.rpartition('/')[2]), sep='\\n')
";

/// What an interpreter needs of loaders and libraries that lie in no usual place. `stdlib` are the folders of
/// its standard library.
pub(super) fn elsewhere(program: &Path, stdlib: &[PathBuf]) -> Vec<PathBuf> {
    let real = program.canonicalize().unwrap_or_else(|_| program.to_path_buf());
    if let Some(store) = STORES.iter().find(|store| real.starts_with(store)) {
        return vec![store.into()];
    }
    let loader = Elf::open(&real).and_then(|elf| elf.loader());
    match loader.filter(|found| !USUAL.iter().any(|one| found == Path::new(one))) {
        Some(loader) => mapped(program, loader),
        None => named(&real, stdlib),
    }
}

/// A loader of its own, and the folders in which it found libraries.
fn mapped(program: &Path, loader: PathBuf) -> Vec<PathBuf> {
    let asked = Command::new(program)
        .args(["-I", "-S", "-c", QUESTION])
        .args(MODULES)
        .stdin(Stdio::null())
        .output();
    let said = asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let mut paths = vec![loader];
    paths.extend(said.unwrap_or_default().lines().map(Path::new).map(|library| {
        match library.parent() {
            // With what lies beside it, which packages may need.
            Some(folder) if is_for_libraries(folder) => folder.to_path_buf(),
            _ => library.to_path_buf(),
        }
    }));
    paths
}

/// The folders that an interpreter and the modules of its library name as those of their libraries.
fn named(program: &Path, stdlib: &[PathBuf]) -> Vec<PathBuf> {
    let modules = stdlib.iter().filter_map(|folder| folder.join("lib-dynload").read_dir().ok());
    let modules = modules.flatten().filter_map(Result::ok).filter(|entry| {
        let name = entry.file_name();
        name.to_str().is_some_and(|name| MODULES.contains(&name.split('.').next().unwrap_or(name)))
    });
    let files = modules.map(|entry| entry.path()).chain([program.to_path_buf()]);
    let folders = files.filter_map(|file| Some(Elf::open(&file)?.folders(file.parent()?)));
    let is_whole =
        |folder: &PathBuf| folder.canonicalize().is_ok_and(|real| is_for_libraries(&real));
    let mut found: Vec<PathBuf> = folders.flatten().filter(is_whole).collect();
    found.sort();
    found.dedup();
    found
}

/// Whether a folder is there for libraries. Of any other only the library itself is shown to a jar.
fn is_for_libraries(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let shared = ["/lib", "/usr/lib", "/usr/local/lib"].iter().any(|one| folder == Path::new(one));
    !shared && (name.starts_with("lib") || name.ends_with("-linux-gnu"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_libraries_are_shown_whole() {
        for (folder, whole) in [
            ("/store/glibc/lib", true),
            ("/opt/x/lib64", true),
            ("/", false),
            ("/home/me", false),
            ("/usr/lib", false),
        ] {
            assert_eq!(is_for_libraries(Path::new(folder)), whole, "{folder}");
        }
    }
}
