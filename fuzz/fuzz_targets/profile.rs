//! Profiles: read or refused, never a panic, and whatever is read compiles to filters that answer
//! every call as the profile says. The filters are interpreted, not only looked at.
//!
//! Text alone rarely is a profile, so one is also written from generated rules.
#![no_main]

#[path = "../../crates/carboy-jail/tests/bpf/mod.rs"]
mod bpf;

use std::fmt::Write;

use carboy_jail::profile::Profile;
use carboy_protocol::Walls;
use carboy_sys::{Machine, name_of};
use libfuzzer_sys::fuzz_target;

/// A test of one argument: which, its mask, how it compares, and with what.
type Test = (u8, Option<u32>, u8, Vec<u32>);
/// One case: the number of the call, what is to happen, and when.
type Case = (u16, u8, Vec<Test>);
/// A call: its number and its arguments.
type Call = (u32, [u64; 6]);

fuzz_target!(|data: (&str, Vec<Case>, Vec<Call>)| {
    let (text, cases, calls) = data;
    for walls in [Walls::Full, Walls::Nested] {
        for text in [text, &written(&cases)] {
            for machine in Machine::ALL {
                if let Ok(profile) = Profile::parse(text, machine, walls, 7) {
                    bpf::compare(&profile, &calls);
                }
            }
        }
    }
});

/// The cases as they stand in a file.
fn written(cases: &[Case]) -> String {
    const THEN: [&str; 6] = [
        "then='allow'",
        "then='sealing'",
        "then='answer'\nerrno='ENOSYS'",
        "then='refuse'\nerrno='EPERM'\nhint='h'",
        "then='thread'\nhint='h'",
        "then='memory'\nhint='h'",
    ];
    let mut text = "name='x'\n[answer]\n[nested]\n[refuse]\n[allow]\n".to_owned();
    if cases.is_empty() {
        return format!("case=[]\n{text}");
    }
    for (number, then, tests) in cases {
        let call = name_of(u32::from(*number) % 64).unwrap_or("read");
        let then = THEN[usize::from(*then) % THEN.len()];
        let tests: Vec<String> = tests.iter().map(written_test).collect();
        let tests = tests.join(",");
        writeln!(text, "[[case]]\ncall='{call}'\nwhy='w'\n{then}\nwhen=[{tests}]").expect("memory");
    }
    text
}

fn written_test((arg, mask, how, values): &Test) -> String {
    let value = values.first().copied().unwrap_or_default();
    let (how, may_mask) = match how % 5 {
        0 => (format!("any_of={values:?}"), true),
        1 => (format!("is={value}"), true),
        2 => (format!("above={value}"), true),
        3 => (format!("at_least={value}"), false),
        _ => ("null=true".to_owned(), false),
    };
    let mask = mask.filter(|_| may_mask).map(|mask| format!(",mask={mask}")).unwrap_or_default();
    format!("{{arg={}{mask},{how}}}", arg % 6)
}
