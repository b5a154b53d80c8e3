//! Which file of a Python package imports which, wherever in the file the import stands: one in a
//! function or for a type checker only binds two files together as much as one at the top.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use ruff_python_ast::Stmt;
use ruff_python_ast::statement_visitor::{StatementVisitor, walk_stmt};

use crate::circles::Uses;
use crate::tree::Tree;

/// One name that a module imports: `from module import name`, or `import module`.
struct Import {
    module: String,
    name: Option<String>,
    /// What it is called in the file.
    local: String,
}

/// One file of a package.
struct Module {
    file: String,
    imports: Vec<Import>,
}

/// The arrows of the package in `folder`, which ends with `/`.
pub(crate) fn uses(tree: &Tree, folder: &str) -> io::Result<Uses> {
    let package = folder.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let mut modules = BTreeMap::new();
    for file in tree.ending(".py").filter(|file| file.starts_with(folder)) {
        let name = module_name(package, &file[folder.len()..]);
        let imports = imports(&tree.text(file)?, &name, file.ends_with("/__init__.py"))
            .map_err(|error| io::Error::other(format!("{file}: {error}")))?;
        modules.insert(name, Module { file: file.to_owned(), imports });
    }
    let mut uses = Uses::new();
    for module in modules.values() {
        let arrows = uses.entry(module.file.clone()).or_default();
        arrows.extend(module.imports.iter().filter_map(|import| file_of(&modules, import)));
        arrows.remove(&module.file);
    }
    Ok(uses)
}

/// `carboy.contracts.shop` for `contracts/shop.py`.
fn module_name(package: &str, path: &str) -> String {
    let path = path.trim_end_matches(".py");
    let path = path.strip_suffix("__init__").unwrap_or(path).trim_end_matches('/');
    let parts = path.split('/').filter(|part| !part.is_empty());
    std::iter::once(package).chain(parts).collect::<Vec<_>>().join(".")
}

/// The file that an import leads to: a module, or the one that defines the name.
fn file_of(modules: &BTreeMap<String, Module>, import: &Import) -> Option<String> {
    let mut seen = BTreeSet::new();
    let mut import = import;
    loop {
        let name = import.name.as_deref().unwrap_or_default();
        if let Some(module) = modules.get(&format!("{}.{name}", import.module)) {
            return Some(module.file.clone());
        }
        let module = modules.get(&import.module)?;
        let passed_on = module.imports.iter().find(|from| from.local == name && !name.is_empty());
        match passed_on {
            Some(next) if modules.contains_key(&next.module) && seen.insert(&module.file) => {
                import = next;
            }
            _ => return Some(module.file.clone()),
        }
    }
}

#[derive(Default)]
struct Found<'a> {
    statements: Vec<&'a Stmt>,
}

impl<'a> StatementVisitor<'a> for Found<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if matches!(statement, Stmt::Import(_) | Stmt::ImportFrom(_)) {
            self.statements.push(statement);
        }
        walk_stmt(self, statement);
    }
}

fn imports(text: &str, module: &str, is_package: bool) -> Result<Vec<Import>, String> {
    let parsed = ruff_python_parser::parse_module(text).map_err(|error| error.to_string())?;
    let mut found = Found::default();
    found.visit_body(&parsed.syntax().body);
    let mut imports = Vec::new();
    for statement in found.statements {
        match statement {
            Stmt::Import(import) => imports.extend(import.names.iter().map(|alias| Import {
                module: alias.name.to_string(),
                name: None,
                local: alias.asname.as_ref().unwrap_or(&alias.name).to_string(),
            })),
            Stmt::ImportFrom(import) => {
                let from = import.module.as_ref().map_or("", |name| name.as_str());
                let base = base(module, is_package, import.level, from);
                imports.extend(import.names.iter().map(|alias| Import {
                    module: base.clone(),
                    name: Some(alias.name.to_string()),
                    local: alias.asname.as_ref().unwrap_or(&alias.name).to_string(),
                }));
            }
            _ => {}
        }
    }
    Ok(imports)
}

/// The module that so many dots and a name mean.
fn base(module: &str, is_package: bool, dots: u32, name: &str) -> String {
    if dots == 0 {
        return name.to_owned();
    }
    let up = dots as usize - usize::from(is_package);
    let parts: Vec<&str> = module.split('.').collect();
    let mut parts = parts[..parts.len().saturating_sub(up)].to_vec();
    parts.extend(name.split('.').filter(|part| !part.is_empty()));
    parts.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(files: &[(&str, &str)]) -> Vec<String> {
        let root = std::env::temp_dir().join(format!(
            "xtask-python-{}-{}",
            std::process::id(),
            files.len()
        ));
        for (file, text) in files {
            let path = root.join("p").join(file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let found = uses(&Tree::read(&root).expect("a tree"), "p/").expect("Python");
        std::fs::remove_dir_all(&root).expect("a folder");
        let arrows = found.iter().flat_map(|(from, all)| all.iter().map(move |to| (from, to)));
        let short = |file: &str| file.trim_start_matches("p/").trim_end_matches(".py").to_owned();
        arrows.map(|(from, to)| format!("{} {}", short(from), short(to))).collect()
    }

    #[test]
    fn imports_are_found_wherever_they_stand() {
        let found = package(&[
            ("__init__.py", "from ._a import A as B\n"),
            ("_a.py", "if TYPE_CHECKING:\n    from . import _b\n"),
            ("_b.py", "def f():\n    from ._c import x\n'''from ._a import A'''\n"),
            ("_c.py", "import os\nimport p._a\n"),
        ]);
        assert_eq!(found, ["__init__ _a", "_a _b", "_b _c", "_c _a"]);
    }

    #[test]
    fn a_name_that_a_package_passes_on_is_its_definers() {
        let found = package(&[
            ("__init__.py", "from ._a import A as B\nfrom .q import C\n"),
            ("_a.py", "A = 1\n"),
            ("_b.py", "from . import B, D\nfrom p import C\n"),
            ("q/__init__.py", "from .r import C\n"),
            ("q/r.py", "from .._a import A\n"),
        ]);
        assert_eq!(
            found,
            [
                "__init__ _a",
                "__init__ q/r",
                "_b __init__",
                "_b _a",
                "_b q/r",
                "q/__init__ q/r",
                "q/r _a"
            ]
        );
    }
}
