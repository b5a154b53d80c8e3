//! One run in one jar: send the job, watch the jar, end it, and gather what the kernel knows of it.
//!
//! A run borrows its jar. `watch` waits until something decides how the run ends; what it waits for
//! is in `stdio` (what the code prints), `speech` (the frames both ways), `tools` and `deadline` (calls
//! to the caller and the time they take), `refusals` (calls that the filter announces) with their
//! `share` of the engine's time, and `meter` (what is measured); `displays` keeps what the code showed. `finish` ends the jar and adds up.
//! `import` is what comes before a run, if anything does.

mod contact;
mod deadline;
mod displays;
mod finish;
#[cfg(test)]
mod fuzz;
mod import;
mod meter;
mod refusals;
mod share;
mod speech;
mod stdio;
mod tools;
mod watch;

use std::time::Instant;

use carboy_protocol::{Limits, ToJar};

use crate::error::EngineError;
use crate::run::watch::Watch;
use crate::tier::Jar;

pub(crate) use contact::{Contact, cancelled};
pub(crate) use displays::frame as display_frame;
pub(crate) use finish::Record;
pub(crate) use import::import;
pub(crate) use share::Share;

/// Runs one job in `jar`, or whatever it is told, to its end. The jar has been killed then, or has answered
/// and waits to be killed or to be told more.
pub(crate) async fn run<J: Jar>(
    jar: &mut J,
    message: ToJar,
    limits: &Limits,
    contact: Contact<'_>,
) -> Result<Record, EngineError> {
    let mut watch = Watch::new(jar, message, limits, contact)?;
    let started = Instant::now();
    watch.begin();
    let ending = watch.watch().await?;
    let wall = started.elapsed();
    watch.finish(ending, wall).await
}
