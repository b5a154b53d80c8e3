//! The core of the suite on every interpreter at hand.

use std::path::PathBuf;

use belljar_protocol::{Kind, LimitName};

use crate::support::*;

fn interpreters() -> Vec<PathBuf> {
    let list = std::env::var("BELLJAR_TEST_PYTHONS").unwrap_or_default();
    let found: Vec<PathBuf> =
        list.split(':').filter(|part| !part.is_empty()).map(PathBuf::from).collect();
    if found.is_empty() {
        skip("BELLJAR_TEST_PYTHONS names no further interpreter");
    }
    found
}

#[tokio::test]
async fn every_interpreter_runs_the_core() {
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
        assert!(outcome.denials.is_empty(), "{:?}", outcome.denials);
        assert_eq!(outcome.artifacts.len(), 1);
        bench.close().await;
    }
}
