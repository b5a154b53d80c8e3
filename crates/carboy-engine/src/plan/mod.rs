//! Policy + host + interpreter → plan. Everything is decided here; nothing after this decides.
//!
//! `base` looks at the disk, once. From there on planning is a matter of values: the same policy on
//! the same base is the same plan, whatever has become of the files meanwhile.

mod ablation;
mod base;
mod computer;
mod cpuinfo;
mod environment;
mod given;
mod jar;
mod limits;
mod place;
mod readable;
mod walls;
mod zygote;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use carboy_jail::{Given, JarDirectory, JarPlan, JarWalls, ZygotePlan};
use carboy_protocol::Policy;
use serde::Serialize;

use crate::error::EngineError;
use crate::facts::Baseline;
use crate::host::{Because, LeftOut};

pub use ablation::ablated;
pub(crate) use base::Base;
pub(crate) use environment::own_environment;
pub(crate) use jar::{Shape, jar};
pub(crate) use walls::{JAR_SCORE, demand_landlock, identity, profile, walls, writes_to_host};
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
    /// Because of what each part of the host can be read.
    pub because: BTreeMap<PathBuf, BTreeSet<Because>>,
    /// What is named among the packages and cannot be read.
    pub left_out: Vec<LeftOut>,
    /// What the run is handed, and where it finds it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<Given>,
}

impl Plan {
    /// Every path at which a jar finds something that was generated for it, folders included.
    pub fn generated(&self) -> BTreeSet<PathBuf> {
        let files = self.zygote.files.iter().map(|file| file.path.clone());
        let links = self.zygote.links.iter().map(|link| link.path.clone());
        let own = match &self.jar.directory {
            JarDirectory::Memory { about, .. } => about.paths(),
            JarDirectory::Host { .. } => vec![],
        };
        let is_ours =
            |path: &PathBuf| computer::FOLDERS.iter().any(|folder| path.starts_with(folder));
        let all = files.chain(links).chain(own).filter(is_ours);
        all.flat_map(|path| path.ancestors().map(Path::to_path_buf).collect::<Vec<_>>())
            .filter(is_ours)
            .collect()
    }

    /// The plan for a policy. No zygote stands yet, so the folder that it would have on the host is
    /// left out.
    pub(crate) fn new(base: &Base, policy: &Policy) -> Result<Plan, EngineError> {
        let folder = writes_to_host(policy.walls).then_some(base.temporary.as_path());
        Ok(Plan {
            policy: policy.clone(),
            zygote: zygote(base, policy.walls, None, &base.preload),
            walls: walls(base, policy.walls, &profile(&base.host, policy.walls)?)?,
            jar: jar(base, policy, folder, vec![], Baseline::default()),
            because: base.because.clone(),
            left_out: base.python.layout.left_out.clone(),
            given: vec![],
        })
    }
}
