//! Which distributions an interpreter has installed, as its environment outside says, and which of them code
//! names.
//!
//! Only names of folders and their lists are read, and the text of the code; nothing runs. What code imports
//! by other means than a statement is not seen. A changed version is: the digest of all of them changes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::digest::sha256;
use crate::record::VersionsOf;

/// The most bytes that are read of a list.
const MOST: u64 = 8 << 20;

/// Whose word names and versions are.
const SOURCE: &str = "dist-info and import statements";

/// What is installed.
struct Installed {
    /// The distributions that have modules of a name: each its own name and version.
    by_module: BTreeMap<String, BTreeSet<(String, String)>>,
    sha256: String,
}

/// The distributions of an interpreter, looked up once, when they are first needed.
pub(crate) struct Packages {
    folders: Vec<PathBuf>,
    installed: OnceLock<Installed>,
}

impl Packages {
    /// Those that lie in these folders.
    pub fn new(folders: Vec<PathBuf>) -> Packages {
        Packages { folders, installed: OnceLock::new() }
    }

    /// Looks them up, which takes a while.
    pub fn look(&self) {
        self.installed.get_or_init(|| look(&self.folders));
    }

    /// Whether they were looked up.
    pub fn are_known(&self) -> bool {
        self.installed.get().is_some()
    }

    /// Adds what is installed, and which of it the code names.
    pub fn complete(&self, mut versions: VersionsOf, code: &str) -> VersionsOf {
        let installed = self.installed.get_or_init(|| look(&self.folders));
        versions.environment_sha256 = Some(installed.sha256.clone());
        let preloaded = versions.preload.iter().filter_map(|name| name.split('.').next());
        let named = preloaded.chain(imports(code));
        let found = named.filter_map(|module| installed.by_module.get(module)).flatten();
        versions.packages = found.cloned().collect();
        if !versions.packages.is_empty() {
            versions.packages_from = SOURCE.into();
        }
        versions
    }
}

/// The top-level modules that `import` statements name. A line of a string that looks like one counts too.
fn imports(code: &str) -> impl Iterator<Item = &str> {
    let statements = code.split(['\n', ';']).map(str::trim_start);
    let lists = statements.filter_map(|line| match line.strip_prefix("import ") {
        Some(list) => Some(list),
        None => line.strip_prefix("from ")?.split_once(" import").map(|(module, _)| module),
    });
    lists.flat_map(|list| list.split(',')).filter_map(|item| {
        item.trim_start().split(|char: char| !char.is_alphanumeric() && char != '_').next()
    })
}

fn look(folders: &[PathBuf]) -> Installed {
    let mut by_module = BTreeMap::<String, BTreeSet<_>>::new();
    let mut all = BTreeSet::new();
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let Some(stem) = name.to_str().and_then(|name| name.strip_suffix(".dist-info")) else {
            continue;
        };
        let Some((name, version)) = stem.rsplit_once('-') else { continue };
        all.insert(format!("{name}=={version}\n"));
        for module in modules(&entry.path()) {
            by_module.entry(module).or_default().insert((name.to_owned(), version.to_owned()));
        }
    }
    Installed { by_module, sha256: sha256(all.into_iter().collect::<String>()) }
}

/// The top-level modules that a distribution lists.
fn modules(folder: &Path) -> BTreeSet<String> {
    let top_level = read(&folder.join("top_level.txt"));
    let listed: BTreeSet<String> =
        top_level.lines().map(str::trim).filter(|line| is_name(line)).map(Into::into).collect();
    if !listed.is_empty() {
        return listed;
    }
    let record = read(&folder.join("RECORD"));
    let files = record.lines().filter_map(|line| line.split(',').next());
    files
        .filter_map(|file| match file.split_once('/') {
            Some((folder, rest)) => rest.contains(".py").then_some(folder),
            None => file
                .split_once('.')
                .filter(|(_, end)| end.ends_with("py") || end.ends_with("so"))
                .map(|(stem, _)| stem),
        })
        .filter(|name| is_name(name))
        .map(Into::into)
        .collect()
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|char| char.is_alphanumeric() || char == '_')
}

/// The text of a file; a distribution without it lists nothing.
fn read(file: &Path) -> String {
    let mut text = Vec::new();
    let opened = fs::File::open(file).and_then(|file| file.take(MOST).read_to_end(&mut text));
    opened.map(|_| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_name_modules() {
        let code = "import numpy as np, pandas.core\nif 1:\n    from sklearn.linear_model import X; import os\n\
                    # import not\nimportant = 'from here'\nfrom . import own\n";
        let found: Vec<_> = imports(code).collect();
        assert_eq!(found, ["numpy", "pandas", "sklearn", "os", ""]);
    }
}
