//! What the code may do and how much it may use: the caller's words, with safe defaults.

use serde::{Deserialize, Serialize};

use crate::display::Drawing;
use crate::fault::PolicyFault;
use crate::language::LanguagePolicy;
use crate::limits::{LimitName, Limits};
use crate::preset::Preset;

/// What surrounds a jar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Walls {
    /// Namespaces, a private root, Landlock, seccomp, no capabilities, rlimits.
    #[default]
    Full,
    /// For hosts that refuse user namespaces: Landlock, seccomp, rlimits and a private directory.
    /// Weaker, and therefore only ever used when a policy names it.
    Nested,
}

impl Walls {
    /// The word used on every surface.
    pub fn as_str(self) -> &'static str {
        match self {
            Walls::Full => "full",
            Walls::Nested => "nested",
        }
    }
}

/// What the code may reach over a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Nothing. The only choice there is so far.
    #[default]
    None,
}

/// What becomes of the files of a session when its memory goes back to what it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SessionFiles {
    /// They stay as they are, and branches share them.
    #[default]
    Shared,
    /// They go back too. Such a session has no branches.
    Rollback,
}

impl SessionFiles {
    /// Whether they stay as they are.
    pub fn is_shared(&self) -> bool {
        *self == SessionFiles::Shared
    }
}

/// What the code may do and how much it may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// What must surround the jar.
    pub walls: Walls,
    /// The least Landlock version that must be enforced: a run is refused where the kernel has less.
    /// 0 accepts every version that there are walls for.
    pub landlock_abi: u32,
    /// Whether a control group must bound the jar: a run is refused where none is delegated to the engine.
    pub cgroup: bool,
    /// What it may reach over a network.
    pub network: Network,
    /// The directories of the engine's host from which files and mounts may be taken: those, and what is
    /// below them. `None` means any that the engine's user can read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs_from: Option<Vec<std::path::PathBuf>>,
    /// How much it may use.
    pub limits: Limits,
    /// Which Python it may be written in.
    pub language: LanguagePolicy,
    /// Whether a result that is not JSON is an error. Otherwise it is converted, by the table in
    /// docs/results.md.
    pub strict: bool,
    /// How what it shows is drawn: figures, tables.
    pub drawing: Drawing,
    /// What becomes of the files of a session when its memory goes back; docs/sessions.md says what that costs.
    #[serde(skip_serializing_if = "SessionFiles::is_shared")]
    pub session_files: SessionFiles,
}

impl Policy {
    /// The default policy with the limits of a preset.
    pub fn preset(preset: Preset) -> Policy {
        Policy { limits: Limits::preset(preset), ..Policy::default() }
    }

    /// The same policy, lowered to a ceiling: of each field, whichever demands or forbids more. What only changes the
    /// form of an answer stays.
    #[must_use]
    pub fn within(&self, ceiling: &Policy) -> Policy {
        let walls = match (self.walls, ceiling.walls) {
            (Walls::Nested, Walls::Nested) => Walls::Nested,
            _ => Walls::Full,
        };
        let inputs_from = match (&self.inputs_from, &ceiling.inputs_from) {
            (own, None) => own.clone(),
            (None, all) => all.clone(),
            // What lies below another directory may be a link to anywhere, so only the same ones count.
            (Some(own), Some(all)) => {
                Some(own.iter().filter(|folder| all.contains(folder)).cloned().collect())
            }
        };
        Policy {
            walls,
            landlock_abi: self.landlock_abi.max(ceiling.landlock_abi),
            cgroup: self.cgroup || ceiling.cgroup,
            network: Network::None,
            inputs_from,
            limits: self.limits.clamped(&ceiling.limits),
            language: self.language.within(&ceiling.language),
            strict: self.strict,
            drawing: self.drawing,
            session_files: self.session_files,
        }
    }

    /// Checks every field and returns all the faults found.
    pub fn validate(&self) -> Result<(), Vec<PolicyFault>> {
        let mut faults = self.limits.faults();
        if self.walls == Walls::Nested && self.limits.processes > 0 {
            faults.push(PolicyFault {
                field: LimitName::Processes.as_str(),
                must: "0 in nested walls, which have no pid namespace to end children with".into(),
                was: self.limits.processes.to_string(),
            });
        }
        faults.extend(self.language.faults());
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_the_documented_ones() {
        let limits = Policy::default().limits;
        assert_eq!((limits.wall_ms, limits.cpu_ms), (30_000, 10_000));
        assert_eq!((limits.memory_bytes, limits.output_bytes), (268_435_456, 200_000));
        assert_eq!((limits.open_files, limits.file_bytes, limits.processes), (64, 10_485_760, 0));
        assert_eq!(Policy::default().walls, Walls::Full);
    }

    #[test]
    fn every_preset_is_valid() {
        assert!(Preset::ALL.iter().all(|preset| Policy::preset(*preset).validate().is_ok()));
    }

    #[test]
    fn nested_walls_have_no_child_processes() {
        let limits = Limits { processes: 1, ..Limits::default() };
        let policy = |walls| Policy { walls, limits: limits.clone(), ..Policy::default() };
        assert!(policy(Walls::Full).validate().is_ok());
        let faults = policy(Walls::Nested).validate().unwrap_err();
        assert_eq!((faults.len(), faults[0].field), (1, "processes"));
    }

    #[test]
    fn a_policy_is_lowered_to_a_ceiling_and_never_raised() {
        let ceiling = Policy {
            landlock_abi: 3,
            inputs_from: Some(vec!["/data".into(), "/more".into()]),
            ..Policy::default()
        };
        let asked = Policy {
            walls: Walls::Nested,
            cgroup: true,
            inputs_from: Some(vec!["/data".into(), "/data/link".into(), "/".into()]),
            limits: Limits { wall_ms: 1, memory_bytes: 1 << 40, ..Limits::default() },
            strict: true,
            ..Policy::default()
        };
        let got = asked.within(&ceiling);
        assert_eq!((got.walls, got.landlock_abi, got.cgroup), (Walls::Full, 3, true));
        assert_eq!(got.inputs_from, Some(vec!["/data".into()]));
        assert_eq!((got.limits.wall_ms, got.limits.memory_bytes), (1, 256 << 20));
        assert!(got.strict);
        let nowhere = Policy { inputs_from: Some(vec![]), ..Policy::default() };
        assert_eq!(Policy::default().within(&nowhere).inputs_from, Some(vec![]));
        let nested = Policy { walls: Walls::Nested, ..Policy::default() };
        assert_eq!(nested.within(&nested).walls, Walls::Nested);
        assert_eq!(ceiling.within(&ceiling), ceiling);
    }

    #[test]
    fn zero_and_excess_are_faults_never_without_limit() {
        let limits =
            Limits { wall_ms: 0, memory_bytes: 0, open_files: u64::MAX, ..Limits::default() };
        let faults = Policy { limits, ..Policy::default() }.validate().unwrap_err();
        let fields: Vec<_> = faults.iter().map(|fault| fault.field).collect();
        assert_eq!(fields, ["wall_ms", "memory_bytes", "open_files"]);
    }

    #[test]
    fn an_unknown_field_is_refused() {
        for text in [
            r#"{"limit": {}}"#,
            r#"{"limits": {"wall": 3}}"#,
            r#"{"network": "all"}"#,
            r#"{"network": []}"#,
            r#"{"walls": "none"}"#,
            r#"{"limits": {"wall_ms": -1}}"#,
            r#"{"limits": {"wall_ms": 1e30}}"#,
            r#"{"limits": {"wall_ms": null}}"#,
            r#"{"limits": {"memory_bytes": "lots"}}"#,
            r#"{"limits": {"memory_bytes": "99999999999GiB"}}"#,
        ] {
            assert!(serde_json::from_str::<Policy>(text).is_err(), "{text} was accepted");
        }
    }

    #[test]
    fn sizes_may_carry_units() {
        let policy: Policy =
            serde_json::from_str(r#"{"limits": {"memory_bytes": "1 GiB", "file_bytes": "4kB"}}"#)
                .unwrap();
        assert_eq!((policy.limits.memory_bytes, policy.limits.file_bytes), (1 << 30, 4000));
    }
}
