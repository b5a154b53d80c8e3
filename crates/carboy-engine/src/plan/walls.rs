//! What all jars behind the same walls have in common, and how the two walls differ.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use carboy_jail::profile::Profile;
use carboy_jail::{Identity, JarWalls, LandlockPlan, filter, substitutes};
use carboy_protocol::{SetupFault, Walls};

use crate::error::{EngineError, While};
use crate::host::Host;
use crate::plan::base::Base;
use crate::plan::computer::{FOLDERS, HOSTNAME, INSIDE};
use crate::plan::given;

/// The least Landlock version behind which there are walls: rules on files. What later ones cover,
/// other layers hold where they are missing.
pub(crate) const LANDLOCK_LEAST: u32 = 1;
/// What a jar may open of the host's devices.
pub(super) const DEVICES: [&str; 3] = ["/dev/null", "/dev/random", "/dev/urandom"];

/// How much further than the engine jars yield the processor: a third of its share, where they compete.
const YIELDS: i32 = 5;
/// The highest nice value that there is.
const MOST_NICE: i32 = 19;
/// The highest `oom_score_adj` that there is: when memory runs out, the kernel ends jars first.
pub(crate) const JAR_SCORE: i32 = 1000;

/// How far jars yield the processor.
fn nice(host: &Host) -> i32 {
    (host.nice + YIELDS).min(MOST_NICE)
}

/// When memory runs out, zygotes go after all jars and before the engine.
pub(super) fn zygote_score(host: &Host) -> i32 {
    host.oom_score_adj.midpoint(JAR_SCORE)
}

/// Whether jars write to a directory of the host, because they have no file system of their own.
pub(crate) fn writes_to_host(walls: Walls) -> bool {
    match walls {
        Walls::Full => false,
        Walls::Nested => true,
    }
}

/// Who jars run as. A root engine steps down to a user that owns nothing, where one exists.
pub(crate) fn identity(host: &Host, walls: Walls) -> Identity {
    let spare = if host.uid == 0 { host.spare_id } else { None };
    let (outer_uid, outer_gid) = spare.map_or((host.uid, host.gid), |id| (id, id));
    let (inner_uid, inner_gid) = match walls {
        Walls::Full => (INSIDE, INSIDE),
        Walls::Nested => (outer_uid, outer_gid),
    };
    Identity { outer_uid, outer_gid, inner_uid, inner_gid, step_down: spare.is_some() }
}

/// The system-call profile behind these walls on this host.
pub(crate) fn profile(host: &Host, walls: Walls) -> Result<Profile, EngineError> {
    Profile::process(walls, host.landlock_abi)
        .map_err(std::io::Error::other)
        .while_doing("read the system-call profile")
}

/// What can be read in a private root. Rules take their time in every jar, so folders that hold nothing
/// but what can be read have one for all of it.
fn within(base: &Base) -> Vec<PathBuf> {
    let folders = || FOLDERS.iter().copied().chain(["/usr/share"]).map(Path::new);
    let targets = base.mounts.iter().map(|mount| mount.target.as_path());
    let top = |path| folders().find(|folder| Path::starts_with(path, folder)).unwrap_or(path);
    let all: BTreeSet<&Path> = targets.map(top).chain(FOLDERS.iter().map(Path::new)).collect();
    all.into_iter().map(Path::to_path_buf).collect()
}

/// An error if this kernel's Landlock is older than a policy, or any walls at all, can do with.
pub(crate) fn demand_landlock(host: &Host, least: u32) -> Result<(), EngineError> {
    let (abi, least) = (host.landlock_abi, least.max(LANDLOCK_LEAST));
    if abi >= least {
        return Ok(());
    }
    Err(EngineError::Walls(SetupFault {
        layer: "landlock".into(),
        step: "landlock_create_ruleset".into(),
        object: "version".into(),
        answer: format!("the kernel takes version {abi}, at least {least} is needed"),
    }))
}

/// What all jars of a zygote have in common.
pub(crate) fn walls(base: &Base, walls: Walls, profile: &Profile) -> Result<JarWalls, EngineError> {
    demand_landlock(&base.host, LANDLOCK_LEAST)?;
    let abi = base.host.landlock_abi;
    let mut readable: Vec<PathBuf> = match walls {
        Walls::Full => within(base).into_iter().chain(given::readable(base)).collect(),
        // Everything readable has the same path inside and outside.
        Walls::Nested => base.mounts.iter().map(|mount| mount.target.clone()).collect(),
    };
    let mut listed = base.python.layout.listed.clone();
    // There is no rule for what the jars' user cannot reach. Without its interpreter a zygote does not start;
    // without what its packages name elsewhere it does.
    if walls == Walls::Nested && identity(&base.host, walls).step_down {
        readable.retain(|path| !base.is_out_of_reach(path));
        listed.retain(|path| !base.is_out_of_reach(path));
    }
    readable.extend(DEVICES.iter().map(PathBuf::from));
    let walls = JarWalls {
        walls,
        identity: identity(&base.host, walls),
        nice: nice(&base.host),
        oom_score_adj: JAR_SCORE,
        hostname: HOSTNAME.into(),
        landlock: LandlockPlan { abi, instead: substitutes(abi, walls), readable, listed },
        profile: profile.name.clone(),
        program: filter::compile(profile),
        closing: filter::compile_closing(profile),
    };
    #[cfg(feature = "ablation")]
    let walls = crate::plan::ablation::walls(walls);
    Ok(walls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_gets_the_landlock_that_it_demands_or_no_jar() {
        let host = |landlock_abi| Host { landlock_abi, ..Host::look() };
        for (offered, demanded, refused) in [
            (7, 0, None),
            (7, 7, None),
            (1, 0, None),
            (2, 3, Some("the kernel takes version 2, at least 3 is needed")),
            (0, 0, Some("the kernel takes version 0, at least 1 is needed")),
        ] {
            let fault = match demand_landlock(&host(offered), demanded) {
                Err(EngineError::Walls(fault)) => Some(fault.answer),
                other => other.map(|()| None).unwrap(),
            };
            assert_eq!(fault.as_deref(), refused);
        }
    }

    #[test]
    fn jars_yield_to_zygotes_and_zygotes_to_the_engine() {
        let host = |nice, oom_score_adj| Host { nice, oom_score_adj, ..Host::look() };
        assert_eq!((nice(&host(0, 0)), zygote_score(&host(0, 0))), (5, 500));
        assert_eq!((nice(&host(17, 0)), zygote_score(&host(0, -1000))), (19, 0));
        // Where the engine is the first to go already, none of them can be before it.
        assert_eq!(zygote_score(&host(0, 1000)), 1000);
    }
}
