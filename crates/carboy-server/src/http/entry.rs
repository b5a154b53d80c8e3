//! What every request passes before it is looked at: its id, the host it names, where it comes from, whose it is.
//!
//! A web page that is open on the same machine must not drive this door: it could send requests to loopback, or to
//! a name that it made lead there. So a key is needed on loopback too, the host must be a known one, and a request
//! that names an origin is refused unless the settings name it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, HOST, HeaderName, ORIGIN,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use carboy_engine::{Sessions, new_id};

use super::config::Scope;
use super::cors;
use super::door::Door;
use super::held::Held;
use super::problem::{Code, Problem};
use super::seat::Seat;
use super::tenant::Tenant;
use super::tenants::Found;
use crate::telemetry::Trace;

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest id of a request that a client may choose.
const MAX_ID: usize = 64;

/// What everybody may ask, without a key.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];

/// Whose request it is.
#[derive(Clone)]
pub(super) struct Caller {
    pub tenant: Arc<Tenant>,
    pub request: String,
    /// What it belongs to.
    pub trace: Option<Trace>,
    /// The connection that it came on.
    seat: Option<Arc<Seat>>,
    scopes: Vec<Scope>,
}

/// Whose request an answer is for.
#[derive(Clone)]
pub(super) struct Whose(pub Arc<Tenant>);

impl Caller {
    /// Counts the bytes of an answer as the tenant's until all of it is sent. It is sent also if that is more than the
    /// tenant may have, which then gets nothing more until somebody took the answer.
    pub fn answers_with<R: Sessions>(&self, door: &Door<R>, bytes: usize) {
        if let Some(seat) = &self.seat {
            seat.hold(door.memory.force(self.tenant.number, bytes));
        }
    }

    /// The same for an answer that need not be given now.
    pub fn may_answer_with<R: Sessions>(
        &self,
        door: &Door<R>,
        bytes: usize,
    ) -> Result<(), Problem> {
        let memory = door.memory.take(self.tenant.number, bytes).ok_or_else(Problem::memory)?;
        if let Some(seat) = &self.seat {
            seat.hold(memory);
        }
        Ok(())
    }

    /// A problem if the key is not for that.
    pub fn needs(&self, scope: Scope) -> Result<(), Problem> {
        if self.scopes.contains(&scope) {
            return Ok(());
        }
        let detail = format!("this key does not have the scope `{}`", scope.as_str());
        Err(Problem::new(StatusCode::FORBIDDEN, "scope", detail)
            .hint("use another key, or have the operator add the scope to this one"))
    }
}

/// Lets a request in, or says why not.
pub(super) async fn enter<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    request: Request,
    next: Next,
) -> Response {
    let id = match request_id(request.headers()) {
        Some(id) => id,
        None => return Problem::engine().into_response(),
    };
    let origin = request.headers().get(ORIGIN).filter(|origin| door.is_origin(origin)).cloned();
    let mut response = match admit(&door, request, &id) {
        Ok(None) => cors::yes(),
        Ok(Some((request, held))) => {
            let caller = request.extensions().get::<Caller>();
            let whose = caller.map(|caller| Whose(caller.tenant.clone()));
            let mut response = next.run(request).await;
            if let Some(whose) = whose {
                response.extensions_mut().insert(whose);
            }
            match held {
                Some(held) => response.map(|body| Body::new(Held::new(body, held))),
                None => response,
            }
        }
        Err(problem) => problem.into_response(),
    };
    if let Some(Code(code)) = response.extensions().get() {
        door.metrics.problem(code);
    }
    let headers = response.headers_mut();
    if let Some(origin) = origin {
        cors::let_read(origin, headers);
    }
    if let Ok(id) = HeaderValue::try_from(id) {
        headers.insert(REQUEST_ID, id);
    }
    // Whatever a guest wrote, no browser takes it for a page or keeps it.
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let nothing = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; sandbox");
    headers.insert(CONTENT_SECURITY_POLICY, nothing);
    response
}

/// Says that nothing more is answered on this connection, and what every answer says to browsers.
pub(super) async fn closes(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    if let Some(id) = new_id().ok().and_then(|id| HeaderValue::try_from(id).ok()) {
        headers.insert(REQUEST_ID, id);
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The id that the client chose, if it is a plain word; otherwise a new one.
fn request_id(headers: &HeaderMap) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let chosen = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
    match chosen.filter(|id| !id.is_empty() && id.len() <= MAX_ID && id.bytes().all(plain)) {
        Some(id) => Some(id.into()),
        None => new_id().ok(),
    }
}

/// A request that is let in, and the seat that it keeps if it is a known caller's. `None` if a browser asks whether a
/// page may send one, and it may.
type Admitted = Option<(Request, Option<super::seat::Request>)>;

fn admit<R: Sessions>(door: &Door<R>, mut request: Request, id: &str) -> Result<Admitted, Problem> {
    if OPEN.contains(&request.uri().path()) {
        return Ok(Some((request, None)));
    }
    check_host(door, &request)?;
    check_origin(door, request.headers())?;
    if cors::is_question(request.method(), request.headers()) {
        return Ok(None);
    }
    let seat = request.extensions().get::<Arc<Seat>>().cloned();
    let mut caller = caller(door, request.headers(), id, seat.clone())?;
    caller.trace = request.extensions().get().copied();
    // From here on the connection is not taken away for another.
    let busy = door.busy.take(caller.tenant.number, 1).ok_or_else(|| {
        let detail = "this tenant has as many requests under way as connections are left for it";
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "quota", detail)
            .again_in(Duration::from_secs(1))
            .hint(
                "read the answers of requests that are over; the operator sets bounds.connections",
            )
    })?;
    let held = match seat.map(|seat| seat.begin(busy)) {
        Some(None) => {
            let detail = "this connection was idle, and was closed for another";
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "closed", detail));
        }
        other => other.flatten(),
    };
    request.extensions_mut().insert(caller);
    Ok(Some((request, held)))
}

fn check_host<R: Sessions>(door: &Door<R>, request: &Request) -> Result<(), Problem> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok(),
        _ => None,
    };
    // A request line may name the host too, and counts more.
    let named = request.uri().authority().map(|authority| authority.as_str());
    let known = |host: &str| door.is_host(without_port(host));
    if host.is_some_and(known) && named.is_none_or(known) {
        return Ok(());
    }
    let detail = "the Host of this request is not one that this server answers to";
    Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, "host", detail)
        .hint("use localhost, or have the operator add the name to `hosts`"))
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn check_origin<R: Sessions>(door: &Door<R>, headers: &HeaderMap) -> Result<(), Problem> {
    let mut origins = headers.get_all(ORIGIN).iter();
    if origins.all(|origin| door.is_origin(origin)) {
        return Ok(());
    }
    let detail = "this request comes from a web page that may not send any";
    Err(Problem::new(StatusCode::FORBIDDEN, "origin", detail)
        .hint("send it from a program, or have the operator add the page's origin to `origins`"))
}

fn caller<R: Sessions>(
    door: &Door<R>,
    headers: &HeaderMap,
    id: &str,
    seat: Option<Arc<Seat>>,
) -> Result<Caller, Problem> {
    let refused = |code, detail: &str| {
        Problem::new(StatusCode::UNAUTHORIZED, code, detail)
            .hint("send `Authorization: Bearer KEY`; the operator of this server gives out keys")
    };
    let mut keys = headers.get_all(AUTHORIZATION).iter();
    let key = match (keys.next(), keys.next()) {
        (Some(key), None) => key.to_str().ok().and_then(bearer),
        _ => None,
    };
    let key = key.ok_or_else(|| refused("key", "this request has no key"))?;
    match door.tenants.find(key, SystemTime::now()) {
        Found::Valid(tenant, scopes) => {
            Ok(Caller { tenant, request: id.into(), trace: None, seat, scopes })
        }
        Found::Expired => Err(refused("key_expired", "this key has expired")),
        Found::Unknown => Err(refused("key", "this key is not known here")),
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, key) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_known_by_its_name() {
        for (host, name) in [
            ("localhost", "localhost"),
            ("localhost:80", "localhost"),
            ("[::1]:80", "[::1]"),
            ("[::1]", "[::1]"),
            ("127.0.0.1:80.evil.example", "127.0.0.1:80.evil.example"),
        ] {
            assert_eq!(without_port(host), name);
        }
    }
}
