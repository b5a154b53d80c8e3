//! Durable jobs on three brokers that are killed and started again: for `just fleet`, because ports are taken for a
//! moment before the brokers have them.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use carboy_fleet::jobs::{JobQueue, QueueError, StreamBounds, Ticket};
use carboy_protocol::Job;
use serde_json::Value;

use crate::broker;
use crate::harness::{Scripted, Working, ended, text, ticket};
use crate::nats::{gateway, worker};

const BROKERS: usize = 3;

/// How long a cluster may take until it works, on a slow machine.
const LONG: Duration = Duration::from_secs(120);

struct Cluster {
    program: PathBuf,
    folder: PathBuf,
    /// For clients, for routes and for watching, of each broker.
    ports: [[u16; 3]; BROKERS],
    children: [Option<Child>; BROKERS],
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").port()
}

impl Cluster {
    fn start(name: &str, program: PathBuf) -> Cluster {
        let folder = broker::folder(name);
        let ports = std::array::from_fn(|_| std::array::from_fn(|_| free_port()));
        let mut cluster = Cluster { program, folder, ports, children: [None, None, None] };
        for number in 0..BROKERS {
            cluster.begin(number);
        }
        cluster
    }

    fn begin(&mut self, number: usize) {
        let [clients, routes, watch] = self.ports[number];
        let all: Vec<_> =
            self.ports.iter().map(|[_, route, _]| format!("nats://127.0.0.1:{route}")).collect();
        let folder = self.folder.join(number.to_string());
        std::fs::create_dir_all(&folder).expect("a folder");
        let conf = format!(
            "server_name: b{number}\nlisten: 127.0.0.1:{clients}\nhttp: 127.0.0.1:{watch}\n\
             jetstream {{ store_dir: {:?}, max_file: 1GB }}\n\
             cluster {{ name: test, listen: 127.0.0.1:{routes}, routes: [{}] }}\n",
            folder.join("store"),
            all.join(", ")
        );
        std::fs::write(folder.join("nats.conf"), conf).expect("a settings file");
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL"])
            .arg(&self.program)
            .args(["--config", "nats.conf", "--log", "broker.log"])
            .current_dir(&folder)
            .stdin(Stdio::null())
            .spawn();
        self.children[number] = Some(child.expect("setpriv starts"));
    }

    fn kill(&mut self, number: usize) {
        if let Some(mut child) = self.children[number].take() {
            child.kill().expect("it can be killed");
            child.wait().expect("it ends");
        }
    }

    fn places(&self) -> String {
        let all: Vec<_> = self.ports.iter().map(|[port, ..]| format!("127.0.0.1:{port}")).collect();
        all.join(",nats://")
    }

    fn ask(&self, number: usize, path: &str) -> Option<(bool, Value)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.ports[number][2])).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        Some((head.contains(" 200 "), serde_json::from_str(body).ok()?))
    }

    /// Waits until every broker says that it has all that it should have.
    async fn is_healthy(&self) {
        let started = Instant::now();
        while !(0..BROKERS).all(|number| self.ask(number, "/healthz").is_some_and(|(ok, _)| ok)) {
            assert!(started.elapsed() < LONG, "the cluster is not healthy");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// What a broker has of every stream: its name, messages, first and last.
    fn streams(&self, number: usize) -> Vec<(String, u64, u64, u64)> {
        let (_, said) = self.ask(number, "/jsz?streams=true").unwrap_or_default();
        let details = said["account_details"][0]["stream_detail"].as_array().cloned();
        let number = |value: &Value| value.as_u64().unwrap_or(u64::MAX);
        let mut streams: Vec<_> = details
            .unwrap_or_default()
            .iter()
            .map(|stream| {
                let (name, state) = (stream["name"].to_string(), &stream["state"]);
                let first = number(&state["first_seq"]);
                (name, number(&state["messages"]), first, number(&state["last_seq"]))
            })
            .collect();
        streams.sort();
        streams
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for number in 0..BROKERS {
            self.kill(number);
        }
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

fn bounds() -> StreamBounds {
    let lease = Some(Duration::from_secs(3));
    StreamBounds { replicas: BROKERS, bytes: 64 << 20, lease, ..StreamBounds::default() }
}

/// Submits a job until it is accepted, however often that takes.
async fn accepted<Q: JobQueue>(queue: &Q, ticket: &Ticket, code: &str) {
    let started = Instant::now();
    loop {
        match queue.publish(ticket.clone(), Job::new(code)).await {
            Ok(_published) => return,
            Err(QueueError::Unavailable(_)) if started.elapsed() < LONG => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "three brokers: just fleet"]
async fn t11_jobs_survive_brokers_that_are_killed_one_after_the_other() {
    let Some(program) = broker::program() else { return };
    let mut cluster = Cluster::start("t11", program);
    cluster.is_healthy().await;
    let gateway = gateway(&cluster.places(), bounds()).await;
    let runner = Arc::new(Scripted::default());
    let mut workers = vec![];
    for _ in 0..3 {
        let side = worker(&cluster.places(), bounds()).await;
        workers.push((Working::start(&side.queue, &runner, 4), side));
    }
    let jobs = 1_000;
    let queue = gateway.queue.clone();
    let submitting = tokio::spawn(async move {
        let mut tickets = vec![];
        for number in 0..jobs {
            let ticket = ticket(["a", "b", "c"][number % 3]);
            accepted(&*queue, &ticket, &number.to_string()).await;
            tickets.push((ticket, number));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tickets
    });
    for number in 0..BROKERS {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cluster.kill(number);
        tokio::time::sleep(Duration::from_secs(2)).await;
        cluster.begin(number);
        cluster.is_healthy().await;
    }
    let tickets = submitting.await.expect("all are accepted");
    let started = Instant::now();
    let mut unique = 0;
    for (ticket, number) in &tickets {
        assert_eq!(text(&ended(&*gateway.queue, ticket).await), format!("\"{number}\""));
        unique += 1;
    }
    assert_eq!(unique, jobs);
    while gateway.queue.left().await.map_or(true, |left| left > 0) {
        assert!(started.elapsed() < LONG, "orders are left");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for (working, _side) in workers {
        working.end().await;
    }
    // Every broker has the same, and goes on having it.
    let started = Instant::now();
    while (1..BROKERS).any(|number| cluster.streams(number) != cluster.streams(0)) {
        let all: Vec<_> = (0..BROKERS).map(|number| cluster.streams(number)).collect();
        assert!(started.elapsed() < LONG, "the brokers differ: {all:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(cluster.streams(0).len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "three brokers: just fleet"]
async fn t6_without_most_brokers_nothing_is_accepted_and_nothing_is_lost() {
    let Some(program) = broker::program() else { return };
    let mut cluster = Cluster::start("t6", program);
    cluster.is_healthy().await;
    let gateway = gateway(&cluster.places(), bounds()).await;
    let before = ticket("a");
    accepted(&*gateway.queue, &before, "before").await;
    cluster.kill(0);
    cluster.kill(1);
    let started = Instant::now();
    let refused = loop {
        // The first may find brokers that do not know of it yet.
        if let Err(error) = gateway.queue.publish(ticket("a"), Job::new("x")).await {
            break error;
        }
        assert!(started.elapsed() < LONG, "a minority accepts jobs");
    };
    assert!(matches!(refused, QueueError::Unavailable(_)), "{refused}");
    cluster.begin(0);
    cluster.begin(1);
    cluster.is_healthy().await;
    let after = ticket("a");
    accepted(&*gateway.queue, &after, "after").await;
    let side = worker(&cluster.places(), bounds()).await;
    let working = Working::start(&side.queue, &Arc::new(Scripted::default()), 2);
    let started = Instant::now();
    for (ticket, code) in [(&before, "\"before\""), (&after, "\"after\"")] {
        while gateway.queue.result(ticket).await.ok().flatten().is_none() {
            assert!(started.elapsed() < LONG, "{code} has no result");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(text(&ended(&*gateway.queue, ticket).await), code);
    }
    working.end().await;
}
