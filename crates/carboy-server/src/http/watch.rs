//! Tells an operator's log and traces of each request. Where nobody listens, nothing is looked at.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::http::header::HeaderName;
use axum::middleware::Next;
use axum::response::Response;
use carboy_engine::Sessions;

use super::door::Door;
use super::entry::{REQUEST_ID, Whose};
use super::problem::Code;
use crate::telemetry::{self, Trace, random};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// What probes ask, again and again: told only if the answer is no.
const PROBES: [&str; 2] = ["/healthz", "/readyz"];

pub(super) async fn watch<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(telemetry) = door.telemetry() else { return next.run(request).await };
    let begun = Instant::now();
    let header = request.headers().get(TRACEPARENT).and_then(|value| value.to_str().ok());
    let trace = Trace::of(header, random);
    let method = word(request.method());
    let path = request.extensions().get::<MatchedPath>();
    let route = path.map_or_else(|| "other".to_owned(), |path| path.as_str().to_owned());
    request.extensions_mut().insert(trace);
    let response = next.run(request).await;
    if PROBES.contains(&route.as_str()) && response.status().is_success() {
        return response;
    }
    let id = response.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok());
    let tenant = response.extensions().get::<Whose>();
    telemetry.request(&telemetry::Request {
        id: id.unwrap_or_default(),
        trace,
        method,
        route: &route,
        status: response.status().as_u16(),
        problem: response.extensions().get().map(|Code(code)| *code),
        tenant: tenant.map(|Whose(tenant)| tenant.name.as_str()),
        took: begun.elapsed(),
    });
    response
}

/// A method that is not a usual one is a client's word.
fn word(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
