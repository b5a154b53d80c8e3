//! Where an interpreter's loader and libraries lie, if not where distributions keep them.
//!
//! In a store like Nix's every program names its own loader, and that finds libraries in places of its own.
//! Such an interpreter is asked for the map of its memory; any other is not, because that takes time.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where distributions keep the loader. What it loads lies where plans look anyway.
const USUAL: [&str; 2] = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];

/// Loads the extension modules that need libraries, without `site`, so that no package runs.
const QUESTION: &str = "
for name in ('_ctypes', '_ssl', '_sqlite3', '_bz2', '_lzma', '_zstd', 'zlib', 'pyexpat'):
    try: __import__(name)
    except ImportError: pass
paths = {line.rstrip().split(None, 5)[-1] for line in open('/proc/self/maps')}
print(*sorted(path for path in paths if '.so' in path.rpartition('/')[2]), sep='\\n')
";

/// The loader and the folders of libraries of a program whose loader lies in no usual place.
pub(super) fn elsewhere(program: &Path) -> Vec<PathBuf> {
    let Some(loader) =
        loader_of(program).filter(|found| !USUAL.iter().any(|one| found == Path::new(one)))
    else {
        return vec![];
    };
    let asked =
        Command::new(program).args(["-I", "-S", "-c", QUESTION]).stdin(Stdio::null()).output();
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

/// Whether a folder is there for libraries. Of any other only the library itself is shown to a jar.
fn is_for_libraries(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let shared = ["/lib", "/usr/lib", "/usr/local/lib"].iter().any(|one| folder == Path::new(one));
    !shared && (name.starts_with("lib") || name.ends_with("-linux-gnu"))
}

/// The loader that a program names (`PT_INTERP`), if it is a 64-bit ELF file of this byte order.
fn loader_of(program: &Path) -> Option<PathBuf> {
    let file = File::open(program).ok()?;
    let bytes = |at: u64, count: usize| {
        let mut found = vec![0; count];
        file.read_exact_at(&mut found, at).ok().map(|()| found)
    };
    let number = |at: u64, count: usize| {
        let mut wide = [0; 8];
        wide[..count].copy_from_slice(&bytes(at, count)?);
        Some(u64::from_le_bytes(wide))
    };
    if bytes(0, 6)? != *b"\x7fELF\x02\x01" {
        return None;
    }
    let (first, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let at = (0..count)
        .map(|index| first.saturating_add(index * size))
        .find(|at| number(*at, 4) == Some(3))?;
    let (start, length) = (number(at + 8, 8)?, number(at + 32, 8)?);
    let text = bytes(start, usize::try_from(length.min(4096)).ok()?)?;
    let text = text.split(|byte| *byte == 0).next()?;
    Some(String::from_utf8(text.to_vec()).ok()?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_names_its_loader_and_a_text_does_not() {
        let own = std::env::current_exe().unwrap();
        let found = loader_of(&own).unwrap();
        assert!(found.to_string_lossy().contains("/ld-linux") && found.exists(), "{found:?}");
        assert_eq!(loader_of(Path::new("/proc/self/status")), None);
        assert_eq!(loader_of(Path::new("/nothing")), None);
    }

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
