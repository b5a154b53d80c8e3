//! HTTP: a door for many callers on many hosts, each with a key.
//!
//! A [`Door`] knows its tenants and what each may have. Whatever a client does costs bounded memory, bounded time
//! and nobody else's place; what guest code does is an outcome and a 200, a caller's mistake is a 4xx, our own
//! failure a 500, and too much at once a 429 (the tenant's) or a 503 (everybody's) with a time to come again.

mod about;
mod accept;
mod body;
mod bucket;
mod calls;
mod config;
mod cors;
mod door;
mod durable;
mod entry;
mod files;
mod held;
mod jobs;
mod key;
mod known;
mod leased;
mod mcp;
mod metrics;
mod name;
mod part;
mod pieces;
mod problem;
mod recorded;
mod records;
mod repeat;
mod run;
mod runs;
mod seat;
mod sessions;
mod sessions_found;
mod sessions_held;
mod sessions_runs;
mod shares;
mod shelf;
mod socket;
mod store;
mod stored;
mod stream;
mod survey;
mod tenant;
mod tenant_leases;
mod tenant_tools;
mod tenants;
mod tls;
mod tools;
mod unread;
mod upload_folder;
mod uploading;
mod uploads;
mod watch;
mod webhook;
mod webhooks;
mod wishes;

use std::sync::Arc;

use axum::routing::{get, post};
use axum::{Router, middleware};
use carboy_engine::Sessions;
use tokio::sync::watch::Receiver;

use problem::Problem;

pub use accept::{Closing, Listener, SocketFile};
pub use config::{Bounds, DoorConfig, KeyConfig, Scope, StoreConfig, TenantConfig, TlsConfig};
pub use door::{Door, Log, Standing, Told};
pub use durable::{
    JobFailure, JobNotice, JobRow, JobSeen, JobState, Jobs, JobsFault, NewJob, Promise,
};
pub use key::{key_digest, new_key};
pub use leased::{Lessor, Quota};
pub use recorded::{Records, RecordsFault, RecordsPage, RecordsQuery};
pub use tenants::ConfigFault;
pub use tools::{Secret, ToolConfig};
pub use upload_folder::UploadFolder;
pub use webhook::WebhookConfig;

/// Serves a door until it is told to close. Every run that was accepted is answered before it returns, as long as its
/// caller is there to hear it.
pub async fn serve<R: Sessions>(
    door: Arc<Door<R>>,
    listener: Listener,
    closing: Receiver<Closing>,
) {
    let router = routes(&door);
    let sweeper = tokio::spawn(door::sweep(door.clone()));
    let watching = tokio::spawn(sessions_found::watch(door.clone()));
    let telling = tokio::spawn(webhooks::tell(door.clone()));
    let late = late_routes(&door);
    accept::accept(door, router, late, listener, closing).await;
    telling.abort();
    sweeper.abort();
    watching.abort();
}

/// What a connection is told that comes while the server ends.
fn late_routes<R: Sessions>(door: &Arc<Door<R>>) -> Router {
    Router::new()
        .route("/healthz", get(about::health))
        .route("/readyz", get(about::ready::<R>))
        .fallback(async || Problem::ending())
        .layer(middleware::map_response(entry::closes))
        .with_state(door.clone())
}

fn routes<R: Sessions>(door: &Arc<Door<R>>) -> Router {
    Router::new()
        .merge(of_sessions())
        .route(
            "/v1/runs",
            post(runs::start::<R>).get(runs::list::<R>).delete(runs::end_of_key::<R>),
        )
        .route("/v1/runs/{id}", get(runs::look::<R>).delete(runs::end::<R>))
        .route("/v1/runs/{id}/answers", post(calls::answer::<R>))
        .route("/v1/runs/{id}/files", get(stored::list::<R>))
        .route("/v1/runs/{id}/files/{*path}", get(stored::get::<R>))
        .route("/v1/files", post(uploading::send::<R>).get(uploading::list::<R>))
        .route("/v1/files/{sha256}", get(uploading::get::<R>).delete(uploading::remove::<R>))
        .route("/v1/jobs", post(jobs::submit::<R>).get(jobs::list::<R>))
        .route("/v1/jobs/{id}", get(jobs::look::<R>).delete(jobs::end::<R>))
        .route("/v1/records", get(records::list::<R>))
        .route("/v1/records/{id}", get(records::find::<R>))
        .route("/v1/check", post(about::check::<R>))
        .route("/v1/policies", get(about::policies::<R>))
        .route("/mcp", post(mcp::post::<R>).fallback(mcp::other))
        .route("/metrics", get(about::metrics::<R>))
        .route("/healthz", get(about::health))
        .route("/readyz", get(about::ready::<R>))
        .fallback(async || Problem::not_found())
        .method_not_allowed_fallback(async || Problem::method())
        .layer(middleware::from_fn_with_state(door.clone(), entry::enter::<R>))
        .layer(middleware::from_fn_with_state(door.clone(), watch::watch::<R>))
        .with_state(door.clone())
}

fn of_sessions<R: Sessions>() -> Router<Arc<Door<R>>> {
    use axum::routing::delete;
    Router::new()
        .route("/v1/sessions", post(sessions::open::<R>).get(sessions::list::<R>))
        .route("/v1/sessions/{id}", get(sessions::see::<R>).delete(sessions::end::<R>))
        .route("/v1/sessions/{id}/runs", post(sessions_runs::start::<R>))
        .route("/v1/sessions/{id}/branch", post(sessions::branch::<R>))
        .route("/v1/sessions/{id}/interrupt", post(sessions::interrupt::<R>))
        .route("/v1/sessions/{id}/variables", get(sessions::variables::<R>))
        .route(
            "/v1/sessions/{id}/checkpoints",
            get(sessions::checkpoints::<R>).post(sessions::keep::<R>),
        )
        .route("/v1/sessions/{id}/checkpoints/{name}", delete(sessions::forget::<R>))
        .route("/v1/sessions/{id}/rollback", post(sessions::roll_back::<R>))
}
