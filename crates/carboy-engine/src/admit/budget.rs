//! The memory budget: what a run may come to use, and whether that can ever be had here.
//!
//! A limit bounds one jar. The sum of what runs is bounded by the budget, so that jars that keep their
//! limits cannot take down the host, or the container, that they are in.

use carboy_protocol::{Limits, Policy};

use crate::admit::gate::Needs;
use crate::error::RequestError;
use crate::facts::{kept_together, may_use, may_use_together};
use crate::host::Memory;
use crate::tier::Holds;

/// What a jar holds that stands and waits.
const STANDING: u64 = 4 << 20;
/// Jars that stand take at most this part of the budget.
const STANDING_PART: u64 = 16;
/// An answered jar that holds no more than this is buried with others, and its place is free at once.
pub(crate) const LIGHT: u64 = 4 << 20;

/// What all runs together may come to use, and who says so.
pub(crate) struct Budget {
    pub bytes: u64,
    pub source: String,
}

impl Budget {
    /// What was asked for, or what this host has.
    pub fn new(asked: Option<u64>, memory: &Memory) -> Budget {
        match asked {
            Some(bytes) => Budget { bytes, source: "as configured".into() },
            None => {
                let whole = memory.whole_bytes >> 20;
                let source =
                    format!("{}: {whole} MiB, less what is in use and a reserve", memory.source);
                Budget { bytes: memory.budget(), source }
            }
        }
    }

    /// How many of `most` jars may stand.
    pub fn standing(&self, most: usize) -> usize {
        let fitting = self.bytes / STANDING_PART / STANDING;
        most.min(usize::try_from(fitting).unwrap_or(usize::MAX))
    }

    /// What a run under these limits takes. An error if there is never as much.
    pub fn needs(&self, limits: &Limits, holds: Holds) -> Result<Needs, RequestError> {
        let own_bytes = may_use(limits, holds.copied_bytes);
        if own_bytes > self.bytes {
            return Err(RequestError::NoMemory {
                needed: own_bytes,
                budget: self.bytes,
                source_of_budget: self.source.clone(),
            });
        }
        // What the engine itself keeps of a run. Nothing is refused for it: most runs show little.
        let shown = if limits.displays == 0 { 0 } else { limits.display_total_bytes };
        let own_bytes = own_bytes.saturating_add(shown).min(self.bytes);
        Ok(Needs { own_bytes, shared_bytes: holds.shared_bytes })
    }
}

impl Budget {
    /// What a session under this policy takes. An error if there is never as much.
    pub fn session(&self, policy: &Policy, holds: Holds) -> Result<Needs, RequestError> {
        let needed = may_use_together(&policy.limits, holds.copied_bytes);
        let needed = needed.saturating_add(kept_together(policy));
        if needed > self.bytes {
            let source_of_budget = self.source.clone();
            return Err(RequestError::NoMemory { needed, budget: self.bytes, source_of_budget });
        }
        Ok(Needs { own_bytes: needed, shared_bytes: holds.shared_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn pod() -> Budget {
        let memory = Memory { whole_bytes: 512 * MIB, used_bytes: 0, source: "memory.max".into() };
        Budget::new(None, &memory)
    }

    #[test]
    fn a_small_pod_takes_one_usual_run_and_refuses_what_never_fits() {
        let budget = pod();
        assert_eq!(budget.bytes, 384 * MIB);
        let usual = budget.needs(&Limits::default(), Holds::default()).unwrap();
        assert_eq!(usual.own_bytes, (272 + 1 + 10 + 34 + 16) * MIB);
        let silent = Limits { displays: 0, ..Limits::default() };
        let silent = budget.needs(&silent, Holds::default()).unwrap();
        assert_eq!(silent.own_bytes, (272 + 1 + 10 + 34) * MIB);
        // What may be shown is counted as far as there is room, and refuses nobody.
        let showy = Limits { display_total_bytes: 1 << 30, ..Limits::default() };
        let showy = budget.needs(&showy, Holds::default()).unwrap();
        assert_eq!(showy.own_bytes, budget.bytes);
        let large = Limits { memory_bytes: 400 * MIB, ..Limits::default() };
        let refused = budget.needs(&large, Holds::default()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "a run with these limits may use 470 MiB of memory, and there are 384 MiB for runs here \
             (memory.max: 512 MiB, less what is in use and a reserve)"
        );
    }

    #[test]
    fn few_jars_stand_where_there_is_little() {
        assert_eq!(pod().standing(32), 6);
        assert_eq!(Budget { bytes: 16 << 30, source: String::new() }.standing(32), 32);
    }

    #[test]
    fn what_a_zygote_holds_may_be_copied() {
        let holds = Holds { copied_bytes: 50 * MIB, shared_bytes: 60 * MIB };
        let needs = pod().needs(&Limits::default(), holds).unwrap();
        assert_eq!((needs.own_bytes, needs.shared_bytes), (383 * MIB, 60 * MIB));
    }
}
