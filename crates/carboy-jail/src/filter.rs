//! A profile as the program the kernel runs for every system call.
//!
//! The program checks the architecture, refuses x32 numbers, finds the call and then tests its
//! arguments. Calls are sets of bits, 32 numbers to a word: one test asks whether a call is among
//! all those of its word that get the same answer. That keeps the program short, and every jar
//! pays for its length, because the kernel translates it anew for each. It answers in four ways
//! (allow, fail, ask the engine, kill), which is why it is assembled here;
//! `docs/decisions/0003-own-filter-compiler.md` has the comparison.

use std::collections::BTreeMap;

use carboy_sys::seccomp::Instruction;
use rustix::io::Errno;

use crate::profile::{How, Profile, Rule, Test, Verdict};

const LOAD: u16 = 0x20;
const LOAD_CONSTANT: u16 = 0x00;
const AND: u16 = 0x54;
const SHIFT_LEFT: u16 = 0x6c;
const TO_INDEX: u16 = 0x07;
const FROM_INDEX: u16 = 0x87;
const JUMP: u16 = 0x05;
const IF_EQUAL: u16 = 0x15;
const IF_ABOVE: u16 = 0x25;
const IF_AT_LEAST: u16 = 0x35;
const IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const RETURN_ALLOW: u32 = 0x7fff_0000;
const RETURN_ERRNO: u32 = 0x0005_0000;
const RETURN_NOTIFY: u32 = 0x7fc0_0000;
const RETURN_KILL: u32 = 0x8000_0000;

const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;
const X32_BIT: u32 = 0x4000_0000;
const OFFSET_NUMBER: u32 = 0;
const OFFSET_ARCH: u32 = 4;
const OFFSET_ARGS: u32 = 16;
/// How many calls share a word.
const WORD: u32 = 32;

fn op(code: u16, constant: u32) -> Instruction {
    Instruction { code, jump_true: 0, jump_false: 0, constant }
}

fn branch(code: u16, constant: u32, jump_true: usize, jump_false: usize) -> Instruction {
    // Blocks are a few instructions long; `search` uses a long jump where they are not.
    Instruction { code, jump_true: jump_true as u8, jump_false: jump_false as u8, constant }
}

/// Compiles a profile.
pub fn compile(profile: &Profile) -> Vec<Instruction> {
    let mut program = vec![
        op(LOAD, OFFSET_ARCH),
        branch(IF_EQUAL, AUDIT_ARCH_X86_64, 1, 0),
        op(RETURN, RETURN_KILL),
        op(LOAD, OFFSET_NUMBER),
        branch(IF_AT_LEAST, X32_BIT, 0, 1),
        op(RETURN, RETURN_KILL),
        // The index register gets the call's bit in its word.
        op(AND, WORD - 1),
        op(TO_INDEX, 0),
        op(LOAD_CONSTANT, 1),
        op(SHIFT_LEFT, 0),
        op(TO_INDEX, 0),
        op(LOAD, OFFSET_NUMBER),
    ];
    program.extend(search(&words(profile)));
    program
}

/// Compiles the second filter, which takes back what sealing needed: exactly those calls fail with
/// `EPERM`, and all others are left to the first filter. The stricter answer of the two counts.
pub fn compile_closing(profile: &Profile) -> Vec<Instruction> {
    let denied = op(RETURN, RETURN_ERRNO | Errno::PERM.raw_os_error() as u32);
    let allowed = op(RETURN, RETURN_ALLOW);
    let mut program = vec![op(LOAD, OFFSET_NUMBER)];
    for (number, rules) in &profile.calls {
        let sealing = rules.iter().filter(|rule| rule.verdict == Verdict::Sealing);
        let mut body: Vec<Instruction> =
            sealing.flat_map(|rule| when_all_hold(&rule.tests, denied)).collect();
        if !body.is_empty() {
            body.push(allowed);
            program.push(branch(IF_EQUAL, *number, 0, body.len()));
            program.extend(body);
        }
    }
    program.push(allowed);
    program
}

/// The code for each word of numbers, with the first number of each. What lies behind the last is
/// killed.
fn words(profile: &Profile) -> Vec<(u32, Vec<Instruction>)> {
    let last = profile.calls.keys().next_back().map_or(0, |number| number / WORD);
    let mut words: Vec<_> = (0..=last).map(|at| (at * WORD, word(profile, at * WORD))).collect();
    words.push(((last + 1) * WORD, call(&[])));
    words
}

/// The code for the calls from `first` on, as many as a word has bits.
fn word(profile: &Profile, first: u32) -> Vec<Instruction> {
    let mut alike: BTreeMap<u32, u32> = BTreeMap::new();
    let mut particular = Vec::new();
    for (number, rules) in profile.calls.range(first..first + WORD) {
        let bit = 1 << (number % WORD);
        match &rules[..] {
            [rule] if rule.tests.is_empty() => {
                *alike.entry(action(&rule.verdict)).or_default() |= bit
            }
            _ => particular.push((bit, call(rules))),
        }
    }
    alike.remove(&RETURN_KILL);
    let mut code = vec![op(FROM_INDEX, 0)];
    for (action, bits) in alike {
        code.extend([branch(IF_ANY_BIT, bits, 0, 1), op(RETURN, action)]);
    }
    for (bit, body) in particular {
        code.push(branch(IF_EQUAL, bit, 0, body.len()));
        code.extend(body);
    }
    code.push(op(RETURN, RETURN_KILL));
    code
}

/// Finds the word that the number lies in.
fn search(words: &[(u32, Vec<Instruction>)]) -> Vec<Instruction> {
    let (low, high) = match words {
        [] => return call(&[]),
        [(_, code)] => return code.clone(),
        _ => words.split_at(words.len() / 2),
    };
    let below = search(low);
    let mut code = if below.len() <= usize::from(u8::MAX) {
        vec![branch(IF_AT_LEAST, high[0].0, below.len(), 0)]
    } else {
        vec![branch(IF_AT_LEAST, high[0].0, 0, 1), op(JUMP, below.len() as u32)]
    };
    code.extend(below);
    code.extend(search(high));
    code
}

/// The rules of one call, first fit first.
fn call(rules: &[Rule]) -> Vec<Instruction> {
    let mut code = Vec::new();
    for rule in rules {
        code.extend(when_all_hold(&rule.tests, op(RETURN, action(&rule.verdict))));
    }
    if rules.last().is_none_or(|rule| !rule.tests.is_empty()) {
        code.push(op(RETURN, RETURN_KILL));
    }
    code
}

/// Does `then` if every test holds, else goes on behind it.
fn when_all_hold(tests: &[Test], then: Instruction) -> Vec<Instruction> {
    let mut body = vec![then];
    for test in tests.iter().rev() {
        let mut tested = condition(test, body.len());
        tested.extend(body);
        body = tested;
    }
    body
}

/// Falls through if `test` holds, else jumps over the `rest` instructions that follow.
fn condition(test: &Test, rest: usize) -> Vec<Instruction> {
    let low = OFFSET_ARGS + 8 * test.arg as u32;
    let high = low + 4;
    let mut code = Vec::new();
    match &test.how {
        How::AnyOf(values) => {
            code.push(op(LOAD, low));
            if test.mask != u32::MAX {
                code.push(op(AND, test.mask));
            }
            for (index, value) in values.iter().enumerate() {
                let left = values.len() - 1 - index;
                let miss = if left == 0 { rest } else { 0 };
                code.push(branch(IF_EQUAL, *value, left, miss));
            }
            if values.is_empty() {
                code.push(op(JUMP, rest as u32));
            }
        }
        How::Above(bound) => {
            code.push(op(LOAD, low));
            if test.mask != u32::MAX {
                code.push(op(AND, test.mask));
            }
            code.push(branch(IF_ABOVE, *bound, 0, rest));
        }
        How::AtLeast(bound) => {
            code.push(op(LOAD, high));
            code.push(branch(IF_ABOVE, 0, 2, 0));
            code.push(op(LOAD, low));
            code.push(branch(IF_AT_LEAST, *bound, 0, rest));
        }
        How::Null => {
            code.push(op(LOAD, high));
            code.push(branch(IF_EQUAL, 0, 0, rest + 2));
            code.push(op(LOAD, low));
            code.push(branch(IF_EQUAL, 0, 0, rest));
        }
    }
    code
}

fn action(verdict: &Verdict) -> u32 {
    match verdict {
        Verdict::Allow | Verdict::Sealing => RETURN_ALLOW,
        Verdict::Answer(errno) => RETURN_ERRNO | (*errno as u32 & 0xffff),
        Verdict::Refuse(_) | Verdict::Grant(_) => RETURN_NOTIFY,
        Verdict::Kill => RETURN_KILL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carboy_protocol::Walls;
    use proptest::prelude::*;

    /// The kernel's view of a call, and an interpreter that follows the program on it.
    fn run(program: &[Instruction], arch: u32, number: u32, args: &[u64; 6]) -> u32 {
        let word = |offset: u32| match offset {
            OFFSET_NUMBER => number,
            OFFSET_ARCH => arch,
            at => {
                let arg = args[((at - OFFSET_ARGS) / 8) as usize];
                if at % 8 == 0 { arg as u32 } else { (arg >> 32) as u32 }
            }
        };
        let (mut at, mut a, mut index) = (0, 0, 0);
        loop {
            let step = program[at];
            at += 1;
            let holds = match step.code {
                LOAD => {
                    a = word(step.constant);
                    continue;
                }
                LOAD_CONSTANT => {
                    a = step.constant;
                    continue;
                }
                AND => {
                    a &= step.constant;
                    continue;
                }
                SHIFT_LEFT => {
                    a <<= index;
                    continue;
                }
                TO_INDEX => {
                    index = a;
                    continue;
                }
                FROM_INDEX => {
                    a = index;
                    continue;
                }
                JUMP => {
                    at += step.constant as usize;
                    continue;
                }
                RETURN => return step.constant,
                IF_EQUAL => a == step.constant,
                IF_ABOVE => a > step.constant,
                IF_AT_LEAST => a >= step.constant,
                IF_ANY_BIT => a & step.constant != 0,
                code => panic!("unknown operation {code:#x}"),
            };
            at += usize::from(if holds { step.jump_true } else { step.jump_false });
        }
    }

    #[test]
    fn a_foreign_entry_dies_whatever_it_asks() {
        let program = compile(&Profile::process(Walls::Full).unwrap());
        for number in 0..600 {
            assert_eq!(run(&program, 0x4000_0003, number, &[0; 6]), RETURN_KILL);
            assert_eq!(run(&program, AUDIT_ARCH_X86_64, number | X32_BIT, &[0; 6]), RETURN_KILL);
        }
        assert_eq!(run(&program, AUDIT_ARCH_X86_64, u32::MAX, &[0; 6]), RETURN_KILL);
    }

    #[test]
    fn the_closing_filter_takes_back_what_sealing_needed_and_no_more() {
        let profile = Profile::process(Walls::Full).unwrap();
        let program = compile_closing(&profile);
        let others = (0..600).map(|number| (number, [0; 6]));
        let mut taken_back = std::collections::BTreeSet::new();
        for (number, args) in profile.probes().into_iter().chain(others) {
            let sealing = profile.judge(number, &args) == Verdict::Sealing;
            let expected = if sealing { RETURN_ERRNO | 1 } else { RETURN_ALLOW };
            assert_eq!(run(&program, AUDIT_ARCH_X86_64, number, &args), expected, "{number}");
            if sealing {
                taken_back.insert(carboy_sys::name_of(number).unwrap());
            }
        }
        assert_eq!(taken_back.into_iter().collect::<Vec<_>>(), ["seccomp", "sendmsg"]);
    }

    #[test]
    fn the_program_is_short_and_shallow() {
        let program = compile(&Profile::process(Walls::Full).unwrap());
        assert!(program.len() < 300, "{} instructions", program.len());
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        // What the kernel will do is what the profile says, for every call and any arguments.
        #[test]
        fn program_and_profile_agree(number in 0u32..600, args in prop::array::uniform6(interesting())) {
            thread_local! {
                static BOTH: [(Profile, Vec<Instruction>); 2] =
                    [Walls::Full, Walls::Nested].map(|walls| {
                        let profile = Profile::process(walls).unwrap();
                        let program = compile(&profile);
                        (profile, program)
                    });
            }
            BOTH.with(|both| {
                for (profile, program) in both {
                    let expected = action(&profile.judge(number, &args));
                    prop_assert_eq!(run(program, AUDIT_ARCH_X86_64, number, &args), expected);
                }
                Ok(())
            })?;
        }
    }
}
