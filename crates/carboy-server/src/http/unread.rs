//! Bodies that were not read when their request was answered.
//!
//! HTTP/1.1 has no way to the next request but through the body of this one. If nobody reads it, the connection is
//! closed behind the answer, and a client that was about to send the body, or its next request, finds it broken. So
//! what is left of a short body is taken first, and where that cannot be, the answer says that it is the last.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use axum::http::header::{CONNECTION, EXPECT};
use axum::http::{HeaderValue, Request};
use axum::response::Response;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::timeout;

/// The most bytes that are taken for nothing. Each is dropped as it comes.
const MOST: u64 = 64 << 10;

/// A body, and whether somebody waited for more of it in vain.
type Left = Arc<Mutex<Option<(Incoming, bool)>>>;

/// A body that is given back if it is not read to its end.
pub(super) struct Lent {
    /// `None` when it was read, or broke.
    body: Option<Incoming>,
    /// The client has not sent what was asked for last.
    is_missed: bool,
    left: Left,
}

/// What comes back of a body that was lent.
pub(super) struct Loan {
    left: Left,
    /// The client sends it only when it is asked to.
    is_awaited: bool,
}

/// Lends the body of a request to whoever answers it.
pub(super) fn lend(request: Request<Incoming>) -> (Request<Lent>, Loan) {
    let left = Left::default();
    let loan = Loan { left: left.clone(), is_awaited: request.headers().contains_key(EXPECT) };
    (request.map(|body| Lent { body: Some(body), is_missed: false, left }), loan)
}

impl Loan {
    /// Takes what is left of the body, if it is short and comes in time. Otherwise nothing follows this answer.
    pub async fn settle(self, response: &mut Response, patience: Duration) {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((mut body, is_missed)) = left else { return };
        let is_short = body.size_hint().upper().is_some_and(|bytes| bytes <= MOST);
        let taking = async {
            while let Some(frame) = body.frame().await {
                if frame.is_err() {
                    return false;
                }
            }
            true
        };
        // Who was waited for in vain, and then was answered for another reason, is not waited for again.
        let is_hopeless = self.is_awaited || is_missed || !is_short;
        if is_hopeless || !timeout(patience, taking).await.is_ok_and(|all| all) {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        self.is_missed = polled.is_pending();
        let frame = ready!(polled);
        if !matches!(frame, Some(Ok(_))) {
            self.body = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or(SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) {
            *self.left.lock().unwrap_or_else(PoisonError::into_inner) =
                Some((body, self.is_missed));
        }
    }
}
