//! The files that a run left, over HTTP.
//!
//! A guest chose names and content. So no browser shows one as a page of this server: it is always something to save,
//! of a type from a closed list, and what it is called is only what the browser proposes.

use std::fmt::Write;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_RANGE, RANGE,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use carboy_engine::Sessions;
use carboy_protocol::Artifact;
use carboy_store::StoredContent;
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;

use super::door::Door;
use super::entry::Caller;
use super::problem::Problem;
use super::shelf::Found;

/// How much is read at once, and waits for the client.
const PIECE: u64 = 128 << 10;

/// Types that no browser runs anything of. All others are bytes.
const TYPES: [(&str, &str); 7] = [
    ("image/png", "image/png"),
    ("image/jpeg", "image/jpeg"),
    ("image/gif", "image/gif"),
    ("image/webp", "image/webp"),
    ("application/json", "application/json"),
    ("text/csv", "text/csv; charset=utf-8"),
    ("text/plain", "text/plain; charset=utf-8"),
];

/// The content of a file of this name, or the part of it that is asked for.
pub(super) fn content<R: Sessions>(
    door: &Door<R>,
    caller: &Caller,
    headers: &HeaderMap,
    name: &str,
    found: Found,
) -> Result<Response, Problem> {
    match head(door, caller, headers, name, &found.artifact)? {
        Head::None(response) => Ok(response),
        Head::Of(mut response, from, count) => {
            *response.body_mut() = Body::new(Content::of(found, from, count));
            Ok(response)
        }
    }
}

/// What is said of a file before its content.
pub(super) enum Head {
    /// There is no such part.
    None(Response),
    /// The content from this byte on, so many, belongs into the body.
    Of(Response, u64, u64),
}

/// The headers of an answer with the content of a file, or the part of it that is asked for.
pub(super) fn head<R: Sessions>(
    door: &Door<R>,
    caller: &Caller,
    headers: &HeaderMap,
    name: &str,
    artifact: &Artifact,
) -> Result<Head, Problem> {
    let length = artifact.bytes;
    let tag = artifact.sha256.as_deref().map(|digest| format!("\"{digest}\""));
    let part = wanted(headers, tag.as_deref()).map(|part| within(part, length));
    let (status, from, count) = match part {
        None => (StatusCode::OK, 0, length),
        Some(Some((from, count))) => (StatusCode::PARTIAL_CONTENT, from, count),
        Some(None) => return Ok(Head::None(unsatisfiable(length))),
    };
    caller.may_answer_with(door, PIECE as usize)?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    let own = response.headers_mut();
    own.insert(CONTENT_TYPE, HeaderValue::from_static(media_type(artifact)));
    own.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let mut add = |name, value: String| {
        // Digits and text that is made plain here.
        if let Ok(value) = HeaderValue::try_from(value) {
            own.insert(name, value);
        }
    };
    add(CONTENT_DISPOSITION, disposition(name));
    if status == StatusCode::PARTIAL_CONTENT {
        add(CONTENT_RANGE, format!("bytes {from}-{}/{length}", from + count - 1));
    }
    if let Some(tag) = tag {
        add(ETAG, tag);
    }
    Ok(Head::Of(response, from, count))
}

fn unsatisfiable(length: u64) -> Response {
    let detail = format!("the file has {length} bytes, and none that were asked for");
    let mut response =
        Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "range", detail).into_response();
    if let Ok(value) = HeaderValue::try_from(format!("bytes */{length}")) {
        response.headers_mut().insert(CONTENT_RANGE, value);
    }
    response
}

fn media_type(artifact: &Artifact) -> &'static str {
    let told = artifact.media_type.as_deref();
    let known = TYPES.iter().find(|(name, _)| Some(*name) == told);
    known.map_or("application/octet-stream", |(_, name)| name)
}

/// What a browser proposes to save it as: the last part of its path.
fn disposition(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let simple: String =
        name.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect();
    let mut text = format!("attachment; filename=\"{simple}\"");
    if simple != name {
        text += "; filename*=UTF-8''";
        for byte in name.bytes() {
            if byte.is_ascii_alphanumeric() || b"._-".contains(&byte) {
                text.push(char::from(byte));
            } else {
                write!(text, "%{byte:02X}").ok(); // A string takes everything.
            }
        }
    }
    text
}

/// A part of a file: from where to where, both ends among it, or its last bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    From(u64, Option<u64>),
    Last(u64),
}

/// The one part that is asked for. Whoever asks for several, or in another way, gets everything.
fn wanted(headers: &HeaderMap, tag: Option<&str>) -> Option<Part> {
    let mut ranges = headers.get_all(RANGE).iter();
    let (Some(range), None) = (ranges.next(), ranges.next()) else { return None };
    if let Some(wanted) = headers.get(IF_RANGE)
        && wanted.to_str().ok() != tag
    {
        return None;
    }
    let (first, last) = range.to_str().ok()?.trim().strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().unwrap_or(u64::MAX))
    };
    match (first.is_empty(), last.is_empty()) {
        (true, _) => Some(Part::Last(number(last)?)),
        (false, true) => Some(Part::From(number(first)?, None)),
        (false, false) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some(Part::From(first, Some(last)))
        }
    }
}

/// Where a part begins in so many bytes and how many it has; none if it has none.
fn within(part: Part, length: u64) -> Option<(u64, u64)> {
    let (from, to) = match part {
        Part::From(from, to) => (from, to.map_or(length, |to| to.saturating_add(1).min(length))),
        Part::Last(count) => (length.saturating_sub(count), length),
    };
    (from < to).then(|| (from, to - from))
}

/// Some of a file as a body: piece by piece, as the client takes them.
pub(super) struct Content {
    pieces: mpsc::Receiver<io::Result<Bytes>>,
    left: u64,
}

impl Content {
    fn of(found: Found, from: u64, count: u64) -> Content {
        let (sender, pieces) = mpsc::channel(1);
        tokio::spawn(pass_on(found, from, count, sender));
        Content { pieces, left: count }
    }

    /// So many bytes, as they come from a store.
    pub fn of_store(mut stored: StoredContent, count: u64) -> Content {
        let (sender, pieces) = mpsc::channel(1);
        tokio::spawn(async move {
            loop {
                // First a place for it, then the piece: nothing is read that nobody takes.
                let Ok(place) = sender.reserve().await else { return };
                match stored.next().await {
                    Ok(Some(piece)) => place.send(Ok(piece)),
                    Ok(None) => return,
                    Err(error) => return place.send(Err(error)),
                }
            }
        });
        Content { pieces, left: count }
    }
}

async fn pass_on(
    found: Found,
    mut from: u64,
    mut left: u64,
    pieces: mpsc::Sender<io::Result<Bytes>>,
) {
    let found = Arc::new(found);
    while left > 0 {
        // First a place for it, then the piece: nothing is read that nobody takes.
        let Ok(place) = pieces.reserve().await else { return };
        let count = left.min(PIECE);
        let file = found.clone();
        let reading = tokio::task::spawn_blocking(move || file.read(from, count as usize));
        let piece = reading.await.unwrap_or_else(|_panic| Err(io::ErrorKind::Other.into()));
        let is_whole = piece.is_ok();
        place.send(piece.map(Bytes::from));
        if !is_whole {
            return;
        }
        from += count;
        left -= count;
    }
}

impl HttpBody for Content {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let next = self.pieces.poll_recv(context);
        if let Poll::Ready(Some(Ok(piece))) = &next {
            self.left -= piece.len() as u64;
        }
        next.map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(range: &str, if_range: Option<&str>) -> Option<Part> {
        let mut headers = HeaderMap::new();
        headers.insert(RANGE, HeaderValue::try_from(range).expect("a header"));
        if let Some(tag) = if_range {
            headers.insert(IF_RANGE, HeaderValue::try_from(tag).expect("a header"));
        }
        wanted(&headers, Some("\"ab\""))
    }

    #[test]
    fn a_part_is_asked_for_as_the_standard_says() {
        assert_eq!(part("bytes=0-0", None), Some(Part::From(0, Some(0))));
        assert_eq!(part("bytes=5-", None), Some(Part::From(5, None)));
        assert_eq!(part("bytes=-5", Some("\"ab\"")), Some(Part::Last(5)));
        assert_eq!(part("bytes=0-99999999999999999999", None), Some(Part::From(0, Some(u64::MAX))));
        for all in
            ["bytes=1-2,3-4", "bytes=2-1", "bytes=-", "bytes=a-b", "bytes=+1-2", "lines=1-2", ""]
        {
            assert_eq!(part(all, None), None, "{all}");
        }
        assert_eq!(part("bytes=0-0", Some("\"cd\"")), None);
        assert_eq!(wanted(&HeaderMap::new(), None), None);
    }

    #[test]
    fn a_part_lies_within_the_file() {
        assert_eq!(within(Part::From(0, Some(0)), 10), Some((0, 1)));
        assert_eq!(within(Part::From(8, Some(u64::MAX)), 10), Some((8, 2)));
        assert_eq!(within(Part::From(9, None), 10), Some((9, 1)));
        assert_eq!(within(Part::Last(3), 10), Some((7, 3)));
        assert_eq!(within(Part::Last(30), 10), Some((0, 10)));
        for none in [Part::From(10, None), Part::From(10, Some(20)), Part::Last(0)] {
            assert_eq!(within(none, 10), None, "{none:?}");
        }
        assert_eq!(within(Part::Last(5), 0), None);
    }

    #[test]
    fn a_name_is_only_a_proposal() {
        assert_eq!(disposition("out/plot.png"), "attachment; filename=\"plot.png\"");
        assert_eq!(
            disposition("a\"; x=\"\u{e9}"),
            "attachment; filename=\"a___x___\"; filename*=UTF-8''a%22%3B%20x%3D%22%C3%A9"
        );
        assert_eq!(disposition("a/"), "attachment; filename=\"\"");
    }
}
