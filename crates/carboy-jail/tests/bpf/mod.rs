//! An interpreter for the filters that the kernel runs, written from the kernel's documentation and
//! not from the compiler, and the comparison of a compiled filter with its profile.
//!
//! The tests of this crate and the fuzz target `profile` share it.

use carboy_jail::filter::{compile, compile_closing};
use carboy_jail::profile::{Profile, Verdict};
use carboy_sys::Machine;
use carboy_sys::seccomp::Instruction;

/// `SECCOMP_RET_ALLOW`.
pub const ALLOW: u32 = 0x7fff_0000;
/// `SECCOMP_RET_ERRNO`, without its number.
pub const ERRNO: u32 = 0x0005_0000;
/// `SECCOMP_RET_USER_NOTIF`.
pub const NOTIFY: u32 = 0x7fc0_0000;
/// `SECCOMP_RET_KILL_PROCESS`.
pub const KILL: u32 = 0x8000_0000;

/// `AUDIT_ARCH_X86_64` and `AUDIT_ARCH_AARCH64`, from the kernel's header.
pub fn arch(machine: Machine) -> u32 {
    match machine {
        Machine::X86_64 => 0xc000_003e,
        Machine::Aarch64 => 0xc000_00b7,
    }
}

/// What the kernel gives a filter to read: `struct seccomp_data`, in 32-bit words.
fn data(arch: u32, number: u32, args: &[u64; 6]) -> [u32; 16] {
    let mut words = [0; 16];
    words[0] = number;
    words[1] = arch;
    for (index, arg) in args.iter().enumerate() {
        words[4 + 2 * index] = *arg as u32;
        words[5 + 2 * index] = (*arg >> 32) as u32;
    }
    words
}

/// Runs a program as the kernel would. Panics where the kernel would not have loaded it: an unknown
/// operation, a read outside the data, a jump behind the end.
pub fn run(program: &[Instruction], arch: u32, number: u32, args: &[u64; 6]) -> u32 {
    let words = data(arch, number, args);
    let (mut at, mut accumulator, mut index) = (0, 0u32, 0u32);
    loop {
        let step = program.get(at).unwrap_or_else(|| panic!("jumps to {at} of {}", program.len()));
        at += 1;
        let constant = step.constant;
        let jump = |holds: bool| usize::from(if holds { step.jump_true } else { step.jump_false });
        match step.code {
            // BPF_LD | BPF_W | BPF_ABS
            0x20 => {
                assert_eq!(constant % 4, 0, "an unaligned read");
                accumulator = words[constant as usize / 4];
            }
            // BPF_LD | BPF_IMM
            0x00 => accumulator = constant,
            // BPF_ALU | BPF_AND | BPF_K
            0x54 => accumulator &= constant,
            // BPF_ALU | BPF_LSH | BPF_X
            0x6c => accumulator <<= index,
            // BPF_MISC | BPF_TAX
            0x07 => index = accumulator,
            // BPF_MISC | BPF_TXA
            0x87 => accumulator = index,
            // BPF_JMP | BPF_JA
            0x05 => at += constant as usize,
            // BPF_JMP | BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET | BPF_K
            0x15 => at += jump(accumulator == constant),
            0x25 => at += jump(accumulator > constant),
            0x35 => at += jump(accumulator >= constant),
            0x45 => at += jump(accumulator & constant != 0),
            // BPF_RET | BPF_K
            0x06 => return constant,
            code => panic!("unknown operation {code:#x}"),
        }
    }
}

/// What a filter must return for a verdict.
pub fn answer(verdict: &Verdict) -> u32 {
    match verdict {
        Verdict::Allow | Verdict::Sealing => ALLOW,
        Verdict::Answer(errno) => ERRNO | *errno as u32,
        Verdict::Refuse(_) | Verdict::Grant(_) => NOTIFY,
        Verdict::Kill => KILL,
    }
}

/// Compares both filters of a profile with what the profile says, for every call number that has a
/// rule, some that have none, and `more`.
pub fn compare(profile: &Profile, more: &[(u32, [u64; 6])]) {
    let (program, closing) = (compile(profile), compile_closing(profile));
    let machine = profile.machine();
    let without_rule = (0..600).map(|number| (number, [0; 6]));
    let calls = profile.probes().into_iter().chain(without_rule).chain(more.iter().copied());
    for (number, args) in calls {
        let verdict = profile.judge(number, &args);
        // Numbers of the x32 table die before any rule is looked at.
        let is_x32 = machine == Machine::X86_64 && number >= 0x4000_0000;
        let expected = if is_x32 { KILL } else { answer(&verdict) };
        assert_eq!(run(&program, arch(machine), number, &args), expected, "{number} {args:x?}");
        let expected = if verdict == Verdict::Sealing { ERRNO | 1 } else { ALLOW };
        assert_eq!(
            run(&closing, arch(machine), number, &args),
            expected,
            "{number} {args:x?}, closing"
        );
    }
}
