//! Requests that are sent again: the same key and body give the run that there is, and never a second one.
//!
//! A client that lost its connection does not know whether its run was begun. With a key of its own it may ask
//! again: the run goes on without it, and whoever comes with the same key waits for the same end.

use axum::http::header::HeaderName;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use carboy_engine::Sessions;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

use super::door::Door;
use super::entry::Caller;
use super::known::{End, Known};
use super::problem::Problem;
use super::run::{Run, answer};
use super::tenant::First;
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

/// What a request is known by, beside its key.
pub(super) fn with_query(query: &str, body: [u8; 32]) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(body);
    digest.update(query.as_bytes());
    digest.finalize().into()
}

/// Answers a request whose key belongs to a run that there is.
pub(super) async fn answer_again<R: Sessions>(
    door: &Door<R>,
    caller: &Caller,
    first: First,
    digest: [u8; 32],
) -> Result<(Response, String), Problem> {
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
