//! The core of the suite on every interpreter at hand.

use std::path::PathBuf;

use carboy_protocol::{Kind, LanguagePolicy, LanguageProfile, LimitName, Policy};

use crate::support::*;

fn interpreters() -> Vec<PathBuf> {
    let list = std::env::var("CARBOY_TEST_PYTHONS").unwrap_or_default();
    let found: Vec<PathBuf> =
        list.split(':').filter(|part| !part.is_empty()).map(PathBuf::from).collect();
    if found.is_empty() {
        skip("CARBOY_TEST_PYTHONS names no further interpreter");
    }
    found
}

#[tokio::test]
async fn every_interpreter_runs_the_core() {
    if !belongs_here(&["root", "user-nested"]) {
        return;
    }
    for python in interpreters() {
        println!("{}", python.display());
        let bench = Bench::with(python, &[]);
        let version = result(&bench.ask("import sys\nresult = list(sys.version_info[:2])").await);
        println!("{version}");
        assert!(version.starts_with("[3,1"), "{version}");
        let outcome = bench.ask("import socket\nsocket.socket()").await;
        assert_eq!(error(&outcome).kind, Kind::Denied);
        let outcome = bench.ask("x = bytearray(10**11)").await;
        assert_limit(&outcome, LimitName::MemoryBytes, 256 << 20);
        let outcome = bench.ask("x = []\nwhile True: x.append(object())").await;
        assert_limit(&outcome, LimitName::MemoryBytes, 256 << 20);
        let outcome = bench.run(policy(|limits| limits.wall_ms = 300), "while True: pass").await;
        assert_limit(&outcome, LimitName::WallMs, 300);
        let outcome = bench.run(policy(|limits| limits.cpu_ms = 1000), "while True: pass").await;
        assert_limit(&outcome, LimitName::CpuMs, 1000);
        let outcome = bench.ask("def f(): 1/0\nf()").await;
        assert_eq!((error(&outcome).line, error(&outcome).kind), (Some(1), Kind::Exception));
        let code = "
import asyncio, sqlite3, tempfile, json, re, decimal, datetime, threading, hashlib, ssl, random, uuid
from concurrent.futures import ThreadPoolExecutor
async def main(): return await asyncio.to_thread(lambda: 5)
with ThreadPoolExecutor(2) as pool: squares = list(pool.map(lambda n: n*n, range(3)))
open('out.txt', 'w').write('x')
result = [asyncio.run(main()), squares, sqlite3.connect(':memory:').execute('select 1').fetchone()[0]]
";
        let outcome = bench.ask(code).await;
        assert_eq!(result(&outcome), "[5,[0,1,4],1]");
        assert_eq!(outcome.refused().count(), 0, "{:?} {:?}", outcome.denials, outcome.probes);
        assert_eq!(outcome.artifacts.len(), 1);
        crate::tools::core(&bench).await;
        guarded(&bench).await;
        bench.close().await;
    }
}

/// The runtime half of the guard: what is granted works, what is computed is refused.
async fn guarded(bench: &Bench) {
    let agent =
        || Policy { language: LanguagePolicy::of(LanguageProfile::Agent), ..policy(|_| {}) };
    let code = "
import collections.abc, datetime, json, os.path, re, sys
from dataclasses import dataclass
from concurrent.futures import ThreadPoolExecutor
@dataclass(order=True)
class Row:
    n: int
    _note: str = 'x'
text = '{0.n} {1}'
when = datetime.datetime.strptime('2020-01-02', '%Y-%m-%d')
with ThreadPoolExecutor(2) as pool: rows = sorted(pool.map(Row, [2, 1]))
result = [text.format(rows[0], rows[0]._note), when.day, os.path.basename('a/b'), getattr(rows[1], 'n')]
";
    assert_eq!(result(&bench.run(agent(), code).await), "[\"1 x\",2,\"b\",2]");
    for (code, rule) in [
        ("getattr(print, '__se' + 'lf__'[:4] + chr(95) * 2)", "dunder-attribute"),
        ("t = '{0.__class__}'\nt.format(1)", "format-traversal"),
        ("import os\n[os][0].system('id')", "name-not-granted"),
        ("if 0: exec = 1\nexec('1')", "blocked-builtin"),
    ] {
        let outcome = bench.run(agent(), code).await;
        let refused = outcome.refused().next().map(|denial| denial.what.as_str());
        assert_eq!(refused, Some(rule), "{code}: {:?}", outcome.error);
    }
}
