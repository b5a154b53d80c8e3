//! What a tenant can know of its runs: under way, or how they ended.

use std::time::Duration;

use axum::body::Bytes;

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
