//! A body of several pieces that somebody else may hold too, so that nothing long is copied for it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Bytes, HttpBody};
use http_body::{Frame, SizeHint};

pub(super) struct Pieces(VecDeque<Bytes>);

impl Pieces {
    /// Pieces of which none is empty.
    pub fn new(pieces: impl IntoIterator<Item = Bytes>) -> Pieces {
        Pieces(pieces.into_iter().filter(|piece| !piece.is_empty()).collect())
    }
}

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.iter().map(|piece| piece.len() as u64).sum())
    }
}
