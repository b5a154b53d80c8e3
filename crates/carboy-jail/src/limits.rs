//! rlimits: the limits that the kernel enforces on a process.

use carboy_protocol::SetupFault;
use rustix::process::{Resource as Kernel, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use crate::fault::{OrFault, expect};

const LAYER: &str = "limits";

/// A resource, named after what it limits and not after its constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Processor seconds.
    Cpu,
    /// Private writable memory.
    Data,
    /// Address space.
    AddressSpace,
    /// The stack of the first thread.
    Stack,
    /// The size of one file.
    FileSize,
    /// One more than the highest descriptor.
    OpenFiles,
    /// Core dumps.
    Core,
    /// Locked memory.
    Memlock,
    /// Queued signals.
    PendingSignals,
    /// POSIX message queues.
    MessageQueues,
    /// Real-time priority.
    RealtimePriority,
}

impl Resource {
    fn kernel(self) -> Kernel {
        match self {
            Resource::Cpu => Kernel::Cpu,
            Resource::Data => Kernel::Data,
            Resource::AddressSpace => Kernel::As,
            Resource::Stack => Kernel::Stack,
            Resource::FileSize => Kernel::Fsize,
            Resource::OpenFiles => Kernel::Nofile,
            Resource::Core => Kernel::Core,
            Resource::Memlock => Kernel::Memlock,
            Resource::PendingSignals => Kernel::Sigpending,
            Resource::MessageQueues => Kernel::Msgqueue,
            Resource::RealtimePriority => Kernel::Rtprio,
        }
    }
}

/// One limit, soft and hard alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rlimit {
    /// Which resource.
    pub resource: Resource,
    /// Its soft and its hard limit, in the kernel's unit: seconds, bytes or a count.
    pub value: u64,
}

/// Sets every limit and reads it back, but for that of open files.
pub(crate) fn apply(limits: &[Rlimit]) -> Result<(), SetupFault> {
    for limit in limits.iter().filter(|limit| limit.resource != Resource::OpenFiles) {
        let set = |wanted| setrlimit(limit.resource.kernel(), wanted).map_err(Into::into);
        apply_one(*limit, "setrlimit", set)?;
    }
    Ok(())
}

/// Sets the limit of open files and reads it back. To be called after a jar's last word: the kernel counts
/// descriptors on their way for all processes of a user together, against the sender's limit, and with that
/// of a jar others could keep it from ever being heard.
pub(crate) fn apply_open_files(limits: &[Rlimit]) -> Result<(), SetupFault> {
    for limit in limits.iter().filter(|limit| limit.resource == Resource::OpenFiles) {
        apply_one(*limit, "prlimit", |_| carboy_sys::limit_open_files(limit.value))?;
    }
    Ok(())
}

fn apply_one(
    limit: Rlimit,
    call: &str,
    set: impl Fn(rustix::process::Rlimit) -> std::io::Result<()>,
) -> Result<(), SetupFault> {
    let Rlimit { resource, value } = limit;
    let wanted = rustix::process::Rlimit { current: Some(value), maximum: Some(value) };
    set(wanted).or_fault(LAYER, call, format_args!("{resource:?}, {value}"))?;
    expect(LAYER, format_args!("{resource:?}"), getrlimit(resource.kernel()), wanted)
}
