//! A door on loopback, the runner behind it, and a client that sends exactly what it is told.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use carboy_engine::{
    Artifacts, Busy, Call, Chunk, EngineError, Load, RunError, RunOptions, Runner, Sessions, Short,
    Stream,
};
use carboy_protocol::pipe::FromEngine;
use carboy_protocol::{
    Artifact, FileSource, Job, Opening, Outcome, Policy, PythonVersion, SetupFault, Usage,
};
use carboy_server::Desk;
use carboy_server::http::{
    self, Closing, Door, DoorConfig, KeyConfig, Listener, Scope, Standing, TenantConfig,
};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use crate::shared::{Elsewhere, Shared, found};

/// Longer than anything here takes: tests wait for what is to happen.
pub const LONG: Duration = Duration::from_secs(60);

/// How much a run may print that nobody takes: more than the kernel holds for a client.
pub const LONG_TEXT: usize = 12 << 20;

/// What happened behind the door.
#[derive(Default)]
pub struct Behind {
    pub policies: Mutex<Vec<Policy>>,
    /// The files of the last job or session.
    pub files: Mutex<BTreeMap<String, FileSource>>,
    pub log: Mutex<Vec<String>>,
    pub elsewhere: Arc<Elsewhere>,
    /// It reaches nobody who could run something.
    pub is_alone: AtomicBool,
}

/// Does what the code of its job says.
pub struct Scripted {
    pub behind: Arc<Behind>,
    /// One for each run that has begun.
    pub begun: Arc<Semaphore>,
    /// One lets a run end that holds.
    pub release: Arc<Semaphore>,
    /// One for each run that was dropped or cancelled before its end.
    pub dropped: Arc<Semaphore>,
}

struct Dropped(Option<Arc<Semaphore>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        if let Some(dropped) = &self.0 {
            dropped.add_permits(1);
        }
    }
}

fn busy() -> RunError {
    let retry_after = Duration::from_millis(1500);
    Busy { short: Short::Places, waiting: 3, retry_after }.into()
}

pub fn outcome() -> Outcome {
    let golden = include_str!("../../../../golden/pipe/outcome_ok.json");
    match serde_json::from_str(golden).unwrap() {
        FromEngine::Outcome { outcome, .. } => *outcome,
        other => panic!("{other:?}"),
    }
}

/// What a run leaves that leaves something.
pub const LEFT: [(&str, &str, Option<&str>); 3] = [
    ("out/\u{e9} 1.html", "<script>alert(1)</script>", Some("text/html")),
    ("plot.png", "0123456789", Some("image/png")),
    ("empty", "", None),
];

fn leave(run: &str, wish: &Artifacts) -> Vec<Artifact> {
    let artifact = |(path, content, media_type): (&str, &str, Option<&str>)| {
        let media_type = media_type.map(Into::into);
        let sha256 = Some(http::key_digest(content));
        let artifact =
            Artifact { path: path.into(), bytes: content.len() as u64, sha256, media_type };
        if let Artifacts::Keep(keeper) = wish {
            keeper.keep(run, &artifact, &mut content.as_bytes()).unwrap();
        }
        artifact
    };
    LEFT.into_iter().map(artifact).collect()
}

impl Runner for Scripted {
    async fn run_with(&self, job: Job, mut options: RunOptions) -> Result<Outcome, RunError> {
        let mut dropped = Dropped(Some(self.dropped.clone()));
        self.behind.policies.lock().unwrap().push(job.policy);
        *self.behind.files.lock().unwrap() = job.files;
        self.begun.add_permits(1);
        if !["busy", "demand", "engine", "panic"].contains(&job.code.as_str())
            && let Some(begun) = options.begun.take()
        {
            begun.send(()).unwrap();
        }
        let answer_of = Outcome { id: options.id.take().unwrap(), ..outcome() };
        let answer = Ok(answer_of.clone());
        let say = async |text: &[u8]| {
            let chunk = Chunk { stream: Stream::Stdout, bytes: text.to_vec() };
            options.chunks.as_ref().unwrap().send(chunk).await
        };
        let cancel = options.cancel.take().unwrap();
        let script = async {
            match job.code.as_str() {
                "busy" => Err(busy()),
                "demand" => Err(EngineError::Walls(SetupFault {
                    layer: "cgroup".into(),
                    step: "policy".into(),
                    object: "cgroup".into(),
                    answer: "/secret/path of the host".into(),
                })
                .into()),
                "engine" => {
                    let error = std::io::Error::other("/secret/path of the host");
                    Err(EngineError::Os { step: "test", error }.into())
                }
                "hold" => {
                    self.release.acquire().await.unwrap().forget();
                    answer
                }
                "wait" => std::future::pending().await,
                "talk" => {
                    say(b"one\n").await.unwrap();
                    say(b"two\ndata: three").await.unwrap();
                    answer
                }
                "flood" => {
                    while say(&[b'x'; 4096]).await.is_ok() {}
                    answer
                }
                "tool" => {
                    let mut host = options.tools.take().unwrap();
                    let raw = |text: &str| RawValue::from_string(text.into()).unwrap();
                    let (args, kwargs) = (raw("[1,\n2]"), raw("{}"));
                    host.calls
                        .send(Call { call: 7, tool: "add".into(), args, kwargs })
                        .await
                        .unwrap();
                    let answer = host.answers.recv().await.unwrap();
                    assert_eq!(answer.call, 7);
                    Ok(Outcome { result: answer.result.unwrap(), ..answer_of })
                }
                "unread" => {
                    let host = options.tools.take().unwrap();
                    let raw = |text: &str| RawValue::from_string(text.into()).unwrap();
                    for call in 1..=2 {
                        let (args, kwargs) = (raw("[]"), raw("{}"));
                        let call = Call { call, tool: "add".into(), args, kwargs };
                        host.calls.send(call).await.unwrap();
                    }
                    self.release.acquire().await.unwrap().forget();
                    answer
                }
                "long" => {
                    let mut long = answer_of;
                    long.stdout.text = "x".repeat(LONG_TEXT);
                    Ok(long)
                }
                "panic" => panic!("as the script says"),
                "leave" => {
                    let mut left = answer_of;
                    left.artifacts = leave(&left.id, &options.artifacts);
                    Ok(left)
                }
                _ => answer,
            }
        };
        let ended = tokio::select! {
            ended = script => ended,
            // Whoever could cancel it may be gone.
            Ok(()) = cancel => match job.code.as_str() {
                // As one that has no jar yet.
                "wait" => Err(RunError::Cancelled),
                _ => {
                    let usage = Usage { cpu_ms: 5000.0, ..outcome().usage };
                    return Ok(Outcome { usage, ..outcome() });
                }
            },
        };
        dropped.0 = None;
        ended
    }

    async fn shutdown(&self) {}

    fn load(&self) -> Option<Load> {
        Some(Load { running: 5, waiting: 6, standing: 7, memory_bytes: 8, memory_budget_bytes: 9 })
    }

    fn unready(&self) -> Option<&'static str> {
        self.behind.is_alone.load(Ordering::SeqCst).then_some("no node is heard of")
    }
}

impl Sessions for Scripted {
    type Session = Shared;

    async fn attach(&self, tenant: &str, id: &str) -> Result<Option<Shared>, RunError> {
        found(&self.behind.elsewhere, tenant, id)
    }

    async fn session_with(&self, opening: Opening, _: &str) -> Result<Shared, RunError> {
        self.behind.policies.lock().unwrap().push(opening.policy);
        *self.behind.files.lock().unwrap() = opening.files;
        let mut dropped = Dropped(Some(self.dropped.clone()));
        self.begun.add_permits(1);
        self.release.acquire().await.unwrap().forget();
        dropped.0 = None;
        Err(busy())
    }
}

pub struct Server {
    pub behind: Arc<Behind>,
    pub begun: Arc<Semaphore>,
    pub release: Arc<Semaphore>,
    pub dropped: Arc<Semaphore>,
    pub jobs: Arc<crate::jobs::Scripted>,
    pub closing: watch::Sender<Closing>,
    pub task: JoinHandle<()>,
    pub address: String,
}

/// A key of this name: every test may know it.
pub fn tenant(key: &str, scopes: &[Scope]) -> TenantConfig {
    let key = KeyConfig { sha256: http::key_digest(key), scopes: scopes.to_vec(), expires: None };
    TenantConfig { keys: vec![key], ..TenantConfig::default() }
}

impl Server {
    /// Two tenants, `acme` and `other`, each with a key of its name, and one that may only watch.
    pub async fn start(change: impl FnOnce(&mut DoorConfig)) -> Server {
        let both = [Scope::Run, Scope::Read];
        let mut config = DoorConfig {
            tenants: [
                ("acme".into(), tenant("acme", &both)),
                ("other".into(), tenant("other", &both)),
                ("watcher".into(), tenant("watcher", &[Scope::Metrics])),
            ]
            .into(),
            ..DoorConfig::default()
        };
        change(&mut config);
        let semaphore = || Arc::new(Semaphore::new(0));
        let (begun, release, dropped) = (semaphore(), semaphore(), semaphore());
        let behind = Arc::new(Behind::default());
        let runner = Scripted {
            behind: behind.clone(),
            begun: begun.clone(),
            release: release.clone(),
            dropped: dropped.clone(),
        };
        let heard = behind.clone();
        let log: http::Log = Box::new(move |told| {
            let line = format!("{} {:?}", told.request, told.error.failure().causes);
            heard.log.lock().unwrap().push(line);
        });
        let door = Door::new(Desk::new(runner), PythonVersion::NEWEST, &config, log).unwrap();
        door.show_records(Arc::new(crate::records::Numbered));
        let jobs = Arc::new(crate::jobs::Scripted::default());
        door.offer_jobs(jobs.clone());
        door.set_standing(Standing::Ready);
        let listener = Listener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.place().unwrap().strip_prefix("http://").unwrap().to_owned();
        let (closing, closed) = watch::channel(Closing::Open);
        let task = tokio::spawn(http::serve(door, listener, closed));
        Server { behind, begun, release, dropped, jobs, closing, task, address }
    }

    pub async fn connect(&self) -> Client {
        Client(TcpStream::connect(&self.address).await.unwrap())
    }

    /// A client for which the kernel holds little.
    pub async fn connect_narrow(&self) -> Client {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        Client(socket.connect(self.address.parse().unwrap()).await.unwrap())
    }

    /// One request on a connection of its own.
    pub async fn ask(&self, request: &str) -> Answer {
        let mut client = self.connect().await;
        client.send(request).await;
        client.answer().await
    }

    /// Runs code for a tenant.
    pub async fn run(&self, key: &str, code: &str) -> Answer {
        self.ask(&post(key, code)).await
    }

    pub async fn end(self) {
        self.closing.send(Closing::Drain).unwrap();
        within(self.task).await.unwrap();
    }
}

/// A test that waits for something that never happens fails.
pub async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, work).await.expect("it never happened")
}

/// Asks again and again until there is something.
pub async fn until<T>(ask: impl AsyncFn() -> Option<T>) -> T {
    within(async {
        loop {
            if let Some(found) = ask().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
}

/// Waits for one permit, and takes it.
pub async fn one(of: &Semaphore) {
    within(of.acquire()).await.unwrap().forget();
}

pub fn get(key: &str, path: &str) -> String {
    request(key, "GET", path, "", "")
}

pub fn post(key: &str, code: &str) -> String {
    let body = serde_json::json!({ "code": code }).to_string();
    request(key, "POST", "/v1/runs", "Content-Type: application/json\r\n", &body)
}

pub fn request(key: &str, method: &str, path: &str, headers: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
         Content-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}

pub struct Client(pub TcpStream);

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// The code of the problem that it is.
    pub fn code(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status, "{self:?}");
        assert!(!problem["detail"].as_str().unwrap().is_empty());
        problem["code"].as_str().unwrap().to_owned()
    }
}

impl Client {
    pub async fn send(&mut self, text: &str) {
        // The server may have answered and closed before it has read everything.
        self.0.write_all(text.as_bytes()).await.ok();
    }

    /// Reads until `is_enough` or the end.
    pub async fn read_until(&mut self, is_enough: impl Fn(&str) -> bool) -> String {
        let mut text = Vec::new();
        let mut buffer = [0; 4096];
        while !is_enough(&String::from_utf8_lossy(&text)) {
            match within(self.0.read(&mut buffer)).await {
                Ok(0) | Err(_) => break,
                Ok(count) => text.extend_from_slice(&buffer[..count]),
            }
        }
        String::from_utf8(text).unwrap()
    }

    /// One answer with a length, or without a body.
    pub async fn answer(&mut self) -> Answer {
        let of = |text: &str| {
            let (head, body) = text.split_once("\r\n\r\n")?;
            let answer = Answer {
                status: head.split(' ').nth(1)?.parse().ok()?,
                head: head.into(),
                body: body.into(),
            };
            let length: usize = match answer.status {
                204 => 0,
                _ => answer.header("content-length")?.parse().ok()?,
            };
            (answer.body.len() >= length).then_some(answer)
        };
        let text = self.read_until(|text| of(text).is_some()).await;
        of(&text).unwrap_or_else(|| panic!("no answer: {text:?}"))
    }

    /// Waits until the server has closed the connection, whatever it says before.
    pub async fn is_closed(&mut self) -> String {
        self.read_until(|_| false).await
    }

    /// The same where what it says is no text.
    pub async fn is_closed_raw(&mut self) -> Vec<u8> {
        let mut said = Vec::new();
        // It may be cut off.
        within(self.0.read_to_end(&mut said)).await.ok();
        said
    }
}
