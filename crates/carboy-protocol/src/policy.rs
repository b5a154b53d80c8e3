//! What the code may do and how much it may use: the caller's words, with safe defaults.

use serde::{Deserialize, Serialize};

use crate::json::MAX_DEPTH;
use crate::{LanguagePolicy, quantity};

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

/// A named set of limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Half a core for 10 s, 256 MiB.
    Low,
    /// One core for 30 s, 512 MiB.
    Medium,
    /// Two cores for 60 s, 1 GiB.
    High,
    /// Four cores for 120 s, 2 GiB.
    Max,
}

impl Preset {
    /// Every preset, weakest first.
    pub const ALL: [Preset; 4] = [Preset::Low, Preset::Medium, Preset::High, Preset::Max];

    /// The word used on every surface.
    pub fn as_str(self) -> &'static str {
        match self {
            Preset::Low => "low",
            Preset::Medium => "medium",
            Preset::High => "high",
            Preset::Max => "max",
        }
    }
}

const MIB: u64 = 1 << 20;

/// How much one run may use. Crossing any of these ends in a cause of that name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Time on the clock, in milliseconds, from the moment the code is sent.
    pub wall_ms: u64,
    /// Processor time of one process, in milliseconds. The kernel counts whole seconds, so it is
    /// rounded up to the next one.
    pub cpu_ms: u64,
    /// Private memory beyond what the warm interpreter already holds, in bytes or as `"256MiB"`.
    #[serde(deserialize_with = "quantity::bytes")]
    #[cfg_attr(feature = "schema", schemars(with = "quantity::BytesOrText"))]
    pub memory_bytes: u64,
    /// Standard output and standard error together.
    #[serde(deserialize_with = "quantity::bytes")]
    #[cfg_attr(feature = "schema", schemars(with = "quantity::BytesOrText"))]
    pub output_bytes: u64,
    /// The JSON text of the result.
    #[serde(deserialize_with = "quantity::bytes")]
    #[cfg_attr(feature = "schema", schemars(with = "quantity::BytesOrText"))]
    pub result_bytes: u64,
    /// How deep the result may nest.
    pub result_depth: u64,
    /// Everything written below the jar's directory and its temporary directory.
    #[serde(deserialize_with = "quantity::bytes")]
    #[cfg_attr(feature = "schema", schemars(with = "quantity::BytesOrText"))]
    pub file_bytes: u64,
    /// Files and directories made there.
    pub files: u64,
    /// Files open at once.
    pub open_files: u64,
    /// Threads alive at once beside the main one.
    pub threads: u64,
    /// Child processes started during the run.
    pub processes: u64,
    /// Refused calls after which the run is ended.
    pub denials: u64,
    /// Calls of the caller's tools.
    pub tool_calls: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            wall_ms: 30_000,
            cpu_ms: 10_000,
            memory_bytes: 256 * MIB,
            output_bytes: 200_000,
            result_bytes: MIB,
            result_depth: MAX_DEPTH as u64,
            file_bytes: 10 * MIB,
            files: 1_000,
            open_files: 64,
            threads: 8,
            processes: 0,
            denials: 1_000,
            tool_calls: 1_000,
        }
    }
}

/// The name of a limit, as it stands in [`Limits`] and in an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LimitName {
    /// [`Limits::wall_ms`].
    WallMs,
    /// [`Limits::cpu_ms`].
    CpuMs,
    /// [`Limits::memory_bytes`].
    MemoryBytes,
    /// [`Limits::output_bytes`].
    OutputBytes,
    /// [`Limits::result_bytes`].
    ResultBytes,
    /// [`Limits::result_depth`].
    ResultDepth,
    /// [`Limits::file_bytes`].
    FileBytes,
    /// [`Limits::files`].
    Files,
    /// [`Limits::open_files`].
    OpenFiles,
    /// [`Limits::threads`].
    Threads,
    /// [`Limits::processes`].
    Processes,
    /// [`Limits::denials`].
    Denials,
    /// [`Limits::tool_calls`].
    ToolCalls,
}

impl LimitName {
    /// The name as it is written in a policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            LimitName::WallMs => "wall_ms",
            LimitName::CpuMs => "cpu_ms",
            LimitName::MemoryBytes => "memory_bytes",
            LimitName::OutputBytes => "output_bytes",
            LimitName::ResultBytes => "result_bytes",
            LimitName::ResultDepth => "result_depth",
            LimitName::FileBytes => "file_bytes",
            LimitName::Files => "files",
            LimitName::OpenFiles => "open_files",
            LimitName::Threads => "threads",
            LimitName::Processes => "processes",
            LimitName::Denials => "denials",
            LimitName::ToolCalls => "tool_calls",
        }
    }
}

/// One thing that is wrong with a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFault {
    /// The field: the name of a limit, or its full path.
    pub field: &'static str,
    /// What it must be.
    pub must: String,
    /// What it was.
    pub was: String,
}

impl std::fmt::Display for PolicyFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let within = if self.field.contains('.') { "" } else { "limits." };
        write!(f, "{within}{} must be {}, was {}", self.field, self.must, self.was)
    }
}

impl std::error::Error for PolicyFault {}

impl Limits {
    /// The least and the most that each limit may be. Zero never means "without limit".
    fn ranges(&self) -> [(LimitName, u64, u64, u64); 13] {
        use LimitName::*;
        [
            (WallMs, self.wall_ms, 1, 24 * 3_600_000),
            (CpuMs, self.cpu_ms, 1, 24 * 3_600_000),
            (MemoryBytes, self.memory_bytes, 8 * MIB, 1 << 40),
            (OutputBytes, self.output_bytes, 1, 1 << 30),
            (ResultBytes, self.result_bytes, 16, 256 * MIB),
            (ResultDepth, self.result_depth, 1, MAX_DEPTH as u64),
            (FileBytes, self.file_bytes, 4096, 1 << 40),
            (Files, self.files, 1, 10_000_000),
            (OpenFiles, self.open_files, 8, 65_536),
            (Threads, self.threads, 0, 4_096),
            (Processes, self.processes, 0, 4_096),
            (Denials, self.denials, 1, 1_000_000_000),
            (ToolCalls, self.tool_calls, 0, 1_000_000),
        ]
    }

    /// Each limit lowered to that of `ceiling` where it is above it.
    #[must_use]
    pub fn clamped(&self, ceiling: &Limits) -> Limits {
        Limits {
            wall_ms: self.wall_ms.min(ceiling.wall_ms),
            cpu_ms: self.cpu_ms.min(ceiling.cpu_ms),
            memory_bytes: self.memory_bytes.min(ceiling.memory_bytes),
            output_bytes: self.output_bytes.min(ceiling.output_bytes),
            result_bytes: self.result_bytes.min(ceiling.result_bytes),
            result_depth: self.result_depth.min(ceiling.result_depth),
            file_bytes: self.file_bytes.min(ceiling.file_bytes),
            files: self.files.min(ceiling.files),
            open_files: self.open_files.min(ceiling.open_files),
            threads: self.threads.min(ceiling.threads),
            processes: self.processes.min(ceiling.processes),
            denials: self.denials.min(ceiling.denials),
            tool_calls: self.tool_calls.min(ceiling.tool_calls),
        }
    }
}

/// What the code may do and how much it may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// What must surround the jar.
    pub walls: Walls,
    /// What it may reach over a network.
    pub network: Network,
    /// How much it may use.
    pub limits: Limits,
    /// Which Python it may be written in.
    pub language: LanguagePolicy,
}

impl Policy {
    /// The policy of a preset: the defaults with that preset's time and memory.
    pub fn preset(preset: Preset) -> Policy {
        let (wall_ms, cpu_ms, mib) = match preset {
            Preset::Low => (10_000, 5_000, 256),
            Preset::Medium => (30_000, 30_000, 512),
            Preset::High => (60_000, 120_000, 1024),
            Preset::Max => (120_000, 480_000, 2048),
        };
        let limits = Limits { wall_ms, cpu_ms, memory_bytes: mib * MIB, ..Limits::default() };
        Policy { limits, ..Policy::default() }
    }

    /// Checks every field and returns all the faults found.
    pub fn validate(&self) -> Result<(), Vec<PolicyFault>> {
        let mut faults: Vec<PolicyFault> = self
            .limits
            .ranges()
            .into_iter()
            .filter(|(_, value, least, most)| value < least || value > most)
            .map(|(name, was, least, most)| PolicyFault {
                field: name.as_str(),
                must: format!("between {least} and {most}"),
                was: was.to_string(),
            })
            .collect();
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
    fn presets_rise() {
        let all = Preset::ALL.map(Policy::preset);
        for pair in all.windows(2) {
            assert!(pair[0].limits.wall_ms < pair[1].limits.wall_ms);
            assert!(pair[0].limits.cpu_ms < pair[1].limits.cpu_ms);
            assert!(pair[0].limits.memory_bytes < pair[1].limits.memory_bytes);
        }
        assert!(all.iter().all(|policy| policy.validate().is_ok()));
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

    #[test]
    fn a_ceiling_only_lowers() {
        let ceiling = Policy::preset(Preset::Low).limits;
        let asked = Limits { wall_ms: 5, memory_bytes: 1 << 40, ..Limits::default() };
        let clamped = asked.clamped(&ceiling);
        assert_eq!((clamped.wall_ms, clamped.memory_bytes), (5, 256 << 20));
    }
}
