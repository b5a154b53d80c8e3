//! What is not a run: whether the door works, what a caller gets, what the guard says, what was counted.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use carboy_engine::{Sessions, check_code};
use carboy_protocol::{LanguagePolicy, LanguageProfile, Policy, Preset};
use serde::Deserialize;
use serde_json::json;

use super::body;
use super::config::Scope;
use super::door::{Door, Standing};
use super::entry::Caller;
use super::problem::Problem;

fn written(kind: &'static str, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// `GET /healthz`: this process answers.
pub(super) async fn health() -> Response {
    written("application/json", json!({ "status": "ok" }).to_string())
}

/// `GET /readyz`: runs are taken.
pub(super) async fn ready<R: Sessions>(State(door): State<Arc<Door<R>>>) -> Response {
    let why = match door.standing() {
        Standing::Ready => match door.runner().unready() {
            Some(why) => why,
            None => return written("application/json", json!({ "status": "ready" }).to_string()),
        },
        Standing::Starting => "the first runs are not over yet",
        Standing::Failed => {
            "the first runs failed, or reached what they must not; the log of `carboy serve` says why"
        }
        Standing::Draining => "the server is ending",
    };
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", why).into_response()
}

/// `GET /metrics`
pub(super) async fn metrics<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    caller.needs(Scope::Metrics)?;
    let text = door.metrics.text(&door.gauges());
    Ok(written("text/plain; version=0.0.4; charset=utf-8", text))
}

/// `GET /v1/policies`: what a run of this caller gets: without a policy, at most, and with each preset.
pub(super) async fn policies<R: Sessions>(
    State(_): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    caller.needs(Scope::Read)?;
    let ceiling = &caller.tenant.ceiling;
    let presets: serde_json::Map<_, _> = Preset::ALL
        .iter()
        .map(|preset| (preset.as_str().to_owned(), json!(Policy::preset(*preset).within(ceiling))))
        .collect();
    let text = json!({ "ceiling": ceiling, "presets": presets }).to_string();
    Ok(written("application/json", text))
}

/// Code to look at, and the language it is to be written in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToCheck {
    code: String,
    #[serde(default)]
    language: LanguagePolicy,
}

/// `POST /v1/check`: what the guard says of code, without running it.
pub(super) async fn check<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Problem> {
    caller.needs(Scope::Run)?;
    let (bytes, room) = body::read(&door, &caller, request).await?;
    let (ToCheck { code, language }, room) =
        body::parse(&door, bytes, room, |bytes| serde_json::from_slice(bytes)).await?;
    let asked = Policy { language, ..Policy::default() };
    let wrong =
        |faults| door.problem(&caller.request, &carboy_engine::RequestError::Policy(faults).into());
    asked.validate().map_err(wrong)?;
    let mut language = asked.within(&caller.tenant.ceiling).language;
    if language.profile == LanguageProfile::Open {
        // Nothing is checked under that one: what is asked here is what an agent may write.
        language = LanguagePolicy::of(LanguageProfile::Agent);
    }
    let python = door.python;
    let own = caller.tenant.check_place()?;
    let place = door.checks.clone().acquire_owned().await.map_err(|_closed| Problem::engine())?;
    let checking = tokio::task::spawn_blocking(move || {
        // Also when nobody waits for it any more.
        let _held = (own, place, room);
        let report = check_code(&code, &language, python);
        json!({
            "profile": language.profile,
            "clean": report.is_clean(),
            "violations": report.violations,
            "more": report.more,
        })
        .to_string()
    });
    let text = checking.await.map_err(|_panic| Problem::engine())?;
    Ok(written("application/json", text))
}
