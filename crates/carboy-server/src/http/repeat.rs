//! Requests that are sent again: the same key and body give the run that there is, and never a second one.
//!
//! A client that lost its connection does not know whether its run was begun. With a key of its own it may ask
//! again: the run goes on without it, and whoever comes with the same key waits for the same end.

use axum::extract::Request;
use axum::http::header::HeaderName;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use carboy_engine::{RunError, Sessions};
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

use super::body;
use super::door::Door;
use super::entry::Caller;
use super::known::{End, First, Known, Taken};
use super::problem::Problem;
use super::run::{Run, answer};
use super::tenant::Ticket;
use crate::desk::Event;

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub(super) const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The longest key.
const MAX_KEY: usize = 255;

/// The key that a request has, if it has one.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut keys = headers.get_all(KEY).iter();
    let (first, second) = (keys.next(), keys.next());
    let Some(first) = first else { return Ok(None) };
    let key = first.to_str().ok().filter(|key| !key.is_empty() && key.len() <= MAX_KEY);
    match (key, second) {
        (Some(key), None) => Ok(Some(key.to_owned())),
        _ => Err(Problem::request(format!(
            "an Idempotency-Key has 1 to {MAX_KEY} visible characters, and a request has one"
        ))),
    }
}

/// What the body of a request is known by.
pub(super) fn digest(body: &[u8]) -> [u8; 32] {
    Sha256::digest(body).into()
}

/// A request for a run that may be sent again.
pub(super) struct Repeat {
    key: Option<String>,
    /// Where it goes, with its query: the same body at another place is another request.
    place: String,
}

/// The answer of a run, and its id.
pub(super) type Answered = (Response, String);

impl Repeat {
    /// What a request says of that. Whoever hears events as they come cannot hear them again.
    pub fn of(request: &Request, hears_events: bool) -> Result<Repeat, Problem> {
        let key = key(request.headers())?;
        if key.is_some() && hears_events {
            return Err(Problem::request("events cannot be told again")
                .hint("send an Idempotency-Key, or `Accept: text/event-stream`, but not both"));
        }
        let place = request.uri().path_and_query().map_or("", |place| place.as_str()).to_owned();
        Ok(Repeat { key, place })
    }

    /// Whether it has a key.
    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// What the request is known by, beside its key.
    fn digest(&self, body: [u8; 32]) -> [u8; 32] {
        let mut digest = Sha256::new();
        digest.update(body);
        digest.update(self.place.as_bytes());
        digest.finalize().into()
    }

    /// The answer of the run that the same request began, if there is one; otherwise the request.
    pub async fn answered<R: Sessions>(
        &self,
        door: &Door<R>,
        caller: &Caller,
        request: Request,
    ) -> Result<Result<Answered, Request>, Problem> {
        let first = self.key.as_ref().and_then(|key| caller.tenant.first(key));
        let Some(first) = first else { return Ok(Err(request)) };
        let (bytes, room) = body::read(door, caller, request).await?;
        let (body, _room) = body::parse(door, bytes, room, |bytes| Ok(digest(bytes))).await?;
        self::answered(door, caller, first, self.digest(body)).await.map(Ok)
    }

    /// Gives a run the key of its request, or says who has it.
    pub fn take(&self, ticket: &mut Ticket, body: Option<[u8; 32]>) -> Result<(), Taken> {
        match (&self.key, body) {
            (Some(key), Some(body)) => ticket.take_key(key, self.digest(body)),
            _ => Ok(()),
        }
    }

    /// The answer where another has the key. Its own run is withdrawn before.
    pub async fn taken<R: Sessions>(
        &self,
        door: &Door<R>,
        caller: &Caller,
        taken: Taken,
        body: Option<[u8; 32]>,
    ) -> Result<Answered, Problem> {
        match taken {
            // The same request came twice, and the other was faster.
            Taken::By(first) => {
                let digest = self.digest(body.unwrap_or_default());
                self::answered(door, caller, first, digest).await
            }
            Taken::Ended => Err(Problem::of(&RunError::Cancelled)),
        }
    }
}

/// Answers a request whose key belongs to a run that there is.
async fn answered<R: Sessions>(
    door: &Door<R>,
    caller: &Caller,
    first: First,
    digest: [u8; 32],
) -> Result<Answered, Problem> {
    if first.digest != digest {
        let detail = "this Idempotency-Key belongs to another request";
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency", detail)
            .hint("take a new key for each request; only the same request may be sent again"));
    }
    let id = first.id.clone();
    first.ended().await;
    let mut response = match caller.tenant.known(&id) {
        Some(Known::Ended(End::Outcome(text))) => {
            caller.may_answer_with(door, text.len())?;
            answer(Ok(text))
        }
        Some(Known::Ended(End::Failed(problem))) => problem.into_response(),
        // It was too long to be kept, or many ended since.
        _ => return Err(Problem::memory()),
    };
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    Ok((response, id))
}

/// The end of a run that goes on also if nobody waits for it.
pub(super) async fn to_its_end<R: Sessions>(mut run: Run<R>) -> Response {
    let (tell, told) = oneshot::channel();
    tokio::spawn(async move {
        let written = loop {
            match run.next().await {
                Some(Event::Ended(ended)) => break run.end(ended).await,
                Some(_) => {}
                None => break Err(Problem::engine()),
            }
        };
        // Whoever asks again finds it among those that ended.
        tell.send(written).ok();
    });
    answer(told.await.unwrap_or_else(|_panic| Err(Problem::engine())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_word_of_its_request() {
        let headers = |keys: &[&[u8]]| {
            keys.iter().map(|key| (KEY, HeaderValue::from_bytes(key).expect("a value"))).collect()
        };
        assert!(matches!(key(&headers(&[])), Ok(None)));
        assert!(matches!(key(&headers(&[b"a-1"])), Ok(Some(key)) if key == "a-1"));
        let long = [b'x'; MAX_KEY + 1];
        for wrong in [&[b"".as_slice()] as &[&[u8]], &[b"a", b"a"], &[&long], &[b"\xe9"]] {
            assert!(key(&headers(wrong)).is_err());
        }
    }
}
