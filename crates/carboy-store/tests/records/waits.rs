//! Who waits for whom: whoever removes files for what is not recorded yet, and nobody for that.

use std::fs::File;
use std::time::Instant;

use rustix::fs::{FlockOperation, flock};

use super::*;

#[tokio::test]
async fn content_stays_while_its_record_waits_and_its_caller_is_gone() {
    let folder = Folder::new();
    let recorder = Arc::new(folder.keeping_files());
    run(&recorder, "before").await;
    let other = Connection::open(folder.0.join("runs.sqlite")).expect("the file");
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let waiting = {
        let recorder = recorder.clone();
        tokio::spawn(async move { run(&recorder, "leave this").await })
    };
    tokio::task::yield_now().await;
    waiting.abort();
    assert!(waiting.await.expect_err("an abort").is_cancelled());
    let shelf = File::open(folder.0.join("artifacts")).expect("a folder");
    let alone = || flock(&shelf, FlockOperation::NonBlockingLockExclusive);
    assert!(alone().is_err(), "its content could be removed before it is recorded");
    other.execute_batch("COMMIT").expect("to release it");
    recorder.shutdown().await;
    alone().expect("nothing waits to be recorded");
    let record = folder.store().find("last").expect("a record");
    assert_eq!(run_facts(&record.facts.about).artifacts.len(), 1);
    assert_eq!(folder.wrong(), []);
}

#[tokio::test]
async fn records_are_removed_while_content_is_not_recorded_and_files_after() {
    let folder = Folder::new();
    run(&folder.keeping_files(), "leave this").await;
    let shelf = File::open(folder.0.join("artifacts")).expect("a folder");
    flock(&shelf, FlockOperation::LockShared).expect("what a run holds");
    let removing = std::thread::spawn({
        let directory = folder.0.clone();
        let later = SystemTime::now() + Duration::from_secs(10);
        move || Store::prune(&directory, Keep { age: Some(Duration::ZERO), bytes: None }, later)
    });
    let begun = Instant::now();
    while !folder.store().list(&Query::default()).expect("a list").is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "records wait for files");
        std::thread::yield_now();
    }
    let digest = sha256("this");
    let file = folder.0.join("artifacts/sha256").join(&digest[..2]).join(&digest[2..]);
    assert!(file.exists(), "it is removed while somebody has it");
    drop(shelf);
    let removed = removing.join().expect("no panic").expect("a removal");
    assert!(removed.files == 1 && !file.exists(), "{removed:?}");
}
