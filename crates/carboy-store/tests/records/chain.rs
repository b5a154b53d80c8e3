//! What is altered, removed or moved in a chain of records is found.

use super::*;

#[tokio::test]
async fn an_untouched_chain_is_whole() {
    let folder = recorded(20).await;
    let report = folder.store().verify(None).expect("a report");
    assert!(report.is_whole(), "{:?}", report.wrong);
    assert_eq!((report.records, report.first, report.head.seq), (20, Some(1), 20));
}

#[tokio::test]
async fn a_hash_is_what_sha256sum_prints_of_the_facts() {
    let folder = recorded(2).await;
    let connection = Connection::open(folder.0.join("runs.sqlite")).expect("the file");
    let (facts, hash): (String, String) = connection
        .query_row("SELECT facts, hash FROM records WHERE seq = 2", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .expect("a record");
    assert_eq!(sha256(facts), hash);
}

/// Five runs whose inputs are kept, so that every column of their records has something.
async fn with_all_columns() -> Folder {
    let folder = Folder::new();
    let recorder = folder.recorder(KeepInputs::Bytes);
    for number in 0..5 {
        let value = RawValue::from_string(format!("[{number}]")).expect("JSON");
        let job = Job::new(format!("code {number}")).with_input("n", value);
        recorder.run_with(job, RunOptions::default()).await.expect("an outcome");
    }
    folder
}

#[tokio::test]
async fn every_alteration_is_found() {
    let whole = with_all_columns().await;
    let noted = whole.store().head().expect("a head");
    let columns = ["facts", "hash", "code", "job", "outcome", "inputs"];
    for (column, seq) in columns.iter().flat_map(|column| [(column, 1), (column, 3), (column, 5)]) {
        let folder = whole.copied();
        // One byte in the middle becomes another.
        folder.sql(&format!(
            "UPDATE records SET {column} = substr({column}, 1, length({column}) / 2)
             || CASE substr({column}, length({column}) / 2 + 1, 1) WHEN '0' THEN '1' ELSE '0' END
             || substr({column}, length({column}) / 2 + 2) WHERE seq = {seq}"
        ));
        for noted in [None, Some(&noted)] {
            let wrong = folder.store().verify(noted).expect("a report").wrong;
            assert!(wrong.iter().any(|wrong| wrong.seq == seq), "{column} of {seq}: {wrong:?}");
        }
        let folder = whole.copied();
        if *column != "facts" && *column != "hash" {
            folder.sql(&format!("UPDATE records SET {column} = NULL WHERE seq = {seq}"));
            let what = format!("its {column} is not what was recorded: it was altered");
            assert_eq!(folder.wrong(), [(seq, what)]);
        }
    }
    for change in ["seq = seq - 1", "seq = seq + 1", "hash = 'f' || substr(hash, 2) || 'f'"] {
        let folder = whole.copied();
        folder.sql(&format!("UPDATE head SET {change}"));
        assert!(!folder.wrong().is_empty(), "{change}");
    }
}

#[tokio::test]
async fn a_cut_end_shows_by_a_head_that_was_noted_elsewhere() {
    let folder = recorded(5).await;
    let noted = folder.store().head().expect("a head");
    // With the note of it in the store: the chain that is left is whole by itself.
    folder.sql(
        "DELETE FROM records WHERE seq = 5;
         UPDATE head SET seq = 4, hash = (SELECT hash FROM records WHERE seq = 4)",
    );
    assert_eq!(folder.wrong(), []);
    let wrong = folder.store().verify(Some(&noted)).expect("a report").wrong;
    assert_eq!((wrong.len(), wrong[0].seq), (1, 5));
}

#[tokio::test]
async fn a_removed_record_is_found_wherever_it_was() {
    for (gone, seen) in [(1, 2), (3, 4), (5, 4)] {
        let folder = recorded(5).await;
        folder.sql(&format!("DELETE FROM records WHERE seq = {gone}"));
        let wrong = folder.wrong();
        assert!(wrong.len() == 1 && wrong[0].0 == seen, "{gone}: {wrong:?}");
    }
    let folder = recorded(3).await;
    folder.sql("DELETE FROM records");
    assert_eq!(folder.wrong().len(), 1);
}

#[tokio::test]
async fn reordered_records_are_found_also_if_their_numbers_are_made_to_fit() {
    let folder = recorded(5).await;
    let swap =
        "UPDATE records SET seq = -2 WHERE seq = 2; UPDATE records SET seq = 2 WHERE seq = 3;
                UPDATE records SET seq = 3 WHERE seq = -2;";
    folder.sql(swap);
    assert!(folder.wrong().iter().any(|(seq, what)| *seq == 2 && what.contains("moved")));
    let folder = recorded(5).await;
    folder.sql(swap);
    // With numbers and hashes that fit, each alone is sound; the chain is not.
    let connection = Connection::open(folder.0.join("runs.sqlite")).expect("the file");
    for seq in [2, 3] {
        let facts: String = connection
            .query_row(
                "SELECT json_set(facts, '$.seq', seq) FROM records WHERE seq = ?",
                [seq],
                |row| row.get(0),
            )
            .expect("a record");
        connection
            .execute(
                "UPDATE records SET facts = ?, hash = ? WHERE seq = ?",
                (&facts, sha256(&facts), seq),
            )
            .expect("an update");
    }
    assert!(folder.wrong().iter().any(|(_, what)| what.contains("chained")));
}

#[tokio::test]
async fn a_chain_written_anew_is_found_by_a_head_that_was_noted_elsewhere() {
    let folder = recorded(5).await;
    let noted = folder.store().head().expect("a head");
    assert!(folder.store().verify(Some(&noted)).expect("a report").is_whole());
    std::fs::remove_dir_all(&folder.0).expect("to remove the store");
    let recorder = folder.recorder(KeepInputs::Digests);
    for number in 0..6 {
        run(&recorder, &format!("other {number}")).await;
    }
    assert_eq!(folder.wrong(), [], "by itself it is a whole chain");
    let report = folder.store().verify(Some(&noted)).expect("a report");
    assert_eq!(report.wrong[0].seq, 5);
    let later = Head { seq: 99, ..noted };
    assert!(!folder.store().verify(Some(&later)).expect("a report").is_whole());
}

#[tokio::test]
async fn retention_keeps_the_chain() {
    let folder = recorded(10).await;
    let noted = folder.store().head().expect("a head");
    let later = SystemTime::now() + Duration::from_secs(10);
    let none =
        Store::prune(&folder.0, Keep { age: Some(Duration::from_secs(3600)), bytes: None }, later);
    assert_eq!(none.expect("nothing to do").records, 0);
    let some =
        Store::prune(&folder.0, Keep { age: None, bytes: Some(12_000) }, later).expect("a removal");
    assert!(some.records > 0 && some.remain > 1, "{some:?}");
    assert_eq!(folder.wrong(), []);
    assert!(folder.store().verify(Some(&noted)).expect("a report").is_whole());
    let recorder = folder.recorder(KeepInputs::Digests);
    run(&recorder, "after").await;
    assert_eq!(folder.wrong(), []);
    let later = later + Duration::from_secs(1);
    let all = Store::prune(&folder.0, Keep { age: Some(Duration::ZERO), bytes: None }, later)
        .expect("a removal");
    assert_eq!(all.remain, 1);
    assert_eq!(folder.wrong(), []);
    // What was removed cannot be compared with anything, so nobody can pass off anything as it.
    assert!(!folder.store().verify(Some(&noted)).expect("a report").is_whole());
    run(&recorder, "at last").await;
    assert_eq!(folder.wrong(), []);
    // The same by hand is not the same.
    folder.sql("DELETE FROM records WHERE event = 'prune'");
    assert_ne!(folder.wrong(), []);
}
