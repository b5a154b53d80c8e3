//! What is seen to its end even if the caller goes away: the turn of a run, and the making of copies.

use std::convert::Infallible;
use std::sync::Arc;

use carboy_protocol::StateAfter;
use tokio::sync::{OwnedMutexGuard, oneshot, watch};

use crate::error::RunError;
use crate::run::cancelled;
use crate::session::core::{Core, words};
use crate::session::line::{Line, protect};
use crate::tier::process::Head;

/// A line whose head is out for a run. When it is dropped, the line goes on from the copy, which is copied
/// in turn.
pub(super) struct Turn<'a> {
    core: &'a Arc<Core>,
    closing: &'a Closing,
    line: Option<OwnedMutexGuard<Line>>,
}

impl<'a> Turn<'a> {
    /// One that has not begun.
    pub fn new(core: &'a Arc<Core>, closing: &'a Closing) -> Turn<'a> {
        Turn { core, closing, line: None }
    }

    /// The head of this line was taken out.
    pub fn begins(&mut self, line: OwnedMutexGuard<Line>) {
        self.line = Some(line);
    }

    /// Keeps the head, or falls back; then copies what there is, for the next run. Files that roll back are
    /// back when it returns.
    pub async fn settle(mut self, kept: Option<Head>) -> (StateAfter, Option<String>) {
        let Some(mut line) = self.line.take() else { return (StateAfter::Ended, None) };
        if let Err(why) = self.core.check() {
            return (StateAfter::Ended, Some(why.to_string()));
        }
        if self.closing.is_closed() {
            line.close();
            return (StateAfter::Ended, None);
        }
        let answer = match kept {
            Some(head) => {
                line.keep(head);
                (StateAfter::Kept, None)
            }
            None => match line.fall_back(self.core) {
                Some(0) => (StateAfter::Restored, None),
                Some(threads) => {
                    let note = format!(
                        "the {threads} threads that the session had are gone: what libraries such as \
                         polars and duckdb keep threads for may wait for ever"
                    );
                    (StateAfter::Restored, Some(note))
                }
                None => (StateAfter::Ended, Some(self.core.ended().to_string())),
            },
        };
        let restored = protect(self.core.clone(), line);
        if answer.0 == StateAfter::Restored
            && let Err(why) = files_back(self.core, restored).await
        {
            return (StateAfter::Ended, Some(why.to_string()));
        }
        answer
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(mut line) = self.line.take()
            && line.fall_back(self.core).is_some()
        {
            protect(self.core.clone(), line);
        }
    }
}

/// Whether a line is to be closed, for whoever runs something in it.
pub(super) struct Closing(watch::Sender<bool>);

impl Closing {
    pub fn new() -> Closing {
        Closing(watch::Sender::new(false))
    }

    /// Ends what runs in the line.
    pub fn close(&self) {
        self.0.send_replace(true);
    }

    pub fn is_closed(&self) -> bool {
        *self.0.borrow()
    }

    /// Stops a run when its caller cancels it or the line is closed. To be polled beside the run.
    pub async fn or(
        &self,
        mut cancel: Option<oneshot::Receiver<()>>,
        stop: oneshot::Sender<()>,
    ) -> Infallible {
        let mut closing = self.0.subscribe();
        tokio::select! {
            () = cancelled(&mut cancel) => {}
            _ = closing.wait_for(|is_closed| *is_closed) => {}
        }
        stop.send(()).ok();
        std::future::pending().await
    }
}

/// Waits until files that roll back are back. An error if that could not be done, and so the session is over.
pub(super) async fn files_back(
    core: &Core,
    restored: oneshot::Receiver<Infallible>,
) -> Result<(), RunError> {
    if core.keeps_files() {
        // Nothing is sent: it is dropped when that is done.
        restored.await.ok();
        core.check()?;
    }
    Ok(())
}

/// Does something that wakes a head. A caller who goes away does not cut it short: it would leave a head
/// that goes on, or a copy that nobody knows.
pub(super) async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, RunError>> + Send + 'static,
) -> Result<T, RunError> {
    let done = tokio::spawn(work).await;
    done.unwrap_or_else(|_| Err(words(Some("its engine was ended"))))
}
