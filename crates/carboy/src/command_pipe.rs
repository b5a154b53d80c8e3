//! `carboy pipe`: the engine as a child process that speaks JSON lines.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use carboy_engine::{Config, Engine, Installation};
use carboy_protocol::ExitCode;
use carboy_server::{Desk, pipe};
use carboy_store::{Recorder, RunFolders};
use tokio::sync::mpsc;

use crate::arguments::Pipe;
use crate::failure::Failure;

/// The socket that the arguments name. Taken before anything of ours could have its number.
pub fn inherited(arguments: &Pipe) -> Result<Option<OwnedFd>, Failure> {
    let Some(number) = arguments.descriptor else { return Ok(None) };
    carboy_jail::inherited_socket(number).map(Some).map_err(|error| {
        Failure::usage(
            format!("descriptor {number} cannot be used: {error}"),
            "pass the number of a connected Unix stream socket that this program inherits",
        )
    })
}

pub async fn serve(
    arguments: Pipe,
    socket: Option<OwnedFd>,
) -> Result<std::process::ExitCode, Failure> {
    let ends = socket.map_or_else(pipe::Ends::standard, pipe::Ends::socket);
    let ends = ends.map_err(Failure::os("watch the caller's ends"))?;
    // A module is told of once, so nothing is left out.
    let (preloading, preloads) = mpsc::channel(arguments.preload.len().max(1));
    let config = Config {
        preload: arguments.preload,
        gate: arguments.budget.gate(),
        preloading: Some(preloading),
        versions: arguments.interpreter.versions(),
        ..Config::new(Installation::own(), arguments.interpreter.python)
    };
    let engine = Engine::new(config)?;
    let python = engine.python().version.clone();
    let recorder = Recorder::open(engine, arguments.records.config()?)?;
    let mut desk = Desk::new(recorder);
    if let Some(folder) = &arguments.artifacts {
        desk = desk.keeping(Arc::new(made(folder)?));
    }
    let served = pipe::serve(desk, python, preloads, ends).await;
    if let Some(folder) = &arguments.artifacts {
        // Its caller may have removed it.
        carboy_jail::remove_tree(folder).ok();
    }
    served?;
    Ok((ExitCode::Ok as u8).into())
}

/// A folder for artifacts that was not there: it is removed at the end.
fn made(folder: &Path) -> Result<RunFolders, Failure> {
    RunFolders::make(folder).map_err(|error| {
        Failure::usage(
            format!("cannot make the folder {}: {error}", folder.display()),
            "name one that is not there, in a folder that is",
        )
    })
}
