//! The names of the presets. What they set is in the table of limits.

use serde::{Deserialize, Serialize};

/// A named set of limits that fit together. The table of limits has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Half a core.
    Low,
    /// One core.
    Medium,
    /// Two cores.
    High,
    /// Four cores.
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
