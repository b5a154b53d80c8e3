//! What may come into the tree from outside: `cargo xtask deny` reads `deny.toml` and holds every
//! crate of `cargo metadata` against it.
//!
//! The file is cargo-deny's, and `cargo deny check` reads it too. The gate does not use that tool:
//! it is not in a package registry as a program, and building it takes longer than all that it
//! checks here. A key that is not honoured here is an error, so that nobody relies on it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use serde::Deserialize;

use crate::fault::Fault;
use crate::workspace::{Package, Workspace};

const FILE: &str = "deny.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Rules {
    graph: Graph,
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Graph {
    targets: Vec<String>,
    all_features: True,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Licenses {
    allow: Vec<String>,
    unused_allowed_license: Deny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Bans {
    multiple_versions: Warn,
    wildcards: Deny,
    allow_wildcard_paths: True,
    deny: Vec<Named>,
    skip: Vec<Named>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Sources {
    unknown_registry: Deny,
    unknown_git: Deny,
    allow_registry: Vec<String>,
}

/// A crate, with or without `@` and the beginning of a version, and why.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

/// The one value that is honoured.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Deny {
    Deny,
}

/// The one value that is honoured.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Warn {
    Warn,
}

/// The one value that is honoured.
#[derive(Deserialize)]
#[serde(try_from = "bool")]
struct True;

impl TryFrom<bool> for True {
    type Error = &'static str;

    fn try_from(value: bool) -> Result<True, &'static str> {
        if value { Ok(True) } else { Err("only `true` is honoured") }
    }
}

/// What was found: faults, and what is only told.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) faults: Vec<Fault>,
    pub(crate) warnings: Vec<String>,
    pub(crate) crates: usize,
}

/// Holds all crates that any of the targets needs against the rules.
pub(crate) fn check(root: &Path) -> io::Result<Found> {
    let text = std::fs::read_to_string(root.join(FILE))?;
    let rules = read(&text).map_err(io::Error::other)?;
    let mut packages = BTreeMap::new();
    for target in &rules.graph.targets {
        for package in Workspace::with_dependencies(root, target)?.packages {
            packages.insert((package.name.clone(), package.version.clone()), package);
        }
    }
    let packages: Vec<Package> = packages.into_values().collect();
    Ok(judge(&rules, &packages))
}

fn read(text: &str) -> Result<Rules, toml::de::Error> {
    toml::from_str(text)
}

fn judge(rules: &Rules, packages: &[Package]) -> Found {
    let mut found = Found { crates: packages.len(), ..Found::default() };
    let Bans { multiple_versions: Warn::Warn, wildcards: Deny::Deny, .. } = &rules.bans;
    let Sources { unknown_registry: Deny::Deny, unknown_git: Deny::Deny, .. } = &rules.sources;
    let (True, True) = (&rules.graph.all_features, &rules.bans.allow_wildcard_paths);
    let mut fault = |name: &str, what: String, fix: &str| {
        found.faults.push(Fault::new(name, what, fix));
    };
    let mut used = BTreeSet::new();
    for package in packages {
        let name = format!("{} {}", package.name, package.version);
        match package.license.as_deref().map(|text| Expression::read(text).ok_or(text)) {
            None => fault(&name, "names no licence".into(), "do without this crate"),
            Some(Err(text)) => {
                let what = format!("its licence `{text}` cannot be read");
                fault(&name, what, "mend the reader in xtask/src/deny.rs");
            }
            Some(Ok(licence)) => {
                used.extend(licence.names().into_iter().cloned());
                if !licence.is_granted(&rules.licenses.allow) {
                    let what =
                        format!("its licence is `{}`", package.license.as_deref().unwrap_or(""));
                    fault(&name, what, "do without this crate, or allow the licence in deny.toml");
                }
            }
        }
        if let Some(ban) = rules.bans.deny.iter().find(|ban| ban.is(package)) {
            fault(&name, format!("is banned: {}", ban.reason), "do without this crate");
        }
        if let Some(source) = &package.source {
            let registry = source.strip_prefix("registry+");
            let known =
                |url: &str| rules.sources.allow_registry.iter().any(|allowed| allowed == url);
            if !registry.is_some_and(known) {
                fault(&name, format!("comes from {source}"), "take it from crates.io");
            }
        } else {
            let any = |one: &&crate::workspace::Dependency| one.req == "*" && one.path.is_none();
            for dependency in package.dependencies.iter().filter(any) {
                let what = format!("takes any version of {}", dependency.name);
                fault(&name, what, "name a version");
            }
        }
    }
    let Licenses { allow, unused_allowed_license: Deny::Deny } = &rules.licenses;
    for licence in allow.iter().filter(|licence| !used.contains(*licence)) {
        let what = format!("allows {licence}, and no crate has it");
        fault(FILE, what, "take it out");
    }
    found.warnings = twice(packages, &rules.bans.skip);
    found
}

/// The crates that are there in more than one version.
fn twice(packages: &[Package], skip: &[Named]) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let counted = packages.iter().filter(|package| !skip.iter().any(|skip| skip.is(package)));
    for package in counted {
        versions.entry(&package.name).or_default().push(&package.version);
    }
    let many = versions.into_iter().filter(|(_, versions)| versions.len() > 1);
    many.map(|(name, versions)| format!("{name} is there as {}", versions.join(" and "))).collect()
}

impl Named {
    fn is(&self, package: &Package) -> bool {
        match self.name.split_once('@') {
            None => self.name == package.name,
            Some((name, version)) => {
                let rest = package.version.strip_prefix(version);
                name == package.name
                    && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            }
        }
    }
}

/// A licence as crates write it: names, `WITH`, `AND`, `OR` and parentheses. `/` is an old `OR`.
#[derive(Debug, PartialEq, Eq)]
enum Expression {
    One(String),
    All(Vec<Expression>),
    Any(Vec<Expression>),
}

impl Expression {
    fn read(text: &str) -> Option<Expression> {
        let spaced = text.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
        let mut words = spaced.split_whitespace().peekable();
        let expression = Expression::any(&mut words)?;
        words.next().is_none().then_some(expression)
    }

    fn any<'a>(words: &mut Words<'a, impl Iterator<Item = &'a str>>) -> Option<Expression> {
        let mut parts = vec![Expression::all(words)?];
        while words.next_if_eq(&"OR").is_some() {
            parts.push(Expression::all(words)?);
        }
        Some(Expression::Any(parts))
    }

    fn all<'a>(words: &mut Words<'a, impl Iterator<Item = &'a str>>) -> Option<Expression> {
        let mut parts = vec![Expression::one(words)?];
        while words.next_if_eq(&"AND").is_some() {
            parts.push(Expression::one(words)?);
        }
        Some(Expression::All(parts))
    }

    fn one<'a>(words: &mut Words<'a, impl Iterator<Item = &'a str>>) -> Option<Expression> {
        match words.next()? {
            "(" => {
                let inner = Expression::any(words)?;
                words.next_if_eq(&")").map(|_| inner)
            }
            ")" | "AND" | "OR" | "WITH" => None,
            name if words.next_if_eq(&"WITH").is_some() => {
                Some(Expression::One(format!("{name} WITH {}", words.next()?)))
            }
            name => Some(Expression::One(name.into())),
        }
    }

    /// Whether what is allowed is enough.
    fn is_granted(&self, allowed: &[String]) -> bool {
        match self {
            Expression::One(name) => allowed.contains(name),
            Expression::All(parts) => parts.iter().all(|part| part.is_granted(allowed)),
            Expression::Any(parts) => parts.iter().any(|part| part.is_granted(allowed)),
        }
    }

    /// Every name in it, those that are not needed too.
    fn names(&self) -> Vec<&String> {
        match self {
            Expression::One(name) => vec![name],
            Expression::All(parts) | Expression::Any(parts) => {
                parts.iter().flat_map(Expression::names).collect()
            }
        }
    }
}

type Words<'a, I> = std::iter::Peekable<I>;

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
        [graph]
        targets = ["x"]
        all-features = true
        [licenses]
        allow = ["MIT", "Apache-2.0 WITH LLVM-exception"]
        unused-allowed-license = "deny"
        [bans]
        multiple-versions = "warn"
        wildcards = "deny"
        allow-wildcard-paths = true
        deny = [{ crate = "openssl", reason = "no" }]
        skip = [{ crate = "syn@2", reason = "old" }]
        [sources]
        unknown-registry = "deny"
        unknown-git = "deny"
        allow-registry = ["https://crates"]
    "#;

    fn package(name: &str, version: &str, license: &str, source: &str) -> Package {
        let value = serde_json::json!({
            "name": name, "version": version, "license": license, "source": source,
            "manifest_path": "", "dependencies": [], "targets": [],
        });
        serde_json::from_value(value).unwrap()
    }

    fn faults(packages: &[Package]) -> Vec<String> {
        let found = judge(&read(RULES).unwrap(), packages);
        found.faults.iter().map(|fault| fault.what().to_owned()).collect()
    }

    fn granted(text: &str) -> bool {
        let allowed = ["MIT".to_owned(), "Apache-2.0 WITH LLVM-exception".to_owned()];
        Expression::read(text).unwrap().is_granted(&allowed)
    }

    #[test]
    fn a_licence_is_granted_as_its_expression_says() {
        for yes in [
            "MIT",
            "Zlib OR MIT",
            "MIT/BSL-1.0",
            "(Zlib OR MIT) AND Apache-2.0 WITH LLVM-exception",
            "MIT AND MIT OR GPL-3.0",
        ] {
            assert!(granted(yes), "{yes}");
        }
        for no in ["GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "Apache-2.0 OR (MIT AND Zlib)"] {
            assert!(!granted(no), "{no}");
        }
        for broken in ["", "MIT OR", "(MIT", "MIT)", "MIT MIT", "AND", "MIT WITH"] {
            assert_eq!(Expression::read(broken), None, "{broken}");
        }
    }

    #[test]
    fn what_breaks_a_rule_is_named() {
        let crates = "registry+https://crates";
        let llvm = "Apache-2.0 WITH LLVM-exception OR MIT";
        let fine = || package("serde", "1.0.1", llvm, crates);
        assert_eq!(faults(&[fine()]), [""; 0]);
        let bad = [
            fine(),
            package("a", "1.0.0", "GPL-3.0", crates),
            package("openssl", "1.0.0", "MIT", crates),
            package("b", "1.0.0", "MIT", "git+https://elsewhere"),
        ];
        let expected =
            ["its licence is `GPL-3.0`", "is banned: no", "comes from git+https://elsewhere"];
        assert_eq!(faults(&bad), expected);
        let unused = faults(&[package("a", "1.0.0", "MIT", crates)]);
        assert!(unused[0].contains("LLVM-exception, and no crate has it"), "{unused:?}");
    }

    #[test]
    fn two_versions_are_told_unless_one_is_expected() {
        let of = |name: &str, version: &str| package(name, version, "MIT", "");
        let packages =
            [of("syn", "2.0.1"), of("syn", "3.0.0"), of("rand", "1.0.0"), of("rand", "2.0.0")];
        let told = twice(&packages, &read(RULES).unwrap().bans.skip);
        assert_eq!(told, ["rand is there as 1.0.0 and 2.0.0"]);
    }

    #[test]
    fn a_key_or_value_that_is_not_honoured_is_an_error() {
        assert!(read(&RULES.replace("all-features = true", "all-features = false")).is_err());
        assert!(read(&RULES.replace("[graph]", "[graph]\nexclude = []")).is_err());
        assert!(read(&RULES.replace("wildcards = \"deny\"", "wildcards = \"allow\"")).is_err());
    }
}
