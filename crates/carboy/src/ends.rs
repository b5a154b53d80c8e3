//! How a run ended, in the words that every surface uses.

use carboy_protocol::{Kind, Outcome};

/// How a run ended, in a word.
pub fn end_word(outcome: &Outcome) -> &'static str {
    outcome.error.as_ref().map_or("ok", |error| kind_word(error.kind))
}

/// The word for a kind of error.
pub fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Exception => "exception",
        Kind::Limit => "limit",
        Kind::Denied => "denied",
        Kind::Rejected => "rejected",
        Kind::Crash => "crash",
        Kind::Cancelled => "cancelled",
    }
}
