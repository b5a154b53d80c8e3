//! The tables of a store, which users query too: docs/records.md describes them.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::error::{StoreError, While};

/// Marks the file as ours: `CRBY`.
const APPLICATION: i32 = 0x4352_4259;
/// Of the tables.
const VERSION: i32 = 1;
/// How long another process may hold the store.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// What people filter by is made from `facts`, so that it cannot disagree with what is hashed: by the view, since
/// SQLite computes every generated column of a table whenever a row is inserted.
const TABLES: &str = "
CREATE TABLE records (
    seq    INTEGER PRIMARY KEY,
    hash   TEXT NOT NULL,
    facts  TEXT NOT NULL,
    event  TEXT GENERATED ALWAYS AS (json_extract(facts, '$.event')) VIRTUAL,
    id     TEXT GENERATED ALWAYS AS (json_extract(facts, '$.id')) VIRTUAL,
    time   TEXT GENERATED ALWAYS AS (json_extract(facts, '$.time')) VIRTUAL,
    code    TEXT,
    job     TEXT,
    outcome TEXT,
    inputs  TEXT
) STRICT;
CREATE UNIQUE INDEX records_id ON records (id);
CREATE INDEX records_time ON records (time);
CREATE VIEW runs AS SELECT seq, hash, facts, event, id, time,
    json_extract(facts, '$.tenant') AS tenant,
    json_extract(facts, '$.status') AS status,
    json_extract(facts, '$.kind') AS kind,
    json_extract(facts, '$.error_type') AS error_type,
    json_extract(facts, '$.limit_name') AS limit_name,
    json_extract(facts, '$.walls') AS walls,
    json_extract(facts, '$.denials') AS denials,
    json_extract(facts, '$.usage.queue_ms') AS queue_ms,
    json_extract(facts, '$.usage.wall_ms') AS wall_ms,
    json_extract(facts, '$.usage.cpu_ms') AS cpu_ms,
    json_extract(facts, '$.usage.peak_memory_bytes') AS peak_memory_bytes,
    json_extract(facts, '$.code_sha256') AS code_sha256,
    json_extract(facts, '$.plan_sha256') AS plan_sha256,
    json_extract(facts, '$.result_sha256') AS result_sha256,
    json_extract(facts, '$.versions.carboy') AS carboy,
    json_extract(facts, '$.versions.kernel') AS kernel,
    json_extract(facts, '$.versions.python') AS python,
    code, job, outcome, inputs FROM records WHERE event = 'run';
CREATE TABLE head (
    one  INTEGER PRIMARY KEY CHECK (one = 1),
    seq  INTEGER NOT NULL,
    hash TEXT NOT NULL
) STRICT;
";

/// The hash that stands before the first record.
pub(crate) const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The file of a store.
pub(crate) fn file(store: &Path) -> PathBuf {
    store.join("runs.sqlite")
}

/// Opens a store to write, and makes it if there is none. Only this user can read it: it holds code and what
/// code printed.
pub(crate) fn open_or_make(store: &Path) -> Result<Connection, StoreError> {
    const STEP: &str = "open";
    let made = DirBuilder::new().recursive(true).mode(0o700).create(store);
    made.while_doing("make", store)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600);
    options.open(file(store)).while_doing(STEP, store)?;
    let connection = Connection::open_with_flags(
        file(store),
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .while_doing(STEP, store)?;
    connection.busy_timeout(PATIENCE).while_doing(STEP, store)?;
    prepare(&connection, store)?;
    Ok(connection)
}

/// Opens a store to read.
pub(crate) fn open(store: &Path) -> Result<Connection, StoreError> {
    const STEP: &str = "open";
    if store.is_file() {
        let what = "that is a file, and a store is a directory with a file runs.sqlite in it";
        return Err(StoreError::found(STEP, store, what));
    }
    if !file(store).exists() {
        let what = format!("there is no {}", file(store).display());
        return Err(StoreError::found(STEP, store, what));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file(store), flags).while_doing(STEP, store)?;
    connection.busy_timeout(PATIENCE).while_doing(STEP, store)?;
    match kind(&connection, store)? {
        Kind::Ours => Ok(connection),
        Kind::Empty => Err(StoreError::found(STEP, store, "nothing was ever recorded in it")),
    }
}

enum Kind {
    Empty,
    Ours,
}

fn kind(connection: &Connection, store: &Path) -> Result<Kind, StoreError> {
    const STEP: &str = "read";
    let number = |pragma: &str| -> rusqlite::Result<i32> {
        connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))
    };
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .while_doing(STEP, store)?;
    let application = number("application_id").while_doing(STEP, store)?;
    let version = number("user_version").while_doing(STEP, store)?;
    match (application, version) {
        (0, 0) if tables == 0 => Ok(Kind::Empty),
        (APPLICATION, VERSION) => Ok(Kind::Ours),
        (APPLICATION, other) => {
            let what = format!("its tables have version {other}, this carboy knows {VERSION}");
            Err(StoreError::found(STEP, store, what))
        }
        _ => {
            let what = format!("{} was not made by carboy", file(store).display());
            Err(StoreError::found(STEP, store, what))
        }
    }
}

/// Makes the tables, if there are none, and sets how commits are kept.
fn prepare(connection: &Connection, store: &Path) -> Result<(), StoreError> {
    const STEP: &str = "prepare";
    if let Kind::Empty = kind(connection, store)? {
        // Before the first page is written: so that a file shrinks when records are removed.
        connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL").while_doing(STEP, store)?;
        connection
            .query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))
            .while_doing(STEP, store)?;
        connection.execute_batch("BEGIN IMMEDIATE").while_doing(STEP, store)?;
        // Another process may have been first.
        let made = match kind(connection, store)? {
            Kind::Ours => connection.execute_batch("COMMIT"),
            Kind::Empty => connection.execute_batch(&format!(
                "{TABLES}INSERT INTO head VALUES (1, 0, '{GENESIS}');
                 PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT"
            )),
        };
        made.while_doing(STEP, store)?;
    }
    let mode: String = connection
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .while_doing(STEP, store)?;
    if mode != "wal" {
        let what = format!("its file system cannot share memory between processes (mode {mode})");
        return Err(StoreError::found(STEP, store, what));
    }
    // A committed record outlives this process. It is not flushed to the disk: docs/decisions/0025.
    connection
        .execute_batch("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0")
        .while_doing(STEP, store)
}
