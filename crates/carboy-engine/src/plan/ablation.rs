//! A layer taken away, so that tests can see whether the next one holds. Only builds for tests can.

#[cfg(feature = "ablation")]
pub(super) use weaker::{host, walls, zygote};

/// The layers that are missing: none, but in a build for tests that was told to leave some out.
pub fn ablated() -> Vec<String> {
    let named = std::env::var("CARBOY_ABLATE").ok().filter(|_| cfg!(feature = "ablation"));
    named.map_or(vec![], |named| named.split(',').map(str::to_owned).collect())
}

#[cfg(feature = "ablation")]
mod weaker {
    use std::path::PathBuf;

    use carboy_jail::{JarWalls, Mount, MountKind, ZygotePlan};
    use carboy_sys::seccomp::Instruction;

    use crate::host::Host;

    /// A filter that allows everything.
    const ALLOW: Instruction =
        Instruction { code: 0x06, jump_true: 0, jump_false: 0, constant: 0x7fff_0000 };

    fn without(layer: &str) -> bool {
        super::ablated().iter().any(|missing| missing == layer)
    }

    /// A host whose Landlock is older, as `CARBOY_LANDLOCK` says. No layer is missing there: what that
    /// version lacks, others must hold.
    pub fn host(mut host: Host) -> Host {
        let older = std::env::var("CARBOY_LANDLOCK").ok().and_then(|abi| abi.parse().ok());
        host.landlock_abi = older.unwrap_or(host.landlock_abi).min(host.landlock_abi);
        host
    }

    /// What all jars have in common, with less.
    pub fn walls(mut walls: JarWalls) -> JarWalls {
        if without("seccomp") {
            walls.program = vec![ALLOW];
            walls.closing = vec![ALLOW];
        }
        if without("landlock") {
            walls.landlock.abi = 0;
        }
        walls
    }

    /// The place of a zygote, with less: without a private root, the host's tree stands in it.
    pub fn zygote(mut plan: ZygotePlan) -> ZygotePlan {
        if without("private root") {
            let (source, target) = (PathBuf::from("/"), PathBuf::from("/host"));
            plan.mounts.push(Mount { source, target, kind: MountKind::Directory });
        }
        plan
    }
}
