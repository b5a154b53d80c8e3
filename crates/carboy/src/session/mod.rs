//! `carboy session`: code that is run piece by piece, for a person at a terminal or for a program.

pub mod arguments;
mod ask;
mod branches;
mod editor;
mod incomplete;
mod lines;
mod prompt;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use carboy_engine::Artifacts;
use carboy_protocol::{ExitCode, Job, Opening};
use carboy_store::{Existing, OutFolder};

use crate::failure::Failure;
use crate::given::give;
use crate::recording;
use arguments::Session;
use branches::Branches;
use prompt::Prompt;

/// Where what was typed is kept, below the place for what a user's programs keep.
const HISTORY: &str = "session_history";

/// Opens a session, and serves whoever is there until they leave.
pub async fn session(arguments: Session) -> Result<std::process::ExitCode, Failure> {
    if recording::named().is_some() {
        // Whoever asked for records relies on there being one for every run.
        return Err(Failure::usage(
            "runs of a session cannot be recorded yet, and CARBOY_STORE asks for records",
            "start it without: CARBOY_STORE= carboy session",
        ));
    }
    let is_person = arguments.is_person();
    let mut policy = arguments.choice.policy()?;
    if is_person && arguments.choice.policy.is_none() {
        // A person may think for a while.
        policy.limits.idle_ms = policy.limits.idle_ms.max(policy.limits.lifetime_ms);
    }
    let artifacts = wanted(&arguments)?;
    let engine = arguments.choice.engine()?;
    let limits = policy.limits.clone();
    let Job { policy, files, mounts, frames, .. } =
        give(Job::new("").with_policy(policy), &arguments.given)?;
    let opening = Opening { policy, files, mounts, frames, ..Opening::default() };
    let branches = Branches::new(engine.session_with(opening).await?);
    let python = engine.python().version.clone();
    let served = if is_person {
        greet(&python);
        Prompt::new(branches, limits, artifacts)?.serve(history(&arguments)).await
    } else {
        lines::serve(branches, artifacts, python).await
    };
    engine.shutdown().await;
    served?;
    Ok((ExitCode::Ok as u8).into())
}

fn greet(python: &str) {
    let version = python.split_whitespace().next().unwrap_or(python);
    let line = format!(
        "CPython {version}, sealed. A run that dies leaves the session as it was. %help, Ctrl-D to leave.\n"
    );
    // Nothing depends on whether somebody reads it.
    std::io::stderr().write_all(line.as_bytes()).ok();
}

/// Where the history is kept. `None` if it is not to be kept, or nobody knows where.
fn history(arguments: &Session) -> Option<PathBuf> {
    match &arguments.history {
        Some(file) if file.as_os_str().is_empty() => None,
        Some(file) => Some(file.clone()),
        None => recording::state_folder().map(|folder| folder.join(HISTORY)),
    }
}

/// What is to become of the files that runs leave.
fn wanted(arguments: &Session) -> Result<Artifacts, Failure> {
    let Some(folder) = &arguments.out else { return Ok(Artifacts::List) };
    let is_used = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if is_used && !arguments.force {
        return Err(Failure::usage(
            format!("the folder {} is not empty", folder.display()),
            "name one that is empty or not there: a later run replaces the files of an earlier one. --force \
             replaces what is in this one",
        ));
    }
    let opened = OutFolder::open(folder, Existing::Replace).map_err(|error| {
        Failure::usage(
            format!("cannot write to the folder {}: {error}", folder.display()),
            "name a folder that is there, or one that can be made in a folder that is there",
        )
    })?;
    Ok(Artifacts::Keep(Arc::new(opened)))
}
