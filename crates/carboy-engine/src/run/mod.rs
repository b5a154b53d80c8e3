//! One run in one jar, from the job to the facts.

mod refusals;
mod tools;
mod watch;

pub(crate) use watch::{Contact, cancelled, run};
