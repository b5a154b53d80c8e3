//! One run between its start and its answer.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use carboy_engine::{Call, RunError, Sessions};
use carboy_protocol::Outcome;
use tokio::task::JoinSet;

use super::body::SHORT;
use super::door::Door;
use super::entry::Caller;
use super::known::{End, Stop};
use super::problem::Problem;
use super::sessions_held::Doing;
use super::shares::Share;
use super::tenant::{Tenant, Ticket};
use super::tools::HttpTool;
use super::uploads::Uploaded;
use crate::desk::{self, Event, UnderWay};
use crate::{line, telemetry};

/// What a run keeps until it is over: memory, and uploaded files.
pub(super) type Held = (Share, Vec<Arc<Uploaded>>);

/// A run under way and all that ends with it.
pub(super) struct Run<R: Sessions> {
    door: Arc<Door<R>>,
    /// None when nobody waits for it any more.
    under_way: Option<UnderWay<String>>,
    /// None when it is over.
    ticket: Option<Ticket>,
    caller: Caller,
    /// What its job takes, and uploaded files that it has.
    held: Option<Held>,
    /// Calls of tools that are under way. They end with it.
    calls: JoinSet<()>,
    /// Its place in a session, if it runs in one.
    doing: Option<Doing>,
}

/// Its caller went away. It is ended, and counts as the tenant's until it is gone, with all that it used.
impl<R: Sessions> Drop for Run<R> {
    fn drop(&mut self) {
        let (Some(mut under_way), Some(ticket)) = (self.under_way.take(), self.ticket.take())
        else {
            return;
        };
        self.door.metrics.abandoned();
        self.door.desk.cancel(ticket.id());
        let (door, caller) = (self.door.clone(), self.caller.clone());
        let held = (self.held.take(), self.doing.take());
        let last = async move {
            while let Some(event) = under_way.next().await {
                if let Event::Ended(Ok(end)) = event
                    && let Some(outcome) = end.outcome()
                {
                    charge(&door, &ticket, &caller, &outcome);
                }
            }
            drop((ticket, held));
        };
        // Without a runtime the process is ending.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(last);
        }
    }
}

impl<R: Sessions> Run<R> {
    pub fn new(
        door: Arc<Door<R>>,
        under_way: UnderWay<String>,
        ticket: Ticket,
        caller: Caller,
        held: Held,
    ) -> Run<R> {
        let (under_way, ticket, held) = (Some(under_way), Some(ticket), Some(held));
        Run { door, under_way, ticket, caller, held, doing: None, calls: JoinSet::new() }
    }

    /// The same run, in a session until it is over.
    pub fn in_session(mut self, doing: Doing) -> Run<R> {
        self.doing = Some(doing);
        self
    }

    /// Whether its client may send its request again, and so need not wait for it.
    pub fn may_be_asked_for_again(&self) -> bool {
        self.ticket.as_ref().is_some_and(Ticket::has_key)
    }

    /// What it says next; `None` after its end. Calls of the tenant's own tools are answered here.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            let event = self.under_way.as_mut()?.next().await?;
            let Event::Call(call) = event else { return Some(event) };
            let tools = &self.door.tools[self.caller.tenant.number];
            let Some(tool) = tools.get(&call.tool).cloned() else {
                if let Some(ticket) = &self.ticket {
                    ticket.tenant().called(ticket.id(), call.call);
                }
                return Some(Event::Call(call));
            };
            while self.calls.try_join_next().is_some() {}
            if let Some(ticket) = &self.ticket {
                let (door, tenant) = (self.door.clone(), self.caller.tenant.clone());
                self.calls.spawn(self::call(door, tenant, ticket.id().clone(), tool, call));
            }
        }
    }

    /// Counts a problem that is told in another way than by an answer.
    pub fn count(&self, problem: &Problem) {
        self.door.metrics.problem(problem.code);
    }

    /// The run is over: what the client is told, as JSON.
    pub async fn end(&mut self, ended: Result<desk::End, RunError>) -> Result<Bytes, Problem> {
        let written = match ended {
            Ok(end) => self.written(end).await,
            Err(error) => Err(self.problem(&error)),
        };
        let end = match &written {
            Ok(text) => {
                self.caller.answers_with(&self.door, text.len());
                End::Outcome(text.clone())
            }
            Err(problem) => End::Failed(problem.clone()),
        };
        (self.held, self.doing) = (None, None);
        if let Some(mut ticket) = self.ticket.take() {
            // What failed on our side may have run.
            if written.as_ref().is_err_and(|problem| problem.code != "engine") {
                ticket.give_key_back();
            }
            ticket.end(end);
        }
        written
    }

    fn problem(&self, error: &RunError) -> Problem {
        let stop = self.ticket.as_ref().and_then(Ticket::stop);
        match (error, stop) {
            (RunError::Cancelled, Some(stop)) => stop.problem(),
            _ => self.door.problem(&self.caller.request, error),
        }
    }

    async fn written(&self, end: desk::End) -> Result<Bytes, Problem> {
        let outcome = match &end {
            desk::End::Outcome(outcome) => &**outcome,
            desk::End::Reply(reply) => &reply.outcome,
            desk::End::Session(_) => return Err(Problem::engine()),
        };
        if let Some(ticket) = &self.ticket {
            charge(&self.door, ticket, &self.caller, outcome);
        }
        let is_long = is_long(outcome);
        let write = move || {
            let mut text = Vec::new();
            match &end {
                desk::End::Outcome(outcome) => line::append(&mut text, outcome),
                desk::End::Reply(reply) => line::append(&mut text, reply),
                desk::End::Session(_) => Ok(()),
            }
            .map(|()| Bytes::from(text))
        };
        let text = if is_long {
            let writing = tokio::task::spawn_blocking(write);
            writing.await.map_err(|_panic| Problem::engine())?
        } else {
            write()
        };
        text.map_err(|_unwritable| Problem::engine())
    }
}

fn charge<R: Sessions>(door: &Door<R>, ticket: &Ticket, caller: &Caller, outcome: &Outcome) {
    door.metrics.outcome(outcome);
    ticket.tenant().used_cpu(outcome.usage.cpu_ms / 1e3);
    if let (Some(telemetry), Some(trace)) = (door.telemetry(), caller.trace) {
        let (request, tenant) = (&*caller.request, &*caller.tenant.name);
        telemetry.run(&telemetry::Run { request, trace, tenant, outcome });
    }
}

/// Calls a tool for a run, and hands it the answer. What that takes is the tenant's until the run is over.
async fn call<R: Sessions>(
    door: Arc<Door<R>>,
    tenant: Arc<Tenant>,
    run: String,
    tool: Arc<HttpTool>,
    call: Call,
) {
    let mut answer = tool.answer(call).await;
    let value = answer.result.as_ref().ok().and_then(Option::as_ref);
    let room = door.memory.take(tenant.number, value.map_or(0, |value| value.get().len()));
    if !room.is_some_and(|room| tenant.answered(&run, room)) {
        answer.result = Err(tool.has_no_room());
    }
    door.desk.answer(&run, answer);
}

/// Whether writing it would hold up others.
fn is_long(outcome: &Outcome) -> bool {
    let raw = outcome.result.iter().chain(outcome.displays.iter().map(|display| &display.data));
    let parts = outcome.tool_calls.len() + outcome.artifacts.len() + outcome.probes.len();
    let bytes = outcome.stdout.text.len()
        + outcome.stderr.text.len()
        + outcome.result_text.as_ref().map_or(0, String::len)
        + outcome.error.as_ref().map_or(0, |error| error.message.len())
        + raw.map(|raw| raw.get().len()).sum::<usize>();
    bytes + 256 * parts > SHORT
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

impl Stop {
    /// What whoever started the run is told if it had not begun.
    pub fn problem(self) -> Problem {
        match self {
            Stop::Cancelled => Problem::of(&RunError::Cancelled),
            Stop::Ending => Problem::ending(),
        }
    }
}
