//! What a language profile allows, from the files in `profiles/language`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use carboy_protocol::{LanguagePolicy, LanguageProfile};
use serde::Deserialize;
use serde_json::{Value, json};

/// Names of either set.
type Names = BTreeSet<String>;

/// The names that decide whether an attribute is harmless.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NameTable {
    pub plain: Names,
    pub methods: Names,
    pub only_defined: Names,
    of_modules: Names,
    pub underscores: BTreeSet<char>,
    never_by_another_name: Names,
    pub underscored: Names,
    pub interpreter: Names,
    pub texts: Names,
    pub class_decorators: Names,
    pub stdlib: Names,
    pub instead: BTreeMap<String, String>,
}

/// Which names of a module may be used.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
pub(crate) enum Grant {
    /// `true`: every public name; `false`: the module is closed, with what lies below it.
    All(bool),
    /// These names.
    Only(Names),
    /// Every public name but these.
    Without { without: Names },
}

impl Grant {
    /// Whether a public name may be used.
    fn allows(&self, name: &str) -> bool {
        match self {
            Grant::All(all) => *all,
            Grant::Only(names) => names.contains(name),
            Grant::Without { without } => !without.contains(name),
        }
    }
}

/// The special methods that classes may define.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Methods {
    Word(AllMethods),
    Only(Names),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AllMethods {
    All,
}

/// A profile as it stands in its file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    pub source_bytes: usize,
    pub async_code: bool,
    pub builtins: Names,
    methods: Methods,
    modules: BTreeMap<String, Grant>,
    /// Every package of an allowed module.
    #[serde(skip)]
    containers: Names,
}

impl Profile {
    fn with_containers(mut self) -> Profile {
        let granted = self.modules.iter().filter(|(_, grant)| **grant != Grant::All(false));
        self.containers =
            granted.flat_map(|(name, _)| ancestors(name)).map(str::to_owned).collect();
        self
    }
}

/// Everything in `profiles/language`.
pub(crate) struct Tables {
    pub names: NameTable,
    agent: Profile,
    hook: Profile,
}

/// The tables that this program carries. That they can be read is a test of this crate.
pub(crate) static TABLES: LazyLock<Tables> = LazyLock::new(|| Tables {
    names: read("names", include_str!("../language/names.toml")),
    agent: profile("agent", include_str!("../language/agent.toml")),
    hook: profile("hook", include_str!("../language/hook.toml")),
});

/// The packages and modules of which a profile grants something, by their first name.
pub(crate) fn modules(profile: LanguageProfile) -> BTreeSet<&'static str> {
    let profile = match profile {
        LanguageProfile::Open => return BTreeSet::new(),
        LanguageProfile::Agent => &TABLES.agent,
        LanguageProfile::Hook => &TABLES.hook,
    };
    let granted = profile.modules.iter().filter(|(_, grant)| **grant != Grant::All(false));
    granted.filter_map(|(name, _)| name.split('.').next()).collect()
}

fn profile(name: &str, text: &str) -> Profile {
    read::<Profile>(name, text).with_containers()
}

fn read<T: serde::de::DeserializeOwned>(name: &str, text: &str) -> T {
    match toml::from_str(text) {
        Ok(table) => table,
        Err(error) => panic!("profiles/language/{name}.toml: {error}"),
    }
}

/// What a policy grants: a profile and the caller's own additions.
pub(crate) struct Grants<'a> {
    pub name: &'static str,
    pub profile: &'a Profile,
    imports: &'a [String],
}

/// Whether a name is public: without a leading underscore.
pub(crate) fn is_public(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('_')
}

/// `a.b`, `a` for `a.b.c`.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices('.').map(|(at, _)| &path[..at])
}

fn is_below(path: &str, package: &str) -> bool {
    path.strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl<'a> Grants<'a> {
    /// What a policy grants; nothing is to be checked in the profile `open`.
    pub fn of(policy: &'a LanguagePolicy) -> Option<Grants<'a>> {
        let profile = match policy.profile {
            LanguageProfile::Open => return None,
            LanguageProfile::Agent => &TABLES.agent,
            LanguageProfile::Hook => &TABLES.hook,
        };
        Some(Grants { name: policy.profile.as_str(), profile, imports: &policy.imports })
    }

    /// Which names of a module may be used, if it may be imported.
    pub fn module(&self, path: &str) -> Option<&Grant> {
        static EVERYTHING: Grant = Grant::All(true);
        // A directive to the compiler.
        if path == "__future__" || self.imports.iter().any(|granted| is_below(path, granted)) {
            return Some(&EVERYTHING);
        }
        if let Some(grant) = self.profile.modules.get(path) {
            return (*grant != Grant::All(false)).then_some(grant);
        }
        let closed = |package| self.profile.modules.get(package) == Some(&Grant::All(false));
        let wide = |package: &str| self.profile.modules.contains_key(&format!("{package}.**"));
        for package in ancestors(path) {
            if closed(package) {
                return None;
            }
            if wide(package) {
                let rest = &path[package.len() + 1..];
                return rest.split('.').all(is_public).then_some(&EVERYTHING);
            }
            if self.profile.modules.contains_key(package) {
                return None;
            }
        }
        None
    }

    /// Whether submodules of this one are allowed, so that it must be importable to reach them.
    fn is_container(&self, path: &str) -> bool {
        self.profile.containers.contains(path)
            || self.imports.iter().any(|granted| ancestors(granted).any(|above| above == path))
    }

    /// Whether a module may be imported: for its own names, or for its submodules.
    pub fn reaches(&self, path: &str) -> bool {
        self.module(path).is_some() || self.is_container(path)
    }

    /// Whether this name of a module may be used; it may be a submodule.
    pub fn hands_out(&self, module: &str, name: &str) -> bool {
        if !is_public(name) {
            return TABLES.names.of_modules.contains(name);
        }
        let path = format!("{module}.{name}");
        if let Some(grant) = self.profile.modules.get(&path) {
            return *grant != Grant::All(false);
        }
        match self.module(module) {
            // Another module that happens to stand in this one.
            Some(Grant::All(_) | Grant::Without { .. }) if self.is_stray(module, name) => false,
            Some(grant) => grant.allows(name) || self.is_container(&path),
            None => self.reaches(&path),
        }
    }

    /// Whether this name is a module of the standard library that another module has imported. A name
    /// equal to its module's (`glob.glob`) is a function, and so are the two that are listed here.
    fn is_stray(&self, module: &str, name: &str) -> bool {
        let stdlib = &TABLES.names.stdlib;
        let first = module.split('.').next().unwrap_or(module);
        let own = module.rsplit('.').next() == Some(name);
        let known = matches!((module, name), ("datetime", "time") | ("shutil", "copy"));
        stdlib.contains(first) && stdlib.contains(name) && !own && !known
    }

    /// Whether a class may define this special method.
    pub fn method(&self, name: &str) -> bool {
        match &self.profile.methods {
            Methods::Word(AllMethods::All) => TABLES.names.methods.contains(name),
            Methods::Only(names) => names.contains(name),
        }
    }
}

/// The tables for the runtime half.
pub(crate) fn for_jars() -> Value {
    let names = &TABLES.names;
    let profile = |profile: &Profile| {
        let modules: BTreeMap<_, _> = profile
            .modules
            .iter()
            .map(|(name, grant)| {
                let grant = match grant {
                    Grant::All(all) => json!(all),
                    Grant::Only(names) => json!({ "only": names }),
                    Grant::Without { without } => json!({ "without": without }),
                };
                (name, grant)
            })
            .collect();
        json!({ "builtins": profile.builtins, "modules": modules })
    };
    json!({
        "names": {
            "plain": names.plain,
            "methods": names.methods.difference(&names.only_defined).collect::<Vec<_>>(),
            "underscored": names.underscored,
            "of_modules": names.of_modules,
            "underscores": names.underscores,
            "never_by_another_name": names.never_by_another_name,
            "interpreter": names.interpreter,
            "texts": names.texts,
        },
        "profiles": { "agent": profile(&TABLES.agent), "hook": profile(&TABLES.hook) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(imports: &[&str]) -> LanguagePolicy {
        LanguagePolicy {
            imports: imports.iter().map(|name| (*name).to_owned()).collect(),
            ..LanguagePolicy::of(LanguageProfile::Agent)
        }
    }

    #[test]
    fn modules_are_granted_by_their_whole_path() {
        let policy = policy(&["mine.tools"]);
        let agent = Grants::of(&policy).unwrap();
        for granted in [
            "math",
            "os",
            "os.path",
            "numpy.linalg",
            "scipy.stats.mstats",
            "mine.tools",
            "mine.tools.deep",
            "concurrent.futures",
            "__future__",
        ] {
            assert!(agent.module(granted).is_some(), "{granted}");
        }
        for refused in [
            "subprocess",
            "numpy_evil",
            "numpy.f2py",
            "numpy.f2py.crackfortran",
            "mine",
            "mine.toolsets",
            "os.path.os",
            "pandas.io.common",
            "numpy._core",
            "concurrent",
            "Math",
            "importlib",
            "numpy.",
            "builtins",
            "_socket",
            "json.scanner",
        ] {
            assert!(agent.module(refused).is_none(), "{refused}");
        }
        assert!(agent.is_container("concurrent") && agent.is_container("xml.etree"));
        assert!(agent.is_container("mine") && !agent.is_container("subprocess"));
    }

    #[test]
    fn names_are_handed_out_one_by_one() {
        let policy = policy(&[]);
        let agent = Grants::of(&policy).unwrap();
        for (module, name) in [
            ("os", "path"),
            ("os", "getcwd"),
            ("math", "pi"),
            ("numpy", "linalg"),
            ("numpy", "__version__"),
            ("xml", "etree"),
            ("xml.etree", "ElementTree"),
        ] {
            assert!(agent.hands_out(module, name), "{module}.{name}");
        }
        for (module, name) in [
            ("os", "system"),
            ("random", "_os"),
            ("numpy", "f2py"),
            ("typing", "get_type_hints"),
            ("math", "__loader__"),
            ("pandas", "eval"),
        ] {
            assert!(!agent.hands_out(module, name), "{module}.{name}");
        }
    }

    #[test]
    fn what_is_read_only_where_it_is_defined_is_a_method() {
        let names = &TABLES.names;
        assert!(names.only_defined.is_subset(&names.methods));
        for profile in [&TABLES.agent, &TABLES.hook] {
            if let Methods::Only(methods) = &profile.methods {
                assert!(methods.is_subset(&names.methods));
            }
        }
    }
}
