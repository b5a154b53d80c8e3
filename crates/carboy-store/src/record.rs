//! What is kept of a run.
//!
//! `facts` is what is hashed and chained. Long things are kept beside it, and `facts` has their digests.

use std::collections::BTreeMap;

use carboy_protocol::pipe::RunFailure;
use carboy_protocol::{
    Artifact, ArtifactWish, DataFrame, FileSource, Kind, LimitName, Outcome, Policy, Status, Tool,
    Usage, Walls,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::digest::sha256;
use crate::given::GivenFile;

/// What is kept of inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepInputs {
    /// Their digests.
    #[default]
    Digests,
    /// Their bytes too. A run with inputs can only be replayed with these.
    Bytes,
}

/// What is kept of the files that a run leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepArtifacts {
    /// Their digests, where a caller wanted their content.
    #[default]
    Digests,
    /// Their content, beside the records.
    Bytes,
}

/// How a recorded run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// The code ran to its end.
    Ok,
    /// It did not; `kind` says why.
    Error,
    /// The engine failed, and there is no outcome.
    Failed,
    /// Its caller went away before its end, and it was ended.
    Abandoned,
}

impl RunStatus {
    /// The word used on every surface.
    pub fn as_str(self) -> &'static str {
        match self {
            RunStatus::Ok => "ok",
            RunStatus::Error => "error",
            RunStatus::Failed => "failed",
            RunStatus::Abandoned => "abandoned",
        }
    }
}

/// What a record is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// A run.
    Run,
    /// The removal of old records.
    Prune,
}

/// What is known of an input whose bytes are not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputDigest {
    /// Under which name the code saw it.
    pub name: String,
    /// Its bytes, as the engine got them.
    pub sha256: String,
    /// How many these are.
    pub bytes: u64,
}

/// What ran the code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionsOf {
    /// Of carboy.
    pub carboy: String,
    /// The kernel's release.
    pub kernel: String,
    /// The machine's architecture.
    pub machine: String,
    /// Of the interpreter.
    pub python: String,
    /// Where the interpreter is.
    pub program: String,
    /// What was to be preloaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preload: Vec<String>,
    /// Of the list of all installed distributions and their versions, as the environment outside has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_sha256: Option<String>,
    /// The versions of those whose modules an `import` statement of the code names, or that were preloaded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub packages: BTreeMap<String, String>,
    /// Whose word these are: that of the packages' own metadata. Nobody saw the modules being imported.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub packages_from: String,
}

/// What is hashed. The fields are written in this order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Facts {
    /// Of this form.
    pub version: u32,
    /// Which record of the chain it is, from 1.
    pub seq: i64,
    /// The hash of the record before it.
    pub previous: String,
    /// What it is of.
    pub event: Event,
    /// When the run was asked for: UTC.
    pub time: String,
    /// What it says of that.
    #[serde(flatten)]
    pub about: About,
}

/// The same, to be written.
#[derive(Serialize)]
pub(crate) struct FactsToWrite<'a> {
    pub version: u32,
    pub seq: i64,
    pub previous: &'a str,
    pub event: Event,
    pub time: &'a str,
    #[serde(flatten)]
    pub about: &'a About,
}

/// What a record says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum About {
    /// Of a run.
    Run(Box<RunFacts>),
    /// Of a removal.
    Prune(PruneFacts),
}

/// Of the removal of old records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PruneFacts {
    /// The last record that was removed.
    pub through_seq: i64,
    /// Its hash.
    pub through_hash: String,
    /// How many were removed.
    pub removed: i64,
}

/// Of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunFacts {
    /// The outcome's.
    pub id: String,
    /// For whom it was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// How it ended.
    pub status: RunStatus,
    /// Why it did not end well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// The type of its error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// The limit that it crossed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_name: Option<LimitName>,
    /// What surrounded it.
    pub walls: Walls,
    /// How many different things were refused.
    pub denials: u64,
    /// What it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Of the code's bytes.
    pub code_sha256: String,
    /// Of the text in `job`: policy and tools.
    pub job_sha256: String,
    /// Of the plan as JSON, without the moment at which the engine started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_sha256: Option<String>,
    /// Its inputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputDigest>,
    /// Files that it was given. What lay below a mount is not looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<GivenFile>,
    /// Of the text in `inputs`, if they were to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs_sha256: Option<String>,
    /// Of the text in `outcome`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome_sha256: Option<String>,
    /// Of what the code answered, as JSON, or as text if it had no JSON form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_sha256: Option<String>,
    /// What was wanted of the files that it left, by its caller or by the store. Records of older versions do not
    /// say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts_wanted: Option<ArtifactWish>,
    /// The files it left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// Whether the content of these files was kept beside the records.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub artifacts_kept: bool,
    /// Why there is no outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<RunFailure>,
    /// What ran it.
    pub versions: VersionsOf,
}

/// What of a job is kept beside its code and inputs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JobRest {
    /// The policy that the caller asked for.
    pub policy: Policy,
    /// Files that it was given: those of the host by their paths, others only if inputs were to be kept.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, FileSource>,
    /// Where it found what of the host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mounts: BTreeMap<String, String>,
    /// Which of its files it saw as frames.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub frames: BTreeMap<String, DataFrame>,
    /// The tools that the code could call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
}

/// A record as it is read.
#[derive(Clone, Debug)]
pub struct Record {
    /// The chained part.
    pub facts: Facts,
    /// Of that.
    pub hash: String,
    /// The code. `None` in a record of something else.
    pub code: Option<String>,
    /// Policy and tools.
    pub job: Option<JobRest>,
    /// As its caller got it.
    pub outcome: Option<Box<Outcome>>,
    /// By name, if they were to be kept.
    pub inputs: Option<BTreeMap<String, Box<RawValue>>>,
}

/// The digest of what the code answered.
pub fn result_sha256(outcome: &Outcome) -> Option<String> {
    let json = outcome.result.as_ref().map(|result| result.get());
    json.or(outcome.result_text.as_deref()).map(sha256)
}

impl RunFacts {
    pub(crate) fn tell(&mut self, outcome: &Outcome) {
        self.id.clone_from(&outcome.id);
        self.status = match outcome.status {
            Status::Ok => RunStatus::Ok,
            Status::Error => RunStatus::Error,
        };
        if let Some(error) = &outcome.error {
            self.kind = Some(error.kind);
            self.error_type = Some(error.type_name.clone());
            self.limit_name = error.limit.as_ref().map(|limit| limit.name);
        }
        self.walls = outcome.isolation.walls;
        self.denials = outcome.refused().count() as u64;
        self.usage = Some(outcome.usage);
        self.result_sha256 = result_sha256(outcome);
        self.artifacts.clone_from(&outcome.artifacts);
    }
}
