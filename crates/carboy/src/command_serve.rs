//! `carboy serve`: the engine behind HTTP, for many callers with keys.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use carboy_engine::{Config, Engine, Installation, RunError, Sessions};
use carboy_fleet::jobs::{LocalJobs, NatsJobs, Worker, work};
use carboy_fleet::name::{Start, gateway_inbox};
use carboy_fleet::{FilesConfig, Gateway, GatewayConfig, NatsBus};
use carboy_protocol::{ExitCode, Policy, PythonVersion};
use carboy_server::Desk;
use carboy_server::http::{
    self, Closing, Door, DoorConfig, KeyConfig, Listener, Scope, StoreConfig, TenantConfig,
};
use carboy_server::telemetry::{Exporter, Telemetry};
use carboy_store::Recorder;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use crate::arguments::Serve;
use crate::failure::{Failure, print};
use crate::fleet::brokers::bus_failure;
use crate::fleet::leases::Leases;
use crate::fleet::{durable, quotas};
use crate::queued::{Behind, Queued};
use crate::readiness::try_out;
use crate::serve_log::{self, LogForm};
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
    // Without a temporary directory that can be written, only uploads do not work.
    config.uploads = http::UploadFolder::make().ok().map(Arc::new);
    let uploads = config.uploads.as_ref().map(|folder| folder.path().to_owned());
    let (log, otlp) = (arguments.log, arguments.otlp.clone());
    let about = About { place, key, log, otlp, records: None, jobs: None, others: None };
    if let Some(url) = &arguments.nats {
        // Nodes are elsewhere, and cannot read files of this host.
        config.uploads = None;
        config.stored =
            config.store.as_ref().map(StoreConfig::open).transpose().map_err(unusable)?;
        let (gateway, jobs, others) = gateway(url, &arguments, &config).await?;
        let about = About { jobs: Some(jobs), others: Some(others), ..about };
        return stand(gateway, PythonVersion::NEWEST, config, about).await;
    }
    if config.store.is_some() {
        let why = "there is a `store`, and this is no gateway: files stay on this host";
        return Err(Failure::usage(why, "leave it out, or join a fleet with --nats"));
    }
    let engine = Engine::new(Config {
        preload: arguments.preload,
        gate: arguments.budget.gate(),
        versions: arguments.interpreter.versions(),
        // Callers are on other hosts: nothing of this one is theirs to hand in but what they uploaded.
        inputs_from: Some(uploads.into_iter().collect()),
        ..Config::new(Installation::own(), arguments.interpreter.python)
    })?;
    let python = engine.python().language;
    let records = arguments.records.config()?;
    let directory = records.as_ref().map(|records| records.directory.clone());
    let recorder = Recorder::open(engine, records)?;
    stand(recorder, python, config, About { records: directory, ..about }).await
}

/// What a door needs beside its settings and whoever runs the jobs.
struct About {
    place: String,
    /// The key that was made, if there are no settings.
    key: Option<String>,
    log: LogForm,
    otlp: Option<String>,
    /// Where records are read from.
    records: Option<PathBuf>,
    /// Durable jobs of the fleet.
    jobs: Option<Arc<NatsJobs>>,
    /// Where other gateways are that share the tenants' quotas, and what they call this one.
    others: Option<Others>,
}

/// The bus of the gateways, the name of this one, and what it leases of exact quotas.
struct Others {
    bus: NatsBus,
    name: String,
    leases: Option<Arc<Leases>>,
}

/// A runner whose jobs run on the workers at these brokers, the durable jobs there, and the way to other gateways.
async fn gateway(
    url: &str,
    arguments: &Serve,
    door: &DoorConfig,
) -> Result<(Gateway<NatsBus>, Arc<NatsJobs>, Others), Failure> {
    let credentials = &arguments.credentials;
    let key_file = arguments.session_key.as_deref();
    if credentials.session_key_file(key_file).is_none() {
        exact_needs_a_key(&door.tenants)?;
    }
    let key = credentials.session_key(key_file)?;
    let session_key = Some(key.clone());
    let name = Start::random().map_err(Failure::os("draw a random number"))?;
    let title = format!("carboy gateway {name}");
    let bus = credentials.connect(url, &title, &gateway_inbox(name)).await?;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let tenants = door.tenants.iter().map(|(name, tenant)| (name.clone(), tenant.files_bytes));
    let tenants: BTreeMap<_, _> = tenants.collect();
    let files = door.stored.clone().map(|store| FilesConfig { store, tenants });
    let config = GatewayConfig { version, session_key, files, ..GatewayConfig::new(name) };
    let gateway = Gateway::start(bus.clone(), config).await.map_err(|error| bus_failure(&error))?;
    let jobs = durable::of_gateway(credentials, url, name, arguments.allow_old_broker).await?;
    let name = name.to_string();
    let leases = Leases::of(&bus, url, name.clone(), &door.tenants, key);
    Ok((gateway, jobs, Others { bus, name, leases }))
}

/// What gateways lease of exact quotas they seal, so that others can tell that a gateway wrote it.
fn exact_needs_a_key(tenants: &BTreeMap<String, TenantConfig>) -> Result<(), Failure> {
    match tenants.iter().find(|(_, tenant)| tenant.exact) {
        None => Ok(()),
        Some((name, _)) => Err(Failure::usage(
            format!(
                "the tenant {name} has an exact quota, and this gateway has no key that it shares with others"
            ),
            "name the same file at every gateway: --session-key FLEET/gateway/session.key, which `carboy fleet init` makes",
        )),
    }
}

fn unusable(fault: http::ConfigFault) -> Failure {
    let hint = "docs/serve.md describes every setting";
    Failure::usage(format!("the settings cannot be used: {fault}"), hint)
}

/// Serves until it is told to end.
async fn stand<R: Sessions>(
    runner: R,
    python: PythonVersion,
    config: DoorConfig,
    about: About,
) -> Result<std::process::ExitCode, Failure> {
    let About { place, key, log: form, otlp, records: directory, jobs, others } = about;
    let (log, lines, writer) = serve_log::start(form);
    let door = Door::new(Desk::new(runner), python, &config, log).map_err(unusable)?;
    for tenant in door.locked_out() {
        let message =
            format!("every key of the tenant {tenant} has expired; nobody can speak for it");
        writer.warn(form, &message);
    }
    let spans = otlp.as_deref().map(Exporter::start).transpose().map_err(|fault| {
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
    let (working, work) = match jobs {
        Some(jobs) => {
            door.offer_jobs(Arc::new(Queued(jobs.clone())));
            (watch::Sender::new(false), tokio::spawn(jobs.attend_gateway()))
        }
        None => queue_here(&door),
    };
    let place = listener.place().map_err(Failure::os("name the listener"))?;
    let place = match place.strip_prefix("http://").filter(|_| config.tls.is_some()) {
        Some(address) => format!("https://{address}"),
        None => place,
    };
    let mut welcome = Some(welcome(&place, key.as_deref()));
    // Whether what is to be preloaded can be is known when it was tried.
    if config.preloads.is_empty()
        && let Some(welcome) = welcome.take()
    {
        print(&welcome)?;
    }
    let ceilings = config.tenants.values().map(|tenant| tenant.ceiling.clone()).collect();
    let leases = others.as_ref().and_then(|others| others.leases.clone());
    if let Some(leases) = &leases {
        // Before anybody comes in.
        let lessor: Arc<dyn http::Lessor> = leases.clone();
        door.lease_from(&lessor);
    }
    let leasing = leases.map(|leases| tokio::spawn(leases.keep(door.clone())));
    let sharing =
        others.map(|others| tokio::spawn(quotas::share(others.bus, others.name, door.clone())));
    let over = until_over(&door, listener, closing, ceilings, welcome).await;
    if let Some(sharing) = sharing {
        sharing.abort();
    }
    if let Some(leasing) = leasing {
        leasing.abort();
    }
    working.send_replace(true);
    work.abort();
    if let Some(telemetry) = door.telemetry() {
        telemetry.flush().await;
    }
    writer.flush();
    over?;
    Ok((ExitCode::Ok as u8).into())
}

/// Serves until it is told to end. What was to be preloaded and is not there ends it too: it will not be there later
/// either, and callers could do nothing about it.
async fn until_over<R: Sessions>(
    door: &Arc<Door<R>>,
    listener: Listener,
    closing: watch::Receiver<Closing>,
    ceilings: Vec<Policy>,
    mut welcome: Option<String>,
) -> Result<(), Failure> {
    let (begun, mut tried_once) = oneshot::channel();
    let mut trial = tokio::spawn(try_out(door.clone(), ceilings, begun));
    let mut serving = pin!(http::serve(door.clone(), listener, closing));
    loop {
        tokio::select! {
            () = &mut serving => {
                trial.abort();
                // What it laid out is removed.
                trial.await.ok();
                return Ok(());
            }
            Ok(()) = &mut tried_once, if welcome.is_some() => {
                print(&welcome.take().unwrap_or_default())?;
            }
            tried = &mut trial => {
                if let Ok(Err(error)) = tried {
                    door.runner().shutdown().await;
                    return Err(error.into());
                }
                if let Some(welcome) = welcome.take() {
                    print(&welcome)?;
                }
                serving.await;
                return Ok(());
            }
        }
    }
}

/// Offers durable jobs that are queued in this process and run by it, and end with it.
fn queue_here<R: Sessions>(door: &Arc<Door<R>>) -> (watch::Sender<bool>, JoinHandle<()>) {
    let queue = Arc::new(LocalJobs::default());
    door.offer_jobs(Arc::new(Queued(queue.clone())));
    let (working, ending) = watch::channel(false);
    // No more than the processors, so that those who wait for an answer are not behind those who do not.
    let slots = std::thread::available_parallelism().map_or(1, usize::from);
    let worker = Worker { slots, grace: Duration::ZERO };
    (working, tokio::spawn(work(queue, Arc::new(Behind(door.clone())), worker, ending)))
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
