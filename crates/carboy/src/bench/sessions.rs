//! What sessions cost: a run that changes one variable, and branches and rollbacks with much live data, each beside
//! a bare fork of a process with the same.

use std::time::Instant;

use carboy_engine::{Engine, Session};
use carboy_protocol::{Limits, Policy, SessionFiles};
use serde_json::{Value, json};

use super::{Bench, PACE, Samples, machine, succeeded};
use crate::failure::Failure;

const BARE_FORK: &str = include_str!("fork.py");
/// How much live data there is, in MiB.
const SIZES: [u64; 3] = [10, 100, 500];
/// How much there is in files that roll back, in MiB, and in how many files.
const FILE_SIZES: [u64; 3] = [0, 10, 100];
const FILES: u64 = 100;
/// How many branches stand at once when their memory is measured.
const TOGETHER: usize = 10;

/// What holds the most data, with room for a copy of all of it while it is made.
fn policy() -> Policy {
    let limits = Limits {
        memory_bytes: 1 << 30,
        session_memory_bytes: 1 << 30,
        heads: 16,
        ..Limits::default()
    };
    Policy { limits, ..Policy::default() }
}

/// A session whose code holds so much.
async fn holding(engine: &Engine, megabytes: u64) -> Result<Session, Failure> {
    let session = engine.session(&policy()).await?;
    run(&session, &format!("x = 0\ndata = bytearray(b'x') * ({megabytes} << 20)")).await?;
    Ok(session)
}

async fn run(session: &Session, code: &str) -> Result<(), Failure> {
    succeeded(session.run(code).await?.outcome.status)
}

/// Waits until the last run has been copied, which is done after it is answered.
async fn settled(session: &Session) -> Result<(), Failure> {
    session.checkpoints().await?;
    Ok(())
}

fn since(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1e3
}

impl Bench {
    /// All of it, as a report of its own.
    pub async fn sessions(&mut self) -> Result<Value, Failure> {
        let engine = self.engine(&[], 0)?;
        let mut report = json!({ "machine": machine(&self.python) });
        let (paced, burst) = self.session_runs(&engine).await?;
        (report["run"], report["run_burst"]) = (paced, burst);
        for megabytes in SIZES {
            let name = megabytes.to_string();
            let asked = json!({ "megabytes": megabytes, "runs": self.size.paced / 10 });
            let (bare, _) = self.ask("time a bare fork", BARE_FORK, &asked.to_string())?;
            self.keep(&format!("bare_fork.{name}"), &bare);
            report["bare_fork"][&name] = bare.summary();
            let session = holding(&engine, megabytes).await?;
            for (what, samples) in [
                ("branch", self.branches(&session).await?),
                ("rollback", self.rollbacks(&session).await?),
            ] {
                self.keep(&format!("{what}.{name}"), &samples);
                let mut value = samples.summary();
                value["over_bare_fork"] = json!(samples.quantile(0.5) / bare.quantile(0.5));
                report[what][&name] = value;
            }
            session.close().await;
            report["ten_branches"][&name] = together(&engine, megabytes).await?;
        }
        for megabytes in FILE_SIZES {
            let name = megabytes.to_string();
            for (what, files) in
                [("shared", SessionFiles::Shared), ("rollback", SessionFiles::Rollback)]
            {
                let (run, back) = self.with_files(&engine, megabytes, files).await?;
                self.keep(&format!("files.{what}.run_burst.{name}"), &run);
                self.keep(&format!("files.{what}.rollback.{name}"), &back);
                report["files"][what]["run_burst"][&name] = run.summary();
                report["files"][what]["rollback"][&name] = back.summary();
            }
        }
        engine.shutdown().await;
        Ok(report)
    }

    /// `x += 1`: paced so that each run has been copied before the next, and as fast as answers come.
    async fn session_runs(&mut self, engine: &Engine) -> Result<(Value, Value), Failure> {
        let session = holding(engine, 0).await?;
        let (mut paced, mut burst) = (vec![], vec![]);
        for _ in 0..self.size.paced {
            settled(&session).await?;
            tokio::time::sleep(PACE).await;
            let started = Instant::now();
            run(&session, "x += 1").await?;
            paced.push(since(started));
        }
        for _ in 0..self.size.paced {
            let started = Instant::now();
            run(&session, "x += 1").await?;
            burst.push(since(started));
        }
        session.close().await;
        let (paced, burst) = (Samples::new(paced), Samples::new(burst));
        self.keep("session.run", &paced);
        self.keep("session.run_burst", &burst);
        Ok((paced.summary(), burst.summary()))
    }

    /// Runs that follow each other, and rollbacks until the session can run again, with so much in files: what it
    /// takes to keep them and to put them back shows there.
    async fn with_files(
        &self,
        engine: &Engine,
        megabytes: u64,
        session_files: SessionFiles,
    ) -> Result<(Samples, Samples), Failure> {
        let limits = Limits { file_bytes: 128 << 20, ..policy().limits };
        let policy = Policy { limits, session_files, ..Policy::default() };
        let session = engine.session(&policy).await?;
        let each = (megabytes << 20) / FILES;
        run(
            &session,
            &format!(
                "x = 0\nfor n in range({FILES}):\n    open(str(n), 'wb').write(bytes({each}))"
            ),
        )
        .await?;
        session.checkpoint("here").await?;
        let (mut runs, mut rollbacks) = (vec![], vec![]);
        for _ in 0..self.size.paced / 10 {
            let started = Instant::now();
            run(&session, "x += 1").await?;
            runs.push(since(started));
        }
        for _ in 0..self.size.paced / 10 {
            run(&session, "open('0', 'ab').write(b'more')").await?;
            settled(&session).await?;
            let started = Instant::now();
            session.rollback("here").await?;
            settled(&session).await?;
            rollbacks.push(since(started));
        }
        session.close().await;
        Ok((Samples::new(runs), Samples::new(rollbacks)))
    }

    async fn branches(&self, session: &Session) -> Result<Samples, Failure> {
        let mut samples = vec![];
        for _ in 0..self.size.paced / 10 {
            settled(session).await?;
            tokio::time::sleep(PACE).await;
            let started = Instant::now();
            let branch = session.branch().await?;
            samples.push(since(started));
            branch.close().await;
        }
        Ok(Samples::new(samples))
    }

    async fn rollbacks(&self, session: &Session) -> Result<Samples, Failure> {
        session.checkpoint("here").await?;
        let mut samples = vec![];
        for _ in 0..self.size.paced / 10 {
            settled(session).await?;
            tokio::time::sleep(PACE).await;
            let started = Instant::now();
            session.rollback("here").await?;
            samples.push(since(started));
        }
        session.drop_checkpoint("here").await?;
        Ok(Samples::new(samples))
    }
}

/// What ten branches that write nothing add to the memory of a session: what is their own, with page tables.
/// Without the number if this user may not read them. In a session of its own: what ended a moment ago may still
/// share pages.
async fn together(engine: &Engine, megabytes: u64) -> Result<Value, Failure> {
    let session = holding(engine, megabytes).await?;
    settled(&session).await?;
    let before = memory(session.process());
    let mut branches = vec![];
    for _ in 0..TOGETHER {
        let branch = session.branch().await?;
        settled(&branch).await?;
        branches.push(branch);
    }
    let after = memory(session.process());
    session.close().await;
    let added = before.zip(after).map(|(before, after)| after.saturating_sub(before));
    Ok(json!({ "added_bytes": added }))
}

/// The memory of a process and all below it, in bytes: what several share counts once.
fn memory(process: u32) -> Option<u64> {
    let line = |file: &str, name: &str| {
        let text = std::fs::read_to_string(format!("/proc/{process}/{file}")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let own = line("smaps_rollup", "Pss:")? + line("status", "VmPTE:")?;
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    let children = children.ok()?;
    let below = children.split_whitespace().filter_map(|child| memory(child.parse().ok()?));
    Some(own * 1024 + below.sum::<u64>())
}
