//! What a tenant can know of its runs: under way, or how they ended.

use std::time::Duration;

use axum::body::Bytes;
use tokio::sync::watch;

use super::problem::Problem;

/// How a run that is over ended.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// With an outcome, as JSON.
    Outcome(Bytes),
    /// Without one: a problem.
    Failed(Problem),
    /// Its caller went away.
    Abandoned,
}

/// What is known of a run.
#[derive(Clone, Debug)]
pub(super) enum Known {
    /// Under way for so long.
    UnderWay(Duration),
    /// Over.
    Ended(End),
}

/// Why a run is ended before its own end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Somebody asked for it.
    Cancelled,
    /// Everything is.
    Ending,
}

/// Why a run cannot have a key.
pub(super) enum Taken {
    /// Another run has it.
    By(First),
    /// Whoever chose it wants no run any more.
    Ended,
}

/// The run that a key belongs to.
pub(super) struct First {
    pub id: String,
    /// Of the request that began it.
    pub digest: [u8; 32],
    /// Hears nothing more when it is over. `None` if it is.
    pub under_way: Option<watch::Receiver<Option<Stop>>>,
}

impl First {
    /// Waits until it is over.
    pub async fn ended(self) {
        if let Some(mut under_way) = self.under_way {
            while under_way.changed().await.is_ok() {}
        }
    }
}
