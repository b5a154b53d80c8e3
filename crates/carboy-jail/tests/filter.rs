//! A compiled filter answers as its profile says, for the profile in the repository and for any
//! other: with sets, rules and words so long that their jumps do not fit into one instruction.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod bpf;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use bpf::{ALLOW, ERRNO, KILL, NOTIFY, arch, compare, run};
use carboy_jail::filter::{compile, compile_closing};
use carboy_jail::profile::{Profile, Verdict};
use carboy_protocol::Walls;
use carboy_sys::Machine;
use proptest::prelude::*;

const X32_BIT: u32 = 0x4000_0000;

/// `AUDIT_ARCH_I386` and `AUDIT_ARCH_ARM`: the 32-bit programs that the two machines run as well.
const I386: u32 = 0x4000_0003;
const ARM: u32 = 0x4000_0028;

fn process(machine: Machine, walls: Walls) -> Profile {
    Profile::process_on(machine, walls, 7).unwrap()
}

/// The number of a call that every machine has.
fn number_of(machine: Machine, name: &str) -> u32 {
    machine.number_of(name).unwrap()
}

/// A profile with these cases, and with calls that are simply allowed.
fn profile(machine: Machine, cases: &str, allow: &str) -> Profile {
    let text = format!("name='x'\n{cases}\n[answer]\n[nested]\n[refuse]\n[allow]\n{allow}");
    Profile::parse(&text, machine, Walls::Full, 7).unwrap()
}

#[test]
fn a_foreign_entry_dies_whatever_it_asks() {
    for machine in Machine::ALL {
        let program = compile(&process(machine, Walls::Full));
        let others = Machine::ALL.into_iter().filter(|other| *other != machine).map(arch);
        for foreign in others.chain([I386, ARM, 0, u32::MAX]) {
            for number in 0..600 {
                assert_eq!(run(&program, foreign, number, &[0; 6]), KILL, "{foreign:x}");
            }
        }
    }
}

#[test]
fn numbers_of_x32_die_where_there_is_x32_and_are_told_to_the_engine_elsewhere() {
    for (machine, answer) in [(Machine::X86_64, KILL), (Machine::Aarch64, NOTIFY)] {
        let program = compile(&process(machine, Walls::Full));
        for number in (0..600).map(|number| number | X32_BIT).chain([X32_BIT - 1, u32::MAX]) {
            let answer = if number < X32_BIT { NOTIFY } else { answer };
            assert_eq!(run(&program, arch(machine), number, &[0; 6]), answer, "{number:x}");
        }
    }
}

#[test]
fn the_closing_filter_takes_back_what_sealing_needed_and_no_more() {
    Machine::ALL.into_iter().for_each(closing_on);
}

fn closing_on(machine: Machine) {
    let profile = process(machine, Walls::Full);
    let program = compile_closing(&profile);
    let others = (0..600).map(|number| (number, [0; 6]));
    let mut taken_back = BTreeSet::new();
    for (number, args) in profile.probes().into_iter().chain(others) {
        let sealing = profile.judge(number, &args) == Verdict::Sealing;
        let expected = if sealing { ERRNO | 1 } else { ALLOW };
        assert_eq!(run(&program, arch(machine), number, &args), expected, "{number}");
        if sealing {
            taken_back.insert(machine.name_of(number).unwrap());
        }
    }
    assert_eq!(taken_back.into_iter().collect::<Vec<_>>(), ["prlimit64", "seccomp", "sendmsg"]);
}

#[test]
fn the_program_is_short_and_shallow() {
    for machine in Machine::ALL {
        let program = compile(&process(machine, Walls::Full));
        assert!(program.len() < 300, "{} instructions on {machine:?}", program.len());
    }
}

#[test]
fn a_set_longer_than_a_jump_is_compared_to_its_last_value() {
    let values: Vec<u32> = (0..1_000).map(|value| value * 3).collect();
    let case = |call: &str, then: &str| {
        format!(
            "[[case]]\ncall='{call}'\nwhy='w'\nthen='{then}'\nwhen=[{{arg=1,any_of={values:?}}}]"
        )
    };
    let machine = Machine::X86_64;
    let number = number_of(machine, "ioctl");
    for then in ["allow", "sealing"] {
        let profile = profile(machine, &case("ioctl", then), "read='r'\nwrite='r'");
        let calls: Vec<_> = (0..3_010).map(|value| (number, [0, value, 0, 0, 0, 0])).collect();
        compare(&profile, &calls);
    }
}

#[test]
fn rules_longer_than_a_jump_are_passed_over_whole() {
    // Many tests in one rule, many rules for one call, many long calls in one word.
    let when: String = (0..150).map(|_| "{arg=0,mask=255,any_of=[1,2]},").collect();
    let long = format!("[[case]]\ncall='ioctl'\nwhy='w'\nthen='allow'\nwhen=[{when}]\n");
    let many: String = (0..200)
        .map(|value| {
            let call = ["fcntl", "futex", "prctl", "madvise"][value % 4];
            format!(
                "[[case]]\ncall='{call}'\nwhy='w'\nthen='sealing'\nwhen=[{{arg=1,is={value}}}]\n"
            )
        })
        .collect();
    let machine = Machine::X86_64;
    let profile = profile(machine, &(long + &many), "read='r'\nwrite='r'\nexit_group='r'");
    let calls: Vec<_> = ["ioctl", "fcntl", "futex", "prctl", "madvise", "read"]
        .iter()
        .map(|name| number_of(machine, name))
        .flat_map(|number| (0..210).map(move |value| (number, [1, value, 0, 0, 0, 0])))
        .collect();
    compare(&profile, &calls);
}

#[test]
fn a_rule_compares_its_own_word_whatever_the_rule_before_has_loaded() {
    let tests = [
        "arg=0,is=3",
        "arg=0,any_of=[1,9]",
        "arg=0,above=12",
        "arg=0,mask=6,is=2",
        "arg=0,mask=9,above=7",
        "arg=0,at_least=11",
        "arg=0,null=true",
        "arg=1,is=3",
        "arg=0,is=5},{arg=1,is=0",
    ];
    let machine = Machine::X86_64;
    let number = number_of(machine, "ioctl");
    let words = (0..16).flat_map(|low| [low, low | 1 << 32]);
    let calls: Vec<_> =
        words.flat_map(|word| [0, 3].map(|next| (number, [word, next, 0, 0, 0, 0]))).collect();
    let case = |test: &str, then: &str| {
        format!("[[case]]\ncall='ioctl'\nwhy='w'\nthen={then}\nwhen=[{{{test}}}]\n")
    };
    for first in tests {
        for second in tests {
            for third in tests {
                let cases = case(first, "'allow'")
                    + &case(second, "'answer'\nerrno='ENOSYS'")
                    + &case(third, "'refuse'\nerrno='EPERM'\nhint='h'");
                compare(&profile(machine, &cases, ""), &calls);
            }
        }
    }
}

#[test]
fn what_an_earlier_rule_allows_is_still_allowed_after_sealing() {
    let case = |then: &str, arg: u32| {
        format!("[[case]]\ncall='ioctl'\nwhy='w'\nthen='{then}'\nwhen=[{{arg={arg},is=1}}]\n")
    };
    let machine = Machine::X86_64;
    let cases = case("allow", 0) + &case("sealing", 1) + &case("allow", 2);
    let profile = profile(machine, &cases, "");
    let number = number_of(machine, "ioctl");
    let bits = |value: u64| [value & 1, value >> 1 & 1, value >> 2 & 1, 0, 0, 0];
    compare(&profile, &(0..8).map(|value| (number, bits(value))).collect::<Vec<_>>());
}

fn interesting() -> impl Strategy<Value = u64> {
    let low = prop_oneof![
        prop::sample::select(vec![
            0u64, 1, 2, 5, 0x11, 0x20, 0x21, 0x22, 15, 0x5401, 0x5412, 0x53564d41, 0x3d0f00,
            0x10f00, 0x10000000, 0x20000, 0x3fffff, 0x400000, 1030, 1031
        ]),
        any::<u32>().prop_map(u64::from),
    ];
    let high = prop_oneof![Just(0u64), Just(1), any::<u32>().prop_map(u64::from)];
    (low, high).prop_map(|(low, high)| low | high << 32)
}

/// A test of one argument, as a profile says it.
fn test() -> impl Strategy<Value = String> {
    let value = || prop_oneof![0u32..8, any::<u32>()];
    let how = prop_oneof![
        4 => prop::collection::vec(value(), 0..400).prop_map(|values| format!("any_of={values:?}")),
        2 => value().prop_map(|value| format!("is={value}")),
        2 => value().prop_map(|value| format!("above={value}")),
        1 => value().prop_map(|value| format!("at_least={value}")),
        1 => Just("null=true".to_owned()),
    ];
    let mask = prop::option::of(prop_oneof![Just(u32::MAX), Just(7), any::<u32>()]);
    (0..6, mask, how).prop_map(|(arg, mask, how)| match mask {
        Some(mask) if !how.starts_with("at_least") && !how.starts_with("null") => {
            format!("{{arg={arg},mask={mask},{how}}}")
        }
        _ => format!("{{arg={arg},{how}}}"),
    })
}

/// Cases for a few neighbouring calls, so that they share words of the search.
fn cases() -> impl Strategy<Value = String> {
    let name_of = |number| Machine::X86_64.name_of(number);
    let names: Vec<&'static str> = (0..80).filter_map(name_of).collect();
    let then = prop::sample::select(vec![
        "then='allow'",
        "then='sealing'",
        "then='answer'\nerrno='ENOSYS'",
        "then='refuse'\nerrno='EPERM'\nhint='h'",
        "then='thread'\nhint='h'",
    ]);
    let case = (prop::sample::select(names), then, prop::collection::vec(test(), 1..4)).prop_map(
        |(call, then, tests)| {
            let tests = tests.join(",");
            format!("[[case]]\ncall='{call}'\nwhy='w'\n{then}\nwhen=[{tests}]\n")
        },
    );
    prop::collection::vec(case, 1..12).prop_map(|cases| cases.concat())
}

/// The profile of the process tier on every machine, behind both walls, beside an old Landlock and a new
/// one, read once.
static PROCESS: LazyLock<Vec<Profile>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for machine in Machine::ALL {
        for walls in [Walls::Full, Walls::Nested] {
            all.extend([1, 7].map(|level| Profile::process_on(machine, walls, level).unwrap()));
        }
    }
    all
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]
    // What the kernel will do is what the profile says, for every call and any arguments.
    #[test]
    fn program_and_profile_agree(
        calls in prop::collection::vec((0u32..600, prop::array::uniform6(interesting())), 1_000)
    ) {
        PROCESS.iter().for_each(|profile| compare(profile, &calls));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn any_program_and_its_profile_agree(
        cases in cases(),
        calls in prop::collection::vec((0u32..80, prop::array::uniform6(interesting())), 50)
    ) {
        for machine in Machine::ALL {
            compare(&profile(machine, &cases, "getppid='r'\nsetrlimit='r'"), &calls);
        }
    }
}
