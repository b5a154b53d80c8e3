//! Which sessions are there: those that are known here, those that another door opened, and those that have ended by
//! themselves.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use carboy_engine::{FleetError, RequestError, RunError, Sessions};
use carboy_protocol::SessionAsk;
use tokio::runtime::Handle;

use super::door::Door;
use super::entry::Caller;
use super::problem::{NOT_FOUND, Problem};
use super::sessions_held::Kept;

/// How often it is looked which sessions have ended by themselves.
const LOOK: Duration = Duration::from_secs(5);

/// How often it is asked whether sessions that other doors find are still there.
const REFRESH: Duration = Duration::from_secs(60);

/// Looks from time to time which sessions have ended by themselves, and lets go of what they still hold.
pub(super) async fn watch<R: Sessions>(door: Arc<Door<R>>) {
    let refresh = async {
        loop {
            for kept in door.sessions.all(|kept| kept.is_shared) {
                door.desk.refresh_session(kept.number).await;
            }
            tokio::time::sleep(REFRESH).await;
        }
    };
    let looks = async {
        loop {
            tokio::time::sleep(LOOK).await;
            look(&door, |_| true);
        }
    };
    tokio::join!(refresh, looks);
}

/// The caller's session with this id, which is not over. Another door may have opened it.
pub(super) async fn find<R: Sessions>(
    door: &Door<R>,
    caller: &Caller,
    id: &str,
) -> Result<Arc<Kept>, Problem> {
    match here(door, caller, id) {
        Err(problem) if problem.code == NOT_FOUND => attach(door, caller, id).await,
        found => found,
    }
}

async fn attach<R: Sessions>(
    door: &Door<R>,
    caller: &Caller,
    id: &str,
) -> Result<Arc<Kept>, Problem> {
    // It has its place at the node already.
    let mut place = door.sessions.place(&caller.tenant.name, || usize::MAX, None)?;
    let number = place.kept.number;
    let found = door.desk.attach(&caller.tenant.name, number, id).await;
    if !found.map_err(|error| told(door, caller, &error))? {
        return Err(Problem::no("session"));
    }
    let kept = place.fill_as(id.to_owned());
    if kept.number != number {
        door.desk.forget_session(number);
    }
    Ok(kept)
}

/// The same if it is known here.
fn here<R: Sessions>(door: &Door<R>, caller: &Caller, id: &str) -> Result<Arc<Kept>, Problem> {
    let kept = door.sessions.find(&caller.tenant.name, id)?;
    if let Some(why) = why_over(door, &kept) {
        let_go(door, &kept, &why);
        return door.sessions.find(&caller.tenant.name, id);
    }
    Ok(kept)
}

/// Why a session is over, if it is.
fn why_over<R: Sessions>(door: &Door<R>, kept: &Kept) -> Option<String> {
    match door.desk.check_session(kept.number) {
        Err(RunError::Request(RequestError::SessionOver { why })) => Some(why),
        Err(error @ RunError::Fleet(FleetError::SessionLost)) => Some(error.to_string()),
        _ => None,
    }
}

/// Lets go of what the sessions of which this is true hold, if they are over.
pub(super) fn look<R: Sessions>(door: &Door<R>, wanted: impl Fn(&Kept) -> bool) {
    for kept in door.sessions.all(wanted) {
        if let Some(why) = why_over(door, &kept) {
            let_go(door, &kept, &why);
        }
    }
}

fn let_go<R: Sessions>(door: &Door<R>, kept: &Kept, why: &str) {
    if door.sessions.end(kept, why) {
        drop_number(door, kept.number);
    }
}

/// Gives a number at the desk back, which ends its session.
pub(super) fn drop_number<R: Sessions>(door: &Door<R>, number: u64) {
    let closing = door.desk.ask(door.sessions.ask_key(), number, SessionAsk::Close {});
    // It is given back at once; nobody need wait for the rest, which may be on another host.
    if let (Ok(mut closing), Ok(runtime)) = (closing, Handle::try_current()) {
        runtime.spawn(async move { while closing.next().await.is_some() {} });
    }
}

/// The problem that a session which is open answers with.
pub(super) fn told<R: Sessions>(door: &Door<R>, caller: &Caller, error: &RunError) -> Problem {
    match error {
        RunError::Request(RequestError::NoCheckpoint { .. }) => Problem::no("checkpoint"),
        RunError::Request(refused @ RequestError::Session { .. }) => {
            let problem = Problem::new(StatusCode::CONFLICT, "session", refused.to_string());
            problem.hint("docs/sessions.md says what a session does and when it ends")
        }
        _ => door.problem(&caller.request, error),
    }
}
