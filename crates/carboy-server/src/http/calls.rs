//! Answers to the calls of tools that a run's client was told of.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use carboy_engine::{Answer, Sessions};
use carboy_protocol::ToolFault;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::body;
use super::config::Scope;
use super::door::Door;
use super::entry::Caller;
use super::known::Known;
use super::name::Named;
use super::problem::Problem;

/// What came of a call, as on the pipe.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answered {
    call: u64,
    #[serde(default)]
    result: Option<Box<RawValue>>,
    #[serde(default)]
    error: Option<ToolFault>,
}

/// `POST /v1/runs/{id}/answers`: answers a call that a run waits for.
pub(super) async fn answer<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named<String>,
    request: Request,
) -> Result<StatusCode, Problem> {
    caller.needs(Scope::Run)?;
    if !matches!(caller.tenant.known(&id), Some(Known::UnderWay(_))) {
        return Err(Problem::no("run"));
    }
    let (bytes, room) = body::read(&door, &caller, request).await?;
    let (answered, room) =
        body::parse(&door, bytes, room, |bytes| serde_json::from_slice(bytes)).await?;
    let Answered { call, result, error } = answered;
    // A jar may leave its answers unread: they count until its end.
    match caller.tenant.answers(&id, call, room) {
        Some(true) => {}
        Some(false) => {
            let detail = format!("the run does not wait for an answer to call {call}");
            return Err(Problem::new(StatusCode::CONFLICT, "call", detail)
                .hint("answer each event `call` once, with its number"));
        }
        None => return Err(Problem::no("run")),
    }
    door.desk.answer(&id, Answer { call, result: error.map_or(Ok(result), Err) });
    Ok(StatusCode::NO_CONTENT)
}
