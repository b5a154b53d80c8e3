//! Appending to the chain, all or nothing.
//!
//! Several processes may write into one store. A transaction that is begun as a writer's excludes the others,
//! and reads the head anew.

use rusqlite::{Connection, Statement, params};

use crate::digest::sha256;
use crate::error::Cause;
use crate::record::{About, Bodies, Event, Facts, PruneFacts};

/// The statements that append, prepared once.
pub(crate) struct Ledger<'c> {
    connection: &'c Connection,
    begin: Statement<'c>,
    head: Statement<'c>,
    insert: Statement<'c>,
    advance: Statement<'c>,
    commit: Statement<'c>,
}

impl<'c> Ledger<'c> {
    pub fn new(connection: &'c Connection) -> rusqlite::Result<Ledger<'c>> {
        Ok(Ledger {
            connection,
            begin: connection.prepare("BEGIN IMMEDIATE")?,
            head: connection.prepare("SELECT seq, hash FROM head")?,
            insert: connection.prepare(
                "INSERT INTO records (seq, hash, facts, code, job, outcome, inputs) VALUES (?, ?, ?, ?, ?, ?, ?)",
            )?,
            advance: connection.prepare("UPDATE head SET seq = ?, hash = ?")?,
            commit: connection.prepare("COMMIT")?,
        })
    }

    /// Does work on the chain, and commits it if all of it was done.
    pub fn transaction(
        &mut self,
        work: impl FnOnce(&mut Chain<'_, '_>) -> Result<(), Cause>,
    ) -> Result<(), Cause> {
        self.begin.execute([])?;
        let done = self.work(work);
        if done.is_err() && !self.connection.is_autocommit() {
            // What cannot even be undone is undone by whoever opens the store next.
            self.connection.execute_batch("ROLLBACK").ok();
        }
        done
    }

    fn work(
        &mut self,
        work: impl FnOnce(&mut Chain<'_, '_>) -> Result<(), Cause>,
    ) -> Result<(), Cause> {
        let (seq, hash) = self.head.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut chain = Chain { connection: self.connection, insert: &mut self.insert, seq, hash };
        work(&mut chain)?;
        let Chain { seq, hash, .. } = chain;
        self.advance.execute(params![seq, hash])?;
        self.commit.execute([])?;
        Ok(())
    }
}

/// The end of the chain, inside a transaction.
pub(crate) struct Chain<'a, 'c> {
    pub connection: &'c Connection,
    insert: &'a mut Statement<'c>,
    seq: i64,
    hash: String,
}

impl Chain<'_, '_> {
    /// Appends the record of a run.
    pub fn append(&mut self, bodies: &Bodies) -> Result<(), Cause> {
        let about = About::Run(Box::new(bodies.facts.clone()));
        self.link(Event::Run, &bodies.time, about, Some(bodies))
    }

    /// Appends the record of a removal.
    pub fn note(&mut self, time: &str, removed: PruneFacts) -> Result<(), Cause> {
        self.link(Event::Prune, time, About::Prune(removed), None)
    }

    fn link(
        &mut self,
        event: Event,
        time: &str,
        about: About,
        bodies: Option<&Bodies>,
    ) -> Result<(), Cause> {
        let seq = self.seq + 1;
        let previous = std::mem::take(&mut self.hash);
        let facts = Facts { version: 1, seq, previous, event, time: time.into(), about };
        let text = serde_json::to_string(&facts)?;
        (self.seq, self.hash) = (seq, sha256(&text));
        self.insert.execute(params![
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
