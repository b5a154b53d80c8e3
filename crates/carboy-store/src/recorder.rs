//! A runner that records what another runner does.
//!
//! A run has a place in the writer's queue before it begins, and is answered when its record is committed.
//! One that cannot be recorded has no outcome for its caller: whoever asked for records must be able to rely on
//! there being one for every answer.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use carboy_engine::{
    Artifacts, Engine, EngineError, Load, RequestError, RunError, RunOptions, Runner, Sessions,
    new_id,
};
use carboy_protocol::pipe::FailureKind;
use carboy_protocol::{ArtifactWish, Job, Opening, Outcome, Policy};

use crate::digest::sha256;
use crate::draft::{self, Asked, Ended, Inputs, digests};
use crate::error::{StoreError, While};
use crate::given::GivenFiles;
use crate::packages::Packages;
use crate::record::{KeepArtifacts, KeepInputs, VersionsOf};
use crate::shelf::{RunShelf, Shelf};
use crate::time::iso8601;
use crate::writer::{Begun, Place, Writer};

/// Inputs up to this many bytes are hashed by the writer; longer ones on a thread that may take its time.
const SHORT_INPUTS: usize = 64 << 10;
/// How long an outcome waits for the digests of files that the run was given.
const HASHING: Duration = Duration::from_secs(30);
/// How many policies have their plan's digest kept.
const PLANS: usize = 64;

/// What a store keeps.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// Its directory. Made if it is not there.
    pub directory: PathBuf,
    /// Whether the bytes of inputs are kept, or only their digests.
    pub inputs: KeepInputs,
    /// Whether the content of files that runs leave is kept, or only their digests.
    pub artifacts: KeepArtifacts,
}

/// A runner that can say what it runs jobs with.
pub trait Describe: Runner {
    /// What runs the code.
    fn versions(&self) -> VersionsOf;
    /// Where its distributions lie.
    fn packages(&self) -> Vec<PathBuf>;
    /// The plan for a policy, as JSON, without the moment at which the engine started.
    fn plan(&self, policy: &Policy) -> Option<String>;
}

impl Describe for Engine {
    fn versions(&self) -> VersionsOf {
        let read = |file| std::fs::read_to_string(file).unwrap_or_default();
        VersionsOf {
            carboy: env!("CARGO_PKG_VERSION").into(),
            kernel: read("/proc/sys/kernel/osrelease").trim().into(),
            machine: std::env::consts::ARCH.into(),
            python: self.python().version.clone(),
            program: self.python().program.display().to_string(),
            preload: self.preloads().into_iter().map(|preload| preload.module).collect(),
            ..VersionsOf::default()
        }
    }

    fn packages(&self) -> Vec<PathBuf> {
        self.python().layout.packages.clone()
    }

    fn plan(&self, policy: &Policy) -> Option<String> {
        let plan = serde_json::to_string(&Engine::plan(self, policy).ok()?).ok()?;
        // The moment at which the engine started is in generated files. Nothing depends on it, and no two plans
        // would be the same.
        let mut parts = plan.split("btime ");
        let first = parts.next().unwrap_or_default().to_owned();
        let digits = |char: char| char.is_ascii_digit();
        Some(parts.fold(first, |plan, part| plan + part.trim_start_matches(digits)))
    }
}

/// What would run this code, as a record has it.
pub fn described(runner: &impl Describe, code: &str) -> VersionsOf {
    Packages::new(runner.packages()).complete(runner.versions(), code)
}

/// Runs jobs on another runner, and leaves a record of each if it has a store.
pub struct Recorder<R> {
    runner: R,
    desk: Option<Desk>,
}

/// Where records go.
struct Desk {
    writer: Writer,
    keep: KeepInputs,
    /// Where the content of files goes, if it is kept.
    shelf: Option<Arc<Shelf>>,
    /// The digests of plans, by policy.
    plans: Mutex<HashMap<String, Option<String>>>,
}

impl<R: Describe> Recorder<R> {
    /// Opens or makes a store, and shows that it can be written. Without one nothing is recorded.
    pub fn open(runner: R, config: Option<StoreConfig>) -> Result<Recorder<R>, StoreError> {
        let open = |config: StoreConfig| {
            let packages = Packages::new(runner.packages());
            let writer = Writer::open(&config.directory, runner.versions(), packages)?;
            let shelf = match config.artifacts {
                KeepArtifacts::Digests => None,
                KeepArtifacts::Bytes => {
                    let shelf = Shelf::of(&config.directory);
                    shelf.make().while_doing("make", &config.directory)?;
                    Some(Arc::new(shelf))
                }
            };
            Ok(Desk { writer, keep: config.inputs, shelf, plans: Mutex::default() })
        };
        let desk = config.map(open).transpose()?;
        Ok(Recorder { runner, desk })
    }

    /// Whose runs are recorded.
    pub fn runner(&self) -> &R {
        &self.runner
    }

    async fn run_recorded(
        &self,
        desk: &Desk,
        job: Job,
        options: RunOptions,
    ) -> Result<Outcome, RunError> {
        let place = desk.writer.place().await.map_err(unrecorded)?;
        let (job, asked, files) = desk.asked(job, &options).await?;
        let parts = Some((place, Begun::Asked(Box::new(asked))));
        let witness = files.clone().map(|files| files as _);
        let (artifacts, kept) = desk.artifacts(options.artifacts);
        let options = RunOptions { witness, artifacts, ..options };
        let mut entry = Entry { desk, files, kept, parts };
        // While the code runs nobody waits for what can be put together already.
        let (ran, ()) = tokio::join!(biased; self.runner.run_with(job, options), async {
            entry.draft(&self.runner);
        });
        match ran {
            Ok(outcome) => {
                let kept = entry.end(Ended::Outcome(Box::new(outcome))).await;
                match kept.map_err(unrecorded)? {
                    Ended::Outcome(outcome) => Ok(*outcome),
                    Ended::Failed(_) | Ended::Abandoned => Err(RunError::Cancelled),
                }
            }
            // Something may have run.
            Err(error) if error.kind() == FailureKind::Engine => {
                entry.end(Ended::Failed(error.failure())).await.map_err(unrecorded)?;
                Err(error)
            }
            // Nothing ran.
            Err(error) => {
                entry.parts = None;
                Err(error)
            }
        }
    }
}

fn unrecorded(error: StoreError) -> RunError {
    let hint = error.hint();
    RunError::Engine(EngineError::Unrecorded { error: Box::new(error), hint })
}

impl Desk {
    fn plan_sha256(&self, policy: &Policy, runner: &impl Describe) -> Option<String> {
        let key = serde_json::to_string(policy).ok()?;
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if plans.len() >= PLANS && !plans.contains_key(&key) {
            plans.clear();
        }
        plans.entry(key).or_insert_with(|| runner.plan(policy).map(sha256)).clone()
    }

    /// What becomes of the files that a run leaves: their content is kept beside its record too, if that is wanted.
    /// Until it is recorded nobody removes what is returned with it.
    fn artifacts(&self, wanted: Artifacts) -> (Artifacts, Option<Arc<RunShelf>>) {
        let Some(shelf) = &self.shelf else { return (wanted, None) };
        let then = match wanted {
            Artifacts::None => return (wanted, None),
            Artifacts::List => None,
            Artifacts::Keep(keeper) => Some(keeper),
        };
        let kept = Arc::new(RunShelf::new(shelf.clone(), then));
        (Artifacts::Keep(kept.clone()), Some(kept))
    }

    /// Takes what its record needs of a job.
    async fn asked(
        &self,
        job: Job,
        options: &RunOptions,
    ) -> Result<(Job, Asked, Option<Arc<GivenFiles>>), RunError> {
        let bytes: usize = job.inputs.values().map(|value| value.get().len()).sum();
        let keep = self.keep == KeepInputs::Bytes;
        let (job, inputs, files) = if job.files.is_empty() && (keep || bytes <= SHORT_INPUTS) {
            let values = job.inputs.clone();
            (job, Inputs::Bytes { values, keep }, None)
        } else {
            let hashed = tokio::task::spawn_blocking(move || {
                let inputs = if keep {
                    Inputs::Bytes { values: job.inputs.clone(), keep }
                } else {
                    Inputs::Digests(digests(&job.inputs))
                };
                let files = Some(Arc::new(GivenFiles::of(&job.files)));
                (job, inputs, files)
            });
            hashed.await.map_err(|error| EngineError::Os {
                step: "hash the inputs of a run",
                error: std::io::Error::other(error),
            })?
        };
        let asked = Asked {
            id: options.id.clone().map_or_else(new_id, Ok)?,
            time: iso8601(SystemTime::now()),
            tenant: options.tenant.clone(),
            code: job.code.clone(),
            plan_sha256: None,
            rest: draft::rest(&job, self.keep),
            inputs,
            keep_artifacts: match self.shelf {
                Some(_) => KeepArtifacts::Bytes,
                None => KeepArtifacts::Digests,
            },
            artifacts_wanted: match (&options.artifacts, &self.shelf) {
                (Artifacts::None, _) => ArtifactWish::None,
                (Artifacts::List, None) => ArtifactWish::List,
                (Artifacts::Keep(_), _) | (_, Some(_)) => ArtifactWish::Keep,
            },
            files: files.as_ref().map_or(vec![], |files| files.known()),
        };
        Ok((job, asked, files))
    }
}

/// A run that has begun, until it has an end. Dropping it is an end too.
struct Entry<'a> {
    desk: &'a Desk,
    files: Option<Arc<GivenFiles>>,
    kept: Option<Arc<RunShelf>>,
    parts: Option<(Place, Begun)>,
}

impl Entry<'_> {
    /// What there is to record.
    fn take(&mut self) -> Option<(Place, Begun)> {
        let mut parts = self.parts.take();
        // Files of the host are only known when the engine has opened them.
        if let (Some(files), Some((_, Begun::Asked(asked)))) = (&self.files, &mut parts) {
            asked.files = files.known();
        }
        parts
    }

    /// Puts together what does not depend on the run's end.
    fn draft(&mut self, runner: &impl Describe) {
        if let Some((place, mut begun)) = self.parts.take() {
            if let Begun::Asked(asked) = &mut begun {
                asked.plan_sha256 = self.desk.plan_sha256(&asked.rest.policy, runner);
            }
            self.parts = Some((place, self.desk.writer.draft(begun)));
        }
    }

    /// Records the run's end.
    async fn end(mut self, ended: Ended) -> Result<Ended, StoreError> {
        if let Some(files) = &self.files {
            // What is known then is taken below. A file system that does not answer holds nobody's outcome
            // back: such a file has no digest.
            tokio::time::timeout(HASHING, files.hashed()).await.ok();
        }
        match self.take() {
            Some((place, begun)) => {
                self.desk.writer.end(place, begun, ended, self.kept.take()).await
            }
            None => Ok(ended),
        }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        if let Some((place, begun)) = self.take() {
            Writer::abandon(place, begun);
        }
    }
}

impl<R: Describe> Runner for Recorder<R> {
    async fn run_with(&self, job: Job, options: RunOptions) -> Result<Outcome, RunError> {
        match &self.desk {
            // A job without code runs nothing: callers wait with one until modules are preloaded.
            Some(desk) if !job.code.trim().is_empty() => {
                self.run_recorded(desk, job, options).await
            }
            _ => self.runner.run_with(job, options).await,
        }
    }

    async fn shutdown(&self) {
        self.runner.shutdown().await;
        if let Some(desk) = &self.desk {
            desk.writer.flush().await;
        }
    }

    fn load(&self) -> Option<Load> {
        self.runner.load()
    }

    fn unready(&self) -> Option<&'static str> {
        self.runner.unready()
    }
}

impl<R: Describe + Sessions> Sessions for Recorder<R> {
    type Session = R::Session;

    async fn session_with(&self, opening: Opening, tenant: &str) -> Result<R::Session, RunError> {
        if self.desk.is_some() {
            // Whoever asked for records relies on there being one for every answer.
            let why = "runs of a session cannot be recorded yet, and this engine records every run";
            return Err(RunError::Request(RequestError::Session { why: why.into() }));
        }
        self.runner.session_with(opening, tenant).await
    }

    async fn attach(&self, tenant: &str, id: &str) -> Result<Option<R::Session>, RunError> {
        self.runner.attach(tenant, id).await
    }
}
