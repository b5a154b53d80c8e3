//! A check takes time in proportion to the source: a long one takes no longer than as much in short
//! pieces, whatever it is. Time is what the kernel counts for this thread, so that other work on
//! the machine does not change it.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests fail by panicking")]

use carboy_guard::check;
use carboy_protocol::{LanguagePolicy, LanguageProfile, PythonVersion};

/// How long the small source of each pair is, in bytes, and how much longer the large one.
const SMALL: usize = 1 << 14;
const TIMES: usize = 8;
/// The large source once, beside the small one as often as it takes to read as much. Linear work gives
/// 1, quadratic 8; caches and the allocator lie in between.
const MOST: f64 = 3.0;
/// Less than this is not measured: the kernel counts in steps of a few milliseconds.
const LEAST: f64 = 20e6;

/// Processor time of this thread, in nanoseconds.
fn cpu_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// How long a check takes, in nanoseconds.
fn time(source: &str) -> f64 {
    let policy = LanguagePolicy::of(LanguageProfile::Agent);
    let start = cpu_time();
    let report = check(source, &policy, PythonVersion::NEWEST);
    let took = (cpu_time() - start) as f64;
    drop(report);
    took
}

/// `line(0)`, `line(1)` and so on, up to a length.
fn lines(length: usize, line: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for number in 0.. {
        if text.len() >= length {
            break;
        }
        text.push_str(&line(number));
    }
    text
}

type Shape = (&'static str, fn(usize) -> String);

/// Sources of a given length in which some part of the check has much to do.
const SHAPES: &[Shape] = &[
    ("methods", |n| "class A:\n".to_owned() + &lines(n, |i| format!(" def m{i}(s): s.m{i}()\n"))),
    ("lambdas in a class", |n| {
        let names = lines(n / 2, |i| format!(" a{i}=1\n"));
        format!("class A:\n{names} x=[{}]\n", "lambda:0,".repeat(n / 18))
    }),
    ("classes in a class", |n| {
        let names = lines(n / 2, |i| format!(" a{i}=1\n"));
        format!("class A:\n{names}{}", lines(n / 2, |i| format!(" class B{i}: pass\n")))
    }),
    ("names of a function", |n| {
        let names = lines(n / 2, |i| format!(" a{i}=1\n"));
        format!("def f():\n{names}{}", lines(n / 2, |_| " lambda: a0\n".into()))
    }),
    ("a chain of classes", |n| lines(n, |i| format!("class A{}(A{i}): pass\n", i + 1))),
    ("classes of one name", |n| lines(n, |i| format!("class A(A): x{i}: int\n"))),
    ("positional patterns", |n| {
        let classes = lines(n / 2, |i| format!("class A{i}: pass\n"));
        format!("{classes}match x:\n{}", lines(n / 2, |i| format!(" case A{i}(y): pass\n")))
    }),
    ("imports of one statement", |n| format!("import a{}\n", ",a".repeat(n / 2))),
    ("imported names", |n| format!("from os import a{}\n", ",a".repeat(n / 2))),
    ("violations in one line", |n| "a.__b__;".repeat(n / 8)),
    ("violations at the end of a line", |n| {
        format!("x = '{}'; {}\n", "é".repeat(n / 4), "a.__b__;".repeat(n / 16))
    }),
    ("format strings", |n| "'{0.__a__}'.format(1)\n".repeat(n / 22)),
    ("one format string", |n| format!("'{}'.format(1)\n", "{0.a:{1.b}}".repeat(n / 11))),
    ("one query", |n| format!("d.query('{}')\n", "a.b > 1 and ".repeat(n / 12))),
    ("sentries", |n| "t.format(1)\n".repeat(n / 12)),
    ("sentries in one line", |n| format!("x = [{}]\n", "t.format(1),".repeat(n / 12))),
    ("handlers", |n| {
        format!("try:\n 0\n{}", lines(n, |i| format!("except E{i} as e{i}:\n e{i}.obj\n")))
    }),
    ("odd characters", |n| format!("# {}\n", "\u{202e}".repeat(n / 3))),
    ("statements", |n| "x;".repeat(n / 2)),
    ("a long list", |n| format!("x = [{}]\n", "-1, ".repeat(n / 4))),
    ("a long string", |n| format!("x = '{}'\n", "a".repeat(n))),
    ("line continuations", |n| "\\\n".repeat(n / 2) + "x = 1\n"),
    ("decorators", |n| "@a\n".repeat(n / 3) + "def f(): pass\n"),
    ("parameters", |n| format!("def f({}): pass\n", lines(n, |i| format!("a{i}=__b__,")))),
    ("globals", |n| format!("def f():\n global {}z\n", lines(n, |i| format!("a{i},")))),
    ("slots", |n| format!("class A:\n __slots__ = ({})\n", lines(n, |i| format!("'_a{i}',")))),
    ("fields", |n| format!("T = namedtuple('T', '{}')\n", lines(n, |i| format!("a{i} ")))),
];

#[test]
fn a_check_takes_time_in_proportion_to_the_source() {
    // The tables are read at the first use.
    time("import os\n");
    let mut slow = vec![];
    for (name, shape) in SHAPES {
        let (small, large) = (shape(SMALL), shape(TIMES * SMALL));
        // The best of a few: an interrupt can only make one longer. One that is good enough ends it.
        let mut ratio = f64::MAX;
        for _ in 0..3 {
            let once = time(&large);
            let as_much: f64 = (0..TIMES).map(|_| time(&small)).sum();
            ratio = ratio.min(once.max(LEAST) / as_much.max(LEAST));
            if ratio <= MOST {
                break;
            }
        }
        println!("{name}: {ratio:.2}");
        if ratio > MOST {
            slow.push(format!("{name}: {ratio:.1} times as long as in pieces"));
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}
