//! What a run leaves comes out, and nothing else does.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use carboy_engine::{Artifacts, Keeper, RunOptions};
use carboy_protocol::{Artifact, Job, LeftOutReason, LimitName, Limits, Outcome, Walls};

use crate::support::{Bench, Folder, policy, program, python, result, walls};

/// Keeps artifacts in memory.
#[derive(Debug, Default)]
struct Shelf {
    kept: Mutex<BTreeMap<String, Vec<u8>>>,
    /// A path that it does not take.
    refuses: &'static str,
}

impl Keeper for Shelf {
    fn keep(&self, run: &str, artifact: &Artifact, content: &mut dyn Read) -> io::Result<()> {
        assert_eq!(run.len(), 32);
        if artifact.path == self.refuses {
            return Err(io::Error::other("the shelf is full"));
        }
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes)?;
        assert_eq!(bytes.len() as u64, artifact.bytes, "{}", artifact.path);
        self.kept.lock().unwrap().insert(artifact.path.clone(), bytes);
        Ok(())
    }
}

impl Shelf {
    fn names(&self) -> Vec<String> {
        self.kept.lock().unwrap().keys().cloned().collect()
    }
}

async fn kept(
    bench: &Bench,
    change: impl FnOnce(&mut Limits),
    shelf: &Arc<Shelf>,
    code: &str,
) -> Outcome {
    let job = Job::new(code).with_policy(policy(change));
    let options = RunOptions { artifacts: Artifacts::Keep(shelf.clone()), ..RunOptions::default() };
    bench.engine.run_with(job, options).await.unwrap()
}

/// How much was left out for each reason.
fn left_out(outcome: &Outcome) -> Vec<(LeftOutReason, u64)> {
    outcome.artifacts_left_out.iter().map(|each| (each.reason, each.count)).collect()
}

fn digest(artifact: &Artifact) -> &str {
    artifact.sha256.as_deref().unwrap_or("none")
}

#[tokio::test]
async fn artifacts_come_out_with_their_digest_and_type() {
    let bench = Bench::new();
    let shelf = Arc::new(Shelf::default());
    let code = "
import hashlib, os
png = b'\\x89PNG\\r\\n\\x1a\\n' + bytes(range(256)) * 80
large = os.urandom(1 << 16) * 48
os.mkdir('sub')
for name, data in (('sub/plot.png', png), ('large.bin', large), ('page.html', b'<script>1</script>'), ('none', b'')):
    open(name, 'wb').write(data)
result = [hashlib.sha256(png).hexdigest(), hashlib.sha256(large).hexdigest()]
";
    let outcome = kept(&bench, |_| {}, &shelf, code).await;
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    let listed: Vec<_> = outcome
        .artifacts
        .iter()
        .map(|a| (a.path.as_str(), a.bytes, a.media_type.as_deref().unwrap_or("none")))
        .collect();
    assert_eq!(
        listed,
        [
            ("large.bin", 48 << 16, "application/octet-stream"),
            ("none", 0, "text/plain"),
            ("page.html", 18, "text/plain"),
            ("sub/plot.png", 8 + 256 * 80, "image/png"),
        ]
    );
    let digests =
        format!("[\"{}\",\"{}\"]", digest(&outcome.artifacts[3]), digest(&outcome.artifacts[0]));
    assert_eq!(result(&outcome), digests);
    assert_eq!(shelf.names(), ["large.bin", "none", "page.html", "sub/plot.png"]);
    assert!(shelf.kept.lock().unwrap()["sub/plot.png"].starts_with(b"\x89PNG"));
    assert_eq!(left_out(&outcome), []);
    bench.close().await;
}

#[tokio::test]
async fn what_threads_write_until_the_end_has_the_digest_of_what_is_kept() {
    let bench = Bench::new();
    // Small ones are read once, larger ones twice.
    let code = "
import os, threading
def write(name, size):
    with open(name, 'r+b', buffering=0) as file:
        while True:
            file.seek(0)
            file.write(os.urandom(4096) * (size // 4096))
for name, size in (('small', 1 << 16), ('large', 3 << 20)):
    open(name, 'wb').write(b'x' * size)
    for _ in range(3):
        threading.Thread(target=write, args=(name, size), daemon=True).start()
";
    for _ in 0..5 {
        let shelf = Arc::new(Shelf::default());
        let outcome = kept(&bench, |_| {}, &shelf, code).await;
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        assert_eq!(shelf.names(), ["large", "small"]);
        let folder = Folder::new();
        for artifact in &outcome.artifacts {
            let path = folder.0.join(&artifact.path);
            fs::write(&path, &shelf.kept.lock().unwrap()[&artifact.path]).unwrap();
            let said = Command::new("sha256sum").arg(&path).output().unwrap();
            let said = String::from_utf8(said.stdout).unwrap();
            assert!(said.starts_with(digest(artifact)), "{}: {said}", artifact.path);
        }
    }
    bench.close().await;
}

#[tokio::test]
async fn what_is_not_wanted_is_not_read_and_not_listed() {
    let bench = Bench::new();
    let code = "open('a', 'w').write('x')";
    let listed = bench.ask(code).await;
    assert_eq!(listed.artifacts.len(), 1);
    assert_eq!((&listed.artifacts[0].sha256, &listed.artifacts[0].media_type), (&None, &None));
    let job = Job::new(code).with_policy(policy(|_| {}));
    let options = RunOptions { artifacts: Artifacts::None, ..RunOptions::default() };
    let outcome = bench.engine.run_with(job, options).await.unwrap();
    assert_eq!(outcome.artifacts, []);
    bench.close().await;
}

#[tokio::test]
async fn links_odd_names_and_special_files_are_left_out_and_named() {
    let bench = Bench::new();
    let shelf = Arc::new(Shelf::default());
    let code = "
import os
open('good', 'w').write('x')
os.symlink('/etc/passwd', 'link')
os.symlink('/', 'folder')
for name in (b'a\\nb', b'\\x1b[2Jx', b'\\xff\\xfe', '\\u202egpj.exe'.encode(), b'\\x7f', b'n' * 255):
    open(name, 'wb').write(b'x')
made = []
for name in ('fifo', 'device'):
    try:
        os.mkfifo(name) if name == 'fifo' else os.mknod(name, 0o20600, os.makedev(1, 3))
        made.append(name)
    except OSError:
        pass
for level in range(context):
    os.mkdir('d'); os.chdir('d')
open('deep', 'w').write('x')
result = len(made)
";
    // A tree that cannot be counted ends the run in nested walls.
    let levels = if walls() == Walls::Full { 70 } else { 0 };
    let code = format!("context = {levels}\n{code}");
    let outcome = kept(&bench, |_| {}, &shelf, &code).await;
    let special: u64 = result(&outcome).parse().unwrap();
    let mut expected = vec![(LeftOutReason::Link, 2)];
    if special > 0 {
        expected.push((LeftOutReason::Special, special));
    }
    expected.push((LeftOutReason::Name, 5));
    if walls() == Walls::Full {
        expected.push((LeftOutReason::Depth, 1));
    }
    assert_eq!(left_out(&outcome), expected, "{:?}", outcome.error);
    let names = &outcome.artifacts_left_out.iter().find(|each| each.reason == LeftOutReason::Name);
    let names = &names.unwrap().paths;
    for shown in [r"a\nb", r"\u{1b}[2Jx", r"\xff\xfe", r"\u{202e}gpj.exe", r"\u{7f}"] {
        assert!(names.iter().any(|name| name == shown), "{shown} in {names:?}");
    }
    let good = if levels == 0 { vec!["deep", "good"] } else { vec!["good"] };
    assert_eq!(shelf.names(), [good, vec!["n".repeat(255).as_str()]].concat());
    bench.close().await;
}

#[tokio::test]
async fn a_file_with_two_names_comes_out_where_both_are_in_the_jar() {
    let bench = Bench::new();
    let shelf = Arc::new(Shelf::default());
    let code = "
import os
open('one', 'w').write('x')
try:
    os.link('one', 'two')
    result = 2
except OSError:
    result = 1
";
    let outcome = kept(&bench, |_| {}, &shelf, code).await;
    match (walls(), result(&outcome).as_str()) {
        (_, "1") => assert_eq!(shelf.names(), ["one"]),
        (Walls::Full, _) => assert_eq!(shelf.names(), ["one", "two"]),
        (Walls::Nested, _) => {
            assert_eq!(left_out(&outcome), [(LeftOutReason::HardLink, 2)]);
        }
    }
    bench.close().await;
}

#[tokio::test]
async fn limits_artifacts_bounds_how_many_come_out() {
    let bench = Bench::new();
    let code = "for n in range(5): open(f'f{n}', 'w').write('x')";
    for (most, expected, over) in [(5, 5, vec![]), (3, 3, vec![(LeftOutReason::Count, 2)])] {
        let shelf = Arc::new(Shelf::default());
        let outcome =
            kept(&bench, |limits| limits.set(LimitName::Artifacts, most), &shelf, code).await;
        assert_eq!((shelf.names().len(), left_out(&outcome)), (expected, over));
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
    }
    bench.close().await;
}

/// What is left is gone through, counted and removed, however much it is. 20,000 take four times as long.
#[tokio::test]
async fn a_run_that_leaves_very_many_files_is_answered_and_leaves_nothing() {
    const FILES: u64 = 5_000;
    let bench = Bench::new();
    let shelf = Arc::new(Shelf::default());
    let code = format!(
        "
import os
for folder in range({FILES} // 100):
    os.mkdir(str(folder))
    for n in range(100):
        open(f'{{folder}}/{{n}}', 'x').close()
result = (folder + 1) * 100
"
    );
    let change = |limits: &mut Limits| {
        limits.files = FILES + FILES / 100 + 10;
        limits.wall_ms = 60_000;
    };
    let outcome = kept(&bench, change, &shelf, &code).await;
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(result(&outcome), FILES.to_string());
    assert_eq!((outcome.artifacts.len(), shelf.names().len()), (1_000, 1_000));
    assert_eq!(left_out(&outcome), [(LeftOutReason::Count, FILES - 1_000)]);
    bench.close().await;
}

#[tokio::test]
async fn limits_artifact_bytes_bounds_what_comes_out_with_the_holes_of_sparse_files() {
    let bench = Bench::new();
    let code = "
open('a', 'wb').write(b'x' * 100)
with open('hole', 'wb') as f:
    try:
        f.truncate(10 << 40)
        result = 'ten terabytes'
    except OSError:
        f.truncate(8 << 20)
        result = 'as much as files may have'
open('z', 'wb').write(b'x' * 100)
";
    let change = |most: u64| move |limits: &mut Limits| limits.set(LimitName::ArtifactBytes, most);
    for (most, names, over) in [(200, vec!["a", "z"], 1), (199, vec!["a"], 2)] {
        let shelf = Arc::new(Shelf::default());
        let outcome = kept(&bench, change(most), &shelf, code).await;
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        assert_eq!(result(&outcome), "\"as much as files may have\"");
        assert_eq!(shelf.names(), names);
        assert_eq!(left_out(&outcome), [(LeftOutReason::Bytes, over)]);
    }
    bench.close().await;
}

#[tokio::test]
async fn a_sparse_file_that_fits_comes_out_as_it_reads() {
    let bench = Bench::new();
    let shelf = Arc::new(Shelf::default());
    let code = "
with open('hole', 'wb') as f:
    f.truncate(3 << 20)
    f.seek(2 << 20)
    f.write(b'x')
";
    let outcome = kept(&bench, |_| {}, &shelf, code).await;
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    let hole = shelf.kept.lock().unwrap()["hole"].clone();
    assert_eq!(hole.len(), 3 << 20);
    assert_eq!(hole.iter().position(|byte| *byte != 0), Some(2 << 20));
    bench.close().await;
}

#[tokio::test]
async fn what_is_not_taken_is_left_out_and_the_outcome_stays() {
    let bench = Bench::new();
    let shelf = Arc::new(Shelf { refuses: "b", ..Shelf::default() });
    let code = "for n in 'abc': open(n, 'w').write(n)\nresult = 7";
    let outcome = kept(&bench, |_| {}, &shelf, code).await;
    assert_eq!(result(&outcome), "7");
    assert_eq!(shelf.names(), ["a", "c"]);
    assert_eq!(left_out(&outcome), [(LeftOutReason::Store, 1)]);
    let said = &outcome.artifacts_left_out[0];
    assert_eq!(
        (said.paths.as_slice(), said.message.contains("the shelf is full")),
        (["b".to_owned()].as_slice(), true)
    );
    bench.close().await;
}

#[tokio::test]
async fn files_of_a_run_that_failed_come_out_too() {
    let bench = Bench::new();
    let shelf = Arc::new(Shelf::default());
    let code = "open('a', 'w').write('before')\nwhile True: pass";
    let outcome = kept(&bench, |limits| limits.wall_ms = 300, &shelf, code).await;
    assert!(outcome.error.is_some());
    assert_eq!(shelf.names(), ["a"]);
    bench.close().await;
}

fn command(out: &Path, more: &[&str], code: &str) -> Output {
    Command::new(program())
        .args(["run", "--walls", walls().as_str(), "-c", code, "--python"])
        .arg(python())
        .arg("--out")
        .arg(out)
        .args(more)
        .output()
        .unwrap()
}

#[test]
fn run_writes_what_is_left_into_a_folder_and_nowhere_else() {
    let folder = Folder::new();
    let out = folder.0.join("out");
    let code = "import os\nos.makedirs('sub/deep')\nopen('sub/deep/a', 'w').write('new')\nopen('b', 'w').write('new')";
    let ran = command(&out, &[], code);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(fs::read_to_string(out.join("sub/deep/a")).unwrap(), "new");
    let url = command(Path::new("s3://bucket/prefix"), &[], code);
    assert_eq!(url.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&url.stderr).contains("this build writes into folders only"));
    // Links that somebody put there are not followed.
    let outside = folder.0.join("outside");
    fs::create_dir_all(outside.join("deep")).unwrap();
    fs::write(outside.join("b"), "mine").unwrap();
    fs::remove_dir_all(&out).unwrap();
    fs::create_dir(&out).unwrap();
    std::os::unix::fs::symlink(&outside, out.join("sub")).unwrap();
    std::os::unix::fs::symlink(outside.join("b"), out.join("b")).unwrap();
    for (more, says) in [(vec![], "exists"), (vec!["--force"], "no directory")] {
        let ran = command(&out, &more, code);
        assert_eq!(ran.status.code(), Some(2));
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(said.contains("left out:") && said.contains(says), "{said}");
    }
    assert_eq!(fs::read_to_string(outside.join("b")).unwrap(), "mine");
    assert_eq!(fs::read_dir(outside.join("deep")).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(out.join("b")).unwrap(), "new");
    assert!(!out.join("b").is_symlink());
    // What is there stays, unless it is to be replaced.
    let again = "open('b', 'w').write('newer')";
    assert_eq!(command(&out, &[], again).status.code(), Some(2));
    assert_eq!(fs::read_to_string(out.join("b")).unwrap(), "new");
    assert!(command(&out, &["--force"], again).status.success());
    assert_eq!(fs::read_to_string(out.join("b")).unwrap(), "newer");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 2, "an unfinished file is left");
}
