//! The files that a run left: those that this server keeps, and those of a fleet, which are in an object store.
//!
//! A client gets no address of the store. So what it is told of a file's type, and what a browser may do with it, is
//! said here and not by the node that put it there.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use carboy_engine::Sessions;
use carboy_protocol::Artifact;
use carboy_store::{Manifest, RunFiles};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::config::Scope;
use super::door::Door;
use super::entry::Caller;
use super::files::{Content, Head, content, head};
use super::known::{End, Known};
use super::name::Named;
use super::problem::Problem;
use super::run::json_bytes;

/// The code of a file that is on its way.
const PENDING: &str = "pending";

/// How long one is waited for: whoever has an outcome often asks for its files at once. And how often it is looked for.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(100);

/// When a file that is on its way may be there.
const SOON: Duration = Duration::from_secs(2);

/// `GET /v1/runs/{id}/files`: the files that a run left and that are kept.
pub(super) async fn list<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named<String>,
) -> Result<Response, Problem> {
    caller.needs(Scope::Read)?;
    let kept = door.shelves.of(caller.tenant.number).list(&id);
    if let (None, Some(store)) = (&kept, &door.stored) {
        return list_stored(&door, store, &caller, &id).await;
    }
    let is_known = kept.is_some() || caller.tenant.known(&id).is_some();
    if !is_known {
        return Err(Problem::no("run"));
    }
    let text = json!({ "files": kept.unwrap_or_default() }).to_string();
    caller.may_answer_with(&door, text.len())?;
    Ok(json_bytes(text))
}

/// `GET /v1/runs/{id}/files/{path}`: the content of one, or some of it.
pub(super) async fn get<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Named((id, path)): Named<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    caller.needs(Scope::Read)?;
    let found = door.shelves.of(caller.tenant.number).find(&id, &path);
    if let (None, Some(store)) = (&found, &door.stored) {
        return get_stored(&door, store, &caller, (&id, &path), &headers).await;
    }
    let found = found.ok_or_else(|| Problem::no("file"))?;
    content(&door, &caller, &headers, &path, found)
}

/// The files that a run left, those that are not in the store yet among them.
async fn list_stored<R: Sessions>(
    door: &Arc<Door<R>>,
    store: &RunFiles,
    caller: &Caller,
    id: &str,
) -> Result<Response, Problem> {
    let tenant = &caller.tenant.name;
    let found = match store.manifest(tenant, id).await {
        Ok(Some(manifest)) if manifest.refused => json!({ "files": [], "refused": true }),
        Ok(Some(Manifest { files, .. })) => {
            let there = store.there(tenant, id).await.map_err(|_away| unavailable())?;
            let told = |file: &Artifact| told(file, !there.contains(&file.path));
            json!({ "files": files.iter().map(told).collect::<Vec<_>>() })
        }
        Ok(None) => pending(caller, id).ok_or_else(|| Problem::no("run"))?,
        Err(_away) => pending(caller, id).ok_or_else(unavailable)?,
    };
    let text = found.to_string();
    caller.may_answer_with(door, text.len())?;
    Ok(json_bytes(text))
}

/// The content of a file, or some of it. One that is on its way is waited for, for a moment.
async fn get_stored<R: Sessions>(
    door: &Arc<Door<R>>,
    store: &RunFiles,
    caller: &Caller,
    wanted: (&str, &str),
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let until = Instant::now() + PATIENCE;
    loop {
        match get_now(door, store, caller, wanted, headers).await {
            Err(problem) if problem.code == PENDING && Instant::now() < until => {
                sleep(PAUSE).await;
            }
            told => return told,
        }
    }
}

async fn get_now<R: Sessions>(
    door: &Arc<Door<R>>,
    store: &RunFiles,
    caller: &Caller,
    (id, path): (&str, &str),
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let tenant = &caller.tenant.name;
    let manifest = match store.manifest(tenant, id).await {
        Ok(manifest) => manifest,
        Err(_away) => return Err(unavailable()),
    };
    let Some(manifest) = manifest else {
        let awaited = left(caller, id).is_some_and(|files| has(&files, path).is_some());
        return Err(if awaited { on_its_way() } else { Problem::no("file") });
    };
    let file = has(&manifest.files, path).ok_or_else(|| Problem::no("file"))?;
    match head(door, caller, headers, path, file)? {
        Head::None(response) => Ok(response),
        Head::Of(mut response, from, count) => {
            let stored = store.open(tenant, id, file, (from, count)).await;
            let stored = stored.map_err(|_away| unavailable())?.ok_or_else(on_its_way)?;
            *response.body_mut() = Body::new(Content::of_store(stored, count));
            Ok(response)
        }
    }
}

fn has<'a>(files: &'a [Artifact], path: &str) -> Option<&'a Artifact> {
    files.iter().find(|file| file.path == path)
}

fn told(file: &Artifact, is_pending: bool) -> Value {
    let mut told = json!(file);
    if is_pending && let Some(fields) = told.as_object_mut() {
        fields.insert("pending".into(), true.into());
    }
    told
}

/// The files of a run that this server knows and of which the store knows nothing yet.
fn pending(caller: &Caller, id: &str) -> Option<Value> {
    let files = left(caller, id)?;
    let files: Vec<_> = files.iter().map(|file| told(file, true)).collect();
    Some(json!({ "files": files }))
}

/// What is of use here of an outcome, and of what came of a piece of code in a session.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Left {
    artifacts: Vec<Artifact>,
    outcome: Option<Box<Left>>,
}

/// The files that are to be kept of a run that ended here a short time ago; none if there is no such run.
fn left(caller: &Caller, id: &str) -> Option<Vec<Artifact>> {
    let text = match caller.tenant.known(id)? {
        Known::Ended(End::Outcome(text)) => text,
        Known::UnderWay(_) | Known::Ended(End::Failed(_) | End::Abandoned) => return Some(vec![]),
    };
    let mut left: Left = serde_json::from_slice(&text).unwrap_or_default();
    if let Some(outcome) = left.outcome.take() {
        left = *outcome;
    }
    // What has no digest was only listed.
    left.artifacts.retain(|file| file.sha256.is_some());
    Some(left.artifacts)
}

fn on_its_way() -> Problem {
    let detail = "the file is not in the store yet";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, PENDING, detail)
        .again_in(SOON)
        .hint("ask again: its node brings it there, and tries for ten minutes")
}

fn unavailable() -> Problem {
    let detail = "the store that has the files of runs does not answer";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", detail)
        .again_in(SOON)
        .hint("ask again later; the run itself is not affected")
}
