//! What a fleet adds to a run, and what it keeps of a machine's throughput: runs by a gateway, a broker and workers
//! beside the same runs by one `carboy serve`, in turn, over the same client.
//!
//! All are processes of their own, as they are in a fleet. They share the processors of one machine, and the report
//! says what follows from that.

mod bare;
mod programs;
mod report;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use carboy_engine::GateConfig;
use carboy_fleet::SILENCE;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use bare::Bare;
use programs::{Folder, KEY, Programs};
pub use report::page;

use super::serve::Caller;
use super::{Bench, JOB, PACE, Samples, machine};
use crate::failure::Failure;
use crate::fleet::arguments::Brokers;
use crate::fleet::listen::Listener;

/// How many callers there are at once where throughput is measured.
const CALLERS: usize = 16;

/// How often the two are measured in turn.
const ROUNDS: usize = 5;

/// First runs that are not counted.
const FIRST: usize = 20;

/// The two workers.
const NODES: [&str; 2] = ["benchone", "benchtwo"];

/// Who is asked: a plain server, and a gateway.
type Pair = [Arc<Caller>; 2];

impl Bench {
    /// All of it, as a report of its own. Every program ends before this does, also if it fails or a signal comes.
    pub async fn fleet(&mut self, broker: &Path) -> Result<Value, Failure> {
        let folder = Folder::make().map_err(Failure::os("make a folder"))?;
        let listen = |kind| signal(kind).map_err(Failure::os("listen for signals"));
        let (mut term, mut interrupt) =
            (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
        let told = async {
            tokio::select! {
                _ = term.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        let mut report = tokio::select! {
            report = self.beside(&folder.0, broker) => report?,
            () = told => return Err(Failure::os("measure")(io::Error::other("it was told to end"))),
        };
        let checks = report::checks(&report);
        report["ok"] = json!(checks.iter().all(|check| check["ok"] == json!(true)));
        report["checks"] = json!(checks);
        Ok(report)
    }

    /// Starts everything and measures.
    async fn beside(&mut self, folder: &Path, broker: &Path) -> Result<Value, Failure> {
        let python = self.python.clone();
        let mut programs = Programs::new(folder, &python);
        // As many as the plain server runs at once, in two halves.
        let places = GateConfig::default().running / NODES.len();
        let nats = programs.broker(broker).await?;
        programs.worker(&nats, NODES[0], places).await?;
        let gateway = programs.server(Some(&nats)).await?;
        let plain = programs.server(None).await?;
        let pair = [plain, gateway].map(|place| Arc::new(Caller::new(&place, KEY)));
        let one = self.hop(&pair, &nats).await?;
        programs.worker(&nats, NODES[1], places).await?;
        let mut listener = Listener::connect(&Brokers { nats, credentials: None }).await?;
        // The gateway hears of the second meanwhile.
        listener.listen(SILENCE).await;
        let many = self.throughput(&pair).await?;
        let nodes = listener.listen(SILENCE).await.nodes;
        let nodes: Vec<_> = nodes
            .iter()
            .map(|node| json!({ "node": node.node, "places": node.slots, "runs": node.ended }))
            .collect();
        Ok(json!({
            "machine": machine(&self.python),
            "debug_build": cfg!(debug_assertions),
            "job": JOB,
            "c1": one,
            "c16": many,
            "nodes": nodes,
            "notes": report::NOTES,
        }))
    }

    /// One caller, paced so that jars stand, with one worker behind the gateway.
    async fn hop(&mut self, pair: &Pair, broker: &str) -> Result<Value, Failure> {
        let (pair, runs, broker) = (pair.clone(), self.size.paced, broker.to_owned());
        let taken = blocking(move || paced(&pair, &broker, runs)).await?;
        let [plain, fleet, bare] = taken.map(Samples::new);
        self.keep("fleet.plain.c1", &plain);
        self.keep("fleet.gateway.c1", &fleet);
        self.keep("fleet.bare.c1", &bare);
        let added = |part| fleet.quantile(part) - plain.quantile(part);
        Ok(json!({
            "plain": plain.summary(),
            "gateway": fleet.summary(),
            "bare": bare.summary(),
            "added_p50_ms": added(0.5),
            // On a machine that does other things too, the quick ones say more.
            "added_p10_ms": added(0.1),
        }))
    }

    /// Sixteen callers, each asking again as soon as it is answered, with two workers behind the gateway.
    async fn throughput(&mut self, pair: &Pair) -> Result<Value, Failure> {
        let each = (self.size.loaded / CALLERS / ROUNDS).max(1);
        let (mut rates, mut ratios) = ([Vec::new(), Vec::new()], Vec::new());
        // The first is not counted: jars that stand from before are used up.
        for round in 0..=ROUNDS {
            let mut now = [0.0; 2];
            for turn in 0..2 {
                let which = (round + turn) % 2;
                let caller = pair[which].clone();
                now[which] = blocking(move || rate(&caller, each)).await?;
            }
            if round > 0 {
                rates[0].push(now[0]);
                rates[1].push(now[1]);
                ratios.push(now[1] / now[0]);
            }
        }
        let [plain, fleet] = rates.map(Samples::new);
        let ratios = Samples::new(ratios);
        self.keep("fleet.plain.c16.runs_per_s", &plain);
        self.keep("fleet.gateway.c16.runs_per_s", &fleet);
        self.keep("fleet.c16.ratios", &ratios);
        Ok(json!({
            "callers": CALLERS,
            "rounds": ROUNDS,
            "plain_runs_per_s": plain.quantile(0.5),
            "gateway_runs_per_s": fleet.quantile(0.5),
            "gateway_over_plain": ratios.quantile(0.5),
            "gateway_over_plain_least": ratios.quantile(0.0),
            "gateway_over_plain_most": ratios.quantile(1.0),
        }))
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(io::Error::other)
        .map_err(Failure::os("measure"))?
        .map_err(Failure::os("ask over HTTP"))
}

/// How long each run took by each of the two, in milliseconds, and messages without a run. None is always the first.
fn paced(pair: &Pair, broker: &str, runs: usize) -> io::Result<[Vec<f64>; 3]> {
    let mut connections = [pair[0].connect()?, pair[1].connect()?];
    let mut bare = Bare::start(broker)?;
    let mut taken = [const { Vec::new() }; 3];
    for round in 0..FIRST + runs {
        for turn in 0..taken.len() {
            let which = (round + turn) % taken.len();
            let ms = match connections.get_mut(which) {
                Some(connection) => connection.timed()?,
                None => bare.timed()?,
            };
            if round >= FIRST {
                taken[which].push(ms);
            }
            std::thread::sleep(PACE);
        }
    }
    Ok(taken)
}

/// Runs a second, of so many by each caller.
fn rate(caller: &Caller, each: usize) -> io::Result<f64> {
    let mut connections = Vec::new();
    for _ in 0..CALLERS {
        connections.push(caller.connect()?);
    }
    let started = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> = connections
            .iter_mut()
            .map(|connection| {
                scope.spawn(|| (0..each).try_for_each(|_| connection.timed().map(|_ms| ())))
            })
            .collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_panic| Err(io::Error::other("a caller panicked")))
        })
    })?;
    Ok((each * CALLERS) as f64 / started.elapsed().as_secs_f64())
}
