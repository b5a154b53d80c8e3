//! How much one run may use, and what goes by the table of limits.

mod form;
mod row;
mod table;

use crate::fault::PolicyFault;
use crate::preset::Preset;

pub use row::{LimitRow, Unit};
pub use table::{LimitName, Limits};

impl LimitName {
    /// The name as it is written in a policy file.
    pub fn as_str(self) -> &'static str {
        self.row().field
    }

    /// The limit of this name.
    pub fn from_name(name: &str) -> Option<LimitName> {
        LimitName::ALL.iter().copied().find(|limit| limit.as_str() == name)
    }
}

impl Limits {
    /// The limits of a preset.
    pub fn preset(preset: Preset) -> Limits {
        let mut limits = Limits::default();
        for name in LimitName::ALL {
            if let Some(presets) = name.row().presets {
                limits.set(*name, presets[preset as usize]);
            }
        }
        limits
    }

    /// Each limit lowered to that of `ceiling` where it is above it.
    #[must_use]
    pub fn clamped(&self, ceiling: &Limits) -> Limits {
        let mut limits = self.clone();
        for name in LimitName::ALL {
            limits.set(*name, self.get(*name).min(ceiling.get(*name)));
        }
        limits
    }

    /// Every limit that is out of its range.
    pub(crate) fn faults(&self) -> Vec<PolicyFault> {
        let rows = LimitName::ALL.iter().map(|name| (name.row(), self.get(*name)));
        rows.filter(|(row, value)| !(row.least..=row.most).contains(value))
            .map(|(row, value)| PolicyFault {
                field: row.field,
                must: format!("between {} and {}", row.least, row.most),
                was: value.to_string(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_same_in_a_policy_an_outcome_and_the_table() {
        let written = serde_json::to_value(Limits::default()).unwrap();
        assert_eq!(written.as_object().unwrap().len(), LimitName::ALL.len());
        for (name, field) in LimitName::ALL.iter().zip(LimitName::NAMES) {
            assert_eq!(name.as_str(), *field);
            assert_eq!(serde_json::to_value(name).unwrap(), *field);
            assert_eq!(LimitName::from_name(field), Some(*name));
            assert_eq!(written[field], name.row().default);
        }
        assert_eq!(LimitName::from_name("wall"), None);
    }

    #[test]
    fn defaults_and_presets_are_within_their_ranges_and_presets_rise() {
        for row in LimitName::ALL.iter().map(|name| name.row()) {
            assert!(row.least <= row.default && row.default <= row.most, "{}", row.field);
            let presets = row.presets.unwrap_or([row.default; 4]);
            assert!(presets.is_sorted(), "{}: a higher preset allows less", row.field);
            assert!(row.least <= presets[0] && presets[3] <= row.most, "{}", row.field);
        }
        for pair in Preset::ALL.map(Limits::preset).windows(2) {
            assert_eq!(pair[0].clamped(&pair[1]), pair[0]);
            assert!(pair[0].wall_ms < pair[1].wall_ms && pair[0].cpu_ms < pair[1].cpu_ms);
            assert!(pair[0].memory_bytes < pair[1].memory_bytes);
        }
    }

    #[test]
    fn each_least_and_each_most_is_exact() {
        let faults = |name: LimitName, value: u64| {
            let mut limits = Limits::default();
            limits.set(name, value);
            let fields: Vec<_> = limits.faults().iter().map(|fault| fault.field).collect();
            assert!(fields.is_empty() || fields == [name.as_str()], "{fields:?}");
            fields.len()
        };
        for name in LimitName::ALL {
            let row = name.row();
            assert_eq!((faults(*name, row.least), faults(*name, row.most)), (0, 0), "{name:?}");
            assert_eq!(faults(*name, row.most + 1), 1, "{name:?}");
            if row.least > 0 {
                assert_eq!((faults(*name, row.least - 1), faults(*name, 0)), (1, 1), "{name:?}");
            }
        }
    }

    #[test]
    fn a_ceiling_only_lowers() {
        for name in LimitName::ALL {
            let mut ceiling = Limits::preset(Preset::Max);
            ceiling.set(*name, name.row().least);
            let clamped = Limits::default().clamped(&ceiling);
            assert_eq!(clamped.get(*name), name.row().least);
            for other in LimitName::ALL.iter().filter(|other| *other != name) {
                assert_eq!(clamped.get(*other), other.row().default, "{name:?}, {other:?}");
            }
            let raised = Limits::default().clamped(&Limits::preset(Preset::Max));
            assert_eq!(raised, Limits::default());
        }
    }

    #[test]
    fn every_limit_has_words_that_name_its_value() {
        for row in LimitName::ALL.iter().map(|name| name.row()) {
            let value = row.unit.exactly(17);
            for words in [row.allowing(17), row.crossed(17)] {
                assert_eq!(words.matches(&value).count(), 1, "{}: {words}", row.field);
                assert!(!words.contains("{}") && !words.ends_with('.'), "{words}");
            }
            assert!(!row.hint.is_empty() && !row.hint.ends_with('.'), "{}", row.hint);
            assert!(row.doc().ends_with('.'), "{}", row.doc());
            // The author of the code cannot raise a limit; whoever sets the policy can, up to a point.
            assert!(!row.hint.contains("limits."), "{}", row.hint);
            let raise = format!("raise limits.{}, which is ", row.field);
            assert!(row.operator_hint(row.least).unwrap().starts_with(&raise));
            assert_eq!(row.operator_hint(row.most), None);
        }
    }

    #[test]
    fn values_are_said_exactly_and_shortly() {
        for (unit, value, exactly, shortly) in [
            (Unit::Milliseconds, 30_000, "30000 ms", "30 s"),
            (Unit::Milliseconds, 1, "1 ms", "1 ms"),
            (Unit::Milliseconds, 86_400_000, "86400000 ms", "24 h"),
            (Unit::Bytes, 268_435_456, "268435456 bytes", "256 MiB"),
            (Unit::Bytes, 200_000, "200000 bytes", "200 kB"),
            (Unit::Bytes, 16, "16 bytes", "16 bytes"),
            (Unit::Bytes, 1 << 40, "1099511627776 bytes", "1 TiB"),
            (Unit::Count, 10_000_000, "10000000", "10,000,000"),
        ] {
            assert_eq!((&*unit.exactly(value), &*unit.shortly(value)), (exactly, shortly));
        }
    }
}
