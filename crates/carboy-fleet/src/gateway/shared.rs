//! What the tasks and the runs of a gateway share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::link::Link;
use super::signing::{FilesConfig, Signing};
use super::under_way::UnderWay;
use super::wheel::Wheel;
use crate::budget::Budget;
use crate::clock::Clock;
use crate::message::{GatewayBeat, Say, VERSION};
use crate::name::Start;
use crate::nodes::{Address, Nodes};
use crate::room::{Room, RoomBounds};
use crate::session::SessionKey;

/// What is held at most of all runs together, in bytes: eight of the longest answers.
const HELD: usize = 512 << 20;

/// Who waits for a node is told which one it is.
pub(super) type Waiter = oneshot::Sender<Address>;

/// What a gateway is.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// Its name: a new one at each start.
    pub name: Start,
    /// How many may wait for a node with a place.
    pub room: RoomBounds,
    /// The version of carboy.
    pub version: String,
    /// The time.
    pub clock: Clock,
    /// What ids of sessions are signed with. Without it there are none.
    pub session_key: Option<SessionKey>,
    /// Bytes of what nodes sent that are held at most, of all runs together.
    pub held_bytes: usize,
    /// Where files go that runs leave. Without it they are listed alone. It needs the key of sessions too.
    pub files: Option<FilesConfig>,
}

impl GatewayConfig {
    /// The usual one.
    pub fn new(name: Start) -> GatewayConfig {
        let room = RoomBounds { all: 10_000, each: 1_000 };
        let (version, clock) = (String::new(), Clock::new());
        let (session_key, files) = (None, None);
        GatewayConfig { name, room, version, clock, session_key, held_bytes: HELD, files }
    }
}

/// What its tasks and runs share.
pub(super) struct Shared<B> {
    pub bus: B,
    pub config: GatewayConfig,
    pub state: Mutex<State>,
    /// Runs that nobody waits for any more, to be ended where they run.
    pub dropped: mpsc::UnboundedSender<(Address, Say)>,
    pub count: Count,
    pub signing: Option<Signing>,
}

pub(super) struct State {
    pub nodes: Nodes,
    pub room: Room<Waiter>,
    pub budget: Budget,
    pub runs: HashMap<u64, UnderWay>,
    /// Bytes that are held of all runs.
    pub held: Arc<AtomicUsize>,
    pub held_most: usize,
    pub wheel: Wheel,
    pub link: Link,
    pub ticked: Duration,
    pub beaten: Option<Duration>,
    pub is_closed: bool,
}

#[derive(Default)]
pub(super) struct Count {
    pub ended: AtomicU64,
    pub refused: AtomicU64,
    pub busy: AtomicU64,
    pub again: AtomicU64,
    pub lost: AtomicU64,
}

pub(super) fn one_more(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

impl<B> Shared<B> {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How it is.
    pub fn beat(&self) -> GatewayBeat {
        let now = self.config.clock.now();
        let state = self.state();
        let told = |count: &AtomicU64| count.load(Ordering::Relaxed);
        GatewayBeat {
            v: VERSION,
            gateway: self.config.name.to_string(),
            version: self.config.version.clone(),
            running: state.runs.len() as u64,
            waiting: state.room.len() as u64,
            nodes: state.nodes.usable(now) as u64,
            ended: told(&self.count.ended),
            refused: told(&self.count.refused),
            busy: told(&self.count.busy),
            again: told(&self.count.again),
            lost: told(&self.count.lost),
        }
    }
}
