//! Reading a store, and removing what is old from it.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use carboy_protocol::Artifact;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use serde::Serialize;

use crate::error::{Cause, StoreError, While};
use crate::ledger::Ledger;
use crate::record::{PruneFacts, Record};
use crate::schema;
use crate::shelf::Shelf;
use crate::time::iso8601;

/// A store that is read.
pub struct Store {
    pub(crate) directory: PathBuf,
    pub(crate) connection: Connection,
}

/// The end of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Head {
    /// The number of its last record; 0 if there is none yet.
    pub seq: i64,
    /// The hash of that record.
    pub hash: String,
}

/// Which runs are wanted.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// `ok`, `error`, `failed` or `abandoned`.
    pub status: Option<String>,
    /// The kind of the error.
    pub kind: Option<String>,
    /// For whom they were.
    pub tenant: Option<String>,
    /// Not before this time, in the form of records.
    pub since: Option<String>,
    /// Before this time.
    pub until: Option<String>,
    /// In the code or in the outcome.
    pub text: Option<String>,
    /// At most so many, the newest first.
    pub most: Option<u64>,
    /// Only records with these numbers in the chain.
    pub among: Option<Range<i64>>,
}

/// A run in a list.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Which record of the chain it is.
    pub seq: i64,
    /// The run's.
    pub id: String,
    /// When it was asked for.
    pub time: String,
    /// For whom.
    pub tenant: Option<String>,
    /// How it ended.
    pub status: String,
    /// Why it did not end well.
    pub kind: Option<String>,
    /// The type of its error. The guest's own word.
    pub error_type: Option<String>,
    /// The limit that it crossed.
    pub limit_name: Option<String>,
    /// How many things were refused.
    pub denials: i64,
    /// How long it ran.
    pub wall_ms: Option<f64>,
    /// Its memory at its highest.
    pub peak_memory_bytes: Option<i64>,
    /// Of its result.
    pub result_sha256: Option<String>,
    /// The first line of its code that says something, cut. The guest's own word.
    pub begins: String,
}

/// What is to be kept when old records are removed. What is older, or too much, is removed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keep {
    /// Records that are not older.
    pub age: Option<Duration>,
    /// The newest records, up to so many bytes together.
    pub bytes: Option<u64>,
}

/// What was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Removed {
    /// How many records.
    pub records: i64,
    /// How many remain, the one that notes the removal among them.
    pub remain: i64,
    /// How many files were removed whose content no record has any more.
    pub files: u64,
}

const READ: &str = "read";

impl Store {
    /// Opens a store that is there.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Store, StoreError> {
        let directory = directory.into();
        let connection = schema::open(&directory)?;
        Ok(Store { directory, connection })
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The end of its chain. Noted elsewhere, it shows later whether the chain was written anew.
    pub fn head(&self) -> Result<Head, StoreError> {
        let head = self.connection.query_row("SELECT seq, hash FROM head", [], |row| {
            Ok(Head { seq: row.get(0)?, hash: row.get(1)? })
        });
        head.while_doing(READ, &self.directory)
    }

    /// Runs, the newest first.
    pub fn list(&self, query: &Query) -> Result<Vec<Row>, StoreError> {
        let mut sql = String::from(
            "SELECT seq, id, time, tenant, status, kind, error_type, limit_name, denials, wall_ms,
             peak_memory_bytes, result_sha256, substr(code, 1, 400) FROM runs WHERE TRUE",
        );
        let mut values = Vec::new();
        let conditions = [
            ("status = ?", &query.status),
            ("kind = ?", &query.kind),
            ("coalesce(tenant, '') = ?", &query.tenant),
            ("time >= ?", &query.since),
            ("time < ?", &query.until),
        ];
        for (condition, value) in conditions {
            if let Some(value) = value {
                sql.push_str(&format!(" AND {condition}"));
                values.push(Value::Text(value.clone()));
            }
        }
        if let Some(text) = &query.text {
            sql.push_str(" AND (instr(code, ?) > 0 OR instr(coalesce(outcome, ''), ?) > 0)");
            values.extend([Value::Text(text.clone()), Value::Text(text.clone())]);
        }
        if let Some(among) = &query.among {
            sql.push_str(" AND seq >= ? AND seq < ?");
            values.extend([Value::Integer(among.start), Value::Integer(among.end)]);
        }
        sql.push_str(" ORDER BY seq DESC LIMIT ?");
        let most = query.most.and_then(|most| i64::try_from(most).ok()).unwrap_or(-1);
        values.push(Value::Integer(most));
        let rows = || -> rusqlite::Result<Vec<Row>> {
            let mut statement = self.connection.prepare(&sql)?;
            let rows = statement.query_map(params_from_iter(values), |row| {
                let code: Option<String> = row.get(12)?;
                Ok(Row {
                    seq: row.get(0)?,
                    id: row.get(1)?,
                    time: row.get(2)?,
                    tenant: row.get(3)?,
                    status: row.get(4)?,
                    kind: row.get(5)?,
                    error_type: row.get(6)?,
                    limit_name: row.get(7)?,
                    denials: row.get(8)?,
                    wall_ms: row.get(9)?,
                    peak_memory_bytes: row.get(10)?,
                    result_sha256: row.get(11)?,
                    begins: begins(&code.unwrap_or_default()),
                })
            })?;
            rows.collect()
        };
        rows().while_doing(READ, &self.directory)
    }

    /// The run with this id, or the only one whose id begins like this. `last` is the newest.
    pub fn find(&self, id: &str) -> Result<Record, StoreError> {
        let step = "find a run in";
        let found = |what: String| StoreError::found(step, &self.directory, what);
        if id == "last" {
            let last = self.seqs("SELECT seq FROM runs ORDER BY seq DESC LIMIT 1", []);
            let last = last.while_doing(READ, &self.directory)?;
            let seq = last.first().ok_or_else(|| found("nothing is recorded".into()))?;
            return self.record(*seq);
        }
        if id.len() < 4 || id.len() > 32 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let what = format!("{id:?} is not an id: give at least four of its hexadecimal digits");
            return Err(found(what));
        }
        let id = id.to_ascii_lowercase();
        // Every id that begins like this lies before the same with a letter behind the digits.
        let sql = "SELECT seq FROM records WHERE id >= ?1 AND id < ?1 || 'g' LIMIT 2";
        let seqs = self.seqs(sql, [&id]).while_doing(READ, &self.directory)?;
        match seqs.as_slice() {
            [seq] => self.record(*seq),
            [] => Err(found(format!("there is no run {id}"))),
            _ => Err(found(format!("more than one run begins with {id}: give more of its digits"))),
        }
    }

    /// The run with exactly this id, if there is one.
    pub fn run(&self, id: &str) -> Result<Option<Record>, StoreError> {
        let seqs = self.seqs("SELECT seq FROM records WHERE id = ?", [id]);
        let seqs = seqs.while_doing(READ, &self.directory)?;
        seqs.first().map(|seq| self.record(*seq)).transpose()
    }

    fn seqs(&self, sql: &str, values: impl rusqlite::Params) -> rusqlite::Result<Vec<i64>> {
        self.connection.prepare(sql)?.query_map(values, |row| row.get(0))?.collect()
    }

    /// A record by its number in the chain.
    fn record(&self, seq: i64) -> Result<Record, StoreError> {
        type Texts = (String, String, [Option<String>; 4]);
        let texts: Texts = self
            .connection
            .query_row(
                "SELECT facts, hash, code, job, outcome, inputs FROM records WHERE seq = ?",
                [seq],
                |row| {
                    let bodies = [row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?];
                    Ok((row.get(0)?, row.get(1)?, bodies))
                },
            )
            .while_doing(READ, &self.directory)?;
        let (facts, hash, [code, job, outcome, inputs]) = texts;
        let parse = || -> serde_json::Result<Record> {
            Ok(Record {
                facts: serde_json::from_str(&facts)?,
                hash,
                code,
                job: job.as_deref().map(serde_json::from_str).transpose()?,
                outcome: outcome.as_deref().map(serde_json::from_str).transpose()?,
                inputs: inputs.as_deref().map(serde_json::from_str).transpose()?,
            })
        };
        parse().while_doing(READ, &self.directory)
    }

    /// The content of a file that a run left, if it was kept, is as it was, and has at most so many bytes.
    pub fn content(&self, artifact: &Artifact, most: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(digest) = &artifact.sha256 else { return Ok(None) };
        Shelf::of(&self.directory).read(digest, most).while_doing(READ, &self.directory)
    }

    /// Removes the oldest records, as far as they need not be kept, and notes that in the chain.
    pub fn prune(directory: &Path, keep: Keep, now: SystemTime) -> Result<Removed, StoreError> {
        const STEP: &str = "remove old records from";
        schema::open(directory)?;
        let connection = schema::open_or_make(directory)?;
        let shelf = Shelf::of(directory);
        // What is removed is overwritten, not only forgotten.
        connection.execute_batch("PRAGMA secure_delete = ON").while_doing(STEP, directory)?;
        let mut ledger = Ledger::new(connection).while_doing(STEP, directory)?;
        let mut removed = 0;
        ledger
            .transaction(|chain| {
                let through = last_to_remove(chain.connection, keep, now)?;
                let Some((through_seq, through_hash)) = through else { return Ok(()) };
                let gone = chain
                    .connection
                    .execute("DELETE FROM records WHERE seq <= ?", [through_seq])?;
                removed = i64::try_from(gone).unwrap_or(i64::MAX);
                chain.note(&iso8601(now), PruneFacts { through_seq, through_hash, removed })
            })
            .while_doing(STEP, directory)?;
        let connection = ledger.connection();
        let shrink = || -> rusqlite::Result<i64> {
            if removed > 0 {
                let mut free = connection.prepare("PRAGMA incremental_vacuum")?;
                let mut rows = free.query([])?;
                while rows.next()?.is_some() {}
                connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            }
            connection.query_row("SELECT count(*) FROM records", [], |row| row.get(0))
        };
        let remain = shrink().while_doing("shrink", directory)?;
        // Not before: runs that leave files wait for this, and what came before may take long. Whoever has content
        // that is not recorded yet holds it until it is, so the records that are read now name all that is wanted.
        let files = match shelf.alone().while_doing(STEP, directory)? {
            None => 0,
            Some(_) => {
                let wanted = kept_files(connection).while_doing(STEP, directory)?;
                shelf.keep_only(&wanted).while_doing(STEP, directory)?
            }
        };
        Ok(Removed { records: removed, remain, files })
    }
}

/// The digests of all files whose content is kept for a record.
fn kept_files(connection: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    let mut all = connection.prepare(
        "SELECT json_extract(value, '$.sha256') FROM records, json_each(facts, '$.artifacts')
         WHERE json_extract(facts, '$.artifacts_kept') AND json_extract(value, '$.sha256') NOT NULL",
    )?;
    all.query_map([], |row| row.get(0))?.collect()
}

/// The newest of the records that go, with its hash.
fn last_to_remove(
    connection: &Connection,
    keep: Keep,
    now: SystemTime,
) -> Result<Option<(i64, String)>, Cause> {
    let mut through: Option<i64> = None;
    if let Some(age) = keep.age {
        let cutoff = iso8601(now.checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH));
        // Only the old end goes: what a younger record follows stays, whatever its clock said.
        through = connection.query_row(
            "SELECT coalesce((SELECT min(seq) FROM records WHERE time >= ?1) - 1, (SELECT max(seq) FROM records))",
            [cutoff],
            |row| row.get(0),
        )?;
    }
    if let Some(bytes) = keep.bytes {
        let mut newest = connection.prepare(
            "SELECT seq, octet_length(facts) + 64 + coalesce(octet_length(code), 0)
             + coalesce(octet_length(job), 0) + coalesce(octet_length(outcome), 0)
             + coalesce(octet_length(inputs), 0)
             + CASE WHEN json_extract(facts, '$.artifacts_kept') THEN
                   (SELECT sum(json_extract(value, '$.bytes')) FROM json_each(facts, '$.artifacts'))
               ELSE 0 END FROM records ORDER BY seq DESC",
        )?;
        let mut rows = newest.query([])?;
        let mut total = 0;
        while let Some(row) = rows.next()? {
            total += row.get::<_, i64>(1)?.unsigned_abs();
            if total > bytes {
                through = through.max(Some(row.get(0)?));
                break;
            }
        }
    }
    let Some(through) = through else { return Ok(None) };
    let found = connection
        .query_row(
            "SELECT seq, hash FROM records WHERE seq <= ? ORDER BY seq DESC LIMIT 1",
            params![through],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    Ok(found)
}

/// The first line of code that says something.
fn begins(code: &str) -> String {
    let said = code.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    said.unwrap_or_default().chars().take(80).collect()
}
