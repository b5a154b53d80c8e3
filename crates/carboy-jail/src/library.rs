//! The library that an interpreter loads to become a zygote: where it finds it.
//!
//! The program carries the library, so the two cannot be of different builds. It lies on no file system
//! of the host: in full walls it is a file of the private root, in nested walls one without a name in
//! memory. Nobody else can change or replace it, and it is gone with the zygote however that ends.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;

use carboy_protocol::SetupFault;
use carboy_sys::fds;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, memfd_create};
use rustix::io::Errno;

use crate::fault::{OrFault, expect};
use crate::plan::ZYGOTE_LIBRARY_FD;

const LAYER: &str = "library";

/// The library as a file without a name that nobody can change any more, this process included.
pub(crate) fn in_memory(library: &[u8]) -> Result<OwnedFd, SetupFault> {
    let sealable = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // It is mapped, never executed. A host can demand that this is said; kernels before 6.3 do not know
    // the word.
    let made = match memfd_create("carboy", sealable | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => memfd_create("carboy", sealable),
        made => made,
    };
    let mut file = File::from(made.or_fault(LAYER, "memfd_create", "")?);
    file.write_all(library).or_fault(LAYER, "write", "memory file")?;
    let file = OwnedFd::from(file);
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    fcntl_add_seals(&file, seals).or_fault(LAYER, "fcntl", "F_ADD_SEALS")?;
    let found = fcntl_get_seals(&file).or_fault(LAYER, "fcntl", "F_GET_SEALS")?;
    expect(LAYER, "seals", found.contains(seals), true)?;
    // Away from the fixed numbers, on which other things are placed first.
    rustix::io::fcntl_dupfd_cloexec(file, 10).or_fault(LAYER, "fcntl", "F_DUPFD_CLOEXEC")
}

/// Leaves it open at its number for the interpreter.
pub(crate) fn leave(library: &OwnedFd) -> Result<(), SetupFault> {
    fds::place(library, ZYGOTE_LIBRARY_FD).or_fault("descriptors", "dup2", "library")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_changes_the_library_once_it_is_there() {
        let file = in_memory(b"library").unwrap();
        let refused = |answer: rustix::io::Result<()>| assert_eq!(answer, Err(Errno::PERM));
        refused(rustix::io::pwrite(&file, b"x", 0).map(drop));
        refused(rustix::fs::ftruncate(&file, 0));
        refused(rustix::fs::ftruncate(&file, 100));
        refused(fcntl_add_seals(&file, SealFlags::FUTURE_WRITE));
        let mut read = [0; 8];
        assert_eq!(rustix::io::pread(&file, &mut read, 0), Ok(7));
        assert_eq!(&read[..7], b"library");
    }
}
