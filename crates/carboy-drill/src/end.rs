//! How a run ended, in the words of a row, and that the drill itself could not go on.

use carboy_engine::{EngineError, RunError};
use carboy_protocol::{Kind, Outcome};

/// The operating system failed us while we did this.
pub(crate) fn failing(step: &'static str) -> impl Fn(std::io::Error) -> RunError + Copy {
    move |error| RunError::Engine(EngineError::Os { step, error })
}

/// How a run ended, as a row says it.
pub(crate) fn end(outcome: &Outcome) -> String {
    let Some(error) = &outcome.error else { return "ok".into() };
    match (&error.kind, &error.limit) {
        (Kind::Limit, Some(limit)) => {
            let name = serde_json::to_value(limit.name).ok();
            let name = name.as_ref().and_then(|value| value.as_str()).unwrap_or("unknown");
            format!("limit {name}")
        }
        (kind, _) => {
            let name = serde_json::to_value(kind).ok();
            name.as_ref().and_then(|value| value.as_str()).unwrap_or("unknown").to_owned()
        }
    }
}
