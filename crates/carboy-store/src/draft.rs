//! What there is of a run before its record is written: what was asked, what can be put together while it is under way,
//! and how it ended.

use std::collections::BTreeMap;

use carboy_protocol::pipe::RunFailure;
use carboy_protocol::{ArtifactWish, FileSource, Job, Outcome};
use serde_json::value::RawValue;

use crate::digest::sha256;
use crate::given::GivenFile;
use crate::record::{
    About, InputDigest, JobRest, KeepArtifacts, KeepInputs, RunFacts, RunStatus, VersionsOf,
};

/// What there is to keep of a run, before it has a place in the chain.
pub(crate) struct Bodies {
    pub about: About,
    pub time: String,
    pub code: String,
    pub job: String,
    pub outcome: Option<String>,
    pub inputs: Option<String>,
}

impl Bodies {
    pub fn bytes(&self) -> usize {
        let long = [Some(&self.code), Some(&self.job), self.outcome.as_ref(), self.inputs.as_ref()];
        long.into_iter().flatten().map(String::len).sum::<usize>() + 2_048
    }
}

/// How a run ended.
pub(crate) enum Ended {
    Outcome(Box<Outcome>),
    Failed(RunFailure),
    Abandoned,
}

/// What has at most so many bytes is put down in no time.
const SHORT: usize = 64 << 10;

impl Ended {
    /// Whether it is put down in no time.
    pub fn is_short(&self) -> bool {
        let Ended::Outcome(outcome) = self else { return true };
        let result = outcome.result.as_ref().map_or(0, |result| result.get().len());
        let text = outcome.result_text.as_ref().map_or(0, String::len);
        let said = result + text + outcome.stdout.text.len() + outcome.stderr.text.len();
        outcome.displays.is_empty() && said <= SHORT
    }
}

/// What a job's record needs of it, taken before it runs.
pub(crate) struct Asked {
    /// For a run without an outcome.
    pub id: String,
    pub time: String,
    pub tenant: String,
    pub code: String,
    pub rest: JobRest,
    pub inputs: Inputs,
    pub files: Vec<GivenFile>,
    pub keep_artifacts: KeepArtifacts,
    pub artifacts_wanted: ArtifactWish,
    pub plan_sha256: Option<String>,
}

impl Asked {
    /// Whether it is put down in no time.
    pub fn is_short(&self) -> bool {
        let inputs = match &self.inputs {
            Inputs::Digests(_) => 0,
            Inputs::Bytes { values, .. } => values.values().map(|value| value.get().len()).sum(),
        };
        self.rest.files.is_empty() && self.code.len() + inputs <= SHORT
    }
}

/// The inputs of a job: as digests, or what these are to be made of.
pub(crate) enum Inputs {
    Digests(Vec<InputDigest>),
    Bytes { values: BTreeMap<String, Box<RawValue>>, keep: bool },
}

/// The digests of inputs.
pub(crate) fn digests(values: &BTreeMap<String, Box<RawValue>>) -> Vec<InputDigest> {
    let digested = values.iter().map(|(name, value)| InputDigest {
        name: name.clone(),
        sha256: sha256(value.get()),
        bytes: value.get().len() as u64,
    });
    digested.collect()
}

/// What a job's record needs of it, but for its inputs.
pub(crate) fn rest(job: &Job, keep: KeepInputs) -> JobRest {
    let is_kept =
        |source: &FileSource| keep == KeepInputs::Bytes || matches!(source, FileSource::Path(_));
    let files = job.files.iter().filter(|(_, source)| is_kept(source));
    JobRest {
        policy: job.policy.clone(),
        files: files.map(|(name, source)| (name.clone(), source.clone())).collect(),
        mounts: job.mounts.clone(),
        frames: job.frames.clone(),
        tools: job.tools.clone(),
    }
}

/// What is kept of a run whatever its end: all that can be put together while it is under way.
pub(crate) struct Draft {
    facts: Box<RunFacts>,
    time: String,
    code: String,
    job: String,
    inputs: Option<String>,
}

impl Draft {
    pub fn new(asked: Asked, versions: VersionsOf) -> serde_json::Result<Draft> {
        let job = serde_json::to_string(&asked.rest)?;
        let (inputs, kept) = match asked.inputs {
            Inputs::Digests(digests) => (digests, None),
            Inputs::Bytes { values, keep } => {
                let kept = keep.then(|| serde_json::to_string(&values)).transpose()?;
                (digests(&values), kept)
            }
        };
        let facts = Box::new(RunFacts {
            id: asked.id,
            tenant: asked.tenant,
            status: RunStatus::Abandoned,
            kind: None,
            error_type: None,
            limit_name: None,
            walls: asked.rest.policy.walls,
            denials: 0,
            usage: None,
            code_sha256: sha256(&asked.code),
            job_sha256: sha256(&job),
            plan_sha256: asked.plan_sha256,
            inputs,
            files: asked.files,
            inputs_sha256: kept.as_deref().map(sha256),
            outcome_sha256: None,
            result_sha256: None,
            artifacts_wanted: Some(asked.artifacts_wanted),
            artifacts: vec![],
            artifacts_kept: asked.keep_artifacts == KeepArtifacts::Bytes,
            failure: None,
            versions,
        });
        Ok(Draft { facts, time: asked.time, code: asked.code, job, inputs: kept })
    }

    /// Adds how the run ended.
    pub fn end(self, ended: &Ended) -> serde_json::Result<Bodies> {
        let Draft { mut facts, time, code, job, inputs } = self;
        let mut text = None;
        match ended {
            Ended::Outcome(outcome) => {
                let whole = serde_json::to_string(outcome)?;
                facts.tell(outcome);
                facts.outcome_sha256 = Some(sha256(&whole));
                text = Some(whole);
            }
            Ended::Failed(failure) => {
                facts.status = RunStatus::Failed;
                facts.failure = Some(failure.clone());
            }
            Ended::Abandoned => {}
        }
        facts.artifacts_kept &= !facts.artifacts.is_empty();
        Ok(Bodies { about: About::Run(facts), time, code, job, outcome: text, inputs })
    }
}
