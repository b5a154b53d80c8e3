//! A policy's limits as the kernel's.

use carboy_jail::{Resource, Rlimit};
use carboy_protocol::Limits;

use crate::facts::{Baseline, open_files};

/// Room in the address space for mapped files, and for what the C library reserves for each thread.
/// Neither takes private memory.
const MAPPED_ROOM: u64 = 4 << 30;

pub(super) fn rlimits(limits: &Limits, baseline: Baseline) -> Vec<Rlimit> {
    let data = baseline.data_bytes + limits.memory_bytes;
    let address = baseline.address_bytes + limits.memory_bytes + MAPPED_ROOM;
    let list = [
        (Resource::Cpu, (limits.cpu_ms + baseline.import_us / 1000).div_ceil(1000)),
        (Resource::Data, data),
        (Resource::AddressSpace, address),
        (Resource::Stack, 8 << 20),
        (Resource::FileSize, limits.file_bytes),
        (Resource::OpenFiles, open_files(limits)),
        (Resource::Core, 0),
        (Resource::Memlock, 0),
        (Resource::PendingSignals, 64),
        (Resource::MessageQueues, 0),
        (Resource::RealtimePriority, 0),
    ];
    list.into_iter().map(|(resource, value)| Rlimit { resource, value }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_count_from_what_the_zygote_holds() {
        let baseline = Baseline { data_bytes: 1000, address_bytes: 5000, ..Baseline::default() };
        let rlimits = rlimits(&Limits::default(), baseline);
        let value = |resource| rlimits.iter().find(|l| l.resource == resource).unwrap().value;
        assert_eq!(value(Resource::Data), 1000 + (256 << 20));
        assert_eq!(value(Resource::Cpu), 10);
        assert_eq!(value(Resource::OpenFiles), 69);
        assert_eq!(value(Resource::Core), 0);
    }
}
