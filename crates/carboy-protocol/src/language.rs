//! Which Python the code may be written in: a profile and what a caller grants beyond it.

use serde::{Deserialize, Serialize};

use crate::fault::PolicyFault;

/// A set of granted builtins, modules and names.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LanguageProfile {
    /// All of Python; nothing is read before the run.
    #[default]
    Open,
    /// Data work: no modules for processes, networks, native code or the interpreter itself.
    Agent,
    /// Small scripts that only compute: eight modules, no files.
    Hook,
}

impl LanguageProfile {
    /// Every profile, the widest first.
    pub const ALL: [LanguageProfile; 3] =
        [LanguageProfile::Open, LanguageProfile::Agent, LanguageProfile::Hook];

    /// The word used on every surface.
    pub fn as_str(self) -> &'static str {
        match self {
            LanguageProfile::Open => "open",
            LanguageProfile::Agent => "agent",
            LanguageProfile::Hook => "hook",
        }
    }

    /// What it is for, in a few words.
    pub fn words(self) -> &'static str {
        match self {
            LanguageProfile::Open => "all of Python; the code is not checked before the run",
            LanguageProfile::Agent => {
                "data work, without modules for processes, networks, native code or the interpreter"
            }
            LanguageProfile::Hook => "small scripts that only compute, without files",
        }
    }
}

/// Which Python the code may be written in. Advice and a second layer, never the boundary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct LanguagePolicy {
    /// What is granted.
    pub profile: LanguageProfile,
    /// Modules granted beyond the profile, each with all of its public names and what lies below
    /// it: `"mypackage"`, `"os.path"`. Granting a module does not grant what it lies in.
    pub imports: Vec<String>,
}

impl LanguagePolicy {
    /// How many modules a caller may grant.
    pub const MAX_IMPORTS: usize = 256;

    /// A profile and nothing beyond it.
    pub fn of(profile: LanguageProfile) -> LanguagePolicy {
        LanguagePolicy { profile, imports: vec![] }
    }

    /// The narrower of this and a ceiling. Modules beyond the profile are granted if the ceiling grants them too.
    pub(crate) fn within(&self, ceiling: &LanguagePolicy) -> LanguagePolicy {
        let profile = self.profile.max(ceiling.profile);
        let imports = match (self.profile, ceiling.profile) {
            (_, LanguageProfile::Open) => self.imports.clone(),
            (LanguageProfile::Open, _) => ceiling.imports.clone(),
            _ => {
                self.imports.iter().filter(|name| ceiling.imports.contains(name)).cloned().collect()
            }
        };
        LanguagePolicy { profile, imports }
    }

    /// What is wrong with it.
    pub(crate) fn faults(&self) -> Vec<PolicyFault> {
        let fault = |must: &str, was: String| PolicyFault {
            field: "language.imports",
            must: must.into(),
            was,
        };
        let mut faults = vec![];
        if self.profile == LanguageProfile::Open && !self.imports.is_empty() {
            let must = "empty with the profile open, which grants every module";
            faults.push(fault(must, format!("{:?}", self.imports)));
        }
        if self.imports.len() > LanguagePolicy::MAX_IMPORTS {
            let must = format!("at most {} modules", LanguagePolicy::MAX_IMPORTS);
            faults.push(fault(&must, self.imports.len().to_string()));
        } else if let Some(name) = self.imports.iter().find(|name| !is_module(name)) {
            faults.push(fault("names of modules, such as \"os.path\"", format!("{name:?}")));
        }
        faults
    }
}

fn is_module(name: &str) -> bool {
    name.len() <= 200
        && name.split('.').all(|part| {
            part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_narrows_and_grants_nothing() {
        let of = |profile, imports: &[&str]| LanguagePolicy {
            profile,
            imports: imports.iter().map(|name| (*name).to_owned()).collect(),
        };
        use LanguageProfile::{Agent, Hook, Open};
        for (own, ceiling, got) in [
            (of(Open, &[]), of(Open, &[]), of(Open, &[])),
            (of(Agent, &["a"]), of(Open, &[]), of(Agent, &["a"])),
            (of(Open, &[]), of(Agent, &["a"]), of(Agent, &["a"])),
            (of(Agent, &["a", "b"]), of(Hook, &["b", "c"]), of(Hook, &["b"])),
            (of(Hook, &["os"]), of(Agent, &[]), of(Hook, &[])),
        ] {
            assert_eq!(own.within(&ceiling), got, "{own:?} within {ceiling:?}");
        }
    }

    #[test]
    fn only_names_of_modules_can_be_granted() {
        let granting = |imports: &[&str]| LanguagePolicy {
            profile: LanguageProfile::Agent,
            imports: imports.iter().map(|name| (*name).to_owned()).collect(),
        };
        for good in [&[][..], &["os.path"], &["_private", "a1.b_2"]] {
            assert_eq!(granting(good).faults(), [], "{good:?}");
        }
        for bad in ["", "*", "os*", "os.", ".os", "os path", "os ", "ｏs", "os..path", "1a"] {
            assert_eq!(granting(&[bad]).faults().len(), 1, "{bad:?}");
        }
        assert_eq!(granting(&["a"; 257]).faults().len(), 1);
        let open = LanguagePolicy { imports: vec!["os".into()], ..LanguagePolicy::default() };
        assert_eq!(open.faults().len(), 1);
    }
}
