//! One run on one node, as the gateway sees it: it is sent, it says things in order, and it ends or is lost.
//!
//! What a node says is data of bounded size. A node that says more than it may, or something else than it should, has its
//! run ended with an error, and nothing else happens.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use carboy_engine::{Chunk, EngineError, FleetError, IN_FLIGHT, RunError};
use carboy_protocol::Call;
use carboy_protocol::pipe::{FailureKind, RunFailure};
use tokio::sync::mpsc;

use super::caller::{Caller, cancelled, next_answer};
use super::held::Held;
use super::pending::{Pending, has_room};
use super::shared::Shared;
use super::under_way::{CHANNEL, Incoming, UnderWay, way};
use super::wheel::SILENT;
use crate::bus::{Bus, BusError};
use crate::message::{Event, RunAsk, Said, Say, WINDOW_BYTES, WINDOW_EVENTS, What, written};
use crate::name::{Start, Verb};
use crate::nodes::Address;

/// The largest outcome, or call of a tool. An engine's are far smaller.
const MAX_WHOLE: usize = 64 << 20;

/// Answers that a node has not said that it has. An engine calls no more tools than half of it before it has some.
const ANSWERS: usize = 2 * IN_FLIGHT;

/// How an attempt ended.
pub(super) enum Ended {
    /// There is an outcome, or what else was asked for, in the words of the node.
    Answer(Bytes),
    /// There is an error that another node would not change.
    Failed(RunError),
    /// The node has no place. Nothing ran.
    Refused,
    /// The node is gone. Nothing ran.
    Nobody,
    /// The node is gone, and something may have run.
    Lost,
    /// There is no link to any broker, and nothing was heard of it.
    Cut {
        /// It may have arrived before that, and have run.
        is_sent: bool,
    },
}

pub(super) fn broken(what: &'static str) -> Ended {
    Ended::Failed(FleetError::Broken { what }.into())
}

/// It makes this gateway hold more than others leave it.
fn greedy() -> Ended {
    Ended::Failed(FleetError::WorkerLost.into())
}

/// An entry in the table of runs, until it is dropped. A run that is not over is then ended where it runs.
pub(super) struct Entry<'a, B: Bus> {
    pub shared: &'a Shared<B>,
    token: u64,
    address: Address,
    run: &'a str,
    is_over: bool,
}

impl<B: Bus> Entry<'_, B> {
    /// Where it is told.
    fn reply(&self) -> String {
        format!("{}.{}", self.shared.bus.inbox(), Start(self.token))
    }
}

impl<B: Bus> Drop for Entry<'_, B> {
    fn drop(&mut self) {
        self.shared.state().runs.remove(&self.token);
        if !self.is_over {
            let say = Say { run: self.run.into(), attempt: self.reply(), what: Said::Cancel {} };
            self.shared.dropped.send((self.address, say)).ok();
        }
    }
}

/// One attempt under way.
pub(super) struct Attempt<'a, B: Bus> {
    pub entry: Entry<'a, B>,
    pub ask: &'a RunAsk,
    pub body: &'a Bytes,
    pub reply: String,
    pub sent_at: Duration,
    /// What was sent may have arrived.
    pub is_sent: bool,
    pub resent: u32,
    /// The number of the next event.
    pub next: u64,
    /// The number that the node was last told.
    pub told: u64,
    /// Bytes that came since.
    pub bytes: usize,
    whole: BytesMut,
    pending: Option<Pending>,
    /// Answers that the node may not have.
    pub answers: VecDeque<(u64, Vec<Bytes>)>,
    /// Until then they may be on their way.
    pub answers_until: Duration,
    pub answered: u64,
    /// When it must have said something by itself, or ended.
    pub until: Duration,
    held: Arc<Held>,
}

impl<B: Bus> Shared<B> {
    /// Runs a job on a node.
    pub(super) async fn attempt(
        &self,
        address: Address,
        ask: &RunAsk,
        body: &Bytes,
        caller: &mut Caller,
    ) -> Ended {
        let Start(token) = match Start::random() {
            Ok(start) => start,
            Err(error) => {
                let error = EngineError::Os { step: "draw a random number", error };
                return Ended::Failed(RunError::Engine(error));
            }
        };
        let now = self.config.clock.now();
        let (events, mut incoming) = mpsc::channel(CHANNEL);
        let held;
        {
            let mut state = self.state();
            held = Arc::new(Held::new(state.held.clone()));
            let (ask_at, patience) = (now + SILENT + way(body.len()), SILENT * 2);
            let run = UnderWay {
                run: ask.run.clone(),
                address,
                begun: now,
                is_known: false,
                is_session: ask.session.is_some(),
                events,
                held: held.clone(),
                next: 0,
                is_asked: false,
                heard: now,
                ask_at,
                patience,
            };
            state.runs.insert(token, run);
            state.wheel.add(ask_at, token);
        }
        let entry = Entry { shared: self, token, address, run: &ask.run, is_over: false };
        let mut attempt = Attempt {
            reply: entry.reply(),
            entry,
            ask,
            body,
            sent_at: now,
            is_sent: false,
            resent: 0,
            next: 0,
            told: 0,
            bytes: 0,
            whole: BytesMut::new(),
            pending: None,
            answers: VecDeque::new(),
            answers_until: Duration::ZERO,
            answered: 0,
            until: now + caller.bound,
            held,
        };
        if let Some(ended) = attempt.send().await {
            attempt.entry.is_over = true;
            return ended;
        }
        let ended = attempt.follow(&mut incoming, caller).await;
        attempt.entry.is_over = !matches!(ended, Ended::Lost | Ended::Cut { is_sent: true })
            && !matches!(
                ended,
                Ended::Failed(RunError::Fleet(FleetError::Broken { .. } | FleetError::WorkerLost))
            );
        ended
    }
}

impl<B: Bus> Attempt<'_, B> {
    pub(super) async fn publish(
        &self,
        verb: Verb,
        reply: Option<String>,
        message: Bytes,
    ) -> Result<(), BusError> {
        let subject = self.entry.address.subject(verb);
        self.entry.shared.bus.publish(subject, reply, message).await
    }

    pub(super) fn said(&self, what: Said) -> Say {
        Say { run: self.ask.run.clone(), attempt: self.reply.clone(), what }
    }

    /// Says something to the run. If it is lost, it is noticed when the node is asked how the run stands.
    pub(super) async fn say(&self, what: Said, body: &[u8]) {
        let say = written(&self.said(what), body);
        self.publish(Verb::Say, None, say).await.ok();
    }

    async fn follow(
        &mut self,
        incoming: &mut mpsc::Receiver<Incoming>,
        caller: &mut Caller,
    ) -> Ended {
        let held = self.held.clone();
        loop {
            let is_free = self.pending.is_none();
            tokio::select! {
                news = incoming.recv(), if is_free => {
                    let ended = match news {
                        Some(Incoming::Event(event, body)) => {
                            let bytes = body.len();
                            let ended = self.event(*event, body, caller).await;
                            self.keep();
                            self.held.looked_at(bytes);
                            ended
                        }
                        Some(Incoming::Nobody) if self.next == 0 => Some(Ended::Nobody),
                        Some(Incoming::Nobody | Incoming::Lost) => Some(Ended::Lost),
                        Some(Incoming::Silent) => self.silent().await,
                        Some(Incoming::Early) => {
                            self.is_sent = false;
                            None
                        }
                        Some(Incoming::Cut) => Some(Ended::Cut { is_sent: self.is_sent }),
                        None if self.entry.shared.state().is_closed => {
                            Some(Ended::Failed(RunError::Cancelled))
                        }
                        None if self.held.is_given_up() => Some(greedy()),
                        None => Some(broken("it said more than it was asked for")),
                    };
                    if let Some(ended) = ended {
                        return ended;
                    }
                }
                () = has_room(self.pending.as_ref(), caller.chunks.as_ref(), caller.calls.as_ref()), if !is_free => {
                    if let Some(pending) = self.pending.take() {
                        pending.hand_over(caller);
                    }
                    self.keep();
                    self.take_note().await;
                }
                () = held.given_up() => return greedy(),
                answer = next_answer(&mut caller.answers), if self.ask.tools => {
                    match answer {
                        Some(answer) => {
                            self.answer(answer).await;
                            if self.answers.len() > ANSWERS {
                                return greedy();
                            }
                            self.keep();
                        }
                        None => self.say(Said::NoMoreAnswers {}, &[]).await,
                    }
                    self.until = self.entry.shared.config.clock.now() + caller.bound;
                }
                () = cancelled(&mut caller.cancel) => {
                    caller.is_stopped = true;
                    self.say(Said::Stop {}, &[]).await;
                }
            }
        }
    }

    /// Says what is held of it now.
    fn keep(&self) {
        let pending = self.pending.as_ref().map_or(0, Pending::bytes);
        let answers: usize = self.answers.iter().flat_map(|(_, says)| says).map(Bytes::len).sum();
        self.held.keep(pending + self.whole.len() + answers);
    }

    /// Tells the node now and then what was taken, so that it says more.
    async fn take_note(&mut self) {
        if self.next - self.told >= WINDOW_EVENTS / 2 || self.bytes >= WINDOW_BYTES / 4 {
            self.told = self.next;
            self.bytes = 0;
            self.say(Said::Took { next: self.next }, &[]).await;
        }
    }

    async fn event(&mut self, event: Event, body: Bytes, caller: &mut Caller) -> Option<Ended> {
        while self.answers.front().is_some_and(|(number, _)| *number < event.answers) {
            self.answers.pop_front();
        }
        if event.what.number().is_some() {
            self.next += 1;
            self.bytes += body.len();
        }
        if event.hint.draining && matches!(event.what, What::Outcome { .. } | What::Failed { .. }) {
            // A node that is about to leave waits for this.
            self.say(Said::Took { next: self.next }, &[]).await;
        }
        let ended = self.numbered(event.what, body, caller).await;
        if ended.is_none() && self.pending.is_none() {
            self.take_note().await;
        }
        ended
    }

    async fn numbered(&mut self, what: What, body: Bytes, caller: &mut Caller) -> Option<Ended> {
        match what {
            What::Busy {} | What::Misunderstood { .. } if self.next == 0 => {
                return Some(Ended::Refused);
            }
            What::Busy {} | What::Misunderstood { .. } => {
                return Some(broken("it refused what it had begun"));
            }
            What::Unknown {} => return self.unknown().await,
            What::Forgotten {} => return Some(Ended::Lost),
            What::Running { .. } => self.answer_again(caller).await,
            What::Begun { .. } => {
                if let Some(begun) = caller.begun.take() {
                    begun.send(()).ok();
                }
            }
            What::Output { stream, .. } => {
                caller.has_heard = true;
                let bytes = body.to_vec();
                self.pending = Some(Pending::Chunk(Chunk { stream, bytes }));
            }
            What::Piece { .. } => {
                if self.whole.len() + body.len() > MAX_WHOLE {
                    return Some(broken("its answer is too long"));
                }
                self.whole.extend_from_slice(&body);
            }
            What::Call { .. } => {
                let call = self.whole(body).and_then(|text| serde_json::from_slice(&text).ok());
                match call.filter(|call: &Call| caller.offers(&call.tool)) {
                    Some(call) => {
                        caller.has_heard = true;
                        self.until = self.entry.shared.config.clock.now() + caller.bound;
                        self.pending = Some(Pending::Call(call));
                    }
                    None => return Some(broken("it called what it was not offered")),
                }
            }
            What::Outcome { .. } => {
                return Some(match self.whole(body) {
                    Some(text) => Ended::Answer(text),
                    None => broken("its answer is too long"),
                });
            }
            What::Failed { .. } => {
                let failure = self.whole(body).and_then(|text| serde_json::from_slice(&text).ok());
                return Some(match failure {
                    Some(RunFailure { kind: FailureKind::Cancelled, .. }) => {
                        Ended::Failed(RunError::Cancelled)
                    }
                    Some(failure) => Ended::Failed(FleetError::Node(Box::new(failure)).into()),
                    None => broken("its failure cannot be read"),
                });
            }
        }
        None
    }

    /// The pieces that came, with the last of them.
    fn whole(&mut self, last: Bytes) -> Option<Bytes> {
        if self.whole.is_empty() {
            return Some(last);
        }
        let mut whole = std::mem::take(&mut self.whole);
        if whole.len() + last.len() > MAX_WHOLE {
            return None;
        }
        whole.extend_from_slice(&last);
        Some(whole.freeze())
    }
}
