//! What is done when a client lists or calls tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use carboy_protocol::pipe::RunFailure;
use carboy_protocol::{FileSource, Job, Piece, Reply, SessionAsk};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::answer;
use super::arguments::{
    File, ListFiles, NamedState, OneSession, ReadFile, RunPython, SessionOpen, SessionRun, parsed,
};
use super::place::Place;
use super::tools::{Name, tools};

/// The server side of one client.
pub(crate) struct Handler<P> {
    place: Arc<P>,
}

/// An answer, or one that says why not: a model reads both.
type Called = Result<CallToolResult, CallToolResult>;

impl<P: Place> Handler<P> {
    pub fn new(place: Arc<P>) -> Handler<P> {
        Handler { place }
    }

    async fn call(
        &self,
        name: Name,
        arguments: Map<String, Value>,
        stop: &CancellationToken,
    ) -> Called {
        match name {
            Name::RunPython => {
                let RunPython { code, inputs, files } = read(arguments)?;
                let mut job = Job { code, ..self.place.about().job.clone() };
                job.inputs.extend(inputs);
                give(&mut job.files, files)?;
                let outcome = self.place.run(job, stop).await.map_err(told)?;
                Ok(answer::of(&outcome, None))
            }
            Name::ListFiles => {
                let ListFiles { run } = read(arguments)?;
                let files = self.place.files(&run);
                files.map(|files| answer::files(&run, &files)).ok_or_else(|| no_file(&run))
            }
            Name::ReadFile => {
                let ReadFile { run, path, offset } = read(arguments)?;
                let kept = self.place.file(&run, &path).await.map_err(told)?;
                let kept = kept.ok_or_else(|| no_file(&format!("{run}, {path}")))?;
                Ok(answer::file(&run, &kept, offset))
            }
            Name::SessionOpen => {
                let SessionOpen { inputs, files } = read(arguments)?;
                let mut opening = self.place.about().opening();
                opening.inputs.extend(inputs);
                give(&mut opening.files, files)?;
                let session = self.place.open(opening, stop).await.map_err(told)?;
                Ok(answer::done(format!("session \"{session}\" is open")))
            }
            Name::SessionRun => {
                let SessionRun { session, code, inputs } = read(arguments)?;
                let piece = Piece { code, inputs, ..Piece::default() };
                let Reply { outcome, state, note } =
                    self.place.run_in(&session, piece, stop).await.map_err(told)?;
                Ok(answer::of(&outcome, Some((state, note.as_deref()))))
            }
            Name::SessionBranch => {
                let OneSession { session } = read(arguments)?;
                let branch = self.place.branch(&session, stop).await.map_err(told)?;
                Ok(answer::done(format!(
                    "session \"{branch}\" is open, and goes on from the same state"
                )))
            }
            Name::SessionCheckpoint => {
                let NamedState { session, name } = read(arguments)?;
                self.ask(&session, SessionAsk::Checkpoint { name }, stop, "the state is kept").await
            }
            Name::SessionRollback => {
                let NamedState { session, name } = read(arguments)?;
                self.ask(
                    &session,
                    SessionAsk::Rollback { name },
                    stop,
                    "the state is what was kept",
                )
                .await
            }
            Name::SessionClose => {
                let OneSession { session } = read(arguments)?;
                self.ask(&session, SessionAsk::Close {}, stop, "the session is closed").await
            }
        }
    }

    async fn ask(
        &self,
        session: &str,
        ask: SessionAsk,
        stop: &CancellationToken,
        done: &str,
    ) -> Called {
        self.place.ask(session, ask, stop).await.map_err(told)?;
        Ok(answer::done(done.into()))
    }
}

impl<P: Place> ServerHandler for Handler<P> {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let own = Implementation::new("carboy", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities)
            .with_server_info(own)
            .with_instructions(self.place.about().instructions())
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools(self.place.about())))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(name) = Name::of(&request.name, self.place.about()) else {
            let message = format!("there is no tool `{}`", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let arguments = request.arguments.unwrap_or_default();
        let called = self.call(name, arguments, &context.ct).await;
        Ok(called.unwrap_or_else(|refusal| refusal).into())
    }
}

fn read<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, CallToolResult> {
    parsed(arguments).map_err(|why| {
        answer::mistaken(
            &format!("the arguments cannot be used: {why}"),
            "the tool's schema has every argument",
        )
    })
}

fn give(
    files: &mut BTreeMap<String, FileSource>,
    more: BTreeMap<String, File>,
) -> Result<(), CallToolResult> {
    for (name, file) in more {
        if files.contains_key(&name) {
            let message = format!("a file {name} is there already");
            return Err(answer::mistaken(&message, "give this one another name"));
        }
        files.insert(name, file.into());
    }
    Ok(())
}

fn told(failure: RunFailure) -> CallToolResult {
    answer::refused(&failure)
}

fn no_file(what: &str) -> CallToolResult {
    answer::mistaken(
        &format!("no files are kept for {what}"),
        "the answer of a run has its id and its files; those of runs long ago are not kept: run the code again",
    )
}
