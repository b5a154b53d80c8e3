//! Records of runs, as `carboy run`, `carboy pipe` and `carboy runs` leave and read them.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::*;

fn run(store: &Path, arguments: &[&str]) -> Output {
    Command::new(program())
        .args(["run", "--json", "--walls", walls().as_str(), "--python"])
        .arg(python())
        .arg(format!("--record={}", store.display()))
        .args(arguments)
        .output()
        .unwrap()
}

fn runs(store: &Path, arguments: &[&str]) -> Output {
    Command::new(program()).arg("runs").args(arguments).arg("--store").arg(store).output().unwrap()
}

fn json_of(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr))
    })
}

fn is_whole(store: &Path) {
    let output = runs(store, &["verify", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// The engine behind a pipe, with a store.
struct Pipe {
    child: Child,
    input: ChildStdin,
    lines: BufReader<ChildStdout>,
    _folder: Folder,
}

impl Pipe {
    fn start(store: &Path) -> Pipe {
        let folder = Folder::new();
        let mut child = Command::new(program())
            .args(["pipe", "--python"])
            .arg(python())
            .env("CARBOY_STORE", store)
            .env("TMPDIR", &folder.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut pipe = Pipe { child, input, lines, _folder: folder };
        assert!(pipe.hear().is_some_and(|line| line.get("ready").is_some()));
        pipe
    }

    fn run(&mut self, id: u64, code: &str) {
        self.run_wanting("list", id, code);
    }

    /// Runs code, and wants this of the files that it leaves.
    fn run_wanting(&mut self, artifacts: &str, id: u64, code: &str) {
        let job = json!({ "code": code, "policy": { "walls": walls().as_str() } });
        let run = json!({ "id": id, "job": job, "artifacts": artifacts });
        // It may have been killed already.
        writeln!(self.input, "{}", json!({ "run": run })).ok();
    }

    /// The next whole line.
    fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.lines.read_line(&mut line).ok()?;
        line.ends_with('\n').then(|| serde_json::from_str(&line).unwrap())
    }

    /// The id of the next outcome, which the caller has then.
    fn answered(&mut self) -> Option<String> {
        let line = self.hear()?;
        let outcome = line.get("outcome").unwrap_or_else(|| panic!("{line}"));
        Some(outcome["outcome"]["id"].as_str().unwrap().to_owned())
    }

    fn close(self) {
        let Pipe { mut child, input, lines, .. } = self;
        drop((input, lines));
        child.wait().unwrap();
    }
}

fn ids(store: &Path) -> BTreeSet<String> {
    let rows = json_of(&runs(store, &["--json", "--most", "1000000"]));
    rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_run_is_recorded_listed_shown_exported_and_replayed() {
    let folder = Folder::new();
    let store = folder.0.join("store");
    let code = "from __future__ import annotations\nimport json\nprint('\\x1b[31mred')\nresult = sum(context)";
    let ran = json_of(&run(&store, &["-c", code, "--input", "[1, 2]", "--record-inputs"]));
    let id = ran["id"].as_str().unwrap();
    let rows = json_of(&runs(&store, &["--json", "--status", "ok"]));
    assert_eq!(rows[0]["id"], id);
    let shown = json_of(&runs(&store, &["show", "last", "--json"]));
    assert_eq!((&shown["outcome"], shown["code"].as_str()), (&ran, Some(code)));
    assert_eq!(shown["inputs"]["context"], json!([1, 2]));
    assert!(shown["facts"]["versions"]["kernel"].as_str().is_some_and(|text| !text.is_empty()));
    let page = runs(&store, &["show", &id[..10]]);
    let page = String::from_utf8(page.stdout).unwrap();
    assert!(page.contains("result = sum(context)") && !page.contains('\x1b'), "{page}");
    let replayed = runs(&store, &["replay", id, "--json"]);
    assert!(replayed.status.success());
    let replayed = json_of(&replayed);
    assert_eq!((&replayed["same"], &replayed["surroundings"]), (&json!(true), &json!([])));
    let exported = runs(&store, &["export", id]);
    assert!(exported.status.success());
    let file = folder.0.join("run.py");
    std::fs::write(&file, [&exported.stdout[..], b"print(result)\n"].concat()).unwrap();
    let output = Command::new(python()).args(["-I"]).arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.ends_with("3\n"), "{said}{}", String::from_utf8_lossy(&output.stderr));
    is_whole(&store);
    let head = String::from_utf8(runs(&store, &["head"]).stdout).unwrap();
    assert!(runs(&store, &["verify", "--head", head.trim()]).status.success());
    assert_eq!(runs(&store, &["prune", "--keep-days", "0"]).status.code(), Some(0));
    assert!(runs(&store, &["verify", "--head", head.trim()]).status.success());
    assert_eq!(ids(&store).len(), 0);
}

#[test]
fn a_replay_says_what_differs() {
    let folder = Folder::new();
    let store = folder.0.join("store");
    run(&store, &["-c", "import time\nprint(time.time_ns())\nresult = time.time_ns()"]);
    let replayed = runs(&store, &["replay", "last", "--json"]);
    assert_eq!(replayed.status.code(), Some(1));
    let replayed = json_of(&replayed);
    let differences: Vec<_> =
        replayed["outcome"].as_array().unwrap().iter().map(|found| found["what"].clone()).collect();
    assert_eq!(differences, ["result sha256", "standard output"]);
    run(&store, &["-c", "result = context", "--input", "\"a secret\""]);
    let refused = runs(&store, &["replay", "last"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("the bytes of its input context are not recorded"), "{said}");
    let given = runs(&store, &["replay", "last", "--input", "\"a secret\""]);
    assert!(given.status.success(), "{}", String::from_utf8_lossy(&given.stderr));
    let other = runs(&store, &["replay", "last", "--input", "\"another\""]);
    assert_eq!(other.status.code(), Some(2));
}

/// What a replay of the last run found to differ, of its outcome and around it.
fn differences(store: &Path) -> [Vec<String>; 2] {
    let found = json_of(&runs(store, &["replay", "last", "--json"]));
    let names = |list: &str| {
        let list = found[list].as_array().unwrap_or_else(|| panic!("{found}"));
        list.iter().map(|one| one["what"].as_str().unwrap().to_owned()).collect()
    };
    [names("outcome"), names("surroundings")]
}

#[test]
fn a_replay_compares_files_by_their_content() {
    let folder = Folder::new();
    let store = folder.0.join("store");
    let other = "import secrets\nopen('a.txt', 'w').write(secrets.token_hex(16))";
    let same = "open('a.txt', 'w').write('same')";
    let none: [Vec<String>; 2] = [vec![], vec![]];
    run(&store, &["--record-artifacts", "-c", same]);
    assert_eq!(differences(&store), none);
    run(&store, &["--record-artifacts", "-c", other]);
    assert_eq!(differences(&store), [vec!["files".to_owned()], vec![]]);
    // Nobody wanted their content, and nobody wanted to know of them at all.
    run(&store, &["-c", other]);
    assert_eq!(differences(&store), none);
    let mut pipe = Pipe::start(&store);
    pipe.run_wanting("none", 1, other);
    pipe.answered().unwrap();
    pipe.close();
    let shown = json_of(&runs(&store, &["show", "last", "--json"]));
    assert_eq!(shown["facts"]["artifacts_wanted"], json!("none"));
    assert_eq!(differences(&store), none);
    // What was there already is not replaced, but the run left it.
    let out = folder.0.join("out");
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join("a.txt"), "mine").unwrap();
    let ran = run(&store, &["--out", out.to_str().unwrap(), "-c", same]);
    assert_eq!(ran.status.code(), Some(2), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(differences(&store), none);
}

#[test]
fn a_long_file_that_changed_is_told_by_its_digest() {
    let folder = Folder::new();
    let store = folder.0.join("store");
    let long = folder.0.join("long.csv");
    let file = format!("--file={}", long.display());
    let mut content = b"x\n".repeat(3 << 19);
    std::fs::write(&long, &content).unwrap();
    let written = std::fs::metadata(&long).unwrap().modified().unwrap();
    let ran = run(&store, &["-c", "result = len(open('long.csv').read())", &file]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let given = json_of(&runs(&store, &["show", "last", "--json"]))["facts"]["files"][0].clone();
    let digest = "177f26ac0c89ca0389e4497a09e19e028a1fb9a3f163f02e499e3d8f6c32f47f";
    assert_eq!((&given["sha256"], &given["bytes"]), (&json!(digest), &json!(content.len())));
    // The same content, written anew.
    std::fs::write(&long, &content).unwrap();
    assert_eq!(differences(&store), [vec![], Vec::<String>::new()]);
    // One byte, and the same size and time.
    content[1 << 20] = b'y';
    std::fs::write(&long, &content).unwrap();
    std::fs::File::options().write(true).open(&long).unwrap().set_modified(written).unwrap();
    assert_eq!(differences(&store), [vec![], vec!["files it was given".to_owned()]]);
}

#[test]
fn a_file_that_the_store_cannot_keep_is_told_with_what_helps() {
    let folder = Folder::new();
    let store = folder.0.join("store");
    run(&store, &["--record-artifacts", "-c", "open('a.txt', 'w').write('a')"]);
    let shelf = store.join("artifacts/sha256");
    std::fs::remove_dir_all(&shelf).unwrap();
    std::fs::write(&shelf, "no folder").unwrap();
    let output = Command::new(program())
        .args(["run", "--walls", walls().as_str(), "--record-artifacts", "--python"])
        .arg(python())
        .arg(format!("--record={}", store.display()))
        .args(["-c", "open('a.txt', 'w').write('a')"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("a.txt: it could not be kept"), "{said}");
    assert!(said.contains("hint:") && !said.contains("--force"), "{said}");
}

#[test]
fn runs_that_are_the_same_each_time_have_the_same_result_when_they_are_replayed() {
    let folder = Folder::new();
    let store = folder.0.join("store");
    let count = size("CARBOY_REPLAY_RUNS", 5);
    let mut pipe = Pipe::start(&store);
    for number in 0..count as u64 {
        let codes = [
            format!("result = sum(n * n for n in range({number}))"),
            format!("print('x' * {number})\nresult = {{'n': [{number}] * 3}}"),
            format!("import json\nresult = json.dumps({{str(n): n for n in range({number})}})"),
            format!("[][{number}]"),
            format!("import random\nresult = random.Random({number}).random()"),
        ];
        pipe.run(number, &codes[number as usize % codes.len()]);
        pipe.answered().unwrap();
    }
    pipe.close();
    for id in ids(&store) {
        let replayed = runs(&store, &["replay", &id, "--json"]);
        let found = json_of(&replayed);
        assert!(replayed.status.success(), "{found}");
        assert_eq!(found["surroundings"], json!([]));
    }
}

/// The engine is killed at any moment, again and again, while it records.
#[test]
fn no_answered_run_lacks_its_record_when_the_engine_is_killed() {
    let folder = Folder::new();
    let store = folder.0.join("store");
    let wanted = size("CARBOY_KILL_RUNS", 60);
    let mut answered = BTreeSet::new();
    let mut random = std::process::id();
    while answered.len() < wanted {
        let mut pipe = Pipe::start(&store);
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Up to four at once: records share commits, and one that is alone has its own. Killed while others are
        // being written.
        let until = answered.len() + 1 + (random >> 16) as usize % 40;
        let mut next = 1 + u64::from(random >> 8) % 4;
        for id in 0..next {
            pipe.run(id, &format!("result = {id}"));
        }
        while answered.len() < until {
            answered.extend(pipe.answered());
            pipe.run(next, &format!("print('x' * {next})\nresult = {next}"));
            next += 1;
        }
        let below = descendants(pipe.child.id());
        pipe.child.kill().unwrap();
        // What it had said before is an answer too.
        while let Some(id) = pipe.answered() {
            answered.insert(id);
        }
        pipe.child.wait().unwrap();
        wait_until_gone(&below);
    }
    is_whole(&store);
    let recorded = ids(&store);
    let lost: Vec<_> = answered.difference(&recorded).collect();
    assert!(lost.is_empty(), "{} of {} are not recorded", lost.len(), answered.len());
    // No half record is served.
    for id in recorded.iter().take(3) {
        assert!(json_of(&runs(&store, &["show", id, "--json"]))["outcome"]["id"] == json!(id));
    }
}

#[test]
fn two_processes_record_into_one_store() {
    let folder = Folder::new();
    let store = folder.0.join("store");
    let mut pipes = [Pipe::start(&store), Pipe::start(&store)];
    for id in 0..40 {
        pipes.iter_mut().for_each(|pipe| pipe.run(id, "result = 1"));
    }
    let answered: BTreeSet<_> = pipes
        .iter_mut()
        .flat_map(|pipe| (0..40).map(|_| pipe.answered().unwrap()).collect::<Vec<_>>())
        .collect();
    pipes.into_iter().for_each(Pipe::close);
    assert_eq!((answered.len(), &answered), (80, &ids(&store)));
    is_whole(&store);
}

#[test]
fn a_store_that_cannot_be_written_gives_no_outcome() {
    let folder = Folder::new();
    let file = folder.0.join("file");
    std::fs::write(&file, "").unwrap();
    let refused = run(&file, &["-c", "result = 1"]);
    assert_eq!(refused.status.code(), Some(10));
    let failure = &json_of(&refused)["failure"];
    assert!(failure["message"].as_str().unwrap().contains(file.to_str().unwrap()), "{failure}");
    assert!(failure["hint"].is_string());
    // A disk that is full, as one of this test's own.
    let script = r#"mount -t tmpfs -o size=120k none "$1" || exit 99; shift; exec "$@""#;
    let full = folder.0.join("full");
    std::fs::create_dir(&full).unwrap();
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(&full)
        .arg(program())
        .args(["run", "--json", "--walls", walls().as_str(), "--python"])
        .arg(python())
        .arg(format!("--record={}", full.display()))
        .args(["-c", "result = 'x' * 100_000"])
        .output();
    let output = match output {
        Ok(output) if output.status.code() != Some(99) && !output.stdout.is_empty() => output,
        other => return skip(&format!("no file system of its own can be mounted: {other:?}")),
    };
    let failure = &json_of(&output)["failure"];
    let causes = failure["causes"].to_string() + failure["message"].as_str().unwrap_or_default();
    assert!(causes.contains(full.to_str().unwrap()), "{}", json_of(&output));
    assert!(failure["hint"].as_str().is_some_and(|hint| hint.contains("full")), "{failure}");
}

#[test]
fn a_page_says_which_picture_is_missing() {
    let folder = Folder::new();
    let store = folder.0.join("store");
    let code = "import base64\nopen('plot.png', 'wb').write(base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ\
                AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='))";
    let ran = run(&store, &["--record-artifacts", "-c", code]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let page = || {
        let shown = runs(&store, &["show", "last", "--html", "-"]);
        assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
        String::from_utf8(shown.stdout).unwrap()
    };
    assert!(!page().contains("not shown"));
    let shelf = store.join("artifacts/sha256");
    std::fs::remove_dir_all(&shelf).unwrap();
    assert!(page().contains("plot.png: its content is missing or was altered"));
    std::fs::write(&shelf, "no folder").unwrap();
    assert!(page().contains("plot.png: its content cannot be read"));
}

#[test]
fn a_changed_store_is_told_with_an_exit_code() {
    let folder = Folder::new();
    let store = folder.0.join("store");
    let mut pipe = Pipe::start(&store);
    for id in 0..3 {
        pipe.run(id, "result = 'a text that is easy to find'");
        pipe.answered().unwrap();
    }
    pipe.close();
    is_whole(&store);
    let page = String::from_utf8(runs(&store, &["show", "last", "--html", "-"]).stdout).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("easy to find"), "{page}");
    let written = folder.0.join("page.html");
    assert!(runs(&store, &["show", "last", "--html", written.to_str().unwrap()]).status.success());
    let mode = std::fs::metadata(&written).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "others can read the page");
    let file = store.join("runs.sqlite");
    let mut bytes = std::fs::read(&file).unwrap();
    let text = b"easy to find";
    let places: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(text)).collect();
    // SQLite may have left copies of it in parts of pages that are not used any more.
    places.into_iter().for_each(|at| bytes[at] = b'E');
    std::fs::write(&file, bytes).unwrap();
    let output = runs(&store, &["verify"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("wrong:") && said.contains("altered"), "{said}");
    // Whoever can write the store steers no terminal of whoever reads it.
    let head = json_of(&runs(&store, &["head", "--json"]))["hash"].as_str().unwrap().to_owned();
    let mut bytes = std::fs::read(&file).unwrap();
    let places: Vec<_> =
        (0..bytes.len()).filter(|at| bytes[*at..].starts_with(head.as_bytes())).collect();
    places.into_iter().for_each(|at| bytes[at..at + 5].copy_from_slice(b"\x1b]0;x"));
    std::fs::write(&file, bytes).unwrap();
    for arguments in [&["head"][..], &["verify"], &["show", "last"], &["list"]] {
        let output = runs(&store, arguments);
        let said = [output.stdout, output.stderr].concat();
        assert!(!said.is_empty() && !said.contains(&b'\x1b'), "{arguments:?}");
    }
}

#[test]
fn what_a_run_was_given_is_recorded_and_exported() {
    let folder = Folder::new();
    let store = folder.0.join("store");
    let data = folder.0.join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("a b.csv"), "x\n").unwrap();
    let file = format!("--file=a.csv={}", data.join("a b.csv").display());
    let mount = format!("--mount=/inputs/all={}", data.display());
    let ran = run(&store, &["-c", "result = open('a.csv').read()", &file, &mount]);
    assert_eq!(json_of(&ran)["result"], json!("x\n"));
    let files = json_of(&runs(&store, &["show", "last", "--json"]))["facts"]["files"].clone();
    let digest = "73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac";
    assert_eq!(files[0]["sha256"], json!(digest), "{files}");
    assert_eq!((files.as_array().unwrap().len(), &files[0]["bytes"]), (1, &json!(2)));
    let exported = || String::from_utf8(runs(&store, &["export", "last"]).stdout).unwrap();
    let found = exported();
    let mounted = format!("--mount /inputs/all={} FILE", data.display());
    let given = format!("--file 'a.csv={}/a b.csv'", data.display());
    assert!(found.contains(&mounted) && found.contains(&given), "{found}");
    // A frame keeps its format where the end of its path does not tell it.
    let text = data.join("a.txt");
    std::fs::write(&text, "x\n1\n").unwrap();
    let given = format!("csv:table={}", text.display());
    let ran = run(&store, &["-c", "result = len(table)", "--frame", &given]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let exported = exported();
    assert!(exported.contains(&format!("--frame {given} FILE")), "{exported}");
    assert!(exported.contains("the file frames/table (csv)."), "{exported}");
}

#[test]
fn a_store_can_be_named_before_the_command() {
    let folder = Folder::new();
    let store = folder.0.join("store");
    run(&store, &["-c", "result = 1"]);
    let runs = |arguments: &[&str]| {
        let mut command = Command::new(program());
        command.args(["runs", "--store"]).arg(&store).args(arguments).output().unwrap()
    };
    for arguments in [&[][..], &["list"], &["show", "last"], &["verify"], &["head"]] {
        let output = runs(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
    }
    for arguments in [&["--status", "ok", "show", "last"][..], &["--json", "verify"]] {
        let output = runs(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn mistakes_have_a_way_out() {
    let folder = Folder::new();
    let none = folder.0.join("none");
    for (arguments, word) in [
        (vec!["list"], "there is no"),
        (vec!["show", "last"], "there is no"),
        (vec!["prune", "--keep-days", "1"], "there is no"),
        (vec!["list", "--since", "yesterday"], "not a time"),
        (vec!["verify", "--head", "7"], "not the end of a chain"),
        (vec!["prune", "--keep-bytes", "lots"], "not a number of bytes"),
    ] {
        let output = runs(&none, &arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(word) && said.contains("hint:"), "{arguments:?}: {said}");
    }
    assert!(!none.exists(), "reading makes no store");
    // A database of somebody else's, named itself.
    let file = folder.0.join("mine.sqlite");
    std::fs::write(&file, "mine").unwrap();
    let said = runs(&file, &["list"]).stderr;
    assert!(String::from_utf8_lossy(&said).contains("a store is a directory"), "{said:?}");
    let output = Command::new(program())
        .args(["run", "--record-inputs", "-c", "1", "--python"])
        .arg(python())
        .env_remove("CARBOY_STORE")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("nothing is recorded"), "{said}");
}
