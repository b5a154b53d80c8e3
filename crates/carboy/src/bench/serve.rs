//! What HTTP adds to a run: the same job by the engine alone and over a kept connection on loopback, in turn, in one
//! process and on one engine.
//!
//! Clients are threads with plain sockets: what they cost is what any client costs.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use carboy_engine::{Engine, RunOptions};
use carboy_protocol::{Job, Policy};
use carboy_server::Desk;
use carboy_server::http::{
    self, Closing, Door, DoorConfig, KeyConfig, Listener, Scope, Standing, TenantConfig,
};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};

use super::{Bench, JOB, PACE, Samples, machine, succeeded};
use crate::failure::Failure;

/// How many callers there are at once where throughput is measured.
const CALLERS: usize = 16;

/// What is in an outcome that is well.
const OK: &[u8] = br#""status":"ok""#;

/// How often the two are measured in turn.
const ROUNDS: usize = 5;

impl Bench {
    /// All of it, as a report of its own.
    pub async fn serve(&mut self) -> Result<Value, Failure> {
        let key = http::new_key().map_err(carboy_engine::RunError::from)?;
        let engine = self.engine_with(&[], 32)?;
        engine.stand(&Policy::default(), CALLERS).await?;
        let tenant = TenantConfig {
            keys: vec![KeyConfig {
                sha256: http::key_digest(&key),
                scopes: Scope::usual(),
                expires: None,
            }],
            ..TenantConfig::default()
        };
        let config =
            DoorConfig { tenants: [("bench".to_owned(), tenant)].into(), ..DoorConfig::default() };
        let python = engine.python().language;
        let door = Door::new(Desk::new(engine), python, &config, Box::new(|_told| {}))
            .map_err(io::Error::other)
            .map_err(Failure::os("open a door"))?;
        door.set_standing(Standing::Ready);
        let listener = Listener::bind("127.0.0.1:0").await.map_err(Failure::os("listen"))?;
        let place = listener.place().map_err(Failure::os("name the listener"))?;
        let (closing, closed) = watch::channel(Closing::Open);
        let served = tokio::spawn(http::serve(door.clone(), listener, closed));
        let client = Arc::new(Caller::new(&place, &key));
        let report = json!({
            "machine": machine(&self.python),
            "job": JOB,
            "c1": self.one_caller(&door, &client).await?,
            "c16": self.many_callers(&door, &client).await?,
        });
        closing.send_replace(Closing::Drain);
        served.await.map_err(io::Error::other).map_err(Failure::os("end the server"))?;
        Ok(report)
    }

    /// One caller, paced so that jars stand: by the engine, over HTTP, by the engine, and so on.
    async fn one_caller(
        &mut self,
        door: &Arc<Door<Engine>>,
        caller: &Arc<Caller>,
    ) -> Result<Value, Failure> {
        let (orders, ordered) = std::sync::mpsc::channel::<oneshot::Sender<io::Result<f64>>>();
        let client = caller.clone();
        let thread = std::thread::spawn(move || {
            let mut connection = client.connect();
            for order in ordered {
                let timed = match &mut connection {
                    Ok(connection) => connection.timed(),
                    Err(error) => Err(io::Error::new(error.kind(), "there is no connection")),
                };
                // Nobody waits for it after a failure.
                order.send(timed).ok();
            }
        });
        let (mut alone, mut over_http) = (Vec::new(), Vec::new());
        let mut cpu = [0.0, 0.0];
        for _ in 0..self.size.paced {
            let (started, before) = (Instant::now(), cpu_ms());
            run(door.runner()).await?;
            alone.push(started.elapsed().as_secs_f64() * 1e3);
            cpu[0] += cpu_ms() - before;
            tokio::time::sleep(PACE).await;
            let (order, timed) = oneshot::channel();
            let before = cpu_ms();
            orders.send(order).map_err(io::Error::other).map_err(Failure::os("ask"))?;
            let timed = timed.await.map_err(io::Error::other).map_err(Failure::os("ask"))?;
            over_http.push(timed.map_err(Failure::os("ask over HTTP"))?);
            cpu[1] += cpu_ms() - before;
            tokio::time::sleep(PACE).await;
        }
        drop(orders);
        // It ends with its last order.
        thread.join().ok();
        let (alone, over_http) = (Samples::new(alone), Samples::new(over_http));
        self.keep("serve.engine.c1", &alone);
        self.keep("serve.http.c1", &over_http);
        let added = |part| over_http.quantile(part) - alone.quantile(part);
        Ok(json!({
            "engine": alone.summary(),
            "http": over_http.summary(),
            "added_p50_ms": added(0.5),
            // On a machine that does other things too, the quick ones and the processor say more.
            "added_p10_ms": added(0.1),
            "added_cpu_ms": (cpu[1] - cpu[0]) / self.size.paced as f64,
        }))
    }

    /// Sixteen callers, each asking again as soon as it is answered, in turn by the engine and over HTTP.
    async fn many_callers(
        &mut self,
        door: &Arc<Door<Engine>>,
        caller: &Arc<Caller>,
    ) -> Result<Value, Failure> {
        let each = (self.size.loaded / CALLERS / ROUNDS).max(1);
        let (mut alone, mut over_http, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let started = Instant::now();
            let mut tasks = Vec::new();
            for _ in 0..CALLERS {
                let door = door.clone();
                tasks.push(tokio::spawn(async move {
                    for _ in 0..each {
                        run(door.runner()).await?;
                    }
                    Ok::<_, Failure>(())
                }));
            }
            for task in tasks {
                task.await.map_err(io::Error::other).map_err(Failure::os("measure"))??;
            }
            let by_engine = (each * CALLERS) as f64 / started.elapsed().as_secs_f64();
            let started = Instant::now();
            let mut threads = Vec::new();
            for _ in 0..CALLERS {
                let caller = caller.clone();
                threads.push(tokio::task::spawn_blocking(move || {
                    let mut connection = caller.connect()?;
                    (0..each).try_for_each(|_| connection.timed().map(|_ms| ()))
                }));
            }
            for thread in threads {
                let done =
                    thread.await.map_err(io::Error::other).map_err(Failure::os("measure"))?;
                done.map_err(Failure::os("ask over HTTP"))?;
            }
            let by_http = (each * CALLERS) as f64 / started.elapsed().as_secs_f64();
            alone.push(by_engine);
            over_http.push(by_http);
            ratios.push(by_http / by_engine);
        }
        let median = |values: Vec<f64>| Samples::new(values).quantile(0.5);
        Ok(json!({
            "engine_runs_per_s": median(alone),
            "http_runs_per_s": median(over_http),
            "http_over_engine": median(ratios),
        }))
    }
}

async fn run(engine: &Engine) -> Result<(), Failure> {
    succeeded(engine.run_with(Job::new(JOB), RunOptions::default()).await?.status)
}

/// The processor time of the thread that engine and server run on, in milliseconds.
fn cpu_ms() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Whoever asks over HTTP.
pub(super) struct Caller {
    address: String,
    request: Vec<u8>,
}

impl Caller {
    pub fn new(place: &str, key: &str) -> Caller {
        let body = json!({ "code": JOB }).to_string();
        let address = place.strip_prefix("http://").unwrap_or(place).to_owned();
        let request = format!(
            "POST /v1/runs HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Caller { address, request: request.into_bytes() }
    }

    pub fn connect(&self) -> io::Result<Connection> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, request: self.request.clone(), buffer: vec![0; 64 << 10] })
    }
}

/// A kept connection.
pub(super) struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    buffer: Vec<u8>,
}

impl Connection {
    /// How long one run took, in milliseconds.
    pub fn timed(&mut self) -> io::Result<f64> {
        let started = Instant::now();
        self.stream.write_all(&self.request)?;
        let mut length = 0;
        loop {
            let count = self.stream.read(&mut self.buffer[length..])?;
            length += count;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if is_whole(&self.buffer[..length])? {
                let taken = started.elapsed().as_secs_f64() * 1e3;
                // A run that failed is quick, and not what is timed.
                let well = self.buffer[..length].windows(OK.len()).any(|bytes| bytes == OK);
                return if well {
                    Ok(taken)
                } else {
                    Err(io::Error::other("a run did not end well"))
                };
            }
        }
    }
}

/// Whether that is a whole answer. One that is no outcome is an error.
fn is_whole(answer: &[u8]) -> io::Result<bool> {
    let Some(end) = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
        return Ok(false);
    };
    let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
    if !head.starts_with("http/1.1 200") {
        return Err(io::Error::other(head));
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length
        .and_then(|length| length.trim().parse().ok())
        .ok_or_else(|| io::Error::other("an answer without a length"))?;
    Ok(answer.len() >= end + 4 + length)
}
