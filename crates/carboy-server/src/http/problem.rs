//! Why a request has no answer of its own: `application/problem+json`, with a code for programs, a sentence for
//! people and a way out.

use std::fmt::{self, Display};
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use carboy_engine::{FleetError, RequestError, RunError};
use carboy_protocol::pipe::FailureKind;
use carboy_protocol::visible_json;
use serde::Serialize;

/// One problem, on its way to the client.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    status: StatusCode,
    /// A stable word for programs.
    pub code: &'static str,
    detail: String,
    hint: Option<String>,
    retry_after: Option<Duration>,
}

/// The code of the problem that an answer is, for whoever counts them.
#[derive(Clone, Copy)]
pub(super) struct Code(pub &'static str);

/// The same as JSON.
#[derive(Serialize)]
struct Written<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: &'a str,
    status: u16,
    code: &'a str,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    /// What `Retry-After` says, not rounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

/// The most bytes of a sentence. A client's own words can be in it, and may be as long as a body.
const MAX_SENTENCE: usize = 2048;

/// What something says of itself, cut off where it is too long. No more than that is ever written.
pub(super) fn short(said: impl Display) -> String {
    struct Short(String);
    impl fmt::Write for Short {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let room = MAX_SENTENCE - self.0.len();
            if text.len() <= room {
                self.0.push_str(text);
                return Ok(());
            }
            self.0.push_str(&text[..text.floor_char_boundary(room)]);
            self.0.push('…');
            Err(fmt::Error)
        }
    }
    let mut short = Short(String::new());
    // An error means that it is as long as it may be.
    fmt::write(&mut short, format_args!("{said}")).ok();
    short.0
}

/// The code of what is not there, or is somebody else's.
pub(super) const NOT_FOUND: &str = "not_found";

impl Problem {
    pub fn new(status: StatusCode, code: &'static str, detail: impl Display) -> Problem {
        Problem { status, code, detail: short(detail), hint: None, retry_after: None }
    }

    pub fn hint(mut self, hint: impl Display) -> Problem {
        self.hint = Some(short(hint));
        self
    }

    /// When it may work.
    pub fn again_in(mut self, time: Duration) -> Problem {
        self.retry_after = Some(time);
        self
    }

    /// The request itself is wrong.
    pub fn request(detail: impl Display) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "request", detail)
    }

    /// There is no such thing, or it belongs to somebody else: nobody is told which.
    pub fn not_found() -> Problem {
        Problem::new(StatusCode::NOT_FOUND, NOT_FOUND, "there is nothing here by this name")
            .hint("docs/serve.md lists the paths; a run is forgotten some minutes after its end")
    }

    /// The same for one kind of thing. A path says of what kind it is, so nobody is told more.
    pub fn no(what: &str) -> Problem {
        let detail = format!("there is no {what} of this name, or it is another tenant's");
        let hint = match what {
            "run" => "a run is forgotten ten minutes after its end, or when 256 more have ended",
            "file" => {
                "only files of runs that were started with artifacts=keep are kept, for ten minutes"
            }
            "checkpoint" => {
                "GET /v1/sessions/{id}/checkpoints has the names of those that are kept"
            }
            _ => "docs/serve.md says how long what is kept",
        };
        Problem::new(StatusCode::NOT_FOUND, "not_found", detail).hint(hint)
    }

    pub fn method() -> Problem {
        let detail = "this path does not take that method";
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", detail)
            .hint("docs/serve.md lists what each path takes")
    }

    /// The tenant's bodies and answers take all that is left for them.
    pub fn memory() -> Problem {
        let detail = "the requests of this tenant hold as much memory as is left for them";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "bodies", detail)
            .again_in(Duration::from_secs(1))
            .hint("try again later; the operator sets bounds.bodies_bytes")
    }

    /// Nothing more is begun.
    pub fn ending() -> Problem {
        let detail = "the server is ending, and the run was not begun";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "ending", detail)
            .again_in(Duration::from_secs(1))
            .hint("send it again: a server that is started again answers soon")
    }

    /// Our own failure. What it was is the operator's to know: it may name paths of the host.
    pub fn engine() -> Problem {
        let detail = "carboy itself failed, and there is no outcome";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "engine", detail)
            .hint("the operator finds the cause in the log of `carboy serve`, by the X-Request-Id")
    }

    /// A policy demands a layer that the host does not have. What the host has is the operator's to know.
    fn demand(layer: &str) -> Problem {
        Problem::request(format!(
            "the policy demands more of `{layer}` than this server's host has"
        ))
        .hint("leave `cgroup` and `landlock_abi` out of the policy, or use another server")
    }

    pub fn of(error: &RunError) -> Problem {
        let problem = match error {
            RunError::Request(error @ RequestError::SessionOver { .. }) => {
                Problem::new(StatusCode::GONE, "session_ended", error.to_string())
            }
            RunError::Request(error) => Problem::request(error),
            RunError::Busy(busy) => {
                Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", busy.to_string())
                    .again_in(busy.retry_after)
            }
            RunError::Cancelled => {
                Problem::new(StatusCode::CONFLICT, "cancelled", RunError::Cancelled.to_string())
            }
            RunError::Engine(error) => {
                return error.missing_layer().map_or_else(Problem::engine, Problem::demand);
            }
            RunError::Fleet(error) => match Problem::of_fleet(error) {
                Some(problem) => problem,
                None => return Problem::engine(),
            },
        };
        Problem { hint: error.hint().map(short), ..problem }
    }

    /// The same for what only a gateway meets; none for a failure that is the operator's to know.
    fn of_fleet(error: &FleetError) -> Option<Problem> {
        let (status, code) = match error {
            FleetError::Node(failure) => match failure.kind {
                FailureKind::Request => (StatusCode::BAD_REQUEST, "request"),
                FailureKind::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy"),
                FailureKind::Cancelled => (StatusCode::CONFLICT, "cancelled"),
                FailureKind::Engine => return None,
            },
            FleetError::WorkerLost | FleetError::Poison { .. } => {
                (StatusCode::BAD_GATEWAY, "worker_lost")
            }
            FleetError::TenantFull { .. } => (StatusCode::TOO_MANY_REQUESTS, "fleet_full"),
            FleetError::Full { .. } => (StatusCode::SERVICE_UNAVAILABLE, "fleet_full"),
            FleetError::Unreachable { .. } => {
                (StatusCode::SERVICE_UNAVAILABLE, "fleet_unreachable")
            }
            FleetError::Drained => (StatusCode::SERVICE_UNAVAILABLE, "drained"),
            FleetError::SessionLost => (StatusCode::GONE, "session_lost"),
            FleetError::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "body_size"),
            FleetError::Broken { .. } => return None,
        };
        let again = match error {
            FleetError::Node(failure) if failure.kind == FailureKind::Busy => {
                Some(Duration::from_secs(1))
            }
            _ => error.retry_after(),
        };
        Some(Problem { retry_after: again, ..Problem::new(status, code, error) })
    }

    /// What happened, and what to do about it.
    pub fn words(&self) -> (String, Option<String>) {
        let again = |time: Duration| format!("try again in {} s", time.as_secs().max(1));
        (self.detail.clone(), self.retry_after.map(again).or_else(|| self.hint.clone()))
    }

    /// How much memory its sentences take.
    pub fn bytes(&self) -> usize {
        self.detail.len() + self.hint.as_ref().map_or(0, String::len)
    }

    /// The body, as JSON.
    pub fn json(&self) -> String {
        let written = Written {
            kind: format!("urn:carboy:problem:{}", self.code),
            title: self.status.canonical_reason().unwrap_or("Problem"),
            status: self.status.as_u16(),
            code: self.code,
            detail: &self.detail,
            hint: self.hint.as_deref(),
            retry_after_ms: self
                .retry_after
                .map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)),
        };
        // Texts and a number, which JSON always has a form for.
        let text = serde_json::to_string(&written).unwrap_or_default();
        visible_json(&text).into_owned()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.json()));
        *response.status_mut() = self.status;
        response.extensions_mut().insert(Code(self.code));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(time) = self.retry_after {
            // Whole seconds, and never "at once".
            let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
