//! One run through a gateway: attempts on one node after the other, until there is an outcome or a reason to give up.

use std::time::{Duration, Instant};

use bytes::Bytes;
use carboy_engine::{Artifacts, EngineError, FleetError, RunError, RunOptions, new_id};
use carboy_protocol::{ArtifactWish, Job, Network, Outcome, Policy};
use sha2::{Digest, Sha256};

use super::attempt::Ended;
use super::caller::Caller;
use super::place::LONGEST;
use super::shared::{Shared, one_more};
use crate::bus::Bus;
use crate::message::{MAX_ASK, RunAsk, VERSION};

/// How often a run whose node was lost is run in all.
const LIVES: u32 = 2;

impl<B: Bus> Shared<B> {
    /// The clock's word for a moment.
    pub(super) fn moment(&self, at: Instant) -> Duration {
        self.config.clock.now() + at.saturating_duration_since(Instant::now())
    }

    /// A run came to an end on its node.
    fn ended(&self) {
        one_more(&self.count.ended);
        self.state().budget.ended();
    }

    pub(super) async fn run(&self, job: Job, mut options: RunOptions) -> Result<Outcome, RunError> {
        let run = match options.id.take() {
            Some(id) => id,
            None => new_id()?,
        };
        let body = Bytes::from(serde_json::to_vec(&job).map_err(|error| {
            let error = std::io::Error::other(error);
            RunError::Engine(EngineError::Os { step: "write a job", error })
        })?);
        if body.len() > MAX_ASK {
            return Err(FleetError::TooLarge { bytes: body.len(), most: MAX_ASK }.into());
        }
        let until = options.deadline.map(|at| self.moment(at));
        let mut ask = RunAsk {
            v: VERSION,
            run,
            gateway: self.config.name.to_string(),
            tenant: std::mem::take(&mut options.tenant),
            ttl_ms: None,
            stream: options.chunks.is_some(),
            begun: options.begun.is_some(),
            tools: options.tools.is_some() && !job.tools.is_empty(),
            artifacts: self.wish(&options.artifacts),
            files: None,
            memory_bytes: job.policy.limits.memory_bytes,
            session: None,
            pieces: 0,
        };
        let claim = (ask.artifacts == ArtifactWish::Keep).then(|| self.claim(&ask.run)).flatten();
        let limits = &job.policy.limits;
        let may = (limits.artifact_bytes, Duration::from_millis(limits.wall_ms));
        let (may_repeat, environment) = (may_repeat(&job), environment(&job.policy));
        let mut caller = Caller::new(options, &job);
        let (mut tried, mut lost) = (Vec::new(), 0);
        let give_up = self.config.clock.now() + LONGEST;
        loop {
            let address =
                self.place(&ask.tenant, environment, &mut tried, until, &mut caller).await?;
            ask.ttl_ms = until.map(|until| {
                let left = until.saturating_sub(self.config.clock.now());
                u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
            });
            if claim.is_some() {
                ask.files = self.permit(&ask.tenant, &ask.run, address, may);
            }
            match self.attempt(address, &ask, &body, &mut caller).await {
                Ended::Answer(text) => {
                    self.ended();
                    let outcome = serde_json::from_slice(&text)
                        .ok()
                        .filter(|outcome: &Outcome| outcome.id == ask.run)
                        .ok_or_else(|| broken("its outcome cannot be read"))?;
                    if let Some(claim) = claim {
                        claim.won(address);
                    }
                    return Ok(outcome);
                }
                Ended::Failed(error) => {
                    self.ended();
                    return Err(error);
                }
                Ended::Refused if self.config.clock.now() < give_up => {
                    one_more(&self.count.busy);
                    tried.push(address);
                }
                Ended::Nobody if self.config.clock.now() < give_up => {
                    self.state().nodes.gone(address);
                }
                Ended::Refused | Ended::Nobody => return Err(self.too_late()),
                Ended::Cut { is_sent } if !is_sent || may_repeat => return Err(self.too_late()),
                Ended::Cut { .. } => {
                    one_more(&self.count.lost);
                    return Err(FleetError::WorkerLost.into());
                }
                Ended::Lost => {
                    lost += 1;
                    if caller.is_stopped {
                        return Err(RunError::Cancelled);
                    }
                    if !may_repeat || caller.has_heard {
                        one_more(&self.count.lost);
                        return Err(FleetError::WorkerLost.into());
                    }
                    if lost >= LIVES {
                        one_more(&self.count.lost);
                        return Err(FleetError::Poison { times: lost }.into());
                    }
                    if !self.state().budget.retry() {
                        one_more(&self.count.lost);
                        return Err(FleetError::WorkerLost.into());
                    }
                    one_more(&self.count.again);
                    tried.push(address);
                }
            }
        }
    }
}

impl<B: Bus> Shared<B> {
    /// What a node is told of the files that are wanted. They can be kept where there is a store.
    pub(super) fn wish(&self, artifacts: &Artifacts) -> ArtifactWish {
        match artifacts {
            Artifacts::None => ArtifactWish::None,
            Artifacts::Keep(_) if self.signing.is_some() => ArtifactWish::Keep,
            Artifacts::List | Artifacts::Keep(_) => ArtifactWish::List,
        }
    }
}

/// A node that does not keep to what was agreed.
pub(super) fn broken(what: &'static str) -> RunError {
    FleetError::Broken { what }.into()
}

/// Whether a run does no harm if it is run twice: it reaches nothing beside its own jar.
fn may_repeat(job: &Job) -> bool {
    job.policy.network == Network::None && job.tools.is_empty() && job.mounts.is_empty()
}

/// What jars of this policy have in common, so that they stand where some were used before. Every gateway finds the same.
fn environment(policy: &Policy) -> Option<u64> {
    let digest = Sha256::digest(serde_json::to_vec(policy).ok()?);
    digest.first_chunk().map(|first| u64::from_be_bytes(*first))
}
