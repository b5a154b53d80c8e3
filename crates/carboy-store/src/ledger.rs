//! Appending to the chain, all or nothing.
//!
//! Several processes may write into one store. A transaction that is begun as a writer's excludes the others,
//! and reads the head anew.

use std::time::Duration;

use rusqlite::{Connection, params};

use crate::checkpoints::Log;
use crate::digest::sha256;
use crate::draft::Bodies;
use crate::error::Cause;
use crate::record::{About, Event, FactsToWrite, PruneFacts};
use crate::schema::PATIENCE;

/// The statements that append. Each is prepared once.
const BEGIN: &str = "BEGIN IMMEDIATE";
const HEAD: &str = "SELECT seq, hash FROM head";
const INSERT: &str = "INSERT INTO records (seq, hash, facts, code, job, outcome, inputs) VALUES (?, ?, ?, ?, ?, ?, ?)";
const ADVANCE: &str = "UPDATE head SET seq = ?, hash = ?";
const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";

/// A store that is appended to.
pub(crate) struct Ledger(Connection);

impl Ledger {
    pub fn new(connection: Connection) -> rusqlite::Result<Ledger> {
        for statement in [BEGIN, HEAD, INSERT, ADVANCE, COMMIT, ROLLBACK] {
            connection.prepare_cached(statement)?;
        }
        Ok(Ledger(connection))
    }

    pub fn connection(&self) -> &Connection {
        &self.0
    }

    /// Does work on the chain, and commits it if all of it was done. Waits for other processes.
    pub fn transaction(
        &mut self,
        work: impl FnOnce(&mut Chain<'_>) -> Result<(), Cause>,
    ) -> Result<(), Cause> {
        self.0.prepare_cached(BEGIN)?.execute([])?;
        self.finish(work)
    }

    /// The same, if it waits neither for another process nor for the disk; if it would, nothing is done.
    pub fn transaction_now(
        &mut self,
        log: &Log,
        work: impl FnOnce(&mut Chain<'_>) -> Result<(), Cause>,
    ) -> Result<Option<()>, Cause> {
        self.0.busy_timeout(Duration::ZERO)?;
        let begun = self.0.prepare_cached(BEGIN)?.execute([]).map_err(Cause::from);
        self.0.busy_timeout(PATIENCE)?;
        match begun {
            Err(cause) if cause.is_busy() => return Ok(None),
            begun => begun?,
        };
        if !log.is_appended_to() {
            self.0.prepare_cached(ROLLBACK)?.execute([])?;
            return Ok(None);
        }
        self.finish(work).map(Some)
    }

    fn finish(
        &mut self,
        work: impl FnOnce(&mut Chain<'_>) -> Result<(), Cause>,
    ) -> Result<(), Cause> {
        let done = self.work(work);
        if done.is_err() && !self.0.is_autocommit() {
            // What cannot even be undone is undone by whoever opens the store next.
            self.0.execute_batch(ROLLBACK).ok();
        }
        done
    }

    fn work(
        &mut self,
        work: impl FnOnce(&mut Chain<'_>) -> Result<(), Cause>,
    ) -> Result<(), Cause> {
        let head = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let (seq, hash) = self.0.prepare_cached(HEAD)?.query_row([], head)?;
        let mut chain = Chain { connection: &self.0, seq, hash };
        work(&mut chain)?;
        let Chain { seq, hash, .. } = chain;
        self.0.prepare_cached(ADVANCE)?.execute(params![seq, hash])?;
        self.0.prepare_cached(COMMIT)?.execute([])?;
        Ok(())
    }
}

/// The end of the chain, inside a transaction.
pub(crate) struct Chain<'a> {
    pub connection: &'a Connection,
    seq: i64,
    hash: String,
}

impl Chain<'_> {
    /// Appends the record of a run.
    pub fn append(&mut self, bodies: &Bodies) -> Result<(), Cause> {
        self.link(Event::Run, &bodies.time, &bodies.about, Some(bodies))
    }

    /// Appends the record of a removal.
    pub fn note(&mut self, time: &str, removed: PruneFacts) -> Result<(), Cause> {
        self.link(Event::Prune, time, &About::Prune(removed), None)
    }

    fn link(
        &mut self,
        event: Event,
        time: &str,
        about: &About,
        bodies: Option<&Bodies>,
    ) -> Result<(), Cause> {
        let seq = self.seq + 1;
        let facts = FactsToWrite { version: 1, seq, previous: &self.hash, event, time, about };
        let text = serde_json::to_string(&facts)?;
        (self.seq, self.hash) = (seq, sha256(&text));
        self.connection.prepare_cached(INSERT)?.execute(params![
            seq,
            self.hash,
            text,
            bodies.map(|bodies| &bodies.code),
            bodies.map(|bodies| &bodies.job),
            bodies.and_then(|bodies| bodies.outcome.as_ref()),
            bodies.and_then(|bodies| bodies.inputs.as_ref()),
        ])?;
        Ok(())
    }
}
