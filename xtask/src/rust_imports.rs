//! Which file of a crate uses which: by `use`, or by a path that it writes out.
//!
//! A name that a module only passes on (`pub use`) is traced to the file that defines it. What a
//! `mod.rs` or `lib.rs` passes on from below is how its folder is presented and not an arrow.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::circles::Uses;
use crate::rust_tokens::{Token, tokens, without_tests};
use crate::tree::Tree;

/// The names of a module or an item, from the root of the crate.
type Path = Vec<String>;

/// One name that a `use` brings in.
struct Import {
    path: Path,
    local: String,
    is_glob: bool,
    /// It is passed on.
    is_public: bool,
}

/// A module: a file, or a part of one.
#[derive(Default)]
struct Module {
    file: String,
    imports: Vec<Import>,
    defined: BTreeSet<String>,
    /// Paths that its code writes out.
    paths: Vec<Path>,
}

/// Where a path leads.
enum Target {
    Module(Path),
    /// Something that this module defines.
    Item(Path),
}

struct Modules(BTreeMap<Path, Module>);

/// The arrows of the crate whose sources are in `folder`, which ends with `/`.
pub(crate) fn uses(tree: &Tree, folder: &str) -> io::Result<Uses> {
    let mut modules = BTreeMap::new();
    let mut of_tests = BTreeSet::new();
    for file in tree.ending(".rs").filter(|file| file.starts_with(folder)) {
        let path = module_path(&file[folder.len()..]);
        let (tokens, tests) = without_tests(&tokens(&tree.text(file)?));
        of_tests.extend(tests.into_iter().map(|name| below(&path, &name)));
        Reader { tokens: &tokens, place: 0, file }.read(path, &mut modules);
    }
    modules.retain(|path: &Path, _| !of_tests.iter().any(|test: &Path| path.starts_with(test)));
    Ok(Modules(modules).uses())
}

/// `[plan, base]` for `plan/base.rs`, `[plan]` for `plan/mod.rs`, nothing for the root.
fn module_path(file: &str) -> Path {
    let mut path: Path = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if path.last().is_some_and(|last| last == "mod") || path == ["lib"] || path == ["main"] {
        path.pop();
    }
    path
}

fn below(path: &[String], name: &str) -> Path {
    let mut path = path.to_vec();
    path.push(name.to_owned());
    path
}

impl Modules {
    fn uses(&self) -> Uses {
        let mut uses = Uses::new();
        for (at, module) in &self.0 {
            let mut files = BTreeSet::new();
            for import in &module.imports {
                let target = match self.resolve(at, &import.path, 0) {
                    Some(Target::Item(owner)) => owner,
                    Some(Target::Module(owner)) if import.is_glob => owner,
                    // What is used of a module shows in the paths that begin with its name.
                    _ => continue,
                };
                if !(import.is_public && target.starts_with(at)) {
                    files.extend(self.0.get(&target).map(|target| target.file.clone()));
                }
            }
            for path in &module.paths {
                if let Some(Target::Item(owner)) = self.resolve(at, path, 0) {
                    files.extend(self.0.get(&owner).map(|owner| owner.file.clone()));
                }
            }
            files.remove(&module.file);
            uses.entry(module.file.clone()).or_default().extend(files);
        }
        uses
    }

    /// Where a path written in the module `at` leads; nothing if it leaves the crate.
    fn resolve(&self, at: &[String], path: &[String], depth: usize) -> Option<Target> {
        // Names that are passed on in a circle lead nowhere, and neither does the compiler follow them.
        if depth > 20 {
            return None;
        }
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.walk(vec![], rest, depth),
            "self" => self.walk(at.to_vec(), rest, depth),
            "super" => {
                let above = at.split_last().map_or(vec![], |(_, above)| above.to_vec());
                match rest.first().map(String::as_str) {
                    Some("super") => self.resolve(&above, rest, depth + 1),
                    _ => self.walk(above, rest, depth),
                }
            }
            name if self.0.contains_key(&below(at, name)) => self.walk(at.to_vec(), path, depth),
            name => {
                let import = self.import(at, name).filter(|import| import.path != path)?;
                let path: Path = import.path.iter().chain(rest).cloned().collect();
                self.resolve(at, &path, depth + 1)
            }
        }
    }

    fn import(&self, at: &[String], name: &str) -> Option<&Import> {
        let named = |import: &&Import| !import.is_glob && import.local == name;
        self.0.get(at)?.imports.iter().find(named)
    }

    fn walk(&self, mut at: Path, names: &[String], depth: usize) -> Option<Target> {
        for (place, name) in names.iter().enumerate() {
            let inner = below(&at, name);
            if self.0.contains_key(&inner) {
                at = inner;
                continue;
            }
            let module = self.0.get(&at)?;
            if module.defined.contains(name) {
                return Some(Target::Item(at));
            }
            let rest = &names[place + 1..];
            let onward = |path: &[String], rest: &[String]| {
                let path: Path = path.iter().chain(rest).cloned().collect();
                self.resolve(&at, &path, depth + 1)
            };
            if let Some(import) = self.import(&at, name) {
                // A name of another crate that is passed on here has its home here.
                return onward(&import.path, rest).or(Some(Target::Item(at)));
            }
            let globs = module.imports.iter().filter(|import| import.is_glob);
            let found =
                globs.filter_map(|glob| onward(&glob.path, &names[place..])).find(|found| {
                    matches!(found, Target::Item(owner)
                    if self.0.get(owner).is_some_and(|owner| owner.defined.contains(name)))
                });
            return found.or(Some(Target::Item(at)));
        }
        Some(Target::Module(at))
    }
}

/// Reads the modules of one file.
struct Reader<'a> {
    tokens: &'a [Token],
    place: usize,
    file: &'a str,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<&Token> {
        self.place += 1;
        self.tokens.get(self.place - 1)
    }

    fn peek(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.place + ahead)
    }

    /// Reads a module up to the brace that closes it, or to the end of the file.
    fn read(&mut self, path: Path, modules: &mut BTreeMap<Path, Module>) {
        let mut module = Module { file: self.file.to_owned(), ..Module::default() };
        let mut depth = 0_usize;
        let mut is_public = false;
        while let Some(token) = self.next().cloned() {
            match token {
                Token::Sign('{') => depth += 1,
                Token::Sign('}') if depth == 0 => break,
                Token::Sign('}') => depth -= 1,
                Token::Word(word) => {
                    let was_public = is_public;
                    is_public = false;
                    match (word.as_str(), self.peek(0).cloned(), self.peek(1).cloned()) {
                        ("pub", next, _) => {
                            if next.is_some_and(|next| next.is('(')) {
                                while self.next().is_some_and(|token| !token.is(')')) {}
                            }
                            is_public = true;
                        }
                        ("use", ..) => self.tree(&[], was_public, &mut module.imports),
                        ("mod", Some(Token::Word(name)), Some(Token::Sign('{'))) => {
                            self.place += 2;
                            self.read(below(&path, &name), modules);
                        }
                        (
                            "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static"
                            | "union",
                            Some(Token::Word(name)),
                            _,
                        ) => {
                            module.defined.insert(name);
                        }
                        ("macro_rules", Some(Token::Sign('!')), Some(Token::Word(name))) => {
                            module.defined.insert(name);
                        }
                        (_, Some(Token::Path), _) => module.paths.push(self.path(word)),
                        _ => {}
                    }
                }
                _ => is_public = false,
            }
        }
        modules.insert(path, module);
    }

    /// The rest of a path that begins with `first`.
    fn path(&mut self, first: String) -> Path {
        let mut path = vec![first];
        while let (Some(Token::Path), Some(Token::Word(word))) = (self.peek(0), self.peek(1)) {
            path.push(word.clone());
            self.place += 2;
        }
        path
    }

    /// One branch of a `use`, up to what ends it.
    fn tree(&mut self, stem: &[String], is_public: bool, imports: &mut Vec<Import>) {
        let mut path = stem.to_vec();
        let mut local = None;
        let mut is_glob = false;
        loop {
            match self.next().cloned() {
                Some(Token::Word(word)) if word == "as" => {
                    local = self.next().and_then(Token::word).map(str::to_owned);
                }
                Some(Token::Word(word)) if word == "self" && !path.is_empty() => {}
                Some(Token::Word(word)) => path.push(word),
                Some(Token::Path) => {}
                Some(Token::Sign('*')) => is_glob = true,
                Some(Token::Sign('{')) => {
                    loop {
                        self.tree(&path, is_public, imports);
                        match self.peek(0) {
                            Some(Token::Sign(',')) => self.place += 1,
                            _ => break,
                        }
                    }
                    // The closing brace; what follows ends this branch too.
                    self.place += 1;
                    return;
                }
                None => return,
                _ => break,
            }
        }
        // What ended it is for whoever asked.
        self.place -= 1;
        if !path.is_empty() {
            let local = local.or_else(|| path.last().cloned()).unwrap_or_default();
            imports.push(Import { path, local, is_glob, is_public });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arrows of a crate with these files, as `from to`.
    fn arrows(name: &str, files: &[(&str, &str)]) -> Vec<String> {
        let root = std::env::temp_dir().join(format!("xtask-rust-{}-{name}", std::process::id()));
        for (file, text) in files {
            let path = root.join("src").join(file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let found = uses(&Tree::read(&root).expect("a tree"), "src/").expect("Rust");
        std::fs::remove_dir_all(&root).expect("a folder");
        let arrows = found.iter().flat_map(|(from, all)| all.iter().map(move |to| (from, to)));
        let short = |file: &str| file.trim_start_matches("src/").trim_end_matches(".rs").to_owned();
        arrows.map(|(from, to)| format!("{} {}", short(from), short(to))).collect()
    }

    #[test]
    fn a_name_that_is_passed_on_is_its_definers() {
        let found = arrows(
            "facade",
            &[
                ("lib.rs", "mod a; mod b; pub use a::A; pub use b::{B as C, inner::D};"),
                ("a.rs", "use crate::{C, D}; pub struct A;"),
                ("b/mod.rs", "pub mod inner; pub struct B; pub(crate) use self::inner::E;"),
                ("b/inner.rs", "pub struct D; pub struct E;"),
                ("c.rs", "use crate::b::E; use crate::b; fn f() { b::inner::g() }"),
            ],
        );
        assert_eq!(found, ["a b/inner", "a b/mod", "c b/inner"]);
    }

    #[test]
    fn what_a_room_uses_of_its_own_files_is_an_arrow() {
        let found = arrows(
            "room",
            &[
                ("lib.rs", "mod a;"),
                ("a/mod.rs", "mod b; use b::B; pub struct A;"),
                ("a/b.rs", "use super::A; pub struct B;"),
            ],
        );
        assert_eq!(found, ["a/b a/mod", "a/mod a/b"]);
    }

    #[test]
    fn paths_that_are_written_out_count_and_tests_do_not() {
        let found = arrows(
            "paths",
            &[
                ("main.rs", "mod a; mod b; mod c; #[cfg(test)] mod t; fn main() { a::run(); }"),
                (
                    "a.rs",
                    "pub fn run() { crate::b::go(); } #[cfg(test)] mod tests { use crate::c::x; }",
                ),
                ("b.rs", "use std::io; pub fn go() { io::stdin(); } // crate::c::x()"),
                ("c.rs", "mod inner { use super::y; use super::super::a::run; } fn y() {}"),
                ("t.rs", "use crate::a::run;"),
            ],
        );
        assert_eq!(found, ["a b", "c a", "main a"]);
    }

    #[test]
    fn globs_lead_to_whoever_defines_a_name() {
        let found = arrows(
            "globs",
            &[
                ("lib.rs", "mod a; mod b; pub use a::*;"),
                ("a.rs", "pub struct A;"),
                ("b.rs", "use crate::A;"),
                ("c.rs", "use crate::a::*;"),
            ],
        );
        assert_eq!(found, ["b a", "c a"]);
    }
}
