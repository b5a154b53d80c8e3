//! `carboy worker`: a node of a fleet, which runs what gateways send.

use std::sync::Arc;
use std::time::Duration;

use carboy_engine::{Config, Engine, GateConfig, Installation, RunOptions};
use carboy_fleet::name::{NodeName, Start, node_inbox};
use carboy_fleet::{Address, Clock, HeldSessions, MOST_SESSIONS, Spool, Worker, WorkerConfig};
use carboy_protocol::{ExitCode, Job, Policy, Status};
use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::choice::{Interpreter, WallsName};
use crate::failure::{Failure, print};
use crate::fleet::brokers::{Credentials, bus_failure};
use crate::fleet::durable::{self, Durable};
use crate::memory_budget::MemoryBudget;
use crate::serve_log::LogForm;
use crate::worker_log::Logged;

/// Runs at once for each processor: they share it by the weight of their control groups.
const SLOTS_EACH: u32 = 4;

/// Bytes of files that runs left and that are not in the store yet.
const SPOOL: u64 = 1 << 30;

#[derive(Args)]
pub struct WorkerArguments {
    /// The brokers: nats://HOST:PORT, with commas between several
    #[arg(long, value_name = "URL")]
    pub nats: String,
    #[command(flatten)]
    pub credentials: Credentials,
    /// The name of this node: eight letters of a-z and 2-7 [default: the one that its credentials are for, or made of the
    /// machine's id and host name]
    #[arg(long, value_name = "NAME")]
    pub node: Option<NodeName>,
    /// Runs that it takes at once [default: four for each processor]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub slots: Option<u32>,
    /// How many seconds runs and sessions have to end after it was told to leave
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub drain: u32,
    /// Durable jobs that it runs at once, beside those [default: one for each processor; 0 for none]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(0..=4096))]
    pub jobs: Option<u32>,
    /// The walls that are tried before it joins
    #[arg(long, value_name = "WALLS", default_value = "full")]
    pub walls: WallsName,
    #[command(flatten)]
    pub interpreter: Interpreter,
    /// Modules to import before jobs come, once for all
    #[arg(long, value_name = "MODULE", value_delimiter = ',')]
    pub preload: Vec<String>,
    #[command(flatten)]
    pub budget: MemoryBudget,
    /// What to write to standard error: failures of its own as text, or as JSON also a line for each run that begins and one for its end
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub log: LogForm,
}

/// Runs what gateways send until it is told to leave.
pub async fn work(arguments: WorkerArguments) -> Result<std::process::ExitCode, Failure> {
    let (mut term, mut interrupt) =
        (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    let name = arguments.credentials.node_name(arguments.node)?;
    let slots = arguments.slots.unwrap_or_else(usual_slots);
    let jobs = arguments.jobs.unwrap_or_else(durable::usual_count);
    let gate = arguments.budget.gate();
    let engine = Engine::new(Config {
        preload: arguments.preload,
        // The node itself keeps no queue, and takes no more than that.
        gate: GateConfig { running: gate.running.max((slots + jobs) as usize), ..gate },
        versions: arguments.interpreter.versions(),
        // Callers are on other hosts: nothing of this one is theirs to hand in.
        inputs_from: Some(vec![]),
        ..Config::new(Installation::own(), arguments.interpreter.python)
    })?;
    let engine = Arc::new(engine);
    // A node that cannot run anything must not join.
    try_out(&engine, Policy { walls: arguments.walls.into(), ..Policy::default() }).await?;
    let Start(incarnation) = Start::random().map_err(Failure::os("draw a random number"))?;
    let address = Address { node: name.0, incarnation };
    let (title, inbox) = (format!("carboy worker {name}"), node_inbox(name));
    let bus = arguments.credentials.connect(&arguments.nats, &title, &inbox).await?;
    let beats = format!("{title} heartbeat");
    let beats = arguments.credentials.connect(&arguments.nats, &beats, &inbox).await?;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let drain = Duration::from_secs(u64::from(arguments.drain));
    let runner = Arc::new(Logged::new(engine.clone(), arguments.log, address));
    let config = WorkerConfig {
        address,
        slots,
        version,
        clock: Clock::new(),
        sessions: Some(HeldSessions::new(runner.clone(), MOST_SESSIONS)),
        files: Some(Spool::new(SPOOL)),
        session_drain: drain,
    };
    let worker = Worker::start(runner.clone(), bus, beats, config)
        .await
        .map_err(|error| bus_failure(&error))?;
    let durable = if jobs > 0 {
        let (credentials, url) = (&arguments.credentials, &arguments.nats);
        let (who, how) = ((name, Start(incarnation)), durable::worker(jobs, drain));
        Some(Durable::start(credentials, url, who, runner.clone(), how).await?)
    } else {
        None
    };
    print(&format!("carboy works as {address}, with {slots} places\n"))?;
    either(&mut term, &mut interrupt).await;
    let leaving = async {
        let jobs = async {
            if let Some(durable) = durable {
                durable.leave().await;
            }
        };
        tokio::join!(tokio::time::timeout(drain, worker.drain()), jobs)
    };
    tokio::select! {
        (drained, ()) = leaving => drained.unwrap_or_default(),
        () = either(&mut term, &mut interrupt) => {}
    }
    drop(worker);
    engine.shutdown().await;
    runner.flush();
    Ok((ExitCode::Ok as u8).into())
}

fn usual_slots() -> u32 {
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
    u32::try_from(processors).unwrap_or(1).saturating_mul(SLOTS_EACH)
}

fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(Failure::os("listen for signals"))
}

async fn either(first: &mut Signal, second: &mut Signal) {
    tokio::select! {
        _ = first.recv() => {}
        _ = second.recv() => {}
    }
}

async fn try_out(engine: &Engine, policy: Policy) -> Result<(), Failure> {
    let job = Job::new("").with_policy(policy);
    let outcome = engine.run_with(job, RunOptions::default()).await?;
    if outcome.status == Status::Ok {
        return Ok(());
    }
    let why = outcome.error.map_or_else(String::new, |error| error.message);
    Err(Failure::usage(
        format!("a trial run failed: {why}"),
        "`carboy doctor` shows what this host offers",
    ))
}
