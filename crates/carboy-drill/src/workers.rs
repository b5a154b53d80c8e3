//! Rows spread over processes, each with an engine of its own.
//!
//! What a row leaves behind is counted for a whole process, so one process attacks one row at a
//! time. Most rows wait (for a deadline, for a clock), and several processes wait as well as one.
//! A worker reads the id of a row from each line of its standard input, attacks, and writes what
//! came of it to a line of its standard output, until there are no more lines.

use std::collections::VecDeque;
use std::io;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinSet;

use crate::{Drill, Mode, Report, Row};

/// What a worker says of one row.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Said {
    /// What came of it.
    Report(Box<Report>),
    /// The engine itself failed, in words.
    Failed(String),
}

/// Attacks the rows that standard input names, until it ends.
pub async fn work(drill: &Drill, rows: &[Row]) -> io::Result<()> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut output = tokio::io::stdout();
    while let Some(id) = lines.next_line().await? {
        let said = match rows.iter().find(|row| row.id == id) {
            None => Said::Failed(format!("there is no row {id}")),
            Some(row) => match drill.run(row).await {
                Ok(report) => Said::Report(Box::new(report)),
                Err(error) => Said::Failed(format!("{id}: {error}")),
            },
        };
        let mut line = serde_json::to_vec(&said)?;
        line.push(b'\n');
        output.write_all(&line).await?;
        output.flush().await?;
    }
    Ok(())
}

/// Attacks the rows in so many processes, each started by `command`. Rows that measure how long things
/// take come last, in one process, so that no other row is under way. `came` hears of each report when
/// it is there; the result has them in the order of the rows.
pub async fn spread(
    command: impl Fn() -> Command,
    rows: &[&Row],
    jobs: usize,
    mut came: impl FnMut(&Report),
) -> io::Result<Vec<Report>> {
    let places = rows.iter().enumerate();
    let (alone, others): (VecDeque<_>, VecDeque<_>) = places
        .map(|(place, row)| (place, row.id.clone()))
        .partition(|(place, _)| rows[*place].mode == Mode::Beside);
    let mut results = Vec::new();
    for (rows, jobs) in [(others, jobs), (alone, 1)] {
        results.extend(stage(&command, rows, jobs, &mut came).await?);
    }
    results.sort_by_key(|(place, _)| *place);
    Ok(results.into_iter().map(|(_, report)| report).collect())
}

/// Attacks rows, each with its place, in so many processes until there are none left.
async fn stage(
    command: impl Fn() -> Command,
    waiting: VecDeque<(usize, String)>,
    jobs: usize,
    mut came: impl FnMut(&Report),
) -> io::Result<Vec<(usize, Report)>> {
    let jobs = jobs.min(waiting.len());
    let waiting = std::sync::Arc::new(Mutex::new(waiting));
    let (reports, mut arriving) = tokio::sync::mpsc::unbounded_channel();
    let mut workers = JoinSet::new();
    for _ in 0..jobs {
        let mut worker = Worker::start(command())?;
        let (waiting, reports) = (waiting.clone(), reports.clone());
        workers.spawn(async move {
            let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            while let Some((place, id)) = next() {
                let report = worker.attack(&id).await?;
                // Whoever listens has not gone before all workers have.
                reports.send((place, report)).ok();
            }
            worker.end().await
        });
    }
    drop(reports);
    let mut results = Vec::new();
    while let Some((place, report)) = arriving.recv().await {
        came(&report);
        results.push((place, report));
    }
    while let Some(ended) = workers.join_next().await {
        ended.map_err(io::Error::other)??;
    }
    Ok(results)
}

/// A process that attacks rows one after the other.
struct Worker {
    child: Child,
    input: ChildStdin,
    lines: tokio::io::Lines<BufReader<ChildStdout>>,
}

impl Worker {
    fn start(mut command: Command) -> io::Result<Worker> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let gone = || io::Error::other("a worker has no pipe");
        let input = child.stdin.take().ok_or_else(gone)?;
        let output = child.stdout.take().ok_or_else(gone)?;
        Ok(Worker { child, input, lines: BufReader::new(output).lines() })
    }

    async fn attack(&mut self, id: &str) -> io::Result<Report> {
        self.input.write_all(format!("{id}\n").as_bytes()).await?;
        let Some(line) = self.lines.next_line().await? else {
            return Err(io::Error::other(format!("a worker ended while it attacked {id}")));
        };
        match serde_json::from_str(&line)? {
            Said::Report(report) => Ok(*report),
            Said::Failed(why) => Err(io::Error::other(why)),
        }
    }

    async fn end(mut self) -> io::Result<()> {
        drop(self.input);
        self.child.wait().await.map(drop)
    }
}
