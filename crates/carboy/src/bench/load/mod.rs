//! What a server does under more than it can do: `carboy serve` as a process of its own, honest callers at three times
//! its capacity, hostile ones beside them, its end and a new start, and a tenant beside one that asks for too much.
//!
//! Each request computes what no other does and has an id, and the server's log says which ids led to runs: so it is
//! known of each whether it was answered once, with its own answer. How long a refusal took is told twice: by the
//! server's log, from the request's headers to its answer's, and by the client, which shares the processors
//! with the server and the runs.

pub(super) mod client;
mod crowd;
mod fair;
mod hostile;
mod report;
mod server;

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use client::Client;
use crowd::{Crowd, Fates};
use hostile::Hostile;
use server::{Log, Server, Wanted, key};

pub use report::page;

use super::{Bench, Samples, machine};
use crate::failure::Failure;

/// Honest tenants.
const HONEST: &[&str] = &["a", "b"];

/// Callers that find out what the server can do.
const CALLERS: usize = 16;

/// Connections that say nothing.
const IDLE: usize = 10_000;

/// Descriptors for all else that this process holds.
const OTHERS: u64 = 2048;

impl Bench {
    /// All of it, for so long in all, as a report of its own.
    pub async fn load(&mut self, time: Duration) -> Result<Value, Failure> {
        let folder = std::env::temp_dir().join(format!("carboy-load-{}", std::process::id()));
        std::fs::create_dir(&folder).map_err(Failure::os("make a folder"))?;
        let measured = measure(&folder, &self.python, time).await;
        std::fs::remove_dir_all(&folder).map_err(Failure::os("remove the folder"))?;
        let mut report = measured.map_err(Failure::os("put a server under load"))?;
        report["machine"] = machine(&self.python);
        let checks = report::checks(&report);
        report["ok"] = json!(checks.iter().all(|check| check["ok"] == json!(true)));
        report["checks"] = json!(checks);
        Ok(report)
    }
}

async fn measure(folder: &Path, python: &Path, time: Duration) -> io::Result<Value> {
    let idle = IDLE.min(descriptors().saturating_sub(OTHERS) as usize);
    let connections = idle + 2048;
    let wanted = Wanted { address: "127.0.0.1:0", connections, greedy: 1.0 };
    let mut server = Server::start(folder, python, &wanted).await?;
    let address = server.address.clone();
    let client = Client::new(&address);

    let crowd = Crowd::new("load", &client);
    let capacity = crowd.rush(CALLERS, time / 12).await;
    let (fates, resident, hostile) =
        overload(&server, &client, &crowd, time, capacity, idle).await?;
    let log = server.log()?;
    let overload = told(&fates, &log, capacity);

    let (restart, session) = restart(&mut server, &client, capacity).await?;
    drop(server);
    let greedy = (capacity / 10.0).max(1.0);
    let wanted = Wanted { address: &address, connections, greedy };
    let server = Server::start(folder, python, &wanted).await?;
    let client = Client::new(&address);
    let gone = client.request(&key("a"), &format!("GET /v1/sessions/{session}"), "gone", "");
    let gone = client.ask(&gone).await?;
    let fair = fair::measure(&server, &client, 2 * time, greedy).await?;
    drop(server);
    Ok(json!({
        "seconds": time.as_secs_f64(),
        "capacity_per_s": capacity,
        "overload": overload,
        "memory": resident,
        "hostile": hostile,
        "idle_wanted": idle,
        "restart": restart,
        "session_after_restart": { "status": gone.status, "code": gone.json()["code"] },
        "fair": fair,
    }))
}

/// As many descriptors as this process may have.
fn descriptors() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let most = maximum.unwrap_or(65_536).min(65_536);
    let more = Rlimit { current: Some(most), maximum };
    // With fewer there are fewer connections, and the report says how many.
    if setrlimit(Resource::Nofile, more).is_ok() { most } else { current.unwrap_or(1024) }
}

/// Three times what the server can do: for a third of the time alone, then beside hostile clients.
async fn overload(
    server: &Server,
    client: &Client,
    crowd: &Crowd,
    time: Duration,
    capacity: f64,
    idle: usize,
) -> io::Result<(Fates, Value, Value)> {
    let measured = std::mem::take(&mut *crowd.fates());
    let mut sizes = Vec::new();
    let start = Instant::now();
    let sending = tokio::spawn(crowd.clone().send(3.0 * capacity, HONEST));
    let mut hostile = None;
    let mut accepted_alone = 0;
    while start.elapsed() < time {
        if hostile.is_none() && start.elapsed() >= time / 3 {
            accepted_alone = crowd.fates().accepted.len();
            hostile = Some(Hostile::start(client, idle));
        }
        sizes.push(server.resident().unwrap_or(0));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let accepted = crowd.fates().accepted.len();
    crowd.stop();
    sending.await.map_err(io::Error::other)?;
    let mut report = hostile.map(|hostile| hostile.report()).unwrap_or_default();
    let third = time.as_secs_f64() / 3.0;
    report["accepted_per_s_without"] = json!(accepted_alone as f64 / third);
    report["accepted_per_s_beside"] = json!((accepted - accepted_alone) as f64 / (2.0 * third));
    let mut fates = std::mem::take(&mut *crowd.fates());
    fates.sent += measured.sent;
    fates.accepted.extend(measured.accepted);
    fates.unanswered.extend(measured.unanswered);
    fates.wrong.extend(measured.wrong);
    Ok((fates, memory(&sizes), report))
}

/// The server's memory, and whether it grows: the most in the middle of the time and the most at its end.
fn memory(sizes: &[u64]) -> Value {
    let most = |part: &[u64]| part.iter().copied().max().unwrap_or(0);
    let (half, last) = (sizes.len() / 2, sizes.len() * 3 / 4);
    json!({
        "samples": sizes.len(),
        "first_bytes": sizes.first(),
        "most_bytes": most(sizes),
        "most_in_third_quarter_bytes": most(&sizes[half..last]),
        "most_in_last_quarter_bytes": most(&sizes[last..]),
    })
}

/// What became of requests, as both sides say.
fn told(fates: &Fates, log: &Log, capacity: f64) -> Value {
    let logged = fates.accepted.iter().filter(|id| log.runs.contains_key(*id)).count();
    json!({
        "offered_per_s": 3.0 * capacity,
        "sent": fates.sent,
        "held_back": fates.held_back,
        "accepted": fates.accepted.len(),
        "accepted_in_log": logged,
        "refused": fates.refused,
        "refused_without_time": fates.refused_without_time,
        "unanswered": fates.unanswered.len(),
        "lost": fates.lost(log),
        "run_twice": fates.run_twice(log),
        "answered_twice": fates.twice,
        "wrong": fates.wrong.len(),
        "first_wrong": fates.wrong.first(),
        "failures": log.failures.len(),
        "first_failure": log.failures.first(),
        "longest_silence_s": fates.longest_silence,
        "accepted_ms": Samples::new(fates.accepted_ms.clone()).summary(),
        "refused_ms_by_client": Samples::new(fates.refused_ms.clone()).summary(),
        "refused_ms_by_server": Samples::new(log.refusals_ms.clone()).summary(),
    })
}

/// The end of a server that has three times what it can do, and a run of a session under way. What came of it, and the
/// session's id.
async fn restart(
    server: &mut Server,
    client: &Client,
    capacity: f64,
) -> io::Result<(Value, String)> {
    let open = client.request(&key("paced"), "POST /v1/sessions", "session", "{}");
    let opened = client.ask(&open).await?;
    let session = opened.json()["id"].as_str().unwrap_or_default().to_owned();
    let line = format!("POST /v1/sessions/{session}/runs");
    let slow = json!({ "code": "import time\ntime.sleep(1)\nresult = 42" }).to_string();
    let slow = client.request(&key("paced"), &line, "slow", &slow);
    let own = client.clone();
    let running = tokio::spawn(async move { own.ask(&slow).await });

    let crowd = Crowd::new("end", &Client::new(&client.address));
    let sending = tokio::spawn(crowd.clone().send(3.0 * capacity, HONEST));
    tokio::time::sleep(Duration::from_millis(700)).await;
    let start = Instant::now();
    server.terminate()?;
    let status = server.ended().await?;
    let drained = start.elapsed();
    crowd.stop();
    sending.await.map_err(io::Error::other)?;
    let ran = running.await.map_err(io::Error::other)?;
    let fates = std::mem::take(&mut *crowd.fates());
    let mut report = told(&fates, &server.log()?, capacity);
    report["exit_code"] = json!(status.code());
    report["drained_s"] = json!(drained.as_secs_f64());
    let ran = ran.map(|answer| answer.json()["outcome"]["result"].clone());
    report["session_run"] = ran.unwrap_or_else(|error| json!(error.to_string()));
    Ok((report, session))
}
