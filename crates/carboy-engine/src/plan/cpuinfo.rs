//! What `/proc/cpuinfo` tells in a jar: processors of no particular make, in the form of the architecture.
//!
//! It says how many there are, and the instructions that every processor of the architecture has. Which more
//! there are, a processor says itself.

use carboy_sys::Machine;

/// The text for this many processors.
pub(super) fn text(machine: Machine, processors: u64) -> String {
    let one = |number: u64| match machine {
        Machine::X86_64 => format!(
            "processor\t: {number}\nvendor_id\t: carboy\ncpu family\t: 6\nmodel\t\t: 0\n\
             model name\t: carboy\ncpu MHz\t\t: 1000.000\nphysical id\t: 0\n\
             siblings\t: {processors}\ncore id\t\t: {number}\ncpu cores\t: {processors}\n\
             flags\t\t: fpu cx8 cmov mmx fxsr sse sse2 syscall nx lm\n\n"
        ),
        Machine::Aarch64 => format!(
            "processor\t: {number}\nBogoMIPS\t: 100.00\nFeatures\t: fp asimd\n\
             CPU implementer\t: 0x00\nCPU architecture: 8\nCPU variant\t: 0x0\n\
             CPU part\t: 0x000\nCPU revision\t: 0\n\n"
        ),
    };
    (0..processors).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_processor_is_there_once_on_every_machine() {
        for machine in Machine::ALL {
            let text = text(machine, 3);
            let numbers: Vec<&str> =
                text.lines().filter_map(|line| line.strip_prefix("processor\t: ")).collect();
            assert_eq!(numbers, ["0", "1", "2"]);
            assert_eq!(text.split_terminator("\n\n").count(), 3);
        }
    }
}
