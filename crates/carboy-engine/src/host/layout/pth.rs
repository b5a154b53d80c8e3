//! What `.pth` files and the finders of editable installs name, read as text. The interpreter would execute
//! some of their lines; that happens behind the walls, never here.

use std::path::{Path, PathBuf};

/// No list of folders is longer.
const MOST: u64 = 1 << 20;

/// Something that a file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// A directory or an archive in which modules are looked for.
    Place(PathBuf),
    /// One module or package.
    Module(PathBuf),
    /// An editable install of a kind whose modules only executing it would tell.
    Unknown(PathBuf),
}

/// What a `.pth` file in `site` names, each with the file that says so: itself, or a finder that it installs.
pub(super) fn read(file: &Path, site: &Path) -> Result<Vec<(Named, PathBuf)>, String> {
    let text = contents(file)?;
    let mut all = Vec::new();
    for line in text.trim_start_matches('\u{feff}').lines() {
        let line = line.trim_end();
        if let Some(statement) = line.strip_prefix("import ").or(line.strip_prefix("import\t")) {
            let is_end = |letter: char| !letter.is_alphanumeric() && letter != '_';
            let module = statement.trim_start().split(is_end).next().unwrap_or_default();
            let finder = site.join(format!("{module}.py"));
            if module.contains("editable") && finder.is_file() {
                let mut named = modules(&contents(&finder)?);
                if named.is_empty() {
                    named.push(Named::Unknown(finder.clone()));
                }
                all.extend(named.into_iter().map(|one| (one, finder.clone())));
            }
        } else if !line.trim().is_empty() && !line.starts_with('#') {
            all.push((Named::Place(site.join(line)), file.to_path_buf()));
        }
    }
    Ok(all)
}

/// The modules and namespaces in the text of a finder: of setuptools', which keeps them in two tables, or of
/// the package `editables`, which has a call for each.
fn modules(finder: &str) -> Vec<Named> {
    let is_table = |line: &&str| line.starts_with("MAPPING") || line.starts_with("NAMESPACES");
    let is_call = |line: &&str| line.trim_start().starts_with("F.map_module(");
    let lines = finder.lines().filter(|line| is_table(line) || is_call(line));
    let paths = lines.flat_map(strings).filter(|text| text.starts_with('/')).map(PathBuf::from);
    let packages = paths.map(|path| match path.file_name() {
        Some(name) if name == "__init__.py" => {
            path.parent().map_or(path.clone(), Path::to_path_buf)
        }
        _ => path,
    });
    packages.map(Named::Module).collect()
}

/// The string literals in a line of Python, as `repr` writes them.
fn strings(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut letters = line.chars();
    while let Some(quote) = letters.by_ref().find(|letter| ['\'', '"'].contains(letter)) {
        let mut text = String::new();
        loop {
            match letters.next() {
                None => return found,
                Some(end) if end == quote => break,
                Some('\\') => text.extend(letters.next()),
                Some(letter) => text.push(letter),
            }
        }
        found.push(text);
    }
    found
}

fn contents(file: &Path) -> Result<String, String> {
    use std::io::Read;
    use std::os::unix::fs::OpenOptionsExt;
    let failed = |error: std::io::Error| format!("{} cannot be read: {error}", file.display());
    let mut bytes = Vec::new();
    // What is no plain file is not waited for.
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let open = std::fs::OpenOptions::new().read(true).custom_flags(nonblock).open(file);
    let open = open.map_err(failed)?;
    if !open.metadata().map_err(failed)?.is_file() {
        return Err(format!("{} is not a plain file", file.display()));
    }
    open.take(MOST).read_to_end(&mut bytes).map_err(failed)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_and_calls_of_finders_name_modules() {
        let setuptools = "import sys\nMAPPING: dict[str, str] = {'it\\'s': '/a b/x', \"y\": '/p/y'}\n\
                          NAMESPACES: dict[str, list[str]] = {'n': ['/p/n']}\nPATH_PLACEHOLDER = '/no'\n";
        let module = |path: &str| Named::Module(path.into());
        assert_eq!(modules(setuptools), [module("/a b/x"), module("/p/y"), module("/p/n")]);
        let editables = "from editables.redirector import RedirectingFinder as F\nF.install()\n\
                         F.map_module('foo', '/p/foo/__init__.py')\nF.map_module('bar', '/p/bar.py')\n";
        assert_eq!(modules(editables), [module("/p/foo"), module("/p/bar.py")]);
        assert_eq!(modules("MAPPING = {'unfinished"), []);
    }
}
