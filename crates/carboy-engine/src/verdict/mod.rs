//! Why a run ended: one cause, from what the kernel and the engine know.
//!
//! Pure: no process, no file, no clock. `decide` finds the cause, `words` says it. The guest's own
//! words fill in a message and a traceback. They can name an exception, but they cannot make a limit
//! out of it: for that the kernel must agree.

mod advice;
mod decide;
mod probes;
mod words;

#[cfg(test)]
mod tests;

pub(crate) use advice::{Given, advise};
pub(crate) use decide::decide;
pub(crate) use probes::divide;
