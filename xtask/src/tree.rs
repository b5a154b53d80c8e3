//! The files of the repository, found once and read by every check.
//!
//! The walk does not ask git: the checks also hold in an unpacked source archive. What is not
//! ours (build output, caches, fuzz inputs) is left out by folder name.

use std::io;
use std::path::{Path, PathBuf};

/// Folders that hold nothing we wrote. Hidden folders are left out as well.
const SKIPPED: [&str; 6] = ["target", "corpus", "artifacts", "__pycache__", "venv", "node_modules"];

/// The root and the sorted paths below it, written with `/`.
pub(crate) struct Tree {
    root: PathBuf,
    files: Vec<String>,
}

impl Tree {
    /// Walks the folders below `root`. Symbolic links are neither followed nor listed.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(root.join(&folder))? {
                let entry = entry?;
                let kind = entry.file_type()?;
                let Ok(name) = entry.file_name().into_string() else {
                    return Err(io::Error::other(format!("{:?} is not UTF-8", entry.path())));
                };
                if kind.is_file() {
                    files.push(format!("{folder}{name}"));
                } else if kind.is_dir() && !name.starts_with('.') && !SKIPPED.contains(&&*name) {
                    folders.push(format!("{folder}{name}/"));
                }
            }
        }
        files.sort();
        Ok(Self { root: root.to_path_buf(), files })
    }

    /// Every file, as a path from the root.
    pub(crate) fn files(&self) -> &[String] {
        &self.files
    }

    /// The files whose name ends with `ending`.
    pub(crate) fn ending<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = &'a str> {
        self.files.iter().map(String::as_str).filter(move |path| path.ends_with(ending))
    }

    /// Whether a file or a folder stands at this path from the root.
    pub(crate) fn exists(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// The content of a file, whatever it is.
    pub(crate) fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        std::fs::read(self.root.join(path))
            .map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))
    }

    /// The text of a file, with the path in the error if it cannot be read.
    pub(crate) fn text(&self, path: &str) -> io::Result<String> {
        std::fs::read_to_string(self.root.join(path))
            .map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))
    }
}
