//! What a store promises, on a runner that answers as the code of its job says.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use carboy_engine::{Artifacts, EngineError, Keeper, RunError, RunOptions, Runner};
use carboy_protocol::pipe::{FromEngine, RunFailure};
use carboy_protocol::{Artifact, FileSource, Job, Outcome, Policy, Tool};
use carboy_store::{
    About, Describe, Head, Keep, KeepArtifacts, KeepInputs, Query, Recorder, RunStatus, Store,
    StoreConfig, VersionsOf, sha256,
};
use rusqlite::Connection;
use rustix::fs::{Mode, OFlags, open};
use serde_json::value::RawValue;

#[path = "records/chain.rs"]
mod chain;
#[path = "records/waits.rs"]
mod waits;

/// Answers with the golden outcome, with the job's code as its result, under an id of its own.
struct Scripted;

fn golden() -> Outcome {
    let text = include_str!("../../../golden/pipe/outcome_ok.json");
    match serde_json::from_str(text).expect("the golden message") {
        FromEngine::Outcome { outcome, .. } => *outcome,
        _ => panic!("outcome_ok.json holds no outcome"),
    }
}

impl Runner for Scripted {
    async fn run_with(&self, job: Job, options: RunOptions) -> Result<Outcome, RunError> {
        for (name, source) in &job.files {
            if let (FileSource::Path(path), Some(witness)) = (source, &options.witness) {
                let held =
                    open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).expect("a file");
                if job.code == "swap" {
                    let other = format!("{path}.other");
                    std::fs::write(&other, "something else").expect("a file");
                    std::fs::rename(other, path).expect("another file in its place");
                }
                witness.given(name, held.as_fd());
            }
        }
        match job.code.as_str() {
            "fail" => Err(RunError::Engine(EngineError::ZygoteGone)),
            "cancel" => Err(RunError::Cancelled),
            "hang" => std::future::pending().await,
            code => {
                let text = serde_json::to_string(code).expect("JSON");
                let result = RawValue::from_string(text).expect("JSON");
                let id = carboy_engine::new_id().expect("a random number");
                let mut artifacts = vec![];
                if let (Some(content), Artifacts::Keep(keeper)) =
                    (code.strip_prefix("leave "), &options.artifacts)
                {
                    let file = Artifact {
                        path: "left.txt".into(),
                        bytes: content.len() as u64,
                        sha256: Some(sha256(content)),
                        media_type: Some("text/plain".into()),
                    };
                    // As the engine does: what could not be kept is no artifact.
                    if keeper.keep(&id, &file, &mut content.as_bytes()).is_ok() {
                        artifacts.push(file);
                    }
                }
                Ok(Outcome { id, result: Some(result), artifacts, ..golden() })
            }
        }
    }

    async fn shutdown(&self) {}
}

impl Describe for Scripted {
    fn versions(&self) -> VersionsOf {
        VersionsOf { carboy: "1".into(), ..VersionsOf::default() }
    }

    fn packages(&self) -> Vec<PathBuf> {
        vec![]
    }

    fn plan(&self, policy: &Policy) -> Option<String> {
        Some(format!("{policy:?}"))
    }
}

/// A directory that is removed with its test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let id = carboy_engine::new_id().expect("a random number");
        Folder(std::env::temp_dir().join(format!("carboy-store-{id}")))
    }

    fn recorder(&self, inputs: KeepInputs) -> Recorder<Scripted> {
        let directory = self.0.clone();
        let artifacts = KeepArtifacts::Digests;
        Recorder::open(Scripted, Some(StoreConfig { directory, inputs, artifacts }))
            .expect("a store")
    }

    fn keeping_files(&self) -> Recorder<Scripted> {
        let (directory, inputs) = (self.0.clone(), KeepInputs::Digests);
        let artifacts = KeepArtifacts::Bytes;
        Recorder::open(Scripted, Some(StoreConfig { directory, inputs, artifacts }))
            .expect("a store")
    }

    /// The same store once more, to be altered.
    fn copied(&self) -> Folder {
        let copy = Folder::new();
        std::fs::create_dir(&copy.0).expect("a folder");
        std::fs::copy(self.0.join("runs.sqlite"), copy.0.join("runs.sqlite")).expect("a copy");
        copy
    }

    fn store(&self) -> Store {
        Store::open(&self.0).expect("a store")
    }

    /// As somebody with a tool of SQLite's.
    fn sql(&self, sql: &str) {
        let connection = Connection::open(self.0.join("runs.sqlite")).expect("the file");
        connection.execute_batch(sql).expect("what the test does to the file");
    }

    fn wrong(&self) -> Vec<(i64, String)> {
        let report = self.store().verify(None).expect("a chain that can be read");
        report.wrong.into_iter().map(|wrong| (wrong.seq, wrong.what)).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

async fn run(recorder: &Recorder<Scripted>, code: &str) -> Outcome {
    recorder.run_with(Job::new(code), RunOptions::default()).await.expect("an outcome")
}

async fn recorded(count: usize) -> Folder {
    let folder = Folder::new();
    let recorder = folder.recorder(KeepInputs::Digests);
    for number in 0..count {
        run(&recorder, &format!("code {number}")).await;
    }
    folder
}

fn run_facts(about: &About) -> &carboy_store::RunFacts {
    match about {
        About::Run(run) => run,
        About::Prune(_) => panic!("a removal, not a run"),
    }
}

#[tokio::test]
async fn a_run_is_there_when_it_is_answered() {
    let folder = Folder::new();
    let recorder = folder.recorder(KeepInputs::Digests);
    let value = RawValue::from_string("\"a secret\"".into()).expect("JSON");
    let mut job = Job::new("result = 1").with_input("key", value);
    job.tools.push(Tool { name: "send".into(), ..Tool::default() });
    let options = RunOptions { tenant: "acme".into(), ..RunOptions::default() };
    let outcome = recorder.run_with(job, options).await.expect("an outcome");
    let record = folder.store().find(&outcome.id).expect("its record");
    let facts = run_facts(&record.facts.about);
    assert_eq!((facts.status, facts.tenant.as_str()), (RunStatus::Ok, "acme"));
    assert_eq!(facts.code_sha256, sha256("result = 1"));
    assert_eq!(facts.result_sha256, Some(sha256("\"result = 1\"")));
    assert_eq!(facts.plan_sha256, Some(sha256(format!("{:?}", Policy::default()))));
    assert_eq!((facts.inputs.len(), &facts.inputs[0].sha256), (1, &sha256("\"a secret\"")));
    assert_eq!(record.code.as_deref(), Some("result = 1"));
    assert_eq!(record.job.expect("a job").tools[0].name, "send");
    assert_eq!(record.outcome.expect("an outcome").id, outcome.id);
    assert!(record.inputs.is_none());
    drop(recorder);
    for name in ["runs.sqlite", "runs.sqlite-wal"] {
        let bytes = std::fs::read(folder.0.join(name)).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&bytes).contains("a secret"), "{name} has the input");
    }
    assert_eq!(folder.wrong(), []);
}

#[tokio::test]
async fn inputs_are_kept_where_that_was_asked_for() {
    let folder = Folder::new();
    let recorder = folder.recorder(KeepInputs::Bytes);
    let value = RawValue::from_string("[1, 2]".into()).expect("JSON");
    let job = Job::new("pass").with_input("n", value);
    let outcome = recorder.run_with(job, RunOptions::default()).await.expect("an outcome");
    let inputs = folder.store().find(&outcome.id).expect("a record").inputs.expect("inputs");
    assert_eq!(inputs["n"].get(), "[1, 2]");
}

#[tokio::test]
async fn long_inputs_are_hashed_as_short_ones_are() {
    let folder = Folder::new();
    let recorder = folder.recorder(KeepInputs::Digests);
    let text = format!("\"{}\"", "x".repeat(1 << 20));
    let job = Job::new("pass").with_input("n", RawValue::from_string(text.clone()).expect("JSON"));
    let outcome = recorder.run_with(job, RunOptions::default()).await.expect("an outcome");
    let record = folder.store().find(&outcome.id).expect("a record");
    assert_eq!(run_facts(&record.facts.about).inputs[0].sha256, sha256(text));
}

#[tokio::test]
async fn what_has_no_outcome_is_recorded_if_something_may_have_run() {
    let folder = Folder::new();
    let recorder = Arc::new(folder.recorder(KeepInputs::Digests));
    let failed = recorder.run_with(Job::new("fail"), RunOptions::default()).await;
    assert!(matches!(failed, Err(RunError::Engine(EngineError::ZygoteGone))));
    let cancelled = recorder.run_with(Job::new("cancel"), RunOptions::default()).await;
    assert!(matches!(cancelled, Err(RunError::Cancelled)));
    let hanging = {
        let recorder = recorder.clone();
        tokio::spawn(
            async move { recorder.run_with(Job::new("hang"), RunOptions::default()).await },
        )
    };
    tokio::task::yield_now().await;
    hanging.abort();
    hanging.await.expect_err("an abort");
    recorder.shutdown().await;
    let rows = folder.store().list(&Query::default()).expect("a list");
    let ends: Vec<_> = rows.iter().map(|row| (row.status.as_str(), row.begins.as_str())).collect();
    assert_eq!(ends, [("abandoned", "hang"), ("failed", "fail")]);
    let failed = folder.store().find(&rows[1].id).expect("its record");
    let failure: RunFailure = run_facts(&failed.facts.about).failure.clone().expect("a reason");
    assert!(failure.message.contains("zygote"), "{}", failure.message);
    assert_eq!(folder.wrong(), []);
}

#[tokio::test]
async fn content_of_files_is_kept_once_found_wrong_and_removed_with_its_records() {
    let folder = Folder::new();
    let recorder = folder.keeping_files();
    for content in ["one", "one", "two"] {
        run(&recorder, &format!("leave {content}")).await;
    }
    // Whoever wants no files gets none, and nothing is kept.
    let options = RunOptions { artifacts: Artifacts::None, ..RunOptions::default() };
    recorder.run_with(Job::new("leave nothing"), options).await.expect("an outcome");
    let file = |content: &str| {
        let digest = sha256(content);
        folder.0.join("artifacts/sha256").join(&digest[..2]).join(&digest[2..])
    };
    let there = |content: &str| file(content).exists();
    assert!(there("one") && there("two") && !there("nothing"));
    let store = folder.store();
    let record = store.find("last").expect("a record");
    assert!(!run_facts(&record.facts.about).artifacts_kept);
    let rows = store.list(&Query { text: Some("leave two".into()), ..Query::default() });
    let record = store.find(&rows.expect("a list")[0].id).expect("a record");
    let facts = run_facts(&record.facts.about);
    assert!(facts.artifacts_kept);
    let content = |most| store.content(&facts.artifacts[0], most).expect("a shelf");
    assert_eq!((content(3), content(2)), (Some(b"two".to_vec()), None));
    assert_eq!(folder.wrong(), []);
    std::fs::write(file("two"), "2").expect("to alter it");
    assert_eq!(content(3), None);
    assert!(folder.wrong()[0].1.contains("altered"), "{:?}", folder.wrong());
    // What has another length is not what a later run left.
    run(&recorder, "leave two").await;
    assert_eq!((content(3), folder.wrong()), (Some(b"two".to_vec()), vec![]));
    std::fs::remove_file(file("two")).expect("to remove it");
    assert!(folder.wrong()[0].1.contains("missing"), "{:?}", folder.wrong());
    // Content that cannot be read is a fault of its records, and the others are read.
    std::fs::create_dir(file("two")).expect("a folder in its place");
    std::fs::remove_file(file("one")).expect("to remove it");
    let wrong = folder.wrong();
    let says = |word: &str| wrong.iter().filter(|(_, what)| what.contains(word)).count();
    assert_eq!((says("cannot be read"), says("missing"), wrong.len()), (2, 2, 4), "{wrong:?}");
    std::fs::remove_dir(file("two")).expect("to remove it");
    // What a killed engine left unfinished goes too.
    run(&recorder, "leave one").await;
    let unfinished = file("one").with_file_name(".carboy-1-1");
    std::fs::write(&unfinished, "on").expect("a file");
    let later = SystemTime::now() + Duration::from_secs(10);
    let keep = Keep { age: None, bytes: Some(9_000) };
    let some = Store::prune(&folder.0, keep, later).expect("a removal");
    assert!(some.records > 0 && some.remain > 1, "{some:?}");
    assert!(there("one") && !unfinished.exists(), "a record still has it");
    let all = Keep { age: Some(Duration::ZERO), bytes: None };
    let all = Store::prune(&folder.0, all, later).expect("a removal");
    assert!(all.files == 1 && !there("one"), "{all:?}");
    assert_eq!(folder.wrong(), []);
}

/// A caller's own place for files.
#[derive(Debug, Default)]
struct Seen(Mutex<Vec<String>>);

impl Keeper for Seen {
    fn keep(&self, _run: &str, file: &Artifact, content: &mut dyn Read) -> io::Result<()> {
        if file.sha256 == Some(sha256("refused")) {
            return Err(io::Error::other("not this"));
        }
        let mut text = String::new();
        content.read_to_string(&mut text)?;
        self.0.lock().expect("a lock").push(text);
        Ok(())
    }
}

#[tokio::test]
async fn a_caller_gets_files_that_the_store_cannot_keep_and_the_other_way_round() {
    let folder = Folder::new();
    let recorder = folder.keeping_files();
    let seen = Arc::new(Seen::default());
    let leave = async |content: &str| {
        let artifacts = Artifacts::Keep(seen.clone());
        let options = RunOptions { artifacts, ..RunOptions::default() };
        let job = Job::new(format!("leave {content}"));
        recorder.run_with(job, options).await.expect("an outcome")
    };
    assert!(leave("refused").await.artifacts.is_empty());
    let digest = sha256("refused");
    let kept = folder.0.join("artifacts/sha256").join(&digest[..2]).join(&digest[2..]);
    assert_eq!(std::fs::read_to_string(kept).expect("its content"), "refused");
    // As a disk that has no room: a file is where the folders of content would be.
    let content = folder.0.join("artifacts/sha256");
    std::fs::remove_dir_all(&content).expect("to remove it");
    std::fs::write(&content, "").expect("a file");
    assert!(leave("this").await.artifacts.is_empty(), "its record names what is not kept");
    assert_eq!(*seen.0.lock().expect("a lock"), ["this"]);
}

#[tokio::test]
async fn whoever_wants_files_gets_them_also_if_they_are_kept() {
    let folder = Folder::new();
    let recorder = folder.keeping_files();
    let seen = Arc::new(Seen::default());
    for _ in 0..2 {
        let artifacts = Artifacts::Keep(seen.clone());
        let options = RunOptions { artifacts, ..RunOptions::default() };
        recorder.run_with(Job::new("leave this"), options).await.expect("an outcome");
    }
    assert_eq!(*seen.0.lock().expect("a lock"), ["this", "this"]);
}

#[tokio::test]
async fn lists_are_filtered() {
    let folder = Folder::new();
    let recorder = folder.recorder(KeepInputs::Digests);
    for (code, tenant) in [("a = 1", ""), ("# why\n\nb = 2", "acme"), ("fail", "acme")] {
        let options = RunOptions { tenant: tenant.into(), ..RunOptions::default() };
        recorder.run_with(Job::new(code), options).await.ok();
    }
    let store = folder.store();
    let found = |query: Query| -> Vec<String> {
        store.list(&query).expect("a list").into_iter().map(|row| row.begins).collect()
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(found(Query::default()), ["fail", "b = 2", "a = 1"]);
    assert_eq!(found(Query { most: Some(1), ..Query::default() }), ["fail"]);
    assert_eq!(found(Query { status: text("ok"), ..Query::default() }), ["b = 2", "a = 1"]);
    assert_eq!(found(Query { tenant: text("acme"), ..Query::default() }), ["fail", "b = 2"]);
    assert_eq!(found(Query { tenant: text(""), ..Query::default() }), ["a = 1"]);
    assert_eq!(found(Query { text: text("why"), ..Query::default() }), ["b = 2"]);
    assert_eq!(found(Query { since: text("2999-01-01"), ..Query::default() }), [""; 0]);
    assert_eq!(found(Query { until: text("2999-01-01"), ..Query::default() }).len(), 3);
    assert_eq!(found(Query { kind: text("limit"), ..Query::default() }), [""; 0]);
}

#[tokio::test]
async fn an_id_may_be_cut_but_not_guessed() {
    let folder = recorded(3).await;
    let store = folder.store();
    let last = store.find("last").expect("a record");
    let id = run_facts(&last.facts.about).id.clone();
    assert_eq!(store.find(&id[..12]).expect("a record").hash, last.hash);
    for wrong in ["", "zz", "abc", "' OR 1=1 --", "ffffffffffffffffffffffffffffffff", "%%%%%"] {
        assert!(store.find(wrong).is_err(), "{wrong}");
    }
}

#[tokio::test]
async fn hostile_strings_are_kept_as_they_are() {
    let folder = Folder::new();
    let recorder = folder.recorder(KeepInputs::Bytes);
    let hostile = [
        "'; DROP TABLE records; --",
        "\u{0}nul\u{0}",
        "\u{1b}]52;c;x\u{7}",
        "</script><script>alert(1)</script>",
        "\u{202e}\u{feff}\u{fffe}",
        "{\"a\": {\"a\": \"\\ud800\"}}",
        "\r\n\t\"\\",
    ];
    for text in hostile {
        let mut job = Job::new(text);
        let value = serde_json::value::to_raw_value(text).expect("JSON");
        job = job.with_input(text, value);
        job.tools.push(Tool { name: text.into(), doc: text.into(), ..Tool::default() });
        let options = RunOptions { tenant: text.into(), ..RunOptions::default() };
        let outcome = recorder.run_with(job, options).await.expect("an outcome");
        let record = folder.store().find(&outcome.id).expect("a record");
        assert_eq!(record.code.as_deref(), Some(text));
        assert_eq!(run_facts(&record.facts.about).tenant, text);
        assert!(record.inputs.expect("inputs").contains_key(text));
        let query = Query { tenant: Some(text.into()), ..Query::default() };
        assert_eq!(folder.store().list(&query).expect("a list").len(), 1, "{text:?}");
    }
    assert_eq!(folder.wrong(), []);
}

#[tokio::test]
async fn long_outcomes_are_kept_whole() {
    let folder = Folder::new();
    let recorder = folder.recorder(KeepInputs::Digests);
    let long = "x".repeat(3 << 20);
    let outcome = run(&recorder, &long).await;
    let record = folder.store().find(&outcome.id).expect("a record");
    assert_eq!(record.code.as_deref(), Some(long.as_str()));
    assert_eq!(folder.wrong(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_writers_share_one_chain() {
    let folder = Folder::new();
    let writers = [folder.recorder(KeepInputs::Digests), folder.recorder(KeepInputs::Digests)];
    let mut tasks = tokio::task::JoinSet::new();
    for (which, recorder) in writers.into_iter().map(Arc::new).enumerate() {
        for number in 0..100 {
            let recorder = recorder.clone();
            tasks.spawn(async move { run(&recorder, &format!("{which} {number}")).await.id });
        }
    }
    let ids = tasks.join_all().await;
    let report = folder.store().verify(None).expect("a report");
    assert!(report.is_whole(), "{:?}", report.wrong);
    assert_eq!((ids.len(), report.records), (200, 200));
}

#[tokio::test]
async fn a_store_that_another_process_holds_keeps_nobody_waiting_but_its_run() {
    let folder = recorded(1).await;
    let recorder = Arc::new(folder.recorder(KeepInputs::Digests));
    run(&recorder, "before").await;
    let other = Connection::open(folder.0.join("runs.sqlite")).expect("the file");
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let waiting = {
        let recorder = recorder.clone();
        tokio::spawn(async move { run(&recorder, "meanwhile").await })
    };
    // This runtime has one thread: it comes here only if the run does not hold it.
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished(), "it is answered without a record");
    other.execute_batch("COMMIT").expect("to release it");
    let outcome = waiting.await.expect("an answer");
    assert!(folder.store().find(&outcome.id).is_ok());
    assert_eq!(folder.wrong(), []);
}

#[tokio::test]
async fn a_store_that_cannot_be_written_is_an_error_that_names_it() {
    let folder = recorded(1).await;
    let recorder = folder.recorder(KeepInputs::Digests);
    run(&recorder, "before").await;
    // As a full disk: SQLite itself refuses another page, until there may be more.
    folder.sql(
        "CREATE TRIGGER full BEFORE INSERT ON records BEGIN SELECT RAISE(ABORT, 'no room'); END",
    );
    let error =
        recorder.run_with(Job::new("lost"), RunOptions::default()).await.expect_err("no record");
    let failure = error.failure();
    assert!(failure.message.contains("could not be recorded"), "{failure:?}");
    assert!(failure.causes[0].contains(&folder.0.display().to_string()), "{failure:?}");
    assert!(failure.causes[1].contains("no room") && failure.hint.is_some(), "{failure:?}");
    folder.sql("DROP TRIGGER full");
    run(&recorder, "after").await;
    assert_eq!(folder.store().list(&Query::default()).expect("a list").len(), 3);
    assert_eq!(folder.wrong(), []);
}

#[test]
fn what_is_no_store_is_not_touched() {
    let folder = Folder::new();
    std::fs::create_dir_all(&folder.0).expect("a folder");
    assert!(Store::open(&folder.0).err().expect("no store").to_string().contains("could not open"));
    let open = |folder: &Path| {
        Recorder::open(
            Scripted,
            Some(StoreConfig {
                directory: folder.into(),
                inputs: KeepInputs::Digests,
                artifacts: KeepArtifacts::Digests,
            }),
        )
    };
    let text =
        b"this is somebody's text, and has been for a long time, as far as anybody can tell. "
            .repeat(20);
    std::fs::write(folder.0.join("runs.sqlite"), &text).expect("a file");
    assert!(open(&folder.0).is_err());
    assert_eq!(std::fs::read(folder.0.join("runs.sqlite")).expect("the file"), text);
    std::fs::remove_file(folder.0.join("runs.sqlite")).expect("to remove it");
    folder.sql("CREATE TABLE mine (x)");
    assert!(open(&folder.0).is_err());
    let file = folder.0.join("file");
    std::fs::write(&file, "").expect("a file");
    assert!(open(&file).is_err());
}

#[tokio::test]
async fn only_its_user_can_read_a_store() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let recorder = folder.recorder(KeepInputs::Digests);
    run(&recorder, "x").await;
    let mode = |path: &Path| std::fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(&folder.0), 0o700);
    for name in ["runs.sqlite", "runs.sqlite-wal", "runs.sqlite-shm"] {
        assert_eq!(mode(&folder.0.join(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn without_a_store_nothing_is_recorded_and_runs_are_answered() {
    let recorder = Recorder::open(Scripted, None).expect("no store is no fault");
    assert_eq!(run(&recorder, "x").await.result.expect("a result").get(), "\"x\"");
    recorder.shutdown().await;
}

#[tokio::test]
async fn a_job_without_code_runs_nothing_and_leaves_no_record() {
    let folder = Folder::new();
    let recorder = folder.recorder(KeepInputs::Digests);
    run(&recorder, "").await;
    run(&recorder, " \n").await;
    assert_eq!(folder.store().list(&Query::default()).expect("a list").len(), 0);
}

#[tokio::test]
async fn files_are_known_by_digests_and_their_bytes_are_not_kept() {
    let folder = Folder::new();
    std::fs::create_dir_all(&folder.0).expect("a folder");
    let file = folder.0.join("data.csv");
    std::fs::write(&file, "a,b\n").expect("a file");
    let path = file.display().to_string();
    for (keep, kept) in [(KeepInputs::Digests, 1), (KeepInputs::Bytes, 2)] {
        let recorder = folder.recorder(keep);
        let job = Job::new("pass")
            .with_file("data.csv", FileSource::Path(path.clone()))
            .with_file("note.txt", FileSource::Text("a secret".into()))
            .with_mount("/data", "/srv/data");
        let outcome = recorder.run_with(job, RunOptions::default()).await.expect("an outcome");
        let record = folder.store().find(&outcome.id).expect("a record");
        let files = &run_facts(&record.facts.about).files;
        assert_eq!(files[0].sha256, Some(sha256("a,b\n")));
        assert_eq!((&files[0].path, files[0].bytes), (&Some(path.clone()), Some(4)));
        assert_eq!(files[1].sha256, Some(sha256("a secret")));
        let rest = record.job.expect("a job");
        assert_eq!((rest.files.len(), rest.mounts["/data"].as_str()), (kept, "/srv/data"));
    }
    // What its path leads to meanwhile is not what the run was given.
    let recorder = folder.recorder(KeepInputs::Digests);
    let job = Job::new("swap").with_file("data.csv", FileSource::Path(path.clone()));
    let outcome = recorder.run_with(job, RunOptions::default()).await.expect("an outcome");
    let record = folder.store().find(&outcome.id).expect("a record");
    assert_eq!(run_facts(&record.facts.about).files[0].sha256, Some(sha256("a,b\n")));
    assert_eq!(folder.wrong(), []);
}
