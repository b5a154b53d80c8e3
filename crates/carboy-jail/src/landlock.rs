//! Landlock: the kernel's own rules on files, TCP ports, signals and abstract sockets.

use std::path::Path;

use carboy_protocol::SetupFault;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope, make_bitflags,
};

use crate::fault::fault;
use crate::plan::LandlockPlan;

const LAYER: &str = "landlock";
/// The first version that writes refusals to the audit log, and can be told not to.
const LOGS: u32 = 7;

/// The version this kernel offers; 0 if none. Never more than this build knows how to use.
pub fn kernel_abi() -> u32 {
    ABI::from(carboy_sys::landlock_abi() as i32) as u32
}

/// Restricts the calling thread, for good, to reading `plan.readable` and writing `writable`.
pub(crate) fn restrict(plan: &LandlockPlan, writable: &[&Path]) -> Result<(), SetupFault> {
    if cfg!(feature = "ablation") && plan.abi == 0 {
        return Ok(());
    }
    let abi = ABI::from(plan.abi as i32);
    let failed = |step: &'static str| {
        move |error: landlock::RulesetError| fault(LAYER, step, format!("ABI {}", plan.abi), error)
    };
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))
        .map_err(failed("landlock_create_ruleset"))?;
    if plan.abi >= 4 {
        let net = AccessNet::from_all(abi);
        ruleset = ruleset.handle_access(net).map_err(failed("landlock_create_ruleset"))?;
    }
    if plan.abi >= 6 {
        let scope = Scope::from_all(abi);
        ruleset = ruleset.scope(scope).map_err(failed("landlock_create_ruleset"))?;
    }
    let mut ruleset = ruleset.create().map_err(failed("landlock_create_ruleset"))?;
    for path in &plan.readable {
        ruleset = allow(ruleset, path, read_rights(path))?;
    }
    for path in writable {
        ruleset = allow(ruleset, path, write_rights(abi))?;
    }
    if plan.abi >= LOGS {
        // The outcome tells of what was refused; a host's audit log is no place that guest code fills.
        ruleset = ruleset.log_same_exec(false).map_err(failed("landlock_restrict_self"))?;
    }
    let status = ruleset.restrict_self().map_err(failed("landlock_restrict_self"))?;
    if status.ruleset != RulesetStatus::FullyEnforced {
        return Err(fault(
            LAYER,
            "landlock_restrict_self",
            format!("ABI {}", plan.abi),
            format!("{:?}", status.ruleset),
        ));
    }
    if plan.abi >= LOGS && status.log_same_exec {
        return Err(fault(LAYER, "landlock_restrict_self", "logging", "still on"));
    }
    Ok(())
}

fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    rights: BitFlags<AccessFs>,
) -> Result<RulesetCreated, SetupFault> {
    let object = path.display();
    let file = PathFd::new(path).map_err(|error| fault(LAYER, "open", object, error))?;
    ruleset
        .add_rule(PathBeneath::new(file, rights))
        .map_err(|error| fault(LAYER, "landlock_add_rule", path.display(), error))
}

fn read_rights(path: &Path) -> BitFlags<AccessFs> {
    if path == Path::new("/dev/null") {
        make_bitflags!(AccessFs::{ReadFile | WriteFile})
    } else if path.is_dir() {
        make_bitflags!(AccessFs::{ReadFile | ReadDir})
    } else {
        AccessFs::ReadFile.into()
    }
}

/// Plain files, directories and links, and nothing that could be executed or is special.
fn write_rights(abi: ABI) -> BitFlags<AccessFs> {
    let rights = make_bitflags!(AccessFs::{
        ReadFile | ReadDir | WriteFile | RemoveDir | RemoveFile | MakeDir | MakeReg | MakeSym
            | Refer | Truncate
    });
    rights & AccessFs::from_all(abi)
}
