//! A layer taken away, so that tests can see whether the next one holds. Only builds for tests can.

use std::path::PathBuf;

use carboy_jail::{JarWalls, Mount, MountKind, ZygotePlan};
use carboy_sys::seccomp::Instruction;

/// A filter that allows everything.
const ALLOW: Instruction =
    Instruction { code: 0x06, jump_true: 0, jump_false: 0, constant: 0x7fff_0000 };

fn without(layer: &str) -> bool {
    crate::ablated().iter().any(|missing| missing == layer)
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
