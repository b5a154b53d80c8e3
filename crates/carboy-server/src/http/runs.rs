//! Runs: start one and hear what came of it, look at one, end one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, HeaderName};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use carboy_engine::{Sessions, new_id};
use carboy_protocol::{ArtifactWish, FileSource, Job, Policy, Tool};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::json;
use tokio::sync::oneshot;

use super::body;
use super::config::Scope;
use super::door::Door;
use super::entry::Caller;
use super::known::{End, Known};
use super::name::Named;
use super::pieces::Pieces;
use super::problem::Problem;
use super::repeat::{self, Repeat};
use super::run::{Run, answer, json_bytes};
use super::shares::Share;
use super::stream;
use super::tenant::Ticket;
use super::tenant_tools;
use super::uploading;
use super::uploads::Uploaded;
use super::wishes::Wishes;
use crate::desk::{Event, Order, Work};

const RUN: HeaderName = HeaderName::from_static("carboy-run");

/// `POST /v1/runs`: runs a job, and answers with its outcome or with everything as it comes.
pub(super) async fn start<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let streams = wants_events(request.headers());
    let (tell, begun) = oneshot::channel();
    let started = begin(door, &caller, request, streams.then_some(tell)).await;
    respond(started, streams.then_some(begun)).await
}

/// What a request for a run came to.
pub(super) enum Started<R: Sessions> {
    /// A run, and its id.
    Run(Box<Run<R>>, String),
    /// The answer of a run that the same request began before.
    Again(Response, String),
}

/// The answer of a run: its end, or everything as it comes to whoever waits for it to begin.
pub(super) async fn respond<R: Sessions>(
    started: Result<Started<R>, Problem>,
    begun: Option<oneshot::Receiver<()>>,
) -> Response {
    let (mut run, id) = match started {
        Ok(Started::Run(run, id)) => (*run, id),
        Ok(Started::Again(response, id)) => return named(response, id),
        Err(problem) => return problem.into_response(),
    };
    let response = match begun {
        Some(begun) => stream::answer(run, id.clone(), begun).await,
        None if run.may_be_asked_for_again() => repeat::to_its_end(run).await,
        None => loop {
            match run.next().await {
                Some(Event::Ended(ended)) => break answer(run.end(ended).await),
                Some(_) => {}
                None => break Problem::engine().into_response(),
            }
        },
    };
    named(response, id)
}

fn named(mut response: Response, id: String) -> Response {
    if let Ok(id) = HeaderValue::try_from(id) {
        response.headers_mut().insert(RUN, id);
    }
    response
}

pub(super) fn wants_events(headers: &HeaderMap) -> bool {
    let kinds = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    kinds.flat_map(|kinds| kinds.split(',')).any(|kind| {
        kind.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case("text/event-stream")
    })
}

/// A job or a session, and whether it names a policy.
pub(super) fn posted<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<(T, bool)> {
    #[derive(Deserialize)]
    struct Named {
        #[serde(default)]
        policy: Option<IgnoredAny>,
    }
    let job = serde_json::from_slice(bytes)?;
    let named: Named = serde_json::from_slice(bytes)?;
    Ok((job, named.policy.is_some()))
}

async fn begin<R: Sessions>(
    door: Arc<Door<R>>,
    caller: &Caller,
    request: Request,
    begun: Option<oneshot::Sender<()>>,
) -> Result<Started<R>, Problem> {
    caller.needs(Scope::Run)?;
    let repeat = Repeat::of(&request, begun.is_some())?;
    let request = match repeat.answered(&door, caller, request).await? {
        Ok((response, id)) => return Ok(Started::Again(response, id)),
        Err(request) => request,
    };
    let parser = if repeat.has_key() { posted_again } else { posted_once };
    let (mut admitted, ((mut job, has_policy), body)) =
        admit(&door, caller, request, parser).await?;
    check_files(&job.files, &job.mounts)?;
    check_tools(&job.tools, begun.is_some())?;
    tenant_tools::offer(&door.tools[caller.tenant.number], &mut job.tools)?;
    job.policy = lowered(&door, caller, job.policy, has_policy)?;
    let room = &mut admitted.room;
    match uploading::hand_in(&door, caller, &mut job.files, &mut job.policy, room).await {
        Ok(uploads) => admitted.uploads = uploads,
        Err(problem) => {
            admitted.undo();
            return Err(problem);
        }
    }
    if let Err(taken) = repeat.take(&mut admitted.ticket, body) {
        admitted.undo();
        let (response, id) = repeat.taken(&door, caller, taken, body).await?;
        return Ok(Started::Again(response, id));
    }
    let (run, id) = go(door, caller, admitted, Work::Job(Box::new(job)), begun)?;
    Ok(Started::Run(Box::new(run), id))
}

type Posted = ((Job, bool), Option<[u8; 32]>);

fn posted_once(bytes: &[u8]) -> serde_json::Result<Posted> {
    Ok((posted(bytes)?, None))
}

/// A job, and what its request is known by if it is sent again.
fn posted_again(bytes: &[u8]) -> serde_json::Result<Posted> {
    Ok((posted(bytes)?, Some(repeat::digest(bytes))))
}

/// A run that has a place among its tenant's.
pub(super) struct Admitted {
    pub id: String,
    pub(super) ticket: Ticket,
    room: Share,
    deadline: Option<Instant>,
    artifacts: ArtifactWish,
    /// Uploaded files that it is given.
    uploads: Vec<Arc<Uploaded>>,
}

impl Admitted {
    /// There is no such run, and never was. What its body takes is given back with the share.
    pub fn withdraw(self) -> (String, Share) {
        self.ticket.withdraw();
        (self.id, self.room)
    }

    /// The same where its client has to ask again, or is answered with another run: it counts in no rate.
    pub fn undo(self) {
        self.ticket.undo();
    }
}

/// Takes a place for a run and reads its body.
pub(super) async fn admit<R: Sessions, T: Send + 'static>(
    door: &Door<R>,
    caller: &Caller,
    request: Request,
    parser: fn(&[u8]) -> serde_json::Result<T>,
) -> Result<(Admitted, T), Problem> {
    let wishes = Wishes::of(request.uri().query().unwrap_or(""))?;
    let now = Instant::now();
    let deadline = match wishes.deadline {
        Some(time) => {
            Some(now.checked_add(time).ok_or_else(|| Problem::request("deadline_ms is too far"))?)
        }
        None => None,
    };
    let id = new_id().map_err(|error| door.problem(&caller.request, &error.into()))?;
    caller.tenant.lease_run().await;
    // Before its body is read: what one tenant can make this process hold is bounded with its runs.
    let ticket = caller.tenant.admit(id.clone(), now)?;
    let reading = async {
        let (bytes, room) = body::read(door, caller, request).await?;
        body::parse(door, bytes, room, parser).await
    };
    let (read, room) = tokio::select! {
        biased;
        stop = ticket.stopped() => return Err(stop.problem()),
        read = reading => read?,
    };
    Ok((
        Admitted { id, ticket, room, deadline, artifacts: wishes.artifacts, uploads: vec![] },
        read,
    ))
}

/// What a caller gets who asks for a policy, or for none.
pub(super) fn lowered<R: Sessions>(
    door: &Door<R>,
    caller: &Caller,
    policy: Policy,
    is_named: bool,
) -> Result<Policy, Problem> {
    let ceiling = &caller.tenant.ceiling;
    if !is_named {
        return Ok(ceiling.clone());
    }
    let wrong =
        |faults| door.problem(&caller.request, &carboy_engine::RequestError::Policy(faults).into());
    policy.validate().map_err(wrong)?;
    Ok(policy.within(ceiling))
}

/// Starts what was admitted.
pub(super) fn go<R: Sessions>(
    door: Arc<Door<R>>,
    caller: &Caller,
    admitted: Admitted,
    work: Work,
    begun: Option<oneshot::Sender<()>>,
) -> Result<(Run<R>, String), Problem> {
    let Admitted { id, ticket, room, deadline, artifacts, uploads } = admitted;
    let order = Order {
        work,
        id: Some(id.clone()),
        stream: begun.is_some(),
        begun,
        tenant: caller.tenant.name.clone(),
        deadline,
        artifacts,
    };
    let shelf = door.shelves.of(caller.tenant.number).clone();
    let started = door.desk.start_keeping(id.clone(), order, Some(shelf));
    let under_way = started.map_err(|_taken| Problem::engine())?;
    // Whoever told it to end found no run at the desk if that was a moment ago.
    if ticket.stop().is_some() {
        door.desk.cancel(&id);
    }
    Ok((Run::new(door, under_way, ticket, caller.clone(), (room, uploads)), id))
}

/// What a caller on another host cannot hand in.
pub(super) fn check_files(
    files: &BTreeMap<String, FileSource>,
    mounts: &BTreeMap<String, String>,
) -> Result<(), Problem> {
    let on_host = files.values().any(|source| matches!(source, FileSource::Path(_)));
    if on_host || !mounts.is_empty() {
        return Err(Problem::request("files of the server's host cannot be handed to a run")
            .hint("send their content: {\"files\": {\"a.csv\": {\"text\": \"...\"}}}, or base64, or name one that was uploaded: {\"sha256\": \"...\"}"));
    }
    Ok(())
}

/// Who offers tools must hear of their calls.
pub(super) fn check_tools(tools: &[Tool], hears_calls: bool) -> Result<(), Problem> {
    if !tools.is_empty() && !hears_calls {
        return Err(Problem::request("a run with tools must be able to tell of its calls")
            .hint("send `Accept: text/event-stream`, and answer at /v1/runs/{id}/answers"));
    }
    Ok(())
}

/// `GET /v1/runs`: the caller's runs, those under way and those that ended a short time ago.
pub(super) async fn list<R: Sessions>(
    State(_): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    caller.needs(Scope::Read)?;
    let (under_way, ended) = caller.tenant.runs();
    let under_way: Vec<_> = under_way
        .into_iter()
        .map(|(id, time)| json!({ "id": id, "ms": time.as_secs_f64() * 1e3 }))
        .collect();
    Ok(json_bytes(json!({ "under_way": under_way, "ended": ended }).to_string()))
}

/// `GET /v1/runs/{id}`: how far a run is, or how it ended.
pub(super) async fn look<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named<String>,
) -> Result<Response, Problem> {
    caller.needs(Scope::Read)?;
    let known = caller.tenant.known(&id).ok_or_else(|| Problem::no("run"))?;
    told(&door, &caller, &id, known)
}

/// `DELETE /v1/runs/{id}`: ends a run. Whoever started it is told how it ended.
pub(super) async fn end<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named<String>,
) -> Result<Response, Problem> {
    caller.needs(Scope::Run)?;
    ended(&door, &caller, &id)
}

/// `DELETE /v1/runs`: ends the run of an `Idempotency-Key`, also if its request has not come yet.
pub(super) async fn end_of_key<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    caller.needs(Scope::Run)?;
    let none = || {
        Problem::request("it is not said which run is to be ended")
            .hint("name the Idempotency-Key of its request, or use /v1/runs/{id}")
    };
    let key = repeat::key(&headers)?.ok_or_else(none)?;
    match caller.tenant.end_key(&key) {
        Some(id) => ended(&door, &caller, &id),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

/// Ends a run of the caller's, if it is not over, and says how it stood.
fn ended<R: Sessions>(door: &Door<R>, caller: &Caller, id: &str) -> Result<Response, Problem> {
    let known = caller.tenant.known(id).ok_or_else(|| Problem::no("run"))?;
    let is_under_way = matches!(known, Known::UnderWay(_));
    if is_under_way {
        caller.tenant.stop(id);
        door.desk.cancel(&id.to_owned());
    }
    let mut response = told(door, caller, id, known)?;
    if is_under_way {
        *response.status_mut() = StatusCode::ACCEPTED;
    }
    Ok(response)
}

/// What is known of a run. `id` is one of ours.
fn told<R: Sessions>(
    door: &Door<R>,
    caller: &Caller,
    id: &str,
    known: Known,
) -> Result<Response, Problem> {
    let (state, name, rest) = match known {
        Known::UnderWay(time) => ("under_way", "ms", (time.as_secs_f64() * 1e3).to_string().into()),
        Known::Ended(End::Outcome(text)) => ("ended", "outcome", text),
        Known::Ended(End::Failed(problem)) => ("failed", "problem", problem.json().into()),
        Known::Ended(End::Abandoned) => ("abandoned", "outcome", Bytes::from_static(b"null")),
    };
    caller.may_answer_with(door, rest.len())?;
    let head = format!(r#"{{"id":"{id}","state":"{state}","{name}":"#);
    let pieces = [head.into(), rest, Bytes::from_static(b"}")];
    Ok(json_bytes(Body::new(Pieces::new(pieces))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_that_is_not_there_is_told_from_an_empty_one() {
        let named = |text: &str| posted::<Job>(text.as_bytes()).ok().map(|(_, named)| named);
        assert_eq!(named(r#"{"code": ""}"#), Some(false));
        assert_eq!(named(r#"{"code": "", "policy": {}}"#), Some(true));
        assert_eq!(named(r#"{"code": "", "policy": null}"#), None);
        assert_eq!(named(r#"{"code": "", "more": 1}"#), None);
    }
}
