//! Durable jobs over HTTP: submit one and go away, ask for its end later, or be told by a webhook.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, Request, State};
use axum::http::header::LOCATION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use carboy_engine::Sessions;
use carboy_protocol::{FileSource, Job, visible_json};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::config::Scope;
use super::door::Door;
use super::durable::{JobSeen, JobState, JobsFault, NewJob};
use super::entry::Caller;
use super::name::Named;
use super::pieces::Pieces;
use super::problem::Problem;
use super::repeat;
use super::run::json_bytes;
use super::runs;
use super::webhook;

/// How many of a list are given if nobody says how many, and at most.
const USUAL: usize = 50;
const MOST: usize = 200;

/// The longest that a request may wait for the end of a job.
const WAIT: Duration = Duration::from_secs(30);

/// What is posted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Posted {
    job: Box<RawValue>,
    #[serde(default)]
    webhook: Option<String>,
}

type Read = (Job, bool, Option<String>, [u8; 32]);

fn read(bytes: &[u8]) -> serde_json::Result<Read> {
    let Posted { job, webhook } = serde_json::from_slice(bytes)?;
    let (job, has_policy) = runs::posted(job.get().as_bytes())?;
    Ok((job, has_policy, webhook, repeat::digest(bytes)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The id of the job that a client's key belongs to: the same on every server of a fleet.
fn id_of(tenant: &str, key: &str) -> String {
    let mut digest = Sha256::new();
    digest.update(b"carboy job\0");
    digest.update(tenant.as_bytes());
    digest.update(b"\0");
    digest.update(key.as_bytes());
    hex(&digest.finalize()[..16])
}

/// `POST /v1/jobs`: takes a job, and answers before it runs.
pub(super) async fn submit<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Problem> {
    caller.needs(Scope::Run)?;
    let jobs = door.jobs.get()?;
    if request.uri().query().is_some_and(|query| !query.is_empty()) {
        return Err(Problem::request("the query has a part that is not known here")
            .hint("a job has no deadline, and its files are listed"));
    }
    let key = repeat::key(request.headers())?;
    // It counts as a run until it is queued, so that the tenant's rates hold.
    let (admitted, read) = runs::admit(&door, &caller, request, read).await?;
    let (job, has_policy, webhook, digest) = read;
    let new = checked(&door, &caller, job, has_policy, webhook.as_deref());
    let (id, room) = admitted.withdraw();
    let new = NewJob {
        id: key.map_or(id, |key| id_of(&caller.tenant.name, &key)),
        tenant: caller.tenant.name.clone(),
        digest: hex(&digest),
        webhook,
        job: new?,
    };
    let id = new.id.clone();
    let is_new = jobs.submit(new).await.map_err(JobsFault::problem)?;
    drop(room);
    let mut response = json_bytes(json!({ "id": id, "state": "accepted" }).to_string());
    *response.status_mut() = StatusCode::ACCEPTED;
    let headers = response.headers_mut();
    let place = HeaderValue::try_from(format!("/v1/jobs/{id}"));
    headers.insert(LOCATION, place.map_err(|_wrong| Problem::engine())?);
    if !is_new {
        headers.insert(repeat::REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// The job as it may be run, or why it may not be queued.
fn checked<R: Sessions>(
    door: &Door<R>,
    caller: &Caller,
    mut job: Job,
    has_policy: bool,
    webhook: Option<&str>,
) -> Result<Job, Problem> {
    runs::check_files(&job.files, &job.mounts)?;
    if job.files.values().any(|source| matches!(source, FileSource::Sha256(_))) {
        return Err(Problem::request("a job cannot be given files that were uploaded")
            .hint("send their content with the job, or run it with POST /v1/runs"));
    }
    if !job.tools.is_empty() {
        return Err(Problem::request("a job cannot call tools: nobody waits to answer")
            .hint("run it with POST /v1/runs and `Accept: text/event-stream`"));
    }
    if let Some(address) = webhook {
        webhook::check(door.webhooks[caller.tenant.number].as_ref(), address)?;
    }
    job.policy = runs::lowered(door, caller, job.policy, has_policy)?;
    Ok(job)
}

/// `GET /v1/jobs/{id}`: how a job stands, or how it ended.
pub(super) async fn look<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    caller.needs(Scope::Read)?;
    let jobs = door.jobs.get()?;
    let wait = asked(query.as_deref(), "wait_ms")?.map_or(Duration::ZERO, Duration::from_millis);
    let tenant = &caller.tenant.name;
    let seen = jobs.look(tenant, is_id(&id)?, wait.min(WAIT)).await;
    let seen = seen.map_err(JobsFault::problem)?.ok_or_else(Problem::not_found)?;
    told(&door, &caller, seen)
}

/// `DELETE /v1/jobs/{id}`: ends a job.
pub(super) async fn end<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named<String>,
) -> Result<Response, Problem> {
    caller.needs(Scope::Run)?;
    let jobs = door.jobs.get()?;
    let ended = jobs.cancel(&caller.tenant.name, is_id(&id)?).await;
    let (is_ended_now, seen) = ended.map_err(JobsFault::problem)?.ok_or_else(Problem::not_found)?;
    let mut response = told(&door, &caller, seen)?;
    if is_ended_now {
        // What runs is told, and that takes a moment.
        *response.status_mut() = StatusCode::ACCEPTED;
    }
    Ok(response)
}

/// `GET /v1/jobs`: the caller's jobs, the newest first.
pub(super) async fn list<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    caller.needs(Scope::Read)?;
    let jobs = door.jobs.get()?;
    let most = asked(query.as_deref(), "most")?
        .map_or(USUAL, |most| usize::try_from(most).unwrap_or(MOST).clamp(1, MOST));
    let rows = jobs.list(&caller.tenant.name, most).await.map_err(JobsFault::problem)?;
    let rows: Vec<_> = rows
        .into_iter()
        .map(|row| json!({ "id": row.id, "accepted_ms": row.accepted_ms, "has_ended": row.has_ended }))
        .collect();
    let text = json!({ "jobs": rows }).to_string();
    caller.may_answer_with(&door, text.len())?;
    Ok(json_bytes(text))
}

/// The one number that a query may have.
fn asked(query: Option<&str>, name: &str) -> Result<Option<u64>, Problem> {
    let wrong = || {
        Problem::request("the query has a part that is not known here")
            .hint(format_args!("it may say {name}=NUMBER"))
    };
    let mut asked = None;
    for pair in query.unwrap_or("").split('&').filter(|pair| !pair.is_empty()) {
        let value = pair.split_once('=').filter(|(found, _)| *found == name).ok_or_else(wrong)?.1;
        asked = Some(value.parse().map_err(|_wrong| wrong())?);
    }
    Ok(asked)
}

fn is_id(id: &str) -> Result<&str, Problem> {
    let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some(id).ok_or_else(Problem::not_found)
}

/// What is known of a job, as JSON: before what it ended with, that, and after it.
pub(super) fn text(seen: JobSeen) -> [Bytes; 3] {
    let JobSeen { id, accepted_ms, state, .. } = seen;
    let word = state.word();
    let mut head = format!(r#"{{"id":"{id}","state":"{word}","accepted_ms":{accepted_ms}"#);
    let rest = match state {
        JobState::Accepted | JobState::Expired => Bytes::new(),
        JobState::Cancelled(ended) => Bytes::from(format!(r#","ended_ms":{ended}"#)),
        JobState::Ended(ended, outcome) => {
            head += &format!(r#","ended_ms":{ended},"outcome":"#);
            // Some of it is a guest's.
            Bytes::from(visible_json(outcome.get()).into_owned())
        }
        JobState::Failed(ended, failure) => {
            head += &format!(r#","ended_ms":{ended},"failure":"#);
            let failure = json!({
                "code": failure.code, "detail": failure.detail, "hint": failure.hint,
            });
            Bytes::from(visible_json(&failure.to_string()).into_owned())
        }
    };
    [head.into(), rest, Bytes::from_static(b"}")]
}

fn told<R: Sessions>(door: &Door<R>, caller: &Caller, seen: JobSeen) -> Result<Response, Problem> {
    let pieces = text(seen);
    caller.may_answer_with(door, pieces.iter().map(Bytes::len).sum())?;
    Ok(json_bytes(Body::new(Pieces::new(pieces))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_belongs_to_one_job_of_one_tenant() {
        assert_eq!(id_of("a", "k"), id_of("a", "k"));
        assert_ne!(id_of("a", "k"), id_of("b", "k"));
        assert!(is_id(&id_of("a", "k")).is_ok());
    }

    #[test]
    fn a_query_has_one_number() {
        assert_eq!(asked(Some("wait_ms=5"), "wait_ms").ok(), Some(Some(5)));
        assert_eq!(asked(None, "wait_ms").ok(), Some(None));
        for wrong in ["wait_ms", "wait_ms=x", "most=5", "wait_ms=-1"] {
            assert!(asked(Some(wrong), "wait_ms").is_err(), "{wrong}");
        }
    }
}
