//! Files and directories that a run is given: they are there, by every name, only to be read, only by it.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use carboy_engine::{RequestError, RunError};
use carboy_protocol::{FileSource, Job, Limits, Outcome, Walls};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::support::*;

/// A folder with data that others can read.
fn data() -> Folder {
    let folder = Folder::new();
    let write = |name: &str, text: &str| {
        let path = folder.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::set_permissions(path.parent().unwrap(), PermissionsExt::from_mode(0o755)).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    };
    write("sales.csv", "region,sum\nnorth,3\n");
    write("data/one.txt", "one");
    write("data/deep/two.txt", "two");
    folder
}

fn text(path: impl AsRef<Path>) -> String {
    path.as_ref().to_str().unwrap().to_owned()
}

fn path(path: impl AsRef<Path>) -> FileSource {
    FileSource::Path(text(path))
}

fn job(code: &str) -> Job {
    Job::new(code).with_policy(policy(|_| {}))
}

async fn run(bench: &Bench, job: Job) -> Outcome {
    bench.engine.run(job).await.unwrap()
}

async fn refused(bench: &Bench, job: Job) -> String {
    match bench.engine.run(job).await {
        Err(RunError::Request(error)) => format!("{error}; {}", error.hint().unwrap()),
        other => panic!("not refused as a request: {other:?}"),
    }
}

/// What a program reads where, and what it cannot change. In nested walls there are no places of its own.
const LOOK: &str = r#"
import os
def attempt(what):
    try:
        what()
    except OSError as error:
        return type(error).__name__
    return 'done'
absolute = os.path.isdir('/inputs')
places = ['sales.csv', 'inputs/sales.csv', 'data/one.txt', 'data/deep/two.txt', 'words.txt', 'raw/b.bin']
if absolute:
    places += ['/inputs/sales.csv', '/data/one.txt', '/mnt/data/deep/two.txt', '/inputs/raw/b.bin']
seen = {place: open(place, 'rb').read().decode('latin-1') for place in places}
writes = {
    name: attempt(what)
    for name, what in {
        'write': lambda: open('sales.csv', 'a'),
        'truncate': lambda: os.truncate('data/one.txt', 0),
        'new': lambda: open('data/new', 'w'),
        'new input': lambda: open('inputs/new', 'w'),
        'remove': lambda: os.remove('data/one.txt'),
        'remove input': lambda: os.remove('inputs/words.txt'),
        'move': lambda: os.rename('data/one.txt', 'mine'),
        'link': lambda: os.link('data/one.txt', 'mine'),
        'over': lambda: os.replace(__import__('tempfile').mkstemp()[1], 'data/one.txt'),
        'folder': lambda: os.mkdir('inputs/folder'),
    }.items()
}
result = [seen, {name: end for name, end in writes.items() if end == 'done'}, sorted(os.listdir('.'))]
"#;

#[tokio::test]
async fn files_and_mounts_are_there_by_every_name_and_only_to_be_read() {
    let (bench, data) = (Bench::new(), data());
    let before = fs::metadata(data.0.join("sales.csv")).unwrap();
    let given = || {
        job(LOOK)
            .with_file("sales.csv", path(data.0.join("sales.csv")))
            .with_file("words.txt", FileSource::Text("words".into()))
            .with_file("raw/b.bin", FileSource::Base64(vec![0, 255]))
            .with_mount("/data", text(data.0.join("data")))
    };
    for _ in 0..3 {
        let outcome = run(&bench, given()).await;
        let found: serde_json::Value = serde_json::from_str(&result(&outcome)).unwrap();
        let seen = &found[0];
        assert_eq!(seen["sales.csv"], "region,sum\nnorth,3\n", "{found}");
        assert_eq!(seen["data/deep/two.txt"], "two", "{found}");
        assert_eq!((&seen["words.txt"], &seen["raw/b.bin"]), (&"words".into(), &"\0\u{ff}".into()));
        assert_eq!(seen["/data/one.txt"].is_string(), walls() == Walls::Full, "{found}");
        assert_eq!(found[1], serde_json::json!({}), "something was changed");
        let names = ["data", "inputs", "raw", "sales.csv", "words.txt"];
        assert_eq!(found[2], serde_json::json!(names));
        assert!(outcome.artifacts.is_empty(), "{:?}", outcome.artifacts);
    }
    let after = fs::metadata(data.0.join("sales.csv")).unwrap();
    assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    assert_eq!(fs::read_to_string(data.0.join("data/one.txt")).unwrap(), "one");
    assert!(!data.0.join("data/new").exists());
    bench.close().await;
}

#[tokio::test]
async fn a_standing_jar_is_given_files_and_the_next_run_sees_nothing_of_them() {
    let (bench, data) = (Bench::new(), data());
    let policy = policy(|_| {});
    bench.engine.stand(&policy, 3).await.unwrap();
    let before = bench.engine.standing(&policy);
    let read = "result = open('sales.csv').read()";
    let given = job(read).with_file("sales.csv", path(data.0.join("sales.csv")));
    assert!(result(&run(&bench, given).await).contains("north"));
    let after = bench.engine.standing(&policy);
    let was_taken = before.iter().any(|pid| !after.contains(pid));
    // In nested walls rules are settled when a jar is sealed, so one is made for the run.
    assert_eq!(was_taken, walls() == Walls::Full);
    let look = "import os\n\
                folders = ['.', '/inputs', '/data', '/mnt/inputs', '/workspace']\n\
                result = [os.listdir(f) for f in folders if os.path.isdir(f)]";
    let empty: &[&str] = if walls() == Walls::Full { &["[]"; 5] } else { &["[]"] };
    let empty = format!("[{}]", empty.join(","));
    for _ in 0..4 {
        assert_eq!(result(&bench.ask(look).await), empty);
    }
    bench.close().await;
}

#[tokio::test]
async fn runs_at_the_same_time_see_each_their_own() {
    let bench = Bench::new();
    let runs = (0..8).map(|number| {
        let code = "import os, time\n\
                    first = open('own.txt').read()\n\
                    time.sleep(0.2)\n\
                    result = [first, open('own.txt').read(), sorted(os.listdir('inputs'))]";
        let own = FileSource::Text(format!("run {number}"));
        let job = job(code).with_file("own.txt", own);
        let engine = bench.engine.clone();
        tokio::spawn(async move { (number, engine.run(job).await.unwrap()) })
    });
    for run in runs.collect::<Vec<_>>() {
        let (number, outcome) = run.await.unwrap();
        let expected = format!(r#"["run {number}","run {number}",["own.txt"]]"#);
        assert_eq!(result(&outcome), expected);
    }
    bench.close().await;
}

#[tokio::test]
async fn what_is_no_plain_file_or_lies_about_is_refused() {
    let (bench, data) = (Bench::new(), data());
    let made = std::process::Command::new("mkfifo").arg(data.0.join("fifo")).status().unwrap();
    assert!(made.success());
    let socket = std::os::unix::net::UnixListener::bind(data.0.join("socket")).unwrap();
    for (source, why) in [
        (data.0.join("fifo"), "is no plain file"),
        (data.0.join("socket"), "is no plain file"),
        ("/dev/null".into(), "is no plain file"),
        (data.0.join("data"), "is a directory; hand it in as a mount"),
        (data.0.join("missing"), "cannot be opened"),
        ("relative.csv".into(), "is no absolute path"),
        ("/proc/self/status".into(), "is on the kernel's file system proc"),
    ] {
        let refused = refused(&bench, job("result = 1").with_file("x", path(&source))).await;
        assert!(refused.contains(why), "{}: {refused}", source.display());
    }
    for place in [data.0.join("fifo"), "/dev/null".into(), "/proc".into(), "/".into()] {
        let job = job("result = 1").with_mount("/data", text(&place));
        let refused = refused(&bench, job).await;
        let words = ["is no plain file", "is on the kernel's file system"];
        assert!(words.iter().any(|words| refused.contains(words)), "{refused}");
    }
    // What to do about it is about that: nobody has to change rights of a file that is not there.
    let missing = job("result = 1").with_file("x", path(data.0.join("missing")));
    let told = refused(&bench, missing).await;
    assert!(told.contains("name a file that is there") && !told.contains("chmod"), "{told}");
    drop(socket);
    bench.close().await;
}

#[tokio::test]
async fn code_that_finds_no_file_is_told_which_it_was_given() {
    let (bench, data) = (Bench::new(), data());
    let job = job("open('Sales.csv')")
        .with_file("sales.csv", path(data.0.join("sales.csv")))
        .with_mount("/data", text(data.0.join("data")));
    let error = run(&bench, job).await.error.unwrap();
    let hint = error.hint.unwrap_or_default();
    assert!(hint.contains("these files were handed in: sales.csv, data/;"), "{hint}");
    bench.close().await;
}

#[tokio::test]
async fn memory_that_somebody_else_writes_is_no_file() {
    let bench = Bench::new();
    let memory = memfd_create("table", MemfdFlags::CLOEXEC).unwrap();
    rustix::io::write(&memory, b"a,b\n").unwrap();
    let source = format!("/proc/self/fd/{}", memory.as_raw_fd());
    let refused = refused(&bench, job("result = 1").with_file("x", path(&source))).await;
    assert!(refused.contains("`x` cannot be handed in"), "{refused}");
    bench.close().await;
}

#[tokio::test]
async fn a_file_that_is_rewritten_and_cut_meanwhile_is_read_as_it_is() {
    let (bench, data) = (Bench::new(), data());
    let (table, over) = (data.0.join("sales.csv"), Arc::new(AtomicBool::new(false)));
    let writer = {
        let (table, over) = (table.clone(), over.clone());
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                for length in [100_000, 0, 50, 9_000] {
                    fs::OpenOptions::new()
                        .write(true)
                        .open(&table)
                        .unwrap()
                        .set_len(length)
                        .unwrap();
                }
            }
        })
    };
    let code = "result = all(len(open('sales.csv', 'rb').read()) <= 100_000 for _ in range(300))";
    for _ in 0..5 {
        let given = job(code).with_file("sales.csv", path(&table));
        assert_eq!(result(&run(&bench, given).await), "true");
    }
    over.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    bench.close().await;
}

#[tokio::test]
async fn names_and_places_are_plain_and_apart() {
    let (bench, data) = (Bench::new(), data());
    let words = || FileSource::Text("x".into());
    for name in [
        "",
        "/etc/passwd",
        "..",
        "../x",
        "a/../b",
        "a//b",
        "./a",
        "a/",
        "a\0b",
        "a\nb",
        "data/x",
        "inputs",
        "workspace/y",
    ] {
        let refused = refused(&bench, job("result = 1").with_file(name, words())).await;
        assert!(refused.contains("cannot be handed in"), "{name:?}: {refused}");
    }
    let long = "x".repeat(256);
    refused(&bench, job("result = 1").with_file(long, words())).await;
    refused(&bench, job("result = 1").with_file("x/".repeat(40) + "x", words())).await;
    for place in
        ["", "/", "data", "/etc", "/usr/lib", "/database", "/data/..", "/data//x", "/mnt", "/jar"]
    {
        let job = job("result = 1").with_mount(place, text(data.0.join("data")));
        let refused = refused(&bench, job).await;
        assert!(refused.contains("/inputs, /data or /workspace"), "{place:?}: {refused}");
    }
    let both = job("result = 1").with_file("a", words()).with_file("a/b", words());
    assert!(refused(&bench, both).await.contains("would lie in it"));
    let both = job("result = 1")
        .with_mount("/data", text(data.0.join("data")))
        .with_mount("/mnt/data/more", text(data.0.join("data")));
    assert!(refused(&bench, both).await.contains("would lie in it"));
    // Few bytes, and many as JSON.
    for name in ["\\".repeat(200), "n".repeat(250)] {
        let mut long = job("result = 1");
        for number in 0..Job::MAX_FILES {
            long = long.with_file(format!("{number}{name}"), words());
        }
        assert!(refused(&bench, long).await.contains("all names and paths together have"));
    }
    let mut many = job("result = 1");
    for number in 0..=Job::MAX_FILES {
        many = many.with_file(format!("f{number}"), words());
    }
    assert!(refused(&bench, many).await.contains("there are more than 256"));
    let much = FileSource::Base64(vec![0; Job::MAX_FILE_BYTES + 1]);
    assert!(refused(&bench, job("result = 1").with_file("much", much)).await.contains("path"));
    bench.close().await;
}

#[tokio::test]
async fn what_the_jars_user_cannot_read_is_the_callers_to_mend() {
    let (bench, data) = (Bench::new(), data());
    let closed = data.0.join("sales.csv");
    fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).unwrap();
    let refused = refused(&bench, job("result = 1").with_file("sales.csv", path(&closed))).await;
    assert!(refused.contains("`sales.csv`") && refused.contains("chmod o+r"), "{refused}");
    fs::set_permissions(&closed, PermissionsExt::from_mode(0o644)).unwrap();
    let given = job("result = len(open('sales.csv').read())").with_file("sales.csv", path(&closed));
    assert_eq!(result(&run(&bench, given).await), "19");
    bench.close().await;
}

#[tokio::test]
async fn a_link_in_a_directory_leads_nowhere_outside() {
    let (bench, data) = (Bench::new(), data());
    let secret = data.0.join("secret.txt");
    fs::write(&secret, "a secret of the host").unwrap();
    symlink(&secret, data.0.join("data/absolute")).unwrap();
    symlink("../secret.txt", data.0.join("data/relative")).unwrap();
    symlink("../../../../../../../../..", data.0.join("data/up")).unwrap();
    let code = format!(
        "import os\n\
         found = []\n\
         for name in ['absolute', 'relative', 'up{0}/secret.txt', '../secret.txt', '../../secret.txt']:\n\
        \x20   try:\n\
        \x20       found.append(open('data/' + name).read())\n\
        \x20   except OSError:\n\
        \x20       pass\n\
         result = found",
        data.0.display()
    );
    let given = job(&code).with_mount("/data", text(data.0.join("data")));
    assert_eq!(result(&run(&bench, given).await), "[]");
    bench.close().await;
}

#[tokio::test]
async fn a_directory_of_thousands_and_a_large_file_are_not_copied() {
    let (bench, data) = (Bench::new(), data());
    let many = data.0.join("data");
    for number in 0..3000 {
        fs::write(many.join(format!("{number}.txt")), number.to_string()).unwrap();
    }
    // Sparse, and larger than any limit on files or memory.
    let large = fs::File::create(data.0.join("large.bin")).unwrap();
    large.set_len(2 << 30).unwrap();
    drop(large);
    let code = "import os\n\
                total = sum(int(open(e.path).read()) for e in os.scandir('data') if e.name[0].isdigit())\n\
                with open('large.bin', 'rb') as file:\n\
                \x20   file.seek(-1, 2)\n\
                \x20   result = [total, file.tell(), file.read()[0]]";
    let given = job(code)
        .with_mount("/data", text(&many))
        .with_file("large.bin", path(data.0.join("large.bin")));
    let outcome = run(&bench, given).await;
    assert_eq!(result(&outcome), format!("[4498500,{},0]", (2_u64 << 30) - 1));
    bench.close().await;
}

#[tokio::test]
async fn links_to_what_is_given_count_for_no_limit_and_are_no_artifacts() {
    let bench = Bench::new();
    let limited = policy(|limits| *limits = Limits { files: 3, ..limits.clone() });
    let code = "made = 0\n\
                try:\n\
                \x20   for n in range(10):\n\
                \x20       open(f'made{n}', 'w').close(); made += 1\n\
                except OSError:\n\
                \x20   pass\n\
                result = made";
    let words = || FileSource::Text("x".into());
    if walls() == Walls::Full {
        let given =
            Job::new(code).with_policy(limited).with_file("a", words()).with_file("b", words());
        assert_eq!(result(&run(&bench, given).await), "3");
    }
    let replace =
        "import os\nos.remove('a')\nopen('a', 'w').write('mine')\nresult = open('inputs/a').read()";
    let outcome = run(&bench, job(replace).with_file("a", words())).await;
    assert_eq!(result(&outcome), "\"x\"");
    let left: Vec<_> = outcome.artifacts.iter().map(|artifact| artifact.path.as_str()).collect();
    assert_eq!(left, ["a"]);
    bench.close().await;
}

#[tokio::test]
async fn files_come_only_from_where_policy_and_ceiling_allow() {
    let data = data();
    symlink(data.0.join("sales.csv"), data.0.join("data/way-out")).unwrap();
    let read = |source: &str| {
        let name = source.replace('/', "-");
        job(&format!("result = len(open('{name}').read())"))
            .with_file(name, path(data.0.join(source)))
    };
    let clamped = Bench::with_ceiling(Limits::default());
    let refusal = refused(&clamped, read("sales.csv")).await;
    assert!(refusal.contains("sales.csv") && refusal.contains("inputs_from"), "{refusal}");
    let words = job("result = open('a').read()").with_file("a", FileSource::Text("x".into()));
    assert_eq!(result(&run(&clamped, words).await), "\"x\"");
    clamped.close().await;

    let bench = Bench::new();
    let zoned = |mut job: Job| {
        job.policy.inputs_from = Some(vec![data.0.join("data")]);
        job
    };
    assert_eq!(result(&run(&bench, zoned(read("data/one.txt"))).await), "3");
    let outside = zoned(read("sales.csv")).with_file("w", path(data.0.join("data/way-out")));
    let refusal = refused(&bench, outside).await;
    assert_eq!(refusal.matches("sales.csv").count(), 2, "each is named: {refusal}");
    assert!(matches!(
        bench.engine.run(zoned(read("data/../sales.csv"))).await,
        Err(RunError::Request(RequestError::Zone { .. }))
    ));
    bench.close().await;
}

#[test]
fn the_command_hands_files_in_and_explains_where_they_are() {
    let data = data();
    let command = |name: &str, more: &[&str]| {
        let done = std::process::Command::new(program())
            .args([name, "--walls", walls().as_str(), "--python"])
            .arg(python())
            .args(["--file", "sales.csv", "--file", "other name.csv=./sales.csv"])
            .args(["--mount", "/data/deep=data/deep"])
            .args(more)
            .current_dir(&data.0)
            .output()
            .unwrap();
        (done.status.code().unwrap(), String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let code = "[len(open('sales.csv').read()), len(open('other name.csv').read()), \
                open('data/deep/two.txt').read()]";
    assert_eq!(command("run", &["-c", code]), (0, "[19,19,\"two\"]\n".into()));
    let (status, page) = command("explain", &[]);
    let root = if walls() == Walls::Full { "/" } else { "" };
    let real = data.0.canonicalize().unwrap();
    for line in [
        format!("  {root}data/deep {}/data/deep, with all below it\n", real.display()),
        format!("  {root}inputs/other name.csv {}/sales.csv\n", real.display()),
    ] {
        assert!(page.contains(&line), "{status}: no {line:?} in {page}");
    }
    assert_eq!(command("run", &["-c", "1", "--mount", "data"]).0, 2);
    assert_eq!(command("run", &["-c", "1", "--mount", "/etc=data"]).0, 2);
}
