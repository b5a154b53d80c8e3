//! Uploads over HTTP: a file is sent once, as it is, and runs and sessions name it by its digest.
//!
//! What is sent goes to the disk as it comes. Nobody looks at what it is or how it is called.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use carboy_engine::{EngineError, RunError, Sessions};
use carboy_protocol::{Artifact, FileSource, Job, Policy};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::config::Scope;
use super::door::Door;
use super::entry::Caller;
use super::files;
use super::name::Named;
use super::problem::Problem;
use super::run::json_bytes;
use super::shares::Share;
use super::shelf::Found;
use super::uploads::{NoPlace, TIME, Upload, Uploaded, Writer};

/// How many parts of a body wait for the disk.
const PARTS: usize = 4;

/// How much must come in the time for a body: who trickles is cut off, and a large file may take as long as it needs.
const STEP: u64 = 1 << 20;

/// `POST /v1/files`: takes a file.
pub(super) async fn send<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Problem> {
    caller.needs(Scope::Run)?;
    let body = request.into_body();
    let announced = http_body::Body::size_hint(&body).lower();
    let place = {
        let (door, tenant) = (door.clone(), caller.tenant.number);
        elsewhere(move || door.uploads.begin(tenant, announced)).await?
    };
    let mut upload = place.map_err(|why| no_place(&door, &caller, why))?;
    let writer = upload.writer().map_err(|error| no_place(&door, &caller, error.into()))?;
    let (parts, written) = mpsc::channel(PARTS);
    let writing = tokio::task::spawn_blocking(move || write(writer, written));
    receive(&door, &caller, &mut upload, body, parts).await?;
    let digest = writing.await.map_err(|_panic| Problem::engine())?;
    let digest = digest.map_err(|error| no_place(&door, &caller, error.into()))?;
    let (kept, is_new) = {
        let (door, tenant) = (door.clone(), caller.tenant.number);
        elsewhere(move || door.uploads.keep(tenant, upload, digest)).await?
    };
    let mut response = json_bytes(about(&kept, TIME).to_string());
    if is_new {
        *response.status_mut() = StatusCode::CREATED;
    }
    let place = HeaderValue::try_from(format!("/v1/files/{}", kept.sha256));
    response.headers_mut().insert(LOCATION, place.map_err(|_wrong| Problem::engine())?);
    Ok(response)
}

/// Does something that may take its time.
async fn elsewhere<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.map_err(|_panic| Problem::engine())
}

/// Passes a body on to whoever writes it.
async fn receive<R: Sessions>(
    door: &Arc<Door<R>>,
    caller: &Caller,
    upload: &mut Upload,
    mut body: Body,
    parts: mpsc::Sender<Bytes>,
) -> Result<(), Problem> {
    let (mut bytes, mut next) = (0, STEP);
    let mut end = Instant::now() + door.bounds.body_time();
    loop {
        let frame = timeout_at(end, body.frame()).await.map_err(|_elapsed| {
            let detail =
                format!("less than {STEP} bytes of the body came in {} ms", door.bounds.body_ms);
            Problem::new(StatusCode::REQUEST_TIMEOUT, "body_time", detail)
        })?;
        let Some(frame) = frame else { return Ok(()) };
        let cut = |_error| Problem::request("the body ended before its end");
        let Ok(data) = frame.map_err(cut)?.into_data() else { continue };
        bytes += data.len() as u64;
        let reserved = door.uploads.reserve(caller.tenant.number, upload, bytes);
        reserved.map_err(|why| no_place(door, caller, why))?;
        // If nobody takes it, the disk does not work, which whoever writes tells.
        if parts.send(data).await.is_err() {
            return Ok(());
        }
        if bytes >= next {
            next = bytes + STEP;
            end = Instant::now() + door.bounds.body_time();
        }
    }
}

fn write(mut writer: Writer, mut parts: mpsc::Receiver<Bytes>) -> io::Result<String> {
    while let Some(part) = parts.blocking_recv() {
        writer.write(&part)?;
    }
    Ok(writer.end())
}

fn no_place<R: Sessions>(door: &Door<R>, caller: &Caller, why: NoPlace) -> Problem {
    match why {
        NoPlace::Large(most) => {
            let detail = format!("the uploaded files of this tenant have at most {most} bytes");
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_size", detail)
                .hint("send less; the operator sets the tenant's uploads_bytes")
        }
        NoPlace::Many => {
            let detail = "this tenant sends as many files at once as it may";
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "quota", detail)
                .again_in(Duration::from_secs(1))
        }
        NoPlace::Full => {
            let detail = "there is no room for another uploaded file";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "uploads", detail)
                .again_in(Duration::from_secs(1))
                .hint("remove files that no run needs; the operator sets bounds.uploads_bytes")
        }
        NoPlace::Disk(error) => {
            let step = "keep an uploaded file";
            door.problem(&caller.request, &RunError::Engine(EngineError::Os { step, error }))
        }
    }
}

/// What is told of a file.
fn about(file: &Uploaded, left: Duration) -> Value {
    let expires = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
    json!({ "sha256": file.sha256, "bytes": file.bytes, "expires_in_ms": expires })
}

/// `GET /v1/files`: the caller's uploaded files, the one that was used last first.
pub(super) async fn list<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    caller.needs(Scope::Read)?;
    let all: Vec<_> = door
        .uploads
        .list(caller.tenant.number)
        .iter()
        .map(|(file, left)| about(file, *left))
        .collect();
    let text = json!({ "files": all }).to_string();
    caller.may_answer_with(&door, text.len())?;
    Ok(json_bytes(text))
}

/// `GET /v1/files/{sha256}`: the content of one, or some of it.
pub(super) async fn get<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Named(sha256): Named<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    caller.needs(Scope::Read)?;
    let found = door.uploads.find(caller.tenant.number, &sha256).ok_or_else(Problem::not_found)?;
    let opening = found.clone();
    let opened = elsewhere(move || opening.open()).await?;
    let opened = opened.map_err(|error| no_place(&door, &caller, error.into()))?;
    let artifact = Artifact {
        path: sha256.clone(),
        bytes: found.bytes,
        sha256: Some(sha256.clone()),
        media_type: None,
    };
    files::content(&door, &caller, &headers, &sha256, Found::uploaded(artifact, found, opened))
}

/// `DELETE /v1/files/{sha256}`: forgets one. Runs that have it keep it.
pub(super) async fn remove<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Named(sha256): Named<String>,
) -> Result<StatusCode, Problem> {
    caller.needs(Scope::Run)?;
    let tenant = caller.tenant.number;
    let is_removed = elsewhere(move || door.uploads.remove(tenant, &sha256)).await?;
    if is_removed { Ok(StatusCode::NO_CONTENT) } else { Err(Problem::not_found()) }
}

/// Puts uploaded files where a job or a session names them, and says what has to be kept while it needs them.
///
/// Where jobs are run by this host, they are handed in as they lie on the disk; otherwise their content goes with the
/// job, and counts in `room`.
pub(super) async fn hand_in<R: Sessions>(
    door: &Arc<Door<R>>,
    caller: &Caller,
    files: &mut BTreeMap<String, FileSource>,
    policy: &mut Policy,
    room: &mut Share,
) -> Result<Vec<Arc<Uploaded>>, Problem> {
    let mut held = vec![];
    // The engine says what is wrong with so many; nothing is looked up for them.
    if files.len() > Job::MAX_FILES {
        return Ok(held);
    }
    for (name, source) in files.iter_mut() {
        let FileSource::Sha256(digest) = source else { continue };
        let found = door.uploads.find(caller.tenant.number, digest);
        let found = found.ok_or_else(|| missing(name, digest))?;
        *source = if door.uploads.is_shared {
            let path = found.path().to_str().ok_or_else(Problem::engine)?;
            FileSource::Path(path.to_owned())
        } else {
            let bytes = usize::try_from(found.bytes).unwrap_or(usize::MAX);
            room.grow(bytes).ok_or_else(Problem::memory)?;
            let reading = found.clone();
            let content = elsewhere(move || read(&reading)).await?;
            FileSource::Base64(content.map_err(|error| no_place(door, caller, error.into()))?)
        };
        held.push(found);
    }
    if !held.is_empty() {
        // It says which paths a caller may name, and these are not the caller's: the engine takes them from the folder
        // of uploads, and the caller can name no path at all.
        policy.inputs_from = None;
    }
    Ok(held)
}

fn read(file: &Uploaded) -> io::Result<Vec<u8>> {
    let mut content = Vec::with_capacity(usize::try_from(file.bytes).unwrap_or(0));
    file.open()?.take(file.bytes).read_to_end(&mut content)?;
    Ok(content)
}

fn missing(name: &str, digest: &str) -> Problem {
    // Not written out before it is cut off: the words are the caller's, and may be as long as a body.
    let detail = format_args!("the file {name:?} with the SHA-256 {digest:?} is not here");
    Problem::new(StatusCode::NOT_FOUND, "no_upload", detail)
        .hint("send it to /v1/files, also if it was sent before: a file is kept for a while only")
}
