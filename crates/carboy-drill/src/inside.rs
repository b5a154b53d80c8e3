//! Where the programs of a row run: each in a jar of its own, in a session, or in a branch of one.
//!
//! A session is opened with a variable. Whatever a program does, it must be there afterwards wherever sessions
//! promise it: in a session that says it was restored, and in the session that a branch was made of.

use std::sync::Arc;
use std::time::{Duration, Instant};

use carboy_engine::{Artifacts, Engine, RunError, RunOptions, Session};
use carboy_protocol::{
    Job, Kind, Limits, Opening, Outcome, Piece, Policy, Reply, StateAfter, Walls,
};
use serde_json::value::RawValue;

use crate::end::failing;
use crate::row::{Mode, Row};
use crate::tray::Tray;

/// Where a program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inside {
    /// In a jar of its own.
    #[default]
    Jar,
    /// In a session of its own.
    Session,
    /// In a branch of such a session.
    Branch,
}

/// What a session's code has defined before the attack, and how it is asked for.
const BEFORE: &str = "before_the_attack = 'still here'";
const ASK: &str = "before_the_attack";
const ANSWER: &str = "\"still here\"";
/// Rows have limits that a busy machine crosses with any code at all. It is asked again for so long.
const PATIENCE: Duration = Duration::from_secs(60);

impl Inside {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Inside::Jar => "jar",
            Inside::Session => "session",
            Inside::Branch => "branch",
        }
    }

    /// How the programs of a row may end there: `any` allows all.
    pub(crate) fn expected(self, row: &Row) -> &[String] {
        match &row.expect_in_session {
            Some(ends) if self != Inside::Jar => ends,
            _ => &row.expect,
        }
    }

    /// Why a row cannot be tried there. This is the whole list.
    pub fn cannot(self, row: &Row) -> Option<&'static str> {
        let has_children =
            row.limits.iter().any(|(name, number)| name == "processes" && *number > 0);
        if self == Inside::Jar {
            None
        } else if row.mode == Mode::Beside {
            Some("it is judged by the time of runs outside of sessions")
        } else if has_children {
            Some("it needs child processes, and a session is granted none")
        } else {
            None
        }
    }
}

/// What programs are run with.
pub(crate) struct Attack<'a> {
    pub row: &'a Row,
    pub limits: Limits,
    pub walls: Walls,
    /// What the program finds as `context`, in JSON.
    pub context: &'a str,
    pub tray: &'a Arc<Tray>,
}

/// What came of the programs of a row.
#[derive(Default)]
pub(crate) struct Ran {
    pub outcomes: Vec<Outcome>,
    /// What is wrong with the sessions in which they ran.
    pub faults: Vec<String>,
}

impl Attack<'_> {
    /// Runs the programs, one after another or at the same time.
    pub async fn run(&self, engine: &Arc<Engine>, inside: Inside) -> Result<Ran, RunError> {
        let programs = self.row.programs.iter().enumerate();
        let mut tasks = Vec::new();
        let mut ran = Ran::default();
        for (place, code) in programs {
            let engine = engine.clone();
            let job = self.job(place, code);
            let options = RunOptions {
                artifacts: Artifacts::Keep(self.tray.clone()),
                ..RunOptions::default()
            };
            let task = tokio::spawn(async move { one(&engine, inside, job, options).await });
            if self.row.mode == Mode::Together {
                tasks.push(task);
            } else {
                ran.takes(task.await)?;
            }
        }
        for task in tasks {
            ran.takes(task.await)?;
        }
        Ok(ran)
    }

    fn job(&self, place: usize, code: &str) -> Job {
        let policy = Policy { walls: self.walls, limits: self.limits.clone(), ..Policy::default() };
        let mut job = Job::new(code).with_policy(policy);
        if place < self.row.given {
            let context: serde_json::Value = serde_json::from_str(self.context).unwrap_or_default();
            let folder = context["folder"].as_str().unwrap_or_default();
            // Its name on the host, also where a jar without a private root finds it below another.
            let folder = folder.strip_prefix("/host").unwrap_or(folder).to_owned();
            job = job.with_mount("/data", folder);
        }
        let context = RawValue::from_string(self.context.to_owned());
        job.inputs.extend(context.ok().map(|context| ("context".into(), context)));
        job
    }
}

type One = (Outcome, Option<String>);

impl Ran {
    fn takes(
        &mut self,
        one: Result<Result<One, RunError>, tokio::task::JoinError>,
    ) -> Result<(), RunError> {
        let (outcome, fault) = one.map_err(std::io::Error::other).map_err(failing("run"))??;
        self.outcomes.push(outcome);
        self.faults.extend(fault);
        Ok(())
    }
}

/// Runs one program; what came of it, and what is wrong with its session.
async fn one(
    engine: &Engine,
    inside: Inside,
    job: Job,
    options: RunOptions,
) -> Result<One, RunError> {
    if inside == Inside::Jar {
        return Ok((engine.run_with(job, options).await?, None));
    }
    let opening = Opening { policy: job.policy, mounts: job.mounts, ..Opening::default() };
    let piece = Piece { code: job.code, inputs: job.inputs, ..Piece::default() };
    let session = engine.session_with(opening).await?;
    let found = told(&session, BEFORE, None).await?;
    let judged = match found {
        Some(why) => Err(format!("an ordinary run in a session failed: {why}")),
        None if inside == Inside::Branch => {
            let branch = session.branch().await?;
            let Reply { outcome, .. } = branch.run_with(piece, options).await?;
            let lost = told(&session, ASK, Some(ANSWER)).await;
            let words = "the session that the branch was made of";
            Ok((outcome, lost_in(words, lost)))
        }
        None => {
            let Reply { outcome, state, note } = session.run_with(piece, options).await?;
            let fault = match state {
                // What its own code made of its own state is its own.
                StateAfter::Kept => None,
                StateAfter::Restored => {
                    lost_in("the session, restored", told(&session, ASK, Some(ANSWER)).await)
                }
                StateAfter::Ended => {
                    Some(format!("the session ended: {}", note.unwrap_or_default()))
                }
            };
            Ok((outcome, fault))
        }
    };
    session.close().await;
    judged.map_err(std::io::Error::other).map_err(failing("go on"))
}

/// Runs code that must work, and says why it did not.
async fn told(
    session: &Session,
    code: &str,
    expected: Option<&str>,
) -> Result<Option<String>, RunError> {
    let started = Instant::now();
    loop {
        let outcome = session.run(code).await?.outcome;
        let result = outcome.result.as_ref().map(|result| result.get());
        match &outcome.error {
            None if expected.is_none() || result == expected => return Ok(None),
            None => return Ok(Some(format!("its result is {result:?}"))),
            Some(error) if error.kind != Kind::Limit || started.elapsed() > PATIENCE => {
                return Ok(Some(error.message.clone()));
            }
            Some(_) => {}
        }
    }
}

fn lost_in(what: &str, told: Result<Option<String>, RunError>) -> Option<String> {
    let why = told.unwrap_or_else(|error| Some(error.to_string()))?;
    Some(format!("{what} does not have its state any more: {why}"))
}
