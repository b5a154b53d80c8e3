//! A layer taken away, so that tests can see whether the next one holds. Only in builds for tests.

use std::path::PathBuf;

use belljar_jail::{JarPlan, JarWalls, Mount, MountKind, ZygotePlan};
use belljar_sys::seccomp::Instruction;

/// A filter that allows everything.
const ALLOW: Instruction =
    Instruction { code: 0x06, jump_true: 0, jump_false: 0, constant: 0x7fff_0000 };

/// Whether a layer is to be missing.
fn without(layer: &str) -> bool {
    std::env::var("BELLJAR_ABLATE").is_ok_and(|named| named.split(',').any(|one| one == layer))
}

/// What all jars have in common, with less.
pub(crate) fn walls(walls: &mut JarWalls) {
    if without("seccomp") {
        walls.program = vec![ALLOW];
        walls.closing = vec![ALLOW];
    }
    if without("landlock") {
        walls.landlock.abi = 0;
    }
}

/// The place of a zygote, with less: without a private root, the host's tree stands in it.
pub(crate) fn zygote(plan: &mut ZygotePlan) {
    if without("private root") {
        let (source, target) = (PathBuf::from("/"), PathBuf::from("/host"));
        plan.mounts.push(Mount { source, target, kind: MountKind::Directory });
    }
}

/// One jar, with less.
pub(crate) fn jar(plan: &mut JarPlan) {
    if without("rlimits") {
        plan.rlimits.clear();
    }
}
