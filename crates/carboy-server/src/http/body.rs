//! Reading a request's body: bounded in bytes and time, each and all together.

use std::fmt::Display;

use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use carboy_engine::Sessions;
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use super::door::Door;
use super::entry::Caller;
use super::problem::Problem;
use super::shares::Share;
use super::survey;

/// Bodies up to this many bytes are parsed where they are; longer ones on a thread that may take its time.
pub(super) const SHORT: usize = 64 << 10;

/// The most parts of a body that its parser would hold each by itself.
const MAX_PARTS: usize = 1 << 17;

/// The whole body, and what it takes of the memory that all of them may take.
pub(super) async fn read<R: Sessions>(
    door: &Door<R>,
    caller: &Caller,
    request: Request,
) -> Result<(Vec<u8>, Share), Problem> {
    check_type(request.headers())?;
    let most = door.bounds.body_bytes;
    let too_long = || {
        let detail = format!("the body has more than {most} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_size", detail)
            .hint("hand in less; the operator sets bounds.body_bytes")
    };
    let mut body = request.into_body();
    let known = http_body::Body::size_hint(&body).lower();
    if known > most as u64 {
        return Err(too_long());
    }
    let end = Instant::now() + door.bounds.body_time();
    let mut bytes: Vec<u8> = Vec::new();
    let mut room = door.memory.take(caller.tenant.number, 0).ok_or_else(Problem::memory)?;
    loop {
        let frame = timeout_at(end, body.frame()).await.map_err(|_elapsed| {
            let detail = format!("the body was not there after {} ms", door.bounds.body_ms);
            Problem::new(StatusCode::REQUEST_TIMEOUT, "body_time", detail)
        })?;
        let Some(frame) = frame else { return Ok((bytes, room)) };
        let cut = |_error| Problem::request("the body ended before its end");
        let Ok(data) = frame.map_err(cut)?.into_data() else { continue };
        if bytes.len() + data.len() > most {
            return Err(too_long());
        }
        let needed = bytes.len() + data.len();
        if needed > bytes.capacity() {
            // What is set aside counts, not only what came.
            let known = usize::try_from(known).unwrap_or(most);
            let grown = (2 * bytes.capacity()).min(known).max(needed);
            room.grow(grown - bytes.capacity()).ok_or_else(Problem::memory)?;
            bytes.reserve_exact(grown - bytes.len());
        }
        bytes.extend_from_slice(&data);
    }
}

fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let kind = text.split(';').next().unwrap_or("").trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let detail = "the body must be JSON, and the request must say so";
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media_type", detail)
        .hint("send `Content-Type: application/json`"))
}

/// Does something with a body, which counts until that is done, also if nobody waits for it any more. Long ones hold
/// up nobody else, and only so many are looked at at once.
async fn look<R: Sessions, T: Send + 'static>(
    door: &Door<R>,
    bytes: Vec<u8>,
    room: Share,
    look: impl FnOnce(Vec<u8>) -> T + Send + 'static,
) -> Result<(T, Share), Problem> {
    if bytes.len() <= SHORT {
        return Ok((look(bytes), room));
    }
    let place = door.parses.clone().acquire_owned().await.map_err(|_closed| Problem::engine())?;
    let looking = tokio::task::spawn_blocking(move || {
        let _place = place;
        (look(bytes), room)
    });
    looking.await.map_err(|_panic| Problem::engine())
}

/// What a body says, as `parser` reads it, and what it takes of the memory for all.
pub(super) async fn parse<R: Sessions, T: Send + 'static>(
    door: &Door<R>,
    bytes: Vec<u8>,
    room: Share,
    parser: fn(&[u8]) -> serde_json::Result<T>,
) -> Result<(T, Share), Problem> {
    let parse = move |bytes: Vec<u8>| {
        if bytes.len() > SHORT && survey::parts(&bytes) > MAX_PARTS {
            let detail = format!("the body has more than {MAX_PARTS} names and values");
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_size", detail)
                .hint("put many values into one input, as a list or as text"));
        }
        let wrong = |why: &dyn Display| {
            Problem::request(format_args!("the body is not what this path takes: {why}")).hint(
                "docs/serve.md shows what each path takes, such as {\"code\": \"result = 6 * 7\"}",
            )
        };
        // A list of values in the order of a type's fields is no form that anybody was told of.
        if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
            return Err(wrong(&"it is a list, and must be an object"));
        }
        parser(&bytes).map_err(|error| wrong(&error))
    };
    let (parsed, room) = look(door, bytes, room, parse).await?;
    Ok((parsed?, room))
}
