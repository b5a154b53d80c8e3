//! One run between its start and its answer.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use carboy_engine::{RunError, Runner};

use super::door::Door;
use super::problem::Problem;
use super::room::Room;
use super::tenant::{End, Ticket};
use crate::desk::{self, UnderWay};
use crate::line;

/// A run under way and all that ends with it.
pub(super) struct Run<R> {
    door: Arc<Door<R>>,
    pub under_way: UnderWay<String>,
    /// None when it is over.
    ticket: Option<Ticket>,
    request: String,
    _room: Room,
}

impl<R> Drop for Run<R> {
    fn drop(&mut self) {
        if self.ticket.is_some() {
            self.door.metrics.abandoned();
        }
    }
}

impl<R: Runner> Run<R> {
    pub fn new(
        door: Arc<Door<R>>,
        under_way: UnderWay<String>,
        ticket: Ticket,
        request: String,
        room: Room,
    ) -> Run<R> {
        Run { door, under_way, ticket: Some(ticket), request, _room: room }
    }

    /// Counts a problem that is told in another way than by an answer.
    pub fn count(&self, problem: &Problem) {
        self.door.metrics.problem(problem.code);
    }

    /// The run is over: what the client is told, as JSON.
    pub fn end(&mut self, ended: Result<desk::End, RunError>) -> Result<Bytes, Problem> {
        let door = &self.door;
        let written = ended.map_err(|error| door.problem(&self.request, &error)).and_then(|end| {
            let outcome = end.outcome().ok_or_else(Problem::engine)?;
            door.metrics.outcome(&outcome);
            if let Some(ticket) = &self.ticket {
                ticket.tenant().used_cpu(outcome.usage.cpu_ms / 1e3);
            }
            let mut text = Vec::new();
            line::append(&mut text, &outcome).map_err(|_unwritable| Problem::engine())?;
            Ok(Bytes::from(text))
        });
        let end = match &written {
            Ok(text) => End::Outcome(text.clone()),
            Err(problem) => End::Failed(problem.json().into()),
        };
        if let Some(ticket) = self.ticket.take() {
            ticket.end(end);
        }
        written
    }
}

/// The one answer that is the end of a run.
pub(super) fn answer(written: Result<Bytes, Problem>) -> Response {
    written.map_or_else(IntoResponse::into_response, json_bytes)
}

pub(super) fn json_bytes(bytes: impl Into<Body>) -> Response {
    let mut response = Response::new(bytes.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
