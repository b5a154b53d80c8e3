//! A profile as the program the kernel runs for every system call.
//!
//! The program checks the architecture, refuses numbers of a second table (x32), finds the call and then tests its
//! arguments. Calls are sets of bits, 32 numbers to a word: one test asks whether a call is among
//! all those of its word that get the same answer. That keeps the program short, and every jar
//! pays for its length, because the kernel translates it anew for each. It has four
//! answers (allow, fail, notify the engine, kill), which is why it is assembled here;
//! `docs/decisions/0003-own-filter-compiler.md` has the comparison.

use std::collections::{BTreeMap, VecDeque};

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

const OFFSET_NUMBER: u32 = 0;
const OFFSET_ARCH: u32 = 4;
const OFFSET_ARGS: u32 = 16;
/// How many calls share a word.
const WORD: u32 = 32;

fn op(code: u16, constant: u32) -> Instruction {
    Instruction { code, jump_true: 0, jump_false: 0, constant }
}

/// Skips `holds` of the instructions that follow if the comparison holds, and `fails` if not.
///
/// The jumps of a comparison are one byte each. Where one does not fit, the comparison chooses
/// between two long jumps.
fn branch(code: u16, constant: u32, holds: usize, fails: usize) -> Vec<Instruction> {
    match (u8::try_from(holds), u8::try_from(fails)) {
        (Ok(jump_true), Ok(jump_false)) => {
            vec![Instruction { code, jump_true, jump_false, constant }]
        }
        _ => vec![
            Instruction { code, jump_true: 0, jump_false: 1, constant },
            jump(holds + 1),
            jump(fails),
        ],
    }
}

/// Skips this many of the instructions that follow. A program that the kernel takes has at most
/// 4096, so a longer one fails to load, whatever its jumps are.
fn jump(skipped: usize) -> Instruction {
    op(JUMP, u32::try_from(skipped).unwrap_or(u32::MAX))
}

/// Compiles a profile, for the machine that it was read for.
pub fn compile(profile: &Profile) -> Vec<Instruction> {
    let mut program = vec![op(LOAD, OFFSET_ARCH)];
    program.extend(branch(IF_EQUAL, profile.machine.audit(), 1, 0));
    program.extend([op(RETURN, RETURN_KILL), op(LOAD, OFFSET_NUMBER)]);
    if let Some(second_table) = profile.machine.second_table() {
        program.extend(branch(IF_AT_LEAST, second_table, 0, 1));
        program.push(op(RETURN, RETURN_KILL));
    }
    program.extend([
        // The index register gets the call's bit in its word.
        op(AND, WORD - 1),
        op(TO_INDEX, 0),
        op(LOAD_CONSTANT, 1),
        op(SHIFT_LEFT, 0),
        op(TO_INDEX, 0),
        op(LOAD, OFFSET_NUMBER),
    ]);
    let fallback = profile.otherwise.as_ref().map_or(RETURN_KILL, |rule| action(&rule.verdict));
    program.extend(search(&words(profile, fallback), fallback));
    program
}

/// Compiles the second filter, which revokes what sealing needed: exactly those calls fail with
/// `EPERM`, and all others are left to the first filter. The stricter answer of the two counts.
pub fn compile_closing(profile: &Profile) -> Vec<Instruction> {
    let denied = op(RETURN, RETURN_ERRNO | Errno::PERM.raw_os_error() as u32);
    let allowed = op(RETURN, RETURN_ALLOW);
    let mut program = vec![op(LOAD, OFFSET_NUMBER)];
    for (number, rules) in &profile.calls {
        // The first rule that fits decides here too; what comes after the last of these is not asked.
        let is_sealing = |rule: &Rule| rule.verdict == Verdict::Sealing;
        let Some(last) = rules.iter().rposition(is_sealing) else { continue };
        let answer = |rule: &Rule| if is_sealing(rule) { denied } else { allowed };
        let mut body: Vec<Instruction> = rules[..=last]
            .iter()
            .flat_map(|rule| when_all_hold(&rule.tests, answer(rule)))
            .collect();
        body.push(allowed);
        program.extend(branch(IF_EQUAL, *number, 0, body.len()));
        program.extend(body);
    }
    program.push(allowed);
    program
}

/// The code for each word of numbers, with the first number of each. What lies behind the last has
/// no rule, and `fallback` is the answer.
fn words(profile: &Profile, fallback: u32) -> Vec<(u32, Vec<Instruction>)> {
    let last = profile.calls.keys().next_back().map_or(0, |number| number / WORD);
    let mut words: Vec<_> =
        (0..=last).map(|at| (at * WORD, word(profile, at * WORD, fallback))).collect();
    words.push(((last + 1) * WORD, call(&[], fallback)));
    words
}

/// The code for the calls from `first` on, as many as a word has bits.
fn word(profile: &Profile, first: u32, fallback: u32) -> Vec<Instruction> {
    let mut alike: BTreeMap<u32, u32> = BTreeMap::new();
    let mut particular: Vec<(u32, Vec<Instruction>)> = Vec::new();
    for (number, rules) in profile.calls.range(first..first + WORD) {
        let bit = 1 << (number % WORD);
        match &rules[..] {
            [rule] if rule.tests.is_empty() => {
                *alike.entry(action(&rule.verdict)).or_default() |= bit
            }
            _ => {
                let body = call(rules, fallback);
                match particular.iter_mut().find(|(_, known)| *known == body) {
                    Some((bits, _)) => *bits |= bit,
                    None => particular.push((bit, body)),
                }
            }
        }
    }
    alike.remove(&fallback);
    let mut code = vec![op(FROM_INDEX, 0)];
    for (action, bits) in alike {
        code.extend(branch(IF_ANY_BIT, bits, 0, 1));
        code.push(op(RETURN, action));
    }
    for (bits, body) in particular {
        code.extend(branch(IF_ANY_BIT, bits, 0, body.len()));
        code.extend(body);
    }
    code.push(op(RETURN, fallback));
    code
}

/// Finds the word that the number lies in.
fn search(words: &[(u32, Vec<Instruction>)], fallback: u32) -> Vec<Instruction> {
    let (low, high) = match words {
        [] => return call(&[], fallback),
        [(_, code)] => return code.clone(),
        _ => words.split_at(words.len() / 2),
    };
    let below = search(low, fallback);
    let mut code = branch(IF_AT_LEAST, high[0].0, below.len(), 0);
    code.extend(below);
    code.extend(search(high, fallback));
    code
}

/// The rules of one call, first fit first.
fn call(rules: &[Rule], fallback: u32) -> Vec<Instruction> {
    let mut code = Vec::new();
    let mut loaded = Vec::new();
    for rule in rules {
        let body = when_all_hold(&rule.tests, op(RETURN, action(&rule.verdict)));
        // What the rule before has loaded is not loaded again.
        code.extend(body.strip_prefix(&loaded[..]).unwrap_or(&body));
        loaded = left_loaded(rule);
    }
    if rules.last().is_none_or(|rule| !rule.tests.is_empty()) {
        code.push(op(RETURN, fallback));
    }
    code
}

/// How the accumulator came to what it holds behind a rule that did not fit; nothing if there is more than
/// one way out of the rule.
fn left_loaded(rule: &Rule) -> Vec<Instruction> {
    match &rule.tests[..] {
        [test] if matches!(test.how, How::AnyOf(_) | How::Above(_)) => load(test),
        _ => Vec::new(),
    }
}

/// Loads the lower half of what `test` looks at.
fn load(test: &Test) -> Vec<Instruction> {
    let mut code = vec![op(LOAD, OFFSET_ARGS + 8 * test.arg as u32)];
    if test.mask != u32::MAX {
        code.push(op(AND, test.mask));
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
            code.extend(load(test));
            // From the last comparison to the first: a value that is found skips those behind it.
            let mut values = values.iter().rev();
            let mut comparisons: VecDeque<Instruction> = match values.next() {
                Some(last) => branch(IF_EQUAL, *last, 0, rest).into(),
                None => [jump(rest)].into(),
            };
            for value in values {
                let comparison = branch(IF_EQUAL, *value, comparisons.len(), 0);
                comparison.into_iter().rev().for_each(|step| comparisons.push_front(step));
            }
            code.extend(comparisons);
        }
        How::Above(bound) => {
            code.extend(load(test));
            code.extend(branch(IF_ABOVE, *bound, 0, rest));
        }
        How::AtLeast(bound) => {
            let low_half = branch(IF_AT_LEAST, *bound, 0, rest);
            code.push(op(LOAD, high));
            code.extend(branch(IF_ABOVE, 0, 1 + low_half.len(), 0));
            code.push(op(LOAD, low));
            code.extend(low_half);
        }
        How::Null => {
            let low_half = branch(IF_EQUAL, 0, 0, rest);
            code.push(op(LOAD, high));
            code.extend(branch(IF_EQUAL, 0, 0, 1 + low_half.len() + rest));
            code.push(op(LOAD, low));
            code.extend(low_half);
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
