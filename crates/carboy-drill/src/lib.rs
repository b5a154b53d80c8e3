//! Attacks carboy on the machine at hand, and says of each attack what held.
//!
//! The corpus (`escapes/`) is hostile programs, one to a file, each with a header: what it tries,
//! which layer must stop it, which one would if that did not. A [`Drill`] plants things that an
//! attack is after (files, listeners, a process), runs the program in a jar, and judges from
//! outside: what was touched, how the kernel says that the run ended, what is left behind. What a
//! program prints is no evidence that a layer held; a secret that it prints is evidence that none
//! did. A control shows that the same attack succeeds where nothing stops it.
#![forbid(unsafe_code)]

mod canary;
mod clean;
mod control;
mod end;
mod held;
mod host_facts;
mod inside;
mod neighbours;
pub mod row;
mod tray;
pub mod workers;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use carboy_engine::{Config, Engine, EngineError, PoolConfig, RunError, ablated};
use carboy_protocol::{Job, Outcome, Policy, Status, Walls};
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, OnceCell};

pub use canary::{Canary, HOLD};
pub use inside::Inside;
pub use row::{Control, Mode, Row};

use canary::{HOLD_IN_CONTROL, random};
use clean::Traces;
use end::{end, failing};
use inside::{Attack, Ran};
use neighbours::{Judged, Neighbours};
use tray::Tray;

const CORPUS: &[&str] = &include!(concat!(env!("OUT_DIR"), "/corpus.rs"));

/// How often a control is tried before it has failed.
const CONTROL_TRIES: usize = 4;

/// The rows whose first variants a service runs before it takes work: some of each class.
const QUICK: [&str; 20] = [
    "CON-01", "CON-02", "CON-08", "CON-16", "CON-18", "CON-22", "CON-27", "CON-29", "CON-31",
    "INT-01", "INT-04", "INT-18", "INT-23", "INT-26", "AV-01", "AV-08", "AV-14", "XRN-01",
    "PRO-02", "PRO-03",
];

/// Every row that this program carries.
pub fn corpus() -> Result<Vec<Row>, String> {
    CORPUS.iter().map(|text| Row::parse(text)).collect()
}

/// Whether a service runs this row before it takes work.
pub fn is_quick(row: &Row) -> bool {
    let first = row.id == row.catalogue() || row.id.ends_with("-a");
    first && QUICK.contains(&row.catalogue())
}

/// What came of a row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The row.
    pub id: String,
    /// What its program does.
    pub title: String,
    /// Its class.
    pub class: String,
    /// What must stop it.
    pub first: String,
    /// What would if that did not.
    pub second: String,
    /// Nothing went wrong.
    pub held: bool,
    /// How the run ended.
    pub ended: String,
    /// What the control showed.
    pub control: String,
    /// What went wrong, in words.
    pub faults: Vec<String>,
    /// How long the row took.
    pub took_ms: f64,
}

/// Which controls are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controls {
    /// None.
    None,
    /// Those in a jar: nothing leaves the walls.
    Raised,
    /// Also those on the bare host: hostile programs run there with the caller's rights.
    All,
}

/// A drill on one host, with one interpreter, in one kind of walls.
pub struct Drill {
    engine: Arc<Engine>,
    /// What its engines are made of. They write below the drill's own directory.
    config: Config,
    walls: Walls,
    controls: Controls,
    inside: Inside,
    /// What there is when no attack is under way.
    at_rest: OnceCell<Traces>,
    /// The engine of the rows that run beside innocent ones, from the first of them to the next other.
    neighbours: Mutex<Option<Neighbours>>,
}

impl Drill {
    /// Prepares a drill of engines that are made like this.
    pub fn new(
        config: Config,
        walls: Walls,
        controls: Controls,
        inside: Inside,
    ) -> Result<Drill, RunError> {
        let os = failing("prepare");
        let folder = std::env::temp_dir();
        let scratch = folder.join(format!("carboy-drill-{}", random().map_err(os)?));
        std::fs::create_dir(&scratch)
            .map_err(|error| RunError::Engine(EngineError::Scratch { folder, error }))?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&scratch, mode).map_err(os)?;
        let config = Config { scratch, ..config };
        let engine = Arc::new(Engine::new(Config {
            // No jar stands, so that whatever runs after a row is left behind by it.
            pool: PoolConfig { ceiling: 0, ..PoolConfig::default() },
            ..config.clone()
        })?);
        Ok(Drill {
            engine,
            config,
            walls,
            controls,
            inside,
            at_rest: OnceCell::new(),
            neighbours: Mutex::default(),
        })
    }

    /// Runs one row. An error means that the engine itself failed.
    pub async fn run(&self, row: &Row) -> Result<Report, RunError> {
        let started = Instant::now();
        if row.mode == Mode::Beside {
            return self.beside(row, started).await;
        }
        self.part().await;
        // The zygote is there before anything is counted.
        let at_rest = self.at_rest.get_or_try_init(|| async {
            self.alive().await?;
            if self.inside != Inside::Jar {
                let policy = Policy { walls: self.walls, ..Policy::default() };
                self.engine.session(&policy).await?.close().await;
            }
            Ok::<_, RunError>(Traces::at_rest(&self.config.scratch).await)
        });
        let at_rest = at_rest.await?;
        let mut faults = Vec::new();
        let mut ended = String::new();
        for _ in 0..row.repeat {
            ended = self.attack(row, at_rest, &mut faults).await?;
            if !faults.is_empty() {
                break;
            }
        }
        let control = match &row.control {
            Control::None(reason) => format!("none: {reason}"),
            Control::Bare if self.controls == Controls::All => self.bare(row, &mut faults).await,
            Control::Raised(limits) if self.controls != Controls::None => {
                self.raised(row, limits, &mut faults).await?
            }
            Control::Bare | Control::Raised(_) => "not run".into(),
        };
        Ok(report(row, ended, control, faults, started))
    }

    /// Runs one row beside innocent runs, in an engine that all such rows have in common.
    async fn beside(&self, row: &Row, started: Instant) -> Result<Report, RunError> {
        let limits =
            row.limits_changed(&[]).map_err(std::io::Error::other).map_err(failing("judge"))?;
        let mut neighbours = self.neighbours.lock().await;
        let neighbours = match &mut *neighbours {
            Some(neighbours) => neighbours,
            none => none.insert(Neighbours::new(self.config.clone(), self.walls)?),
        };
        let Judged { ended, faults } = neighbours.attack(row, &limits).await?;
        let control = match &row.control {
            Control::None(reason) => format!("none: {reason}"),
            Control::Bare | Control::Raised(_) => "not run".into(),
        };
        Ok(report(row, ended, control, faults, started))
    }

    /// Ends the drill and everything of it.
    pub async fn close(self) {
        self.part().await;
        self.engine.shutdown().await;
    }

    /// Ends the engine of the rows that run beside innocent ones: its processes are none that an attack
    /// leaves behind.
    async fn part(&self) {
        if let Some(neighbours) = self.neighbours.lock().await.take() {
            neighbours.close().await;
        }
    }

    /// An ordinary run works.
    async fn alive(&self) -> Result<(), RunError> {
        let policy = Policy { walls: self.walls, ..Policy::default() };
        let outcome = self.engine.run(Job::new("result = 1").with_policy(policy)).await?;
        if outcome.status == Status::Ok {
            return Ok(());
        }
        let why = outcome.error.map_or(String::new(), |error| error.message);
        let error = std::io::Error::other(format!("an ordinary run failed: {why}"));
        Err(failing("go on")(error))
    }

    /// Where a jar under these limits finds what was generated for it.
    fn generated(&self, limits: carboy_protocol::Limits) -> Result<Vec<PathBuf>, RunError> {
        let policy = Policy { walls: self.walls, limits, ..Policy::default() };
        Ok(self.engine.plan(&policy)?.generated().into_iter().collect())
    }

    /// The programs of a row, each in a place of its own.
    async fn programs(
        &self,
        row: &Row,
        limits: carboy_protocol::Limits,
        context: &str,
        tray: &Arc<Tray>,
    ) -> Result<Ran, RunError> {
        let attack = Attack { row, limits, walls: self.walls, context, tray };
        attack.run(&self.engine, self.inside).await
    }

    /// One attack, judged from outside. Returns how it ended.
    async fn attack(
        &self,
        row: &Row,
        at_rest: &Traces,
        faults: &mut Vec<String>,
    ) -> Result<String, RunError> {
        let os = failing("judge");
        let limits = row.limits_changed(&[]).map_err(std::io::Error::other).map_err(os)?;
        let ended = {
            let mut canary = Canary::plant().map_err(os)?;
            let generated = self.generated(limits.clone())?;
            let mut context = canary.context(HOLD, &generated).map_err(os)?;
            context["inside"] = self.inside.as_str().into();
            let context = context.to_string();
            let tray = Arc::new(Tray::default());
            let Ran { outcomes, faults: of_sessions } =
                self.programs(row, limits, &context, &tray).await?;
            faults.extend(of_sessions);
            let said: Vec<String> = outcomes.iter().map(everything_said).collect();
            let said: Vec<&str> = said.iter().map(String::as_str).collect();
            let all_there = ablated().is_empty();
            faults.extend(canary.damage(&said, all_there).map_err(&os)?);
            if tray.holds(canary.secret()) {
                faults.push("the secret came out as an artifact".into());
            }
            if !all_there {
                // With a layer less a run may end in other ways. What counts is the damage.
                return Ok(outcomes.last().map_or(String::new(), end));
            }
            let named = |call: &String| {
                outcomes.iter().any(|outcome| outcome.refused().any(|d| d.what == *call))
            };
            let unnamed: Vec<&String> = row.denies.iter().filter(|call| !named(call)).collect();
            // A filter around carboy, such as a container's, answers first: its refusals reach nobody.
            let answered_first =
                outcomes.iter().all(|outcome| outcome.isolation.layers.outer_filters > 0);
            if !answered_first {
                let fault = |call| format!("the outcome names no refused {call}");
                faults.extend(unnamed.into_iter().map(fault));
            }
            let mut ends: Vec<String> = outcomes.iter().map(end).collect();
            for ended in &ends {
                let expected = self.inside.expected(row);
                if !row::is_among(expected, ended) {
                    faults.push(format!("it ended {ended}, and not {}", expected.join(" or ")));
                }
            }
            ends.dedup();
            ends.join(", ")
        };
        self.alive().await?;
        faults.extend(at_rest.back(&self.config.scratch).await);
        Ok(ended)
    }

    async fn bare(&self, row: &Row, faults: &mut Vec<String>) -> String {
        let mut fault = String::new();
        // Some attacks are races, and one that is won is enough.
        for _ in 0..CONTROL_TRIES {
            fault = match control::bare(&self.config.python, row).await {
                Ok(damage) if !damage.is_empty() => return format!("bare: {}", damage.join(", ")),
                Ok(_) => "the control failed: on the bare host it does not succeed either".into(),
                Err(error) => format!("the control could not be run: {error}"),
            };
        }
        faults.push(fault);
        "failed".into()
    }

    async fn raised(
        &self,
        row: &Row,
        limits: &[(String, u64)],
        faults: &mut Vec<String>,
    ) -> Result<String, RunError> {
        let os = failing("judge");
        let limits = row.limits_changed(limits).map_err(std::io::Error::other).map_err(os)?;
        let canary = Canary::plant().map_err(os)?;
        let generated = self.generated(limits.clone())?;
        let context = canary.context(HOLD_IN_CONTROL, &generated).map_err(os)?.to_string();
        let tray = Arc::new(Tray::default());
        let ran = self.programs(row, limits, &context, &tray).await?;
        let ended = ran.outcomes.last().map_or(String::new(), end);
        if ended != "ok" {
            faults.push(format!("the control failed: with more allowed it ended {ended}"));
        }
        Ok(format!("with more allowed it ended {ended}"))
    }
}

/// What came of a row that began at `started`.
fn report(
    row: &Row,
    ended: String,
    control: String,
    faults: Vec<String>,
    started: Instant,
) -> Report {
    Report {
        id: row.id.clone(),
        title: row.title.clone(),
        class: row.class().into(),
        first: row.first.clone(),
        second: row.second.clone(),
        held: faults.is_empty(),
        ended,
        control,
        faults,
        took_ms: started.elapsed().as_secs_f64() * 1e3,
    }
}

impl Drop for Drill {
    fn drop(&mut self) {
        // The helper removes what was in it, and nobody can be told any more.
        std::fs::remove_dir_all(&self.config.scratch).ok();
    }
}

/// Everywhere that a program can put words.
fn everything_said(outcome: &Outcome) -> String {
    serde_json::to_string(outcome).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_read_and_has_a_name_of_its_own() {
        let rows = corpus().unwrap();
        let ids: std::collections::BTreeSet<&String> = rows.iter().map(|row| &row.id).collect();
        assert_eq!(ids.len(), rows.len());
    }

    #[test]
    fn the_quick_rows_exist() {
        let rows = corpus().unwrap();
        for id in QUICK {
            let quick = |row: &&Row| row.catalogue() == id && is_quick(row);
            assert_eq!(rows.iter().filter(quick).count(), 1, "{id}");
        }
    }
}
