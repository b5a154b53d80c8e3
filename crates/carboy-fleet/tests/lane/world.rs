//! A fleet inside a test.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use carboy_engine::{
    Answer, Call, Chunk, Load, RunError, RunOptions, Runner, Stream, ToolHost, new_id,
};
use carboy_fleet::name::Start;
use carboy_fleet::{
    Address, Clock, Gateway, GatewayConfig, LocalBus, RoomBounds, Worker, WorkerConfig,
};
use carboy_protocol::{Job, Outcome, Tool};
use serde_json::json;
use serde_json::value::to_raw_value;
use tokio::sync::{Notify, mpsc, oneshot};

/// An outcome that says what a script wants.
pub fn outcome(id: &str, result: &serde_json::Value) -> Outcome {
    let output = json!({"text": "", "bytes": 0, "truncated": false});
    let layers = json!({"user_ns": true, "mount_ns": true, "pid_ns": true, "net_ns": true, "ipc_ns": true,
        "uts_ns": true, "cgroup_ns": true, "private_root": true, "landlock_abi": 6, "seccomp": "process",
        "seccomp_filters": 2, "no_new_privs": true, "no_capabilities": true, "bounding_set_empty": true,
        "uid": 1, "cgroup": "none"});
    serde_json::from_value(json!({
        "id": id, "status": "ok", "result": result, "stdout": output, "stderr": output, "denials": [],
        "usage": {"queue_ms": 0.0, "wall_ms": 1.0, "cpu_ms": 1.0, "peak_memory_bytes": 1},
        "isolation": {"tier": "process", "walls": "full", "layers": layers}, "artifacts": [],
    }))
    .expect("an outcome")
}

/// What happened on all nodes of a world, and what runs wait for.
#[derive(Debug, Default)]
pub struct Stage {
    begun: Mutex<HashMap<String, u32>>,
    ended: Mutex<Vec<String>>,
    changed: Notify,
    pub go: Notify,
}

impl Stage {
    /// How often a code was begun.
    pub fn begun(&self, code: &str) -> u32 {
        self.begun.lock().expect("whole").get(code).copied().unwrap_or(0)
    }

    /// How many runs were begun.
    pub fn all(&self) -> u32 {
        self.begun.lock().expect("whole").values().sum()
    }

    /// Waits until as many runs are under way or over.
    pub async fn until_begun(&self, count: u32) {
        self.until(|| self.all() >= count).await;
    }

    /// Waits until a run was ended before it came to its end by itself.
    pub async fn until_dropped(&self, code: &str) {
        self.until(|| self.ended.lock().expect("whole").iter().any(|ended| ended == code)).await;
    }

    async fn until(&self, is_so: impl Fn() -> bool) {
        loop {
            let changed = self.changed.notified();
            if is_so() {
                return;
            }
            changed.await;
        }
    }

    fn begin(&self, code: &str) {
        *self.begun.lock().expect("whole").entry(code.into()).or_default() += 1;
        self.changed.notify_waiters();
    }
}

/// Tells the stage when a run is dropped before its end.
struct Dropped<'a>(&'a Stage, String, bool);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        if !self.2 {
            self.0.ended.lock().expect("whole").push(self.1.clone());
            self.0.changed.notify_waiters();
        }
    }
}

/// Does what the first word of its job's code says.
pub struct Scripted {
    stage: Arc<Stage>,
    load: Option<Load>,
}

impl Runner for Scripted {
    async fn run_with(&self, job: Job, mut options: RunOptions) -> Result<Outcome, RunError> {
        let code = job.code.clone();
        self.stage.begin(&code);
        let mut dropped = Dropped(&self.stage, code.clone(), false);
        let id = options.id.take().expect("a node is told the id");
        let end = self.script(&code, &id, &mut options).await;
        dropped.2 = true;
        end
    }

    async fn shutdown(&self) {}

    fn load(&self) -> Option<Load> {
        self.load
    }
}

impl Scripted {
    async fn script(
        &self,
        code: &str,
        id: &str,
        options: &mut RunOptions,
    ) -> Result<Outcome, RunError> {
        let word = code.split_whitespace().next().unwrap_or_default();
        match word {
            // Until it is told to go on, or to stop.
            "wait" => {
                let cancel = options.cancel.take().expect("a way to cancel");
                tokio::select! {
                    () = self.stage.go.notified() => {}
                    Ok(()) = cancel => return Ok(outcome(id, &json!("stopped"))),
                }
            }
            "print" => {
                options.begun.take().expect("somebody wants to know").send(()).expect("heard");
                let chunks = options.chunks.take().expect("output is wanted");
                let count: usize =
                    code.split_whitespace().nth(1).expect("a count").parse().expect("it");
                let size: usize =
                    code.split_whitespace().nth(2).expect("a size").parse().expect("it");
                for number in 0..count {
                    let bytes = vec![u8::try_from(number % 251).expect("small"); size];
                    if chunks.send(Chunk { stream: Stream::Stdout, bytes }).await.is_err() {
                        break;
                    }
                }
            }
            "call" => {
                let mut tools = options.tools.take().expect("tools are offered");
                let mut sum = 0;
                for call in 0..code.split_whitespace().nth(1).map_or(1, |n| n.parse().expect("it"))
                {
                    let args = to_raw_value(&[call]).expect("JSON");
                    let kwargs = to_raw_value(&json!({})).expect("JSON");
                    let tool = "double".into();
                    tools.calls.send(Call { call, tool, args, kwargs }).await.expect("heard");
                    let Answer { result, .. } = tools.answers.recv().await.expect("an answer");
                    let value = result.expect("a value").expect("not null");
                    sum += serde_json::from_str::<u64>(value.get()).expect("a number");
                }
                return Ok(outcome(id, &json!(sum)));
            }
            "lengths" => {
                let mut tools = options.tools.take().expect("tools are offered");
                let mut sum = 0;
                for call in 0..code.split_whitespace().nth(1).map_or(1, |n| n.parse().expect("it"))
                {
                    let args = to_raw_value(&[call]).expect("JSON");
                    let kwargs = to_raw_value(&json!({})).expect("JSON");
                    let tool = "double".into();
                    tools.calls.send(Call { call, tool, args, kwargs }).await.expect("heard");
                    let Answer { result, .. } = tools.answers.recv().await.expect("an answer");
                    sum += result.expect("a value").expect("not null").get().len();
                }
                return Ok(outcome(id, &json!(sum)));
            }
            "large" => {
                let size: usize =
                    code.split_whitespace().nth(1).expect("a size").parse().expect("it");
                return Ok(outcome(id, &json!("x".repeat(size))));
            }
            "fail" => return Err(RunError::Engine(carboy_engine::EngineError::ZygoteGone)),
            "panic" => panic!("as the script says"),
            _ => {}
        }
        Ok(outcome(id, &json!(code)))
    }
}

/// A node of a world.
pub struct Node {
    pub worker: Worker<Scripted, LocalBus>,
    pub bus: LocalBus,
    pub address: Address,
}

impl Node {
    /// Its process dies.
    pub fn kill(self) {
        self.bus.end();
        drop(self.worker);
    }
}

/// A gateway with some nodes.
pub struct World {
    pub gateway: Arc<Gateway<LocalBus>>,
    pub bus: LocalBus,
    pub nodes: Vec<Node>,
    pub stage: Arc<Stage>,
    pub clock: Clock,
    joined: u64,
}

impl World {
    pub async fn new(slots: &[u32]) -> World {
        World::with_room(slots, RoomBounds { all: 100, each: 50 }).await
    }

    pub async fn with_room(slots: &[u32], room: RoomBounds) -> World {
        World::with(slots, |config| config.room = room).await
    }

    /// One whose gateway is not the usual one.
    pub async fn with(slots: &[u32], change: impl FnOnce(&mut GatewayConfig)) -> World {
        let clock = Clock::manual();
        let bus = LocalBus::new("_INBOX_g.one");
        let mut config = GatewayConfig { clock: clock.clone(), ..GatewayConfig::new(Start(7)) };
        change(&mut config);
        let gateway = Arc::new(Gateway::start(bus.clone(), config).await.expect("a gateway"));
        let stage = Arc::default();
        let mut world = World { gateway, bus, nodes: Vec::new(), stage, clock, joined: 0 };
        for &slots in slots {
            world.join(slots, None).await;
        }
        world
    }

    /// One more node, which the gateway has heard of.
    pub async fn join(&mut self, slots: u32, load: Option<Load>) {
        self.joined += 1;
        let number = self.joined;
        let address = Address { node: number, incarnation: 100 + number };
        let before = self.gateway.nodes();
        let bus = self.bus.connect(&format!("_INBOX_w.{number}"));
        let runner = Arc::new(Scripted { stage: self.stage.clone(), load });
        let version = String::new();
        let config = WorkerConfig {
            address,
            slots,
            version,
            clock: self.clock.clone(),
            sessions: None,
            files: None,
            session_drain: Duration::ZERO,
        };
        let worker = Worker::start(runner, bus.clone(), bus.clone(), config).await.expect("a node");
        worker.tick().await;
        self.nodes.push(Node { worker, bus, address });
        // Others may have died unnoticed.
        let known = self.nodes.len().max(before + 1);
        until(|| self.gateway.nodes() >= known).await;
    }

    /// Lets time pass in small steps, in which everybody does what is due.
    pub async fn pass(&self, time: Duration) {
        let step = Duration::from_millis(50);
        let mut left = time;
        while !left.is_zero() {
            let now = step.min(left);
            left -= now;
            self.clock.pass(now);
            for node in &self.nodes {
                node.worker.tick().await;
            }
            settle().await;
            self.gateway.tick().await;
            settle().await;
        }
    }

    /// Starts a run.
    pub fn start(&self, code: &str) -> Run {
        self.start_with(Job::new(code), RunOptions::default())
    }

    pub fn start_with(&self, job: Job, mut options: RunOptions) -> Run {
        options.id = Some(new_id().expect("random"));
        let gateway = self.gateway.clone();
        tokio::spawn(async move { gateway.run_with(job, options).await })
    }

    /// A run of this code comes to its end, with what it answered.
    pub async fn run(&self, code: &str) -> String {
        result(self.start(code)).await
    }
}

pub type Run = tokio::task::JoinHandle<Result<Outcome, RunError>>;

/// What a run answered.
pub async fn result(run: Run) -> String {
    let outcome = run.await.expect("no panic").expect("an outcome");
    outcome.result.expect("a result").get().to_owned()
}

/// Why a run has no outcome.
pub async fn failure(run: Run) -> RunError {
    run.await.expect("no panic").expect_err("no outcome")
}

/// Lets every task do what it can do now.
pub async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// Waits until something is so. All tests run on one thread, so others get on meanwhile.
pub async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
}

/// Options for a run whose calls are answered with twice their argument.
pub fn doubling() -> (Job, RunOptions) {
    answering(|number| json!(2 * number))
}

/// Options for a run whose calls are answered so.
pub fn answering(
    answer_of: impl Fn(usize) -> serde_json::Value + Send + 'static,
) -> (Job, RunOptions) {
    let (calls, mut called) = mpsc::channel::<Call>(1);
    let (answer, answers) = mpsc::channel(64);
    tokio::spawn(async move {
        while let Some(call) = called.recv().await {
            let [number] = serde_json::from_str::<[usize; 1]>(call.args.get()).expect("a number");
            let result = Ok(Some(to_raw_value(&answer_of(number)).expect("JSON")));
            answer.send(Answer { call: call.call, result }).await.ok();
        }
    });
    let mut job = Job::new("call 3");
    job.tools = vec![Tool { name: "double".into(), ..Tool::default() }];
    (job, RunOptions { tools: Some(ToolHost { calls, answers }), ..RunOptions::default() })
}

/// Options for a run whose output and beginning are wanted.
pub fn listening() -> (RunOptions, mpsc::Receiver<Chunk>, oneshot::Receiver<()>) {
    let (chunks, printed) = mpsc::channel(4);
    let (begun, told) = oneshot::channel();
    let options = RunOptions { chunks: Some(chunks), begun: Some(begun), ..RunOptions::default() };
    (options, printed, told)
}
