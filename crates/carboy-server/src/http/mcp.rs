//! `POST /mcp`: MCP for a tenant, behind the same keys, quotas and checks as everything else here.
//!
//! There are no sessions of the protocol's: each request says all that is needed to answer it. A call is a run of the
//! tenant's like any other, counted, listed and cancelled as one.

use std::sync::Arc;
use std::time::Instant;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::ALLOW;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use carboy_engine::{Runner, new_id};
use carboy_protocol::pipe::{FailureKind, RunFailure};
use carboy_protocol::{ArtifactWish, Job, Outcome};
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
use super::tenant_tools;
use crate::desk::{End, Event, Order, Work};
use crate::mcp::{About, Handler, Place};

/// `POST /mcp`
pub(super) async fn post<R: Runner>(
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
            sessions: false,
            files: false,
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
struct OfTenant<R: Runner> {
    door: Arc<Door<R>>,
    caller: Caller,
    about: About,
    gone: CancellationToken,
}

impl<R: Runner> Place for OfTenant<R> {
    fn about(&self) -> &About {
        &self.about
    }

    async fn run(&self, job: Job, stop: &CancellationToken) -> Result<Outcome, RunFailure> {
        let mut run = self.begin(job).map_err(|problem| self.refused(&problem))?;
        loop {
            let event = tokio::select! {
                event = run.next() => event,
                () = stop.cancelled() => return Err(left()),
                () = self.gone.cancelled() => return Err(left()),
            };
            match event {
                Some(Event::Ended(ended)) => {
                    let outcome = match &ended {
                        Ok(End::Outcome(outcome)) => Some(outcome.clone()),
                        _ => None,
                    };
                    let told = run.end(ended).await.map_err(|problem| self.refused(&problem))?;
                    drop(told);
                    return outcome
                        .map(|outcome| *outcome)
                        .ok_or_else(|| self.refused(&Problem::engine()));
                }
                Some(_) => {}
                None => return Err(self.refused(&Problem::engine())),
            }
        }
    }
}

impl<R: Runner> OfTenant<R> {
    fn begin(&self, job: Job) -> Result<Run<R>, Problem> {
        let (door, caller) = (&self.door, &self.caller);
        let id = new_id().map_err(|error| door.problem(&caller.request, &error.into()))?;
        let ticket = caller.tenant.admit(id.clone(), Instant::now())?;
        let room = door.memory.take(caller.tenant.number, 0).ok_or_else(Problem::memory)?;
        let order = Order {
            work: Work::Job(Box::new(job)),
            id: Some(id.clone()),
            stream: false,
            begun: None,
            tenant: caller.tenant.name.clone(),
            deadline: None,
            artifacts: ArtifactWish::List,
        };
        let under_way = door.desk.start(id.clone(), order).map_err(|_taken| Problem::engine())?;
        // Whoever told it to end found no run at the desk if that was a moment ago.
        if ticket.stop().is_some() {
            door.desk.cancel(&id);
        }
        Ok(Run::new(door.clone(), under_way, ticket, caller.clone(), room))
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
