//! Runs of a session: as `POST /v1/runs` has them, with a state that is kept.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use carboy_engine::Sessions;
use carboy_protocol::Piece;
use tokio::sync::oneshot;

use super::config::Scope;
use super::door::Door;
use super::entry::Caller;
use super::name::Named;
use super::problem::Problem;
use super::repeat::{self, Repeat};
use super::runs::{Started, admit, check_tools, go, respond, wants_events};
use super::sessions_found::find;
use super::tenant_tools;
use crate::desk::Work;

/// `POST /v1/sessions/{id}/runs`: runs code, and answers with its outcome and what is left of the state, or with
/// everything as it comes.
pub(super) async fn start<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Named(session): Named<String>,
    request: Request,
) -> Response {
    let streams = wants_events(request.headers());
    let (tell, begun) = oneshot::channel();
    let started = begin(door, &caller, &session, request, streams.then_some(tell)).await;
    respond(started, streams.then_some(begun)).await
}

type Posted = (Piece, Option<[u8; 32]>);

fn posted_once(bytes: &[u8]) -> serde_json::Result<Posted> {
    Ok((serde_json::from_slice(bytes)?, None))
}

/// A piece, and what its request is known by if it is sent again.
fn posted_again(bytes: &[u8]) -> serde_json::Result<Posted> {
    Ok((serde_json::from_slice(bytes)?, Some(repeat::digest(bytes))))
}

async fn begin<R: Sessions>(
    door: Arc<Door<R>>,
    caller: &Caller,
    session: &str,
    request: Request,
    begun: Option<oneshot::Sender<()>>,
) -> Result<Started<R>, Problem> {
    caller.needs(Scope::Run)?;
    let repeat = Repeat::of(&request, begun.is_some())?;
    // Also of a session that is over by now: what ran in it is known.
    let request = match repeat.answered(&door, caller, request).await? {
        Ok((response, id)) => return Ok(Started::Again(response, id)),
        Err(request) => request,
    };
    find(&door, caller, session).await?;
    let parser = if repeat.has_key() { posted_again } else { posted_once };
    let (mut admitted, (mut piece, body)) = admit(&door, caller, request, parser).await?;
    check_tools(&piece.tools, begun.is_some())?;
    tenant_tools::offer(&door.tools[caller.tenant.number], &mut piece.tools)?;
    // It may have ended while the body came.
    let kept = find(&door, caller, session).await?;
    let doing = kept.begin(admitted.id.clone())?;
    if let Err(taken) = repeat.take(&mut admitted.ticket, body) {
        admitted.undo();
        let (response, id) = repeat.taken(&door, caller, taken, body).await?;
        return Ok(Started::Again(response, id));
    }
    let work = Work::Piece(kept.number, Box::new(piece));
    let (run, id) = go(door, caller, admitted, work, begun)?;
    Ok(Started::Run(Box::new(run.in_session(doing)), id))
}
