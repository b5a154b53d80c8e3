//! Whether a chain is whole: every record as it was written, none missing, none moved.

use rusqlite::Row;
use serde::Serialize;

use crate::digest::sha256;
use crate::error::{Cause, StoreError, While};
use crate::record::{About, Facts, RunFacts};
use crate::schema::GENESIS;
use crate::shelf::{Kept, Shelf};
use crate::store::{Head, Store};

/// How many faults are told.
const MOST: usize = 100;

/// What is wrong with a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wrong {
    /// The record at which it shows.
    pub seq: i64,
    /// What shows.
    pub what: String,
}

/// What came of reading a whole chain.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// How many records it has.
    pub records: u64,
    /// The first of them; not 1 if older ones were removed.
    pub first: Option<i64>,
    /// Its end, as it is noted in the store.
    pub head: Head,
    /// What is wrong, the first hundred.
    pub wrong: Vec<Wrong>,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_whole(&self) -> bool {
        self.wrong.is_empty()
    }
}

impl Store {
    /// Reads the whole chain. `noted` is a head that was noted elsewhere, which the chain must contain, or have
    /// had before older records were removed.
    pub fn verify(&self, noted: Option<&Head>) -> Result<Report, StoreError> {
        self.read_chain(noted).while_doing("verify", &self.directory)
    }

    fn read_chain(&self, noted: Option<&Head>) -> Result<Report, Cause> {
        // One snapshot, whatever is written meanwhile.
        let snapshot = self.connection.unchecked_transaction()?;
        let head = snapshot.query_row("SELECT seq, hash FROM head", [], |row| {
            Ok(Head { seq: row.get(0)?, hash: row.get(1)? })
        })?;
        let mut walk = Walk::new(noted, Shelf::of(&self.directory));
        let mut all = snapshot.prepare(
            "SELECT seq, hash, facts, code, job, outcome, inputs FROM records ORDER BY seq",
        )?;
        let mut rows = all.query([])?;
        while let Some(row) = rows.next()? {
            walk.take(row)?;
        }
        walk.end(&head);
        let Walk { records, first, mut wrong, .. } = walk;
        wrong.truncate(MOST);
        Ok(Report { records, first: first.map(|(seq, _)| seq), head, wrong })
    }
}

struct Walk<'a> {
    shelf: Shelf,
    noted: Option<&'a Head>,
    seen_noted: bool,
    records: u64,
    /// The first record, and what it says stands before it.
    first: Option<(i64, String)>,
    last: Option<Head>,
    /// The last removal that the chain notes: through which record.
    pruned: Option<Head>,
    wrong: Vec<Wrong>,
}

impl<'a> Walk<'a> {
    fn new(noted: Option<&'a Head>, shelf: Shelf) -> Walk<'a> {
        let (seen_noted, records, first, last, pruned) = (false, 0, None, None, None);
        Walk { shelf, noted, seen_noted, records, first, last, pruned, wrong: vec![] }
    }

    fn fault(&mut self, seq: i64, what: impl Into<String>) {
        // One more than is told, so that reading on costs no memory.
        if self.wrong.len() <= MOST {
            self.wrong.push(Wrong { seq, what: what.into() });
        }
    }

    fn take(&mut self, row: &Row<'_>) -> Result<(), Cause> {
        self.records += 1;
        let text = |at: usize| -> rusqlite::Result<Option<Vec<u8>>> {
            // Bytes that are no text are a fault of the record, not of reading it.
            Ok(match row.get_ref(at)? {
                rusqlite::types::ValueRef::Text(bytes) | rusqlite::types::ValueRef::Blob(bytes) => {
                    Some(bytes.to_vec())
                }
                _ => None,
            })
        };
        let seq: i64 = row.get(0)?;
        let hash = String::from_utf8_lossy(&text(1)?.unwrap_or_default()).into_owned();
        let facts = text(2)?.unwrap_or_default();
        let now = Head { seq, hash };
        if sha256(&facts) != now.hash {
            self.fault(seq, "its facts are not those that were hashed: it was altered");
        }
        match serde_json::from_slice::<Facts>(&facts) {
            Ok(facts) => {
                self.chained(&now, &facts);
                let bodies = [text(3)?, text(4)?, text(5)?, text(6)?];
                self.bodies(seq, &facts, &bodies);
                if let About::Run(run) = &facts.about {
                    self.files(seq, run);
                }
            }
            Err(error) => self.fault(seq, format!("its facts cannot be read: {error}")),
        }
        if let Some(noted) = self.noted
            && noted.seq == seq
        {
            self.seen_noted = true;
            if noted.hash != now.hash {
                self.fault(seq, "it is not the record whose hash was noted elsewhere");
            }
        }
        self.last = Some(now);
        Ok(())
    }

    fn chained(&mut self, now: &Head, facts: &Facts) {
        if facts.seq != now.seq {
            self.fault(now.seq, format!("it was written as record {}: it was moved", facts.seq));
        }
        match self.last.take() {
            None => self.first = Some((now.seq, facts.previous.clone())),
            Some(last) if last.seq + 1 != now.seq => {
                let (from, to) = (last.seq + 1, now.seq - 1);
                self.fault(now.seq, format!("records {from} to {to} before it are missing"));
            }
            Some(last) if last.hash != facts.previous => {
                self.fault(now.seq, "the record before it is not the one that it was chained to");
            }
            Some(_) => {}
        }
        if let About::Prune(prune) = &facts.about {
            self.pruned = Some(Head { seq: prune.through_seq, hash: prune.through_hash.clone() });
        }
    }

    fn bodies(&mut self, seq: i64, facts: &Facts, bodies: &[Option<Vec<u8>>; 4]) {
        let wanted = match &facts.about {
            About::Run(run) => [
                Some(&run.code_sha256),
                Some(&run.job_sha256),
                run.outcome_sha256.as_ref(),
                run.inputs_sha256.as_ref(),
            ],
            About::Prune(_) => [None; 4],
        };
        for ((name, body), wanted) in
            ["code", "job", "outcome", "inputs"].iter().zip(bodies).zip(wanted)
        {
            if body.as_ref().map(sha256).as_ref() != wanted {
                self.fault(seq, format!("its {name} is not what was recorded: it was altered"));
            }
        }
    }

    /// The content of files that was kept beside the record.
    fn files(&mut self, seq: i64, run: &RunFacts) {
        for file in run.artifacts.iter().filter(|_| run.artifacts_kept) {
            let Some(digest) = &file.sha256 else { continue };
            let what = match self.shelf.check(digest) {
                Ok(Kept::Whole) => continue,
                Ok(Kept::Missing) => "is missing".into(),
                Ok(Kept::Altered) => "is not what was recorded: it was altered".into(),
                // A fault of this record: the others are read all the same.
                Err(error) => format!("cannot be read: {error}"),
            };
            self.fault(seq, format!("the content of its file {:?} {what}", file.path));
        }
    }

    /// What only shows at the end: where the chain begins and ends.
    fn end(&mut self, head: &Head) {
        let begin = match (&self.first, &self.pruned) {
            (None, _) => None,
            (Some((1, previous)), _) => (previous != GENESIS)
                .then_some((1, "it is chained to something before it".to_owned())),
            (Some((seq, previous)), Some(pruned))
                if pruned.seq + 1 == *seq && pruned.hash == *previous =>
            {
                None
            }
            (Some((seq, _)), _) => Some((
                *seq,
                format!(
                    "the {} records before it are missing, and no removal of them is recorded",
                    seq - 1
                ),
            )),
        };
        if let Some((seq, what)) = begin {
            self.fault(seq, what);
        }
        let (seq, hash) =
            self.last.as_ref().map_or((0, GENESIS), |last| (last.seq, last.hash.as_str()));
        if seq < head.seq {
            let what = format!("the chain goes on to record {}: the last were removed", head.seq);
            self.fault(seq, what);
        } else if seq != head.seq || hash != head.hash {
            self.fault(seq, "it is not the end of the chain that was noted in the store");
        }
        if let Some(noted) = self.noted
            && !self.seen_noted
        {
            match &self.pruned {
                _ if noted.seq <= 0 => {}
                Some(pruned) if pruned.seq == noted.seq && pruned.hash == noted.hash => {}
                Some(pruned) if noted.seq < pruned.seq => self.fault(
                    noted.seq,
                    "it was noted elsewhere and has been removed, so nothing can be compared with it: note the \
                     head anew after each removal",
                ),
                _ => self.fault(noted.seq, "it was noted elsewhere, and the chain does not have it"),
            }
        }
    }
}
