//! Policy + host + interpreter → plan. Everything is decided here; nothing after this decides.
//!
//! `base` looks at the disk, once. From there on planning is a matter of values: the same policy on
//! the same base is the same plan, whatever has become of the files meanwhile.

mod ablation;
mod base;
mod environment;
mod jar;
mod limits;
mod readable;
mod walls;
mod zygote;

use carboy_jail::{JarPlan, JarWalls, ZygotePlan};
use carboy_protocol::Policy;
use serde::Serialize;

use crate::error::EngineError;
use crate::facts::Baseline;

pub use ablation::ablated;
pub(crate) use base::Base;
pub(crate) use environment::own_environment;
pub(crate) use jar::{Shape, jar};
pub(crate) use walls::{JAR_SCORE, LANDLOCK_LEAST, identity, profile, walls, writes_to_host};
pub(crate) use zygote::zygote;

/// A policy resolved against a host, as `carboy explain` prints it.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// The policy it came from, with every default.
    pub policy: Policy,
    /// What the helper builds and becomes.
    pub zygote: ZygotePlan,
    /// What every jar is sealed to.
    pub walls: JarWalls,
    /// What this jar is sealed to. Memory limits are counted from what the zygote holds, so they
    /// stand here as if it held nothing.
    pub jar: JarPlan,
}

impl Plan {
    /// The plan for a policy. No zygote stands yet, so the folder that it would have on the host is
    /// left out.
    pub(crate) fn new(base: &Base, policy: &Policy) -> Result<Plan, EngineError> {
        let folder = writes_to_host(policy.walls).then_some(base.temporary.as_path());
        Ok(Plan {
            policy: policy.clone(),
            zygote: zygote(base, policy.walls, None),
            walls: walls(base, policy.walls, &profile(policy.walls)?)?,
            jar: jar(base, policy, folder, Baseline::default()),
        })
    }
}
