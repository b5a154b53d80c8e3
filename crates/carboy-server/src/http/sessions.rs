//! Sessions: open one, run code in it, branch it, keep and go back to its state, end it.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::header::LOCATION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use carboy_engine::{RunError, Sessions};
use carboy_protocol::{Opening, SessionAnswer, SessionAsk};
use serde::Deserialize;
use serde_json::{Value, json};

use super::body;
use super::config::Scope;
use super::door::Door;
use super::entry::Caller;
use super::name::Named;
use super::problem::Problem;
use super::run::json_bytes;
use super::runs::{check_files, lowered, posted};
use super::sessions_found::{drop_number, find, look, told};
use super::sessions_held::{Kept, Place};
use super::tenant::Tenant;
use super::uploading;
use crate::desk::{End, Event, UnderWay};

/// `POST /v1/sessions`: opens one.
pub(super) async fn open<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Problem> {
    caller.needs(Scope::Run)?;
    lease_session(&door, &caller).await;
    let unclaimed = Unclaimed::new(&door, &caller, None)?;
    let (bytes, room) = body::read(&door, &caller, request).await?;
    let ((mut opening, has_policy), mut room) =
        body::parse(&door, bytes, room, posted::<Opening>).await?;
    check_files(&opening.files, &opening.mounts)?;
    opening.policy = lowered(&door, &caller, opening.policy, has_policy)?;
    let (files, policy) = (&mut opening.files, &mut opening.policy);
    let uploads = uploading::hand_in(&door, &caller, files, policy, &mut room).await?;
    // What is in its jar is on the disk until that is gone. Nobody else has set it.
    unclaimed.place.kept.files.set(uploads).ok();
    created(&*opened(&caller, unclaimed, opening).await?)
}

/// Opens a session in the place that was taken for it.
pub(super) async fn opened<R: Sessions>(
    caller: &Caller,
    unclaimed: Unclaimed<R>,
    opening: Opening,
) -> Result<Arc<Kept>, Problem> {
    let door = &unclaimed.door;
    let (key, number) = (door.sessions.ask_key(), unclaimed.place.kept.number);
    let wanted = SessionAsk::Open(Box::new(opening));
    let opened = ask(door, &caller.tenant.name, key, number, wanted).await;
    opened.map_err(|error| door.problem(&caller.request, &error))?;
    Ok(unclaimed.claim())
}

/// `GET /v1/sessions`: the caller's sessions, branches among them.
pub(super) async fn list<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    caller.needs(Scope::Read)?;
    look(&door, |kept| kept.tenant == caller.tenant.name);
    let all: Vec<_> =
        door.sessions.of(&caller.tenant.name).iter().map(|kept| about(kept)).collect();
    Ok(json_bytes(json!({ "sessions": all }).to_string()))
}

/// `GET /v1/sessions/{id}`: one of them.
pub(super) async fn see<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named<String>,
) -> Result<Response, Problem> {
    caller.needs(Scope::Read)?;
    Ok(json_bytes(about(&*find(&door, &caller, &id).await?).to_string()))
}

/// `DELETE /v1/sessions/{id}`: ends it with what runs in it, and its branches if it was not a branch itself.
pub(super) async fn end<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named<String>,
) -> Result<StatusCode, Problem> {
    caller.needs(Scope::Run)?;
    closed(&door, &caller, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends a session with what runs in it.
pub(super) async fn closed<R: Sessions>(
    door: &Door<R>,
    caller: &Caller,
    id: &str,
) -> Result<(), Problem> {
    let kept = find(door, caller, id).await?;
    // Before anything is waited for: whoever goes away meanwhile has ended it all the same.
    door.sessions.end(&kept, "it was closed");
    stop_runs(door, &caller.tenant, &kept);
    let (key, wanted) = (door.sessions.ask_key(), SessionAsk::Close {});
    let closing = ask(door, &kept.tenant, key, kept.number, wanted).await;
    look(door, |other| other.tenant == kept.tenant);
    closing.map(drop).map_err(|error| told(door, caller, &error))
}

/// `POST /v1/sessions/{id}/branch`: another that goes on from the same state.
pub(super) async fn branch<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named<String>,
) -> Result<Response, Problem> {
    caller.needs(Scope::Run)?;
    created(&*branched(&door, &caller, &id).await?)
}

/// Another session that goes on from the state of this one.
pub(super) async fn branched<R: Sessions>(
    door: &Arc<Door<R>>,
    caller: &Caller,
    id: &str,
) -> Result<Arc<Kept>, Problem> {
    let kept = find(door, caller, id).await?;
    lease_session(door, caller).await;
    let unclaimed = Unclaimed::new(door, caller, Some(kept.id.clone()))?;
    let branch = SessionAsk::Branch { session: unclaimed.place.kept.number };
    of(door, caller, &kept, branch).await?;
    Ok(unclaimed.claim())
}

/// `POST /v1/sessions/{id}/interrupt`: ends the runs that are under way in it. The state is what it was before them.
pub(super) async fn interrupt<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named<String>,
) -> Result<Response, Problem> {
    caller.needs(Scope::Run)?;
    let kept = find(&door, &caller, &id).await?;
    let runs = stop_runs(&door, &caller.tenant, &kept);
    let mut response = json_bytes(json!({ "runs": runs }).to_string());
    *response.status_mut() = StatusCode::ACCEPTED;
    Ok(response)
}

/// `GET /v1/sessions/{id}/variables`: what its code has defined.
pub(super) async fn variables<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named<String>,
) -> Result<Response, Problem> {
    // Its code is asked, which is a run.
    caller.needs(Scope::Run)?;
    let kept = find(&door, &caller, &id).await?;
    match of(&door, &caller, &kept, SessionAsk::Variables {}).await? {
        SessionAnswer::Variables(variables) => {
            let text = json!(variables).to_string();
            caller.answers_with(&door, text.len());
            Ok(json_bytes(text))
        }
        _ => Err(Problem::engine()),
    }
}

/// `GET /v1/sessions/{id}/checkpoints`: the names of what is kept.
pub(super) async fn checkpoints<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named<String>,
) -> Result<Response, Problem> {
    caller.needs(Scope::Read)?;
    let kept = find(&door, &caller, &id).await?;
    match of(&door, &caller, &kept, SessionAsk::Checkpoints {}).await? {
        SessionAnswer::Checkpoints { names } => {
            Ok(json_bytes(json!({ "names": names }).to_string()))
        }
        _ => Err(Problem::engine()),
    }
}

/// The name of a checkpoint.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Checkpoint {
    name: String,
}

/// `POST /v1/sessions/{id}/checkpoints`: keeps the state under a name.
pub(super) async fn keep<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named<String>,
    request: Request,
) -> Result<StatusCode, Problem> {
    let (kept, Checkpoint { name }) = named(&door, &caller, &id, request).await?;
    of(&door, &caller, &kept, SessionAsk::Checkpoint { name }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE /v1/sessions/{id}/checkpoints/{name}`: forgets what is kept under a name.
pub(super) async fn forget<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Named((id, name)): Named<(String, String)>,
) -> Result<StatusCode, Problem> {
    caller.needs(Scope::Run)?;
    let kept = find(&door, &caller, &id).await?;
    of(&door, &caller, &kept, SessionAsk::Drop { name }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /v1/sessions/{id}/rollback`: goes back to what is kept under a name.
pub(super) async fn roll_back<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named<String>,
    request: Request,
) -> Result<StatusCode, Problem> {
    let (kept, Checkpoint { name }) = named(&door, &caller, &id, request).await?;
    of(&door, &caller, &kept, SessionAsk::Rollback { name }).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn named<R: Sessions>(
    door: &Door<R>,
    caller: &Caller,
    id: &str,
    request: Request,
) -> Result<(Arc<Kept>, Checkpoint), Problem> {
    caller.needs(Scope::Run)?;
    let kept = find(door, caller, id).await?;
    let (bytes, room) = body::read(door, caller, request).await?;
    let (named, _room) =
        body::parse(door, bytes, room, |bytes| serde_json::from_slice(bytes)).await?;
    Ok((kept, named))
}

/// Ends the runs that are under way in a session, and says which.
fn stop_runs<R: Sessions>(door: &Door<R>, tenant: &Tenant, kept: &Kept) -> Vec<String> {
    let runs = kept.runs();
    for id in &runs {
        tenant.stop(id);
        door.desk.cancel(id);
    }
    runs
}

/// Does something with a session that is open.
pub(super) async fn of<R: Sessions>(
    door: &Door<R>,
    caller: &Caller,
    kept: &Arc<Kept>,
    wanted: SessionAsk,
) -> Result<SessionAnswer, Problem> {
    let doing = kept.begin(door.sessions.ask_key())?;
    let answer = ask(door, &kept.tenant, doing.key.clone(), kept.number, wanted).await;
    answer.map_err(|error| told(door, caller, &error))
}

async fn ask<R: Sessions>(
    door: &Door<R>,
    tenant: &str,
    key: String,
    number: u64,
    wanted: SessionAsk,
) -> Result<SessionAnswer, RunError> {
    let asked: Result<UnderWay<String>, _> = door.desk.ask_for(tenant, key, number, wanted);
    let mut under_way = asked.map_err(|_taken| RunError::Cancelled)?;
    loop {
        match under_way.next().await {
            Some(Event::Ended(Ok(End::Session(answer)))) => return Ok(answer),
            Some(Event::Ended(Err(error))) => return Err(error),
            Some(Event::Ended(Ok(_))) | None => return Err(RunError::Cancelled),
            Some(_) => {}
        }
    }
}

/// What is known of a session.
fn about(kept: &Kept) -> Value {
    json!({
        "id": kept.id,
        "parent": kept.parent,
        "ms": kept.since.elapsed().as_secs_f64() * 1e3,
        "runs": kept.runs(),
    })
}

fn created(kept: &Kept) -> Result<Response, Problem> {
    let mut response = json_bytes(about(kept).to_string());
    *response.status_mut() = StatusCode::CREATED;
    let place = HeaderValue::try_from(format!("/v1/sessions/{}", kept.id));
    response.headers_mut().insert(LOCATION, place.map_err(|_wrong| Problem::engine())?);
    Ok(response)
}

/// Has one more session leased, if the tenant's quota is leased.
pub(super) async fn lease_session<R: Sessions>(door: &Door<R>, caller: &Caller) {
    let tenant = &caller.tenant;
    tenant.lease_session(door.sessions.count(&tenant.name)).await;
}

/// A session that nobody knows of yet. If whoever asked for it goes away, it ends.
pub(super) struct Unclaimed<R: Sessions> {
    door: Arc<Door<R>>,
    place: Place,
    is_claimed: bool,
}

impl<R: Sessions> Unclaimed<R> {
    pub fn new(
        door: &Arc<Door<R>>,
        caller: &Caller,
        parent: Option<String>,
    ) -> Result<Unclaimed<R>, Problem> {
        let tenant = &caller.tenant;
        look(door, |kept| kept.tenant == tenant.name);
        let place = door.sessions.place(&tenant.name, || tenant.most_sessions(), parent)?;
        Ok(Unclaimed { door: door.clone(), place, is_claimed: false })
    }

    fn claim(mut self) -> Arc<Kept> {
        self.is_claimed = true;
        match self.door.desk.session_id(self.place.kept.number) {
            Some(id) => self.place.fill_as(id),
            None => self.place.fill(),
        }
    }
}

impl<R: Sessions> Drop for Unclaimed<R> {
    fn drop(&mut self) {
        if !self.is_claimed {
            drop_number(&self.door, self.place.kept.number);
        }
    }
}
