//! What is particular to one jar, and what makes two jars alike.

use std::path::Path;

use carboy_jail::{HostSource, JarDirectory, JarPlan};
use carboy_protocol::{Policy, Walls};

use crate::facts::Baseline;
use crate::plan::base::Base;
use crate::plan::limits::rlimits;
use crate::plan::place::{Told, about};

/// What of a policy the kernel is told when a jar is sealed. Jars of one shape are alike; all other
/// limits are the engine's to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    walls: Walls,
    cpu_seconds: u64,
    memory_bytes: u64,
    file_bytes: u64,
    files: u64,
    open_files: u64,
    told: Told,
}

impl Shape {
    pub fn of(base: &Base, policy: &Policy) -> Shape {
        let limits = &policy.limits;
        Shape {
            walls: policy.walls,
            cpu_seconds: limits.cpu_ms.div_ceil(1000),
            memory_bytes: limits.memory_bytes,
            file_bytes: limits.file_bytes,
            files: limits.files,
            open_files: limits.open_files,
            told: Told::of(base, limits),
        }
    }
}

/// The kernel's limits and the writable directory of one jar. `folder` is its own directory on the
/// host, if it has one there; otherwise it has one in memory. `given` is what its run reads of the host, if
/// that has to be settled now.
pub(crate) fn jar(
    base: &Base,
    policy: &Policy,
    folder: Option<&Path>,
    given: Vec<HostSource>,
    baseline: Baseline,
) -> JarPlan {
    let limits = &policy.limits;
    let directory = match folder {
        Some(path) => JarDirectory::Host { path: path.into() },
        None => JarDirectory::Memory {
            temporary: base.temporary.clone(),
            bytes: limits.file_bytes,
            inodes: limits.files,
            about: about(base, limits, baseline),
        },
    };
    JarPlan { directory, rlimits: rlimits(limits, baseline), given }
}
