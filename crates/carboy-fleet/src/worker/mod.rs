//! A node: runs what gateways ask for, with a runner of this process.
//!
//! It keeps no queue. With a place free it runs at once, otherwise it refuses at once, and the gateway tries another node: a
//! short run never waits behind a long one that happens to be here. Whatever it is asked twice it runs once.

mod beat;
mod files;
mod gather;
mod job;
mod kept;
mod node;
mod spool;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use carboy_engine::{Answer, Load, Runner};
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::bus::{Bus, BusError, Message, Subscription};
use crate::message::{Event, PieceOf, RunAsk, Said, Say, StatusAsk, VERSION, What, read, written};
use crate::name::{GATEWAYS, Verb};
use crate::nodes::Hint;
use kept::Kept;
use node::Node;
pub use node::WorkerConfig;
pub use spool::Spool;

/// How often a node says how it is.
const BEAT: Duration = Duration::from_millis(250);

/// How long a node that leaves waits for gateways to take what its last runs said.
const LINGER: Duration = Duration::from_secs(5);

/// How often it looks whether they did.
const LOOK: Duration = Duration::from_millis(20);

/// A node that takes runs until it is dropped.
pub struct Worker<R: Runner, B: Bus> {
    node: Arc<Node<R, B>>,
    /// They end with it.
    _tasks: JoinSet<()>,
}

impl<R: Runner, B: Bus> Worker<R, B> {
    /// Listens, and then tells gateways that it is there.
    pub async fn start(
        runner: Arc<R>,
        bus: B,
        beats: B,
        config: WorkerConfig,
    ) -> Result<Worker<R, B>, BusError> {
        let address = config.address;
        let [runs, statuses, says, sessions] =
            [Verb::Run, Verb::Status, Verb::Say, Verb::Session].map(|verb| address.subject(verb));
        let runs = bus.subscribe(runs).await?;
        let statuses = bus.subscribe(statuses).await?;
        let says = bus.subscribe(says).await?;
        let sessions = match &config.sessions {
            Some(_) => Some(bus.subscribe(sessions).await?),
            None => None,
        };
        let gateways = beats.subscribe(GATEWAYS.into()).await?;
        bus.flush().await?;
        beats.flush().await?;
        let is_manual = config.clock.is_manual();
        let node = Arc::new(Node {
            runner,
            bus,
            beats,
            config,
            draining: AtomicBool::new(false),
            running: Mutex::default(),
            left: Notify::new(),
            table: Mutex::default(),
            ended: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        });
        let mut tasks = JoinSet::new();
        let (asked, probed, told, beaten) =
            (node.clone(), node.clone(), node.clone(), node.clone());
        tasks.spawn(each(runs, move |message| asked.clone().asked(message)));
        if let Some(asks) = sessions {
            let asked = node.clone();
            tasks.spawn(each(asks, move |message| asked.clone().asked(message)));
        }
        tasks.spawn(each(statuses, move |message| probed.clone().status(message)));
        tasks.spawn(each(says, move |message| told.clone().said(message)));
        tasks.spawn(each(gateways, move |message| beaten.clone().heard(message)));
        if !is_manual {
            let node = node.clone();
            tasks.spawn(async move {
                let mut time = tokio::time::interval(BEAT);
                time.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
                loop {
                    time.tick().await;
                    node.tick().await;
                }
            });
        }
        Ok(Worker { node, _tasks: tasks })
    }

    /// Says how it is, ends runs of gateways that are gone, and forgets. For a clock that stands still; otherwise it is done
    /// by itself.
    pub async fn tick(&self) {
        self.node.tick().await;
    }

    /// Takes nothing new, says so, and waits until what runs here has ended and gateways know how.
    pub async fn drain(&self) {
        {
            // Whoever takes a place looks at this with the same lock.
            let _running = self.node.running();
            self.node.draining.store(true, Ordering::SeqCst);
        }
        if let Some(sessions) = &self.node.config.sessions {
            sessions.drain();
        }
        loop {
            self.node.beat().await;
            let left = self.node.left.notified();
            if self.node.running().unsaid == 0 {
                break;
            }
            left.await;
        }
        if let Some(sessions) = &self.node.config.sessions {
            let until = Instant::now() + self.node.config.session_drain;
            while sessions.count() > 0 && Instant::now() < until {
                tokio::time::sleep(BEAT).await;
                sessions.sweep();
                self.node.beat().await;
            }
            sessions.close_all().await;
        }
        if let Some(files) = &self.node.config.files {
            files.emptied().await;
        }
        // What they said is on its way. A message can be lost, and then it is asked for.
        self.node.bus.flush().await.ok();
        let until = Instant::now() + LINGER;
        let is_awaited = || self.node.table().runs.values().any(|kept| kept.is_awaited());
        while is_awaited() && Instant::now() < until {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// How it is.
    pub fn hint(&self) -> Hint {
        self.node.hint()
    }
}

/// Does something with each message, one after the other.
async fn each<T: Future<Output = ()>>(mut messages: Subscription, what: impl Fn(Message) -> T) {
    while let Some(message) = messages.next().await {
        what(message).await;
    }
}

impl<R: Runner, B: Bus> Node<R, B> {
    /// A gateway wants a run.
    async fn asked(self: Arc<Self>, message: Message) {
        let Some(reply) = message.reply else {
            if let Ok((PieceOf { run, number }, piece)) = read(&message.payload) {
                let now = self.config.clock.now();
                self.table().gather.piece(&run, number, &piece, now);
            }
            return;
        };
        let Ok((mut ask, mut body)) = read::<RunAsk>(&message.payload) else {
            return self.answer(reply, String::new(), What::Misunderstood { v: VERSION }).await;
        };
        let known = self.table().runs.get(&ask.run).cloned();
        if let Some(known) = known {
            return self.say_again(&known, ask.gateway, reply, 0).await;
        }
        if ask.v != VERSION {
            return self.answer(reply, ask.run, What::Misunderstood { v: VERSION }).await;
        }
        if ask.pieces > 0 {
            match self.table().gather.whole(&ask.run, ask.pieces, &body) {
                Some(whole) => body = whole,
                // Who waits for it asks how it stands, and sends it again.
                None => return,
            }
        }
        let session = ask.session.take();
        // A session has its place already.
        if session.is_none() && !self.take_place(ask.memory_bytes) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return self.answer(reply, ask.run, What::Busy {}).await;
        }
        let now = self.config.clock.now();
        let kept = Arc::new(Kept::new(ask.run.clone(), ask.gateway.clone(), reply, now));
        let mut table = self.table();
        table.gateways.insert(ask.gateway.clone(), now);
        table.runs.insert(ask.run.clone(), kept.clone());
        drop(table);
        match (session, self.config.sessions.clone()) {
            (None, _) => drop(tokio::spawn(job::run(self, kept, ask, body))),
            (Some(of), Some(held)) => {
                let spool = self.config.files.as_ref();
                let (options, heard) = job::options(&kept, &ask, spool);
                // Here, and not in a task: so the order is that in which it came.
                let doing = held.ask(&ask.tenant, of, body, options);
                tokio::spawn(job::of_session(self, kept, heard, doing));
            }
            // Nobody listens where it could have come from.
            (Some(_), None) => {}
        }
    }

    async fn answer(&self, reply: String, run: String, what: What) {
        let event = Event { run, hint: self.hint(), answers: 0, what };
        self.send(reply, written(&event, &[])).await;
    }

    /// Whether there is a place for a run; then it is taken.
    fn take_place(&self, memory_bytes: u64) -> bool {
        let mut running = self.running();
        if self.draining.load(Ordering::SeqCst) || running.places >= self.config.slots {
            return false;
        }
        // Alone it is told by the runner itself that it can never fit.
        if running.places > 0 && !fits(self.runner.load(), memory_bytes) {
            return false;
        }
        running.places += 1;
        running.unsaid += 1;
        true
    }

    /// A gateway wants to know how a run stands.
    async fn status(self: Arc<Self>, message: Message) {
        let (Some(reply), Ok((ask, _))) = (message.reply, read::<StatusAsk>(&message.payload))
        else {
            return;
        };
        let known = self.table().runs.get(&ask.run).cloned();
        match known {
            Some(known) => self.say_again(&known, ask.gateway, reply, ask.next).await,
            None => self.answer(reply, ask.run, What::Unknown {}).await,
        }
    }

    /// Says again what a gateway has not, and from now on where it asked last.
    async fn say_again(&self, kept: &Kept, gateway: String, reply: String, next: u64) {
        let messages = kept.again((gateway.clone(), reply.clone()), next, self.hint());
        let now = self.config.clock.now();
        kept.state().heard = now;
        self.table().gateways.insert(gateway, now);
        for message in messages {
            self.send(reply.clone(), message).await;
        }
    }

    /// A gateway has something for a run.
    async fn said(self: Arc<Self>, message: Message) {
        let Ok((say, body)) = read::<Say>(&message.payload) else { return };
        let Some(kept) = self.table().runs.get(&say.run).cloned() else { return };
        {
            let mut state = kept.state();
            if !state.is_of(&say.attempt) {
                return;
            }
            state.heard = self.config.clock.now();
        }
        match say.what {
            Said::Took { next } => kept.took(next),
            Said::AnswerPiece { number, piece } => kept.state().answer_piece(number, piece, &body),
            Said::Answer { number, call, error, pieces } => {
                // What is not whole is sent again.
                let Some(body) = kept.state().whole_answer(number, pieces, body) else { return };
                let result = match error {
                    Some(error) => Err(error),
                    None if body.is_empty() => Ok(None),
                    None => match serde_json::from_slice::<Box<RawValue>>(&body) {
                        Ok(value) => Ok(Some(value)),
                        Err(_) => return,
                    },
                };
                kept.answered(number, Answer { call, result });
            }
            Said::NoMoreAnswers {} => kept.state().answer = None,
            Said::Stop {} => {
                if let Some(stop) = kept.state().stop.take() {
                    stop.send(()).ok();
                }
            }
            Said::Cancel {} => self.cancel(&kept),
        }
    }
}

/// Whether the memory that is left would be enough, as far as that is known.
fn fits(load: Option<Load>, bytes: u64) -> bool {
    load.is_none_or(|load| {
        load.memory_budget_bytes == 0
            || load.memory_bytes.saturating_add(bytes) <= load.memory_budget_bytes
    })
}
