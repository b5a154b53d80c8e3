//! A gateway: a runner whose jobs run on other nodes.
//!
//! To whoever hands it a job it is a runner like the engine. It chooses a node, takes a refusal for an answer and tries
//! another, notices when a node falls silent, and runs again what may be run again. Everything that gateways know they
//! know from heartbeats and replies; they agree on nothing, so any number of them can work side by side.

mod answers;
mod attempt;
mod caller;
mod greed;
mod held;
mod link;
mod news;
mod pending;
mod place;
mod run;
mod sending;
mod session;
mod shared;
mod signer;
mod signing;
mod under_way;
mod wheel;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use carboy_engine::{Load, RunError, RunOptions, Runner, Sessions};
use carboy_protocol::{Job, Opening, Outcome};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::budget::Budget;
use crate::bus::{Bus, BusError, Message, Subscription};
use crate::files::{SIGN, SIGNERS, sign_at};
use crate::message::{Event, GatewayBeat, NodeBeat, PROBE, Say, VERSION, read, written};
use crate::name::{GATEWAYS, HEARTBEATS, Start, Verb};
use crate::nodes::{Address, Nodes};
use crate::room::Room;
use link::Link;
pub use session::RemoteSession;
pub use shared::GatewayConfig;
use shared::{Count, Shared, State, Waiter};
pub use signing::FilesConfig;
use signing::Signing;
use wheel::Wheel;

/// How often what is due is looked for.
const TICK: Duration = Duration::from_millis(20);

/// How often a gateway says that it is there.
const BEAT: Duration = Duration::from_millis(500);

/// A gateway that did nothing for as long did not hear either.
const DEAF: Duration = Duration::from_millis(400);

/// A node that was silent for as long is forgotten.
const FORGET: Duration = Duration::from_secs(60);

/// A runner whose jobs run on other nodes.
pub struct Gateway<B: Bus> {
    shared: Arc<Shared<B>>,
    /// They end with it.
    _tasks: JoinSet<()>,
}

impl<B: Bus> Gateway<B> {
    /// Listens to nodes. It knows some of them as soon as their heartbeats come.
    pub async fn start(bus: B, config: GatewayConfig) -> Result<Gateway<B>, BusError> {
        let replies = bus.subscribe(format!("{}.>", bus.inbox())).await?;
        let beats = bus.subscribe(HEARTBEATS.into()).await?;
        bus.flush().await?;
        let (dropped, mut to_end) = mpsc::unbounded_channel::<(Address, Say)>();
        let state = State {
            nodes: Nodes::new(config.name.0),
            room: Room::new(config.room),
            budget: Budget::new(),
            runs: HashMap::new(),
            held: Arc::default(),
            held_most: config.held_bytes,
            wheel: Wheel::default(),
            link: Link::new(config.clock.now(), bus.connects()),
            ticked: config.clock.now(),
            beaten: None,
            is_closed: false,
        };
        let count = Count::default();
        let signing = config.files.clone().map(Signing::new);
        let state = Mutex::new(state);
        let shared = Arc::new(Shared { bus, config, state, dropped, count, signing });
        let mut tasks = JoinSet::new();
        tasks.spawn(each(shared.clone(), replies, Shared::replied));
        tasks.spawn(each(shared.clone(), beats, Shared::heard));
        if shared.signing.is_some() {
            let own = shared.bus.subscribe(sign_at(&shared.config.name.to_string())).await?;
            let any = shared.bus.subscribe_in(SIGN.into(), SIGNERS).await?;
            let gateways = shared.bus.subscribe(GATEWAYS.into()).await?;
            tasks.spawn(each(shared.clone(), gateways, Shared::heard_gateway));
            for mut asked in [own, any] {
                let shared = shared.clone();
                tasks.spawn(async move {
                    while let Some(message) = asked.next().await {
                        shared.clone().asked_to_sign(message);
                    }
                });
            }
            shared.bus.flush().await?;
        }
        let ending = shared.bus.clone();
        tasks.spawn(async move {
            while let Some((address, say)) = to_end.recv().await {
                let say = written(&say, &[]);
                // If it is lost, the node ends it when it should have ended by itself.
                ending.publish(address.subject(Verb::Say), None, say).await.ok();
            }
        });
        if !shared.config.clock.is_manual() {
            let shared = shared.clone();
            tasks.spawn(async move {
                let mut time = tokio::time::interval(TICK);
                time.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
                loop {
                    time.tick().await;
                    shared.tick().await;
                }
            });
        }
        Ok(Gateway { shared, _tasks: tasks })
    }

    /// Does what is due. For a clock that stands still; otherwise it is done by itself.
    pub async fn tick(&self) {
        self.shared.tick().await;
    }

    /// Nodes that are heard of.
    pub fn nodes(&self) -> usize {
        self.shared.state().nodes.alive(self.shared.config.clock.now())
    }

    /// How it is, as its heartbeats say it.
    pub fn beat(&self) -> GatewayBeat {
        self.shared.beat()
    }
}

/// Does something with each message, one after the other.
async fn each<B: Bus>(
    shared: Arc<Shared<B>>,
    mut messages: Subscription,
    what: fn(&Shared<B>, Message),
) {
    while let Some(message) = messages.next().await {
        what(&shared, message);
    }
}

impl<B: Bus> Shared<B> {
    /// A node said how it is.
    fn heard(&self, message: Message) {
        let Ok((beat, _)) = read::<NodeBeat>(&message.payload) else { return };
        if beat.v == VERSION && beat.address.speaks_under(&message.subject) {
            let now = self.config.clock.now();
            let mut state = self.state();
            state.link.heard(now);
            state.nodes.heard(beat.address, beat.hint, now);
            state.serve_room(now);
        }
    }

    /// Somebody replied to what a run asked.
    fn replied(&self, message: Message) {
        let place = message.subject.strip_prefix(self.bus.inbox());
        let Some(place) = place.and_then(|place| place.strip_prefix('.')) else { return };
        let (token, is_probe) = match place.strip_suffix(PROBE) {
            Some(token) => (token, true),
            None => (place, false),
        };
        let Ok(Start(token)) = token.parse() else { return };
        let now = self.config.clock.now();
        if message.no_responders {
            let mut state = self.state();
            state.link.heard(now);
            return state.nobody(token, is_probe, now);
        }
        // What cannot be read is as if it were lost.
        let Ok((event, body)) = read::<Event>(&message.payload) else { return };
        let mut state = self.state();
        state.link.heard(now);
        state.told(token, event, body, now);
        state.serve_room(now);
    }

    async fn tick(&self) {
        let now = self.config.clock.now();
        let (is_connected, connects) = (self.bus.is_connected(), self.bus.connects());
        let (beat, is_deserted) = {
            let mut state = self.state();
            if now.saturating_sub(state.ticked) >= DEAF {
                state.link.stood_still(now);
            }
            state.ticked = now;
            if state.link.look(now, is_connected, connects) {
                state.ask_all(now);
            }
            state.turn(now);
            // Who waits is told by its channel being dropped.
            drop(state.room.expire(now, Waiter::is_closed));
            state.nodes.forget_silent(FORGET, now);
            let is_due = state.beaten.is_none_or(|at| now.saturating_sub(at) >= BEAT);
            if is_due {
                state.beaten = Some(now);
            }
            (is_due && is_connected, state.is_deserted(now))
        };
        if is_deserted {
            self.bus.renew().await;
        }
        if beat {
            let beat = written(&self.beat(), &[]);
            self.bus.publish(GATEWAYS.into(), None, beat).await.ok();
        }
    }
}

impl<B: Bus> Sessions for Gateway<B> {
    type Session = RemoteSession<B>;

    async fn session_with(
        &self,
        opening: Opening,
        tenant: &str,
    ) -> Result<RemoteSession<B>, RunError> {
        RemoteSession::open(&self.shared, opening, tenant).await
    }

    async fn attach(&self, tenant: &str, id: &str) -> Result<Option<RemoteSession<B>>, RunError> {
        RemoteSession::attach(&self.shared, tenant, id).await
    }
}

impl<B: Bus> Runner for Gateway<B> {
    async fn run_with(&self, job: Job, options: RunOptions) -> Result<Outcome, RunError> {
        self.shared.run(job, options).await
    }

    async fn shutdown(&self) {
        let mut state = self.shared.state();
        state.is_closed = true;
        // Whoever waits or listens is told by its channel being dropped.
        state.runs.clear();
        state.room = Room::new(self.shared.config.room);
    }

    fn load(&self) -> Option<Load> {
        let state = self.shared.state();
        Some(Load { running: state.runs.len(), waiting: state.room.len(), ..Load::default() })
    }

    fn unready(&self) -> Option<&'static str> {
        if !self.shared.bus.is_connected() {
            return Some("no broker can be reached");
        }
        (self.nodes() == 0).then_some("no node is heard of")
    }
}
