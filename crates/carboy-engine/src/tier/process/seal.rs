//! What a fork says when it has sealed itself, and whether the kernel agrees.

use std::os::fd::{AsFd, OwnedFd};

use carboy_jail::SealReport;
use carboy_protocol::{Layers, Walls};

use crate::error::EngineError;
use crate::kernel::proc::{self, Status};

/// How many filters a jar loads: the profile, and the one that revokes what sealing needed.
const FILTERS: u32 = 2;

/// Kills what it holds unless it is taken out.
pub(super) struct Unsealed(pub Option<OwnedFd>);

impl Unsealed {
    pub fn pidfd(&self) -> std::os::fd::BorrowedFd<'_> {
        // Only `into_pidfd` takes it out, and that consumes this.
        self.0.as_ref().map_or(rustix::fs::CWD, AsFd::as_fd)
    }

    pub fn into_pidfd(mut self) -> OwnedFd {
        self.0.take().unwrap_or_else(|| unreachable!("taken out once"))
    }
}

impl Drop for Unsealed {
    fn drop(&mut self) {
        if let Some(pidfd) = &self.0 {
            proc::kill(pidfd);
        }
    }
}

/// Compares what the jar reported with what the kernel shows of it, and both with the plan.
pub(super) fn read_back(
    report: &SealReport,
    status: &Status,
    walls: Walls,
    outer_uid: u32,
    outer_filters: Option<u32>,
) -> Result<Layers, EngineError> {
    let zero = "0000000000000000";
    expect("Seccomp", status.first("Seccomp:"), "2")?;
    // Older kernels do not count them. Those around the engine, such as a container's, came with the fork.
    if let Some(outer) = outer_filters {
        let wanted = (outer + FILTERS).to_string();
        expect("Seccomp_filters", status.first("Seccomp_filters:"), &wanted)?;
    }
    expect("NoNewPrivs", status.first("NoNewPrivs:"), "1")?;
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
        expect("a capability set", status.first(set), zero)?;
    }
    expect("Uid", status.first("Uid:"), &outer_uid.to_string())?;
    // Nested walls have no namespaces, and who is not root cannot empty a bounding set.
    let full = match walls {
        Walls::Full => {
            expect("CapBnd", status.first("CapBnd:"), zero)?;
            true
        }
        Walls::Nested => false,
    };
    Ok(Layers {
        // The helper compared each namespace with the host's before the zygote went on, and the
        // jar found itself to be the first process of a namespace below that.
        user_ns: full,
        mount_ns: full,
        pid_ns: full && report.pid == 1,
        net_ns: full,
        ipc_ns: full,
        uts_ns: full && report.hostname == "jar",
        cgroup_ns: full,
        private_root: report.private_root,
        landlock_abi: report.landlock_abi,
        landlock_lacks: carboy_jail::substitutes(report.landlock_abi, walls)
            .into_iter()
            .map(|lack| lack.right)
            .collect(),
        seccomp: "process".into(),
        seccomp_filters: FILTERS,
        outer_filters: outer_filters.unwrap_or(0),
        no_new_privs: true,
        no_capabilities: true,
        bounding_set_empty: status.first("CapBnd:") == Some(zero),
        uid: report.uid,
        cgroup: "none".into(),
    })
}

/// An error if the kernel shows something else than was planned.
pub(super) fn expect(
    what: &'static str,
    found: Option<&str>,
    wanted: &str,
) -> Result<(), EngineError> {
    let found = found.unwrap_or("nothing");
    if found == wanted {
        return Ok(());
    }
    Err(EngineError::Posture { what, found: found.into(), wanted: wanted.into() })
}
