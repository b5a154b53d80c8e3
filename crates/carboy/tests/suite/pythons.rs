//! The core of the suite on every interpreter at hand.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use carboy_engine::{Config, Engine, Installation, RunError, Versions};
use carboy_protocol::{Job, Kind, LanguagePolicy, LanguageProfile, LimitName, Policy};

use crate::support::*;

pub fn interpreters() -> Vec<PathBuf> {
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
        // Code that ends in `result` is compiled once; what is taken apart is run by another function.
        // From 3.14 on an interpreter can be told by another process to run code, but not here.
        let code = "import sys\nresult = [*sys.version_info[:2], sys._getframe(1).f_code.co_name,
            getattr(sys, 'is_remote_debug_enabled', bool)()]";
        let said = result(&bench.ask(code).await);
        println!("{said}");
        assert!(said.starts_with("[3,1") && said.ends_with(",\"execute\",false]"), "{said}");
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

/// A program that starts the interpreter under test as if it had another version or flags (no free-threaded build
/// is among Debian's packages or on PyPI), and calls itself
/// a venv in which it has them too.
fn pretender(folder: &Path, version: &str, flags: &str) -> PathBuf {
    let python = python().canonicalize().unwrap();
    let asked = std::process::Command::new(&python)
        .args(["-c", "import sys; print('python%d.%d' % sys.version_info[:2])"])
        .output()
        .unwrap();
    let name = String::from_utf8(asked.stdout).unwrap();
    let packages = folder.join("lib").join(name.trim()).join("site-packages");
    fs::create_dir_all(&packages).unwrap();
    fs::create_dir(folder.join("bin")).unwrap();
    let program = folder.join("bin/python");
    symlink(&python, &program).unwrap();
    let home = python.parent().unwrap();
    fs::write(folder.join("pyvenv.cfg"), format!("home = {}\n", home.display())).unwrap();
    // The build's own settings are found by its flags.
    let pretend = format!(
        "import sys, sysconfig; sysconfig.get_config_vars(); sys.version_info = {version}; \
         sys.abiflags = '{flags}'\n"
    );
    fs::write(packages.join("sitecustomize.py"), &pretend).unwrap();
    let script = format!(
        "#!/bin/sh\nexec {} -I -S -c \"{}exec(sys.argv[1])\" \"$4\"\n",
        program.display(),
        pretend
    );
    let asked = folder.join("python");
    fs::write(&asked, script).unwrap();
    fs::set_permissions(&asked, PermissionsExt::from_mode(0o755)).unwrap();
    asked
}

fn engine(python: &Path, versions: Versions) -> Result<Engine, RunError> {
    let installation = Installation::at(program()).unwrap();
    Engine::new(Config { versions, ..Config::new(installation, python) })
}

#[tokio::test]
async fn a_python_that_is_newer_than_the_tested_ones_runs_only_if_it_is_asked_for() {
    let folder = Folder::new();
    let python = pretender(&folder.0, "(3, 16, 0)", "");
    let Err(error) = engine(&python, Versions::Tested) else { panic!("3.16 was taken") };
    let said = format!("{error}; {}", error.hint().unwrap());
    assert!(said.contains("it is CPython 3.16, and carboy is tested with 3.10 to 3.15"), "{said}");
    assert!(said.contains("--untested-python"), "{said}");
    let engine = engine(&python, Versions::Newer).unwrap();
    assert_eq!(engine.python().version, "3.16.0");
    let job = Job::new("result = 6 * 7").with_policy(policy(|_| {}));
    assert_eq!(result(&engine.run(job).await.unwrap()), "42");
    engine.shutdown().await;
}

#[test]
fn older_pythons_and_free_threaded_builds_are_refused_with_a_sentence() {
    for (version, flags, why) in [
        ("(3, 9, 18)", "", "it is cpython 3.9; CPython 3.10 to 3.15 is needed"),
        ("(3, 14, 1)", "t", "it is a free-threaded build"),
        ("(3, 16, 0)", "t", "it is a free-threaded build"),
    ] {
        let folder = Folder::new();
        let python = pretender(&folder.0, version, flags);
        let Err(error) = engine(&python, Versions::Newer) else { panic!("{version}{flags}") };
        assert!(error.to_string().contains(why), "{error}");
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
