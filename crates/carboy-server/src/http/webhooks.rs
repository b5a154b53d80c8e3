//! Telling the end of a job to an address that its caller chose.
//!
//! A redirect is not followed, and nothing of an answer but its status is read. Whoever gets a request knows by the
//! signature that it is ours, and by the time in it that it is not an old one sent again. What fails is tried again
//! after growing pauses.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::Bytes;
use axum::http::header::{CONTENT_TYPE, HOST, HeaderName, USER_AGENT};
use axum::http::{HeaderValue, Method, Request};
use carboy_engine::Sessions;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::door::Door;
use super::durable::{JobNotice, JobSeen, JobState, Jobs};
use super::jobs;
use super::webhook::{Target, address};

/// How many requests are under way at once, of all tenants and of one.
const AT_ONCE: usize = 64;
const OF_TENANT: usize = 8;

/// How long one may take.
const TIME: Duration = Duration::from_secs(10);

/// How long after its end a job is told of at most, and the pauses before one more attempt, of which the last stays.
const GIVEN_UP: Duration = Duration::from_secs(6 * 3600);
const PAUSES: [u64; 6] = [2, 10, 60, 300, 900, 3600];

/// The longest body. An outcome that is longer is left out, and can be asked for.
const MAX_BODY: usize = 256 << 10;

const SIGNATURE: HeaderName = HeaderName::from_static("carboy-signature");
const JOB: HeaderName = HeaderName::from_static("carboy-job");

/// Tells of ends for as long as the door is open.
pub(super) async fn tell<R: Sessions>(door: Arc<Door<R>>) {
    let Ok(offered) = door.jobs.get().cloned() else { return };
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let teller = Arc::new(Teller { door, jobs: offered, busy: Mutex::default(), tls: roots() });
    loop {
        let Ok(first) = places.clone().acquire_owned().await else { return };
        let free = 1 + places.available_permits().min(AT_ONCE / 4);
        let mut place = Some(first);
        match teller.jobs.notices(free).await {
            Ok(notices) => {
                for notice in notices {
                    let held = match place.take() {
                        Some(place) => Ok(place),
                        None => places.clone().acquire_owned().await,
                    };
                    let (Ok(held), teller) = (held, teller.clone()) else { return };
                    tokio::spawn(async move {
                        teller.deal_with(notice).await;
                        drop(held);
                    });
                }
            }
            Err(_unavailable) => sleep(Duration::from_secs(2)).await,
        }
    }
}

fn roots() -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())
}

struct Teller<R: Sessions> {
    door: Arc<Door<R>>,
    jobs: Arc<dyn Jobs>,
    /// How many requests are under way, by tenant.
    busy: Mutex<HashMap<String, usize>>,
    tls: Arc<ClientConfig>,
}

/// What is to be done with a notice.
enum Next {
    Forget,
    Again(Duration),
}

impl<R: Sessions> Teller<R> {
    async fn deal_with(&self, notice: JobNotice) {
        let JobNotice { id, tenant, attempt, lease } = notice;
        let next = if self.begin(&tenant) {
            let next = self.told(&id, &tenant, attempt).await;
            self.end(&tenant);
            next
        } else {
            // Its own others are slow.
            Next::Again(Duration::from_secs(2))
        };
        let again = match next {
            Next::Forget => None,
            Next::Again(time) => Some(time),
        };
        // If nobody hears it, the notice comes again by itself.
        self.jobs.noticed(lease, again).await.ok();
    }

    fn begin(&self, tenant: &str) -> bool {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        let count = busy.entry(tenant.to_owned()).or_default();
        let has_room = *count < OF_TENANT;
        *count += usize::from(has_room);
        has_room
    }

    fn end(&self, tenant: &str) {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = busy.get_mut(tenant) {
            *count -= 1;
            if *count == 0 {
                busy.remove(tenant);
            }
        }
    }

    async fn told(&self, id: &str, tenant: &str, attempt: u32) -> Next {
        let place = (attempt as usize).saturating_sub(1).min(PAUSES.len() - 1);
        let again = Next::Again(Duration::from_secs(PAUSES[place]));
        let seen = match self.jobs.look(tenant, id, Duration::ZERO).await {
            Ok(Some(seen)) => seen,
            Ok(None) => return Next::Forget,
            Err(_unavailable) => return again,
        };
        let ended_ms = match &seen.state {
            // A word that came before the result, or without one.
            JobState::Accepted => return again,
            JobState::Expired => return Next::Forget,
            JobState::Ended(at, _) | JobState::Failed(at, _) | JobState::Cancelled(at) => *at,
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let age = now.saturating_sub(Duration::from_millis(ended_ms));
        let number = self.door.tenants.all().iter().find(|known| known.name == tenant);
        let webhooks = number.and_then(|known| self.door.webhooks[known.number].as_ref());
        let (Some(webhooks), Some(address)) = (webhooks, seen.webhook.clone()) else {
            return Next::Forget;
        };
        // The settings may have changed since it was accepted.
        let Ok(target) = webhooks.target(&address) else { return Next::Forget };
        let body = body(seen);
        let Some(signature) = webhooks.signature(now.as_secs(), &body) else { return Next::Forget };
        let sent = timeout(TIME, self.send(&target, id, signature, body)).await;
        match sent {
            Ok(Some(status)) if (200..300).contains(&status) => Next::Forget,
            // It does not want to hear of this.
            Ok(Some(410)) => Next::Forget,
            _ if age > GIVEN_UP => Next::Forget,
            _ => again,
        }
    }

    /// The status of the answer, if there is one.
    async fn send(&self, target: &Target, id: &str, signature: String, body: Bytes) -> Option<u16> {
        let place = address(target).await?;
        let stream = TcpStream::connect(place).await.ok()?;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = target.path.parse().ok()?;
        let host = match (target.is_tls, target.port) {
            (true, 443) | (false, 80) => target.host.clone(),
            _ => format!("{}:{}", target.host, target.port),
        };
        let headers = request.headers_mut();
        headers.insert(HOST, HeaderValue::try_from(host).ok()?);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static("carboy"));
        headers.insert(JOB, HeaderValue::try_from(id).ok()?);
        headers.insert(SIGNATURE, HeaderValue::try_from(signature).ok()?);
        if target.is_tls {
            let name =
                ServerName::try_from(target.host.trim_matches(['[', ']']).to_owned()).ok()?;
            let stream = TlsConnector::from(self.tls.clone()).connect(name, stream).await.ok()?;
            exchange(stream, request).await
        } else {
            exchange(stream, request).await
        }
    }
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Option<u16> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
    let mut answer = pin!(sender.send_request(request));
    // The connection is worked on only for as long as the answer is waited for. It may end with it.
    let answer = tokio::select! {
        biased;
        answer = &mut answer => answer,
        _ = connection => answer.await,
    };
    answer.ok().map(|answer| answer.status().as_u16())
}

/// What is sent: what `GET /v1/jobs/{id}` says.
fn body(seen: JobSeen) -> Bytes {
    let (id, accepted_ms, word) = (seen.id.clone(), seen.accepted_ms, seen.state.word());
    let whole = jobs::text(seen).concat();
    if whole.len() <= MAX_BODY {
        return whole.into();
    }
    let short = serde_json::json!({
        "id": id, "state": word, "accepted_ms": accepted_ms, "outcome_left_out": true,
    });
    short.to_string().into()
}
