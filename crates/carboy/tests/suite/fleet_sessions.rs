//! Sessions on a node of a fleet, with real jars. The bus is inside the test and its clock stands still, so nothing is
//! late on a slow machine; the tests of `carboy-fleet` have everything that can be lost on the way.

use std::sync::Arc;
use std::time::Duration;

use carboy_engine::{FleetError, RequestError, RunError, RunOptions, SessionHandle, Sessions};
use carboy_fleet::name::Start;
use carboy_fleet::{
    Address, Clock, Gateway, GatewayConfig, HeldSessions, HoldsSessions, LocalBus, MOST_SESSIONS,
    RemoteSession, SessionKey, Worker, WorkerConfig,
};
use carboy_protocol::{Opening, Piece, StateAfter, Walls};

use crate::sessions::small;
use crate::support::*;

type Remote = RemoteSession<LocalBus>;

/// A node with a real engine, and two gateways with the same key.
struct Fleet {
    bench: Bench,
    held: Arc<HeldSessions<carboy_engine::Engine>>,
    worker: Worker<carboy_engine::Engine, LocalBus>,
    bus: LocalBus,
    gateways: [Gateway<LocalBus>; 2],
}

impl Fleet {
    /// Or a reason to skip: in nested walls there are no sessions.
    async fn new() -> Option<Fleet> {
        if walls() == Walls::Nested {
            skip("in nested walls there are no sessions");
            return None;
        }
        let (bench, clock) = (Bench::new(), Clock::manual());
        let key = SessionKey::random("test").unwrap();
        let first = LocalBus::new("_INBOX_g.one");
        let gateway = async |bus: LocalBus, number| {
            let (clock, session_key) = (clock.clone(), Some(key.clone()));
            let config = GatewayConfig { clock, session_key, ..GatewayConfig::new(Start(number)) };
            Gateway::start(bus, config).await.unwrap()
        };
        let gateways =
            [gateway(first.clone(), 1).await, gateway(first.connect("_INBOX_g.two"), 2).await];
        let held = HeldSessions::new(bench.engine.clone(), MOST_SESSIONS);
        let config = WorkerConfig {
            address: Address { node: 1, incarnation: 2 },
            slots: 8,
            version: String::new(),
            clock: clock.clone(),
            sessions: Some(held.clone()),
            files: None,
            session_drain: Duration::ZERO,
        };
        let bus = first.connect("_INBOX_w.1");
        let worker =
            Worker::start(bench.engine.clone(), bus.clone(), bus.clone(), config).await.unwrap();
        worker.tick().await;
        while gateways.iter().any(|gateway| gateway.nodes() == 0) {
            tokio::task::yield_now().await;
        }
        Some(Fleet { bench, held, worker, bus, gateways })
    }

    async fn open(&self) -> Remote {
        let opening = Opening::under(small(|_| {}));
        self.gateways[0].session_with(opening, "acme").await.unwrap()
    }

    /// Ends everything, and shows that nothing is left.
    async fn close(self) {
        self.held.close_all().await;
        drop((self.worker, self.held, self.gateways));
        self.bench.close().await;
    }
}

async fn value(session: &Remote, code: &str) -> Result<String, RunError> {
    let piece = Piece { code: code.into(), ..Piece::default() };
    let reply = session.run_with(piece, RunOptions::default()).await?;
    assert_eq!(reply.state, StateAfter::Kept, "{reply:#?}");
    Ok(result(&reply.outcome))
}

fn is_lost<T>(ended: &Result<T, RunError>) -> bool {
    matches!(ended, Err(RunError::Fleet(FleetError::SessionLost)))
}

#[tokio::test]
async fn a_session_on_a_node_keeps_its_state_for_every_gateway() {
    let Some(fleet) = Fleet::new().await else { return };
    let session = fleet.open().await;
    assert_eq!(value(&session, "x = 20\nx").await.unwrap(), "20");
    session.checkpoint("twenty").await.unwrap();
    let branch = session.branch().await.unwrap();
    let id = session.id().unwrap().to_owned();
    let other = fleet.gateways[1].attach("acme", &id).await.unwrap().unwrap();
    assert_eq!(value(&other, "x += 1\nx").await.unwrap(), "21");
    assert_eq!(value(&branch, "x").await.unwrap(), "20", "a branch goes its own way");
    other.rollback("twenty").await.unwrap();
    assert_eq!(value(&session, "x").await.unwrap(), "20");
    let names = session.variables().await.unwrap().variables;
    assert!(names.iter().any(|variable| variable.name == "x"), "{names:?}");
    let unknown = session.rollback("none").await;
    assert!(matches!(unknown, Err(RunError::Request(RequestError::NoCheckpoint { .. }))));
    assert!(fleet.gateways[1].attach("other", &id).await.unwrap().is_none());
    // What was opened first takes its branches along, and both gateways hear of it.
    session.close().await;
    for gone in [&other, &branch] {
        let over = value(gone, "x").await;
        assert!(
            matches!(over, Err(RunError::Request(RequestError::SessionOver { .. }))),
            "{over:?}"
        );
    }
    assert_eq!(fleet.held.count(), 0);
    fleet.close().await;
}

#[tokio::test]
async fn sessions_are_lost_with_their_node() {
    let Some(fleet) = Fleet::new().await else { return };
    let sessions = [fleet.open().await, fleet.open().await, fleet.open().await];
    for session in &sessions {
        assert_eq!(value(session, "x = 1\nx").await.unwrap(), "1");
    }
    let id = sessions[0].id().unwrap().to_owned();
    fleet.bus.end();
    for session in &sessions {
        assert!(is_lost(&value(session, "x").await));
    }
    assert!(is_lost(&fleet.gateways[1].attach("acme", &id).await));
    fleet.close().await;
}

#[tokio::test]
async fn a_node_that_leaves_makes_no_branch_and_lets_runs_end() {
    let Some(fleet) = Fleet::new().await else { return };
    let session = fleet.open().await;
    assert_eq!(value(&session, "x = 1\nx").await.unwrap(), "1");
    let mut branches = Vec::new();
    for _ in 0..4 {
        branches.push(session.branch().await.unwrap());
    }
    fleet.held.drain();
    let refused = session.branch().await.err();
    assert!(matches!(refused, Some(RunError::Fleet(FleetError::Drained))), "{refused:?}");
    for (number, branch) in branches.iter().enumerate() {
        let code = format!("x += {number}\nx");
        assert_eq!(value(branch, &code).await.unwrap(), (number + 1).to_string());
    }
    fleet.worker.drain().await;
    assert_eq!(fleet.held.count(), 0);
    let over = value(&branches[0], "x").await;
    assert!(matches!(over, Err(RunError::Request(RequestError::SessionOver { .. }))), "{over:?}");
    fleet.close().await;
}
