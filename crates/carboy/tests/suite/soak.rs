//! A mix of honest, hostile, crashing, cancelled and abandoned jobs, for as long as one likes: each has
//! the one outcome that is right for it, and the engine does not grow.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use carboy_engine::{Engine, GateConfig, RunError, RunOptions};
use carboy_protocol::{Job, Limits, Outcome};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::support::*;

/// One kind of job: how it is asked and what must come of it. `#` in its code and in what must come of
/// it is the number of the job, so that no outcome fits another job.
struct Sort {
    name: &'static str,
    code: &'static str,
    limits: fn(&mut Limits),
    expected: &'static str,
}

const fn sort(name: &'static str, code: &'static str, expected: &'static str) -> Sort {
    Sort { name, code, limits: |_| {}, expected }
}

/// The work of most callers.
const HONEST: [Sort; 6] = [
    sort("answer", "result = #", "ok #"),
    sort("sum", "print('#')\nresult = sum(range(100)) + # - #", "ok 4950"),
    sort("file", "open('a', 'w').write('#')\nresult = [#]", "ok [#]"),
    sort("exception", "raise ValueError('#')", "exception ValueError #"),
    sort(
        "threads",
        "import threading\nfound = []\nthreads = [threading.Thread(target=found.append, args=(#,)) for _ in range(3)]\n\
         [thread.start() for thread in threads]\n[thread.join() for thread in threads]\nresult = found",
        "ok [#,#,#]",
    ),
    sort("long", "result = 'x' * 100000 + '#'", "ok a long text, then #\""),
];

/// Everybody else.
const HOSTILE: [Sort; 22] = [
    Sort {
        limits: |limits| limits.wall_ms = 30,
        ..sort("loop", "while True: pass", "limit wall_ms")
    },
    // It cannot send itself the signal, so the C library makes it fault.
    sort("abort", "import os\nos.abort()", "crash SIGSEGV"),
    sort("exit", "import os\nos._exit(3)", "crash Exit"),
    sort("segfault", "import ctypes\nctypes.string_at(0)", "crash SIGSEGV"),
    Sort {
        limits: |limits| limits.printed_bytes = 200_000,
        ..sort("flood", "while True: print('x' * 4096)", "limit printed_bytes")
    },
    sort("memory", "x = bytearray(1 << 30)", "limit memory_bytes"),
    Sort {
        limits: |limits| limits.memory_bytes = 8 << 20,
        ..sort(
            "hidden memory",
            "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\n\
             for _ in range(40):\n    page = libc.mmap(None, ctypes.c_size_t(1 << 20), 3, 0x22, -1, ctypes.c_long(0))\n    \
             ctypes.memset(page, 1, 1 << 20)\n    libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(1 << 20), 1)\nresult = 1",
            "limit memory_bytes",
        )
    },
    Sort {
        limits: |limits| limits.file_bytes = 1 << 20,
        ..sort(
            "files",
            "for name in 'abcd':\n    with open(name, 'wb') as file: file.write(bytes(1 << 19))\nresult = 1",
            "limit file_bytes",
        )
    },
    sort("socket", "import socket\nsocket.socket()", "denied"),
    sort("fork", "import os\nos.fork()", "limit processes"),
    Sort {
        limits: |limits| limits.denials = 100,
        ..sort(
            "knocks",
            "import ctypes\nlibc = ctypes.CDLL(None)\nwhile True: libc.socket(2, 1, 0)",
            "limit denials",
        )
    },
    Sort {
        limits: |limits| limits.wall_ms = 60,
        ..sort(
            "futile threads",
            "import ctypes\nlibc = ctypes.CDLL(None)\nstack = ctypes.create_string_buffer(65536)\n\
             top = ctypes.c_void_p((ctypes.addressof(stack) + 65000) & ~15)\n\
             while True: libc.syscall(56, 0x90f00, top, 0, 0, ctypes.c_void_p(0xffff800000000000))",
            "limit wall_ms",
        )
    },
    sort("errno 0", "raise OSError(0, '#')", "exception OSError [Errno 0] #"),
    sort("errno", "raise OSError(99999, '#')", "exception OSError [Errno 99999] #"),
    sort("errno below", "raise OSError(-4096, '#')", "exception OSError [Errno -4096] #"),
    sort(
        "garbage",
        "import os, time\nos.write(4, b'\\0\\0\\0\\x04# # #')\ntime.sleep(60)",
        "crash BrokenFrame",
    ),
    sort(
        "claim",
        "import os\nos.write(4, b'\\x7f\\xff\\xff\\xffN')\nos._exit(0)",
        "crash BrokenFrame",
    ),
    sort(
        "two answers",
        "import os\nbody = b'{\"done\":{\"result\":#}}'\nframe = len(body).to_bytes(4, 'big') + body\nos.write(4, frame + frame)\nos._exit(0)",
        "crash BrokenFrame",
    ),
    sort(
        "forged",
        "import os\nbody = b'{\"done\":{\"result\":#}}'\nos.write(4, len(body).to_bytes(4, 'big') + body)\nos._exit(0)",
        "ok #",
    ),
    sort(
        "closes",
        "import os\nfor number in range(5): os.close(number)\nos._exit(0)",
        "crash Exit",
    ),
    sort("deep", "result = []\nfor _ in range(200): result = [result]", "limit result_depth"),
    sort("large", "result = '#' * (1 << 20)", "limit result_bytes"),
];

/// What came of a job, as a sort says it.
fn came(outcome: &Outcome) -> String {
    let Some(error) = &outcome.error else {
        let result = outcome.result.as_ref().map_or("nothing", |result| result.get());
        return match result.strip_prefix(&format!("\"{}", "x".repeat(100_000))) {
            Some(rest) => format!("ok a long text, then {rest}"),
            None => format!("ok {}", result.replace(' ', "")),
        };
    };
    let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let kind = word(serde_json::to_value(error.kind).unwrap());
    match (&error.limit, kind.as_str()) {
        (Some(limit), _) => format!("limit {}", word(serde_json::to_value(limit.name).unwrap())),
        (None, "exception") => {
            format!("exception {} {}", error.type_name, error.message)
        }
        (None, "crash") => format!("crash {}", error.type_name),
        (None, kind) => kind.to_owned(),
    }
}

/// A number that looks like any other, and is the same for the same job in each run of this test.
fn scattered(number: usize) -> usize {
    ((number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as usize
}

/// One job, and the name of what it was.
async fn one(engine: &Engine, number: usize) -> &'static str {
    let chance = scattered(number);
    let sort = match chance % 8 {
        0 | 1 => &HOSTILE[chance / 8 % HOSTILE.len()],
        _ => &HONEST[chance / 8 % HONEST.len()],
    };
    let filled = |text: &str| text.replace('#', &number.to_string());
    let job = Job::new(filled(sort.code)).with_policy(policy(sort.limits));
    let (cancel, cancelled) = oneshot::channel();
    let tenant = format!("t{}", number % 5);
    match chance / 512 % 32 {
        // A caller that goes away.
        0 => {
            let options = RunOptions { tenant, ..RunOptions::default() };
            let patience = Duration::from_micros(chance as u64 % 3000);
            tokio::time::timeout(patience, engine.run_with(job, options)).await.ok();
            "abandoned"
        }
        // One that thinks better of it, at any moment.
        1 => {
            let options = RunOptions { tenant, cancel: Some(cancelled), ..RunOptions::default() };
            let running = engine.run_with(job, options);
            let stop = async {
                tokio::time::sleep(Duration::from_micros(chance as u64 % 5000)).await;
                cancel.send(()).ok();
            };
            match tokio::join!(running, stop).0 {
                Err(RunError::Cancelled) => "cancelled",
                Ok(outcome) if came(&outcome) == "cancelled" => "cancelled",
                // It was over before.
                Ok(outcome) => expect(sort, number, &outcome),
                Err(error) => panic!("{}, job {number}: {}", sort.name, whole(&error)),
            }
        }
        _ => {
            let options = RunOptions { tenant, ..RunOptions::default() };
            match engine.run_with(job, options).await {
                Ok(outcome) => expect(sort, number, &outcome),
                Err(error) => panic!("{}, job {number}: {}", sort.name, whole(&error)),
            }
        }
    }
}

/// An error with all its causes.
fn whole(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn expect(sort: &Sort, number: usize, outcome: &Outcome) -> &'static str {
    let expected = sort.expected.replace('#', &number.to_string());
    assert_eq!(came(outcome), expected, "{}, job {number}: {outcome:#?}", sort.name);
    sort.name
}

/// The jobs of these numbers, and how many there were of each sort.
async fn soak(bench: &Bench, jobs: Range<usize>) -> BTreeMap<&'static str, usize> {
    let next = Arc::new(AtomicUsize::new(jobs.start));
    let mut tasks = JoinSet::new();
    for _ in 0..16 {
        let (engine, next) = (bench.engine.clone(), next.clone());
        tasks.spawn(async move {
            let mut counts = BTreeMap::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= jobs.end {
                    return counts;
                }
                *counts.entry(one(&engine, number).await).or_insert(0) += 1;
            }
        });
    }
    let mut all = BTreeMap::new();
    while let Some(counts) = tasks.join_next().await {
        for (name, count) in counts.unwrap() {
            *all.entry(name).or_insert(0) += count;
        }
    }
    all
}

/// Resident memory, descriptors and processes of the engine.
fn held() -> (u64, usize, usize) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let resident = line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024;
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().count();
    (resident, descriptors, descendants(std::process::id()).len())
}

#[tokio::test]
async fn a_long_mixed_day() {
    let jobs = size("CARBOY_TEST_SOAK_JOBS", 2000);
    let bench = Bench::with_gate(GateConfig { running: 16, ..GateConfig::default() });
    // What it takes to have every sort of jar standing, and an arena of the allocator for every thread
    // that was ever busy, is there from here on.
    let warm = (jobs / 10).max(500);
    soak(&bench, 0..warm).await;
    let before = held();
    let started = Instant::now();
    let mut counts = BTreeMap::new();
    let mut done = 0;
    while done < jobs {
        let some = (jobs - done).min(20_000);
        for (name, count) in soak(&bench, warm + done..warm + done + some).await {
            *counts.entry(name).or_insert(0) += count;
        }
        done += some;
        let after = held();
        println!(
            "{done} jobs in {:?}; memory, descriptors, processes {before:?} -> {after:?}",
            started.elapsed()
        );
        assert!(
            after.0 < before.0 + (8 << 20),
            "the engine grew from {} to {} bytes",
            before.0,
            after.0
        );
        // As many jars as ever stand or run, with what each of them takes.
        assert!(after.1 < 16 * (32 + 16 + 8) && after.2 < 32 + 16 + 8, "{before:?} -> {after:?}");
    }
    println!("{counts:?}");
    assert_eq!(counts.values().sum::<usize>(), jobs, "a job without an outcome, or with two");
    bench.close().await;
}
