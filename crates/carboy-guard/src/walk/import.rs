//! Imports.

use ruff_python_ast::{Alias, StmtImportFrom};
use ruff_text_size::Ranged;

use crate::names::shown;
use crate::profile::TABLES;
use crate::rule::Rule;
use crate::walk::walker::{Seen, Walker};

impl<'a> Walker<'a> {
    /// `import a.b`, with or without another name.
    pub fn import(&mut self, alias: &'a Alias) {
        let path = alias.name.as_str();
        self.see(Seen::Module, path);
        if !self.grants.reaches(path) {
            self.not_granted(path, alias.name.range());
        }
    }

    /// `from a.b import c`.
    pub fn import_from(&mut self, node: &'a StmtImportFrom) {
        let path = node.module.as_ref().map_or("", |module| module.as_str());
        self.see(Seen::Module, &format!("{}{path}", ".".repeat(node.level as usize)));
        if node.level > 0 {
            let message = "relative import, but the program is not part of a package";
            let instead = "import the module by its full name";
            self.refuse(Rule::RelativeImport, node.range(), message, instead);
            return;
        }
        if !self.grants.reaches(path) {
            let range = node.module.as_ref().map_or(node.range(), Ranged::range);
            self.not_granted(path, range);
            return;
        }
        for alias in &node.names {
            let name = alias.name.as_str();
            if name == "*" {
                let message =
                    format_args!("star import from {} is not allowed by this profile", shown(path));
                let instead = "import the names that you need";
                self.refuse(Rule::StarImport, alias.range(), message, instead);
            } else if !self.grants.hands_out(path, name) {
                self.not_handed_out(path, name, alias.name.range());
            }
        }
    }

    fn not_granted(&mut self, path: &str, range: ruff_text_size::TextRange) {
        let first = path.split('.').next().unwrap_or(path);
        let profile = self.grants.name;
        let message =
            format_args!("the module {} is not allowed by the profile `{profile}`", shown(path));
        let usual = "use a module that is allowed, such as math, json, re, collections, datetime, itertools";
        let instead = TABLES.names.instead.get(first).map_or(usual, String::as_str);
        self.refuse(Rule::ImportNotGranted, range, message, instead);
    }

    /// What to write instead of a name that the profile does not allow.
    pub fn module_instead(&self, module: &str, name: &str) -> &'static str {
        match (module, name) {
            ("os", "system" | "popen") => {
                "no other program can be started; do the work in Python with the packages that \
                 are installed"
            }
            ("os", name) if name.starts_with("exec") || name.starts_with("spawn") => {
                "no other program can be started; do the work in Python with the packages that \
                 are installed"
            }
            ("os", "fork" | "kill") => {
                "processes cannot be started or signalled; use threads or plain loops"
            }
            ("os", "_exit") => {
                "end by reaching the last line, or with sys.exit(), not with os._exit()"
            }
            ("concurrent.futures", "ProcessPoolExecutor") => {
                "processes cannot be started; use threads: ThreadPoolExecutor"
            }
            ("concurrent.futures", "InterpreterPoolExecutor") | ("concurrent", "interpreters") => {
                "other interpreters cannot be started; use threads: ThreadPoolExecutor"
            }
            ("numpy", "memmap" | "fromfile") => "use numpy.load or numpy.loadtxt",
            ("joblib", "load" | "dump" | "Memory") => {
                "loading a joblib file runs code; use json, or numpy.save without pickles"
            }
            ("os", _) => "use os.path, pathlib or open for files",
            ("sys", "modules" | "path" | "meta_path") => "use an import statement",
            ("sys", _) => "keep what you need in variables of your own",
            ("asyncio", _) => {
                "there are no other processes and no network; take data from the inputs"
            }
            ("pandas", "eval") => "write the expression as Python code",
            ("pandas", "read_pickle") => "use read_csv, read_json or read_parquet",
            ("sympy", "sympify" | "S" | "parse_expr" | "lambdify") => {
                "build the expression from symbols"
            }
            ("string", "Formatter") => "use f-strings or str.format",
            ("typing", "get_type_hints" | "evaluate_forward_ref") => {
                "write the types where you need them"
            }
            ("dataclasses", "make_dataclass") => "write a class statement",
            _ if TABLES.names.stdlib.contains(name) => "import that module directly",
            _ if name.starts_with('_') => "use the module's public names",
            _ => "use another function of the module",
        }
    }
}
