//! Runs of a session: as `POST /v1/runs` has them, with a state that is kept.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use carboy_engine::Sessions;
use carboy_protocol::Piece;
use tokio::sync::oneshot;

use super::config::Scope;
use super::door::Door;
use super::entry::Caller;
use super::problem::Problem;
use super::run::Run;
use super::runs::{admit, check_tools, go, respond, wants_events};
use super::sessions_found::find;
use super::tenant_tools;
use crate::desk::Work;

/// `POST /v1/sessions/{id}/runs`: runs code, and answers with its outcome and what is left of the state, or with
/// everything as it comes.
pub(super) async fn start<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Path(session): Path<String>,
    request: Request,
) -> Response {
    let streams = wants_events(request.headers());
    let (tell, begun) = oneshot::channel();
    let started = begin(door, &caller, &session, request, streams.then_some(tell)).await;
    match started {
        Ok((run, id)) => respond(run, id, streams.then_some(begun)).await,
        Err(problem) => problem.into_response(),
    }
}

async fn begin<R: Sessions>(
    door: Arc<Door<R>>,
    caller: &Caller,
    session: &str,
    request: Request,
    begun: Option<oneshot::Sender<()>>,
) -> Result<(Run<R>, String), Problem> {
    caller.needs(Scope::Run)?;
    find(&door, caller, session).await?;
    let parser = |bytes: &[u8]| serde_json::from_slice::<Piece>(bytes);
    let (admitted, mut piece) = admit(&door, caller, request, parser).await?;
    check_tools(&piece.tools, begun.is_some())?;
    tenant_tools::offer(&door.tools[caller.tenant.number], &mut piece.tools)?;
    // It may have ended while the body came.
    let kept = find(&door, caller, session).await?;
    let doing = kept.begin(admitted.id.clone())?;
    let work = Work::Piece(kept.number, Box::new(piece));
    let (run, id) = go(door, caller, admitted, work, begun)?;
    Ok((run.in_session(doing), id))
}
