//! One run on one node, as the gateway sees it: it is sent, it says things in order, and it ends or is lost.
//!
//! What a node says is data of bounded size. A node that says more than it may, or something else than it should, has its
//! run ended with an error, and nothing else happens.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use carboy_engine::{Chunk, EngineError, FleetError, RunError};
use carboy_protocol::Call;
use carboy_protocol::pipe::{FailureKind, RunFailure};
use tokio::sync::mpsc;

use super::caller::{Caller, cancelled, next_answer};
use super::shared::Shared;
use super::under_way::{CHANNEL, Incoming, UnderWay, way};
use super::wheel::SILENT;
use crate::bus::{Bus, BusError};
use crate::message::{
    Event, PROBE, RunAsk, Said, Say, StatusAsk, WINDOW_BYTES, WINDOW_EVENTS, What, written,
};
use crate::name::{Start, Verb};
use crate::nodes::Address;

/// The largest outcome, or call of a tool. An engine's are far smaller.
const MAX_WHOLE: usize = 64 << 20;

/// How often a run is sent to the same node again, after it said that it never came.
const RESENT: u32 = 3;

/// How long after it was sent that is believed: what came later is forgotten by then.
const BELIEVED: Duration = Duration::from_secs(50);

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

fn broken(what: &'static str) -> Ended {
    Ended::Failed(FleetError::Broken { what }.into())
}

/// Something for the caller, who may be slow to take it.
enum Pending {
    Chunk(Chunk),
    Call(Call),
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
    sent_at: Duration,
    /// What was sent may have arrived.
    pub is_sent: bool,
    resent: u32,
    /// The number of the next event.
    next: u64,
    /// The number that the node was last told.
    told: u64,
    /// Bytes that came since.
    bytes: usize,
    whole: BytesMut,
    pending: Option<Pending>,
    /// Answers that the node may not have.
    pub answers: VecDeque<(u64, Bytes)>,
    pub answered: u64,
    /// When it must have said something by itself, or ended.
    until: Duration,
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
        let held = Arc::new(AtomicUsize::new(0));
        {
            let mut state = self.state();
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
            answered: 0,
            until: now + caller.bound,
        };
        if let Some(ended) = attempt.send().await {
            attempt.entry.is_over = true;
            return ended;
        }
        let ended = attempt.follow(&mut incoming, &held, caller).await;
        attempt.entry.is_over = !matches!(ended, Ended::Lost | Ended::Cut { is_sent: true })
            && !matches!(ended, Ended::Failed(RunError::Fleet(FleetError::Broken { .. })));
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

    /// Asks the node how the run stands, and for what is missing.
    async fn ask_status(&mut self) {
        let ask = StatusAsk {
            run: self.ask.run.clone(),
            gateway: self.ask.gateway.clone(),
            next: self.next,
        };
        self.told = self.next;
        self.bytes = 0;
        self.publish(Verb::Status, Some(format!("{}{PROBE}", self.reply)), written(&ask, &[]))
            .await
            .ok();
    }

    async fn follow(
        &mut self,
        incoming: &mut mpsc::Receiver<Incoming>,
        held: &AtomicUsize,
        caller: &mut Caller,
    ) -> Ended {
        loop {
            let is_free = self.pending.is_none();
            tokio::select! {
                news = incoming.recv(), if is_free => {
                    let ended = match news {
                        Some(Incoming::Event(event, body)) => {
                            held.fetch_sub(body.len(), Ordering::Relaxed);
                            self.event(*event, body, caller).await
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
                        None => Some(broken("it said more than it was asked for")),
                    };
                    if let Some(ended) = ended {
                        return ended;
                    }
                }
                () = has_room(self.pending.as_ref(), caller.chunks.as_ref(), caller.calls.as_ref()), if !is_free => {
                    // There is room, and nobody else sends. What the caller does not want any more is dropped.
                    match (self.pending.take(), &caller.chunks, &caller.calls) {
                        (Some(Pending::Chunk(chunk)), Some(chunks), _) => {
                            chunks.try_send(chunk).ok();
                        }
                        (Some(Pending::Call(call)), _, Some(calls)) => {
                            calls.try_send(call).ok();
                        }
                        _ => {}
                    }
                    self.take_note().await;
                }
                answer = next_answer(&mut caller.answers), if self.ask.tools => {
                    match answer {
                        Some(answer) => self.answer(answer).await,
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

    async fn silent(&mut self) -> Option<Ended> {
        if self.entry.shared.config.clock.now() > self.until {
            return Some(broken("it does not end"));
        }
        if !self.is_sent {
            return self.send().await;
        }
        self.ask_status().await;
        None
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

    /// The node says that the run never came.
    async fn unknown(&mut self) -> Option<Ended> {
        let age = self.entry.shared.config.clock.now().saturating_sub(self.sent_at);
        if self.next > 0 || self.resent >= RESENT || age > BELIEVED {
            return Some(Ended::Lost);
        }
        self.resent += 1;
        self.send().await
    }
}

/// Waits until the caller can take something. Nothing is lost if the wait is given up.
async fn has_room(
    pending: Option<&Pending>,
    chunks: Option<&mpsc::Sender<Chunk>>,
    calls: Option<&mpsc::Sender<Call>>,
) {
    match (pending, chunks, calls) {
        (Some(Pending::Chunk(_)), Some(chunks), _) => drop(chunks.reserve().await),
        (Some(Pending::Call(_)), _, Some(calls)) => drop(calls.reserve().await),
        _ => {}
    }
}
