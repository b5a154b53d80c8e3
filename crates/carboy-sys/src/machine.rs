//! What differs between the processor architectures that carboy runs on, in one place.
//!
//! Everything else asks here instead of the compiler, so that what is meant for one machine can be computed
//! and tested on another. `docs/contributing/add-an-architecture.md` lists what a new one needs.

use crate::syscalls;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("carboy knows the system calls of x86_64 and aarch64 only");

/// A processor architecture, with the way its 64-bit programs call the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Machine {
    /// AMD64.
    X86_64,
    /// The 64-bit mode of Arm processors.
    Aarch64,
}

impl Machine {
    /// All of them, in the order of the columns of the table of system calls.
    pub const ALL: [Machine; 2] = [Machine::X86_64, Machine::Aarch64];

    /// The one that this program was built for.
    #[cfg(target_arch = "x86_64")]
    pub const HERE: Machine = Machine::X86_64;
    /// The one that this program was built for.
    #[cfg(target_arch = "aarch64")]
    pub const HERE: Machine = Machine::Aarch64;

    /// Its name, as `uname` gives it.
    pub fn name(self) -> &'static str {
        match self {
            Machine::X86_64 => "x86_64",
            Machine::Aarch64 => "aarch64",
        }
    }

    /// The machine of this name.
    pub fn named(name: &str) -> Option<Machine> {
        Machine::ALL.into_iter().find(|machine| machine.name() == name)
    }

    /// How the kernel tells a filter that a call came from a 64-bit program of this machine
    /// (`AUDIT_ARCH_*`): the number of the machine in ELF files, 64 bits, little-endian.
    pub fn audit(self) -> u32 {
        const BITS_64_LITTLE_ENDIAN: u32 = 0xc000_0000;
        BITS_64_LITTLE_ENDIAN
            | match self {
                Machine::X86_64 => 62,
                Machine::Aarch64 => 183,
            }
    }

    /// From which number on calls belong to a second table that the kernel does not tell apart by
    /// [`audit`](Machine::audit): x32, the 32-bit programs of x86_64 that use its 64-bit registers.
    pub fn second_table(self) -> Option<u32> {
        match self {
            Machine::X86_64 => Some(0x4000_0000),
            Machine::Aarch64 => None,
        }
    }

    /// The name of the folder in which Debian and those who follow it keep its libraries.
    pub fn library_folder(self) -> &'static str {
        match self {
            Machine::X86_64 => "x86_64-linux-gnu",
            Machine::Aarch64 => "aarch64-linux-gnu",
        }
    }

    /// The dynamic loader that its programs name.
    pub fn loader(self) -> &'static str {
        match self {
            Machine::X86_64 => "/lib64/ld-linux-x86-64.so.2",
            Machine::Aarch64 => "/lib/ld-linux-aarch64.so.1",
        }
    }

    /// The number of a call, if this machine has it.
    pub fn number_of(self, name: &str) -> Option<u32> {
        syscalls::number(name, self as usize)
    }

    /// The name of a call, if the table knows it.
    pub fn name_of(self, number: u32) -> Option<&'static str> {
        syscalls::name(number, self as usize)
    }

    /// Every call that the table knows on this machine, with its number.
    pub fn calls(self) -> impl Iterator<Item = (&'static str, u32)> {
        let number = move |name| syscalls::number(name, self as usize);
        all_calls().filter_map(move |name| Some((name, number(name)?)))
    }
}

/// The name of every call that some machine has.
pub fn all_calls() -> impl Iterator<Item = &'static str> {
    syscalls::CALLS.iter().map(|(name, _)| *name)
}

/// The number of a call, if it is one that this machine has.
pub fn number_of(name: &str) -> Option<u32> {
    Machine::HERE.number_of(name)
}

/// The name of a call of this machine, if the table knows it.
pub fn name_of(number: u32) -> Option<&'static str> {
    Machine::HERE.name_of(number)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// The numbers as the kernel's headers have them. Debian's libc6-dev brings both files: arm64 has no
    /// numbers of its own, but those of `asm-generic`.
    fn header(machine: Machine) -> Option<BTreeMap<String, u32>> {
        let path = match machine {
            Machine::X86_64 => "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
            Machine::Aarch64 => "/usr/include/asm-generic/unistd.h",
        };
        let Ok(text) = std::fs::read_to_string(path) else {
            eprintln!("skipped for {}: there is no {path}", machine.name());
            return None;
        };
        let mut numbers = BTreeMap::new();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let (Some("#define"), Some(name), Some(number)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            // The second spelling is for calls whose 32-bit form has another name.
            let stripped = name.strip_prefix("__NR_").or_else(|| name.strip_prefix("__NR3264_"));
            if let (Some(name), Ok(number)) = (stripped, number.parse()) {
                let name = if name == "fstatat" { "newfstatat" } else { name };
                numbers.entry(name.to_owned()).or_insert(number);
            }
        }
        Some(numbers)
    }

    #[test]
    fn every_number_is_the_one_of_the_kernels_header() {
        for machine in Machine::ALL {
            let Some(header) = header(machine) else { continue };
            // The last two lines of the generic header count and mark, and are no calls.
            let is_call = |name: &str| !["syscalls", "arch_specific_syscall"].contains(&name);
            let newest =
                header.iter().filter(|(name, _)| is_call(name)).map(|(_, nr)| *nr).max().unwrap();
            for name in all_calls() {
                let (ours, theirs) = (machine.number_of(name), header.get(name).copied());
                match ours {
                    // Newer than the header.
                    Some(number) if number > newest => assert_eq!(theirs, None, "{name}"),
                    _ => assert_eq!(ours, theirs, "{name} on {}", machine.name()),
                }
            }
        }
    }

    #[test]
    fn the_numbers_of_this_machine_are_those_of_the_c_library() {
        for (name, number) in [
            ("read", libc::SYS_read),
            ("openat", libc::SYS_openat),
            ("seccomp", libc::SYS_seccomp),
            ("clone", libc::SYS_clone),
            ("execve", libc::SYS_execve),
            ("socket", libc::SYS_socket),
            ("mseal", libc::SYS_mseal),
        ] {
            assert_eq!(number_of(name).map(libc::c_long::from), Some(number), "{name}");
        }
    }

    #[test]
    fn each_machine_has_each_number_once_and_new_calls_have_the_same_everywhere() {
        for machine in Machine::ALL {
            let numbers: Vec<u32> = machine.calls().map(|(_, number)| number).collect();
            let different: BTreeSet<u32> = numbers.iter().copied().collect();
            assert_eq!(numbers.len(), different.len(), "{}", machine.name());
            for (name, number) in machine.calls() {
                assert_eq!(machine.name_of(number), Some(name));
            }
        }
        for name in all_calls() {
            let numbers = Machine::ALL.map(|machine| machine.number_of(name));
            assert!(numbers.iter().any(Option::is_some), "{name}");
            if numbers.iter().flatten().any(|number| *number >= 424) {
                assert_eq!(numbers[0], numbers[1], "{name}");
            }
        }
    }

    #[test]
    fn a_call_that_a_machine_lacks_has_neither_number_nor_name_there() {
        let [x86, arm] = Machine::ALL;
        let lacked: Vec<&str> = all_calls().filter(|name| arm.number_of(name).is_none()).collect();
        assert_eq!(lacked.len(), 41, "{lacked:?}");
        for name in ["open", "fork", "vfork", "poll", "mkdir", "arch_prctl", "iopl"] {
            assert!(lacked.contains(&name), "{name}");
            assert!(x86.number_of(name).is_some(), "{name}");
        }
        assert!(all_calls().all(|name| x86.number_of(name).is_some()));
        assert_eq!(arm.name_of(u32::MAX), None);
        assert_eq!(arm.number_of("no_such_call"), None);
    }

    #[test]
    fn names_and_audit_numbers_are_the_kernels() {
        assert_eq!(Machine::X86_64.audit(), 0xc000_003e);
        assert_eq!(Machine::Aarch64.audit(), 0xc000_00b7);
        for machine in Machine::ALL {
            assert_eq!(Machine::named(machine.name()), Some(machine));
        }
        assert_eq!(Machine::HERE.name(), std::env::consts::ARCH);
        assert_eq!(Machine::named("i686"), None);
    }
}
