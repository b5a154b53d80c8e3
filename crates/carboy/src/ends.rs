//! How a run ended, in the words that every surface uses.

use carboy_protocol::Outcome;

/// How a run ended, in a word.
pub fn end_word(outcome: &Outcome) -> &'static str {
    outcome.error.as_ref().map_or("ok", |error| error.kind.as_str())
}
