//! Sessions through gateways and nodes, on a bus inside the test and with a clock that stands still.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use carboy_engine::{
    FleetError, RequestError, RunError, RunOptions, SessionHandle, Sessions, Stream,
};
use carboy_protocol::{Opening, Piece};
use tokio::sync::{mpsc, oneshot};

use super::scripted::Scripted;
use super::{HeldSessions, HoldsSessions, SessionKey};
use crate::name::{Start, Verb};
use crate::{
    Address, Clock, Fate, Gateway, GatewayConfig, LocalBus, RemoteSession, Worker, WorkerConfig,
};

type Remote = RemoteSession<LocalBus>;

/// A node of a world.
struct Node {
    worker: Worker<Scripted, LocalBus>,
    bus: LocalBus,
    runner: Arc<Scripted>,
    held: Arc<HeldSessions<Scripted>>,
}

impl Node {
    fn kill(self) {
        self.bus.end();
        drop(self.worker);
    }
}

/// A gateway with some nodes.
struct World {
    gateway: Gateway<LocalBus>,
    key: SessionKey,
    bus: LocalBus,
    nodes: Vec<Node>,
    clock: Clock,
}

impl World {
    async fn new(nodes: u64) -> World {
        let (key, clock) = (SessionKey::random("cell").expect("a key"), Clock::manual());
        let bus = LocalBus::new("_INBOX_g.one");
        let gateway = gateway(&bus, &clock, 7, &key).await;
        let mut world = World { gateway, key, bus, nodes: vec![], clock };
        for number in 0..nodes {
            world.join(number, 100 + number, 64).await;
        }
        world
    }

    async fn join(&mut self, number: u64, incarnation: u64, most: usize) {
        let bus = self.bus.connect(&format!("_INBOX_w.{number}"));
        let runner = Scripted::new();
        let held = HeldSessions::new(runner.clone(), most);
        let config = WorkerConfig {
            address: Address { node: number, incarnation },
            slots: 8,
            version: String::new(),
            clock: self.clock.clone(),
            sessions: Some(held.clone()),
            files: None,
            session_drain: Duration::ZERO,
        };
        let worker = Worker::start(runner.clone(), bus.clone(), bus.clone(), config).await;
        let worker = worker.expect("a node");
        let known = self.gateway.nodes();
        worker.tick().await;
        self.nodes.push(Node { worker, bus, runner, held });
        until(|| self.gateway.nodes() > known).await;
    }

    /// Another gateway with the same key.
    async fn another(&self) -> Gateway<LocalBus> {
        let bus = self.bus.connect("_INBOX_g.two");
        gateway(&bus, &self.clock, 8, &self.key).await
    }

    async fn open(&self) -> Remote {
        self.gateway.session_with(Opening::default(), "acme").await.expect("a session")
    }

    /// The node that has the only session.
    fn with_session(&self) -> usize {
        self.nodes.iter().position(|node| node.held.count() > 0).expect("a node has it")
    }

    /// Lets time pass in small steps, in which everybody does what is due.
    async fn pass(&self, time: Duration) {
        let step = Duration::from_millis(50);
        let mut left = time;
        while !left.is_zero() {
            left = left.saturating_sub(step);
            self.clock.pass(step);
            for node in &self.nodes {
                node.worker.tick().await;
            }
            settle().await;
            self.gateway.tick().await;
            settle().await;
        }
    }
}

async fn gateway(
    bus: &LocalBus,
    clock: &Clock,
    number: u64,
    key: &SessionKey,
) -> Gateway<LocalBus> {
    let (clock, session_key) = (clock.clone(), Some(key.clone()));
    let config = GatewayConfig { clock, session_key, ..GatewayConfig::new(Start(number)) };
    Gateway::start(bus.clone(), config).await.expect("a gateway")
}

async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// Waits until something is so. All of it runs on one thread, so others get on meanwhile.
async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
}

/// Runs code, and gives all that was run in the session.
async fn codes(session: &Remote, code: &str) -> Result<String, RunError> {
    let piece = Piece { code: code.into(), ..Piece::default() };
    let reply = session.run_with(piece, RunOptions::default()).await?;
    Ok(reply.note.expect("a note"))
}

fn is_lost<T>(ended: &Result<T, RunError>) -> bool {
    matches!(ended, Err(RunError::Fleet(FleetError::SessionLost)))
}

#[tokio::test]
async fn a_session_on_a_node_does_what_one_here_does() {
    let world = World::new(2).await;
    let session = world.open().await;
    assert_eq!(codes(&session, "1").await.expect("a reply"), "1");
    session.checkpoint("one").await.expect("kept");
    let branch = session.branch().await.expect("a branch");
    assert_eq!(codes(&branch, "2").await.expect("a reply"), "1 2");
    assert_eq!(codes(&session, "3").await.expect("a reply"), "1 3");
    session.rollback("one").await.expect("gone back");
    assert_eq!(codes(&session, "4").await.expect("a reply"), "1 4");
    assert_eq!(session.checkpoints().await.expect("names"), ["one"]);
    let unknown = session.rollback("two").await;
    let is_none = |name: &str| name == "two";
    assert!(matches!(
        unknown,
        Err(RunError::Request(RequestError::NoCheckpoint { name })) if is_none(&name)
    ));
    assert_eq!(session.variables().await.expect("variables").variables.len(), 2);
    let (chunks, mut printed) = mpsc::channel(4);
    let (begun, told) = oneshot::channel();
    let options = RunOptions { chunks: Some(chunks), begun: Some(begun), ..RunOptions::default() };
    let piece = Piece { code: "talk".into(), ..Piece::default() };
    session.run_with(piece, options).await.expect("a reply");
    told.await.expect("it began");
    let chunk = printed.recv().await.expect("output");
    assert_eq!((chunk.stream, &chunk.bytes[..]), (Stream::Stdout, &b"said\n"[..]));
    session.close().await;
    let over = codes(&session, "5").await;
    assert!(matches!(over, Err(RunError::Request(RequestError::SessionOver { .. }))), "{over:?}");
    branch.close().await;
    assert!(world.nodes.iter().all(|node| node.held.count() == 0));
}

#[tokio::test]
async fn any_gateway_with_the_key_finds_a_session_and_its_tenant_alone() {
    let world = World::new(2).await;
    let session = world.open().await;
    codes(&session, "1").await.expect("a reply");
    let id = SessionHandle::id(&session).expect("an id").to_owned();
    let other = world.another().await;
    let found = other.attach("acme", &id).await.expect("an answer").expect("the session");
    assert_eq!(codes(&found, "2").await.expect("a reply"), "1 2");
    assert!(other.attach("other", &id).await.expect("an answer").is_none());
    let bus = world.bus.connect("_INBOX_g.three");
    let key = SessionKey::random("cell").expect("a key");
    let stranger = gateway(&bus, &world.clock, 9, &key).await;
    assert!(stranger.attach("acme", &id).await.expect("an answer").is_none());
    // The gateway that opened it goes away, and the session does not.
    session.leave().await;
    drop(session);
    drop(world.gateway);
    assert_eq!(codes(&found, "3").await.expect("a reply"), "1 2 3");
    found.close().await;
    let over = other.attach("acme", &id).await.err();
    assert!(matches!(over, Some(RunError::Request(RequestError::SessionOver { .. }))), "{over:?}");
}

#[tokio::test]
async fn sessions_are_lost_with_their_node_and_with_its_start_and_nothing_is_run_again() {
    let mut world = World::new(1).await;
    let mut sessions = Vec::new();
    for _ in 0..20 {
        sessions.push(world.open().await);
    }
    let id = SessionHandle::id(&sessions[0]).expect("an id").to_owned();
    let node = world.nodes.remove(0);
    let seen = node.runner.seen.clone();
    node.kill();
    // No time passes: the broker says that nobody is there.
    for session in &sessions {
        assert!(is_lost(&codes(session, "1").await));
        assert!(is_lost(&session.branch().await) && is_lost(&session.check()));
    }
    world.join(0, 200, 64).await;
    for session in &sessions {
        assert!(is_lost(&codes(session, "1").await), "the node is there again, the session not");
    }
    assert!(is_lost(&world.another().await.attach("acme", &id).await));
    assert_eq!(seen.begun.load(Ordering::SeqCst), 0);
    assert_eq!(world.nodes[0].held.count(), 0);
}

#[tokio::test]
async fn a_run_whose_node_dies_under_it_says_that_the_session_is_lost() {
    let mut world = World::new(2).await;
    let session = Arc::new(world.open().await);
    let place = world.with_session();
    let running = session.clone();
    let run = tokio::spawn(async move { codes(&running, "hold").await });
    let seen = world.nodes[place].runner.seen.clone();
    until(|| seen.begun.load(Ordering::SeqCst) == 1).await;
    world.nodes.remove(place).kill();
    world.pass(Duration::from_millis(250)).await;
    assert!(is_lost(&run.await.expect("no panic")));
    let others = world.nodes.iter().map(|node| node.runner.seen.begun.load(Ordering::SeqCst));
    assert_eq!(others.sum::<usize>(), 0, "it was run again");
}

#[tokio::test]
async fn a_node_that_is_cut_off_keeps_its_session() {
    let world = World::new(1).await;
    let session = Arc::new(world.open().await);
    world.nodes[0].bus.cut();
    let running = session.clone();
    let run = tokio::spawn(async move { codes(&running, "1").await });
    settle().await;
    world.pass(Duration::from_secs(3)).await;
    let lost = run.await.expect("no panic");
    assert!(matches!(lost, Err(RunError::Fleet(FleetError::WorkerLost))), "{lost:?}");
    world.nodes[0].bus.mend();
    world.pass(Duration::from_millis(500)).await;
    assert_eq!(codes(&session, "2").await.expect("it is there"), "2", "the first never came");
}

#[tokio::test]
async fn what_is_lost_on_the_way_is_asked_for_again_and_done_once() {
    let world = World::new(1).await;
    let session = Arc::new(world.open().await);
    // The first ask, and then the first answer.
    for is_ask in [true, false] {
        let lost = AtomicUsize::new(0);
        let asks = Address { node: 0, incarnation: 100 }.subject(Verb::Session);
        world.bus.set_fault(move |message| {
            let is_it = message.subject.starts_with("_INBOX_g") && !message.no_responders;
            let is_it = if is_ask { message.subject == asks } else { is_it };
            if is_it && lost.fetch_add(1, Ordering::SeqCst) == 0 {
                Fate::Lost
            } else {
                Fate::Arrive
            }
        });
        let running = session.clone();
        let run = tokio::spawn(async move { codes(&running, "1").await });
        settle().await;
        world.pass(Duration::from_millis(500)).await;
        run.await.expect("no panic").expect("a reply");
    }
    assert_eq!(world.nodes[0].runner.seen.begun.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_session_is_opened_where_there_is_room_and_not_on_a_node_that_leaves() {
    let mut world = World::new(0).await;
    world.join(0, 100, 1).await;
    world.join(1, 101, 64).await;
    let mut sessions = Vec::new();
    for _ in 0..8 {
        sessions.push(world.open().await);
        world.pass(Duration::from_millis(50)).await;
    }
    assert!(world.nodes[0].held.count() <= 1);
    assert_eq!(world.nodes[0].held.count() + world.nodes[1].held.count(), 8);
    // A node that is about to leave: it opens nothing, and what is open goes on.
    world.nodes[1].held.drain();
    let at_node = |session: &&Remote| {
        let id = SessionHandle::id(*session).expect("an id").to_owned();
        world.key.check(&id, "acme").is_some_and(|id| id.address.node == 1)
    };
    let stays = sessions.iter().find(at_node).expect("one of them is there");
    let branch = stays.branch().await.err();
    assert!(matches!(branch, Some(RunError::Fleet(FleetError::Drained))), "{branch:?}");
    assert_eq!(codes(stays, "1").await.expect("a reply"), "1");
    let full = world.gateway.session_with(Opening::default(), "acme");
    let opened = tokio::select! {
        opened = full => opened.err(),
        () = async { loop { world.pass(Duration::from_millis(500)).await } } => None,
    };
    assert!(matches!(opened, Some(RunError::Fleet(FleetError::Full { .. }))), "{opened:?}");
    world.nodes[1].worker.drain().await;
    assert_eq!(world.nodes[1].held.count(), 0, "its time is over");
    let over = codes(stays, "2").await;
    assert!(matches!(over, Err(RunError::Request(RequestError::SessionOver { .. }))), "{over:?}");
}

#[tokio::test]
async fn a_session_that_nobody_waits_for_is_closed_on_its_node() {
    let world = World::new(1).await;
    let opening: Opening = serde_json::from_str(r#"{"inputs": {"slow": 1}}"#).expect("an opening");
    let waits = world.gateway.session_with(opening, "acme");
    let held = world.nodes[0].held.clone();
    tokio::select! {
        _ = waits => panic!("it is held up"),
        () = until(|| held.count() == 1) => {}
    }
    until(|| held.count() == 0).await;
}

#[tokio::test]
async fn the_runs_of_a_gateway_that_is_gone_end_and_their_session_does_not() {
    let world = World::new(1).await;
    let session = world.open().await;
    let id = SessionHandle::id(&session).expect("an id").to_owned();
    let seen = world.nodes[0].runner.seen.clone();
    let (another, gone) = (world.another().await, world.bus.connect("_INBOX_g.four"));
    let dying = gateway(&gone, &world.clock, 11, &world.key).await;
    let own = dying.attach("acme", &id).await.expect("an answer").expect("the session");
    let run = tokio::spawn(async move { codes(&own, "hold").await });
    until(|| seen.begun.load(Ordering::SeqCst) == 1).await;
    gone.end();
    run.abort();
    world.pass(Duration::from_secs(4)).await;
    let found = another.attach("acme", &id).await.expect("an answer").expect("the session");
    assert_eq!(codes(&found, "1").await.expect("a reply"), "1");
}

#[tokio::test]
async fn a_gateway_without_a_broker_does_not_call_a_session_lost() {
    let world = World::new(1).await;
    let session = Arc::new(world.open().await);
    let id = SessionHandle::id(&*session).expect("an id").to_owned();
    world.bus.cut();
    world.nodes[0].bus.cut();
    world.pass(Duration::from_millis(50)).await;
    let running = session.clone();
    let run = tokio::spawn(async move { codes(&running, "1").await });
    settle().await;
    world.pass(Duration::from_secs(9)).await;
    assert!(!run.is_finished(), "there may be one in a moment");
    world.pass(Duration::from_millis(1500)).await;
    let away = run.await.expect("no panic");
    assert!(matches!(away, Err(RunError::Fleet(FleetError::Unreachable { .. }))), "{away:?}");
    // The gateway has its broker again before the node has.
    let asks = Address { node: 0, incarnation: 100 }.subject(Verb::Session);
    world.bus.mend();
    world.bus.hide(&asks);
    world.pass(Duration::from_millis(50)).await;
    let attached = world.gateway.attach("acme", &id);
    let back = async {
        world.pass(Duration::from_millis(1000)).await;
        world.bus.show();
        world.nodes[0].bus.mend();
        world.pass(Duration::from_millis(1000)).await;
        std::future::pending().await
    };
    tokio::select! {
        found = attached => assert!(found.expect("an answer").is_some()),
        () = back => {}
    }
    assert_eq!(codes(&session, "2").await.expect("it is there"), "2", "the first was never sent");
}

#[tokio::test]
async fn what_runs_in_a_session_may_be_larger_than_a_message() {
    let world = World::new(1).await;
    let (session, large) = (world.open().await, "x".repeat(3 << 20));
    assert_eq!(codes(&session, &large).await.expect("a reply"), large);
}
