//! Something for the caller, who may be slow to take it. Until then its run says no more.

use carboy_engine::Chunk;
use carboy_protocol::Call;
use tokio::sync::mpsc;

use super::caller::Caller;

pub(super) enum Pending {
    Chunk(Chunk),
    Call(Call),
}

impl Pending {
    /// What it takes of memory.
    pub fn bytes(&self) -> usize {
        match self {
            Pending::Chunk(chunk) => chunk.bytes.len(),
            Pending::Call(call) => call.args.get().len() + call.kwargs.get().len(),
        }
    }

    /// Hands it over, when there is room and nobody else sends. What the caller does not want any more is dropped.
    pub fn hand_over(self, caller: &Caller) {
        match (self, &caller.chunks, &caller.calls) {
            (Pending::Chunk(chunk), Some(chunks), _) => drop(chunks.try_send(chunk)),
            (Pending::Call(call), _, Some(calls)) => drop(calls.try_send(call)),
            _ => {}
        }
    }
}

/// Waits until the caller can take something. Nothing is lost if the wait is given up.
pub(super) async fn has_room(
    pending: Option<&Pending>,
    chunks: Option<&mpsc::Sender<Chunk>>,
    calls: Option<&mpsc::Sender<Call>>,
) {
    match (pending, chunks, calls) {
        (Some(Pending::Chunk(_)), Some(chunks), _) => drop(chunks.reserve().await),
        (Some(Pending::Call(_)), _, Some(calls)) => drop(calls.reserve().await),
        _ => {}
    }
}
