//! `carboy serve`: the engine behind HTTP, for many callers with keys.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use carboy_engine::{Config, Engine, Installation, RunError};
use carboy_protocol::{ExitCode, Policy};
use carboy_server::Desk;
use carboy_server::http::{
    self, Closing, Door, DoorConfig, KeyConfig, Listener, Scope, TenantConfig,
};
use carboy_server::telemetry::{Exporter, Telemetry};
use carboy_store::Recorder;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::arguments::Serve;
use crate::failure::{Failure, print};
use crate::readiness::try_out;
use crate::serve_log;
use crate::served::Served;

/// Where it listens if nobody says otherwise.
const USUAL: &str = "127.0.0.1:8722";

/// The most descriptors that are asked for. A jar takes up to eleven, a connection one.
const DESCRIPTORS: u64 = 65_536;

/// How many of them connections leave to the engine, for the runs and standing jars of a small machine, and to files that
/// runs left.
const OF_ENGINE: usize = 640 + 256;

pub async fn serve(arguments: Serve) -> Result<std::process::ExitCode, Failure> {
    if arguments.new_key {
        return print_key();
    }
    let (mut config, key) = match &arguments.config {
        Some(file) => (read(file)?, None),
        None => {
            let key = http::new_key().map_err(RunError::from)?;
            (of_one(&key, arguments.walls.map(Into::into)), Some(key))
        }
    };
    let place =
        arguments.listen.as_deref().or(config.listen.as_deref()).unwrap_or(USUAL).to_owned();
    check_place(&place, &config)?;
    // The engine has what it needs, and connections have the rest.
    let rest = raise_descriptors().saturating_sub(OF_ENGINE).max(64);
    config.bounds.connections = config.bounds.connections.min(rest);
    config.preloads = arguments.preload.clone();
    let engine = Engine::new(Config {
        preload: arguments.preload,
        gate: arguments.budget.gate(),
        versions: arguments.interpreter.versions(),
        // Callers are on other hosts: nothing of this one is theirs to hand in.
        inputs_from: Some(vec![]),
        ..Config::new(Installation::own(), arguments.interpreter.python)
    })?;
    let python = engine.python().language;
    let records = arguments.records.config()?;
    let directory = records.as_ref().map(|records| records.directory.clone());
    let recorder = Recorder::open(engine, records)?;
    let (log, lines, writer) = serve_log::start(arguments.log);
    let door = Door::new(Desk::new(recorder), python, &config, log).map_err(|fault| {
        let hint = "docs/serve.md describes every setting";
        Failure::usage(format!("the settings cannot be used: {fault}"), hint)
    })?;
    let spans = arguments.otlp.as_deref().map(Exporter::start).transpose().map_err(|fault| {
        let hint = "name a collector that takes OTLP over HTTP: --otlp http://localhost:4318";
        Failure::usage(fault.to_string(), hint)
    })?;
    if lines.is_some() || spans.is_some() {
        door.observe(Telemetry { lines, spans });
    }
    let listener = Listener::bind(&place).await.map_err(|error| {
        Failure::usage(
            format!("cannot listen on {place}: {error}"),
            "choose another place: --listen 127.0.0.1:0 takes any free port",
        )
    })?;
    if let Some(directory) = directory {
        door.show_records(Arc::new(Served { directory }));
    }
    // Before anybody is told that it is there.
    let closing = closing()?;
    let place = listener.place().map_err(Failure::os("name the listener"))?;
    let place = match place.strip_prefix("http://").filter(|_| config.tls.is_some()) {
        Some(address) => format!("https://{address}"),
        None => place,
    };
    print(&welcome(&place, key.as_deref()))?;
    let ceilings = config.tenants.values().map(|tenant| tenant.ceiling.clone()).collect();
    let trial = tokio::spawn(try_out(door.clone(), ceilings));
    http::serve(door.clone(), listener, closing).await;
    trial.abort();
    // What it laid out is removed.
    trial.await.ok();
    if let Some(telemetry) = door.telemetry() {
        telemetry.flush().await;
    }
    writer.flush();
    Ok((ExitCode::Ok as u8).into())
}

fn print_key() -> Result<std::process::ExitCode, Failure> {
    let key = http::new_key().map_err(RunError::from)?;
    print(&format!(
        "# The key, for whoever calls. It cannot be shown again:\n#   {key}\n\
         # In the settings:\n[[tenants.NAME.keys]]\nsha256 = \"{}\"\n",
        http::key_digest(&key)
    ))?;
    Ok((ExitCode::Ok as u8).into())
}

fn read(file: &Path) -> Result<DoorConfig, Failure> {
    let wrong = |why: String| {
        Failure::usage(
            format!("the settings in {} cannot be used: {why}", file.display()),
            "docs/serve.md describes every setting",
        )
    };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let config: DoorConfig = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if config.tenants.values().all(|tenant| tenant.keys.is_empty()) {
        return Err(wrong("nobody could come in: no tenant has a key".into()));
    }
    Ok(config)
}

/// Settings for one caller on this machine.
fn of_one(key: &str, walls: Option<carboy_protocol::Walls>) -> DoorConfig {
    let scopes = vec![Scope::Run, Scope::Read, Scope::Metrics];
    let key = KeyConfig { sha256: http::key_digest(key), scopes, expires: None };
    let ceiling = Policy { walls: walls.unwrap_or_default(), ..Policy::default() };
    let tenant = TenantConfig { keys: vec![key], ceiling, ..TenantConfig::default() };
    DoorConfig { tenants: [("local".to_owned(), tenant)].into(), ..DoorConfig::default() }
}

/// A server that others reach must know its own names, and they need keys of their own.
fn check_place(place: &str, config: &DoorConfig) -> Result<(), Failure> {
    let is_local = place.starts_with("unix:")
        || place.starts_with("localhost:")
        || place.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_loopback());
    if is_local || !config.hosts.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(
        format!("{place} can be reached from other hosts, and no `hosts` are set"),
        "write settings with the names under which clients reach it: hosts = [\"carboy.example.com\"]",
    ))
}

/// Takes as many descriptors as the hard limit allows, and says how many there are. With fewer, fewer connections fit.
fn raise_descriptors() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(DESCRIPTORS, |most| most.min(DESCRIPTORS));
    if current.is_some_and(|current| current < wanted) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }).ok();
    }
    let most = getrlimit(Resource::Nofile).current.unwrap_or(DESCRIPTORS);
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// Drains on the first signal, and ends at once on the second.
fn closing() -> Result<watch::Receiver<Closing>, Failure> {
    let (closing, receiver) = watch::channel(Closing::Open);
    let listen = |kind| signal(kind).map_err(Failure::os("listen for signals"));
    let (mut term, mut interrupt) =
        (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    tokio::spawn(async move {
        for next in [Closing::Drain, Closing::Now] {
            tokio::select! {
                _ = term.recv() => {}
                _ = interrupt.recv() => {}
            }
            // Nobody hears it after the end.
            closing.send(next).ok();
        }
        closing.closed().await;
    });
    Ok(receiver)
}

fn welcome(place: &str, key: Option<&str>) -> String {
    let mut text = format!("carboy serves on {place}\n");
    if let Some(key) = key {
        let to = match place.strip_prefix("unix:") {
            Some(path) => format!("--unix-socket {path} http://localhost"),
            None => place.into(),
        };
        text += &format!(
            "A key was made, which is valid until this server ends:\n  {key}\nTry it:\n  \
             curl {to}/v1/runs -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' \
             -d '{{\"code\": \"result = 6 * 7\"}}'\nOr in Python:\n  \
             import carboy; print(carboy.Sandbox(url=\"{place}\", key=\"{key}\").run(\"result = 6 * 7\"))\n"
        );
    }
    text
}
