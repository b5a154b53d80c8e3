//! `carboy mcp`: the engine as a child process of an agent, which speaks MCP.

use carboy_engine::{Config, Engine, Installation, RunOptions, Runner, check_session};
use carboy_protocol::{ExitCode, Job};
use carboy_server::mcp::{self, About};
use carboy_server::pipe::Ends;
use carboy_store::Recorder;

use crate::arguments::Mcp;
use crate::failure::Failure;
use crate::given::give;

pub async fn serve(arguments: Mcp) -> Result<std::process::ExitCode, Failure> {
    let choice = arguments.choice;
    let policy = choice.policy()?;
    let records = arguments.records.config()?;
    // Runs of sessions cannot be recorded, and whoever asked for records relies on there being one for every run.
    let sessions = records.is_none() && check_session(&policy).is_ok();
    let job = give(Job::new("").with_policy(policy.clone()), &arguments.given)?;
    let engine = Engine::new(Config {
        preload: choice.preload.clone(),
        gate: choice.budget.gate(),
        versions: choice.interpreter.versions(),
        ..Config::new(Installation::own(), &choice.interpreter.python)
    })?;
    // A mistake in the policy or the files is told now, and not to a model.
    engine.plan_of(&job)?;
    let python = engine.python().version.clone();
    let runner = Recorder::open(engine, records)?;
    // The first run of a model finds a warm interpreter. If it cannot be started, that run says why.
    runner.run_with(Job::new("").with_policy(policy), RunOptions::default()).await.ok();
    let about = About { job, python, preloads: choice.preload, sessions, files: true };
    let ends = Ends::standard().map_err(Failure::os("watch the client's ends"))?;
    let (input, output) = ends.split();
    mcp::serve(runner, about, input, output).await?;
    Ok((ExitCode::Ok as u8).into())
}
