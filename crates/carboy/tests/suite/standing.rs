//! Jars that stand sealed and waiting: used once, filled up, never shared.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use carboy_engine::PoolConfig;
use carboy_protocol::{LimitName, Limits, Walls};

use crate::support::*;

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < LONG, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_standing_jar_is_used_once_and_replaced() {
    let bench = Bench::new();
    let policy = policy(|_| {});
    bench.engine.stand(&policy, 4).await.unwrap();
    let standing = || bench.engine.standing(&policy).into_iter().collect::<BTreeSet<u32>>();
    assert_eq!(standing().len(), 4);
    let change = "import builtins\nbuiltins.seen = 1\nopen('left', 'w').close()\nresult = 1";
    let mut used = BTreeSet::new();
    for _ in 0..6 {
        let before = standing();
        assert_eq!(result(&bench.ask(change).await), "1");
        used.extend(before.difference(&standing()).copied());
    }
    assert!(!used.is_empty(), "no run took a jar that stood");
    until("the shelf is not filled again", || bench.engine.standing(&policy).len() >= 4).await;
    assert!(used.is_disjoint(&standing()), "a used jar stands again");
    let look = "import builtins, os\nresult = [hasattr(builtins, 'seen'), os.listdir('.')]";
    assert_eq!(result(&bench.ask(look).await), "[false,[]]");
    bench.close().await;
}

#[tokio::test]
async fn a_warmed_jar_shows_nothing_of_its_warming() {
    let bench = Bench::new();
    bench.engine.stand(&policy(|_| {}), 2).await.unwrap();
    let code = "
import sys, threading, os
result = [sorted(n for n in globals() if not n.startswith('__')), __name__, __file__,
          threading.active_count(), os.listdir('.')]
";
    let expected = r#"[["context","os","sys","threading"],"__main__","job.py",1,[]]"#;
    assert_eq!(result(&bench.ask(code).await), expected);
    bench.close().await;
}

#[tokio::test]
async fn siblings_that_stand_draw_different_numbers() {
    let bench = Bench::new();
    bench.engine.stand(&policy(|_| {}), 8).await.unwrap();
    let code = "
import random, uuid, secrets, tempfile
result = [random.random(), str(uuid.uuid4()), secrets.token_hex(8), tempfile.mktemp()]
";
    let mut seen = BTreeSet::new();
    for _ in 0..8 {
        let outcome = bench.ask(code).await;
        let draws: Vec<serde_json::Value> = serde_json::from_str(&result(&outcome)).unwrap();
        seen.extend(draws.iter().map(ToString::to_string));
    }
    assert_eq!(seen.len(), 8 * 4, "two jars drew the same");
    bench.close().await;
}

#[tokio::test]
async fn a_standing_jar_keeps_the_limits_of_its_policy() {
    let bench = Bench::new();
    let small = policy(|limits| limits.memory_bytes = 32 << 20);
    let large = policy(|limits| limits.memory_bytes = 512 << 20);
    bench.engine.stand(&small, 2).await.unwrap();
    bench.engine.stand(&large, 2).await.unwrap();
    let code = "x = bytearray(100 << 20)\nresult = len(x)";
    assert_limit(&bench.run(small, code).await, LimitName::MemoryBytes, 32 << 20);
    assert_eq!(result(&bench.run(large, code).await), (100 << 20).to_string());
    bench.close().await;
}

#[tokio::test]
async fn jars_for_a_policy_above_the_ceiling_are_found_where_they_stand() {
    let ceiling = Limits { memory_bytes: 64 << 20, ..Limits::default() };
    let bench = Bench::with_ceiling(ceiling);
    let large = policy(|limits| limits.memory_bytes = 512 << 20);
    bench.engine.stand(&large, 2).await.unwrap();
    let standing = bench.engine.standing(&large);
    assert_eq!(standing.len(), 2);
    assert_eq!(bench.engine.standing(&policy(|limits| limits.wall_ms = 0)), [0; 0]);
    // They keep to the ceiling, whatever was asked for.
    let outcome = bench.run(large, "x = bytearray(100 << 20)").await;
    assert_limit(&outcome, LimitName::MemoryBytes, 64 << 20);
    bench.close().await;
}

#[tokio::test]
async fn a_standing_jar_that_died_is_passed_over() {
    let bench = Bench::new();
    let policy = policy(|_| {});
    bench.engine.stand(&policy, 3).await.unwrap();
    let standing = bench.engine.standing(&policy);
    for pid in &standing {
        let pid = rustix::process::Pid::from_raw(*pid as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    until("killed jars live on", || standing.iter().all(|pid| is_gone(*pid))).await;
    assert_eq!(result(&bench.ask("result = 7").await), "7");
    bench.close().await;
}

#[tokio::test]
async fn a_zygote_is_renewed_and_its_seed_with_it() {
    let pool = PoolConfig { renew_after_forks: 5, ..PoolConfig::default() };
    let bench = Bench::with_pool(pool);
    let ask = async || result(&bench.ask("result = [hash('x'), id(object())]").await);
    let first = ask().await;
    let started = Instant::now();
    // Every run on the way succeeds, whichever zygote it comes from.
    while ask().await == first {
        assert!(started.elapsed() < LONG, "the seed never changes");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    bench.close().await;
}

/// An interpreter that has one more module, of this text.
fn with_module(folder: &Folder, name: &str, text: &str) -> std::path::PathBuf {
    let made = std::process::Command::new(python())
        .args(["-m", "venv", "--without-pip"])
        .arg(&folder.0)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let libraries = std::fs::read_dir(folder.0.join("lib")).unwrap();
    let packages = libraries.map(|entry| entry.unwrap().path().join("site-packages"));
    for packages in packages {
        std::fs::write(packages.join(format!("{name}.py")), text).unwrap();
    }
    folder.0.join("bin/python")
}

/// A module that starts a thread, which a zygote must not have.
const THREAD: &str = "import threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
";

#[tokio::test]
async fn a_module_that_would_join_jars_is_imported_in_each() {
    let shared = [
        "import mmap\nheld = mmap.mmap(-1, 4096)",
        "import mmap, tempfile\nfile = tempfile.TemporaryFile()\nfile.truncate(4096)\n\
         held = mmap.mmap(file.fileno(), 4096)",
    ];
    for text in shared.into_iter().chain([THREAD]) {
        let folder = Folder::new();
        let bench = Bench::with(with_module(&folder, "joins", text), &["json", "joins"]);
        let code = "
import sys
held = getattr(sys.modules.get('joins'), 'held', bytearray(1))
result = ['json' in sys.modules, held[:1] == bytes(1)]
held[:1] = b'x'
";
        for _ in 0..3 {
            assert_eq!(result(&bench.ask(code).await), "[true,true]", "{text}");
        }
        let late = bench.engine.preloads().into_iter().map(|preload| preload.late.is_some());
        assert_eq!(late.collect::<Vec<_>>(), [false, true], "{text}");
        bench.close().await;
    }
}

#[tokio::test]
async fn what_is_imported_in_each_jar_is_there_and_takes_nothing_of_its_limits() {
    let folder = Folder::new();
    let text = format!(
        "{THREAD}import time\nprint('a word at import')\nheld = b'x' * (40 << 20)\n\
         until = time.process_time() + 0.6\nwhile time.process_time() < until: pass\n"
    );
    let bench = Bench::with(with_module(&folder, "late", &text), &["late"]);
    let policy = policy(|limits| {
        limits.memory_bytes = 64 << 20;
        limits.cpu_ms = 1_000;
    });
    let code = "
import sys, time
more = b'x' * (50 << 20)
until = time.process_time() + 0.8
while time.process_time() < until: pass
result = ['late' in sys.modules, len(sys.modules['late'].held) >> 20]
";
    bench.engine.stand(&policy, 1).await.unwrap();
    // One that stood, and one that is made when it is asked for.
    for _ in 0..2 {
        let outcome = bench.run(policy.clone(), code).await;
        assert_eq!(result(&outcome), "[true,40]");
        assert_eq!(outcome.stdout.text, "");
        assert!(outcome.usage.cpu_ms < 1_500.0, "{}", outcome.usage.cpu_ms);
    }
    let much = "more = b'x' * (90 << 20)";
    let limit = bench.run(policy.clone(), much).await.error.unwrap().limit.unwrap();
    assert_eq!(limit.name, carboy_protocol::LimitName::MemoryBytes);
    bench.close().await;
}

#[tokio::test]
async fn threads_of_what_is_imported_in_each_jar_take_nothing_of_its_limit() {
    let folder = Folder::new();
    let text = "import threading\nfor _ in range(3):\n    \
                threading.Thread(target=threading.Event().wait, daemon=True).start()\n";
    let bench = Bench::with(with_module(&folder, "late", text), &["late"]);
    let policy = policy(|limits| {
        limits.threads = 4;
        limits.processes = u64::from(walls() == Walls::Full);
    });
    let start = "
import os, sys, threading
def start(stop=threading.Event()):
    made = 0
    try:
        while made < 9:
            threading.Thread(target=stop.wait, daemon=True).start()
            made += 1
    except RuntimeError:
        pass
    return made
";
    let here = format!("{start}result = ['late' in sys.modules, start()]");
    // A child begins with one thread, whatever the jar imported, and has the limit for itself.
    let child = format!(
        "{start}ends = os.pipe()\nif os.fork() == 0:\n    os.write(ends[1], bytes([start()]))\n    \
         os._exit(0)\nresult = os.read(ends[0], 1)[0]"
    );
    bench.engine.stand(&policy, 1).await.unwrap();
    // One that stood, and one that is made when it is asked for.
    for _ in 0..2 {
        assert_eq!(result(&bench.run(policy.clone(), &here).await), "[true,4]");
    }
    if walls() == Walls::Full {
        assert_eq!(result(&bench.run(policy.clone(), &child).await), "4");
    }
    bench.close().await;
}

#[tokio::test]
async fn a_late_module_that_its_limits_cannot_bear_holds_up_nobody() {
    let folder = Folder::new();
    let text = format!("{THREAD}held = b'x' * (200 << 20)\n");
    let bench = Bench::with(with_module(&folder, "late", &text), &["late"]);
    let policy = policy(|limits| limits.memory_bytes = 64 << 20);
    assert_eq!(result(&bench.run(policy, "result = 1").await), "1");
    bench.close().await;
}

#[tokio::test]
async fn a_module_may_map_what_jars_cannot_write() {
    let folder = Folder::new();
    let text = "import mmap\nheld = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE)\n\
                file = open(__file__, 'rb')\nread = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)";
    let bench = Bench::with(with_module(&folder, "joins", text), &["joins"]);
    let write = "import joins\njoins.held[:5] = b'mine!'\nresult = joins.held[:5].decode()";
    assert_eq!(result(&bench.ask(write).await), r#""mine!""#);
    let read = "import joins\nresult = joins.held[:5] == bytes(5)";
    assert_eq!(result(&bench.ask(read).await), "true");
    bench.close().await;
}
