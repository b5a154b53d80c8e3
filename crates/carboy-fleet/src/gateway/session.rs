//! Sessions on other nodes, as a runner's.
//!
//! What is asked of a session goes to the node that its id names, and to no other. What is lost on the way is asked for
//! again under the same number, so a node does it once. When the node is gone, the session is, and nothing is run again.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use carboy_engine::{
    EngineError, FleetError, RequestError, RunError, RunOptions, SessionHandle, new_id,
};
use carboy_protocol::{ArtifactWish, Opening, Piece, Reply, Variables};
use serde::Serialize;

use super::attempt::Ended;
use super::caller::Caller;
use super::place;
use super::run::broken;
use super::shared::Shared;
use crate::bus::Bus;
use crate::message::{MAX_ASK, RunAsk, VERSION};
use crate::nodes::Address;
use crate::session::{Fault, SessionId, SessionKey, SessionOf, Told, Wanted};

/// How long a node may do something without a word. That it is gone is noticed long before.
const BOUND: Duration = Duration::from_secs(24 * 60 * 60);

/// How long whoever opens a session waits for a node that opens it.
const OPENING: Duration = Duration::from_secs(60);

/// How many nodes are asked to open one.
const TRIES: usize = 6;

/// A session on another node. Dropping it does not end it: other gateways find it.
pub struct RemoteSession<B: Bus> {
    shared: Arc<Shared<B>>,
    id: SessionId,
    tenant: String,
    /// How many bytes of files a run of it may leave, and how long it may take, if it was opened here.
    may: Option<(u64, Duration)>,
    /// Set once it is known to be over.
    over: OnceLock<Over>,
}

/// How a session came to be over.
enum Over {
    Lost,
    Ended(String),
}

impl Over {
    fn error(&self) -> RunError {
        match self {
            Over::Lost => FleetError::SessionLost.into(),
            Over::Ended(why) => RequestError::SessionOver { why: why.clone() }.into(),
        }
    }
}

impl<B: Bus> Shared<B> {
    fn key(&self) -> Result<&SessionKey, RunError> {
        self.config.session_key.as_ref().ok_or_else(|| {
            let why = "this gateway has no key for sessions; --session-key names one";
            RequestError::Session { why: why.into() }.into()
        })
    }

    fn draw(&self, address: Address, tenant: &str) -> Result<SessionId, RunError> {
        self.key()?
            .draw(address, tenant)
            .map_err(|error| EngineError::Os { step: "draw the id of a session", error }.into())
    }

    fn body(&self, value: &impl Serialize) -> Result<Bytes, RunError> {
        let text = serde_json::to_vec(value).map_err(|error| {
            let error = std::io::Error::other(error);
            RunError::Engine(EngineError::Os { step: "write what a session is asked", error })
        })?;
        if text.len() > MAX_ASK {
            return Err(FleetError::TooLarge { bytes: text.len(), most: MAX_ASK }.into());
        }
        Ok(text.into())
    }
}

impl<B: Bus> RemoteSession<B> {
    fn new(shared: &Arc<Shared<B>>, id: SessionId, tenant: &str) -> RemoteSession<B> {
        let (shared, tenant) = (shared.clone(), tenant.to_owned());
        RemoteSession { shared, id, tenant, may: None, over: OnceLock::new() }
    }

    /// Opens one on a node that has room for it.
    pub(super) async fn open(
        shared: &Arc<Shared<B>>,
        opening: Opening,
        tenant: &str,
    ) -> Result<RemoteSession<B>, RunError> {
        shared.key()?;
        let body = shared.body(&opening)?;
        let limits = &opening.policy.limits;
        let may = (limits.artifact_bytes, Duration::from_millis(limits.wall_ms));
        let clock = &shared.config.clock;
        let until = clock.now() + OPENING;
        let mut caller = Caller::of(RunOptions::default(), &[], OPENING);
        let mut tried = Vec::new();
        for _ in 0..TRIES {
            let address = shared.place(tenant, None, &mut tried, Some(until), &mut caller).await?;
            let mut session = RemoteSession::new(shared, shared.draw(address, tenant)?, tenant);
            session.may = Some(may);
            let mut unclaimed = Unclaimed(Some(session));
            let Some(session) = &unclaimed.0 else { break };
            match session.ask(Wanted::Open {}, body.clone(), RunOptions::default(), None).await {
                Ok(Told::Done {}) => {}
                Ok(Told::Not(Fault::Full { .. } | Fault::Drained {})) => {
                    unclaimed.0 = None;
                    shared.state().nodes.refused(address);
                    tried.push(address);
                    continue;
                }
                Ok(Told::Not(fault)) => {
                    unclaimed.0 = None;
                    return Err(fault.error());
                }
                // Nothing was opened there, or it is gone with its node.
                Err(RunError::Fleet(FleetError::SessionLost)) => {
                    unclaimed.0 = None;
                    tried.push(address);
                    continue;
                }
                Ok(_) => return Err(unexpected()),
                Err(error) => return Err(error),
            }
            if let Some(session) = unclaimed.0.take() {
                return Ok(session);
            }
        }
        Err(FleetError::Full { retry_after: place::LATER }.into())
    }

    /// The one with this id, if it was given out for this tenant.
    pub(super) async fn attach(
        shared: &Arc<Shared<B>>,
        tenant: &str,
        id: &str,
    ) -> Result<Option<RemoteSession<B>>, RunError> {
        let key = shared.config.session_key.as_ref();
        let Some(id) = key.and_then(|key| key.check(id, tenant)) else { return Ok(None) };
        let session = RemoteSession::new(shared, id, tenant);
        session.done(Wanted::Attach {}).await?;
        Ok(Some(session))
    }
}

/// A session that nobody has yet. If nobody waits for it any more, its node is told to end it.
struct Unclaimed<B: Bus>(Option<RemoteSession<B>>);

impl<B: Bus> Drop for Unclaimed<B> {
    fn drop(&mut self) {
        if let Some(session) = self.0.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move { session.close().await });
        }
    }
}

impl<B: Bus> RemoteSession<B> {
    /// Asks its node for something, once.
    async fn ask(
        &self,
        what: Wanted,
        body: Bytes,
        mut options: RunOptions,
        piece: Option<&Piece>,
    ) -> Result<Told, RunError> {
        self.check()?;
        let shared = &self.shared;
        let until = options.deadline.map(|at| shared.moment(at));
        let run = options.id.take().map_or_else(new_id, Ok)?;
        let artifacts = shared.wish(&options.artifacts);
        let claim = (artifacts == ArtifactWish::Keep).then(|| shared.claim(&run)).flatten();
        let (bytes, takes) = self.may.unwrap_or((u64::MAX, BOUND));
        let wall = piece.and_then(|piece| piece.wall_ms).map_or(takes, Duration::from_millis);
        let may = (bytes, takes.min(wall));
        let files =
            claim.as_ref().and_then(|_| shared.permit(&self.tenant, &run, self.id.address, may));
        let tools = piece.map_or(&[][..], |piece| &piece.tools);
        let ask = RunAsk {
            v: VERSION,
            run,
            gateway: shared.config.name.to_string(),
            tenant: self.tenant.clone(),
            ttl_ms: until.map(|until| {
                let left = until.saturating_sub(shared.config.clock.now());
                u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
            }),
            stream: options.chunks.is_some(),
            begun: options.begun.is_some(),
            tools: options.tools.is_some() && !tools.is_empty(),
            artifacts,
            files,
            memory_bytes: 0,
            session: Some(SessionOf { id: self.id.to_string(), what }),
            pieces: 0,
        };
        let mut caller = Caller::of(options, tools, BOUND);
        let ended = shared.attempt(self.id.address, &ask, &body, &mut caller).await;
        match ended {
            Ended::Answer(text) => {
                let told = serde_json::from_slice(&text).map_err(|_| unexpected())?;
                self.note(&told);
                match &told {
                    // It is the run that was asked for.
                    Told::Reply(reply) if reply.outcome.id != ask.run => Err(unexpected()),
                    _ => {
                        if let Some(claim) = claim {
                            claim.won(self.id.address);
                        }
                        Ok(told)
                    }
                }
            }
            Ended::Failed(error) => Err(error),
            Ended::Refused => Err(unexpected()),
            Ended::Nobody => Err(self.lost()),
            Ended::Cut { is_sent: true } if !is_harmless(&ask) => {
                Err(FleetError::WorkerLost.into())
            }
            Ended::Cut { .. } => Err(FleetError::Unreachable { retry_after: place::LATER }.into()),
            // Boxed: it asks once more.
            Ended::Lost => Err(Box::pin(self.confirm(&ask)).await),
        }
    }

    /// Nobody answers where the session was: it is over.
    fn lost(&self) -> RunError {
        self.shared.state().nodes.gone(self.id.address);
        self.over.get_or_init(|| Over::Lost).error()
    }

    /// Its node fell silent. It may be gone, or be there again in a moment.
    async fn confirm(&self, asked: &RunAsk) -> RunError {
        let is_attach = matches!(&asked.session, Some(SessionOf { what: Wanted::Attach {}, .. }));
        if is_attach {
            return FleetError::WorkerLost.into();
        }
        match self.done(Wanted::Attach {}).await {
            Err(error @ RunError::Fleet(FleetError::SessionLost)) => error,
            _ => FleetError::WorkerLost.into(),
        }
    }

    /// Keeps in mind that it is over, if its node says so.
    fn note(&self, told: &Told) {
        if let Told::Not(fault @ (Fault::Over { .. } | Fault::Unknown {})) = told
            && let RunError::Request(RequestError::SessionOver { why }) = fault.clone().error()
        {
            self.over.get_or_init(|| Over::Ended(why));
        }
    }

    /// Asks for something that has no answer but that it is done.
    async fn done(&self, what: Wanted) -> Result<(), RunError> {
        match self.ask(what, Bytes::new(), RunOptions::default(), None).await? {
            Told::Done {} => Ok(()),
            Told::Not(fault) => Err(fault.error()),
            _ => Err(unexpected()),
        }
    }
}

impl<B: Bus> SessionHandle for RemoteSession<B> {
    fn id(&self) -> Option<&str> {
        Some(self.id.as_str())
    }

    async fn run_with(&self, piece: Piece, options: RunOptions) -> Result<Reply, RunError> {
        let body = self.shared.body(&piece)?;
        match self.ask(Wanted::Run {}, body, options, Some(&piece)).await? {
            Told::Reply(reply) => Ok(*reply),
            Told::Not(fault) => Err(fault.error()),
            _ => Err(unexpected()),
        }
    }

    async fn variables(&self) -> Result<Variables, RunError> {
        match self.ask(Wanted::Variables {}, Bytes::new(), RunOptions::default(), None).await? {
            Told::Variables(variables) => Ok(variables),
            Told::Not(fault) => Err(fault.error()),
            _ => Err(unexpected()),
        }
    }

    async fn branch(&self) -> Result<RemoteSession<B>, RunError> {
        let id = self.shared.draw(self.id.address, &self.tenant)?;
        let to = id.to_string();
        let mut branch = RemoteSession::new(&self.shared, id, &self.tenant);
        branch.may = self.may;
        let mut unclaimed = Unclaimed(Some(branch));
        let branched = self.done(Wanted::Branch { to }).await;
        let branch = unclaimed.0.take();
        branched?;
        branch.ok_or_else(unexpected)
    }

    async fn checkpoint(&self, name: &str) -> Result<(), RunError> {
        self.done(Wanted::Checkpoint { name: name.into() }).await
    }

    async fn rollback(&self, name: &str) -> Result<(), RunError> {
        self.done(Wanted::Rollback { name: name.into() }).await
    }

    async fn checkpoints(&self) -> Result<Vec<String>, RunError> {
        match self.ask(Wanted::Checkpoints {}, Bytes::new(), RunOptions::default(), None).await? {
            Told::Checkpoints { names } => Ok(names),
            Told::Not(fault) => Err(fault.error()),
            _ => Err(unexpected()),
        }
    }

    async fn drop_checkpoint(&self, name: &str) -> Result<(), RunError> {
        self.done(Wanted::Drop { name: name.into() }).await
    }

    async fn close(&self) {
        // One that is over already, or cannot be reached, is left to its node.
        self.done(Wanted::Close {}).await.ok();
    }

    async fn leave(&self) {}

    async fn refresh(&self) {
        self.done(Wanted::Attach {}).await.ok();
    }

    fn check(&self) -> Result<(), RunError> {
        self.over.get().map_or(Ok(()), |over| Err(over.error()))
    }
}

/// Whether it changes nothing in its session, so that it does not matter if it was done.
fn is_harmless(ask: &RunAsk) -> bool {
    ask.session.as_ref().is_some_and(|of| {
        matches!(of.what, Wanted::Attach {} | Wanted::Variables {} | Wanted::Checkpoints {})
    })
}

fn unexpected() -> RunError {
    broken("it answered something else than it was asked")
}
