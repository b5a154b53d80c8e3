//! What a run has to do with its caller while it is under way.

use carboy_protocol::Tool;
use tokio::sync::{mpsc, oneshot};

use crate::runner::{Artifacts, Chunk, ToolHost};

/// The caller's ends.
pub(crate) struct Contact<'a> {
    pub sink: Option<mpsc::Sender<Chunk>>,
    pub cancel: Option<oneshot::Receiver<()>>,
    pub tools: &'a [Tool],
    pub host: Option<ToolHost>,
    /// The id of the run.
    pub run: &'a str,
    /// What is wanted of the files that it leaves.
    pub artifacts: Artifacts,
    /// What the jar has not read of a frame of an earlier run.
    pub owed: Vec<u8>,
}

/// Waits until the caller cancels, which may be never.
pub(crate) async fn cancelled(cancel: &mut Option<oneshot::Receiver<()>>) {
    if let Some(receiver) = cancel {
        if receiver.await.is_ok() {
            return;
        }
        *cancel = None;
    }
    std::future::pending().await
}
