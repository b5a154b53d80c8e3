//! `POST /mcp`: MCP for a tenant, behind the same keys, quotas and checks as everything else here.
//!
//! There are no sessions of the protocol's: each request says all that is needed to answer it. A call is a run of the
//! tenant's like any other, counted, listed and cancelled as one; so are sessions, which a model knows by their ids, and
//! files that runs left.

use std::sync::Arc;
use std::time::Instant;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::ALLOW;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use carboy_engine::{Sessions, new_id};
use carboy_protocol::pipe::{FailureKind, RunFailure};
use carboy_protocol::{
    Artifact, ArtifactWish, Job, Opening, Outcome, Piece, Reply, SessionAsk, Walls,
};
use http_body_util::Full;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::body;
use super::config::Scope;
use super::door::Door;
use super::entry::Caller;
use super::problem::Problem;
use super::run::Run;
use super::sessions::{self, Unclaimed};
use super::sessions_found::find;
use super::sessions_held::Kept as HeldSession;
use super::shelf::Found;
use super::tenant_tools;
use crate::desk::{End, Event, Order, Work};
use crate::mcp::{About, Handler, Kept, Place};

/// The longest file that a model reads from: it is in memory meanwhile.
const MOST_READ: u64 = 16 << 20;

/// `POST /mcp`
pub(super) async fn post<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Problem> {
    caller.needs(Scope::Run)?;
    let (parts, body) = request.into_parts();
    let whole = Request::from_parts(parts.clone(), body);
    // It counts as the tenant's until it is answered.
    let (bytes, _room) = body::read(&door, &caller, whole).await?;
    let gone = CancellationToken::new();
    let mut job = Job::new("").with_policy(caller.tenant.ceiling.clone());
    tenant_tools::offer(&door.tools[caller.tenant.number], &mut job.tools)?;
    let place = Arc::new(OfTenant {
        about: About {
            job,
            python: door.python.to_string(),
            preloads: door.preloads.clone(),
            // Records leave out sessions, so a server that keeps them has none.
            sessions: caller.tenant.sessions_at_once > 0
                && caller.tenant.ceiling.walls == Walls::Full
                && door.records.get().is_err(),
            files: caller.needs(Scope::Read).is_ok(),
        },
        gone: gone.clone(),
        door: door.clone(),
        caller,
    });
    // Whoever does not wait any more has nothing run.
    let _gone = gone.drop_guard();
    // Host and origin have been looked at, with the door's own settings.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(None)
        .with_sse_retry(None)
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(door.bounds.body_bytes);
    let service = StreamableHttpService::new(
        move || Ok(Handler::new(place.clone())),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    let answer = service.handle(Request::from_parts(parts, Full::new(Bytes::from(bytes)))).await;
    Ok(answer.map(Body::new))
}

/// Other methods: streams that a server opens, and the protocol's sessions, are not offered.
pub(super) async fn other() -> Response {
    let mut response = Problem::method().into_response();
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    response
}

/// Where the calls of one request are carried out.
struct OfTenant<R: Sessions> {
    door: Arc<Door<R>>,
    caller: Caller,
    about: About,
    gone: CancellationToken,
}

impl<R: Sessions> Place for OfTenant<R> {
    fn about(&self) -> &About {
        &self.about
    }

    async fn run(&self, job: Job, stop: &CancellationToken) -> Result<Outcome, RunFailure> {
        let run =
            self.begin(Work::Job(Box::new(job)), None).await.map_err(|why| self.refused(&why))?;
        match self.end_of(run, stop).await? {
            End::Outcome(outcome) => Ok(*outcome),
            _ => Err(self.refused(&Problem::engine())),
        }
    }

    fn files(&self, run: &str) -> Option<Vec<Artifact>> {
        self.door.shelves.of(self.caller.tenant.number).list(run)
    }

    async fn file(&self, run: &str, path: &str) -> Result<Option<Kept>, RunFailure> {
        let found = self.door.shelves.of(self.caller.tenant.number).find(run, path);
        let Some(found) = found else { return Ok(None) };
        let kept = self.read(found).await.map_err(|why| self.refused(&why))?;
        Ok(Some(kept))
    }

    async fn run_in(
        &self,
        session: &str,
        piece: Piece,
        stop: &CancellationToken,
    ) -> Result<Reply, RunFailure> {
        let begun = async {
            let mut piece = piece;
            tenant_tools::offer(&self.door.tools[self.caller.tenant.number], &mut piece.tools)?;
            let kept = self.session(session).await?;
            self.begin(Work::Piece(kept.number, Box::new(piece)), Some(&kept)).await
        };
        let run = begun.await.map_err(|why| self.refused(&why))?;
        match self.end_of(run, stop).await? {
            End::Reply(reply) => Ok(*reply),
            _ => Err(self.refused(&Problem::engine())),
        }
    }

    async fn open(
        &self,
        mut opening: Opening,
        stop: &CancellationToken,
    ) -> Result<String, RunFailure> {
        // A session has no child processes, whatever the ceiling of a run.
        opening.policy.limits.processes = 0;
        let opened = async {
            sessions::lease_session(&self.door, &self.caller).await;
            let unclaimed = Unclaimed::new(&self.door, &self.caller, None)?;
            sessions::opened(&self.caller, unclaimed, opening).await
        };
        Ok(self.done(opened, stop).await?.id.clone())
    }

    async fn branch(&self, of: &str, stop: &CancellationToken) -> Result<String, RunFailure> {
        let branched = async {
            let kept = self.session(of).await?;
            sessions::branched(&self.door, &self.caller, &kept.id).await
        };
        Ok(self.done(branched, stop).await?.id.clone())
    }

    async fn ask(
        &self,
        session: &str,
        ask: SessionAsk,
        stop: &CancellationToken,
    ) -> Result<(), RunFailure> {
        let asked = async {
            let kept = self.session(session).await?;
            if matches!(ask, SessionAsk::Close {}) {
                return sessions::closed(&self.door, &self.caller, &kept.id).await;
            }
            sessions::of(&self.door, &self.caller, &kept, ask).await.map(drop)
        };
        self.done(asked, stop).await
    }
}

impl<R: Sessions> OfTenant<R> {
    /// What comes of something, unless nobody waits for it any more.
    async fn done<T>(
        &self,
        work: impl Future<Output = Result<T, Problem>>,
        stop: &CancellationToken,
    ) -> Result<T, RunFailure> {
        tokio::select! {
            done = work => done.map_err(|problem| self.refused(&problem)),
            () = stop.cancelled() => Err(left()),
            () = self.gone.cancelled() => Err(left()),
        }
    }

    /// The session of this name, in words for a model if there is none.
    async fn session(&self, name: &str) -> Result<Arc<HeldSession>, Problem> {
        let found = find(&self.door, &self.caller, name).await;
        found.map_err(|problem| match problem.code {
            "not_found" => Problem::request(format_args!("there is no session `{name}`"))
                .hint("`session_open` opens one and gives its name"),
            _ => problem,
        })
    }

    /// How a run ended.
    async fn end_of(&self, mut run: Run<R>, stop: &CancellationToken) -> Result<End, RunFailure> {
        loop {
            let event = tokio::select! {
                event = run.next() => event,
                () = stop.cancelled() => return Err(left()),
                () = self.gone.cancelled() => return Err(left()),
            };
            match event {
                Some(Event::Ended(ended)) => {
                    let end = match &ended {
                        Ok(End::Outcome(outcome)) => Some(End::Outcome(outcome.clone())),
                        Ok(End::Reply(reply)) => Some(End::Reply(reply.clone())),
                        _ => None,
                    };
                    let told = run.end(ended).await.map_err(|problem| self.refused(&problem))?;
                    drop(told);
                    return end.ok_or_else(|| self.refused(&Problem::engine()));
                }
                Some(_) => {}
                None => return Err(self.refused(&Problem::engine())),
            }
        }
    }

    async fn begin(
        &self,
        work: Work,
        session: Option<&Arc<HeldSession>>,
    ) -> Result<Run<R>, Problem> {
        let (door, caller) = (&self.door, &self.caller);
        let id = new_id().map_err(|error| door.problem(&caller.request, &error.into()))?;
        caller.tenant.lease_run().await;
        let ticket = caller.tenant.admit(id.clone(), Instant::now())?;
        let room = door.memory.take(caller.tenant.number, 0).ok_or_else(Problem::memory)?;
        let doing = session.map(|session| session.begin(id.clone())).transpose()?;
        let order = Order {
            work,
            id: Some(id.clone()),
            stream: false,
            begun: None,
            tenant: caller.tenant.name.clone(),
            deadline: None,
            // Nothing here reads what is in a store, and it would count for the tenant.
            artifacts: match door.stored {
                Some(_) => ArtifactWish::List,
                None => ArtifactWish::Keep,
            },
        };
        let shelf = door.shelves.of(caller.tenant.number).clone();
        let started = door.desk.start_keeping(id.clone(), order, Some(shelf));
        let under_way = started.map_err(|_taken| Problem::engine())?;
        // Whoever told it to end found no run at the desk if that was a moment ago.
        if ticket.stop().is_some() {
            door.desk.cancel(&id);
        }
        let run = Run::new(door.clone(), under_way, ticket, caller.clone(), (room, vec![]));
        Ok(match doing {
            Some(doing) => run.in_session(doing),
            None => run,
        })
    }

    /// The content of a file, which counts as the tenant's memory while it is read.
    async fn read(&self, found: Found) -> Result<Kept, Problem> {
        let artifact = found.artifact.clone();
        if artifact.bytes > MOST_READ {
            let detail =
                format!("the file has {} bytes, at most {MOST_READ} are read", artifact.bytes);
            return Err(Problem::request(detail)
                .hint("read it with code where it is made, and print what matters"));
        }
        let count = artifact.bytes as usize;
        let room = self.door.memory.take(self.caller.tenant.number, count);
        let _room = room.ok_or_else(Problem::memory)?;
        let reading = tokio::task::spawn_blocking(move || found.read(0, count));
        let read = reading.await.map_err(|_panic| Problem::engine())?;
        let content = read.map_err(|_lost| Problem::engine())?;
        Ok(Kept { artifact, content: content.into() })
    }

    /// A problem as a model is told of it. It counts as one.
    fn refused(&self, problem: &Problem) -> RunFailure {
        self.door.metrics.problem(problem.code);
        let (message, hint) = problem.words();
        RunFailure { kind: FailureKind::Request, message, causes: vec![], hint }
    }
}

fn left() -> RunFailure {
    let message = "the run was cancelled".into();
    RunFailure { kind: FailureKind::Cancelled, message, causes: vec![], hint: None }
}
