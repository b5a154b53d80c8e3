//! What an ELF file says of where its loader and its libraries lie.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A segment that is loaded.
const LOAD: u64 = 1;
/// The segment with the table of what a loader must know.
const DYNAMIC: u64 = 2;
/// The segment that names the loader.
const INTERPRETER: u64 = 3;
/// In that table: a library that is needed, where its texts lie, and the two kinds of lists of folders.
const NEEDED: u64 = 1;
const TEXTS: u64 = 5;
const LISTS: [u64; 2] = [15, 29];
/// More of one kind than any interpreter or library has; what claims more is no such file.
const MOST: u64 = 4096;

/// A 64-bit ELF file of this byte order.
pub(super) struct Elf {
    file: File,
    /// Kind, offset in the file, address and length.
    segments: Vec<[u64; 4]>,
}

impl Elf {
    pub(super) fn open(path: &Path) -> Option<Elf> {
        let mut elf = Elf { file: File::open(path).ok()?, segments: vec![] };
        if elf.bytes(0, 6)? != *b"\x7fELF\x02\x01" {
            return None;
        }
        let (first, size, count) = (elf.number(32, 8)?, elf.number(54, 2)?, elf.number(56, 2)?);
        for index in 0..count {
            let at = first.checked_add(index * size)?;
            let field = |offset: u64, count| elf.number(at.checked_add(offset)?, count);
            let segment = [field(0, 4)?, field(8, 8)?, field(16, 8)?, field(32, 8)?];
            elf.segments.push(segment);
        }
        Some(elf)
    }

    /// The loader that a program names (`PT_INTERP`).
    pub(super) fn loader(&self) -> Option<PathBuf> {
        let [_, offset, _, length] = self.segment(INTERPRETER)?;
        self.text(offset, length).map(PathBuf::from)
    }

    /// The folders that it names for its libraries (`RPATH` and `RUNPATH`) and that hold one that it needs, of a
    /// file that lies in `origin`.
    pub(super) fn folders(&self, origin: &Path) -> Vec<PathBuf> {
        let table = self.table().unwrap_or_default();
        let (needs, lists) = (self.texts(&table, &[NEEDED]), self.texts(&table, &LISTS));
        let origin = origin.to_string_lossy();
        let folders = lists.iter().flat_map(|list| list.split(':'));
        folders
            .map(|folder| folder.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin).into())
            .filter(|folder: &PathBuf| folder.is_absolute())
            .filter(|folder| needs.iter().any(|library| folder.join(library).exists()))
            .collect()
    }

    /// What a loader must know, as pairs of a tag and a value.
    fn table(&self) -> Option<Vec<(u64, u64)>> {
        let [_, table, _, length] = self.segment(DYNAMIC)?;
        let entries = (0..(length / 16).min(MOST)).map_while(|index| {
            let at = table.checked_add(index * 16)?;
            Some((self.number(at, 8)?, self.number(at.checked_add(8)?, 8)?))
        });
        Some(entries.collect())
    }

    /// The texts in the table that have one of these tags.
    fn texts(&self, table: &[(u64, u64)], tags: &[u64]) -> Vec<String> {
        let texts = table.iter().find(|(tag, _)| *tag == TEXTS).map_or(0, |(_, at)| *at);
        let wanted = table.iter().filter(|(tag, _)| tags.contains(tag));
        wanted
            .filter_map(|(_, at)| self.text(self.offset(texts.checked_add(*at)?)?, MOST))
            .collect()
    }

    fn segment(&self, kind: u64) -> Option<[u64; 4]> {
        self.segments.iter().find(|segment| segment[0] == kind).copied()
    }

    /// Where in the file an address lies.
    fn offset(&self, address: u64) -> Option<u64> {
        self.segments.iter().filter(|segment| segment[0] == LOAD).find_map(|segment| {
            let [_, offset, start, length] = *segment;
            let within = address.checked_sub(start).filter(|within| *within < length)?;
            offset.checked_add(within)
        })
    }

    /// A text that ends in a zero.
    fn text(&self, at: u64, most: u64) -> Option<String> {
        let mut found = vec![0; usize::try_from(most.min(MOST)).ok()?];
        let count = self.file.read_at(&mut found, at).ok()?;
        let end = found[..count].iter().position(|byte| *byte == 0)?;
        String::from_utf8(found[..end].to_vec()).ok()
    }

    fn number(&self, at: u64, count: usize) -> Option<u64> {
        let mut wide = [0; 8];
        wide[..count].copy_from_slice(&self.bytes(at, count)?);
        Some(u64::from_le_bytes(wide))
    }

    fn bytes(&self, at: u64, count: usize) -> Option<Vec<u8>> {
        let mut found = vec![0; count];
        self.file.read_exact_at(&mut found, at).ok().map(|()| found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_names_its_loader_and_a_text_does_not() {
        let own = Elf::open(&std::env::current_exe().unwrap()).unwrap();
        let found = own.loader().unwrap();
        assert!(found.to_string_lossy().contains("/ld-linux") && found.exists(), "{found:?}");
        assert!(Elf::open(Path::new("/proc/self/status")).is_none());
        assert!(Elf::open(Path::new("/nothing")).is_none());
    }

    #[test]
    fn folders_of_libraries_count_if_something_needed_is_there() {
        let base = std::env::temp_dir().join(format!("carboy-elf-{}", std::process::id()));
        let copy = base.join("bin/program");
        for folder in ["bin", "lib", "empty"] {
            std::fs::create_dir_all(base.join(folder)).unwrap();
        }
        std::fs::write(base.join("lib/libc.so.6"), "").unwrap();
        std::fs::copy("/bin/true", &copy).unwrap();
        let list = format!("$ORIGIN/../lib:{}:relative", base.join("empty").display());
        let mut patchelf = std::process::Command::new("patchelf");
        let made = patchelf.args(["--set-rpath", &list]).arg(&copy).status();
        let found = Elf::open(&copy).unwrap().folders(copy.parent().unwrap());
        std::fs::remove_dir_all(&base).unwrap();
        if !made.is_ok_and(|status| status.success()) {
            println!("SKIPPED: patchelf is not installed");
            return;
        }
        assert_eq!(found, [base.join("bin/../lib")]);
    }
}
