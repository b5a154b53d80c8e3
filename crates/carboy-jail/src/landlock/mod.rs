//! Landlock: the kernel's own rules on files, TCP ports, signals and abstract sockets.

mod level;

use std::path::Path;

use carboy_protocol::SetupFault;
use landlock::{
    ABI, Access, AccessFs, BitFlags, PathBeneath, PathFd, RulesetCreated, RulesetCreatedAttr,
    RulesetStatus, make_bitflags,
};

use crate::fault::fault;
use crate::given;
use crate::plan::{HostSource, LandlockPlan};

use level::LOGS;
pub(crate) use level::TRUNCATE;
pub use level::{Substitute, probe, substitutes};

const LAYER: &str = "landlock";

/// Restricts the calling thread, for good, to reading `plan.readable` and `given`, listing `plan.listed`
/// and writing `writable`.
pub(crate) fn restrict(
    plan: &LandlockPlan,
    given: &[HostSource],
    writable: &[&Path],
) -> Result<(), SetupFault> {
    if cfg!(feature = "ablation") && plan.abi == 0 {
        return Ok(());
    }
    let failed = |step: &'static str| {
        move |error: landlock::RulesetError| fault(LAYER, step, format!("ABI {}", plan.abi), error)
    };
    let mut ruleset = level::ruleset(plan.abi).map_err(failed("landlock_create_ruleset"))?;
    for path in &plan.readable {
        ruleset = allow(ruleset, path, read_rights(path))?;
    }
    for source in given {
        given::check_readable(source, &source.path)?;
        let rule = PathBeneath::new(given::open(source)?, given_rights(source));
        ruleset = ruleset.add_rule(rule).map_err(failed("landlock_add_rule"))?;
    }
    for path in &plan.listed {
        ruleset = allow(ruleset, path, AccessFs::ReadDir.into())?;
    }
    for path in writable {
        ruleset = allow(ruleset, path, write_rights(ABI::from(plan.abi as i32)))?;
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

fn given_rights(source: &HostSource) -> BitFlags<AccessFs> {
    if source.directory {
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
