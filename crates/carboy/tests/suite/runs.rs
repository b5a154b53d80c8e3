//! What code gets and what it answers.

use carboy_protocol::{Job, Kind, ProcessExit, Status, Walls};
use serde_json::value::RawValue;

use crate::support::*;

#[tokio::test]
async fn context_goes_in_and_result_comes_out() {
    let bench = Bench::new();
    let input = RawValue::from_string(r#"{"numbers": [1, 2, 3]}"#.into()).unwrap();
    let job = Job::new("result = {'sum': sum(context['numbers'])}")
        .with_input("context", input)
        .with_policy(policy(|_| {}));
    let outcome = bench.engine.run(job).await.unwrap();
    assert_eq!((outcome.status, result(&outcome).as_str()), (Status::Ok, r#"{"sum":6}"#));
    bench.close().await;
}

#[tokio::test]
async fn inputs_of_every_size_come_in_whole() {
    let bench = Bench::new();
    for length in [1, 60_000, 65_500, 65_536, 70_000, 1 << 20, 15 << 20] {
        let value = RawValue::from_string(format!("\"{}\"", "x".repeat(length))).unwrap();
        let limits = policy(|limits| limits.memory_bytes = 1 << 30);
        let job = Job::new("len(text)").with_input("text", value).with_policy(limits);
        let outcome = bench.engine.run(job).await.unwrap();
        assert_eq!(result(&outcome), length.to_string(), "{:?}", outcome.error);
    }
    // A long program too.
    let code = format!("{}\n7", "x = 1\n".repeat(100_000));
    assert_eq!(result(&bench.ask(&code).await), "7");
    bench.close().await;
}

#[tokio::test]
async fn a_last_expression_answers_unless_result_is_set() {
    let bench = Bench::new();
    assert_eq!(result(&bench.ask("x = 20\nx + 1").await), "21");
    assert_eq!(result(&bench.ask("result = 1\n2").await), "1");
    assert_eq!(result(&bench.ask("c = 0\nif c: result = 1\n42").await), "42");
    assert!(bench.ask("x = 1").await.result.is_none());
    assert!(bench.ask("").await.result.is_none());
    assert!(bench.ask("print('hello')").await.result.is_none());
    assert_eq!(result(&bench.ask("context is None").await), "true");
    bench.close().await;
}

#[tokio::test]
async fn output_is_captured_apart() {
    let bench = Bench::new();
    let code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.stdout.write('end')";
    let outcome = bench.ask(code).await;
    assert_eq!(outcome.stdout.text, "out\nend");
    assert_eq!((outcome.stderr.text.as_str(), outcome.stderr.bytes), ("err\n", 4));
    bench.close().await;
}

#[tokio::test]
async fn an_exception_has_a_line_and_a_traceback() {
    let bench = Bench::new();
    let outcome = bench.ask("def f():\n    return 1 / 0\n\nf()\n").await;
    let error = error(&outcome);
    assert_eq!((error.kind, error.type_name.as_str()), (Kind::Exception, "ZeroDivisionError"));
    assert_eq!(error.line, Some(2));
    let traceback = error.traceback.as_ref().unwrap();
    assert!(traceback.contains("return 1 / 0") && traceback.contains("line 4"), "{traceback}");
    assert!(!traceback.contains("<carboy>"), "{traceback}");
    bench.close().await;
}

#[tokio::test]
async fn a_syntax_error_has_a_line() {
    let bench = Bench::new();
    let outcome = bench.ask("x = 1\ny = = 2\n").await;
    assert_eq!(
        (error(&outcome).type_name.as_str(), error(&outcome).line),
        ("SyntaxError", Some(2))
    );
    bench.close().await;
}

#[tokio::test]
async fn a_coding_line_changes_nothing() {
    // Compiled as text: code hidden in another encoding stays a comment.
    let bench = Bench::new();
    let outcome = bench.ask("# coding: utf-7\nresult = 1\n# +AAo-result = 2").await;
    assert_eq!(result(&outcome), "1");
    bench.close().await;
}

#[tokio::test]
async fn leaving_early_is_an_end_like_any_other() {
    let bench = Bench::new();
    assert_eq!(result(&bench.ask("import sys\nresult = 5\nsys.exit()\nresult = 6").await), "5");
    let outcome = bench.ask("import sys\nsys.exit('no good')").await;
    assert_eq!(
        (error(&outcome).type_name.as_str(), error(&outcome).kind),
        ("SystemExit", Kind::Exception)
    );
    for (code, exit) in [("'no good'", 1), ("3", 3), ("-1", 255), ("'3'", 1), ("10 ** 400 + 5", 5)]
    {
        let outcome = bench.ask(&format!("import sys\nsys.exit({code})")).await;
        assert_eq!(error(&outcome).exit, Some(ProcessExit::Code(exit)), "{code}");
    }
    bench.close().await;
}

#[tokio::test]
async fn threads_and_exit_functions_come_to_their_end() {
    let bench = Bench::new();
    let code = "
import threading, time, atexit
from concurrent.futures import ThreadPoolExecutor
atexit.register(lambda: print('bye'))
def late():
    time.sleep(0.05)
    print('late')
threading.Thread(target=late).start()
pool = ThreadPoolExecutor(2)
result = list(pool.map(lambda n: n * n, range(4)))
";
    let outcome = bench.ask(code).await;
    assert_eq!(result(&outcome), "[0,1,4,9]");
    assert_eq!(outcome.stdout.text, "late\nbye\n");
    bench.close().await;
}

#[tokio::test]
async fn an_event_loop_works() {
    let bench = Bench::new();
    let code = "
import asyncio
async def main():
    await asyncio.sleep(0.01)
    return await asyncio.to_thread(sum, range(10))
result = asyncio.run(main())
";
    assert_eq!(result(&bench.ask(code).await), "45");
    bench.close().await;
}

#[tokio::test]
async fn the_standard_library_works_in_the_jars_directory() {
    let bench = Bench::new();
    let code = "
import sqlite3, tempfile, zipfile, csv, json, os, shutil, hashlib, uuid, decimal, zoneinfo, random
db = sqlite3.connect('data.db')
db.execute('create table t (x)')
db.executemany('insert into t values (?)', [(n,) for n in range(10)])
db.commit()
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, 'a.csv')
    with open(path, 'w', newline='') as f:
        csv.writer(f).writerows([[1, 2], [3, 4]])
    shutil.copy2(path, 'copy.csv')
    with zipfile.ZipFile('a.zip', 'w') as z:
        z.write(path, 'a.csv')
result = [db.execute('select sum(x) from t').fetchone()[0], zipfile.ZipFile('a.zip').namelist(),
          hashlib.sha256(b'x').hexdigest()[:8], len(str(uuid.uuid4())), os.cpu_count() >= 1]
db.close()
";
    let outcome = bench.ask(code).await;
    assert_eq!(result(&outcome), r#"[45,["a.csv"],"2d711642",36,true]"#);
    let names: Vec<_> = outcome.artifacts.iter().map(|artifact| artifact.path.as_str()).collect();
    assert_eq!(names, ["a.zip", "copy.csv", "data.db"]);
    assert_eq!(outcome.refused().count(), 0, "{:?} {:?}", outcome.denials, outcome.probes);
    bench.close().await;
}

#[tokio::test]
async fn artifacts_are_plain_files_and_nothing_else() {
    let bench = Bench::new();
    let code = "
import os
os.mkdir('sub')
open('sub/plot.png', 'wb').write(b'x' * 10)
os.symlink('/etc/passwd', 'link')
os.symlink('/', 'folder')
";
    let outcome = bench.ask(code).await;
    let listed: Vec<_> = outcome.artifacts.iter().map(|a| (a.path.as_str(), a.bytes)).collect();
    assert_eq!(listed, [("sub/plot.png", 10)], "{:?}", outcome.error);
    bench.close().await;
}

#[tokio::test]
async fn the_outcome_says_how_it_was_isolated() {
    let bench = Bench::new();
    let outcome = bench.ask("result = 1").await;
    let layers = &outcome.isolation.layers;
    assert_eq!(outcome.isolation.walls, walls());
    let full = walls() == Walls::Full;
    for (name, layer) in [
        ("user", layers.user_ns),
        ("mount", layers.mount_ns),
        ("pid", layers.pid_ns),
        ("net", layers.net_ns),
        ("ipc", layers.ipc_ns),
        ("uts", layers.uts_ns),
        ("cgroup", layers.cgroup_ns),
        ("root", layers.private_root),
    ] {
        assert_eq!(layer, full, "{name}");
    }
    assert!(layers.no_new_privs && layers.no_capabilities && layers.landlock_abi >= 1);
    assert!(outcome.usage.cpu_ms > 0.0 && outcome.usage.peak_memory_bytes > 1 << 20);
    assert_eq!(outcome.id.len(), 32);
    bench.close().await;
}

#[tokio::test]
async fn two_runs_share_nothing_they_could_change() {
    let bench = Bench::new();
    let change = "
import builtins, json, os, sys, random
builtins.len = lambda x: 99
json.dumps = None
os.environ['SEEN'] = '1'
sys.path.insert(0, '/jar')
open('/tmp/left' if os.path.isdir('/tmp') and os.access('/tmp', 2) else 'left', 'w').write('x')
random.seed(1)
";
    bench.ask(change).await;
    let look = "
import os, sys, json, tempfile
result = [len([1]), 'SEEN' in os.environ, '/jar' in sys.path, os.listdir('.'), os.listdir(tempfile.gettempdir())]
";
    assert_eq!(result(&bench.ask(look).await), "[1,false,false,[],[]]");
    let random = "import random, uuid, secrets\nresult = [random.random(), str(uuid.uuid4()), secrets.token_hex()]";
    assert_ne!(result(&bench.ask(random).await), result(&bench.ask(random).await));
    bench.close().await;
}

#[tokio::test]
async fn streams_that_the_code_closed_or_replaced_are_no_error() {
    let bench = Bench::new();
    for code in ["import sys\nsys.stdout.close()\n5", "import sys\nsys.stdout = None\n5"] {
        assert_eq!(result(&bench.ask(code).await), "5");
    }
    let outcome = bench.ask("class E(Exception):\n    def __str__(self): 1/0\nraise E()").await;
    assert_eq!(error(&outcome).type_name, "E");
    bench.close().await;
}
