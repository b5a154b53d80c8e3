//! Sessions that another door opened: found by the runner's id, and said to be lost with their node.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use carboy_engine::{FleetError, RequestError, RunError, RunOptions, SessionHandle};
use carboy_protocol::{Outcome, Piece, Reply, StateAfter, Variables};

use crate::server::*;

/// The session of `acme` that is somewhere.
pub const THERE: &str = "s1-there";

/// What is there already when this door is opened.
#[derive(Default)]
pub struct Elsewhere {
    is_lost: AtomicBool,
    is_closed: AtomicBool,
    is_left: AtomicBool,
}

/// One session that this door did not open.
pub struct Shared(Arc<Elsewhere>);

/// What a runner finds under an id.
pub fn found(
    elsewhere: &Arc<Elsewhere>,
    tenant: &str,
    id: &str,
) -> Result<Option<Shared>, RunError> {
    if (tenant, id) != ("acme", THERE) {
        return Ok(None);
    }
    let shared = Shared(elsewhere.clone());
    shared.check()?;
    Ok(Some(shared))
}

impl SessionHandle for Shared {
    fn id(&self) -> Option<&str> {
        Some(THERE)
    }

    async fn run_with(&self, piece: Piece, options: RunOptions) -> Result<Reply, RunError> {
        if piece.code == "lose" {
            self.0.is_lost.store(true, Ordering::SeqCst);
        }
        self.check()?;
        let outcome = Outcome { id: options.id.unwrap(), ..outcome() };
        Ok(Reply { outcome, state: StateAfter::Kept, note: None })
    }

    async fn variables(&self) -> Result<Variables, RunError> {
        Ok(Variables::default())
    }

    async fn branch(&self) -> Result<Shared, RunError> {
        Err(FleetError::Drained.into())
    }

    async fn checkpoint(&self, _name: &str) -> Result<(), RunError> {
        Ok(())
    }

    async fn rollback(&self, name: &str) -> Result<(), RunError> {
        Err(RequestError::NoCheckpoint { name: name.into() }.into())
    }

    async fn checkpoints(&self) -> Result<Vec<String>, RunError> {
        Ok(vec!["kept".into()])
    }

    async fn drop_checkpoint(&self, name: &str) -> Result<(), RunError> {
        self.rollback(name).await
    }

    async fn close(&self) {
        self.0.is_closed.store(true, Ordering::SeqCst);
    }

    async fn leave(&self) {
        self.0.is_left.store(true, Ordering::SeqCst);
    }

    fn check(&self) -> Result<(), RunError> {
        if self.0.is_lost.load(Ordering::SeqCst) {
            return Err(FleetError::SessionLost.into());
        }
        if self.0.is_closed.load(Ordering::SeqCst) {
            return Err(RequestError::SessionOver { why: "it was closed".into() }.into());
        }
        Ok(())
    }
}

const JSON: &str = "Content-Type: application/json\r\n";

fn ask(key: &str, method: &str, path: &str, body: &str) -> String {
    request(key, method, &format!("/v1/sessions/{THERE}{path}"), JSON, body)
}

#[tokio::test]
async fn a_session_that_another_door_opened_is_found_by_its_id_and_outlives_this_one() {
    let server = Server::start(|_| {}).await;
    let run = ask("acme", "POST", "/runs", r#"{"code": "x"}"#);
    // Two at once are one session here.
    let (first, second) = tokio::join!(server.ask(&run), server.ask(&run));
    assert_eq!((first.status, second.status), (200, 200), "{first:?} {second:?}");
    assert_eq!(first.json()["state"], "kept");
    let list = server.ask(&get("acme", "/v1/sessions")).await.json();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list["sessions"][0]["id"], THERE);
    let kept = server.ask(&ask("acme", "GET", "/checkpoints", "")).await;
    assert_eq!(kept.json()["names"][0], "kept");
    for (method, path, body, status, code) in [
        ("POST", "/rollback", r#"{"name": "none"}"#, 404, "not_found"),
        ("DELETE", "/checkpoints/none", "", 404, "not_found"),
        ("POST", "/branch", "", 503, "drained"),
    ] {
        let answer = server.ask(&ask("acme", method, path, body)).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{path}");
    }
    let foreign = server.ask(&ask("other", "GET", "", "")).await;
    assert_eq!((foreign.status, foreign.code().as_str()), (404, "not_found"));
    let elsewhere = server.behind.elsewhere.clone();
    server.end().await;
    assert!(elsewhere.is_left.load(Ordering::SeqCst));
    assert!(!elsewhere.is_closed.load(Ordering::SeqCst), "it ended with the door");
}

#[tokio::test]
async fn a_session_that_is_lost_with_its_node_is_said_to_be_so_each_time() {
    let server = Server::start(|_| {}).await;
    assert_eq!(server.ask(&ask("acme", "GET", "", "")).await.status, 200);
    for code in ["lose", "x", "x"] {
        let body = format!(r#"{{"code": "{code}"}}"#);
        let lost = server.ask(&ask("acme", "POST", "/runs", &body)).await;
        assert_eq!((lost.status, lost.code().as_str()), (410, "session_lost"));
    }
    let list = server.ask(&get("acme", "/v1/sessions")).await.json();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 0, "{list}");
    server.end().await;
}

#[tokio::test]
async fn whoever_ends_a_session_at_one_door_ends_it_for_all() {
    let server = Server::start(|_| {}).await;
    assert_eq!(server.ask(&ask("acme", "DELETE", "", "")).await.status, 204);
    assert!(server.behind.elsewhere.is_closed.load(Ordering::SeqCst));
    let gone = server.ask(&ask("acme", "GET", "", "")).await;
    assert_eq!((gone.status, gone.code().as_str()), (410, "session_ended"));
    server.end().await;
}
